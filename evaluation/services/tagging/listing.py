"""Tag sets as their own pages and files have them."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, NewFile, OneOf, OperationContext
from evaluation.models import TagSet
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tagging.sets import TagSetSummary, tag_set_named, tag_set_summary, tags_of_set
from evaluation.services.tags.ranked import tag_layouts, write_ranked_tags


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSetDetail(TagSetSummary):
    """Ranked tags with how they were chosen, and the figures that were stored with them last."""

    settings: dict[str, Any]
    figures: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadTagSetRequest:
    """Ranked tags of images, as JSON Lines or as a table."""

    tag_set: Annotated[str, Named(TAG_SETS), Help(_("Tag set"))]
    layout: Annotated[str, OneOf(tag_layouts), Help(_("Layout"))] = "jsonl"


def tag_set_detail(row: TagSet) -> TagSetDetail:
    """All that is said of tags."""
    summary = asdict(tag_set_summary(row))
    return TagSetDetail(**summary, settings=row.settings, figures=row.figures)


def download_tag_set(request: DownloadTagSetRequest, context: OperationContext) -> NewFile:
    """The tags, the best first."""
    row, layout = tag_set_named(request.tag_set), request.layout
    return NewFile(f"{row.name}.{layout}", lambda path: write_ranked_tags(tags_of_set(row), path, layout))
