"""Operations on judgments: import, list, show, remove; measure agreement."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Rest,
    StoredThing,
    register_stored,
    table_layouts,
)
from annotation.common.plain_text import text_table
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.services.judgments import agreements, importing, listing
from evaluation.services.judgments.agreements import Agreement
from evaluation.services.judgments.freezing import QrelsReport
from evaluation.services.judgments.importing import JudgmentsReport
from evaluation.services.stored_kinds import JUDGMENTS_ANYWHERE
from phrasebox.agreement.estimates import Estimate
from phrasebox.agreement.summary import AgreementBetween, AgreementWithin
from phrasebox.figure_basis import basis_from_dict
from phrasebox.figure_tables import Table


def judgments_text(report: JudgmentsReport) -> str:
    """Return the result of an import of judgments."""
    end = "already exist, nothing changed" if report.unchanged else "imported"
    return (
        f"{report.answers} answers to {report.pairs} pairs, scale {report.scale}\n"
        f"judgments {report.judgments!r} of corpus {report.corpus!r} {end}\n"
        f"{report.seconds:.1f} s, digest {report.digest}"
    )


def imported_qrels_text(report: QrelsReport) -> str:
    """Return the result of an import of qrels."""
    asks = f", for {report.asks}s" if report.asks else ""
    return (
        f"{report.relevant} of {report.rows} pairs are relevant{asks}\n"
        f"queries: {queries_text(report.queries_by_kind, report.queries)}\n"
        f"{_version_text(report, 'imported')}"
    )


def frozen_text(report: QrelsReport) -> str:
    """Return the result of freezing."""
    if report.pool:
        counts = f"{report.rows} original pairs of {report.queries} images ({report.pool})"
        return f"{counts}\n{_version_text(report, 'frozen')}"
    outside = f", {report.excluded} pairs outside left out" if report.excluded else ""
    by_rule = ", ".join(f"{rule} {number}" for rule, number in report.by_rule.items())
    of_batch = ""
    if report.pairs_selected is not None:
        of_batch = f"; {report.pairs_judged} of the {report.pairs_selected} pairs asked have enough answers"
    return (
        f"{report.relevant} of {report.rows} pairs are relevant, {report.unjudged} of them "
        f"unjudged originals{' (' + report.subset + outside + ')' if report.subset else ''}\n"
        f"queries: {queries_text(report.queries_by_kind, report.queries)}{of_batch}\n"
        f"relevant by rule: {by_rule}\n"
        f"{_version_text(report, 'frozen')}"
    )


def queries_text(queries: Mapping[str, int], number: int) -> str:
    """Return how many queries qrels are for; the judged ones where the queries are unknown."""
    if not queries:
        return f"{number} judged queries"
    return " and ".join(f"{count} {kind}s" for kind, count in sorted(queries.items(), reverse=True))


def _version_text(report: QrelsReport, what: str) -> str:
    end = "already exists, nothing changed" if report.unchanged else what
    return (
        f"qrels {report.qrels!r} version {report.version} {end} ({report.settings})\ndigest {report.digest}"
    )


def agreement_text(agreement: Agreement) -> str:
    """Return the coefficients, or the table of cuts, with their basis."""
    parts = [_within_text(agreement.within)] if agreement.within is not None else []
    parts += [_between_text(agreement.between)] if agreement.between is not None else []
    return "\n".join([*parts, *basis_from_dict(agreement.basis).lines()])


def _agreement_table(agreement: Agreement) -> Table:
    """Return every coefficient with its interval, or kappa of every two cuts."""
    basis = basis_from_dict(agreement.basis)
    if (between := agreement.between) is not None:
        head = ["kappa", *(f">= {column:.3g}" for column in between.sweep.columns)]
        rows = zip(between.sweep.rows, between.sweep.kappa, strict=True)
        return Table(
            head, [[f">= {row:.3g}", *(value.value for value in line)] for row, line in rows], basis=basis
        )
    assert agreement.within is not None
    named = {f"Krippendorff's alpha, {level}": value for level, value in agreement.within.alpha.items()}
    named["Fleiss' kappa"] = agreement.within.fleiss
    named |= _kappas(agreement.within)
    return Table(
        ["coefficient", "value", "low", "high", "pairs", "reason"],
        [
            [name, estimate.value, estimate.low, estimate.high, estimate.items, estimate.reason]
            for name, estimate in named.items()
        ],
        basis=basis,
    )


def _kappas(within: AgreementWithin) -> dict[str, Estimate]:
    """Return every kappa of two judges, by its title."""
    titled = {
        "Cohen's kappa": within.cohen,
        "Kappa, linear weights": within.cohen_linear,
        "Kappa, quadratic weights": within.cohen_quadratic,
    }
    return {f"{title}, {names}": value for title, kappas in titled.items() for names, value in kappas.items()}


def agreement_tables(agreement: Agreement) -> dict[str, Table]:
    """Return the table, without a title."""
    return {"": _agreement_table(agreement)}


def _line(name: str, value: Estimate) -> list[Any]:
    if value.value is None:
        return [name, "undefined", "", value.items, value.reason]
    interval = "" if value.low is None else f"{value.low:.3f} to {value.high:.3f}"
    return [name, f"{value.value:.3f}", interval, value.items, value.reason]


_HEAD = ["", "value", "interval", "pairs", ""]


def _within_text(within: AgreementWithin) -> str:
    numbers = f"{within.fewest}" if within.fewest == within.most else f"{within.fewest} to {within.most}"
    counted = (
        f"{within.answers:,} answers to {within.pairs:,} pairs of {within.queries:,} queries, {numbers} a "
        f"pair; {within.ties:,} pairs have no majority answer."
    )
    parts = [
        counted,
        text_table(
            _HEAD,
            [
                *(_line(f"Krippendorff's alpha, {level}", value) for level, value in within.alpha.items()),
                _line("Fleiss' kappa", within.fleiss),
            ],
        ),
    ]
    if not within.judges:
        return "\n\n".join([*parts, f"No kappa of two judges: {within.no_judges}."])
    parts.append(text_table(_HEAD, [_line(name, value) for name, value in _kappas(within).items()]))
    rows = [[judge.name, judge.answers, judge.with_consensus] for judge in within.judges]
    parts.append(text_table(["judge", "answers", "as the consensus (Dawid and Skene)"], rows))
    return "\n\n".join(parts)


def _between_text(between: AgreementBetween) -> str:
    head = ["kappa", *(f">= {column:.3g}" for column in between.sweep.columns)]
    rows = [
        [
            f">= {row:.3g}",
            *("undefined" if value.value is None else f"{value.value:.3f}" for value in line),
        ]
        for row, line in zip(between.sweep.rows, between.sweep.kappa, strict=True)
    ]
    parts = [f"{between.common:,} of {between.pairs:,} pairs are in both sets.", text_table(head, rows)]
    if between.best is not None and between.best_at is not None:
        row, column = between.best_at
        best = between.sweep.kappa[between.sweep.rows.index(row)][between.sweep.columns.index(column)]
        parts.append(
            f"Best at {row:.3g} and {column:.3g}; taking the first set as the truth, the second has\n"
            + text_table(
                _HEAD,
                [
                    _line("Cohen's kappa", best),
                    _line("precision", between.best.precision),
                    _line("recall", between.best.recall),
                    _line("F1", between.best.f1),
                ],
            )
        )
    return "\n\n".join(parts)


register_stored(
    StoredThing(
        kind=JUDGMENTS_ANYWHERE,
        word="judgments",
        words="judgment_sets",
        titles=(_("List judgments"), _("Show judgments"), "", _("Remove judgments")),
        path="judgment-sets",
        route="judgment_set",
        roles=(RESEARCHER,),
        listing=listing.JudgedRequest,
        results=(listing.JudgmentSummary, listing.JudgmentDetail),
        summary=listing.judgment_summary,
        detail=listing.judgment_detail,
        order="-pk",
        remove=lambda row, actor: importing.remove_judgments(
            corpus=row.corpus.name, name=row.name, actor=actor
        ),
        removed=_("Judgments removed."),
    )
)
register(
    title=_("Import judgments"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=importing.import_judgments,
    rest=Rest(
        "POST",
        "judgment-sets",
        "judgment-sets",
        route="judgment_sets",
        own_transactions=True,
        creates="judgment-sets/{corpus}:{judgments}",
        example={"name": "grades", "corpus": "harbour", "format": "table", "scale": "0-5"},
    ),
    command=CommandLine(positional=("corpus", "file"), text=judgments_text),
    page=FormPage("evaluation:import_qrels"),
)
register(
    name="agreement",
    title=_("Measure agreement"),
    permission=Has((RESEARCHER,), corpora=True),
    run=agreements.agreement_of_sets,
    rest=Rest(
        "POST",
        "agreement",
        "judgment-sets",
        own_transactions=True,
        example={"judgments": "harbour:grades", "resamples": 100},
    ),
    command=CommandLine(positional=("file",), text=agreement_text, layouts=table_layouts(agreement_tables)),
    page=FormPage(tables=agreement_tables),
)
