"""The original pairs as default qrels: figures by brute force, their queries and their pool."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.models import Corpus
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison.original_pairs import original_pairs
from evaluation.comparison.scoring import score
from evaluation.comparison.subsets import subset_named
from evaluation.models import QrelsSnapshot
from evaluation.selectors import CANDIDATES, run_named
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file, output_of

pytestmark = pytest.mark.django_db

IMAGES, EACH = 6, 2
NAMES = [f"i{n}.jpg" for n in range(IMAGES)]
CAPTIONS = [f"{name}#{number}" for name in NAMES for number in range(EACH)]
OWNER = np.repeat(np.arange(IMAGES), EACH)


@pytest.fixture
def scores(db: None, tmp_path: Path) -> np.ndarray:
    """Scores of images with all captions, imported as the runs `annotation` and `search`."""
    records = [
        ImageRecord(
            id=f"i{n}",
            filename=f"i{n}.jpg",
            split=("test", "val")[n % 2],
            captions=tuple(CaptionRecord(f"caption {k} of {n}") for k in range(EACH)),
        )
        for n in range(IMAGES)
    ]
    import_records(name="pairs", records=records, format="jsonl", source="memory")
    drawn = np.random.default_rng(3).normal(size=(IMAGES, len(CAPTIONS))) + 0.5 * (
        OWNER == np.arange(IMAGES)[:, None]
    )
    add(tmp_path, "annotation", drawn, NAMES, CAPTIONS)
    add(tmp_path, "search", drawn, NAMES, CAPTIONS, direction="search")
    return drawn


def add(
    folder: Path,
    name: str,
    scores: np.ndarray,
    images: list[str],
    captions: list[str],
    direction: str = "annotation",
) -> None:
    file = matrix_file(folder, name, scores, images, captions)
    import_run(
        RunImport(name=name, corpus="pairs", file=file, format="scores", direction=direction),
        OperationContext(),
    )


def ranks_of_originals(scores: np.ndarray, original: np.ndarray) -> np.ndarray:
    """Return the rank of each row's best original."""
    best = np.where(original, scores, -np.inf).max(axis=1)
    return 1 + (scores > best[:, None]).sum(axis=1)


def test_figures_are_those_of_an_image_s_own_captions(scores: np.ndarray) -> None:
    own = np.arange(IMAGES)[:, None] == OWNER
    for name, matrix, original in (("annotation", scores, own), ("search", scores.T, own.T)):
        ranks = ranks_of_originals(matrix, original)
        report = json.loads(output_of("score_run", name, "--measures", "R@1,R@5,median rank", "--json"))
        values = {measure["measure"]: measure["value"] for measure in report["measures"]}
        assert values == {
            "R@1": pytest.approx((ranks == 1).mean()),
            "R@5": pytest.approx((ranks <= 5).mean()),
            "median rank": np.median(ranks),
        }
        assert (report["qrels"], report["version"]) == ("original pairs", None)
        basis, items = report["basis"], "12 captions" if name == "annotation" else "6 images"
        assert (basis["counted"], basis["pool"]) == (len(ranks), f"{items} of corpus pairs")
        assert basis["protocol"] == "original pairs"
    assert not QrelsSnapshot.objects.exists()
    text = output_of("score_run", "search")
    assert "12 queries of original pairs" in text and "at best" not in text


def test_in_a_split_its_images_and_captions_are_queries_and_items(scores: np.ndarray) -> None:
    chosen, subset = np.arange(0, IMAGES, 2), subset_named("pairs", "test")
    inside = np.isin(OWNER, chosen)
    own = chosen[:, None] == OWNER[inside]
    runs = {name: run_named(name) for name in ("annotation", "search")}
    part = scores[chosen][:, inside]
    for name, matrix, original in (("annotation", part, own), ("search", part.T, own.T)):
        scored = score(runs[name], original_pairs([runs[name]], subset), subset=subset)
        assert scored.scores["R@1"].value == (ranks_of_originals(matrix, original) == 1).mean()
        assert (len(scored.queries), len(scored.candidates.items)) == matrix.shape


def test_a_run_that_lacks_an_image_of_the_split_is_refused(scores: np.ndarray, tmp_path: Path) -> None:
    add(tmp_path, "part", scores[:2], NAMES[:2], CAPTIONS)
    assert "2 queries of original pairs" in output_of("score_run", "part")
    with pytest.raises(CommandError, match=r"2 of 3 queries .* have no ranking in run 'part'"):
        output_of("score_run", "part", "--split", "test")
    with pytest.raises(CommandError, match=r"4 of 6 queries .* have no ranking in run 'part'"):
        output_of("compare_runs", "annotation", "part")
    both = json.loads(output_of("compare_runs", "annotation", "part", "--missing", "leave-out", "--json"))
    assert both["queries"] == 2 and both["total_queries"] == 6


def test_a_comparison_has_an_interval_for_each_figure(scores: np.ndarray, tmp_path: Path) -> None:
    add(tmp_path, "turned", -scores, NAMES, CAPTIONS)
    report = json.loads(output_of("compare_runs", "annotation", "turned", "--json"))
    for system in report["systems"]:
        for measure, (low, high) in system["intervals"].items():
            assert low <= system["figures"][measure] <= high
    assert "Intervals of 95%." in output_of("compare_runs", "annotation", "turned")
    none = json.loads(output_of("compare_runs", "annotation", "turned", "--resamples", 0, "--json"))
    assert none["systems"][0]["intervals"] == dict.fromkeys(none["systems"][0]["figures"])


def test_a_corpus_of_candidates_has_no_original_pairs(scores: np.ndarray) -> None:
    Corpus.objects.update(format=CANDIDATES)
    with pytest.raises(CommandError, match="no original pairs; name qrels"):
        output_of("score_run", "annotation")
