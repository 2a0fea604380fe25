"""Operations on campaigns: list, pause, resume, close, archive, delete, export, and order images."""

from collections.abc import Callable, Iterable
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.campaigns import StaleSettings, deleting, ordering, states, status
from annotation.campaigns.status import AlarmSummary, CampaignStatus, CostSummary, KindAgreement
from annotation.common.operations import (
    CommandLine,
    File,
    FormPage,
    Has,
    OperationContext,
    Rest,
    register,
    request_fields,
)
from annotation.common.plain_text import text_table
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets.contents import answer_files, arrow_tables, written_captions
from annotation.jobs.kinds import caption_checks, refresh_layer
from annotation.jobs.kinds import export_bundle as bundles
from annotation.jobs.kinds import export_dataset as exports
from annotation.protocol.agreement import IntervalEstimate
from annotation.selectors.campaign import summaries
from annotation.selectors.drawing_ways import DrawingWay
from annotation.selectors.export_exclusions import missing_from_export

#: Replaces progress and cost.
_SIMULATED = "simulated answers: they took no time and earn nothing"


def alarm_lines(alarms: Iterable[AlarmSummary]) -> list[str]:
    """Return alarms as lines: the problem, and below it the remedy, once for alarms with the same remedy."""
    by_remedy: dict[str, list[str]] = {}
    for alarm in alarms:
        by_remedy.setdefault(alarm.remedy, []).append(alarm.text)
    lines = []
    for remedy, texts in by_remedy.items():
        lines += [f"ALARM: {text}" for text in texts] + [f"  -> {remedy}"]
    return lines


def campaign_status_text(status: CampaignStatus) -> str:
    """Return progress, speed, cost, agreement and alarms of a campaign."""
    reason, progress = f" ({status.reason})" if status.reason else "", status.progress
    planned = f" and {progress.planned} to be opened" if progress.planned else ""
    chains = ", ".join(f"{stage.lower()} {count}" for stage, count in progress.chains.items())
    done = {row.kind: [row.answers, row.controls, row.double_checks] for row in status.cost.kinds}
    images = (
        f"images {progress.images}{planned}: begun {progress.begun}, complete {progress.complete}, "
        f"waiting for a reviewer {progress.in_review}\nchains: {chains}"
    )
    parts = [
        f"campaign {status.name!r} over corpus {status.corpus!r}: {status.state}{reason}",
        images,
        text_table(
            ["question", "open", "wanting", "in progress", "answers", "controls", "asked twice"],
            [
                [kind, of.open, of.wanting, of.in_hand, *done.get(kind, [0, 0, 0])]
                for kind, of in progress.tasks.items()
            ],
        ),
        *([_agreement(status.agreement)] if status.agreement else ()),
        *([_drawing(status.drawing_ways)] if status.drawing_ways else ()),
        *([_SIMULATED] if status.simulated else [_progress_text(status), _cost(status.cost)]),
        *(["\n".join(alarm_lines(status.alarms))] if status.alarms else ()),
    ]
    return "\n\n".join(parts)


def _cost(cost: CostSummary) -> str:
    """Return what was earned, paid and is due, in a line."""

    def money(amount: str) -> str:
        return f"{number_format(amount)} {cost.currency}"

    line = (
        f"earned {money(cost.earned)}, paid {money(cost.paid)}, due {money(cost.due)}, "
        f"in progress {money(cost.in_hand)}"
    )
    if float(cost.bonuses):
        line += f", bonuses {money(cost.bonuses)}"
    if cost.to_come and float(cost.to_come):
        line += f", still to be earned {money(cost.to_come)}"
    return line + (f"; {money(cost.hourly)} earned per hour of work" if cost.hourly else "")


def _agreement(kinds: Iterable[KindAgreement]) -> str:
    """Return the agreement of two people, over the questions drawn for a second answer; intervals are of 95
    %."""

    def interval(of: IntervalEstimate | None, form: str) -> str:
        return "-" if of is None else f"{of.value:{form}} ({of.low:{form}} to {of.high:{form}})"

    lines: list[list[Any]] = [
        [
            of.kind,
            of.drawn,
            of.pairs,
            of.lacking,
            interval(of.equal, ".0%"),
            interval(of.kappa, ".2f"),
            ", ".join(f"{share.answer} {share.share.value:.0%}" for share in of.answers) or "-",
            interval(of.overlap, ".2f"),
        ]
        for of in kinds
    ]
    counts = ["drawn", "two answers", "no second answer"]
    return text_table(["question", *counts, "same answer", "kappa", "share of each answer", "IoU"], lines)


def _drawing(ways: Iterable[DrawingWay]) -> str:
    lines = [
        [
            way.way or "unknown",
            way.boxes,
            f"{way.median_seconds:.1f}",
            way.judged,
            "-" if way.good is None else f"{way.good:.1%}",
        ]
        for way in ways
    ]
    return text_table(["way of drawing", "boxes", "median s", "judged", "good"], lines)


def _progress_text(status: CampaignStatus) -> str:
    progress = status.progress
    newest = progress.newest_answer_at
    text = (
        f"answers in the last hour {progress.answers_last_hour}, an hour over the last day "
        f"{progress.answers_per_hour:.1f}; "
    )
    if progress.superseded_share:
        text += (
            f"{progress.answers_superseded} ({progress.superseded_share:.1%}) lost their use because earlier "
            "ones were changed, and stay paid; "
        )
    text += f"the newest at {newest.isoformat(timespec='seconds')}" if newest else "none yet"
    if progress.answers_to_come is None:
        return text + "; too few images are finished to estimate the end"
    ends = progress.ends_at
    end = f", expected end {ends.isoformat(timespec='seconds')}" if ends else ""
    return f"{text}; {progress.answers_to_come} to come{end}"


MAY_READ = Has((REVIEWER, RESEARCHER), on="campaign")
MAY_RUN = Has((RESEARCHER,), on="campaign")
ONE_CAMPAIGN = "campaigns/<slug:campaign>"


_NEW_FOLDER = "A new or an empty folder"
_BUILDING = _("Building the export. It will appear here.")


def _published_text(result: written_captions.PublishedCaptions) -> str:
    left = f"; {result.skipped} images left out" if result.skipped else ""
    state = "exists with the same content" if result.unchanged else "published"
    return (
        f"corpus {result.corpus!r} {state}: {result.images} images, {result.captions} new captions of "
        f"{result.writers} writers{left}"
    )


def _exported_text(result: exports.ExportedDataset) -> str:
    """Return what an export contains, and what it lacks."""
    counts = ", ".join(f"{number} {word}" for word, number in result.counts.items())
    lines = [f"{counts}", f"written to {result.path} as {result.format}"]
    return "\n".join([*lines, *result.notes, *missing_from_export(result.excluded)])


def _act(act: Callable[..., object]) -> Callable[[Any, OperationContext], summaries.CampaignSummary]:
    """Return the function of an act on a campaign, with the request's other fields as arguments."""

    def run(request: Any, context: OperationContext) -> summaries.CampaignSummary:
        row = request.row()
        fields = {name: getattr(request, name) for name in request_fields(type(request))}
        act(**{**fields, "campaign": row}, actor=context.actor)
        return summaries.campaign_summary(row)

    return run


def _archived(row: summaries.CampaignSummary) -> str:
    return str(
        _("Campaign archived: lists leave it out.")
        if row.archived
        else _("Campaign brought back into the lists.")
    )


def _opened_to_all(row: summaries.CampaignSummary) -> str:
    return str(
        _("Every annotator of this server may now work on it.")
        if row.open_to_all
        else _("Only people with an invitation link, a study or a role for it may now work on it.")
    )


def _skipped_text(result: states.SkippedImages) -> str:
    return ngettext(
        "%(n)d image is left out: no further one is opened.",
        "%(n)d images are left out: no further ones are opened.",
        result.images,
    ) % {"n": result.images}


def _prioritised(result: ordering.PrioritisedImages) -> str:
    if result.priority == ordering.USUAL:
        text = ngettext(
            "%(n)d image comes in its usual turn.", "%(n)d images come in their usual turn.", result.images
        )
    else:
        text = ngettext(
            "%(n)d image has priority %(priority)d now.",
            "%(n)d images have priority %(priority)d now.",
            result.images,
        )
    return text % {"n": result.images, "priority": result.priority}


register(
    title=_("List campaigns"),
    result=summaries.CampaignSummary,
    permission=Has((REVIEWER, RESEARCHER)),
    run=summaries.list_campaigns,
    rest=Rest("GET", "campaigns", "campaigns", route="campaigns"),
)
register(
    title=_("Show a campaign"),
    permission=MAY_READ,
    run=status.campaign_status,
    rest=Rest("GET", ONE_CAMPAIGN, "campaigns", route="campaign"),
    command=CommandLine(text=campaign_status_text),
)
register(
    name="campaign_dashboard",
    title=_("Show the data of a campaign's charts"),
    permission=MAY_READ,
    run=status.dashboard_data,
    rest=Rest("GET", f"{ONE_CAMPAIGN}/dashboard", "campaigns", route="dashboard"),
)
register(
    name="archive_campaign",
    title=_("Archive a campaign, or bring it back"),
    request=states.ArchiveCampaignRequest,
    permission=MAY_RUN,
    run=_act(states.archive_campaign),
    rest=Rest("PATCH", ONE_CAMPAIGN, "campaigns", route="campaign", example={"archived": True}),
    page=FormPage(done=_archived),
)
register(
    name="delete_campaign",
    title=_("Delete a campaign that nobody joined"),
    permission=MAY_RUN,
    run=deleting.delete_named_campaign,
    rest=Rest("DELETE", ONE_CAMPAIGN, "campaigns", route="campaign"),
    page=FormPage(
        done=_("Campaign deleted. Its history stays in the audit log."),
        sure=_("I understand that its questions, texts and control items will be deleted"),
    ),
)
register(
    name="pause_campaign",
    title=_("Pause a campaign"),
    request=states.PauseCampaignRequest,
    permission=MAY_RUN,
    run=_act(states.pause_campaign),
    rest=Rest(
        "POST",
        f"{ONE_CAMPAIGN}/pause",
        "campaigns",
        example={"reason": "We look at the first answers."},
    ),
    page=FormPage(done=_("Campaign paused: workers get no new tasks. Answers to open tasks still count.")),
)
register(
    name="resume_campaign",
    title=_("Resume a paused campaign"),
    request=states.ResumeCampaignRequest,
    permission=MAY_RUN,
    run=_act(states.resume_campaign),
    rest=Rest("POST", f"{ONE_CAMPAIGN}/resume", "campaigns"),
    page=FormPage(done=_("Campaign resumed.")),
)
register(
    name="close_campaign",
    title=_("Close a campaign permanently"),
    request=states.CloseCampaignRequest,
    permission=MAY_RUN,
    run=_act(states.close_campaign),
    rest=Rest("POST", f"{ONE_CAMPAIGN}/close", "campaigns", example={"reason": "Enough answers."}),
    page=FormPage(
        done=_("Campaign closed."),
        sure=_("I understand that a closed campaign cannot be opened again"),
    ),
)
register(
    name="set_stop_rules",
    title=_("Set the stop rules of a campaign"),
    permission=MAY_RUN,
    run=states.set_named_stop_rules,
    stale=(StaleSettings,),
    rest=Rest("POST", f"{ONE_CAMPAIGN}/stop-rules", "campaigns", example={"budget": 250.0}),
    page=FormPage(done=_("Stop rules saved.")),
)
register(
    name="set_open_to_all",
    title=_("Open a campaign to every annotator, or to those who were invited"),
    request=states.OpenToAllRequest,
    permission=MAY_RUN,
    run=_act(states.set_open_to_all),
    rest=Rest("POST", f"{ONE_CAMPAIGN}/open-to-all", "campaigns", example={"open_to_all": True}),
    page=FormPage(done=_opened_to_all),
)
register(
    title=_("Open no further images of a campaign"),
    permission=MAY_RUN,
    run=states.drop_planned_images,
    rest=Rest("DELETE", f"{ONE_CAMPAIGN}/planned-images", "campaigns"),
    page=FormPage(done=_skipped_text),
)
register(
    name="prioritise_images",
    title=_("Set which images come first"),
    permission=MAY_RUN,
    run=ordering.prioritise_named_images,
    rest=Rest(
        "POST",
        f"{ONE_CAMPAIGN}/priorities",
        "campaigns",
        example={"images": ["scene-2.png"], "priority": 1},
    ),
    page=FormPage(done=_prioritised),
)
register(
    title=_("Export the answers of a campaign"),
    result=File("application/x-ndjson"),
    permission=MAY_RUN,
    run=answer_files.export_answers,
    rest=Rest("GET", f"{ONE_CAMPAIGN}/answers.jsonl", "exports"),
)
register(
    title=_("Export the judgments of a campaign as an Arrow stream"),
    result=File(arrow_tables.ARROW_TYPE),
    permission=MAY_RUN,
    run=arrow_tables.export_judgment_table,
    rest=Rest("GET", f"{ONE_CAMPAIGN}/judgments.arrow", "streams", route="judgments"),
)
register(
    name="export_dataset",
    title=_("Export a corpus with a layer"),
    permission=Has((RESEARCHER,), on="corpus"),
    run=exports.export_layer,
    before_job=exports.check_dataset,
    errors=(OSError,),
    as_job=True,
    rest=Rest(
        "POST",
        "corpora/<slug:corpus>/exports",
        "exports",
        route="corpus_exports",
        example={"format": "entities", "layer": "import"},
    ),
    command=CommandLine(out=_NEW_FOLDER, text=_exported_text),
    page=FormPage(started=_BUILDING),
)
register(
    title=_("Export the dataset of a campaign"),
    permission=MAY_RUN,
    run=exports.export_campaign,
    before_job=exports.check_campaign,
    errors=(OSError,),
    as_job=True,
    rest=Rest(
        "POST",
        f"{ONE_CAMPAIGN}/exports",
        "exports",
        route="exports",
        example={"format": "entities", "unfinished": "leave_out"},
    ),
    command=CommandLine(out=_NEW_FOLDER, text=_exported_text),
    page=FormPage(started=_BUILDING),
)
register(
    title=_("Export a release bundle of a campaign"),
    permission=MAY_RUN,
    run=bundles.export_bundle,
    before_job=bundles.check_bundle_request,
    errors=(OSError,),
    as_job=True,
    rest=Rest("POST", f"{ONE_CAMPAIGN}/bundles", "exports", route="bundles", example={}),
    command=CommandLine(out=_NEW_FOLDER, text=_exported_text),
    page=FormPage(started=_BUILDING),
)
register(
    title=_("Download an export"),
    result=File("application/zip"),
    permission=Has((RESEARCHER,), on="job"),
    run=exports.download_export,
    rest=Rest("GET", "jobs/<int:job>/download", "exports", route="job_download"),
    page=FormPage(),
)
register(
    title=_("Update the layer of a campaign"),
    permission=MAY_RUN,
    run=refresh_layer.refresh_layer,
    as_job=True,
    rest=Rest("POST", f"{ONE_CAMPAIGN}/layer/refresh", "preparing", route="layer_refresh"),
    page=FormPage(started=_("Updating the annotations.")),
)
register(
    title=_("Have captions checked by a second person"),
    permission=Has((RESEARCHER,), on="corpus"),
    run=caption_checks.open_caption_checks,
    as_job=True,
    rest=Rest("POST", "corpora/<slug:corpus>/caption-checks", "preparing", example={"name": "checks"}),
    command=CommandLine(positional=("corpus", "name")),
    page=FormPage(started=_("The campaign is being opened.")),
)
register(
    title=_("Publish the captions of a campaign as a corpus"),
    permission=Has((RESEARCHER,), server=True),
    run=written_captions.publish_captions,
    before_job=written_captions.check_publishing,
    as_job=True,
    rest=Rest(
        "POST", f"{ONE_CAMPAIGN}/corpora", "exports", route="campaign_corpora", example={"name": "written"}
    ),
    command=CommandLine(positional=("campaign", "name"), text=_published_text),
    page=FormPage(started=_("Publishing the captions. The corpus will appear under Corpora.")),
)
