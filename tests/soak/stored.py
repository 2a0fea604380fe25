"""The content of the database, read with separate SQL: none of the product's code is used."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import psycopg2

from tests.soak.ledger import digest_of


class Assignment(NamedTuple):
    """A lease, possibly ended; times in seconds of the product's clock."""

    id: int
    worker: str
    task: int | None
    kind: str
    role: str
    state: str
    token: str
    leased_at: float
    expires_at: float
    ended_at: float | None


class Judgment(NamedTuple):
    """A stored answer; `image` and `key` are its subject, `digest` its content."""

    id: int
    assignment: int
    worker: str
    image: int | None
    key: str
    kind: str
    name: str
    role: str
    withdrawn: bool
    digest: str


class Task(NamedTuple):
    """A question: how many answers it requires, and how many it counts."""

    id: int
    image: int
    key: str
    kind: str
    state: str
    role: str
    needed: int
    live: int


class Job(NamedTuple):
    """A background job: how it ended, and its results."""

    id: int
    kind: str
    state: str
    error: str
    result: Mapping[str, Any]


@dataclass
class Stored:
    """Everything that is compared with the acknowledged answers."""

    assignments: dict[int, Assignment] = field(default_factory=dict)
    judgments: list[Judgment] = field(default_factory=list)
    tasks: dict[int, Task] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)


#: Runs a statement and returns its rows.
Ask = Callable[[str], list[tuple[Any, ...]]]

#: Open tasks that have wrong counts, or are assigned to more workers than required: queried during the run.
#: All votes on an open question count.
MISCOUNTED = """
    SELECT count(*) FROM (
        SELECT t.live, t.needed,
            (SELECT count(*) FROM annotation_assignment a WHERE a.task_id = t.id AND a.state = 'leased')
          + (SELECT count(*) FROM annotation_judgment j
             WHERE j.image_id = t.image_id AND j.key = t.key AND j.role = 'vote' AND NOT j.withdrawn) AS found
        FROM annotation_task t WHERE t.state = 'open') AS told
    WHERE live > needed OR live <> found"""


@contextmanager
def asking(database: str | Path) -> Iterator[Ask]:
    """Return a connection that reads: to PostgreSQL by its address, to SQLite by its file."""
    connection: Any
    if isinstance(database, Path):
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=20, isolation_level=None)
    else:
        connection = psycopg2.connect(database, connect_timeout=5)
        connection.autocommit = True
    with closing(connection):

        def ask(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.cursor()
            cursor.execute(statement)
            return list(cursor.fetchall())

        yield ask


def read(ask: Ask) -> Stored:
    """Read everything, once nobody writes any more."""
    stored = Stored()
    for row in ask(
        """SELECT a.id, w.pseudonym, a.task_id, a.kind, a.role, a.state, a.token, a.leased_at, a.expires_at,
               a.ended_at FROM annotation_assignment a JOIN annotation_worker w ON w.id = a.worker_id"""
    ):
        times = [None if at is None else _seconds(at) for at in row[7:]]
        stored.assignments[row[0]] = Assignment._make([*row[:7], *times])
    for row in ask(
        """SELECT j.id, j.assignment_id, w.pseudonym, j.image_id, j.key, j.kind, j.name, j.role, j.withdrawn,
               j.answer, j.x_min, j.y_min, j.x_max, j.y_max, j.flag, j.content
           FROM annotation_judgment j JOIN annotation_worker w ON w.id = j.worker_id ORDER BY j.id"""
    ):
        answer, *box, flag, content = row[9:]
        digest = digest_of(answer, box if box[0] is not None else None, flag, _as_payload(content, flag))
        stored.judgments.append(Judgment._make([*row[:8], bool(row[8]), digest]))
    for row in ask("SELECT id, image_id, key, kind, state, role, needed, live FROM annotation_task"):
        stored.tasks[row[0]] = Task._make(row)
    for row in ask("SELECT id, kind, state, error, result FROM annotation_job"):
        stored.jobs[row[0]] = Job._make([*row[:4], _plain_value(row[4]) or {}])
    return stored


def _plain_value(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _as_payload(content: Any, flag: str) -> Mapping[str, Any] | None:
    """Return a stored content as the worker sent it: only the ticks of a page."""
    plain_value = _plain_value(content)
    if plain_value is None or flag:
        return None
    if "blocks" in plain_value:
        return {"ticked": [block["yes"] for block in plain_value["blocks"]]}
    return dict(plain_value)


def _seconds(value: Any) -> float:
    """Return a time as seconds since 1970: SQLite returns text, in UTC."""
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return float((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
