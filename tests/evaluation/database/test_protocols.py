"""Runs under the field's protocols, with commands: the figures equal those of the matrix."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison.scoring import score_against_first
from evaluation.comparison.subsets import subset_named
from evaluation.selectors import run_named, snapshot_named
from evaluation.services.judgments.freezing import freeze_protocol
from evaluation.services.runs.files import RunImport, import_run
from phrasebox.metrics.protocols import both_directions, over_folds, select
from phrasebox.scoring.tiles import Dense
from tests.evaluation.database.conftest import matrix_file, output_of

pytestmark = pytest.mark.django_db

NUMBER = 10
MEASURES = ["R@1", "R@5", "R@10", "median rank", "mean rank"]
OWNERS = np.repeat(np.arange(NUMBER), 5)
DIRECTIONS = ("annotation", "search")


@pytest.fixture
def scores(db: None, tmp_path: Path) -> np.ndarray:
    """Ten images of five captions, and a run per direction, with ties; shape (images, captions)."""
    records = [
        ImageRecord(
            id=f"i{n}",
            filename=f"i{n}.jpg",
            # Every other image is in the split: folds follow the order in the corpus.
            split="test" if n % 2 else "val",
            captions=tuple(CaptionRecord(f"caption {k} of {n}") for k in range(5)),
        )
        for n in range(NUMBER)
    ]
    import_records(name="ten", records=records, format="jsonl", source="memory")
    scores = np.random.default_rng(3).integers(0, 30, (NUMBER, 5 * NUMBER)).astype(float)
    images = [f"i{n}.jpg" for n in range(NUMBER)]
    captions = [f"i{n}.jpg#{k}" for n in range(NUMBER) for k in range(5)]
    file = matrix_file(tmp_path, "ten", scores, images, captions)
    for direction in DIRECTIONS:
        import_run(
            RunImport(name=direction, corpus="ten", file=file, format="scores", direction=direction),
            OperationContext(),
        )
    return scores


def figures(run: str, *arguments: object) -> dict[str, float]:
    report = json.loads(
        output_of("score_run", run, "--qrels", "own", "--measures", ",".join(MEASURES), *arguments, "--json")
    )
    return {m["measure"]: m["value"] for m in report["measures"]}


@pytest.mark.parametrize(
    ("protocol", "number"), [("any of five", None), ("first caption", None), ("one caption", 3)]
)
def test_a_protocol_gives_the_figures_of_the_matrix(
    scores: np.ndarray, protocol: str, number: int | None
) -> None:
    """What the protocol leaves out of the pool does not stand in anybody's way."""
    freeze_protocol(name="own", corpus="ten", protocol=protocol, number=number)
    direct = both_directions(Dense(scores), select(protocol, OWNERS, number=number), MEASURES)
    for direction in DIRECTIONS:
        expected = {name: score.value for name, score in direct[direction].items()}
        assert figures(direction) == pytest.approx(expected)


def test_captions_of_an_image_are_exchanged_together(scores: np.ndarray, tmp_path: Path) -> None:
    """Five captions of an image ask in search; in annotation each image asks once."""
    freeze_protocol(name="own", corpus="ten", protocol="any of five")
    images, captions = (
        [f"i{n}.jpg" for n in range(NUMBER)],
        [f"i{n}.jpg#{k}" for n in range(NUMBER) for k in range(5)],
    )
    right = (np.arange(NUMBER)[:, None] == OWNERS).astype(float)
    file = matrix_file(tmp_path, "right", right, images, captions)
    for direction, expected in (
        ("annotation", ["McNemar", "randomisation of medians", "randomisation of means"]),
        ("search", [f"randomisation of {what}, by image" for what in ("means", "medians", "means")]),
    ):
        import_run(
            RunImport(
                name=f"right-{direction}", corpus="ten", file=file, format="scores", direction=direction
            ),
            OperationContext(),
        )
        runs = [run_named(name) for name in (direction, f"right-{direction}")]
        _, tests = score_against_first(
            runs, snapshot_named("own"), ["R@1", "median rank", "mean rank"], rounds=2000
        )
        assert [test.test for test in tests] == expected
    preferred = tests[0].preference
    assert preferred is not None and preferred.worse == 0 < preferred.better
    # Of the 1,024 ways to exchange ten images two are as far apart; by captions p would be far smaller.
    assert tests[0].p == pytest.approx(2 / 1024, abs=0.003) == preferred.p


def test_a_split_is_a_pool_of_its_own(scores: np.ndarray) -> None:
    freeze_protocol(name="own", corpus="ten", protocol="any of five", subset=subset_named("ten", "test"))
    odd = np.arange(1, NUMBER, 2)
    part = Dense(scores[odd][:, np.isin(OWNERS, odd)])
    direct = both_directions(part, select("any of five", np.repeat(np.arange(len(odd)), 5)), MEASURES)
    for direction in DIRECTIONS:
        expected = {name: score.value for name, score in direct[direction].items()}
        assert figures(direction) == pytest.approx(expected)


@pytest.mark.parametrize("block", [1, 3, 200])
def test_folds_give_the_means_of_their_parts(
    scores: np.ndarray, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.comparison.ranked_runs._BLOCK", block)
    freeze_protocol(name="own", corpus="ten", protocol="any of five")
    direct = over_folds(Dense(scores), select("any of five", OWNERS), MEASURES, number=5)
    for direction in DIRECTIONS:
        assert figures(direction, "--folds", 5) == pytest.approx(direct[direction])


def test_folds_stand_beside_their_mean(scores: np.ndarray) -> None:
    freeze_protocol(name="own", corpus="ten", protocol="any of five")
    report = json.loads(output_of("score_run", "search", "--qrels", "own", "--folds", 2, "--json"))
    assert (report["queries"], report["missing"], report["folds"]) == (50, 0, 2)
    assert [m["measure"] for m in report["measures"]] == ["R@1", "R@5", "R@10", "median rank"]
    assert all(m["value"] == pytest.approx(np.mean(m["folds"])) for m in report["measures"])
    text = output_of("score_run", "search", "--qrels", "own", "--folds", 2)
    assert "qrels own version 1 (any of five)" in text
    assert "Means over 2 folds of the images." in text
    assert "measure      value  queries  fold 1  fold 2" in text
    assert "judged" not in text


def test_what_an_import_cut_off_is_not_guessed(scores: np.ndarray, tmp_path: Path) -> None:
    """Of the best 20 of 50 captions fewer than ten are a fold's; the ranks that are known are right."""
    images = [f"i{n}.jpg" for n in range(NUMBER)]
    captions = [f"i{n}.jpg#{k}" for n in range(NUMBER) for k in range(5)]
    untied = np.random.default_rng(5).permutation(scores.size).reshape(scores.shape) / scores.size
    untied[np.arange(NUMBER), np.arange(0, 5 * NUMBER, 5)] += 0.7
    file = matrix_file(tmp_path, "untied", untied, images, captions)
    import_run(RunImport(name="cut", corpus="ten", file=file, format="scores", depth=20), OperationContext())
    freeze_protocol(name="own", corpus="ten", protocol="any of five")
    with pytest.raises(
        CommandError, match="keeps the best 20 items .* R@10 needs 10: import .* with whole rankings"
    ):
        output_of("score_run", "cut", "--qrels", "own", "--measures", "R@1,R@10", "--folds", 5)
    direct = over_folds(Dense(untied), select("any of five", OWNERS), ["R@1", "median rank"], number=5)
    report = json.loads(
        output_of(
            "score_run", "cut", "--qrels", "own", "--measures", "R@1,median rank", "--folds", 5, "--json"
        )
    )
    assert [m["value"] for m in report["measures"]] == pytest.approx(list(direct["annotation"].values()))


def test_folds_that_are_not_equal_are_refused(scores: np.ndarray) -> None:
    freeze_protocol(name="own", corpus="ten", protocol="any of five")
    with pytest.raises(CommandError, match="10 images of qrels 'own version 1' cannot be cut into 3"):
        output_of("score_run", "search", "--qrels", "own", "--folds", 3)


def test_systems_are_compared_under_a_protocol(scores: np.ndarray, tmp_path: Path) -> None:
    import_run(
        RunImport(name="same", corpus="ten", file=tmp_path / "ten.npz", format="scores"), OperationContext()
    )
    freeze_protocol(name="own", corpus="ten", protocol="first caption")
    report = json.loads(output_of("compare_runs", "annotation", "same", "--qrels", "own", "--json"))
    assert [test["p"] for test in report["tests"]] == [1.0] * 4
