"""Localization sets for their own pages and files."""

from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, NewFile, OperationContext
from evaluation.models import LocalizationSet
from evaluation.services.localizations.files import write_localizations
from evaluation.services.localizations.sets import (
    LocalizationSetSummary,
    localization_set_named,
    localization_set_values,
)
from evaluation.services.localizations.stored_scores import stored_reports
from evaluation.services.stored_kinds import LOCALIZATION_SETS


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationSetDetail(LocalizationSetSummary):
    """A localization set with its figures: a report for each layer and each choice of images. Each has its
    `layer`, its images as `subset` (empty: all), whether those are the set's (`whole`), and the `level` of
    its intervals. R@k is omitted beyond `cut_at` regions, where the set stored no more, and is based on the
    stored regions beyond `fewest_stored`. `outdated`: the layer's boxes have changed since, or may have."""

    scores: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLocalizationSetRequest:
    """A localization set as JSON Lines: a line for each mention, then one for each phrase."""

    localization_set: Annotated[str, Named(LOCALIZATION_SETS), Help(_("Localization set"))]


def localization_set_detail(row: LocalizationSet) -> LocalizationSetDetail:
    """Return all that is stored of a localization set."""
    return LocalizationSetDetail(**localization_set_values(row), scores=stored_reports(row))


def download_localization_set(request: DownloadLocalizationSetRequest, context: OperationContext) -> NewFile:
    """Return the localizations as a file that can be imported again."""
    row = localization_set_named(request.localization_set)
    return NewFile(f"{row.name}.jsonl", lambda path: write_localizations(row, path))
