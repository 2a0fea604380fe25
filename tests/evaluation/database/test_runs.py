"""Runs in the database: rankings come back, ids must be the corpus's, and nothing half-way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from evaluation.formats.trec import read_run
from evaluation.models import Ranking, Run
from evaluation.selectors import names_of, rankings_of, run_named
from evaluation.services.runs import import_run
from tests.evaluation.database.conftest import said

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
    report = import_run(name="demo", corpus=corpus, path=trec)
    assert (report.system, report.queries, report.entries, report.unchanged) == ("demo", 2, 5, False)
    said("export_run", "demo", "--out", tmp_path / "out.trec")
    ours, theirs = read_run(tmp_path / "out.trec"), read_run(trec)
    assert {q: items for q, (items, _) in ours.rankings.items()} == {
        q: items for q, (items, _) in theirs.rankings.items()
    }
    assert ours.tag == "demo"


def test_where_a_run_came_from_is_kept(corpus: str, trec: Path) -> None:
    report = import_run(name="demo", corpus=corpus, path=trec, system="my system")
    run = run_named("demo")
    assert (run.source, run.format, run.system, run.digest) == (str(trec), "trec", "my system", report.digest)
    assert len(run.source_digest) == 64


@pytest.mark.parametrize("direction", ["annotation", "search"])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_matrix_becomes_sorted_rankings(
    corpus: str, scores: Path, direction: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.services.runs._CHUNK", 2)
    import_run(name="m", corpus=corpus, path=scores, format="scores", direction=direction, depth=depth)
    matrix = np.load(scores)["scores"]
    names = names_of(corpus)
    images, captions = (
        [names.image[f"{key}.jpg"] for key in "abc"],
        [names.caption[name] for name in CAPTIONS],
    )
    asks, ranked = (images, captions) if direction == "annotation" else (captions, images)
    matrix = matrix if direction == "annotation" else matrix.T
    found = list(rankings_of(run_named("m")))
    assert [query for query, _, _ in found] == asks
    for row, (_, items, values) in zip(matrix, found, strict=True):
        best = np.argsort(-row)[: depth or None]
        assert items.tolist() == [ranked[column] for column in best]
        assert values.tolist() == row[best].astype(np.float32).tolist()


def test_the_same_run_again_changes_nothing(corpus: str, trec: Path) -> None:
    first = import_run(name="demo", corpus=corpus, path=trec)
    again = import_run(name="demo", corpus=corpus, path=trec)
    assert (again.unchanged, again.digest) == (True, first.digest)
    trec.write_text(RUN.replace("0.9", "0.95"))
    with pytest.raises(CommandError, match="stands already with other rankings"):
        said("import_run", "demo", trec, "--corpus", corpus)
    assert Ranking.objects.count() == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z.jpg Q0 a.jpg#2 1 1 demo", "names 'z.jpg' as a query, no image of corpus 'small'"),
        ("c.jpg Q0 z.jpg#2 1 1 demo", "names 'z.jpg#2' for 'c.jpg', no caption of corpus 'small'"),
        ("a Q0 a.jpg#2 1 1 demo", "'a' asks twice, under two spellings"),
        ("a.jpg Q0 a#2 1 1 demo", "a ranking of 'a.jpg' holds an item under two spellings"),
        ("c.jpg Q0 a.jpg#2 1 1e99 demo", "a score of 'c.jpg' is inf; expected finite numbers"),
        ("c.jpg Q0 a.jpg#2 1 demo", "line 6: has 5 columns"),
        ("c.jpg Q0 a.jpg#2 1 nan demo", "line 6: has the score 'nan'"),
        ("a.jpg Q0 a.jpg#2 1 1 demo", "line 6: 'a.jpg#2' is ranked for 'a.jpg' already"),
    ],
)
def test_a_bad_line_is_named_and_leaves_nothing(
    corpus: str, trec: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setattr("evaluation.services.runs._CHUNK", 1)
    trec.write_text(RUN + line + "\n")
    with np.errstate(over="ignore"), pytest.raises(CommandError, match=message) as error:
        said("import_run", "demo", trec, "--corpus", corpus)
    assert "\n" not in str(error.value)
    assert not Run.objects.exists()
    assert not Ranking.objects.exists()


@pytest.mark.parametrize("direction", ["annotation", "search"])
def test_nan_in_a_matrix_is_named_by_its_ids(
    corpus: str, scores: Path, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.services.runs._CHUNK", 2)
    held = dict(np.load(scores))
    held["scores"][2, 4] = np.nan
    np.savez(scores, **held)
    with pytest.raises(CommandError, match=r"the score of 'c\.jpg' with 'b\.jpg#1' is NaN"):
        said("import_run", "m", scores, "--corpus", corpus, "--format", "scores", "--direction", direction)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "xml"], "unknown run format 'xml'; known: trec, scores"),
        (["--direction", "back"], "unknown direction 'back'; known: annotation, search"),
        (["--direction", "search"], "names 'a.jpg' as a query, no caption"),
        (["--depth", "-1"], "depth -1: expected 1 or more"),
    ],
)
def test_bad_arguments_are_one_line(corpus: str, trec: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as error:
        said("import_run", "demo", trec, "--corpus", corpus, *arguments)
    assert "\n" not in str(error.value)


def test_export_overwrites_nothing(corpus: str, trec: Path) -> None:
    import_run(name="demo", corpus=corpus, path=trec)
    with pytest.raises(CommandError, match="stands already"):
        said("export_run", "demo", "--out", trec)
    assert trec.read_text() == RUN
    with pytest.raises(CommandError, match="unknown run 'other'; known: demo"):
        said("export_run", "other", "--out", trec.with_name("other.trec"))
