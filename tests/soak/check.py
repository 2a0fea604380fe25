"""Compare acknowledged answers with stored ones: none lost, none doubled, no task assigned to too many.

Pure functions from notes and rows to findings.

- lost: acknowledged, and not stored, or stored otherwise, or of another worker;
- doubled: one key stored twice, an answer with two judgments, a question judged twice by one worker, or one
  key acknowledged twice as new;
- over-assigned: more live leases and answers in time than a task wants, at the end; and, where what is wanted
  never changes (questions that are only counted), at any moment that can be told from the rows;
- their own box: judged by who drew it;
- unknown: stored under a key that nobody sent.

An answer counts towards the votes of a task if it arrived in time, by the product's clock. If that clock
stepped during the lease, this is unknown: such answers are counted separately (`unclear`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.soak import ledger
from tests.soak.ledger import Note
from tests.soak.stored import Assignment, Judgment, Stored, Task

#: Number of examples stored for each finding.
EXAMPLES = 5
#: Kinds that require a constant number of answers.
COUNTED = ("relevance", "graded_relevance", "caption_writing", "region_description")
#: Seconds for which too many workers must have held a task. Shorter times may come from a process that was
#: stopped between reading the clock and writing.
HELD_UP = 20.0
#: Seconds around a step of the clock within which processes may read either time.
SLACK = 5.0
NEVER = float("inf")


class Step(NamedTuple):
    """The product's clock was `offset` seconds off between two moments of the harness's clock."""

    begun: float
    ended: float
    offset: float


@dataclass
class Findings:
    """The errors by name, with some examples, and other counts."""

    amiss: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counted: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, example: str) -> None:
        self.amiss[name] += 1
        if len(self.examples[name]) < EXAMPLES:
            self.examples[name].append(example)


#: Errors, in the order of the table.
LOST, DOUBLED, OVER, JUDGED_OWN, UNKNOWN, NO_LEASE = (
    "lost",
    "doubled",
    "over-assigned",
    "judged their own box",
    "stored, and sent by nobody",
    "leases acknowledged, and not there",
)


def compare(notes: Sequence[Note], stored: Stored, steps: Sequence[Step] = ()) -> Findings:
    """Return all findings. `steps`: when the product's clock was off."""
    findings = Findings()
    of_assignment: dict[int, list[Judgment]] = defaultdict(list)
    for judgment in stored.judgments:
        of_assignment[judgment.assignment].append(judgment)
    _acknowledged(findings, notes, stored, of_assignment)
    _doubled(findings, notes, stored, of_assignment)
    _own_boxes(findings, stored)
    _over_assigned(findings, notes, stored, of_assignment, steps)
    return findings


def _acknowledged(
    findings: Findings, notes: Sequence[Note], stored: Stored, judgments: Mapping[int, Sequence[Judgment]]
) -> None:
    """Check that acknowledged answers are stored, and that stored answers were sent by the workers."""
    payload = {(note.worker, note.key): note for note in notes if note.what == ledger.SENDING}
    reported: dict[tuple[str, str], Note] = {}
    for note in notes:
        if note.what in (ledger.STORED, ledger.REPEATED):
            reported.setdefault((note.worker, note.key), note)
        if note.what == ledger.LEASED:
            findings.counted["leases acknowledged"] += 1
            row = stored.assignments.get(note.assignment)
            if row is None or row.worker != note.worker:
                findings.add(NO_LEASE, f"assignment {note.assignment} of {note.worker}")
    findings.counted["acknowledged"] = len(reported)
    for (worker, key), note in reported.items():
        if invalid := _contradiction(note, payload.get((worker, key)), stored, judgments):
            findings.add(LOST, f"assignment {note.assignment}, key {key} of {worker}: {invalid}")
    for row in stored.assignments.values():
        if not row.token:
            continue
        findings.counted["stored"] += 1
        if (row.worker, row.token) not in payload:
            findings.add(UNKNOWN, f"assignment {row.id}, key {row.token} of {row.worker}")
        elif (row.worker, row.token) not in reported:
            findings.counted["stored, and not acknowledged"] += 1


def _contradiction(
    reported: Note, note: Note | None, stored: Stored, judgments: Mapping[int, Sequence[Judgment]]
) -> str:
    """Return what is wrong with an acknowledged answer, "" if it is stored as it was sent."""
    row = stored.assignments.get(reported.assignment)
    if row is None:
        return "there is no such assignment"
    if row.worker != reported.worker:
        return f"it is {row.worker}'s"
    if (row.state, row.token) != ("submitted", reported.key):
        return f"the assignment is {row.state}, its key {row.token!r}"
    there = judgments.get(reported.assignment, ())
    if not there:
        return "there is no judgment"
    if note is not None and all(judgment.digest != note.digest for judgment in there):
        return "another answer is stored"
    if any(judgment.worker != reported.worker for judgment in there):
        return "the judgment is another worker's"
    return ""


def _doubled(
    findings: Findings, notes: Sequence[Note], stored: Stored, judgments: Mapping[int, Sequence[Judgment]]
) -> None:
    for assignment, there in judgments.items():
        if len(there) > 1:
            findings.add(DOUBLED, f"assignment {assignment} has {len(there)} judgments")
    tokens = Counter((row.worker, row.token) for row in stored.assignments.values() if row.token)
    new = Counter((note.worker, note.key) for note in notes if note.what == ledger.STORED)
    counts = Counter((j.worker, j.image, j.key) for j in stored.judgments if j.image is not None)
    for what, times in (("stored", tokens), ("acknowledged as new", new), ("judged", counts)):
        for which, number in times.items():
            if number > 1:
                findings.add(DOUBLED, f"{' '.join(map(str, which))}: {what} {number} times")


def _own_boxes(findings: Findings, stored: Stored) -> None:
    """Find workers who judged a box that they drew."""
    drawn = {(j.image, j.name): j.worker for j in stored.judgments if j.kind == "box_drawing"}
    for judgment in stored.judgments:
        if judgment.kind != "box_quality" or judgment.image is None:
            continue
        box = judgment.key.split("|")[1]
        findings.counted["boxes judged"] += 1
        if drawn.get((judgment.image, box)) == judgment.worker:
            findings.add(JUDGED_OWN, f"judgment {judgment.id} of {judgment.worker}")


def _over_assigned(
    findings: Findings,
    notes: Sequence[Note],
    stored: Stored,
    judgments: Mapping[int, Sequence[Judgment]],
    steps: Sequence[Step],
) -> None:
    """Find tasks with more holders than they require: now, and, if it can be determined, at any time."""
    ours = _lives(notes)
    held: dict[int, list[Assignment]] = defaultdict(list)
    for row in stored.assignments.values():
        if row.task is not None:
            held[row.task].append(row)
    for task in stored.tasks.values():
        expected = task.needed
        sure, unclear = 0, 0
        for row in held[task.id]:
            counts = _counts_towards_votes(row, judgments.get(row.id, ()), ours.get(row.id), steps)
            sure += counts is True
            unclear += counts is None
        findings.counted["tasks"] += 1
        if sure > expected or task.live > task.needed:
            findings.add(
                OVER, f"task {task.id} ({task.kind}) wants {task.needed} and has {sure}, {task.live}"
            )
        elif sure + unclear > expected:
            findings.counted["tasks that a step of the clock makes unclear"] += 1
        if task.kind in COUNTED:
            most = _most_at_once(task, held[task.id], judgments, ours, steps)
            if most is None:
                findings.counted["tasks that cannot be told over time"] += 1
                continue
            findings.counted["tasks told over time"] += 1
            if most > task.needed:
                findings.add(OVER, f"task {task.id} ({task.kind}) wants {task.needed} and had {most} at once")


class Life(NamedTuple):
    """A worker's notes on an assignment: the first and the last, and whether the worker returned it."""

    begun: float
    ended: float
    returned: bool


def _lives(notes: Iterable[Note]) -> dict[int, Life]:
    """Return the lives by assignment; notes after the answer's acknowledgement (a second click) are
    ignored."""
    result: dict[int, Life] = {}
    done: set[int] = set()
    for note in notes:
        if note.assignment in done:
            continue
        old = result.get(note.assignment, Life(note.at, note.at, False))
        returned = old.returned or note.what == ledger.RETURNED
        # Taken again after it expired or was returned: the lease starts again.
        begun = note.at if note.what == ledger.LEASED and old.returned else old.begun
        result[note.assignment] = Life(begun, note.at, returned and note.what != ledger.LEASED)
        if note.what in (ledger.STORED, ledger.REPEATED):
            done.add(note.assignment)
    return result


def _counts_towards_votes(
    row: Assignment, there: Sequence[Judgment], life: Life | None, steps: Sequence[Step]
) -> bool | None:
    """Return whether an assignment permanently counts towards its task's votes; None if unknown."""
    if row.state == "leased":
        return row.role == "vote"
    if row.state != "submitted":
        return False
    if not any(judgment.role == "vote" and not judgment.withdrawn for judgment in there):
        return False
    if life is not None and life.returned:
        return False  # returned before, and answered late
    if row.ended_at is not None and row.ended_at > row.expires_at:
        return False
    if life is None or any(s.begun - SLACK <= life.ended and life.begun <= s.ended + SLACK for s in steps):
        return None
    return True


def real(at: float, steps: Sequence[Step]) -> float | None:
    """Return the harness's time at which the product's clock showed `at`; None if it did so twice, or
    nearly."""
    result = []
    for step in steps:
        begun, ended = step.begun + step.offset, step.ended + step.offset
        if begun + SLACK <= at <= ended - SLACK:
            result.append(at - step.offset)
        elif begun - SLACK < at < ended + SLACK:
            return None
    if not any(step.begun - SLACK < at < step.ended + SLACK for step in steps):
        result.append(at)
    return result[0] if len(result) == 1 else None


def _most_at_once(
    task: Task,
    held: Sequence[Assignment],
    judgments: Mapping[int, Sequence[Judgment]],
    lives: Mapping[int, Life],
    steps: Sequence[Step],
) -> int | None:
    """Return the maximum number of simultaneous holders of the task, for HELD_UP seconds; None if unknown."""
    moments: list[tuple[float, int]] = []
    for row in held:
        if row.role != "vote":
            continue
        begun = real(row.leased_at, steps)
        ended: float | None = NEVER
        if row.state in ("returned", "expired"):
            ended = None if row.ended_at is None else real(row.ended_at, steps)
        elif row.state == "submitted":
            counts = _counts_towards_votes(row, judgments.get(row.id, ()), lives.get(row.id), steps)
            if counts is not True:
                return None  # no row says how long it was held before it expired
        if begun is None or ended is None:
            return None
        if ended - begun > HELD_UP:
            moments += [(begun, 1), (ended - HELD_UP, -1)]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most
