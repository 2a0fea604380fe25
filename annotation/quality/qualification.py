"""The qualification test: drawn when it begins, answered item by item, judged when all are answered.

A test is a sequence of assignments with role "qualification", one for each item, written when it begins and
fixed from then on; `attempt` numbers a worker's tests of a kind, from 0. They are leased one after the other
and submitted like any other task:

    begin       a test, drawn and written, or the reason why there is none
    hold        leases.take: the next item of the test under way, leased
    answered    submission.submit: an item was graded; the last one updates the trust state
    obstacle    leases.take, pages: why a worker who needs a test cannot begin one

An item that was returned or expired comes again: nobody can skip a difficult one. A kind's test may be taken
ATTEMPTS times; a renewed trust state counts from there.

Source: Plummer et al. 2015, section 2.3 (a test for each question). Its length, the balance over the possible
answers, and the number of attempts are our choices.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Max
from django.utils.translation import gettext as _

from annotation.common import database
from annotation.models import Assignment, Campaign, Control, TrustState, Worker
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.controls import PooledControl as Item
from annotation.protocol.controls import test_items
from annotation.protocol.trust import QUALIFICATION, QualificationTaken, Refusal, trust_after_or_same, why_not
from annotation.protocol.trust_settings import TrustSettings, kinds_tested
from annotation.quality import worker_trust
from annotation.quality.controls import control_pool, qualification_pools, trust_rules_in_force
from annotation.selectors.same_question import asked_before_in
from annotation.task_types.wording import BY_KEY, Wording

#: Maximum number of attempts at the test of a kind.
TEST_ATTEMPTS = 3
QUALIFICATION_ROLE = "qualification"
#: Codes of `why_not` for workers who need a test.
NEED_A_TEST = ("no_test", "test_failed")


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A test under way: its number among the worker's tests of the kind, from 1, and its progress."""

    attempt: int
    items: int
    answered: int


class AvailableTest(NamedTuple):
    """A kind of question in a campaign for which a worker may take a test: their trust state there, which
    need not be stored yet."""

    row: TrustState
    campaign: Campaign
    settings: CampaignSettings

    @property
    def key(self) -> tuple[int, str]:
        """Campaign and kind."""
        return self.campaign.pk, self.row.kind


def begin_qualification(*, worker: int, campaign: Campaign, kind: str) -> QualificationTest | Refusal:
    """Begin the test of `kind`, or continue the one under way; return a Refusal if neither is possible."""
    settings = settings_of(campaign.settings)
    with database.writing():
        in_force = campaign_trust_rules(campaign, kind, settings)
        worker_trust.join_campaign(worker=worker, campaign=campaign, kind=kind, settings=in_force)
        row = TrustState.objects.select_for_update().get(campaign=campaign, worker=worker, kind=kind)
        under_way = test_under_way(row)
        if under_way is not None:
            return under_way
        refusal = _refusal(row, in_force) or test_obstacle(row, campaign=campaign, settings=settings)
        if refusal is not None:
            return refusal
        earlier = Assignment.objects.filter(
            campaign=campaign, worker=worker, kind=kind, role=QUALIFICATION_ROLE
        )
        items = test_items(
            _left(row, campaign),
            settings.trust.verdict_known,
            seed=campaign.seed,
            worker=Worker.objects.values_list("pseudonym", flat=True).get(pk=worker),
            kind=kind,
            attempt=row.attempt,
            used=Counter(map(str, earlier.values_list("control", flat=True))),
        )
        at = database.now()
        Assignment.objects.bulk_create(
            Assignment(
                campaign=campaign,
                worker_id=worker,
                kind=kind,
                control_id=int(item.id),
                attempt=row.attempt,
                role=QUALIFICATION_ROLE,
                settings_version=campaign.settings_version,
                state=Assignment.PLANNED,
                leased_at=at,
                expires_at=at,
                ended_at=at,
            )
            for item in items
        )
        row.attempt += 1
        row.save(update_fields=["attempt"])
    return QualificationTest(row.attempt, len(items), 0)


def test_under_way(row: TrustState) -> QualificationTest | None:
    """Return the test that a worker has begun and not finished, if any."""
    return tests_under_way([row]).get((row.campaign_id, row.kind))


def tests_under_way(rows: Collection[TrustState]) -> dict[tuple[int, str], QualificationTest]:
    """Return one worker's unfinished tests by (campaign, kind); `rows` are their trust states. One query."""
    newest = {(row.campaign_id, row.kind): row.attempt for row in rows if row.attempt}
    if not newest:
        return {}
    states: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    items = Assignment.objects.filter(
        worker__in={row.worker_id for row in rows},
        campaign__in={campaign for campaign, _ in newest},
        kind__in={kind for _, kind in newest},
        role=QUALIFICATION_ROLE,
    )
    counts = items.values_list("campaign", "kind", "attempt", "state").annotate(Count("pk")).order_by()
    for campaign, kind, attempt, state, count in counts:
        if newest.get((campaign, kind)) == attempt + 1:
            states[campaign, kind][state] += count
    return {
        state_counts: QualificationTest(newest[state_counts], of.total(), of[Assignment.SUBMITTED])
        for state_counts, of in states.items()
        if of.total() > of[Assignment.SUBMITTED]
    }


def lease_test_item(
    row: TrustState,
    *,
    settings: CampaignSettings,
    version: int,
    holding: Collection[int] = (),
    at: Any = None,
) -> int | None:
    """Lease the next item of the test under way to the worker; return the assignment's id.

    One that they have leased and that is not in `holding` comes first. None if no test is under way, if its
    remaining items are all leased, or if the limit of leases is reached. `settings` are the campaign's, of
    that `version`. Call inside `sql.writing()` while holding the trust state's lock.
    """
    if not row.attempt:
        return None
    at = at or database.now()
    left = list(
        _items(row)
        .exclude(state=Assignment.SUBMITTED)
        .order_by("id")
        .values_list("id", "state", "expires_at")
    )
    in_hand = [id for id, state, expires in left if state == Assignment.LEASED and expires > at]
    waiting = next((id for id in in_hand if id not in holding), None)
    if waiting is not None or len(in_hand) >= settings.lease.in_hand:
        return waiting
    following = next((id for id, _, _ in left if id not in in_hand), None)
    if following is not None:
        Assignment.objects.filter(pk=following).update(
            state=Assignment.LEASED,
            settings_version=version,
            leased_at=at,
            expires_at=at + timedelta(minutes=settings.lease.minutes),
            ended_at=None,
        )
    return following


def record_test_answer(
    *, assignment: int, campaign: Campaign, settings: CampaignSettings, right: bool
) -> QualificationTaken | None:
    """Record that an item of the test was graded; return the result of the test, if that was its last item.

    Updates the trust state with the result. `assignment` need not be written as submitted yet. Call inside
    `sql.writing()` while holding the trust state's lock.
    """
    item = Assignment.objects.get(pk=assignment)
    row = TrustState.objects.get(campaign=campaign, worker=item.worker_id, kind=item.kind)
    others = list(_items(row).exclude(pk=assignment).values_list("state", "right"))
    if any(state != Assignment.SUBMITTED for state, _ in others):
        return None
    result = QualificationTaken(right + sum(bool(result_row) for _, result_row in others), 1 + len(others))
    # A worker who took a test is judged by it, even if its items were retired meanwhile.
    worker_trust.store_trust(
        row, trust_after_or_same(worker_trust.trust_from_row(row), result, settings.trust)
    )
    return result


def test_obstacle(row: TrustState, *, campaign: Campaign, settings: CampaignSettings) -> Refusal | None:
    """Return why a worker who needs a test, and has none under way, cannot begin one; None if they can."""
    return test_obstacles([AvailableTest(row, campaign, settings)]).get((campaign.pk, row.kind))


def test_obstacles(places: Sequence[AvailableTest]) -> dict[tuple[int, str], Refusal]:
    """Return by (campaign, kind) why one worker, who needs a test there and has none under way, cannot begin
    one, without those where they can. At most three queries."""
    taken = _tests_taken([test_place.row for test_place in places])
    left = _items_left([test_place for test_place in places if taken[test_place.key] < TEST_ATTEMPTS])
    obstacles = {}
    for test_place in places:
        if taken[test_place.key] >= TEST_ATTEMPTS:
            obstacles[test_place.key] = Refusal(
                "too_many_tests",
                _(
                    "You have taken this test %(times)d times, the most allowed: choose another task, or ask "
                    "the researcher to let you try again."
                )
                % {"times": TEST_ATTEMPTS},
            )
        elif not test_items(
            left[test_place.key],
            test_place.settings.trust.verdict_known,
            seed=test_place.campaign.seed,
            worker="",
            kind=test_place.row.kind,
            attempt=0,
        ):
            obstacles[test_place.key] = Refusal(
                "no_test_items",
                _(
                    "This task begins with a short test, which the researcher has not set up yet: choose "
                    "another task, or come back later."
                ),
            )
    return obstacles


def count_tests_taken(row: TrustState) -> int:
    """Return how many tests the worker has finished since the trust state began or was renewed."""
    return _tests_taken([row])[row.campaign_id, row.kind]


def _tests_taken(rows: Collection[TrustState]) -> Counter[tuple[int, str]]:
    """Return `count_tests_taken` by (campaign, kind) for one worker; one query."""
    since = {(row.campaign_id, row.kind): row.since for row in rows if row.attempt}
    taken = Counter[tuple[int, str]]()
    if not since:
        return taken
    tests = Assignment.objects.filter(
        worker__in={row.worker_id for row in rows},
        campaign__in={campaign for campaign, _ in since},
        kind__in={kind for _, kind in since},
        role=QUALIFICATION_ROLE,
    )
    newest = tests.values_list("campaign", "kind", "attempt").annotate(Max("judgments")).order_by()
    for campaign, kind, _attempt, judgment in newest:
        if (campaign, kind) in since and judgment is not None and judgment > since[campaign, kind]:
            taken[campaign, kind] += 1
    return taken


def test_warnings(
    *, campaign: Campaign, settings: CampaignSettings, words: Wording = BY_KEY
) -> dict[str, str]:
    """Return by kind one line for the campaign page, if its test is missing or shorter than it should be;
    `words` are the names of kinds and answers in it."""
    warnings = {}
    for kind in kinds_tested(campaign.kinds, settings.trust):
        items = control_pool(campaign.pk, kind, campaign.revision, Control.QUALIFICATION)
        needed = settings.trust.verdict_known
        drawn_items = test_items(items, needed, seed=campaign.seed, worker="", kind=kind, attempt=0)
        if not items:
            warnings[kind] = _("%(kind)s begins with practice and no test: add control items for a test") % {
                "kind": words.kind(kind)
            }
        elif not drawn_items:
            warnings[kind] = _(
                "nobody can begin %(kind)s: all items of its test have the gold answer %(known)s; add some "
                "with another one"
            ) % {"kind": words.kind(kind), "known": words.answer(kind, items[0].stratum)}
        elif len(drawn_items) < needed:
            there = Counter(item.stratum for item in items)
            least = sorted(stratum for stratum in there if there[stratum] == min(there.values()))
            warnings[kind] = _(
                "the test of %(kind)s has %(n)d of %(wanted)d items; add some with the gold answer %(known)s"
            ) % {
                "kind": words.kind(kind),
                "n": len(drawn_items),
                "wanted": needed,
                "known": _(" or ").join(words.answer(kind, stratum) for stratum in least),
            }
    return warnings


def campaign_trust_rules(campaign: Campaign, kind: str, settings: CampaignSettings) -> TrustSettings:
    """Return the campaign's trust settings in force for `kind`, given its control items."""
    return trust_rules_in_force(settings.trust, campaign=campaign.pk, kind=kind, revision=campaign.revision)


def _left(row: TrustState, campaign: Campaign) -> tuple[Item, ...]:
    """Return the qualification items of a kind, without those whose question the worker had as a task or a
    control item: somebody who has worked takes a test if their trust state is renewed."""
    return _items_left([AvailableTest(row, campaign, settings_of(campaign.settings))])[campaign.pk, row.kind]


def _items_left(places: Collection[AvailableTest]) -> defaultdict[tuple[int, str], tuple[Item, ...]]:
    """Return `_left` by (campaign, kind), for one worker; at most two queries."""
    pools = qualification_pools([test_place.key for test_place in places])
    asking: dict[str, list[int]] = defaultdict(list)
    for (campaign, kind), items in pools.items():
        if items:
            asking[kind].append(campaign)
    workers = {test_place.row.worker_id for test_place in places}
    met = asked_before_in(worker=workers.pop(), campaigns=asking) if asking else frozenset()
    return defaultdict(
        tuple,
        {key: tuple(item for item in items if int(item.id) not in met) for key, items in pools.items()},
    )


def _items(row: TrustState) -> Any:
    """Return the assignments of the newest test of a trust state."""
    return Assignment.objects.filter(
        campaign=row.campaign_id,
        worker=row.worker_id,
        kind=row.kind,
        role=QUALIFICATION_ROLE,
        attempt=row.attempt - 1,
    )


def _refusal(row: TrustState, in_force: TrustSettings) -> Refusal | None:
    """Return why this worker is no candidate for a test, whatever items there are."""
    if row.is_out:
        why = row.why_out or _("ask the researcher")
        return Refusal("blocked", _("You cannot work on this task now: %(why)s.") % {"why": why})
    trust = worker_trust.trust_from_row(row)
    missing = why_not(trust, in_force)
    if missing is None:
        return Refusal("no_test_needed", _("You need no test for this task: begin working."))
    if trust.state != QUALIFICATION or missing.code not in NEED_A_TEST:
        return missing
    return None
