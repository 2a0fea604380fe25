"""Celery workers that help with covariances: they may start, die or never be reached."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from numpy.typing import NDArray

from evaluation.services.systems import shared_sums
from evaluation.services.systems.shared_sums import SharedSums, ask_for_help, help_with
from models_core.estimators.covariances import PairedSums, RowMap
from models_core.estimators.shared_pairs import SharedPairs, write_pairs
from tests import services
from tests.conftest import need
from tests.jobs.conftest import sending_to
from tests.jobs.workers import Worker, started, wait_until
from tests.models_core.estimators.test_shared_pairs import stacked_rows

CELERY = [
    *(sys.executable, "-m", "celery", "-A", "config.celery"),
    *("worker", "--concurrency", "1", "--without-mingle", "--without-gossip", "--loglevel", "INFO"),
]
PAIRS, ROWS = 400, 25


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "data")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def pairs(width: int = 12) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(PAIRS // 5, width)), rng.normal(size=(PAIRS, width)), np.arange(PAIRS) // 5


def bits(paired_sums: PairedSums) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in paired_sums.state()[0].items()}


def alone(folder: Path, described: RowMap | None = None) -> dict[str, bytes]:
    """Return one process's result for the same spans."""
    return bits(write_pairs(folder, *pairs(), rows=ROWS, described=described).total())


@contextlib.contextmanager
def helper(folder: Path, url: str) -> Iterator[Worker]:
    """Run a worker on the broker at `url`, with `folder`/data as its DATA_DIR."""
    limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with started(CELERY, folder, REDIS_URL=url, **limits) as worker:
        yield worker


def is_held(folder: Path) -> bool:
    """Return whether a span is claimed."""
    for claim in folder.glob("claim-*"):
        with claim.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def _all_but_held(shared: SharedPairs) -> bool:
    return shared.missing == [0, 7]


@contextlib.contextmanager
def held(shared: SharedPairs, *numbers: int) -> Iterator[None]:
    """Claim these spans for another process."""
    with ExitStack() as stack:
        for number in numbers:
            file = stack.enter_context((shared.folder / f"claim-{number:04}").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.django_db(transaction=True)
def test_workers_take_spans_and_the_sums_are_the_same_to_the_bit(
    data_dir: Path, tmp_path: Path, redis_url: str
):
    created = stacked_rows(12, 12)  # as the second sums of SAE
    both = [
        write_pairs(data_dir / "pairs", *pairs(), rows=ROWS, described=described)
        for described in (None, created)
    ]
    with sending_to(redis_url), helper(tmp_path, redis_url), ExitStack() as stack:
        for shared in both:
            assert shared.spans == 16
            stack.enter_context(held(shared, 0, 7))
            ask_for_help(shared.folder, 2)
        for shared in both:
            wait_until(partial(_all_but_held, shared), "the worker to do what nobody holds")
    totals = [shared.total() for shared in both]
    assert bits(totals[0]) == alone(tmp_path / "alone")
    assert bits(totals[1]) == alone(tmp_path / "alone", created)
    assert [total.count for total in totals] == [PAIRS, PAIRS]


@pytest.mark.slow  # the default run shares spans, and resumes killed jobs in `jobs/test_deliveries`
@pytest.mark.django_db(transaction=True)
def test_a_span_of_a_killed_worker_is_taken_over_although_redis_forgot_all(data_dir: Path, tmp_path: Path):
    rng = np.random.default_rng(4)
    # Large enough to be killed midway.
    rows = rng.normal(size=(2, 2_500, 1_500)).astype(np.float32)
    data = rows[0], np.concatenate(rows), np.arange(5_000) % 2_500
    shared = write_pairs(data_dir / "pairs", *data, rows=4_000)
    port = services.free_port()
    url = f"redis://127.0.0.1:{port}/0"
    with sending_to(url):
        with services.redis_server(need("redis"), port=port), helper(tmp_path, url) as worker:
            ask_for_help(shared.folder, 1)
            wait_until(lambda: is_held(shared.folder), "the worker to take a span")
            worker.kill()
        assert shared.missing, "the worker was killed before its end"
        with services.redis_server(need("redis"), port=port):
            total = shared.total()
    assert bits(total) == bits(write_pairs(tmp_path / "alone", *data, rows=4_000).total())
    assert total.count == 5_000


def test_without_a_broker_that_answers_the_training_does_it_alone(
    data_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        shared_sums, "write_pairs", lambda *provided, **named: write_pairs(*provided, rows=ROWS, **named)
    )
    messages: list[tuple[str, int, int]] = []
    with sending_to(f"redis://127.0.0.1:{services.free_port()}/0"):
        sums = SharedSums(data_dir / "pairs", lambda *item: messages.append(item), worth=0)
        result = sums(*pairs())
    assert bits(result) == alone(tmp_path / "alone")
    assert "no help with covariances: the broker cannot be reached" in caplog.text
    assert messages[-1] == ("adding up covariances", 16, 16)
    assert list((data_dir / "pairs").iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*args: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    for writes in ("save", "savez"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
            patch.setattr(np, writes, full)
            SharedSums(data_dir / "pairs", lambda *item: None, worth=0)(*pairs())
        assert list((data_dir / "pairs").iterdir()) == []


def test_few_pairs_are_not_divided(data_dir: Path):
    SharedSums(data_dir / "pairs", lambda *item: None)(*pairs())
    assert not (data_dir / "pairs").exists()


def test_a_helper_that_comes_late_finds_nothing_and_looks_nowhere_else(data_dir: Path):
    assert help_with("systems/.training-gone/pairs/0") == 0
    with pytest.raises(ValueError, match="is not in DATA_DIR"):
        help_with("../elsewhere")


def test_a_folder_removed_under_a_helper_ends_its_help(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    shared = write_pairs(data_dir / "pairs", *pairs(), rows=ROWS)
    taken = threading.Event()
    add_up = SharedPairs._add_up

    def removed(self: SharedPairs, number: int) -> None:
        if not taken.is_set():
            taken.set()
            shutil.rmtree(self.folder)
        add_up(self, number)

    monkeypatch.setattr(SharedPairs, "_add_up", removed)
    assert help_with(shared.folder.relative_to(data_dir).as_posix()) == 0
    assert not shared.folder.exists()
