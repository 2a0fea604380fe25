"""The queries of figures: those that were asked, whatever the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from evaluation.comparison.ranked_runs import pool_of
from evaluation.comparison.scoring import score
from evaluation.models import Batch, QrelsSnapshot, Run
from evaluation.pair_tasks import pair_tasks
from evaluation.selectors import names_of, run_named, snapshot_named
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import (
    JudgmentsImport,
    JudgmentsTarget,
    import_judgments,
    store_judgments,
)
from evaluation.services.judgments.qrels_files import QrelsImport, import_qrels
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.runs.files import RunImport, import_run
from phrasebox.relevance.grades import JudgedPair
from tests.evaluation.database.conftest import matrix_file, output_of
from tests.factories import a_corpus, an_image

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db

IMAGES, CAPTIONS = 7, 2


def a_world() -> list[str]:
    """Import images of two captions each, which share words; return their names."""
    images = [
        an_image(f"i{n}", *(f"thing{n // 2} act{(n + k) % 3} ." for k in range(CAPTIONS)), layered=False)
        for n in range(IMAGES)
    ]
    a_corpus("few", images)
    return [f"i{n}.jpg" for n in range(IMAGES)]


def some_runs(folder: Path, rng: np.random.Generator, images: list[str]) -> list[str]:
    """Import runs of both directions, each over its own images and captions."""
    captions = [f"{image}#{k}" for image in images for k in range(CAPTIONS)]
    names = []
    for number, direction in enumerate((Run.ANNOTATION, Run.ANNOTATION, Run.SEARCH)):
        ours = sorted(rng.choice(images, int(rng.integers(2, IMAGES + 1)), replace=False).tolist())
        theirs = sorted(rng.choice(captions, int(rng.integers(3, len(captions) + 1)), replace=False).tolist())
        scores = rng.random((len(ours), len(theirs)))
        values = [[image == caption.partition("#")[0] for caption in theirs] for image in ours]
        scores += np.array(values) * rng.choice([0.0, 2.0])  # some rank all originals first
        name = f"run{number}"
        file = matrix_file(folder, name, scores, ours, theirs)
        import_run(
            RunImport(name=name, corpus="few", file=file, format="scores", direction=direction),
            OperationContext(),
        )
        names.append(name)
    return names


def judge(batch: Batch, pairs: list[JudgedPair], name: str) -> str:
    """Store answers as if collected from a batch."""
    index = JudgmentsTarget(
        corpus="few",
        name=name,
        format=f"batch-{batch.campaign.tasks}",
        source=f"batch {batch.name}",
        scale=pair_tasks(batch.campaign.tasks).scale,
    )
    return store_judgments(pairs, index).judgments


def queries_of(name: str, qrels: str) -> list[int]:
    """Return the queries of qrels in the direction of a run."""
    return pool_of(run_named(name), snapshot_named(qrels)).queries.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_queries_of_a_batch_do_not_depend_on_the_answers(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = some_runs(tmp_path, rng, a_world())
    threshold = None if seed % 2 else 0.25
    request = BatchRequest(corpus="few", runs=runs, depth=int(rng.integers(1, 4)), threshold=threshold)
    planned = plan(request)
    batch = launch(planned, "asked").batch
    names = names_of("few")
    ids = list(zip(*(part.tolist() for part in planned.pooled.ids(planned.selected)), strict=True))
    judged_pairs = [JudgedPair(names.image_name[i], names.caption_name[c], (0.0,) * 3) for i, c in ids]
    some = rng.permutation(len(judged_pairs))[: int(rng.integers(1, len(judged_pairs) + 1))].tolist()
    answers = {
        "no": judged_pairs,
        "yes": [replace(pair, grades=(1.0,) * 3) for pair in judged_pairs],
        "one": judged_pairs[:1],
        "some": [replace(judged_pairs[n], grades=(float(rng.integers(2)),)) for n in sorted(some)],
    }
    for number, (name, pairs) in enumerate(answers.items()):
        judgments = judge(batch, pairs, name)
        freeze_qrels(
            name=name,
            corpus="few",
            judgments=judgments,
            relevance=RelevanceChoice(originals=(number + seed) % 2 == 1),
        )
    for direction in (Run.ANNOTATION, Run.SEARCH):
        items = [run_named(name) for name in runs if run_named(name).direction == direction]
        column = "image" if direction == Run.ANNOTATION else "caption"
        ranked = sorted({query for run in items for query in run.rankings.values_list(column, flat=True)})
        for name in answers:
            assert queries_of(items[0].name, name) == ranked


def test_what_a_batch_lacks_is_said_with_every_figure(tmp_path: Path) -> None:
    """Half of the pairs are answered: the queries stay, and commands say how much was judged."""
    runs = some_runs(tmp_path, np.random.default_rng(3), a_world())
    planned = plan(BatchRequest(corpus="few", runs=runs, depth=3, threshold=0, judges=1))
    batch = launch(planned, "half").batch
    names = names_of("few")
    ids = list(zip(*(part.tolist() for part in planned.pooled.ids(planned.selected)), strict=True))
    pairs = [JudgedPair(names.image_name[i], names.caption_name[c], (0.0,)) for i, c in ids]
    judge(batch, pairs[: len(pairs) // 2], "half")
    qrels = freeze_qrels(name="half", corpus="few", judgments="half", relevance=AS_JUDGED)
    assert (qrels.pairs_selected, qrels.pairs_judged) == (len(pairs), len(pairs) // 2)
    scoring = ("score_run", runs[0], "--qrels", "half", "--measures", "S@1", "--missing", "leave-out")
    report = json.loads(output_of(*scoring, "--json"))
    (note,) = report["basis"]["notes"]
    assert f"({len(pairs) // 2} of {len(pairs)}) had enough answers" in note
    assert report["basis"]["without_relevant"] == report["basis"]["counted"] == report["queries"] > 0
    comparing = ("compare_runs", *runs[:2], "--qrels", "half", "--measures", "S@1", "--rounds", 10)
    assert note in output_of(*comparing, "--missing", "leave-out")
    QrelsSnapshot.objects.get().queries.all().delete()
    cache.clear()  # figures are cached for an hour: qrels never change
    text = output_of(*scoring)
    assert "Judged queries: " in text and "Freeze them again." in text
    with pytest.raises(CommandError, match="are from a batch, which stores its queries; name none"):
        output_of(
            "freeze_qrels", "half", "--corpus", "few", "--judgments", "half", "--queries", f"run:{runs[0]}"
        )


def test_judgments_of_a_file_are_told_their_queries(tmp_path: Path) -> None:
    """Two of seven images are judged; a file, a run or a split says what was asked."""
    runs = some_runs(tmp_path, np.random.default_rng(1), a_world())
    file = tmp_path / "table.csv"
    file.write_text("image,caption,grade\ni0.jpg,i1.jpg#0,0\ni1.jpg,i1.jpg#0,1\n")
    import_judgments(JudgmentsImport(corpus="few", file=file, format="table"), OperationContext())
    listed = tmp_path / "asked.txt"
    listed.write_text("i0.jpg\ni4.jpg\ni3.jpg#1\n")
    for how, requested in (
        ([], {}),
        (["--queries", str(listed)], {"image": 2, "caption": 1}),
        (["--queries", f"run:{runs[2]}"], {"caption": run_named(runs[2]).query_count}),
    ):
        command = ("freeze_qrels", "q", "--corpus", "few", "--judgments", "table", *how)
        assert json.loads(output_of(*command, "--json"))["queries_by_kind"] == requested
    judged = score(run_named(runs[0]), snapshot_named("q:1"), ["R@1"], missing="worst")
    assert not judged.known and judged.query_count == 2
    assert score(run_named(runs[0]), snapshot_named("q:2"), ["R@1"], missing="worst").query_count == 2
    listed.write_text("i0.jpg\nnobody.jpg\n")
    with pytest.raises(CommandError, match="line 2: names 'nobody.jpg', which corpus 'few' lacks"):
        output_of("freeze_qrels", "q", "--corpus", "few", "--judgments", "table", "--queries", str(listed))


def test_a_query_of_a_file_stays_though_all_its_pairs_are_left_out(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, np.random.default_rng(1), a_world())
    file = tmp_path / "q.trec"
    file.write_text("i0.jpg 0 i1.jpg#0 1\ni4.jpg 0 nobody.jpg#0 1\n")
    qrels = import_qrels(
        QrelsImport(name="q", corpus="few", file=file, leave_unused=True), OperationContext()
    )
    assert (qrels.queries_by_kind, qrels.excluded) == ({"image": 2}, 1)
    scored = score(run_named(runs[0]), snapshot_named("q"), ["S@1"], missing="worst")
    assert (scored.query_count, scored.without_relevant) == (2, 1)
