"""Partial sums in files: each pair is counted once, by any process and in any order."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from models_core.estimators import shared_pairs
from models_core.estimators.base import View
from models_core.estimators.covariances import PairedSums, sums_of_pairs
from models_core.estimators.embeddings import LinearMap
from models_core.estimators.shared_pairs import SharedPairs, write_pairs
from models_core.estimators.transfer.stacked import StackedRows
from models_core.features.fourier import FourierFeatures

ROWS = 8
PAIRS = 5 * ROWS + 3


def pairs(*, seed: int = 0, single: bool = False) -> tuple[View, View, NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    images = rng.normal(3.0, 1.0, (PAIRS // 2, 6)).astype(np.float32 if single else np.float64)
    captions = sparse.csr_matrix(rng.poisson(0.3, (PAIRS, 5)).astype(np.float64))
    return images, captions, np.arange(PAIRS) % len(images)


def stacked_rows(x: int, y: int, *, seed: int = 0) -> StackedRows:
    """Return rows beside 9 Fourier features of 3 numbers."""
    rng = np.random.default_rng(seed)
    maps = {
        view: LinearMap(rng.normal(size=width), rng.normal(size=(width, 3)))
        for view, width in (("images", x), ("captions", y))
    }
    fourier = {view: FourierFeatures(9).fit(rng.normal(size=(60, 3)), rng) for view in maps}
    return StackedRows(maps, fourier, {"images": 0.5, "captions": 2.0}, True)


def same(first: PairedSums, second: PairedSums, *, apart: float = 0.0) -> bool:
    ours, theirs = first.covariances(), second.covariances()
    return ours.count == theirs.count and all(
        np.allclose(getattr(ours, name), getattr(theirs, name), rtol=apart, atol=apart)
        for name in ("x_mean", "y_mean", "xx", "xy", "yy")
    )


@pytest.mark.parametrize("single", [False, True])
def test_sums_of_spans_are_the_sums_of_all(tmp_path: Path, single: bool):
    data = pairs(single=single)
    shared = write_pairs(tmp_path, *data, rows=ROWS)
    assert shared.spans == 6
    assert same(shared.total(), sums_of_pairs(*data), apart=1e-5 if single else 1e-12)


def test_who_took_which_span_changes_no_bit(tmp_path: Path):
    alone = write_pairs(tmp_path / "alone", *pairs(), rows=ROWS).total()
    first = write_pairs(tmp_path / "shared", *pairs(), rows=ROWS)
    helper = SharedPairs(first.folder)
    takers = [threading.Thread(target=helper.take_spans) for _ in range(3)]
    for taker in takers:
        taker.start()
    total = first.total()
    for taker in takers:
        taker.join()
    assert same(total, alone)
    assert total.count == PAIRS


def test_rows_that_are_made_of_others_are_added_up_and_their_map_alone_is_written(tmp_path: Path):
    images, captions, image_of = pairs()
    created = stacked_rows(6, 5)
    shared = write_pairs(tmp_path, images, captions, image_of, rows=ROWS, described=created)
    total = SharedPairs(shared.folder).total()
    whole = sums_of_pairs(created("images", images), created("captions", captions), image_of)
    assert total.widths == (6 + 9, 5 + 9)
    assert same(total, whole, apart=1e-12)
    assert write_pairs(tmp_path, images, captions, image_of, rows=ROWS).folder != shared.folder
    other_stacked_rows = stacked_rows(6, 5, seed=1)
    assert (
        write_pairs(tmp_path, images, captions, image_of, rows=ROWS, described=other_stacked_rows).folder
        != shared.folder
    )


def test_what_is_there_is_not_added_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shared = write_pairs(tmp_path, *pairs(), rows=ROWS)
    expected = shared.total()
    shared._sums(2).unlink()
    assert write_pairs(tmp_path, *pairs(), rows=ROWS).missing == [2]
    assert SharedPairs(shared.folder).take_spans() == 1
    monkeypatch.setattr(shared_pairs, "sums_of_pairs", None)
    assert same(write_pairs(tmp_path, *pairs(), rows=ROWS).total(), expected)


def test_a_span_that_somebody_holds_is_left_to_them_and_one_of_the_dead_is_taken(tmp_path: Path):
    shared = write_pairs(tmp_path, *pairs(), rows=ROWS)
    with (shared.folder / "claim-0001").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert SharedPairs(shared.folder).take_spans() == 5
        assert shared.missing == [1]
        threading.Timer(0.2, held.close).start()
        assert same(shared.total(), sums_of_pairs(*pairs()), apart=1e-12)


def test_other_data_lies_in_another_folder(tmp_path: Path):
    first, second = (write_pairs(tmp_path, *pairs(seed=seed), rows=ROWS) for seed in (1, 2))
    assert first.folder != second.folder
    first.take_spans()
    assert second.missing == list(range(6))


def test_pairs_that_are_not_all_written_are_no_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*args: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(shared_pairs.np, "save", full)
        write_pairs(tmp_path, *pairs(), rows=ROWS)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        SharedPairs(tmp_path)
    shared = write_pairs(tmp_path, *pairs(), rows=ROWS)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(shared_pairs.np, "savez", full)
        shared.take_spans()
    assert not [file for file in shared.folder.iterdir() if file.name.startswith((".", "sums"))]
    assert same(shared.total(), sums_of_pairs(*pairs()), apart=1e-12)


def test_sums_of_other_pairs_are_refused(tmp_path: Path):
    shared = write_pairs(tmp_path, *pairs(), rows=ROWS)
    shared.take_spans()
    shared._sums(5).write_bytes(shared._sums(4).read_bytes())
    with pytest.raises(ValueError, match=f"sums of {PAIRS + 5} pairs, and the data has {PAIRS}; remove it"):
        shared.total()


def test_somebody_who_hears_of_progress_may_end_the_work_and_what_is_done_stays(tmp_path: Path):
    shared = write_pairs(tmp_path, *pairs(), rows=ROWS)
    heard: list[tuple[int, int]] = []

    def enough(done: int, total: int) -> None:
        heard.append((done, total))
        if done == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        shared.total(enough)
    assert heard == [(1, 6), (2, 6)]
    assert shared.missing == [2, 3, 4, 5]
