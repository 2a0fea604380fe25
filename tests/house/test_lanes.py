"""Lanes that have as much to do, none of which leaves a test out, and what a run says of its cost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import cost, lanes
from tests.cost import Cost, LaneCost

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FILES = [file.relative_to(REPOSITORY).as_posix() for file in (REPOSITORY / "tests").rglob("test_*.py")]


def test_every_file_runs_in_some_lane() -> None:
    assert FILES and {file for file in FILES if not lanes.lanes_of(file)} == set()


def test_every_folder_and_file_that_is_given_a_lane_is_there() -> None:
    provided = (*lanes.BOTH, *lanes.ANYWHERE, *lanes.ONCE)
    assert [index for index in provided if not any(file.startswith(index) for file in FILES)] == []
    assert [p for p in provided if sum(p != q and p.startswith(q) for q in provided)] == []


def test_what_means_something_on_one_database_alone_lies_where_both_lanes_look() -> None:
    pattern = re.compile(r"mark\.only_on\(.(sqlite|postgresql)|installation: Deliver[y]")
    marked = [file for file in FILES if pattern.search((REPOSITORY / file).read_text())]
    both = (lanes.SQLITE, lanes.POSTGRESQL)
    assert marked and [file for file in marked if lanes.lanes_of(file) != both] == []


def test_lanes_have_as_much_to_do_as_can_be() -> None:
    seconds = {"tests/protocol/test_a.py": 5, "tests/scenes/test_b.py": 4, "tests/formats/test_c.py": 3.5}
    pure = {file: {"SQLite": [1.0, second]} for file, second in seconds.items()}
    fixed = {"tests/queue/test_x.py": {"SQLite": [9.0, 2.0], "PostgreSQL": [9.0, 6.0]}}
    result = lanes.balanced([*pure, *fixed, "tests/protocol/test_new.py"], {**pure, **fixed})
    assert [result[file] for file in pure] == [lanes.SECOND, lanes.SQLITE, lanes.SECOND]
    assert set(result) == {*pure, "tests/protocol/test_new.py"}


def test_what_uses_sqlite_alone_runs_in_the_lane_on_it_that_has_less_to_do() -> None:
    costs = {
        "tests/queue/test_x.py": {"SQLite": [1.0, 9.0], "PostgreSQL": [1.0, 1.0]},
        "tests/web/test_y.py": {"SQLite": [1.0, 5.0]},
        "tests/web/test_z.py": {"SQLite, second": [1.0, 4.5]},
        "tests/crowd/test_w.py": {"SQLite": [1.0, 1.0]},
    }
    result = lanes.balanced(costs, costs)
    assert result["tests/web/test_y.py"] == lanes.SECOND == result["tests/web/test_z.py"]
    assert lanes.POSTGRESQL not in result.values()


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "recorded.json"
    monkeypatch.setattr(cost, "RECORDED", file)
    return file


def lane(**cpu: float) -> dict[str, LaneCost]:
    cases = {f"tests/a/test_b.py::{name}": Cost(seconds, 2 * seconds) for name, seconds in cpu.items()}
    return {"SQLite": LaneCost(Cost(10.0, 20.0), cases)}


def test_what_was_recorded_is_told_beside_what_a_run_took(recorded: Path) -> None:
    cost.record(lane(dear=3.0, cheap=0.1))
    payload = json.loads(recorded.read_text())
    assert list(payload["cases"]) == ["tests/a/test_b.py::dear"]
    assert payload["files"] == {"tests/a/test_b.py": {"SQLite": [3.1, 6.2]}}
    message = list(cost.told(lane(dear=4.4, cheap=0.1)))
    assert "SQLite: 20.0 s, CPU 10.0 s, 2 cases (20.0 s, CPU 10.0 s, 2 cases)" in message
    assert "  8.8 s, CPU 4.4 s (6.0 s, CPU 3.0 s): tests/a/test_b.py::dear (SQLite)" in message
    assert not [line for line in message if line.startswith("Dearer")]


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ({"dear": 4.6}, ["dear"]),  # more than half as much again
        ({"dear": 4.4}, []),
        ({"cheap": 0.7}, []),  # little, even if it was less
        ({"cheap": 0.8}, ["cheap"]),
        ({"new": 1.0}, ["new"]),  # of a file that is known
    ],
)
def test_a_case_that_takes_more_than_half_as_much_again_is_named(
    recorded: Path, now: dict[str, float], named: list[str]
) -> None:
    cost.record(lane(dear=3.0, cheap=0.1))
    text = "\n".join(cost.told(lane(**now)))
    matches = re.findall(r"::(\w+) ", text.partition("Dearer")[2])
    assert matches == named


@pytest.mark.parametrize(
    ("answer_time", "of_one", "named"), [(0.5, 2.0, ["c07"]), (3.0, 7.0, []), (3.0, 16.0, ["c07"])]
)
def test_a_slower_or_faster_machine_makes_no_case_dearer(
    recorded: Path, answer_time: float, of_one: float, named: list[str]
) -> None:
    before = {f"c{n:02}": 1.0 + n / 10 for n in range(60)}
    cost.record(lane(**before))
    now = {name: answer_time * seconds for name, seconds in before.items()} | {"c07": of_one}
    text = "\n".join(cost.told(lane(**now)))
    assert re.findall(r"::(\w+) ", text.partition("Dearer")[2]) == named


def test_ten_of_the_slowest_are_told(recorded: Path) -> None:
    message = list(cost.told(lane(**{f"t{n:02}": n / 10 for n in range(15)})))
    places = [line.split("::")[1] for line in message if line.startswith("  ")]
    assert places == [f"t{n:02} (SQLite)" for n in range(14, 4, -1)]


def test_what_a_child_computes_counts() -> None:
    before = cost.now()
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    took = cost.now() - before
    assert took.cpu >= 0.05 and took.wall >= took.cpu / 4


def test_a_thorough_run_takes_each_file_on_both_databases_or_once() -> None:
    assert lanes.thorough_lanes_of("tests/queue/test_whole.py") == (lanes.SQLITE, lanes.POSTGRESQL)
    assert all(lanes.thorough_lanes_of(file) == (lane,) for file, lane in lanes.ONCE.items())
