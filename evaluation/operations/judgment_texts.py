"""What commands about judgments and qrels print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annotation.common.plain_text import text_table
from evaluation.agreement.estimates import Estimate
from evaluation.agreement.summary import AgreementBetween, AgreementWithin
from evaluation.formats.figure_basis import basis_from_dict
from evaluation.formats.figure_tables import LAYOUTS, Table
from evaluation.services.judgments.agreements import Agreement
from evaluation.services.judgments.freezing import QrelsReport
from evaluation.services.judgments.importing import JudgmentsReport


def judgments_text(made: JudgmentsReport) -> str:
    """What an import of judgments came to."""
    end = "already exist, nothing changed" if made.unchanged else "imported"
    return (
        f"{made.answers} answers to {made.pairs} pairs, scale {made.scale}\n"
        f"{_skipped_text(made.skipped, made.lacking)}"
        f"judgments {made.judgments!r} of corpus {made.corpus!r} {end}\n"
        f"{made.seconds:.1f} s, digest {made.digest}"
    )


def imported_qrels_text(made: QrelsReport) -> str:
    """What an import of qrels came to."""
    asks = f", for {made.asks}s" if made.asks else ""
    return (
        f"{made.relevant} of {made.rows} pairs are relevant{asks}\n"
        f"queries: {queries_text(made.asked, made.queries)}\n"
        f"{_skipped_text(made.left_out, made.lacking)}"
        f"{_version_text(made, 'imported')}"
    )


def frozen_text(made: QrelsReport) -> str:
    """What freezing came to."""
    if made.pool:
        counts = f"{made.rows} original pairs of {made.queries} images ({made.pool})"
        return f"{counts}\n{_version_text(made, 'frozen')}"
    outside = f", {made.left_out} pairs outside left out" if made.left_out else ""
    by_rule = ", ".join(f"{rule} {number}" for rule, number in made.by_rule.items())
    of_batch = ""
    if made.pairs_asked is not None:
        of_batch = f"; {made.pairs_judged} of the {made.pairs_asked} pairs asked have enough answers"
    return (
        f"{made.relevant} of {made.rows} pairs are relevant, {made.unjudged} of them "
        f"unjudged originals{' (' + made.subset + outside + ')' if made.subset else ''}\n"
        f"queries: {queries_text(made.asked, made.queries)}{of_batch}\n"
        f"relevant by rule: {by_rule}\n"
        f"{_version_text(made, 'frozen')}"
    )


def queries_text(asked: Mapping[str, int], number: int) -> str:
    """How many queries qrels are for; the judged ones where nobody says which were asked."""
    if not asked:
        return f"{number} judged queries"
    return " and ".join(f"{count} {kind}s" for kind, count in sorted(asked.items(), reverse=True))


def _version_text(made: QrelsReport, what: str) -> str:
    end = "already exists, nothing changed" if made.unchanged else what
    return f"qrels {made.qrels!r} version {made.version} {end} ({made.settings})\ndigest {made.digest}"


def _skipped_text(number: int, lacking: Sequence[str]) -> str:
    """A line about pairs that were left out, or nothing."""
    if not number:
        return ""
    names = ", ".join(map(repr, lacking))
    return f"{number} pairs left out: the corpus lacks their image or caption (for example {names})\n"


def agreement_text(found: Agreement) -> str:
    """The coefficients, or the table of cuts, and what they are of."""
    parts = [_within_text(found.within)] if found.within is not None else []
    parts += [_between_text(found.between)] if found.between is not None else []
    return "\n".join([*parts, *basis_from_dict(found.basis).lines()])


def _agreement_table(found: Agreement) -> Table:
    """Every coefficient with its interval, or kappa of every two cuts."""
    basis = basis_from_dict(found.basis)
    if (between := found.between) is not None:
        head = ["kappa", *(f">= {column:.3g}" for column in between.sweep.columns)]
        rows = zip(between.sweep.rows, between.sweep.kappa, strict=True)
        return Table(
            head, [[f">= {row:.3g}", *(value.value for value in line)] for row, line in rows], basis=basis
        )
    assert found.within is not None
    named = {f"Krippendorff's alpha, {level}": value for level, value in found.within.alpha.items()}
    named["Fleiss' kappa"] = found.within.fleiss
    named |= {f"Cohen's kappa, {names}": value for names, value in found.within.cohen.items()}
    return Table(
        ["coefficient", "value", "low", "high", "pairs", "reason"],
        [[name, one.value, one.low, one.high, one.items, one.reason] for name, one in named.items()],
        basis=basis,
    )


def _as(layout: str) -> Callable[[Agreement], str]:
    return lambda found: LAYOUTS.get(layout)(_agreement_table(found))


AGREEMENT_LAYOUTS = {layout: _as(layout) for layout in ("csv", "latex")}


def _line(name: str, value: Estimate) -> list[Any]:
    if value.value is None:
        return [name, "undefined", "", value.items, value.reason]
    interval = "" if value.low is None else f"{value.low:.3f} to {value.high:.3f}"
    return [name, f"{value.value:.3f}", interval, value.items, value.reason]


_HEAD = ["", "value", "interval", "pairs", ""]


def _within_text(found: AgreementWithin) -> str:
    numbers = f"{found.fewest}" if found.fewest == found.most else f"{found.fewest} to {found.most}"
    counted = (
        f"{found.answers:,} answers to {found.pairs:,} pairs of {found.queries:,} queries, {numbers} a "
        f"pair; {found.ties:,} pairs have no majority answer."
    )
    parts = [
        counted,
        text_table(
            _HEAD,
            [
                *(_line(f"Krippendorff's alpha, {level}", value) for level, value in found.alpha.items()),
                _line("Fleiss' kappa", found.fleiss),
            ],
        ),
    ]
    if not found.judges:
        return "\n\n".join([*parts, f"No kappa of two judges: {found.no_judges}."])
    parts.append(
        text_table(_HEAD, [_line(f"Cohen's kappa, {names}", value) for names, value in found.cohen.items()])
    )
    rows = [[judge.name, judge.answers, judge.with_consensus] for judge in found.judges]
    parts.append(text_table(["judge", "answers", "as the consensus (Dawid and Skene)"], rows))
    return "\n\n".join(parts)


def _between_text(found: AgreementBetween) -> str:
    head = ["kappa", *(f">= {column:.3g}" for column in found.sweep.columns)]
    rows = [
        [
            f">= {row:.3g}",
            *("undefined" if value.value is None else f"{value.value:.3f}" for value in line),
        ]
        for row, line in zip(found.sweep.rows, found.sweep.kappa, strict=True)
    ]
    parts = [f"{found.common:,} of {found.pairs:,} pairs are in both sets.", text_table(head, rows)]
    if found.best is not None and found.best_at is not None:
        row, column = found.best_at
        best = found.sweep.kappa[found.sweep.rows.index(row)][found.sweep.columns.index(column)]
        parts.append(
            f"Best at {row:.3g} and {column:.3g}; taking the first set as the truth, the second has\n"
            + text_table(
                _HEAD,
                [
                    _line("Cohen's kappa", best),
                    _line("precision", found.best.precision),
                    _line("recall", found.best.recall),
                    _line("F1", found.best.f1),
                ],
            )
        )
    return "\n\n".join(parts)
