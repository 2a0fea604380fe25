"""Each kind of fault is generated for suitable code, and a fault is identified by its function."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import draw
from tests.faults.draw import AREAS, Fault, faults
from tests.faults.nearest import Reach, nearest
from tests.faults.operators import python_edits, template_edits
from tests.jobs.workers import wait_until

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def mutants(code: str, operator: str) -> list[str]:
    """Return the body of a function with each fault of one kind."""
    text = f"def f():\n    {code}\n".encode()
    edits = [edit for _, edit in python_edits(text) if edit.operator == operator]
    changed = [text[: e.start] + e.new.encode() + text[e.end :] for e in edits]
    return [mutant.decode().removeprefix("def f():\n    ").rstrip("\n") for mutant in changed]


@pytest.mark.parametrize(
    ("operator", "code", "becomes"),
    [
        ("off by one", "return xs[2:]", ["return xs[3:]"]),
        ("off by one", "return a < b", ["return a <= b"]),
        ("flipped comparison", "return a not in b", ["return a in b"]),
        ("dropped lock", "return rows.select_for_update(no_key=True).get()", ["return rows.get()"]),
        ("dropped lock", "return 'SELECT 1 FROM t FOR UPDATE SKIP LOCKED'", ["return 'SELECT 1 FROM t '"]),
        (
            "dropped lock",
            "with sql.writing(): pass",
            ["with __import__('contextlib').nullcontext(): pass"],
        ),
        (
            "dropped WHERE",
            "return rows.filter(a=1, b=2)",
            ["return rows.filter(b=2)", "return rows.filter(a=1)"],
        ),
        (
            "dropped WHERE",
            "return f'SELECT 1 WHERE a = %s AND (b OR c) LIMIT {n}'",
            [
                "return f'SELECT 1 WHERE (a = %s OR 1 = 1) AND (b OR c) LIMIT {n}'",
                "return f'SELECT 1 WHERE a = %s AND ((b OR c) OR 1 = 1) LIMIT {n}'",
            ],
        ),
        ("dropped WHERE", "return [x for x in xs if x]", ["return [x for x in xs if True]"]),
        ("swapped direction", "return sorted(xs, reverse=True)", ["return sorted(xs, reverse=False)"]),
        ("swapped direction", "return rows.order_by('-rank')", ['return rows.order_by("rank")']),
        ("swapped direction", "return min(xs)", ["return max(xs)"]),
        ("swapped direction", "return g(a, b)", ["return g(b, a)"]),
        ("missing permission check", "if a: raise Http404", ["if False: raise Http404"]),
        ("missing check", "if a: raise ValueError", ["if False: raise ValueError"]),
        ("missing escape", "return escape(text)", ["return (text)"]),
    ],
)
def test_a_fault_of_each_kind_is_made(operator: str, code: str, becomes: list[str]):
    assert mutants(code, operator) == becomes


def test_a_permission_check_that_decorates_a_view_is_dropped():
    [(function, edit)] = [
        (function, edit)
        for function, edit in python_edits(b"@for_roles(ADMIN)\ndef view(request): pass\n")
        if edit.operator == "missing permission check"
    ]
    assert (function, edit.start, edit.end, edit.new) == ("view", 0, 17, "")


def test_a_variable_of_a_template_is_no_longer_escaped():
    assert [edit.new for edit in template_edits(b"<p>{{ name }} {{ picture|safe }}</p>")] == ["name|safe"]


def test_moving_a_file_changes_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code = "def first(xs):\n    return xs[0] if xs < 3 else min(xs)\n"
    known = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rooms.py").write_text("\n" * len(folder) + code)
        monkeypatch.setitem(AREAS, "queue", (f"{folder}/*.py",))
        known.append({fault.key for fault in faults(tmp_path, "queue")})
        chosen = draw._of_area(tmp_path, list(faults(tmp_path, "queue")), seed=7, share=3)
        assert len({fault.function for fault in chosen}) == len(chosen) == 1
    assert known[0] == known[1] and len(known[0]) == 5


@pytest.mark.slow  # `make test-faults` draws them each time
def test_every_area_has_files_and_sixty_faults_are_drawn_alike_each_time(monkeypatch: pytest.MonkeyPatch):
    # Generating all faults takes seconds; the subject is which are drawn.
    every = {area: list(faults(REPOSITORY, area)) for area in AREAS}
    monkeypatch.setattr(draw, "faults", lambda repository, area: every[area])
    drawn = draw.draw(REPOSITORY, seed=1, number=60)
    assert [fault.key for fault in drawn] == [f.key for f in draw.draw(REPOSITORY, seed=1, number=60)]
    assert {area: sum(fault.area == area for fault in drawn) for area in AREAS} == dict.fromkeys(AREAS, 10)
    assert {fault.key for fault in drawn} != {f.key for f in draw.draw(REPOSITORY, seed=2, number=60)}


def test_a_pattern_that_fits_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(AREAS, "queue", ("gone.py",))
    with pytest.raises(ValueError, match="no file is gone.py, of the area queue"):
        list(faults(tmp_path, "queue"))


def recorded(folder: Path, ran: dict[str, list[int]], seconds: dict[str, float]) -> Reach:
    """Record the lines of `rooms.py` that each test ran; a wide test runs something of twenty more files."""
    import coverage

    data = coverage.CoverageData(str(folder / "SQLite.coverage"))
    for test, lines in ran.items():
        data.set_context(test)
        data.add_lines({str(folder / "rooms.py"): lines})
        if test.endswith("wide"):
            data.add_lines({f"{n}.py": [1] for n in range(20)})
    data.write()
    data.close()
    return Reach("SQLite", folder / "SQLite.coverage", seconds)


def test_tests_that_run_the_line_come_nearest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "rooms.py").write_text("def first(x):\n    if x:\n        return 1\n    return 2\n")
    ran = {"a::wide": [2, 3], "a::slow": [2, 3], "test_rooms::own": [2, 3], "b::other": [2, 4]}
    seconds = {"a::wide": 1.0, "a::slow": 9.0, "test_rooms::own": 99.0, "b::other": 1.0}
    reach = recorded(tmp_path, ran, seconds)
    monkeypatch.setitem(AREAS, "queue", ("rooms.py",))
    fault: Fault = next(f for f in faults(tmp_path, "queue") if f.line == 3)
    assert nearest(fault, reach, tmp_path, reach.breadth()) == ["test_rooms::own", "a::slow", "a::wide"]


def test_whom_a_decorator_refuses_is_asked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "rooms.py").write_text("@for_roles('admin')\ndef first(x):\n    return 1\n")
    reach = recorded(tmp_path, {"a::let_in": [3]}, {"a::let_in": 1.0, "a::refused": 1.0, "b::other": 1.0})
    monkeypatch.setitem(AREAS, "queue", ("rooms.py",))
    fault: Fault = next(f for f in faults(tmp_path, "queue") if f.line == 1)
    assert set(nearest(fault, reach, tmp_path, reach.breadth())) == {"a::let_in", "a::refused"}


def test_interrupted_it_waits_for_its_run_to_end(tmp_path: Path):
    run = (
        "import pathlib, signal, sys, time\n"
        "def end(*_):\n"
        "    time.sleep(0.5)\n"
        "    pathlib.Path('ended').touch()\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "pathlib.Path('begun').touch()\n"
        "time.sleep(60)\n"
    )
    ours = (
        "import pathlib, sys\n"
        "from tests.faults.__main__ import end_as_by_hand, run_to_its_end\n"
        "end_as_by_hand()\n"
        f"run_to_its_end([sys.executable, '-c', {run!r}], pathlib.Path({str(tmp_path)!r}))\n"
    )
    with subprocess.Popen([sys.executable, "-c", ours], cwd=REPOSITORY, stderr=subprocess.DEVNULL) as child:
        wait_until((tmp_path / "begun").exists, "the run has begun")
        child.terminate()
        assert child.wait(30) != 0
    assert (tmp_path / "ended").exists()
