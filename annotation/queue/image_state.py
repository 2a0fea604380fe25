"""Computing an image's fold and writing it back. With `image_rows` this is the only writer of open images,
tasks, items and moves.

Submitting, withdrawing, ruling and merging are one path: fold all valid judgments of the image again, compare
it with the last written state (`OpenImage.state`), write the difference. That column has:

    open     {key: [answers needed, votes given]}  questions that wait for votes
    drawn    [key, ...]                        questions that a second person is to answer, whatever
                                               the first says
    checks   [key, ...]                        those of them that wait for that, outside the fold
    chains   [{m, s, r, k, b, p, moves}]       mention ids, stage, reason, kind, accepted boxes,
                                               pending box or null, [[stage, outcome, next], ...]
    merged   [[...], ...]                      what merged and why, where the image is complete

Everything here runs inside `database.writing()` and, except `state_of`, while holding the image's row lock,
which functions take themselves unless they say otherwise.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection

from annotation.common import database
from annotation.models import OpenImage, Task, Worker
from annotation.protocol import questions as q
from annotation.protocol.boxes import REVIEW
from annotation.protocol.campaign_settings import settings_from
from annotation.protocol.contents import corners, mention_from, ruling_from
from annotation.protocol.counted import CountedFold, CountedQuestion
from annotation.protocol.double_checks import DoubleChecks, asked_outside, wait_for_second
from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.state import ChainState, ImageState
from annotation.protocol.terms import Box
from annotation.queue import lease_terms, task_rows

#: Number of folds cached by a process: building one costs as much as folding an image once.
CACHED_FOLDS = 1024


class OpenImageRow(NamedTuple):
    """The values of an OpenImage that refolding needs, read under its lock."""

    id: int
    campaign: int
    position: int
    priority: int
    version: int
    rulings_version: int
    opened_at: Any
    state: Mapping[str, Any]


#: The columns of `OpenImageRow`, of a table called `o`.
OPEN_IMAGE_COLUMNS = (
    "o.id, o.campaign_id, o.position, o.priority, o.version, o.rulings_version, o.opened_at, o.state"
)


#: The value of `state["withdrawn"]` for all questions of an image; else it lists the withdrawn keys.
ALL_WITHDRAWN = "*"


class Vote(NamedTuple):
    """A stored judgment with the worker's id, which the fold does not need."""

    worker_id: int
    judgment: Judgment


@dataclass(frozen=True, slots=True)
class ImageDifference:
    """The fold of an image, the statements that write it, and the kinds of questions that it reopens."""

    state: ImageState
    statements: list[database.Statement]
    opened: frozenset[str] = frozenset()


def row_from(values: Sequence[Any]) -> OpenImageRow:
    """Build an OpenImageRow from its columns."""
    row = OpenImageRow._make(values)
    text: Any = row.state
    return row._replace(state=json.loads(text))


#: The columns of a vote, of a judgment `j` and its worker `w`, in the form that `_votes` takes.
_VOTE = """j.worker_id, j.name, j.key, w.pseudonym, w.kind, j.answer, j.flag, j.role,
           j.x_min, j.y_min, j.x_max, j.y_max"""
#: All votes on an image (a parameter) as one value, for `votes_from`; PostgreSQL only.
VOTES_AS_JSON = f"""(SELECT json_agg(json_build_array({_VOTE}) ORDER BY j.id)::text
     FROM annotation_judgment j JOIN annotation_worker w ON w.id = j.worker_id
     WHERE j.image_id = %s AND NOT j.withdrawn)"""


def votes_of(cursor: Any, image: int) -> list[Vote]:
    """Return all judgments of an open image that are not withdrawn, in order of arrival."""
    database.execute(
        cursor,
        f"""SELECT {_VOTE}
           FROM annotation_judgment j JOIN annotation_worker w ON w.id = j.worker_id
           WHERE j.image_id = %s AND NOT j.withdrawn ORDER BY j.id""",
        [image],
    )
    return _votes(cursor.fetchall())


def votes_from(value: str | None) -> list[Vote]:
    """Return the votes from VOTES_AS_JSON, read by a statement that began under the image's lock."""
    return _votes(json.loads(value or "[]"))


def _votes(rows: Iterable[Sequence[Any]]) -> list[Vote]:
    votes = []
    for worker, name, key, pseudonym, kind, answer, flag, role, x_min, y_min, x_max, y_max in rows:
        box = None if x_min is None else Box(x_min, y_min, x_max, y_max)
        is_model = kind == Worker.MODEL
        judgment = Judgment(name, key, pseudonym, answer, box, flag=flag, role=role, by_model=is_model)
        votes.append(Vote(worker, judgment))
    return votes


def fold_of(row: OpenImageRow) -> Fold | CountedFold:
    """Return the image's fold, with its mentions, settings and rulings in force; or one with counted
    questions only."""
    if row.rulings_version == 0:
        return _unruled(row.id, str(row.opened_at))
    # Not cached: a ruling that is rolled back would leave its fold behind under a version that is used again.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT content FROM annotation_ruling WHERE image_id = %s AND withdrawn_at IS NULL ORDER BY id",
            [row.id],
        )
        rulings = [ruling_from(json.loads(content)) for (content,) in cursor.fetchall()]
    stored = _unruled(row.id, str(row.opened_at))
    if isinstance(stored, CountedFold):
        return stored
    return Fold(stored.mentions, stored.settings, rulings)


@lru_cache(maxsize=CACHED_FOLDS)
def _unruled(image: int, opened_at: str) -> Fold | CountedFold:
    """The mentions with which an image was opened, its questions and its settings never change; but ids are
    reused after databases are discarded, so the time of opening is part of the key."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT COALESCE(opened_mentions, mentions), questions, settings FROM annotation_openimage
               WHERE id = %s""",
            [image],
        )
        mentions, questions, frozen = cursor.fetchone()
    settings = settings_from(frozen).protocol
    if counted := json.loads(questions):
        return CountedFold(
            (CountedQuestion(*row) for row in counted), flags_to_review=settings.flags_to_review
        )
    return Fold([mention_from(m) for m in json.loads(mentions)], settings)


def refold_image(image: int) -> ImageState:
    """Compute an open image again and write the difference. Locks the image."""
    with database.writing(), connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {OPEN_IMAGE_COLUMNS}, i.key FROM annotation_openimage o
                JOIN annotation_image i ON i.id = o.image_id WHERE o.id = %s"""
            + database.locking("o"),
            [image],
        )
        *columns, key = cursor.fetchone()
        row = row_from(columns)
        draw = lease_terms.double_checks(lease_terms.terms_of(cursor, row.campaign), key)
        difference = image_difference(row, votes_of(cursor, image), draw, at=database.now())
        database.send_statements(cursor, difference.statements)
    return difference.state


def state_of(image: OpenImage) -> ImageState:
    """Return the fold of an open image from its stored votes; writes nothing."""
    fold, judgments = stored_fold(image)
    return fold(judgments)


def stored_fold(image: OpenImage) -> tuple[Fold | CountedFold, list[Judgment]]:
    """Return the fold of an open image, and all stored judgments that count."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {OPEN_IMAGE_COLUMNS} FROM annotation_openimage o WHERE o.id = %s", [image.pk])
        row = row_from(cursor.fetchone())
        return fold_of(row), [vote.judgment for vote in votes_of(cursor, image.pk)]


def image_difference(
    row: OpenImageRow,
    votes: Sequence[Vote],
    draw: DoubleChecks,
    *,
    at: datetime,
    placed: str = "",
) -> ImageDifference:
    """Fold `votes` and determine what has to be written; call it while holding the image's lock.

    `draw` determines which of the questions that it opens a second person gets, whatever the first answers;
    `placed` is the key whose newest vote took a place that its task counts already. Everything is written by
    the statements, to be sent after the judgment's own.
    """
    fold = fold_of(row)
    state = fold(vote.judgment for vote in votes)
    votes_of_key = Counter(v.judgment.key for v in votes if v.judgment.role == q.VOTE)
    before: Mapping[str, Sequence[int]] = row.state["open"]
    withdrawn = row.state.get("withdrawn", [])
    if withdrawn:
        state = _without(state, withdrawn)
    by_key = {question.key: question for question in state.questions}
    drawn: Sequence[str] = row.state["drawn"]
    statements: list[database.Statement] = []
    now_open: dict[str, list[int]] = {}
    fresh: list[Question] = []
    for key, question in by_key.items():
        votes_needed = votes_of_key[key] + question.needed
        now_open[key] = [votes_needed, votes_of_key[key]]
        if key not in before:
            fresh.append(question)
            if key in row.state["checks"]:
                # Closed first, so that a worker who claims its double check now is counted.
                statements.append(task_rows.end_task(row.id, key, Task.WITHDRAWN))
            continue
        was, had = before[key]
        if (was, had) != (votes_needed, votes_of_key[key]):
            statements.append(
                task_rows.update_needed(row.id, key, votes_needed, votes_of_key[key] - had - (key == placed))
            )
    # A reopened question was drawn, or not, when it first opened: whether it reopens depends on answers.
    answered = {vote.judgment.key for vote in votes}
    shares = draw.shares(question for question in fresh if question.key not in answered)
    drawn = list(dict.fromkeys([*drawn, *asked_outside(fresh, shares)]))
    waiting = wait_for_second(drawn, (vote.judgment for vote in votes), by_key)
    drawings = {vote.judgment.id: vote.judgment.key for vote in votes}
    checks = [
        key
        for key in waiting
        if not _is_withdrawn(key, withdrawn)
        and (isinstance(fold, CountedFold) or fold.knows(q.mentions_in(key, drawings)))
    ]
    for key in dict.fromkeys([*before, *row.state["checks"]]):
        if key not in by_key and key not in checks:
            statements.append(
                task_rows.end_task(row.id, key, Task.SETTLED if votes_of_key[key] else Task.WITHDRAWN)
            )
    for key in checks:
        if key not in row.state["checks"]:
            statements += task_rows.ask_second_person(row.id, key, votes_of_key[key])
    if fresh:
        statements += task_rows.open_tasks(
            fresh,
            votes_of_key,
            _drawers(state, votes),
            shares,
            campaign=row.campaign,
            image=row.id,
            rank=task_rows.rank_of(priority=row.priority, position=row.position),
            at=at,
        )
    chains = [chain_of(chain) for chain in state.chains]
    statements.extend(_moves(row.id, row.state["chains"], chains, at))
    statements.append(
        _image(
            row.id,
            {
                "open": now_open,
                "drawn": drawn,
                "checks": checks,
                "chains": chains,
                "merged": merged_of(state),
                **({"withdrawn": withdrawn} if withdrawn else {}),
            },
            state,
            at,
            answers=len(votes),
            layered=isinstance(fold, Fold),
        )
    )
    return ImageDifference(state, statements, frozenset(question.kind for question in fresh))


def _is_withdrawn(key: str, withdrawn: Sequence[str]) -> bool:
    return key in withdrawn or ALL_WITHDRAWN in withdrawn


def _without(state: ImageState, withdrawn: Sequence[str]) -> ImageState:
    """Return the state without the withdrawn questions, which nobody is asked any more. If none remains, the
    image is complete, and its layer has what is settled."""
    left = tuple(question for question in state.questions if not _is_withdrawn(question.key, withdrawn))
    result = state.result if left or state.result is not None else state.layer
    return replace(state, questions=left, result=result)


def _drawers(state: ImageState, votes: Sequence[Vote]) -> dict[str, int]:
    """Return key -> id of the worker whose box it is about, for quality and coverage: they may not judge
    it."""
    ids = {vote.judgment.worker: vote.worker_id for vote in votes}
    voters: dict[str, set[str]] = {}
    for vote in votes:
        voters.setdefault(vote.judgment.key, set()).add(vote.judgment.worker)
    drawers = {}
    for question in state.questions:
        for worker in question.barred - voters.get(question.key, set()):
            if worker in ids:
                drawers[question.key] = ids[worker]
    return drawers


def chain_of(chain: ChainState) -> dict[str, Any]:
    """Return a chain as an open image's row stores it."""
    return {
        "m": [mention.id for mention in chain.mentions],
        "s": chain.stage,
        "r": chain.reason,
        "k": chain.kind,
        "b": [corners(drawn.box) for drawn in chain.boxes],
        "p": corners(chain.pending.box) if chain.pending else None,
        "moves": [[move.stage, move.outcome, move.next] for move in chain.moves],
    }


def chain_stages_of(chains: Iterable[ChainState]) -> dict[str, int]:
    """Return the number of chains at each stage, as an open image's row stores it: sorted by stage, so that
    equal counts are equal texts."""
    return dict(sorted(Counter(chain.stage for chain in chains).items()))


def merged_of(state: ImageState) -> list[dict[str, Any]]:
    """Return what merging did to an image's boxes, as its row stores it."""
    return [
        {"what": m.what, "chains": m.chains, "boxes": [corners(box) for box in m.boxes], "iou": m.iou}
        for m in state.merged
    ]


def _moves(
    image: int, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], at: datetime
) -> list[database.Statement]:
    """Return the statements for moves that were undone, and made, since the last fold."""
    old = {" ".join(chain["m"]): chain["moves"] for chain in before if chain["moves"]}
    new = {" ".join(chain["m"]): chain["moves"] for chain in after if chain["moves"]}
    statements: list[database.Statement] = []
    values: list[Any] = []
    for chain in {**old, **new}:
        was, is_now = old.get(chain, []), new.get(chain, [])
        same = next((i for i, (a, b) in enumerate(zip(was, is_now, strict=False)) if a != b), None)
        unmoved = min(len(was), len(is_now)) if same is None else same
        if unmoved < len(was):
            statements.append(
                (
                    """UPDATE annotation_move SET undone_at = %s
                       WHERE image_id = %s AND chain = %s AND number >= %s AND undone_at IS NULL""",
                    [database.sql_time(at), image, chain, unmoved],
                )
            )
        for number, (stage, outcome, following) in enumerate(is_now[unmoved:], unmoved):
            values += [image, chain, number, stage, outcome, following, database.sql_time(at)]
    if values:
        places = ", ".join(["(%s, %s, %s, %s, %s, %s, %s)"] * (len(values) // 7))
        statements.append(
            (
                f"""INSERT INTO annotation_move (image_id, chain, number, stage, outcome, next, at)
                    VALUES {places}""",
                values,
            )
        )
    return statements


def _image(
    image: int, content: Mapping[str, Any], state: ImageState, at: datetime, *, answers: int, layered: bool
) -> database.Statement:
    reviews = sum(chain.stage == REVIEW for chain in state.chains)
    return (
        """UPDATE annotation_openimage SET state = %s, version = version + 1, layer_behind = %s,
               complete = %s, in_review = %s, answers = %s, chain_stages = %s, changed_at = %s
           WHERE id = %s""",
        [
            json.dumps(content, separators=(",", ":")),
            layered,
            state.complete,
            reviews,
            answers,
            json.dumps(chain_stages_of(state.chains)),
            database.sql_time(at),
            image,
        ],
    )
