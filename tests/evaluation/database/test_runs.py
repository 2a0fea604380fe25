"""Runs in the database: rankings are preserved, ids must be the corpus's, and nothing is incomplete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from safetensors.numpy import save_file

from annotation.common.operations import OperationContext
from evaluation.models import Ranking, Run
from evaluation.selectors import names_of, rankings_of, run_named
from evaluation.services.runs.files import RunImport, import_run
from phrasebox.formats.trec import read_run
from phrasebox.scoring.ranking import positions
from tests.evaluation.database.conftest import output_of

pytestmark = pytest.mark.django_db

RUN = """a.jpg Q0 a.jpg#2 1 0.9 demo
a.jpg Q0 b.jpg#2 2 0.5 demo
a.jpg Q0 c.jpg#2 3 0.5 demo
b.jpg Q0 a.jpg#2 1 0.8 demo
b.jpg Q0 b.jpg#2 2 0.1 demo
"""
CAPTIONS = [f"{key}.jpg#{number}" for key in "abc" for number in range(3)]


@pytest.fixture
def trec(tmp_path: Path) -> Path:
    file = tmp_path / "demo.trec"
    file.write_text(RUN)
    return file


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    file = tmp_path / "scores.npz"
    matrix = np.random.default_rng(4).normal(size=(3, 9))
    np.savez(file, scores=matrix, images=np.array(["a.jpg", "b.jpg", "c.jpg"]), captions=np.array(CAPTIONS))
    return file


def test_a_trec_run_comes_back_in_its_order(corpus: str, trec: Path, tmp_path: Path) -> None:
    report = import_run(RunImport(name="demo", corpus=corpus, file=trec), OperationContext())
    assert (report.system, report.queries, report.entries, report.unchanged) == ("demo", 2, 5, False)
    output_of("export_run", "demo", "--out", tmp_path / "out.trec")
    ours, theirs = read_run(tmp_path / "out.trec"), read_run(trec)
    assert {q: items for q, (items, _) in ours.rankings.items()} == {
        q: items for q, (items, _) in theirs.rankings.items()
    }
    assert ours.tag == "demo"


def test_where_a_run_came_from_is_kept(corpus: str, trec: Path) -> None:
    report = import_run(
        RunImport(name="demo", corpus=corpus, file=trec, system="my system"), OperationContext()
    )
    run = run_named("demo")
    assert (run.source, run.format, run.system, run.digest) == (
        "demo.trec",
        "trec",
        "my system",
        report.digest,
    )
    assert len(run.source_digest) == 64


@pytest.mark.parametrize("direction", ["annotation", "search"])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_matrix_becomes_sorted_rankings(
    corpus: str, scores: Path, direction: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.services.runs.files._CHUNK", 2)
    import_run(
        RunImport(name="m", corpus=corpus, file=scores, format="scores", direction=direction, depth=depth),
        OperationContext(),
    )
    matrix = np.load(scores)["scores"]
    names = names_of(corpus)
    images, captions = (
        [names.image[f"{key}.jpg"] for key in "abc"],
        [names.caption[name] for name in CAPTIONS],
    )
    asks, ranked = (images, captions) if direction == "annotation" else (captions, images)
    matrix = matrix if direction == "annotation" else matrix.T
    rankings = list(rankings_of(run_named("m")))
    assert [query for query, _, _ in rankings] == asks
    for row, (_, items, values) in zip(matrix, rankings, strict=True):
        best = np.argsort(-row)[: depth or None]
        assert items.tolist() == [ranked[column] for column in best]
        assert values.tolist() == row[best].astype(np.float32).tolist()


def test_scores_that_single_precision_does_not_tell_apart_rank_as_they_were_given(
    corpus: str, tmp_path: Path
) -> None:
    """Imported, and ranked by a system of these scores; ties are those of the file alone."""
    rng = np.random.default_rng(1)
    matrix = -4096 - rng.permuted(np.tile(np.repeat(np.arange(6), [2, 1, 1, 3, 1, 1]), (3, 1)), axis=1) / 1e4
    assert len(np.unique(matrix.astype(np.float32))) < 6
    file = tmp_path / "scores.npz"
    np.savez(file, scores=matrix, images=np.array(["a.jpg", "b.jpg", "c.jpg"]), captions=np.array(CAPTIONS))
    output_of("import_run", "m", file, "--corpus", corpus, "--format", "scores", "--depth", 0)
    output_of("add_system", "kept", file, "--corpus", corpus, "--format", "scores")
    output_of("rank", "kept")
    names = names_of(corpus)
    columns = {names.caption[name]: column for column, name in enumerate(CAPTIONS)}
    for run in ("m", "kept-annotation"):
        rankings = list(rankings_of(run_named(run)))
        assert len(rankings) == 3
        for row, (_, items, values) in zip(matrix, rankings, strict=True):
            in_file_order = row[[columns[item] for item in items.tolist()]]
            np.testing.assert_array_equal(positions(values), positions(in_file_order))
            np.testing.assert_allclose(values, in_file_order, rtol=1e-6)


def test_a_file_of_two_runs_is_refused_with_its_line(corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "two.trec"
    file.write_text("a.jpg Q0 a.jpg#2 1 2 one\nb.jpg Q0 a.jpg#2 1 2 one\na.jpg Q0 b.jpg#2 2 1 two\n")
    with pytest.raises(CommandError, match="line 3: has the tag 'two', and line 1 has 'one'") as error:
        output_of("import_run", "demo", file, "--corpus", corpus)
    assert "\n" not in str(error.value) and not Run.objects.exists()


def test_the_same_run_again_changes_nothing(corpus: str, trec: Path) -> None:
    first = import_run(RunImport(name="demo", corpus=corpus, file=trec), OperationContext())
    again = import_run(RunImport(name="demo", corpus=corpus, file=trec), OperationContext())
    assert (again.unchanged, again.digest) == (True, first.digest)
    trec.write_text(RUN.replace("0.9", "0.95"))
    with pytest.raises(CommandError, match="already exists with other rankings"):
        output_of("import_run", "demo", trec, "--corpus", corpus)
    assert Ranking.objects.count() == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z.jpg Q0 a.jpg#2 1 1 demo", "names 'z.jpg' as a query, which is not one of the images"),
        ("c.jpg Q0 z.jpg#2 1 1 demo", "names 'z.jpg#2' for 'c.jpg', which is not one of the captions"),
        ("a Q0 a.jpg#2 1 1 demo", "'a' is a query twice, under two spellings"),
        ("a.jpg Q0 a#2 1 1 demo", "a ranking of 'a.jpg' contains an item twice, under two spellings"),
        ("c.jpg Q0 a.jpg#2 1 1e99 demo", "a score of 'c.jpg' is inf; expected finite numbers"),
        ("c.jpg Q0 a.jpg#2 1 demo", "line 6: has 5 columns"),
        ("c.jpg Q0 a.jpg#2 1 nan demo", "line 6: has the score 'nan'"),
        ("a.jpg Q0 a.jpg#2 1 1 demo", "line 6: 'a.jpg#2' is already ranked for 'a.jpg'"),
    ],
)
def test_a_bad_line_is_named_and_leaves_nothing(
    corpus: str, trec: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setattr("evaluation.services.runs.files._CHUNK", 1)
    trec.write_text(RUN + line + "\n")
    with np.errstate(over="ignore"), pytest.raises(CommandError, match=message) as error:
        output_of("import_run", "demo", trec, "--corpus", corpus)
    assert "\n" not in str(error.value)
    assert not Run.objects.exists()
    assert not Ranking.objects.exists()


@pytest.fixture
def embedded() -> tuple[np.ndarray, np.ndarray]:
    """Vectors of the three images and of their nine captions."""
    rng = np.random.default_rng(6)
    return rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(9, 4)).astype(np.float32)


def embedding_files(folder: Path, kind: str, embedded: tuple[np.ndarray, np.ndarray]) -> list[Any]:
    """Write the same vectors to one file, or one per side; return the arguments that name them."""
    images, captions = embedded
    names = [f"{key}.jpg" for key in "abc"]
    if kind == "npz":
        np.savez(
            folder / "both.npz",
            images=images,
            captions=captions,
            image_ids=np.array(names),
            caption_ids=np.array(CAPTIONS),
        )
        return [folder / "both.npz"]
    if kind == "safetensors":
        save_file(
            {"images": images, "captions": captions},
            folder / "both.safetensors",
            metadata={"image_ids": json.dumps(names), "caption_ids": json.dumps(CAPTIONS)},
        )
        return [folder / "both.safetensors"]
    for side, vectors, value in (("images", images, names), ("captions", captions, CAPTIONS)):
        np.save(folder / f"{side}.npy", vectors)
        (folder / f"{side}.ids.txt").write_text("".join(f"{name}\n" for name in value))
    return [folder / "images.npy", "--captions", folder / "captions.npy"]


@pytest.mark.parametrize("kind", ["npz", "safetensors", "npy"])
@pytest.mark.parametrize("direction", ["annotation", "search"])
@pytest.mark.parametrize("cosine", [True, False])
def test_embeddings_rank_as_their_products_do(
    corpus: str,
    tmp_path: Path,
    embedded: tuple[np.ndarray, np.ndarray],
    kind: str,
    direction: str,
    cosine: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phrasebox.scoring.tiles._PRODUCT_ROWS", 2)
    monkeypatch.setattr("phrasebox.scoring.tiles._PRODUCT_COLUMNS", 2)
    files = embedding_files(tmp_path, kind, embedded)
    arguments = ["--corpus", corpus, "--format", "embeddings", "--direction", direction, "--depth", 3]
    output_of("import_run", "e", *files, *arguments, *([] if cosine else ["--inner-products"]))
    images, captions = (
        side / (np.linalg.norm(side, axis=1, keepdims=True) if cosine else 1) for side in embedded
    )
    scores = images @ captions.T
    names = names_of(corpus)
    ranked = [names.caption[name] for name in CAPTIONS]
    if direction == "search":
        scores, ranked = scores.T, [names.image[f"{key}.jpg"] for key in "abc"]
    rankings = list(rankings_of(run_named("e")))
    assert len(rankings) == len(scores)
    for row, (_, items, values) in zip(scores, rankings, strict=True):
        best = np.argsort(-row)[:3]
        assert items.tolist() == [ranked[column] for column in best]
        assert values == pytest.approx(row[best], rel=1e-5, abs=1e-6)
    run = run_named("e")
    assert (run.format, run.depth) == ("embeddings", 3)
    assert run.source.endswith(", inner products") is not cosine
    assert all(str(file) in run.source for file in files if isinstance(file, Path))


def test_vectors_of_zeros_are_counted_where_embeddings_are_imported(
    corpus: str, tmp_path: Path, embedded: tuple[np.ndarray, np.ndarray]
) -> None:
    images, captions = (side.astype(np.float32) for side in embedded)
    captions[[1, 3]] = 0
    ask = [
        *embedding_files(tmp_path, "npz", (images, captions)),
        "--corpus",
        corpus,
        "--format",
        "embeddings",
    ]
    named = f"({CAPTIONS[1]!r}, {CAPTIONS[3]!r})"
    zeros = f"2 captions have a vector of zeros, which scores 0 for everything {named}"
    assert f"\n{zeros}\n" in output_of("import_run", "e", *ask)
    assert json.loads(output_of("import_run", "e", *ask, "--json"))["remarks"] == [zeros]
    # Vectors whose length exceeds single precision are still ranked by their direction.
    images *= np.float32(1e25)
    ask = [
        *embedding_files(tmp_path, "npz", (images, captions)),
        "--corpus",
        corpus,
        "--format",
        "embeddings",
    ]
    output_of("import_run", "long", *ask)
    (first, long) = (list(rankings_of(run_named(name))) for name in ("e", "long"))
    for (_, items, scores), (_, others, theirs) in zip(first, long, strict=True):
        assert items.tolist() == others.tolist()
        assert theirs == pytest.approx(scores, abs=1e-6)
    captions[0] *= np.float32(1e25)
    ask = [
        *embedding_files(tmp_path, "npz", (images, captions)),
        "--corpus",
        corpus,
        "--format",
        "embeddings",
    ]
    with (
        pytest.raises(CommandError, match="expected finite numbers of single precision"),
        np.errstate(all="ignore"),
    ):
        output_of("import_run", "over", *ask, "--inner-products")
    assert not Run.objects.filter(name="over").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "embeddings"],
            "images.npy: does not contain both images and captions; .* a second file with the captions",
        ),
        (
            ["--format", "scores", "--captions", "images.npy"],
            "--captions: This is only possible together with embeddings.",
        ),
        (["--inner-products"], "--inner-products: This is only possible together with embeddings."),
        (["--format", "embeddings", "--captions", "none.npy"], "none.npy: no such file"),
        (["--format", "embeddings", "--captions", "wide.npy"], "captions have 5 dimensions, images 4"),
        (["--format", "embeddings", "--captions", "nan.npy"], "embedding of 'a.jpg#1' is not finite"),
        (["--format", "embeddings", "--captions", "pickled.npy"], "pickled.npy: .*pickle"),
        (["--format", "embeddings", "--captions", "twice.npy"], "id 'a.jpg#0' occurs at 0 and 1"),
        (["--format", "embeddings", "--captions", "strange.npy"], "not one of the captions"),
    ],
)
def test_bad_embeddings_are_one_line(
    corpus: str,
    tmp_path: Path,
    embedded: tuple[np.ndarray, np.ndarray],
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    embedding_files(tmp_path, "npy", embedded)
    for name, vectors, ids in (
        ("wide", np.ones((2, 5)), CAPTIONS[:2]),
        ("nan", np.array([[1.0, 1, 1, 1], [1, 1, np.nan, 1]]), CAPTIONS[:2]),
        ("pickled", np.array([[None]]), CAPTIONS[:1]),
        ("twice", np.ones((2, 4)), CAPTIONS[:1] * 2),
        ("strange", np.ones((2, 4)), ["a.jpg#0", "z.jpg#0"]),
    ):
        np.save(f"{name}.npy", vectors)
        Path(f"{name}.ids.txt").write_text("".join(f"{own_id}\n" for own_id in ids))
    with pytest.raises(CommandError, match=message) as error:
        output_of("import_run", "e", "images.npy", "--corpus", corpus, *arguments)
    assert "\n" not in str(error.value)
    assert not Run.objects.exists()


@pytest.mark.parametrize("direction", ["annotation", "search"])
def test_nan_in_a_matrix_is_named_by_its_ids(
    corpus: str, scores: Path, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.services.runs.files._CHUNK", 2)
    held = dict(np.load(scores))
    held["scores"][2, 4] = np.nan
    np.savez(scores, **held)
    with pytest.raises(CommandError, match=r"the score of 'c\.jpg' with 'b\.jpg#1' is NaN"):
        output_of(
            "import_run", "m", scores, "--corpus", corpus, "--format", "scores", "--direction", direction
        )
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "xml"], "--format: Expected one of: 'trec', 'scores' or 'embeddings'."),
        (["--direction", "back"], "--direction: Expected one of: 'annotation' or 'search'."),
        (["--direction", "search"], "names 'a.jpg' as a query, which is not one of the captions"),
        (["--depth", "-1"], "--depth: Expected 0 or more."),
    ],
)
def test_bad_arguments_are_one_line(corpus: str, trec: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as error:
        output_of("import_run", "demo", trec, "--corpus", corpus, *arguments)
    assert "\n" not in str(error.value)


def test_export_overwrites_nothing(corpus: str, trec: Path) -> None:
    import_run(RunImport(name="demo", corpus=corpus, file=trec), OperationContext())
    with pytest.raises(CommandError, match="already exists"):
        output_of("export_run", "demo", "--out", trec)
    assert trec.read_text() == RUN
    with pytest.raises(CommandError, match="There is no run “other” here; known: demo."):
        output_of("export_run", "other", "--out", trec.with_name("other.trec"))
