"""R@k and ranks use the originals of the corpus, whether judged or not: compared with brute force."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison import ranked_runs
from evaluation.comparison.inspection import values_of
from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.scoring import Scored, score, score_against_first, score_folds
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.models import QrelsRow, QrelsSnapshot, Run
from evaluation.selectors import names_of, run_named, snapshot_named
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.judgments.qrels_files import QrelsImport, import_qrels
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.runs.files import RunImport, import_run
from phrasebox.relevance.scales import VOTE_SCALE
from tests.evaluation.database.conftest import matrix_file, output_of
from tests.sizes import by_default

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db

RANKS = ("R@1", "R@3", "median rank", "mean rank")
OF_GRADES = ("S@1", "S@3", "R-precision", "MAP", "nDCG@10", "bpref", "infAP", "judged@3")
IMAGES = 8


@dataclass(frozen=True)
class Ranking:
    """Scores of a run, shape (images, captions), and the names of its rows and columns."""

    name: str
    scores: np.ndarray
    images: list[str]
    captions: list[str]


def a_corpus(captions: list[int]) -> str:
    """Import a corpus with these numbers of captions per image; splits alternate."""
    records = [
        ImageRecord(
            id=f"i{n}",
            filename=f"i{n}.jpg",
            split=("test", "val")[n % 2],
            captions=tuple(CaptionRecord(f"caption {k} of {n}") for k in range(number)),
        )
        for n, number in enumerate(captions)
    ]
    import_records(name="some", records=records, format="jsonl", source="memory")
    return "some"


def a_run(folder: Path, ranking: Ranking, direction: str) -> Run:
    file = matrix_file(folder, ranking.name, ranking.scores, ranking.images, ranking.captions)
    name = f"{ranking.name}-{direction}"
    import_run(
        RunImport(name=name, corpus="some", file=file, format="scores", direction=direction, depth=0),
        OperationContext(),
    )
    return run_named(name)


def judge(folder: Path, rows: list[tuple[str, str, int]], name: str = "table") -> None:
    lines = "".join(f"{image},{caption},{grade}\n" for image, caption, grade in rows)
    (folder / f"{name}.csv").write_text(f"image,caption,grade\n{lines}")
    file = folder / f"{name}.csv"
    import_judgments(
        JudgmentsImport(corpus="some", file=file, format="table", name=name, scale=VOTE_SCALE.name),
        OperationContext(),
    )


def owner(caption: str) -> str:
    return caption.partition("#")[0]


def best_ranks(ranking: Ranking, direction: str, queries: set[str], among: set[str]) -> dict[str, float]:
    """Return the rank of each query's best original, counted directly; infinity if none is among the items.

    Tied items that are not originals of the query count half.
    """
    images, captions, scores = ranking.images, ranking.captions, ranking.scores
    if direction == Run.SEARCH:
        images, captions, scores = captions, images, scores.T
    result = {}
    for row, query in enumerate(images):
        if query not in queries:
            continue
        there = [(scores[row, at], item) for at, item in enumerate(captions) if owner(item) in among]
        values = [value for value, item in there if owner(item) == owner(query)]
        others = [value for value, item in there if owner(item) != owner(query)]
        if values:
            ahead = sum(value > max(values) for value in others)
            result[query] = 1 + ahead + sum(value == max(values) for value in others) / 2
        else:
            result[query] = np.inf
    return result


def check_ranks(scored: Scored, direction: str, expected: dict[str, float]) -> None:
    """Check that R@k and ranks follow from these ranks, per query and in total."""
    names = names_of("some")
    called = names.image_name if direction == Run.ANNOTATION else names.caption_name
    ranks = dict(
        zip(
            [called[query] for query in scored.queries.tolist()],
            scored.scores["median rank"].per_query.tolist(),
            strict=True,
        )
    )
    assert ranks == expected
    values = np.array(list(expected.values()))
    assert {name: item.queries for name, item in scored.scores.items() if name in RANKS} == dict.fromkeys(
        RANKS, len(values)
    )
    assert scored.scores["R@1"].value == pytest.approx((values <= 1).mean())
    assert scored.scores["R@3"].value == pytest.approx((values <= 3).mean())
    assert scored.scores["median rank"].value == pytest.approx(np.median(values))
    assert scored.scores["mean rank"].value == pytest.approx(np.mean(values))


def requested_by(snapshot: QrelsSnapshot, direction: str, inside: set[str]) -> set[str]:
    """Return the queries of qrels: those with a row, of the participating images.

    A file lists its queries; of judgments, a pair counts that is inside.
    """
    names = names_of("some")
    result = set()
    for image, caption in QrelsRow.objects.filter(snapshot=snapshot).values_list("image_id", "caption_id"):
        pair = names.image_name[image or 0], names.caption_name[caption]
        query = pair[direction == Run.SEARCH]
        if inside.issuperset(map(owner, [query] if snapshot.source else pair)):
            result.add(query)
    return result


@pytest.fixture
def two(tmp_path: Path) -> Ranking:
    """Two images with a caption each: the first's own is judged, the second's is not, and c0 comes first."""
    a_corpus([1, 1])
    captions = ["i0.jpg#0", "i1.jpg#0"]
    judge(tmp_path, [("i0.jpg", captions[0], 1), ("i1.jpg", captions[0], 0)])
    return Ranking("two", np.array([[2.0, 1.0], [2.0, 1.0]]), ["i0.jpg", "i1.jpg"], captions)


def test_an_original_that_nobody_judged_is_looked_for(two: Ranking, tmp_path: Path) -> None:
    """By hand: i0 finds its caption first, and i1 second."""
    run = a_run(tmp_path, two, Run.ANNOTATION)
    freeze_qrels(name="bare", corpus="some", judgments="table", relevance=AS_JUDGED)
    (tmp_path / "q.trec").write_text("i0.jpg 0 i0.jpg#0 1\ni1.jpg 0 i0.jpg#0 0\n")
    import_qrels(QrelsImport(name="given", corpus="some", file=tmp_path / "q.trec"), OperationContext())
    for name in ("bare", "given"):
        scored = score(run, snapshot_named(name), [*RANKS, "S@1", "judged@1"])
        assert (scored.scores["R@1"].value, scored.scores["R@1"].queries) == (0.5, 2)
        assert scored.scores["median rank"].value == scored.scores["mean rank"].value == 1.5
        # Grades are unchanged: i1 has nothing relevant, and its own caption is not judged.
        assert (scored.scores["S@1"].value, scored.scores["S@1"].queries) == (0.5, 2)
        assert (scored.scores["judged@1"].value, scored.without_relevant) == (1, 1)
        assert scored.items == 1, "how many items the qrels know"


def test_every_reader_tells_the_same(two: Ranking, tmp_path: Path) -> None:
    a_run(tmp_path, two, Run.ANNOTATION)
    turned = Ranking("turned", -two.scores, two.images, two.captions)
    a_run(tmp_path, turned, Run.ANNOTATION)
    freeze_qrels(name="bare", corpus="some", judgments="table", relevance=AS_JUDGED)
    report = json.loads(
        output_of("score_run", "two-annotation", "--qrels", "bare", "--measures", "R@1", "--json")
    )
    assert [(test["value"], test["queries"]) for test in report["measures"]] == [(0.5, 2)]
    runs = [run_named("two-annotation"), run_named("turned-annotation")]
    result, tests = score_against_first(runs, snapshot_named("bare"), ["R@1", "mean rank"], rounds=20)
    assert [test.scores["R@1"].per_query.tolist() for test in result] == [[1, 0], [0, 1]]
    preferred = [(test.preference.better, test.preference.worse) for test in tests if test.preference]
    assert preferred == [(1, 1), (1, 1)], "both queries are paired"
    folds = score_folds(runs[0], snapshot_named("bare"), 2, ["R@1"])
    assert [test.scores["R@1"].value for test in folds] == [1, 1], "each image among itself alone"
    assert set(values_of(runs[0], snapshot_named("bare"), "R@1").values()) == {1.0, 0.0}


def test_candidates_to_be_judged_are_nobodys_originals(two: Ranking, tmp_path: Path) -> None:
    run = a_run(tmp_path, two, Run.ANNOTATION)
    freeze_qrels(name="bare", corpus="some", judgments="table", relevance=AS_JUDGED)
    run.corpus.format = "candidates"
    run.corpus.save()
    with pytest.raises(CommandError, match="no judgment is marked as original"):
        output_of("score_run", run.name, "--qrels", "bare", "--measures", "R@1")


@pytest.mark.parametrize("seed", by_default(6, range(12)))
def test_figures_are_those_of_brute_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Sparse judgments, and as imported: each query counts once, with the best of its own items.

    What the grades alone say is the same as where originals without a row were not there at all.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, 4, IMAGES).tolist()
    a_corpus(numbers)
    images = [f"i{n}.jpg" for n in range(IMAGES)]
    captions = [f"{image}#{k}" for image, number in zip(images, numbers, strict=True) for k in range(number)]
    pairs = [(image, caption) for image in images for caption in captions]
    chosen = rng.choice(len(pairs), len(pairs) // 6, replace=False).tolist()
    judged = [(*pairs[at], int(rng.integers(2))) for at in sorted(chosen)]
    judge(tmp_path, judged)
    # A run may contain only some images and captions, and have ties.
    known = sorted(rng.choice(IMAGES, 6, replace=False).tolist()) if seed % 3 == 0 else range(IMAGES)
    ours = [images[n] for n in known]
    theirs = [caption for caption in captions if seed % 4 or rng.random() < 0.8]
    scores = rng.integers(0, 5 if seed % 2 else 1000, (len(ours), len(theirs))).astype(float)
    ranking = Ranking("random", scores, ours, theirs)
    subset: Subset | None = subset_named("some", "test") if seed % 5 == 0 else None
    inside = {image for n, image in enumerate(images) if subset is None or n % 2 == 0}
    freeze_qrels(name="bare", corpus="some", judgments="table", relevance=AS_JUDGED)
    freeze_qrels(name="with", corpus="some", judgments="table")
    for direction in (Run.ANNOTATION, Run.SEARCH):
        run = a_run(tmp_path, ranking, direction)
        side = ("image", "caption")[direction == Run.SEARCH]
        lines = [
            f"{query} 0 {item} {grade}\n"
            for pair, grade in ((row[:2], row[2]) for row in judged)
            for query, item in [pair if side == "image" else pair[::-1]]
        ]
        (tmp_path / f"{side}.trec").write_text("".join(lines))
        import_qrels(
            QrelsImport(name=side, corpus="some", file=tmp_path / f"{side}.trec", asks=side),
            OperationContext(),
        )
        for name in ("bare", "with", side):
            snapshot = snapshot_named(name)
            scored = score(run, snapshot, [*RANKS, *OF_GRADES], subset=subset, missing=LEAVE_OUT)
            requested = requested_by(snapshot, direction, inside)
            check_ranks(scored, direction, best_ranks(ranking, direction, requested, inside))
            reported = of_grades(scored)
            with monkeypatch.context() as without:
                without.setattr(
                    ranked_runs, "_originals_without_a_row", lambda *_: np.empty((0, 2), dtype=np.int64)
                )
                assert reported == pytest.approx(
                    of_grades(score(run, snapshot, OF_GRADES, subset=subset, missing=LEAVE_OUT)), nan_ok=True
                )


def of_grades(scored: Scored) -> dict[str, Any]:
    values: dict[str, Any] = {"items": scored.items, "candidates": len(scored.candidates.items)}
    for name in OF_GRADES:
        item = scored.scores[name]
        values[name], values[f"{name} at best"] = item.value, item.optimistic
        values[f"{name} queries"], values[f"{name} judged"] = item.queries, scored.judged[name][1]
    return values
