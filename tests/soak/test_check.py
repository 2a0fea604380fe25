"""The soak's count finds errors: a ledger and rows that agree, and variants with one error each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.soak import check, ledger, memory
from tests.soak.check import Step, compare
from tests.soak.ledger import Note, digest_of
from tests.soak.memory import Sample
from tests.soak.stored import Assignment, Judgment, Stored, Task

GOOD, BAD = digest_of("good", None, "", None), digest_of("bad", None, "", None)


def notes_of(number: int, worker: str, at: float = 100.0) -> list[Note]:
    """Return the notes of a worker who took an assignment, answered it, and got the acknowledgement."""
    key = f"{worker}-{number}"
    return [
        Note(at, worker, ledger.LEASED, number),
        Note(at + 5, worker, ledger.SENDING, number, key, GOOD),
        Note(at + 6, worker, ledger.STORED, number, key),
    ]


def assignment(number: int, worker: str, task: int = 1, **also: Any) -> Assignment:
    row = Assignment(
        number, worker, task, "box_quality", "vote", "submitted", f"{worker}-{number}", 100, 160, 105
    )
    return row._replace(**also)


def judgment(number: int, worker: str, task: int = 1, **also: Any) -> Judgment:
    row = Judgment(
        number, number, worker, 7, f"box_quality|box{task}", "box_quality", "", "vote", False, GOOD
    )
    return row._replace(**also)


def right() -> tuple[list[Note], Stored]:
    """Return a ledger and rows in which two workers answered a question that requires two."""
    stored = Stored(
        {1: assignment(1, "ann"), 2: assignment(2, "bea")},
        [judgment(1, "ann"), judgment(2, "bea")],
        {1: Task(1, 7, "box_quality|box1", "box_quality", "settled", "vote", 2, 2)},
    )
    return [*notes_of(1, "ann"), *notes_of(2, "bea")], stored


def amiss(notes: list[Note], stored: Stored, steps: tuple[Step, ...] = ()) -> dict[str, int]:
    return dict(compare(notes, stored, steps).amiss)


def test_what_agrees_is_found_right_and_counted() -> None:
    comparison = compare(*right())
    assert dict(comparison.amiss) == {}
    assert (
        comparison.counted["acknowledged"],
        comparison.counted["stored"],
        comparison.counted["tasks"],
    ) == (2, 2, 1)


def test_an_acknowledged_answer_that_is_not_stored_is_lost() -> None:
    notes, stored = right()
    stored.assignments[2] = assignment(2, "bea", state="expired", token="")
    del stored.judgments[1]
    assert amiss(notes, stored) == {check.LOST: 1}


def test_an_answer_stored_otherwise_or_for_somebody_else_is_lost() -> None:
    notes, stored = right()
    stored.judgments[0] = judgment(1, "ann", digest=BAD)
    assert amiss(notes, stored) == {check.LOST: 1}
    notes, stored = right()
    stored.judgments[0] = judgment(1, "eve")
    assert amiss(notes, stored) == {check.LOST: 1}


def test_an_answer_with_two_judgments_is_doubled() -> None:
    notes, stored = right()
    stored.judgments.append(judgment(3, "ann", assignment=1, image=None))
    assert amiss(notes, stored) == {check.DOUBLED: 1}


def test_a_key_that_is_stored_twice_or_acknowledged_twice_as_new_is_doubled() -> None:
    notes, stored = right()
    stored.assignments[3] = assignment(3, "ann", 2, token="ann-1")
    stored.judgments.append(judgment(3, "ann", 2))
    assert amiss(notes, stored) == {check.DOUBLED: 1}
    notes, stored = right()
    assert amiss([*notes, notes[2]], stored) == {check.DOUBLED: 1}
    assert amiss([*notes, notes[2]._replace(what=ledger.REPEATED)], stored) == {}


def test_a_question_judged_twice_by_one_worker_is_doubled() -> None:
    notes, stored = right()
    stored.assignments[3] = assignment(3, "ann", 2)
    stored.judgments.append(judgment(3, "ann"))
    assert amiss([*notes, *notes_of(3, "ann")], stored) == {check.DOUBLED: 1}


def test_a_task_with_more_answers_and_leases_than_it_wants_is_over_assigned() -> None:
    notes, stored = right()
    stored.assignments[3] = assignment(3, "cat", state="leased", token="", ended_at=None)
    assert amiss([*notes, notes_of(3, "cat")[0]], stored) == {check.OVER: 1}
    notes, stored = right()
    stored.assignments[3] = assignment(3, "cat")
    stored.judgments.append(judgment(3, "cat"))
    assert amiss([*notes, *notes_of(3, "cat")], stored) == {check.OVER: 1}


@pytest.mark.parametrize("why", ["late", "returned before", "extra"])
def test_an_answer_that_came_late_takes_no_place(why: str) -> None:
    notes, stored = right()
    late: dict[str, Any] = {"ended_at": 170.0} if why == "late" else {}
    stored.assignments[3] = assignment(3, "cat", **late)
    stored.judgments.append(judgment(3, "cat", role="extra" if why == "extra" else "vote"))
    notes += notes_of(3, "cat")
    if why == "returned before":
        notes.insert(-2, Note(103, "cat", ledger.RETURNED, 3))
    assert amiss(notes, stored) == {}


def test_an_answer_under_a_step_of_the_clock_is_counted_as_unclear() -> None:
    notes, stored = right()
    stored.assignments[3] = assignment(3, "cat")
    stored.judgments.append(judgment(3, "cat"))
    comparison = compare([*notes, *notes_of(3, "cat")], stored, (Step(101, 103, 3600),))
    assert dict(comparison.amiss) == {}
    assert comparison.counted["tasks that a step of the clock makes unclear"] == 1


def test_too_many_at_once_are_found_although_one_gave_back() -> None:
    notes, stored = right()
    stored.tasks[1] = stored.tasks[1]._replace(kind="caption_writing")
    stored.assignments[3] = assignment(3, "cat", state="returned", token="", leased_at=101, ended_at=150)
    assert amiss(notes, stored) == {check.OVER: 1}
    stored.assignments[3] = assignment(3, "cat", state="returned", token="", leased_at=40, ended_at=99)
    assert amiss(notes, stored) == {}


def test_who_judged_their_own_box_is_found() -> None:
    notes, stored = right()
    drawn = judgment(9, "ann", kind="box_drawing", name="box1", key="box_drawing|x|0", assignment=9)
    stored.judgments.append(drawn)
    assert amiss(notes, stored) == {check.JUDGED_OWN: 1}


def test_what_nobody_sent_and_leases_that_are_not_there_are_found() -> None:
    notes, stored = right()
    reported = [note for note in notes if note.worker == "ann"]
    assert amiss(reported, stored) == {check.UNKNOWN: 1}
    assert amiss([*notes, Note(90, "ann", ledger.LEASED, 77)], stored) == {check.NO_LEASE: 1}


def test_a_moment_that_the_clock_showed_twice_is_not_told() -> None:
    steps = (Step(1000, 1040, -120),)
    assert check.real(500, steps) == 500
    assert check.real(900, steps) is None  # shown at 900, and again at 1020
    assert check.real(1100, steps) == 1100
    assert check.real(7000, (Step(3380, 3420, 3600),)) is None


def test_notes_are_read_back_and_a_line_cut_short_is_passed_over(tmp_path: Path) -> None:
    journal = ledger.Journal(tmp_path, "ann")
    journal.note(ledger.SENDING, 5, key="ann-1", digest=GOOD, kind="coref_link")
    journal.close()
    with (tmp_path / "ann.jsonl").open("a") as file:
        file.write('[1.0, "ann", "sto')
    (note,) = ledger.read(tmp_path)
    assert note[1:] == ("ann", ledger.SENDING, 5, "ann-1", GOOD, "coref_link", "")


def test_a_process_that_grows_by_more_than_a_tenth_is_named() -> None:
    def at(second: float, mib: float, name: str, pid: int) -> Sample:
        return Sample(second, name, pid, mib, 0.0, second)

    samples = [at(s, 50 + s / 10, "web", 1) for s in (600, 610, 2600, 2610)]
    samples += [at(s, 40.0, "web", 2) for s in (600, 610, 2600, 2610)]
    samples += [at(s, 1.0 + s / 10_000, "small", 3) for s in (600, 610, 2600, 2610)]
    samples += [at(600, 9.0, "gone", 4)]
    samples += [at(s, float(s), "young", 5)._replace(age=60.0) for s in (600, 610, 2600, 2610)]
    rows = memory.rows(samples, (540, 660), (2400, 2700))
    assert [(row.name, row.too_much) for row in rows] == [
        ("small", False),
        ("web, largest", True),
        ("web, 2.", False),
        ("young", False),
    ]
