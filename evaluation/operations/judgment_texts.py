"""What commands about judgments and qrels print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
