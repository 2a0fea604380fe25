"""Imports of corpora: as new ones, or added to an existing one, whose campaigns ask about the new images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation import campaigns
from annotation.common.operations import LEAVE_UNUSED, Help, Named, OneOf, OperationContext, invalid
from annotation.datasets.deliveries import delivered
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow, ImportReport
from annotation.datasets.source_problems import IntakeError, SourceProblems
from annotation.formats import FORMATS
from annotation.models import Account, Campaign, Corpus, Image, OpenImage, PlannedImage
from annotation.selectors.corpora import CAMPAIGNS

_Path = Annotated[str, Field(min_length=1, max_length=4000)]
#: The campaigns that ask about added images.
AskingCampaigns = Annotated[
    tuple[Annotated[str, Named(CAMPAIGNS)], ...],
    Field(max_length=100),
    Help(_("Campaigns"), _("Those that ask about the added images from now on")),
]


def readable_formats() -> dict[str, None]:
    """Return the formats that can be imported."""
    return {entry.key: None for entry in FORMATS if entry.reads}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCorpusRequest:
    """All of it, or nothing if there is an error; all errors are listed. If it already exists with the same
    content, nothing changes."""

    name: Annotated[str, Named(), Help(_("Name of the corpus"))]
    path: Annotated[_Path, Help(_("Path"), _("A file, a folder, or a zip or tar archive of either"))]
    format: Annotated[str, OneOf(readable_formats), Help(_("Format"))]
    images: Annotated[
        _Path | None, Help(_("Pictures"), _("The folder of pictures; by default that beside the captions"))
    ] = None
    add: Annotated[bool, Help(_("Add"), _("Add the images to the corpus of this name, which exists"))] = False
    campaigns: AskingCampaigns = ()
    skip_problems: Annotated[
        bool, Help(_("Skip problems"), _("Leave out just what is listed as a problem, and import the rest"))
    ] = False
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    dry_run: Annotated[bool, Help(_("Dry run"), _("List all problems, and store nothing"))] = False


def import_named_corpus(request: ImportCorpusRequest, context: OperationContext) -> ImportReport:
    """Import a corpus. Raises as `import_corpus` does, with a list of all problems, and as
    `check_campaigns`."""
    check_campaigns(request.campaigns, request.name, add=request.add)
    try:
        report = import_corpus(
            name=request.name,
            path=Path(request.path),
            format=request.format,
            images=Path(request.images) if request.images is not None else None,
            how=ImportHow(
                skip_problems=request.skip_problems,
                leave_unused=request.leave_unused,
                dry_run=request.dry_run,
                add=request.add,
                actor=context.actor,
            ),
        )
    except SourceProblems as error:
        raise IntakeError("\n".join([*map(str, error.problems), str(error)])) from error
    return report if request.dry_run else ask_about_added(request.campaigns, report, context)


def campaigns_that_can_ask(corpus: Corpus) -> list[Campaign]:
    """Return the campaigns of a corpus that can ask about added images: open or paused ones that ask about
    images. Pairs were chosen, and a pilot will ask about all images when it continues."""
    rows = Campaign.objects.filter(corpus=corpus, state__in=(Campaign.OPEN, Campaign.PAUSED))
    return [row for row in rows if row.pilot is None and not campaigns.asks_pairs(row.tasks)]


def check_campaigns(names: Sequence[str], corpus: str, *, add: bool) -> None:
    """Raise Invalid if campaigns are named and nothing is added, or if one of them cannot ask about images
    that are added to the corpus."""
    if names and not add:
        raise invalid("campaigns", "only_with", other="add")
    row = Corpus.objects.filter(name=corpus, published=True).first()
    able = [campaign.name for campaign in campaigns_that_can_ask(row)] if row else []
    for name in names:
        if name not in able:
            message = _(
                "“%(name)s” cannot ask about images that are added to “%(corpus)s”. These can: %(known)s; "
                "they are open or paused, no pilots, and ask about each image."
            )
            about = {"name": name, "corpus": corpus, "known": ", ".join(able) or _("none")}
            raise invalid("campaigns", "wrong", message=message % about)


def ask_about_added(names: Sequence[str], report: ImportReport, context: OperationContext) -> ImportReport:
    """Let campaigns ask about the images that a report says were added; return it with their numbers.

    Repeating it opens what is missing. Raises CampaignError for a campaign that was closed meanwhile.
    """
    corpus = Corpus.objects.get(name=report.corpus)
    added = delivered(corpus, report.digest)
    if added is None:
        return report
    images = range(added["first"], added["first"] + added["images"])
    rows = Campaign.objects.filter(name__in=names).select_related("corpus").order_by("name")
    return replace(
        report,
        campaigns={row.name: _ask(row, images, context.actor, context.report_progress) for row in rows},
    )


def _ask(
    campaign: Campaign, images: range, actor: Account | None, report_progress: Callable[[str, float], object]
) -> int:
    """Open the images at these positions of the corpus, of those splits that the campaign asks about; return
    how many it asks about, now or later."""
    open_or_planned = [
        model.objects.filter(campaign=campaign, image=OuterRef("pk")) for model in (OpenImage, PlannedImage)
    ]
    asks = Exists(open_or_planned[0]) | Exists(open_or_planned[1])
    of_corpus = Image.objects.filter(corpus=campaign.corpus)
    earlier = (
        of_corpus.filter(position__lt=images.start).order_by().values_list("split", flat=True).distinct()
    )
    splits, every = set(earlier.filter(asks)), set(earlier)
    for split in [None] if splits == every else sorted(splits):
        campaigns.open_campaign_images(
            campaign=campaign,
            split=split,
            positions=images,
            actor=actor,
            progress=lambda done, total: report_progress("opening images", done / max(1, total)),
        )
    return of_corpus.filter(asks, position__gte=images.start, position__lt=images.stop).count()
