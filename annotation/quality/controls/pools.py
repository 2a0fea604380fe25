"""Control items as rows: the pools that the queue draws from, and the grading of answers.

`protocol.controls` decides which item comes when; `protocol.grading` decides what is right. This module reads
a campaign's items.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from django.db import connection
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign
from annotation.models import Control as Row
from annotation.protocol.controls import ControlCounts, PooledControl
from annotation.protocol.grading import is_right, needed_strata
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, kind_of
from annotation.protocol.terms import Box
from annotation.protocol.trust_settings import GoldCoverage, TrustSettings, in_force
from annotation.selectors.controls import control_metadata
from annotation.selectors.same_question import asked_before
from annotation.task_types.wording import BY_KEY, Wording

#: Number of pools that a process caches; one is a tuple of a few dozen ids.
CACHED_POOLS = 256


class SubmittedAnswer(Protocol):
    """A worker's answer: its word, a box if it is "drawn", or a flag."""

    @property
    def answer(self) -> str:
        """The answer's word, or "" for a flag."""

    @property
    def box(self) -> Box | None:
        """The box that was drawn, or None."""

    @property
    def flag(self) -> str:
        """The worker's report instead of an answer, or ""."""

    @property
    def content(self) -> Mapping[str, Any] | None:
        """The content of the answer besides its word: ticks, a text, regions; or None."""


class DisplayedControl(NamedTuple):
    """What a control item shows: the id of its image, its key, and its content as in `protocol.contents`."""

    image: int
    key: str
    content: dict[str, Any]


@lru_cache(maxsize=CACHED_POOLS)
def control_pool(
    campaign: int, kind: str, revision: int, purpose: str = Row.CONTROL
) -> tuple[PooledControl, ...]:
    """Return the active control items of a kind, each under its row's id as text.

    Cached by the process for each `revision` of the campaign, which increases with every change of them.
    """
    rows = Row.objects.filter(campaign=campaign, kind=kind, purpose=purpose, active=True).order_by("id")
    return tuple(PooledControl(str(row), stratum) for row, stratum in rows.values_list("id", "stratum"))


def qualification_pools(
    places: Collection[tuple[int, str]],
) -> dict[tuple[int, str], tuple[PooledControl, ...]]:
    """Return the active items of the tests by (campaign, kind), as in `control_pool`; one query."""
    pools: dict[tuple[int, str], tuple[PooledControl, ...]] = dict.fromkeys(places, ())
    if not places:
        return pools
    rows = Row.objects.filter(
        campaign__in={campaign for campaign, _ in places},
        kind__in={kind for _, kind in places},
        purpose=Row.QUALIFICATION,
        active=True,
    )
    for campaign, kind, row, stratum in rows.order_by("id").values_list("campaign", "kind", "id", "stratum"):
        if (campaign, kind) in pools:
            pools[campaign, kind] += (PooledControl(str(row), stratum),)
    return pools


def gold_coverage(campaign: int, kind: str, revision: int) -> GoldCoverage:
    """Return whether a campaign has items for the test of `kind`, and a measure of accuracy."""
    return control_metadata(campaign, revision).known[kind]


def trust_rules_in_force(
    settings: TrustSettings, *, campaign: int, kind: str, revision: int
) -> TrustSettings:
    """Return the campaign's trust settings in force for `kind`, given its control items."""
    return in_force(settings, gold_coverage(campaign, kind, revision))


def tells_of_drawer(campaign: int, kind: str, revision: int, asked_at: datetime) -> bool:
    """Whether a verdict on a box of `kind` whose question opened then is a checked answer of its drawer."""
    since = control_metadata(campaign, revision).since.get(kind)
    return since is not None and asked_at >= since


def control_warnings(
    *, campaign: Campaign, settings: TrustSettings, words: Wording = BY_KEY
) -> dict[str, str]:
    """Return by kind one line for the campaign page, if its control items cannot distinguish good workers
    from bad; `words` are the names of kinds and answers in it."""
    warnings = {}
    for kind in campaign.kinds:
        if kind_of(kind).measured_on != MEASURED_ON_CONTROLS:
            continue
        there = Counter(item.stratum for item in control_pool(campaign.pk, kind, campaign.revision))
        lacking = _(" or ").join(
            words.answer(kind, answer) for answer in needed_strata(kind) if not there[answer]
        )
        if not there:
            warnings[kind] = _("accuracy is not measured at %(kind)s: it has no control items; add some") % {
                "kind": words.kind(kind)
            }
        elif lacking:
            warnings[kind] = _(
                "no control item of %(kind)s has the gold answer %(known)s, so a worker who never gives it "
                "passes; add some that have it"
            ) % {"kind": words.kind(kind), "known": lacking}
        elif there.total() < settings.window:
            warnings[kind] = _(
                "%(kind)s has %(n)d control items, and a worker gets each of them only once; add more until "
                "there are at least %(wanted)d"
            ) % {"kind": words.kind(kind), "n": there.total(), "wanted": settings.window}
    return warnings


def displayed_control(control: int) -> DisplayedControl:
    """Return what the control item with this id shows. Raises Control.DoesNotExist."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT image_id, key, content FROM annotation_control WHERE id = %s", [control])
        row = cursor.fetchone()
    if row is None:
        raise Row.DoesNotExist(f"there is no control item {control}")
    image, key, content = row
    return DisplayedControl(image, key, json.loads(content))


def controls_seen(*, worker: int, campaign: int, kind: str) -> frozenset[str]:
    """Return ids of the control items of a kind that a worker has seen.

    They leased them, whatever the result, or had the same question in another form
    (`selectors.same_question`): nobody answers a question twice.
    """
    key_parts: list[int | str] = [worker, campaign, kind]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT a.control_id FROM annotation_assignment a
               WHERE a.worker_id = %s AND a.campaign_id = %s AND a.kind = %s AND a.control_id IS NOT NULL
               UNION
               SELECT p.control_id FROM annotation_assignment a
               JOIN annotation_pagecontrol p ON p.assignment_id = a.id
               WHERE a.worker_id = %s AND a.campaign_id = %s AND a.kind = %s""",
            2 * key_parts,
        )
        held = {control for (control,) in cursor.fetchall()}
    return frozenset(map(str, held | asked_before(worker=worker, campaign=campaign, kind=kind)))


def control_counts(*, worker: int, campaign: int, kind: str) -> ControlCounts:
    """Return a worker's counts of control items of a kind since the beginning of their trust state.

    Not for relevance, whose items are on pages. For retired items only checked answers count: leased ones
    will measure nobody.
    """
    known, in_hand, excluded = Counter[str](), Counter[str](), Counter[str]()
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT k.stratum, k.active, a.state, a."right" IS NOT NULL, count(*)
               FROM annotation_assignment a JOIN annotation_control k ON k.id = a.control_id
               WHERE a.worker_id = %s AND a.campaign_id = %s AND a.kind = %s AND a.role = 'control'
                   AND (a."right" IS NULL OR EXISTS (SELECT 1 FROM annotation_judgment j
                       JOIN annotation_truststate s ON s.campaign_id = a.campaign_id
                           AND s.worker_id = a.worker_id AND s.kind = a.kind
                       WHERE j.assignment_id = a.id AND j.id > s.since))
               GROUP BY 1, 2, 3, 4""",
            [worker, campaign, kind],
        )
        for stratum, active, state, graded, count in cursor.fetchall():
            if graded:
                known[stratum] += count
            elif active:
                (in_hand if state == Assignment.LEASED else excluded)[stratum] += count
    return ControlCounts(known, in_hand, excluded)


def measures_late(*, worker: int, campaign: int, kind: str, revision: int, stratum: str) -> bool:
    """Whether an answer on a control item that the worker had returned, or let expire, is a checked one.

    Not if it would bring its `stratum` ahead of the others: nobody may choose what they are measured by.
    """
    others = {item.stratum for item in control_pool(campaign, kind, revision)}
    return not control_counts(worker=worker, campaign=campaign, kind=kind).ahead(stratum, others)


def grade_control(*, kind: str, known: Any, answer: SubmittedAnswer, settings: TrustSettings) -> bool:
    """Whether a worker's answer to a control item is right; `known` as in its row.

    A flag is wrong: a control item has nothing to report, and otherwise a worker who flags everything would
    never be measured.
    """
    if answer.flag:
        return False
    return is_right(kind, kind_of(kind).graded(answer), gold_from_json(kind, known), settings)


def gold_from_json(kind: str, known: Any) -> Any:
    """Return a gold answer for `protocol.grading`, from the plain data of its row."""
    return kind_of(kind).from_json(known)
