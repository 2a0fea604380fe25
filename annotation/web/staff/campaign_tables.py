"""A campaign's figures, alarms and history in words, for its first page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.urls import reverse
from django.utils.formats import date_format, number_format
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.campaigns.monitoring import Alarm
from annotation.models import AuditEntry, Campaign
from annotation.protocol import kinds
from annotation.protocol.agreement import DoubleCheckAgreement, IntervalEstimate
from annotation.protocol.boxes import REVIEW
from annotation.protocol.work import UNPAID
from annotation.selectors.campaign.cost import cents
from annotation.selectors.campaign.glance import Overview
from annotation.selectors.campaign.progress import Funnel, TaskCounts
from annotation.selectors.campaign.summaries import reason_in_words
from annotation.web.staff.wording import ACTS, STAGES_IN_WORDS, answer_in_words, done_by, kind_in_words

#: The page that adds corpora; it belongs to no campaign.
ADDS = "uploads"

#: The page of each alarm where it can be handled, or the nearest to it, with its filter, and the label of its
#: link.
HELPS = {
    "qualification": ("control_item_list", gettext_lazy("Add control items")),
    "no_controls": ("control_item_list", gettext_lazy("Add control items")),
    "controls_used_up": ("control_item_list", gettext_lazy("Add control items")),
    "controls_low": ("control_item_list", gettext_lazy("Add control items")),
    "review": ("review", gettext_lazy("Review them")),
    "complete": ("jobs", gettext_lazy("Export")),
    "few_workers": ("entry", gettext_lazy("Invite workers")),
    "no_worker": ("workers", gettext_lazy("See the workers")),
    "fast_workers": ("workers", gettext_lazy("See the workers")),
    "flagged_captions": ("answers?flagged=any", gettext_lazy("Look at them")),
    "budget_low": ("campaign_settings", gettext_lazy("Change the budget")),
    "stalled": ("entry", gettext_lazy("Invite workers")),
    "leases_lost": ("texts", gettext_lazy("Read the instructions")),
    "draft": ("jobs", gettext_lazy("Open it")),
    "sweep": ("jobs", gettext_lazy("See the jobs")),
    "jobs_failed": ("jobs", gettext_lazy("See the jobs")),
    "no_pictures": (ADDS, gettext_lazy("Add a corpus")),
}


#: The fields that a line of the audit log may show, in this order, with their labels.
_NAMED = {
    "of": gettext_lazy("of"),
    "image": gettext_lazy("image"),
    "worker": gettext_lazy("worker"),
    "kind": "",
    "kinds": "",
    "version": gettext_lazy("version"),
    "items": gettext_lazy("items"),
    "images": gettext_lazy("images"),
    "priority": gettext_lazy("priority"),
    "rule": gettext_lazy("rule"),
    "reason": gettext_lazy("reason"),
    "job": gettext_lazy("job"),
}


@dataclass(slots=True)
class NextAct:
    """Something that needs attention: a sentence, the remedy, and its page.

    `more` are others of its sort.
    """

    text: str
    remedy: str
    address: str = ""
    link: str = ""
    more: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A figure with its name, and a sentence that explains it."""

    name: str
    figure: str
    says: str


@dataclass(frozen=True, slots=True)
class StageRow:
    """The number of chains at a stage, and its share of the most frequent one, for SVG."""

    name: str
    chains: int
    width: str
    waits: bool


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """The agreement of two people on a kind of question, in words: each figure with its interval."""

    name: str
    of: DoubleCheckAgreement
    equal: str
    kappa: str
    answers: str
    overlap: str


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One kind of question: its open tasks, and its answers so far."""

    name: str
    tasks: TaskCounts
    answers: int
    controls: int
    double_checks: int
    seconds: float | None
    pay: str


@dataclass(frozen=True, slots=True)
class WordedAct:
    """A line of the audit log in words."""

    at: datetime
    who: str
    what: str
    about: str


def acts_next(campaign: Campaign, alarms: Iterable[Alarm], *, runs: bool, adds: bool) -> list[NextAct]:
    """Return what needs attention, with alarms of the same sort together.

    Links are those that the reader may follow: to review, with `runs` to the other pages of the campaign,
    with `adds` to the one that adds corpora.
    """
    acts: dict[str, NextAct] = {}
    for alarm in alarms:
        if alarm.code in acts:
            acts[alarm.code].more.append(alarm.text)
            continue
        where, link = HELPS.get(alarm.code, ("", ""))
        page, filtered, query = where.partition("?")
        address = ""
        if page == ADDS:
            address = reverse(page) if adds else ""
        elif page in ("review", "answers") or page and runs:
            address = f"{reverse(page, args=[campaign.name])}{filtered}{query}"
        remedy = "" if address and capfirst(alarm.remedy) == link else alarm.remedy  # the link contains it
        acts[alarm.code] = NextAct(alarm.text, remedy, address, str(link))
    return list(acts.values())


def key_figures(
    seen: Overview,
    *,
    basis: str,
    paged: bool = False,
    unchecked_kinds: Sequence[str] = (),
    timed: bool = True,
) -> list[KeyFigure]:
    """Return the figures at the top of the page; `basis` is that of the pay, `paged` whether there are pages,
    `unchecked_kinds` the kinds of question without measured accuracy. If answers took no time (`timed` is
    false) there is neither speed nor pay."""
    figures = [_images(seen.funnel, paged)]
    if timed:
        figures += [_answer_rate(seen), _end(seen), _cost(seen, basis)]
    else:
        figures.append(
            KeyFigure(
                _("simulated answers"),
                _grouped(seen.cost.answers),
                _("they took no time and earn nothing: this campaign shows neither pace nor pay"),
            )
        )
    if unchecked_kinds:
        figures.append(_not_checked(unchecked_kinds))
    if any(kind.pairs for kind in seen.agreement.values()):
        figures.append(_agreement(seen.agreement))
    return figures


def _images(funnel: Funnel, paged: bool) -> KeyFigure:
    share = 100 * funnel.complete // funnel.in_all if funnel.in_all else 0
    return KeyFigure(
        # A page of several images is counted with its first one.
        _("first images of pages complete") if paged else _("images complete"),
        _("%(complete)s of %(images)s")
        % {"complete": _grouped(funnel.complete), "images": _grouped(funnel.in_all)},
        _("%(share)d %%; %(begun)s begun") % {"share": share, "begun": _grouped(funnel.begun)},
    )


def _answer_rate(seen: Overview) -> KeyFigure:
    newest = seen.throughput.newest_at
    says = _("no answers yet")
    if newest is not None:
        says = _("%(rate)s an hour over the last day; newest answer %(ago)s ago") % {
            "rate": _grouped(round(seen.throughput.per_hour)),
            "ago": timesince(newest),
        }
    return KeyFigure(_("answers in the last hour"), _grouped(seen.throughput.last_hour), says)


def _end(seen: Overview) -> KeyFigure:
    progress = seen.throughput
    if progress.to_come is None:
        return KeyFigure(_("expected end"), "–", _("shown once some images are finished"))
    if not progress.to_come:
        return KeyFigure(_("expected end"), "–", _("no more answers needed"))
    left = ngettext("%(n)s more answer needed", "about %(n)s more answers needed", progress.to_come)
    left = left % {"n": _grouped(progress.to_come)}
    if progress.ends_at is None:
        return KeyFigure(_("expected end"), "–", left)
    return KeyFigure(_("expected end"), date_format(progress.ends_at, "DATE_FORMAT"), left)


def _cost(seen: Overview, basis: str) -> KeyFigure:
    cost = seen.cost
    hours = _("%(hours)s hours of work") % {"hours": number_format(cost.seconds / 3600, 1)}
    if basis == UNPAID:
        return KeyFigure(_("answers so far"), _grouped(cost.answers), hours)
    parts = [_("%(amount)s due") % {"amount": cents(cost.due, cost.currency)}]
    if seen.pay_to_come is not None:
        parts.append(
            _("about %(amount)s still to be earned") % {"amount": cents(seen.pay_to_come, cost.currency)}
        )
    if cost.hourly is not None:
        parts.append(_("%(amount)s earned per hour") % {"amount": cents(cost.hourly, cost.currency)})
    if cost.bonuses:
        parts.append(_("%(amount)s in bonuses") % {"amount": cents(cost.bonuses, cost.currency)})
    return KeyFigure(_("cost so far"), cents(cost.earned, cost.currency), "; ".join(parts))


def _agreement(kinds: dict[str, DoubleCheckAgreement]) -> KeyFigure:
    pairs = sum(kind.pairs for kind in kinds.values())
    equal = sum(kind.pairs * kind.equal.value for kind in kinds.values() if kind.equal) / pairs
    says = ngettext(
        "of %(n)s question drawn for a second answer; by kind below",
        "of %(n)s questions drawn for a second answer; by kind below",
        pairs,
    )
    return KeyFigure(_("agreement"), f"{round(100 * equal)} %", says % {"n": _grouped(pairs)})


def _not_checked(kinds: Sequence[str]) -> KeyFigure:
    says = _("no gold answers, so accuracy is not measured: %(kinds)s")
    return KeyFigure(
        _("trust"), _("unchecked"), says % {"kinds": ", ".join(str(kind_in_words(kind)) for kind in kinds)}
    )


def funnel_rows(funnel: Funnel) -> list[StageRow]:
    """Return chains by stage, in the order of the workflow."""
    most = max(funnel.chains.values(), default=0) or 1
    return [
        StageRow(
            str(STAGES_IN_WORDS.get(stage, stage)), chains, f"{100 * chains / most:.2f}%", stage == REVIEW
        )
        for stage, chains in funnel.chains.items()
    ]


def kind_rows(seen: Overview) -> list[QuestionRow]:
    """Return every kind of question, in the order of the workflow."""
    rows = []
    for kind in seen.tasks:
        cost = seen.cost.kinds.get(kind)
        rows.append(
            QuestionRow(
                name=str(kind_in_words(kind)),
                tasks=seen.tasks[kind],
                answers=cost.answers if cost else 0,
                controls=cost.controls if cost else 0,
                double_checks=cost.double_checks if cost else 0,
                seconds=cost.seconds / cost.answers if cost and cost.answers else None,
                pay=cents(cost.pay if cost else 0, seen.cost.currency),
            )
        )
    return rows


def superseded_in_words(seen: Overview) -> str:
    """Return how many answers became superseded because workers changed earlier ones; "" for none."""
    if not seen.superseded_share:
        return ""
    says = ngettext(
        "%(n)s answer (%(share)s %%) lost its use because a worker changed an earlier one; it stays paid.",
        "%(n)s answers (%(share)s %%) lost their use because workers changed earlier ones; they stay paid.",
        seen.superseded,
    )
    share = number_format(100 * seen.superseded_share, 1)
    return says % {"n": _grouped(seen.superseded), "share": share}


def agreement_rows(agreement: Mapping[str, DoubleCheckAgreement]) -> list[AgreementRow]:
    """Return the kinds with questions that were drawn for a second answer."""
    return [
        AgreementRow(
            name=str(kind_in_words(kind)),
            of=of,
            equal=percent_in_words(of.equal),
            kappa=interval_in_words(of.kappa),
            answers=", ".join(
                f"{answer_in_words(kind, share.answer)} {round(100 * share.share.value)} %"
                for share in of.answers
            )
            or "–",
            overlap=interval_in_words(of.overlap),
        )
        for kind, of in agreement.items()
    ]


def percent_in_words(of: IntervalEstimate | None) -> str:
    """Return a share with its interval, in per cent; a dash if there is none."""
    if of is None:
        return "–"
    ends = {"low": round(100 * of.low), "high": round(100 * of.high)}
    return f"{round(100 * of.value)} % " + _("(%(low)s to %(high)s)") % ends


def interval_in_words(of: IntervalEstimate | None) -> str:
    """Return a figure with its interval, to hundredths; a dash if there is none."""
    if of is None:
        return "–"
    value, low, high = (number_format(end, 2).replace("-", "−") for end in (of.value, of.low, of.high))
    return f"{value} " + _("(%(low)s to %(high)s)") % {"low": low, "high": high}


def worded_acts(entries: Iterable[AuditEntry]) -> list[WordedAct]:
    """Return lines of the audit log in words, with the names that they contain."""
    return [
        WordedAct(
            entry.at,
            done_by(entry),
            str(ACTS.get(entry.act, entry.act)),
            ", ".join(_named(entry.about)),
        )
        for entry in entries
    ]


def _named(about: dict[str, object]) -> Sequence[str]:
    parts = []
    for key, label in _NAMED.items():
        value = about.get(key)
        values = value if isinstance(value, list) else [] if value in (None, "") else [value]
        if not values or (key == "kinds" and len(values) == len(kinds.names())):
            continue
        if label:
            parts.append(f"{label} {' '.join(reason_in_words(str(item)) for item in values)}")
        else:
            parts.append(", ".join(str(kind_in_words(str(kind))) for kind in values))
    return parts


def _grouped(number: int) -> str:
    return number_format(number, use_l10n=True, force_grouping=True)
