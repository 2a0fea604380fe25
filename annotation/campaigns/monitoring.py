"""Monitoring of a campaign: its stop rules, and alarms for problems that people have to solve.

The periodic jobs call `tick` about every minute. It reads a bounded amount, except the sum of the earnings,
which it needs only if a budget is set.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.campaigns import StopRule, campaign_crowd_size, pause_campaign, reached_stop_rule
from annotation.campaigns.planned_images import count_planned
from annotation.common import database
from annotation.models import Assignment, Campaign, OpenImage
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, kind_of
from annotation.protocol.state import BOXES_ALWAYS
from annotation.protocol.work import MICROS
from annotation.quality import qualification
from annotation.selectors.campaign.cost import spent
from annotation.selectors.campaign.progress import (
    complete_images,
    newest_answer_at,
    open_tasks_by_kind,
    submitted,
)
from annotation.selectors.campaign.watch import (
    active,
    controls_seen_by_kind,
    failed_jobs,
    in_review,
    overdue,
    stuck,
    without_picture,
)
from annotation.selectors.caption_flags import TELLING_FLAGS_SHARE, workers_with_many_flags
from annotation.selectors.workers.reading_speed import reading_paces
from annotation.task_types.wording import IN_WORDS, Wording

#: Minutes without an answer, while questions are open, after which a campaign counts as stalled.
STALLED_AFTER = 60
#: Hours since the last answer within which a worker counts as active.
ACTIVE_FOR = 24
#: Minutes by which a lease may be overdue: the sweep runs every half minute.
SWEPT_WITHIN = 5
#: For how many days a failed job raises an alarm.
FAILED_WITHIN = 7
#: The share of the last hour's leases that may expire, and the smallest number that is meaningful.
LOST_SHARE, LOST_LEAST = 0.3, 20
#: The share of the budget from which on it is nearly used up; the largest number of active workers whose
#: speed is read.
BUDGET_SHARE, MOST_PACES = 0.9, 200
#: The share of the control items that a worker may have met before more are needed.
MET_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Alarm:
    """A problem: its code, and the kind of question (or "").

    `remedy` is the solution; a page links to it.
    """

    code: str
    kind: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Tick:
    """The result of checking a campaign: its new state, the stop rule that paused it, and alarms."""

    state: str
    stopped: StopRule | None
    alarms: tuple[Alarm, ...]


def tick(campaign: Campaign) -> Tick:
    """Pause the campaign where a stop rule applies, and check for problems."""
    campaign.refresh_from_db()
    rule = reached_stop_rule(campaign) if campaign.state == Campaign.OPEN else None
    if rule is not None:
        pause_campaign(campaign=campaign, reason=rule.reason, rule=rule.rule)
    return Tick(campaign.state, rule, tuple(alarms(campaign)))


def alarms(campaign: Campaign, *, words: Wording = IN_WORDS) -> list[Alarm]:
    """Return the campaign's current alarms; a closed one has none. `words` returns the names of a kind of
    question and its answers: for people by default."""
    if campaign.state == Campaign.CLOSED:
        return []
    settings = settings_of(campaign.settings)
    alarms = [*_control_items(campaign, settings, words), *_at_rest(campaign, settings)]
    if campaign.state == Campaign.OPEN:
        alarms += _at_work(campaign, settings, words)
    return alarms


def _control_items(campaign: Campaign, settings: CampaignSettings, words: Wording) -> Iterator[Alarm]:
    """Yield alarms about impossible tests, and accuracy that cannot be measured."""
    remedy = _("add control items")
    for kind, text in qualification.test_warnings(campaign=campaign, settings=settings, words=words).items():
        yield Alarm("qualification", kind, text, remedy)
    trust = settings.trust
    if not trust.control_share:
        return
    able = _able(campaign, settings)
    met = controls_seen_by_kind(campaign, able)
    for kind in campaign.kinds:
        if kind_of(kind).measured_on != MEASURED_ON_CONTROLS:
            continue
        if kind not in met:
            rules = qualification.campaign_trust_rules(campaign, kind, settings)
            yield Alarm(
                "no_controls",
                kind,
                _(
                    "%(kind)s is unchecked: it has no control items, so nobody is suspended for accuracy; "
                    "a second person is asked %(share)d %% of its questions"
                )
                % {"kind": words.kind(kind), "share": round(100 * rules.double_check_share)},
                remedy,
            )
            continue
        size, most, ended = met[kind]
        if ended:
            yield Alarm(
                "controls_used_up",
                kind,
                _(
                    "%(workers)d active workers have seen all %(items)d control items of %(kind)s: they get "
                    "no more of them"
                )
                % {"workers": ended, "items": size, "kind": words.kind(kind)},
                remedy,
            )
        elif most >= MET_SHARE * size:
            yield Alarm(
                "controls_low",
                kind,
                _("a worker has seen %(n)d of the %(items)d control items of %(kind)s")
                % {"n": most, "items": size, "kind": words.kind(kind)},
                remedy,
            )


def _at_rest(campaign: Campaign, settings: CampaignSettings) -> Iterator[Alarm]:
    """Yield alarms that also concern drafts and paused campaigns."""
    if campaign.state == Campaign.DRAFT:
        yield Alarm(
            "draft",
            "",
            _("the campaign is a draft: workers get no questions"),
            _("open it"),
        )
    if bare := without_picture(campaign):
        yield Alarm(
            "no_pictures",
            "",
            (
                _("%(n)d open images have no picture: workers see captions only")
                if settings.protocol.boxes == BOXES_ALWAYS
                else _("%(n)d open images have no picture: no boxes are asked for them")
            )
            % {"n": bare},
            _("add the corpus again with its pictures, and open a campaign over that"),
        )
    if late := overdue(campaign, before=database.now() - timedelta(minutes=SWEPT_WITHIN)):
        yield Alarm(
            "sweep",
            "",
            ngettext(
                "%(n)d task is still reserved for a worker whose time for it ended more than %(minutes)d "
                "minutes ago",
                "%(n)d tasks are still reserved for workers whose time for them ended more than %(minutes)d "
                "minutes ago",
                late,
            )
            % {"n": late, "minutes": SWEPT_WITHIN},
            _("the periodic jobs are not running: ask your server's operator to start them"),
        )
    since = database.now() - timedelta(days=FAILED_WITHIN)
    if failed := failed_jobs(campaign, since=since):
        yield Alarm(
            "jobs_failed",
            "",
            ngettext(
                "%(n)d job failed in the last %(days)d days, and has not been done since",
                "%(n)d jobs failed in the last %(days)d days, and have not been done since",
                failed,
            )
            % {"n": failed, "days": FAILED_WITHIN},
            _("read why it failed, and resume it"),
        )
    if flagged := len(workers_with_many_flags(campaign)):
        yield Alarm(
            "flagged_captions",
            "",
            ngettext(
                "%(share)d %% or more of the captions of %(n)d worker are flagged",
                "%(share)d %% or more of the captions of %(n)d workers are flagged",
                flagged,
            )
            % {"n": flagged, "share": round(100 * TELLING_FLAGS_SHARE)},
            _("look at their captions; suspend them, or withdraw their answers, where these are useless"),
        )
    if waiting := in_review(campaign):
        yield Alarm(
            "review",
            "",
            ngettext("%(n)d image waits for a reviewer", "%(n)d images wait for a reviewer", waiting)
            % {"n": waiting},
            _("review them"),
        )


def _at_work(campaign: Campaign, settings: CampaignSettings, words: Wording) -> Iterator[Alarm]:
    """Yield alarms that only concern campaigns with open questions."""
    open_tasks = {kind: of.open for kind, of in open_tasks_by_kind(campaign).items() if of.open}
    if not open_tasks:
        opened = OpenImage.objects.filter(campaign=campaign).count()
        if complete_images(campaign) == opened and not count_planned(campaign):
            yield Alarm(
                "complete",
                "",
                _("every image is complete: there is nothing left to ask"),
                _("export it, then close it"),
            )
        return
    at = database.now()
    last = max(filter(None, (newest_answer_at(campaign), campaign.opened_at)), default=campaign.created_at)
    if at - last > timedelta(minutes=STALLED_AFTER):
        yield Alarm(
            "stalled",
            "",
            _("%(n)d questions are open and none has been answered since %(last)s UTC")
            % {"n": sum(open_tasks.values()), "last": f"{last:%Y-%m-%d %H:%M}"},
            _("invite workers, and check the other alarms for what stops them"),
        )
    yield from _crowd(campaign, settings, open_tasks, words)
    yield from _budget(campaign, settings)
    lost = submitted(campaign, since=at - timedelta(hours=1), state=Assignment.EXPIRED)
    done = submitted(campaign, since=at - timedelta(hours=1)) if lost >= LOST_LEAST else 0
    if lost >= LOST_LEAST and lost > LOST_SHARE * (lost + done):
        yield Alarm(
            "leases_lost",
            "",
            _(
                "of %(all)d tasks that workers had in the last hour, %(lost)d ran out of time without an "
                "answer"
            )
            % {"lost": lost, "all": lost + done},
            _(
                "look at the questions as a worker does: is a picture missing, are the instructions clear, "
                "is the pay fair?"
            ),
        )


def _budget(campaign: Campaign, settings: CampaignSettings) -> Iterator[Alarm]:
    """Yield the alarm of a budget that is nearly used up; once it is, the stop rule pauses the campaign."""
    budget = settings.stop.budget
    if budget is None or campaign.simulated:
        return
    share = spent(campaign, settings.pay) / (budget * MICROS) if budget else 1.0
    if share >= BUDGET_SHARE:
        yield Alarm(
            "budget_low",
            "",
            _("%(share)d %% of the budget is used; the campaign pauses when all of it is")
            % {"share": round(100 * share)},
            _("raise the budget, or let the campaign end there"),
        )


def _crowd(
    campaign: Campaign,
    settings: CampaignSettings,
    open_tasks: Mapping[str, int],
    words: Wording,
) -> Iterator[Alarm]:
    """Yield alarms about too few workers, or none who may get an open question."""
    able = _able(campaign, settings)
    there = {worker for workers in able.values() for worker in workers}
    if not there:
        return
    if len(there) < (least := campaign_crowd_size(campaign).least):
        yield Alarm(
            "few_workers",
            "",
            ngettext(
                "%(n)d worker was active in the last %(hours)d hours; at least %(least)d are needed: "
                "nobody answers a question twice",
                "%(n)d workers were active in the last %(hours)d hours; at least %(least)d are needed: "
                "nobody answers a question twice",
                len(there),
            )
            % {"n": len(there), "hours": ACTIVE_FOR, "least": least},
            _("invite more workers"),
        )
    paces = reading_paces(campaign, sorted(there)[:MOST_PACES])
    if fast := sum(speed.flagged for speed in paces.values()):
        yield Alarm(
            "fast_workers",
            "",
            ngettext(
                "%(n)d active worker answers faster than people read",
                "%(n)d active workers answer faster than people read",
                fast,
            )
            % {"n": fast},
            _("look at their answers; suspend them, or withdraw their answers, where these are guesses"),
        )
    for kind, (number, looked_at) in stuck(campaign, able, open_tasks).items():
        if not able[kind]:
            text = _("%(n)d questions of %(kind)s are open and no active worker is admitted to it") % {
                "n": open_tasks[kind],
                "kind": words.kind(kind),
            }
        else:
            text = _(
                "no eligible worker for %(n)d of the first %(looked_at)d open questions of %(kind)s: all "
                "%(active)d active workers have already had them, or drew the box in question"
            ) % {"n": number, "looked_at": looked_at, "kind": words.kind(kind), "active": len(able[kind])}
        yield Alarm(
            "no_worker",
            kind,
            text,
            _("invite more workers, reinstate some, or have a reviewer decide"),
        )


def _able(campaign: Campaign, settings: CampaignSettings) -> dict[str, list[int]]:
    since = database.now() - timedelta(hours=ACTIVE_FOR)
    admits = [
        kind
        for kind in campaign.kinds
        if not qualification.campaign_trust_rules(campaign, kind, settings).qualification
    ]
    return active(campaign, since=since, kinds=campaign.kinds, admits=admits)
