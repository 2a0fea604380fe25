"""A line of the list of tasks: the worker's trust state, the pay, and the waiting tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.protocol.trust import TRUSTED, UNCHECKED, WARM_UP
from annotation.protocol.work import MICROS, PER_HOUR, PER_ITEM
from annotation.queue.available_tasks import MOST_LEFT, AvailableTask, about_left
from annotation.queue.dispatch import NoTask
from annotation.queue.lease_terms import NO_COUNTRY, OTHER_COUNTRY
from annotation.selectors.campaign.cost import money
from annotation.task_types.base import TASK_TYPES, TaskType

#: Reasons that apply to a whole campaign; and those that are nobody's fault.
_WHOLE = ("paused", "closed", "no_consent", NO_COUNTRY, OTHER_COUNTRY)
NONE_OPEN = "none_open"
NO_WORK = (NONE_OPEN, "all_judged", "busy", "unjudged", "check_first")


@dataclass(frozen=True, slots=True)
class Line:
    """An available task in words. `go` is the label of its link, "" if there is none; other fields may be
    empty."""

    offer: AvailableTask
    type: TaskType
    go: str
    trust: str
    pay: str
    today: str

    @property
    def parts(self) -> list[str]:
        """The parts of the line."""
        return [part for part in (self.trust, self.pay, self.today) if part]

    @property
    def why_not(self) -> str:
        """The reason and the next step, if there is nothing to do here (and not in the whole campaign)."""
        nothing = self.offer.nothing
        return nothing.text if nothing and not self.go and nothing.code not in _WHOLE else ""

    @property
    def barred(self) -> bool:
        """Whether this worker is barred, rather than that there is no work."""
        return self.offer.nothing is not None and self.offer.nothing.code not in NO_WORK


def line(offer: AvailableTask) -> Line:
    """Return `offer` as a line of the list."""
    return Line(
        offer,
        TASK_TYPES.get(offer.kind),
        _go(offer),
        _trust_words(offer),
        _pay(offer),
        _today(offer),
    )


def left_in_words(campaign: int, kind: str, of_visit: int | None = None) -> str:
    """Return the amount of remaining work: up to the last answer of a platform's visit, else about the number
    of waiting tasks."""
    if of_visit is not None:
        return ngettext("%(n)d left", "%(n)d left", of_visit) % {"n": of_visit}
    waiting = about_left(campaign=campaign, kind=kind)
    if waiting >= MOST_LEFT:
        return _("more than %(n)d left") % {"n": MOST_LEFT}
    if not waiting:
        return _("fewer than %(n)d left") % {"n": 10}
    return _("about %(n)d left") % {"n": waiting}


def whole_campaign_reason(tasks: Sequence[AvailableTask]) -> NoTask | None:
    """Return why there is nothing to do in a whole campaign, if one reason applies to all of it."""
    reasons = [offer.nothing for offer in tasks]
    if all(nothing is not None and nothing.code == NONE_OPEN for nothing in reasons):
        return NoTask(
            NONE_OPEN, _("No question is open here now: choose another campaign, or come back later.")
        )
    return next((nothing for nothing in reasons if nothing is not None and nothing.code in _WHOLE), None)


def _go(offer: AvailableTask) -> str:
    if offer.in_hand:
        return _("Continue")
    if offer.nothing is None:
        return _("Start") if not offer.trust.items else _("Work")
    if not offer.wants_test:
        return ""
    if offer.test:
        return _("Continue the test")
    return _("Take the test") if offer.nothing.code == "no_test" else _("Take the test again")


def _trust_words(offer: AvailableTask) -> str:
    trust, trust_state = offer.settings.trust, offer.trust
    if offer.nothing is not None and offer.nothing.code == "blocked":
        return ""
    if offer.reads == UNCHECKED:
        return _("Begins with practice") if offer.practice_first else _("Unchecked")
    if offer.reads == TRUSTED:
        return _("Trusted")
    if offer.reads == WARM_UP:
        if trust_state.items >= trust.warm_up_items:
            return _("Warm-up: answers are being checked")
        return _("Warm-up: %(done)d of %(all)d checked answers") % {
            "done": trust_state.items,
            "all": trust.warm_up_items,
        }
    if offer.test:
        return _("Test: %(done)d of %(all)d") % {"done": offer.test.answered, "all": offer.test.items}
    if offer.nothing is not None and offer.nothing.code == "no_test":
        return _("Begins with a test of at most %(all)d questions") % {"all": trust.verdict_known}
    if offer.nothing is not None and offer.nothing.code == "test_failed" and trust_state.examined:
        return _("Test: %(right)d of %(all)d right, not enough") % {
            "right": trust_state.examined.right,
            "all": trust_state.examined.items,
        }
    return ""


def _pay(offer: AvailableTask) -> str:
    pay = offer.settings.pay
    if pay.basis == PER_ITEM:
        return _("%(sum)s each") % {"sum": money(pay.amount(offer.kind, 0), pay.currency)}
    if pay.basis == PER_HOUR:
        return _("%(sum)s an hour") % {"sum": money(round(pay.hourly * MICROS), pay.currency)}
    return ""


def _today(offer: AvailableTask) -> str:
    done = offer.today
    if not done.answers:
        return ""
    message = ngettext("%(n)d done today", "%(n)d done today", done.answers) % {"n": done.answers}
    return f"{message}, {money(done.pay, offer.settings.pay.currency)}" if done.pay else message
