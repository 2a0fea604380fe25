"""Whole rounds: systems trained and ranked by workers, a batch judged by a crowd, qrels, figures; and again.

What comes out is held against figures that are computed here from the files alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation import discard, jobs
from annotation.models import Item, Job, Judgment
from annotation.protocol.paging import CONTROL, ROLES, WANTED
from evaluation.models import Batch
from evaluation.scoring import score
from evaluation.selectors import names_of, run_named, snapshot_named
from evaluation.services.batch_state import state
from evaluation.services.batches import launch
from evaluation.services.collecting import collect
from evaluation.services.judgments import import_judgments
from evaluation.services.planning import plan
from evaluation.services.qrels import freeze_qrels
from evaluation.services.recorded import judge_as_recorded
from evaluation.services.runs import export_run, import_run
from tests.evaluation.database.conftest import matrix_file
from tests.evaluation.rounds.conftest import CORPUS, PLACE, RANKED, World
from tests.jobs.conftest import Delivery
from tests.jobs.workers import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS: dict[str, Any] = {"trust": {"qualification": False}}
GOOD, BAD = {"careful": 8}, {"always_yes": 2, "random": 2}
DEPTH = 4
#: Who judges each pair, as recorded: of three votes the majority.
Votes = dict[tuple[str, str], list[float]]


def worked(kind: str, **arguments: Any) -> dict[str, Any]:
    """What a job of this kind came to, once a worker has done it."""
    result = wait_for(jobs.enqueue(kind=kind, arguments=arguments), Job.DONE).result
    assert isinstance(result, dict)
    return result


def trained(world: World, name: str, recipe: str) -> list[str]:
    """A system trained by a worker on the split `train`, and its runs over `test`."""
    features = {"features": str(world.features), "ids": str(world.ids)}
    worked("train_system", name=name, recipe=recipe, corpus=CORPUS, **features)
    return [run["run"] for run in worked("rank", system=name, split="test")["runs"]]


def uploaded(folder: Path, name: str, world: World, *, truth: float, seed: int) -> list[str]:
    """A matrix of scores made elsewhere: so much of the truth, the rest is chance."""
    noise = np.random.default_rng(seed).standard_normal(world.truth.shape)
    captions = [f"{image}{RANKED}" for image in world.asked]
    file = matrix_file(folder, name, truth * world.truth + noise, list(world.asked), captions)
    runs = []
    for direction in ("annotation", "search"):
        run = f"{name}-{direction}"
        import_run(name=run, corpus=CORPUS, path=file, format="scores", direction=direction, system=name)
        runs.append(run)
    return runs


def rankings(run: str, folder: Path) -> dict[str, list[str]]:
    """A run as a file tells it: query -> documents, best first."""
    file = folder / f"{run}.trec"
    file.unlink(missing_ok=True)
    export_run(name=run, out=file)
    found: dict[str, list[tuple[int, str]]] = {}
    for line in file.read_text().splitlines():
        query, _, document, rank, _, _ = line.split()
        found.setdefault(query, []).append((int(rank), document))
    return {query: [document for _, document in sorted(ranked)] for query, ranked in found.items()}


def relevant_to(votes: Votes, direction: str) -> dict[str, set[str]]:
    """Query -> what most judges held to fit it, and what is its own."""
    found: dict[str, set[str]] = {}
    for (image, caption), given in votes.items():
        query, document = (image, caption) if direction == "annotation" else (caption, image)
        own = caption == f"{image}{RANKED}"
        found.setdefault(query, set()).update({document} if own or 2 * sum(given) > len(given) else ())
    return found


def figures(run: str, votes: Votes, folder: Path) -> dict[str, float]:
    """S@1, S@3 and R-precision by their definitions."""
    relevant = relevant_to(votes, run_named(run).direction)
    ranked = rankings(run, folder)
    assert set(ranked) == set(relevant)
    found = {
        f"S@{k}": np.mean([bool(relevant[query] & set(ranked[query][:k])) for query in ranked])
        for k in (1, 3)
    }
    precision = [
        len(relevant[query] & set(ranked[query][: len(relevant[query])])) / len(relevant[query])
        for query in ranked
    ]
    return {**{name: float(value) for name, value in found.items()}, "R-precision": float(np.mean(precision))}


def judged(names: Sequence[str], world: World) -> Votes:
    """What judges of these batches said of each pair, read from the rows themselves; own pairs besides."""
    call = names_of(CORPUS)
    by_place = {(call.owner[c], call.number[c]): call.caption_name[c] for c in call.owner}
    votes: Votes = {(image, f"{image}{RANKED}"): [] for image in world.asked}
    rows = Judgment.objects.filter(campaign__name__in=names, void=False, image__isnull=False)
    seen = set()
    for worker, content in rows.order_by("pk").values_list("worker", "content"):
        for block in content["blocks"]:
            for (owner, place), role, yes in zip(
                block["captions"], block["roles"], block["yes"], strict=True
            ):
                if ROLES[role] == CONTROL:
                    continue
                pair = (call.image_name[block["image"]], by_place[owner, place])
                if (worker, pair) not in seen:
                    seen.add((worker, pair))
                    votes.setdefault(pair, []).append(float(yes))
    return votes


def asked(batch: Batch) -> set[tuple[int, int]]:
    """(image, caption's image) of all pairs that pages of a batch ask about and want."""
    contents = Item.objects.filter(task__campaign=batch.campaign).values_list("content", flat=True)
    found = set()
    for content in contents:
        for (owner, place), role in zip(content["captions"], content["roles"], strict=True):
            assert place == PLACE
            if ROLES[role] == WANTED:
                found.add((content["image"], owner))
    return found


def top_up(name: str, seed: int) -> None:
    """Discard whom the batch does not count, and let others answer in their place."""
    batch = Batch.objects.get(name=name)
    for pseudonym in state(name).unused:
        discard.discard(campaign=batch.campaign, worker=discard.worker_named(pseudonym, batch.campaign))
    judge_as_recorded(name, "truth", mix=GOOD, seed=seed, patience=0)


def test_a_round_and_a_second_one(
    delivery: Delivery, world: World, recipes: dict[str, str], tmp_path: Path
) -> None:
    """Train, rank, upload, pool, judge with bad people among them, discard, top up, freeze, score; again."""
    import_judgments(name="truth", corpus=CORPUS, path=world.judgments, format="table")
    with delivery.worker():
        near = trained(world, "near", recipes["near"])
        oracle = uploaded(tmp_path, "oracle", world, truth=3.0, seed=1)
        chance = uploaded(tmp_path, "chance", world, truth=0.0, seed=2)
        runs = [*near, *oracle, *chance]
        made = plan(corpus=CORPUS, runs=runs, depth=DEPTH, threshold=None, settings=SETTINGS, reuse=[])
        first = launch(made, "first", known_from="val").batch
        judge_as_recorded("first", "truth", mix={**GOOD, **BAD}, seed=1, patience=0)
        unused = set(state("first").unused)
        assert unused and all(name.startswith(("sim1-always_yes", "sim1-random")) for name in unused)
        assert state("first").short > 0
        top_up("first", seed=2)
        done = state("first")
        assert (done.short, done.open) == (0, 0)
        kept = collect("first")
        freeze_qrels(name="pooled", corpus=CORPUS, judgments=kept.judgments)
        votes = judged(["first"], world)
        assert all(len(given) >= 3 for pair, given in votes.items() if pair[1] != f"{pair[0]}{RANKED}")
        held = {run: against(run, "pooled", votes, tmp_path) for run in runs}
        for way in ("annotation", "search"):
            assert held[f"oracle-{way}"]["S@1"] > held[f"chance-{way}"]["S@1"]

        kcca = trained(world, "kcca", recipes["kcca"])
        again = plan(
            corpus=CORPUS, runs=[*runs, *kcca], depth=DEPTH, threshold=None, settings=SETTINGS, reuse=[]
        )
        second = launch(again, "second", known_from="val").batch
        assert asked(second) and not asked(second) & asked(first)
        assert len(asked(second)) == again.numbers()["asked"] < len(made.asked)
        judge_as_recorded("second", "truth", mix=GOOD, seed=3, patience=0)
        top_up("second", seed=4)
        freeze_qrels(name="pooled", corpus=CORPUS, judgments=collect("second").judgments)
        assert snapshot_named("pooled").version == 2
        votes = judged(["first", "second"], world)
        for run in [*runs, *kcca]:
            against(run, "pooled", votes, tmp_path)


def against(run: str, qrels: str, votes: Votes, folder: Path) -> dict[str, float]:
    """The product's figures of a run, which are those by definition."""
    measures = ["S@1", "S@3", "R-precision"]
    found = score(run_named(run), snapshot_named(qrels), measures)
    values = {name: one.value for name, one in found.scores.items()}
    assert values == pytest.approx(figures(run, votes, folder))
    return values
