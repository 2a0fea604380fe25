"""Opening a campaign: first its images with their first questions, then the campaign itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import campaigns, jobs
from annotation.campaigns.drafts.keeping import duplicate_to_draft
from annotation.campaigns.drafts.opening import (
    add_items_of_draft,
    check_no_running_pilot,
    go_on_with_all,
    pilot_of,
)
from annotation.campaigns.drafts.requests import PlanCampaignRequest, check_plan, draft_plan
from annotation.campaigns.pairs import PairTable, pairs_from_csv
from annotation.campaigns.status import AlarmSummary, alarm_summaries
from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    FileUpload,
    Help,
    OperationContext,
    check_used,
    with_sheet,
)
from annotation.jobs import JobError, JobProgress, job_kind
from annotation.jobs.status import JobStatus, job_status
from annotation.models import Account, Campaign, Job
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.paging import Filling
from annotation.protocol.rehearsal import CrowdSize
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.pair_judgments import page_filling
from phrasebox.balance import BalanceSheet, current_tally

_KIND = "open_images"
#: The message for a campaign without a job that opens its images.
NOT_CHOSEN = gettext_lazy(
    "Nobody has chosen the images of this campaign: open it again under its name with your choice, or delete "
    "it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCampaignRequest(PlanCampaignRequest):
    """The draft is created at once. A command then opens its images and admits workers; otherwise a job does.
    A repeated request changes nothing, or finishes what was interrupted; with more images, these are
    opened."""

    pairs: Annotated[
        Annotated[Path, FileUpload()] | None,
        Help(
            gettext_lazy("Pairs"),
            gettext_lazy(
                "For relevance and graded, the pairs to judge: CSV with the columns image, caption "
                "(IMAGE#NUMBER) and role. Else each image is paired with its own captions and others"
            ),
        ),
    ] = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    draft: Annotated[bool, Help(gettext_lazy("Draft"), gettext_lazy("Open neither images nor campaign"))] = (
        False
    )

    def problems(self) -> Iterator[FieldError]:
        """Errors: pairs determine which images are asked about."""
        yield from PlanCampaignRequest.problems(self)
        if self.pairs is not None:
            for name in ("split", "images", "tags", "draft"):
                if getattr(self, name):
                    yield FieldError(name, "not_with", {"other": "pairs"})
        elif self.leave_unused:
            yield FieldError("leave_unused", "only_with", {"other": "pairs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOnRequest(CampaignRequest):
    """A job opens the images that were not in the pilot. Rejected if there is no pilot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDraftRequest(CampaignRequest):
    """A job opens its images as in the last request: which ones, how many, and the source of its test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateCampaignRequest(CampaignRequest):
    """A draft of yours with its settings, to be changed and opened; its texts and control items are copied
    then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatedCampaign:
    """The number of the new draft, and the campaign that was copied."""

    draft: int
    campaign: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedCampaign:
    """A new campaign, and the `job` that opens its images; after a command, the numbers of images opened now,
    opened before, skipped since gold does not cover them, and planned. `unpaid` workers earn nothing.
    `sheet`: which pairs of a file are asked about."""

    campaign: str
    corpus: str
    tasks: str
    state: str
    job: JobStatus | None
    images_opened: int
    images_there: int
    images_without_gold: int
    planned: int
    filling: Filling | None
    settings: dict[str, Any]
    unpaid: tuple[str, ...]
    workers: CrowdSize
    alarms: tuple[AlarmSummary, ...]
    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def open_named_campaign(request: OpenCampaignRequest, context: OperationContext) -> OpenedCampaign:
    """Open a campaign, or create its draft. Raises CampaignError, LayerError, FormatError and UnknownName."""
    plan = draft_plan(request, context)
    check_plan(request, plan)
    about: dict[str, Any] = {
        "name": request.name,
        "corpus": request.corpus_row().name,
        "tasks": request.tasks_to_ask(),
        "settings": request.settings(),
        "open_to_all": request.open_to_all,
        "actor": context.actor,
    }
    table = _pairs(request)
    like = request.like_row()
    if like is not None:
        row = campaigns.duplicate_campaign(campaign=like, **about)
    else:
        row = campaigns.create_campaign(**about)
    if request.draft:
        return _opened(row, request, context)
    check_no_running_pilot(row)
    if request.open_to_all and not row.open_to_all:
        campaigns.set_open_to_all(campaign=row, open_to_all=True, actor=context.actor)
    if table is not None:
        _open_pairs(row, table, request.pairs)
    which: dict[str, Any] = {"split": request.split, "images": request.images, "tags": list(request.tags)}
    if request.pilot:
        which = pilot_of(campaign=row, whole=which)
    if request.known is not None:
        which["known"] = plan.known
    if context.actor is not None:
        job = jobs.enqueue(kind=_KIND, arguments=which, campaign=row, actor=context.actor)
        return _opened(row, request, context, job=job_status(job))
    done = _open(row, context.report_progress, **which)
    return _opened(row, request, context, done)


def _pairs(request: OpenCampaignRequest) -> PairTable | None:
    """The pairs of the request's file. Raises FormatError, and Invalid if something is not used."""
    if request.pairs is None:
        return None
    table = pairs_from_csv(request.pairs, request.corpus_row())
    check_used(current_tally().sheet(), leave_unused=request.leave_unused)
    return table


def _open_pairs(row: Campaign, table: PairTable, file: Path | None) -> None:
    """Open a campaign with the pairs of a file; a campaign that is open must have the same pairs."""
    if not row.images.exists():
        campaigns.open_pairs(campaign=row, pairs=table.pairs, fillers=table.fillers)
    elif not campaigns.has_these_pairs(row, table.pairs):
        raise CampaignError(
            _("campaign “%(name)s” asks other pairs than those of %(file)s; open another campaign for them")
            % {"name": row.name, "file": file}
        )


def _opened(
    row: Campaign,
    request: OpenCampaignRequest,
    context: OperationContext,
    done: campaigns.OpenedImages | None = None,
    job: JobStatus | None = None,
) -> OpenedCampaign:
    row.refresh_from_db()
    of_pairs = request.pairs is not None and campaigns.asks_pairs(row.tasks)
    return OpenedCampaign(
        campaign=row.name,
        corpus=row.corpus.name,
        tasks=row.tasks,
        state=row.state,
        job=job,
        images_opened=done.opened if done else 0,
        images_there=done.there if done else 0,
        images_without_gold=done.uncovered if done else 0,
        planned=done.planned if done else 0,
        filling=page_filling(row) if of_pairs else None,
        settings=row.settings,
        unpaid=settings_of(row.settings).pay.unpaid(row.kinds),
        workers=campaigns.campaign_crowd_size(row),
        alarms=alarm_summaries(row, by_command=context.actor is None),
    )


def go_on(request: GoOnRequest, context: OperationContext) -> JobStatus:
    """Queue the opening of the images that a pilot did not include. Raises CampaignError."""
    job = go_on_with_all(
        campaign=request.row(),
        actor=context.actor,
        enqueue=lambda row, arguments: jobs.enqueue(
            kind=_KIND, arguments=arguments, campaign=row, actor=context.actor
        ),
    )
    return job_status(job)


def newest_opening(campaign: Campaign) -> Job | None:
    """Return the newest job that opens the campaign's images."""
    return Job.objects.filter(campaign=campaign, kind=_KIND).order_by("pk").last()


def open_named_draft(request: OpenDraftRequest, context: OperationContext) -> JobStatus:
    """Open a draft with its last request. Raises JobError if there is none."""
    row = request.row()
    if row.state != Campaign.DRAFT:
        raise JobError(_("The images of this campaign are open already."))
    opening = newest_opening(row)
    if opening is None:
        raise JobError(str(NOT_CHOSEN))
    if opening.state in (Job.FAILED, Job.CANCELLED):
        return job_status(jobs.resume_job(job_id=opening.pk, actor=context.actor))
    arguments = {name: value for name, value in opening.arguments.items() if name != "begin"}
    return job_status(jobs.enqueue(kind=_KIND, arguments=arguments, campaign=row, actor=context.actor))


def duplicate(request: DuplicateCampaignRequest, context: OperationContext) -> DuplicatedCampaign:
    """Create a draft that copies a campaign. Raises CampaignError."""
    draft = duplicate_to_draft(campaign=request.row(), owner=context.actor)
    return DuplicatedCampaign(draft=draft.pk, campaign=request.campaign)


@job_kind(
    "open_images",
    title=gettext_lazy("Opening a campaign's images"),
)
def open_images_job(
    progress: JobProgress,
    *,
    split: str | None = None,
    images: int | None = None,
    tags: Sequence[str] = (),
    after: int = 0,
    known: str = "",
    begin: bool = True,
) -> dict[str, Any]:
    """Open the campaign's images, of a split or all, up to `images`, or drawn by `tags`; with `begin`, then
    open the campaign to workers.

    `after`: how many of them a pilot had. `known`: the layer or split from which control items and a test are
    created before anybody joins. The result is `campaigns.Opened`. Images that are open already stay as they
    are.
    """
    if progress.campaign is None:
        raise JobError("this job is of a campaign, and none was given")
    which = {"split": split, "images": images, "tags": tags, "after": after, "known": known, "begin": begin}
    return asdict(
        _open(
            progress.campaign,
            lambda phase, share: progress.advance(share, phase=phase),
            actor=progress.actor,
            **which,
        )
    )


def _open(
    row: Campaign,
    report_progress: Callable[[str, float], object],
    *,
    actor: Account | None = None,
    **which: Any,
) -> campaigns.OpenedImages:
    """Open the images of a campaign; create its test from gold, and open it to workers, as requested."""
    known, begin = which.pop("known", ""), which.pop("begin", True)
    report_progress("opening images", 0.0)
    done = campaigns.open_campaign_images(
        campaign=row,
        actor=actor,
        progress=lambda done, total: report_progress("opening images", done / max(1, total)),
        **which,
    )
    if known:
        report_progress("making control items", 1.0)
        add_items_of_draft(campaign=row, known=known, actor=actor)
    if begin:
        campaigns.begin_campaign(campaign=row, actor=actor)
    return done
