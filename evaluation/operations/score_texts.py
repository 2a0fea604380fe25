"""What commands print that score captions, tags and localizations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evaluation.formats.figure_tables import LAYOUTS, Table
from evaluation.services.localizations.proposals import (
    ProposalScores,
    remarks_on_proposals,
    table_of_proposals,
)
from evaluation.services.localizations.scores import LocalizationScores
from evaluation.services.localizations.tables import remarks_on_localization, tables_of_localization
from evaluation.services.tagging.scores import TagScores, remarks_on_tags, table_of_tags


def localization_scores_text(scores: LocalizationScores) -> str:
    """The figures, below what is to be known about them."""
    return _text(remarks_on_localization(scores.report), tables_of_localization(scores.report))


def tag_scores_text(scores: TagScores) -> str:
    """The figures, below what is to be known about them."""
    return _text(remarks_on_tags(scores.report), {"": table_of_tags(scores.report)})


def proposal_scores_text(scores: ProposalScores) -> str:
    """The figures, below what is to be known about them."""
    return _text(remarks_on_proposals(scores.report), {"": table_of_proposals(scores.report)})


def _text(remarks: str, tables: Mapping[str, Table]) -> str:
    parts = [f"{title}\n{LAYOUTS.get('text')(table)}".strip() for title, table in tables.items()]
    return "\n\n".join([remarks, *parts])


def _layouts(tables: Callable[[Any], Mapping[str, Table]]) -> dict[str, Callable[[Any], str]]:
    """The other layouts of a report's tables."""

    def in_layout(name: str) -> Callable[[Any], str]:
        return lambda scores: "\n\n".join(map(LAYOUTS.get(name), tables(scores.report).values()))

    return {name: in_layout(name) for name in ("csv", "latex")}


LOCALIZATION_SCORES_LAYOUTS = _layouts(tables_of_localization)
TAG_SCORES_LAYOUTS = _layouts(lambda report: {"": table_of_tags(report)})
PROPOSAL_SCORES_LAYOUTS = _layouts(lambda report: {"": table_of_proposals(report)})
