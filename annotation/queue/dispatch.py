"""Which task is next for a worker, or the reason why there is none.

Tasks are ordered by rank. A worker gets one of the first open ones that have a free place and are permitted:
the worker must not have had the task, nor its question as a control item (`selectors.same_question`). Which
one depends on the worker, so that a crowd does not compete for one row. If the worker has had all of the
first tasks (as a lone worker has), the search continues where this worker last found something, and only then
from the beginning.

A claim never waits: rows locked by others are skipped. Call everything here inside `database.writing()` while
holding the worker's trust state (`leases` does).
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils.translation import gettext as _

from annotation.common import database
from annotation.models import Campaign
from annotation.protocol import trust
from annotation.protocol.trust import WorkerTrust
from annotation.protocol.trust_settings import TrustSettings
from annotation.selectors.campaign.summaries import reason_in_words
from annotation.selectors.same_question import seen_as_control

#: The number of tasks searched first, and how the search widens.
FIRST_LOOK = 48
WIDER_LOOKS = (512, 8192, 10**9)
#: Seconds after which to retry where all open tasks are just being claimed.
_SOON = 2


@dataclass(frozen=True, slots=True)
class NoTask:
    """Why there is nothing for this worker now, in one sentence, and when to retry, if known."""

    code: str
    text: str
    again_at: datetime | None = None


class WorkerState(NamedTuple):
    """A worker's trust state for a kind, from its locked row.

    `out`: a researcher removed the worker, for that `reason`. `unagreed`: the worker has not agreed to the
    campaign's newest consent text. `is_model`: it is a model annotator. `visitor`: the worker came to the
    campaign from a crowd platform, by one or more visits (`visits`). `country`: the code of the worker's
    country, "" if it is not known.
    """

    id: int
    campaign: int
    worker: int
    pseudonym: str
    attempt: int
    cursor: int
    out: bool
    reason: str
    withdrawn: bool
    unagreed: bool
    is_model: bool
    visitor: bool
    country: str
    trust: WorkerTrust


class Claim(NamedTuple):
    """A task with a place taken for this worker, and its content."""

    task: int
    role: str
    key: str
    rank: int
    image: int
    content: str


class NextTask(NamedTuple):
    """A task that could be a worker's next: its image and its content."""

    id: int
    image: int
    content: str


#: The columns of a Claim, of the updated task.
_CLAIM_COLUMNS = """id, role, key, rank,
    (SELECT o.image_id FROM annotation_openimage o WHERE o.id = annotation_task.image_id),
    (SELECT i.content FROM annotation_item i WHERE i.task_id = annotation_task.id AND i.position = 0)"""


def claim(cursor: Any, holder: WorkerState, kind: str) -> Claim | None:
    """Take a place on the next task for this worker, or return None if there is none."""
    tasks = _claim(cursor, holder, kind, 0, FIRST_LOOK)
    if tasks is not None:
        return tasks
    for start, window in _beyond(holder):
        tasks = _claim(cursor, holder, kind, start, window)
        if tasks is not None:
            cursor.execute(
                "UPDATE annotation_truststate SET cursor = %s WHERE id = %s", [tasks.rank, holder.id]
            )
            return tasks
    return None


def claim_task(cursor: Any, holder: WorkerState, kind: str, task: int, *, tries: int = 1) -> Claim | None:
    """Take a place on the task with this id, if it waits for a vote that this worker may give and nobody
    holds it; else return None. A worker may answer it `tries` times; a task that the worker returned is not
    available."""
    locking = database.locking("t", skip=True)
    cursor.execute(
        f"""UPDATE annotation_task SET live = live + 1 WHERE id = (
                SELECT t.id FROM annotation_task t
                WHERE t.id = %s AND t.campaign_id = %s AND t.kind = %s AND t.state = 'open'
                    AND t.role = 'vote' AND t.live < t.needed
                    AND (t.barred_id IS NULL OR t.barred_id <> %s)
                    AND NOT EXISTS (SELECT 1 FROM annotation_assignment a
                        WHERE a.task_id = t.id AND a.worker_id = %s
                            AND (a.state <> 'submitted' OR a.attempt >= %s))
                LIMIT 1{locking}
            ) AND live < needed RETURNING {_CLAIM_COLUMNS}""",
        [task, holder.campaign, kind, holder.worker, holder.worker, tries - 1],
    )
    row = cursor.fetchone()
    return Claim._make(row) if row else None


def next_task(cursor: Any, holder: WorkerState, kind: str) -> NextTask | None:
    """Return the task that `claim` would take now, without taking it; None if there is none."""
    for start, window in [(0, FIRST_LOOK), *_beyond(holder)]:
        database.execute(
            cursor,
            f"""SELECT t.id, o.image_id, i.content FROM annotation_task t
                JOIN annotation_openimage o ON o.id = t.image_id
                JOIN annotation_item i ON i.task_id = t.id AND i.position = 0
                WHERE t.id = ({_first(kind, window)})""",
            _sought(holder, kind, start),
        )
        row = cursor.fetchone()
        if row is not None:
            return NextTask._make(row)
    return None


def _beyond(holder: WorkerState) -> list[tuple[int, int]]:
    """Return where to search if the worker has had all of the first tasks: from which rank, and how far."""
    return [*((holder.cursor, step) for step in WIDER_LOOKS), (0, WIDER_LOOKS[-1])]


def _claim(cursor: Any, holder: WorkerState, kind: str, start: int, window: int) -> Claim | None:
    """Claim the first suitable task of a window by one conditional UPDATE of its counters."""
    database.execute(
        cursor,
        f"""UPDATE annotation_task SET live = live + 1 WHERE id = ({_first(kind, window)})
            AND live < needed RETURNING {_CLAIM_COLUMNS}""",
        _sought(holder, kind, start),
    )
    row = cursor.fetchone()
    return Claim._make(row) if row else None


def _first(kind: str, window: int) -> str:
    """Return SQL for the id of the first suitable task of a window, locked where the database has locks."""
    # The window is sorted by this worker's order first; the search stops at the first suitable task.
    ordered = f"""
        SELECT h.id FROM (
            SELECT id, barred_id FROM annotation_task
            WHERE campaign_id = %s AND kind = %s AND state = 'open' AND live < needed AND rank >= %s
            ORDER BY rank, id LIMIT {window}
        ) h WHERE h.barred_id IS NULL OR h.barred_id <> %s ORDER BY (h.id * 7919 + %s) %% 1009"""
    suitable = f"""
        SELECT t.id FROM annotation_task t
        WHERE t.id = o.id AND t.state = 'open' AND t.live < t.needed AND NOT EXISTS (
            SELECT 1 FROM annotation_assignment a WHERE a.task_id = t.id AND a.worker_id = %s)
            AND NOT {seen_as_control(kind)}"""
    if connection.vendor != "postgresql":
        # The limit keeps SQLite from evaluating the whole window before it sorts.
        return f"SELECT o.id FROM ({ordered} LIMIT -1) o WHERE EXISTS ({suitable}) LIMIT 1"
    # LATERAL with a lock inside: a join could be planned as a scan of all tasks.
    locked = f"{suitable} FOR NO KEY UPDATE SKIP LOCKED"
    return f"SELECT t.id FROM ({ordered}) o CROSS JOIN LATERAL ({locked}) t LIMIT 1"


def _sought(holder: WorkerState, kind: str, start: int) -> list[Any]:
    worker = holder.worker
    return [holder.campaign, kind, start, worker, worker * 331, worker, worker]


def claim_and_lease(
    cursor: Any,
    holder: WorkerState,
    kind: str,
    *,
    version: int,
    after: Sequence[database.Statement],
    holding: Sequence[int],
    at: datetime,
    expires: datetime,
) -> tuple[int, Claim] | None:
    """Send the statements `after`, check that the worker holds exactly `holding`, claim, and lease under the
    settings of that `version`.

    One round trip, for PostgreSQL only. Returns None if the worker holds something else, or none of the first
    tasks is suitable; `after` is done in any case.
    """
    text = f"""WITH claimed AS (
            UPDATE annotation_task SET live = live + 1
            WHERE id = ({_first(kind, FIRST_LOOK)}) AND live < needed AND %s = ARRAY(
                SELECT a.id FROM annotation_assignment a
                WHERE a.worker_id = %s AND a.campaign_id = %s AND a.kind = %s AND a.state = 'leased'
                ORDER BY a.id)
            RETURNING {_CLAIM_COLUMNS}
        ), leased AS (
            INSERT INTO annotation_assignment
                (campaign_id, worker_id, kind, task_id, control_id, attempt, role, settings_version, state,
                 leased_at, expires_at, ended_at, token, seconds, pay, "right")
            SELECT %s, %s, %s, id, NULL, 0, role, %s, 'leased', %s, %s, NULL, '', 0, 0, NULL FROM claimed
            RETURNING id
        )
        SELECT leased.id, claimed.* FROM claimed, leased"""
    key = [holder.campaign, holder.worker, kind]
    values = [
        *_sought(holder, kind, 0),
        sorted(holding),
        *[holder.worker, holder.campaign, kind],
        *key,
        version,
        database.sql_time(at),
        database.sql_time(expires),
    ]
    database.send_statements(cursor, [*after, (text, values)])
    row = cursor.fetchone()
    if row is None:
        return None
    assignment, *columns = row
    return assignment, Claim._make(columns)


def claim_again(cursor: Any, holder: WorkerState, kind: str) -> tuple[int, Claim] | None:
    """Take a place again on a task whose lease of this worker expired: (assignment, claim), or None."""
    locking = database.locking("t", skip=True)
    cursor.execute(
        f"""UPDATE annotation_task SET live = live + 1 WHERE id = (
                SELECT t.id FROM annotation_assignment a JOIN annotation_task t ON t.id = a.task_id
                WHERE a.worker_id = %s AND a.campaign_id = %s AND a.kind = %s AND a.state = 'expired'
                    AND t.state = 'open' AND t.live < t.needed
                    AND (t.barred_id IS NULL OR t.barred_id <> %s) AND NOT {seen_as_control(kind)}
                ORDER BY t.rank LIMIT 1{locking}
            ) AND live < needed RETURNING {_CLAIM_COLUMNS}""",
        [holder.worker, holder.campaign, kind, holder.worker, holder.worker],
    )
    row = cursor.fetchone()
    if row is None:
        return None
    claim = Claim._make(row)
    cursor.execute(
        "SELECT id FROM annotation_assignment WHERE task_id = %s AND worker_id = %s",
        [claim.task, holder.worker],
    )
    (assignment,) = cursor.fetchone()
    return assignment, claim


def why_closed(campaign: Any) -> NoTask | None:
    """Return why this campaign gives nothing to anybody, None if it is open. `campaign`: `state`,
    `reason`."""
    if campaign.state == Campaign.OPEN:
        return None
    if campaign.state == Campaign.PAUSED:
        return NoTask(
            "paused",
            _(
                "This campaign is paused%(why)s. You can still submit the tasks that you have open; come "
                "back later for more."
            )
            % {"why": f": {reason_in_words(campaign.reason)}" if campaign.reason else ""},
        )
    if campaign.state == Campaign.CLOSED:
        return NoTask("closed", _("This campaign is over: choose another. Thank you for your work."))
    return NoTask("draft", _("This campaign has not begun yet: come back later."))


def why_drawer_waits(
    cursor: Any, holder: WorkerState, settings: TrustSettings, at: datetime, *, is_model: bool = False
) -> NoTask | None:
    """Return why a drawer has to wait until others have checked their boxes; None if they need not.

    Nobody waits if no other worker may judge boxes, nor longer than `drawing_wait_minutes` for a box: boxes
    that others ignore cannot stop a campaign. A model annotator (`is_model`) also waits if nobody judges
    boxes yet, as when a campaign begins: people draw meanwhile.
    """
    reasons = why_drawers_wait(cursor, [(holder, settings)], at, is_model=is_model)
    return reasons.get((holder.campaign, holder.trust.kind))


def why_drawers_wait(
    cursor: Any,
    places: Sequence[tuple[WorkerState, TrustSettings]],
    at: datetime,
    *,
    is_model: bool = False,
) -> dict[tuple[int, str], NoTask]:
    """Return (campaign, kind) -> `why_drawer_waits` there, for one worker, without entries that need not
    wait. At most two queries."""
    watched = [work_kind for work_kind in places if trust.is_drawer_watched(work_kind[0].trust, work_kind[1])]
    if not watched:
        return {}
    worker = watched[0][0].worker
    campaigns = sorted({holder.campaign for holder, _ in watched})
    longest = max(settings.drawing_wait_minutes for _, settings in watched)
    # State and kind are literals in the text, for the partial index. A double check is no verdict to wait
    # for.
    cursor.execute(
        f"""SELECT campaign_id, created_at FROM annotation_task
           WHERE barred_id = %s AND campaign_id IN ({database.parameters(campaigns)}) AND state = 'open'
               AND kind = 'box_quality' AND role = 'vote' AND created_at > %s ORDER BY created_at DESC""",
        [worker, *campaigns, database.sql_time(at - timedelta(minutes=longest))],
    )
    unjudged: dict[int, list[datetime]] = {campaign: [] for campaign in campaigns}
    for campaign, created in cursor.fetchall():
        unjudged[campaign].append(database.time_from_sql(created))
    reasons: dict[tuple[int, str], NoTask] = {}
    for holder, settings in watched:
        wait = timedelta(minutes=settings.drawing_wait_minutes)
        drawn = [created for created in unjudged[holder.campaign] if created > at - wait]
        drawn = drawn[: settings.drawing_unjudged]
        refusal = trust.refuse_drawing_ahead(holder.trust, len(drawn), settings)
        if refusal is not None:
            work_kind = holder.campaign, holder.trust.kind
            reasons[work_kind] = NoTask(refusal.code, refusal.text, drawn[-1] + wait)
    if is_model:
        return reasons
    judged = (
        _judged_by_others(cursor, worker, sorted({campaign for campaign, _ in reasons})) if reasons else ()
    )
    return {work_kind: nothing for work_kind, nothing in reasons.items() if work_kind[0] in judged}


def _judged_by_others(cursor: Any, worker: int, campaigns: Sequence[int]) -> frozenset[int]:
    """Return the campaigns in which somebody else is admitted to judging boxes."""
    cursor.execute(
        f"""SELECT c.id FROM annotation_campaign c
               WHERE c.id IN ({database.parameters(campaigns)}) AND EXISTS (
               SELECT 1 FROM annotation_truststate s WHERE s.campaign_id = c.id AND s.kind = 'box_quality'
               AND s.worker_id <> %s AND NOT s.blocked AND s.withdrawn_at IS NULL
               AND s.state IN (%s, %s))""",
        [*campaigns, worker, trust.WARM_UP, trust.TRUSTED],
    )
    return frozenset(campaign for (campaign,) in cursor.fetchall())


def places_with_work(
    cursor: Any, worker: int, campaigns: Mapping[str, Sequence[int]]
) -> frozenset[tuple[int, str]]:
    """Return the (campaign, kind) pairs with a question that this worker could get, for kinds with their
    campaigns. One query."""

    def waiting(kind: str) -> str:
        return f"""EXISTS (SELECT 1 FROM annotation_task t
            WHERE t.campaign_id = c.id AND t.kind = '{kind}' AND t.state = 'open' AND t.live < t.needed
                AND (t.barred_id IS NULL OR t.barred_id <> %s)
                AND NOT EXISTS (SELECT 1 FROM annotation_assignment a
                    WHERE a.task_id = t.id AND a.worker_id = %s AND a.state <> 'expired')
                AND NOT {seen_as_control(kind)})"""

    there = _by_campaign_and_kind(cursor, campaigns, waiting, 3 * [worker])
    return frozenset(work_kind for work_kind, waits in there.items() if waits)


def _by_campaign_and_kind(
    cursor: Any,
    campaigns: Mapping[str, Sequence[int]],
    expression: Callable[[str], str],
    values: Sequence[Any],
) -> dict[tuple[int, str], Any]:
    """Return (campaign, kind) -> the value of an SQL expression about a campaign `c` and the kind, for kinds
    with their campaigns; each expression has the parameters `values`. One query."""
    parts: list[str] = []
    parameters: list[Any] = []
    for kind, those in campaigns.items():
        if those:
            parts.append(
                f"""SELECT c.id, '{kind}', {expression(kind)}
                    FROM annotation_campaign c WHERE c.id IN ({database.parameters(those)})"""
            )
            parameters += [*values, *those]
    if not parts:
        return {}
    cursor.execute(" UNION ALL ".join(parts), parameters)
    return {(campaign, kind): what for campaign, kind, what in cursor.fetchall()}


def why_none(cursor: Any, holder: WorkerState, kind: str, at: datetime) -> NoTask:
    """Return why `claim` found nothing."""
    return why_none_in(cursor, holder.worker, {kind: [holder.campaign]}, at)[holder.campaign, kind]


def why_none_in(
    cursor: Any, worker: int, campaigns: Mapping[str, Sequence[int]], at: datetime
) -> dict[tuple[int, str], NoTask]:
    """Return (campaign, kind) -> why a worker finds nothing there, for kinds with their campaigns. At most
    three queries for any number of campaigns."""

    def theirs(kind: str) -> str:
        # A question that the worker met as a control item counts as answered, without being distinguished.
        return f"""t.campaign_id = c.id AND t.kind = '{kind}' AND t.state = 'open' AND NOT COALESCE(
            EXISTS (SELECT 1 FROM annotation_assignment a WHERE a.task_id = t.id AND a.worker_id = %s)
            OR t.barred_id = %s OR {seen_as_control(kind)}, FALSE)"""

    def free(kind: str) -> str:
        return f"EXISTS (SELECT 1 FROM annotation_task t WHERE t.live < t.needed AND {theirs(kind)})"

    def leased_until(kind: str) -> str:
        return f"""(SELECT min(l.expires_at) FROM annotation_assignment l WHERE l.state = 'leased'
            AND l.task_id IN (SELECT t.id FROM annotation_task t
                WHERE t.live >= t.needed AND {theirs(kind)}))"""

    def any_open(kind: str) -> str:
        return f"""EXISTS (SELECT 1 FROM annotation_task t
            WHERE t.campaign_id = c.id AND t.kind = '{kind}' AND t.state = 'open')"""

    reasons: dict[tuple[int, str], NoTask] = {}
    me, left = 3 * [worker], campaigns
    for work_kind, is_free in _by_campaign_and_kind(cursor, left, free, me).items():
        if is_free:
            reasons[work_kind] = NoTask(
                "busy",
                _("The last open questions are just being assigned to others: look again in a moment."),
                at + timedelta(seconds=_SOON),
            )
    left = _without(left, reasons)
    for work_kind, until in _by_campaign_and_kind(cursor, left, leased_until, me).items():
        if until is None:
            continue
        until = max(database.time_from_sql(until), at)
        minutes = max(1, round((until - at).total_seconds() / 60))
        reasons[work_kind] = NoTask(
            "busy",
            _(
                "Others are answering the remaining questions. Questions that they leave unanswered come "
                "back in %(minutes)d min at the latest."
            )
            % {"minutes": minutes},
            until,
        )
    left = _without(left, reasons)
    for work_kind, is_open in _by_campaign_and_kind(cursor, left, any_open, []).items():
        reasons[work_kind] = _all_judged() if is_open else _none_open()
    return reasons


def _without(
    campaigns: Mapping[str, Sequence[int]], with_work: Container[tuple[int, str]]
) -> dict[str, list[int]]:
    """Return the entries without work."""
    return {
        kind: [campaign for campaign in those if (campaign, kind) not in with_work]
        for kind, those in campaigns.items()
    }


def _all_judged() -> NoTask:
    return NoTask(
        "all_judged",
        _(
            "You have answered every open question of this kind that you may answer; the rest is for "
            "others. Choose another task."
        ),
    )


def _none_open() -> NoTask:
    return NoTask(
        "none_open",
        _("No question of this kind is open now: answers to other kinds open new ones. Choose another task."),
    )
