"""Whole rounds: systems trained and ranked by workers, a batch judged by a crowd, qrels, figures; repeated.

The results are compared with figures computed here from the files only.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.common.operations import OperationContext
from evaluation.models import Batch
from evaluation.selectors import snapshot_named
from evaluation.services.batches.recorded_judges import judge_as_recorded
from evaluation.services.batches.state import batch_state
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.reports import building
from tests.evaluation.rounds.by_hand import against
from tests.evaluation.rounds.conftest import CORPUS, RANKED, World
from tests.evaluation.rounds.steps import (
    BAD,
    GOOD,
    judged,
    opening,
    selected_pairs_of,
    trained,
    uploaded,
    worked,
)
from tests.jobs.conftest import CELERY_FIRST, Delivery

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow  # the default run has no worker here; Celery: `jobs/test_deliveries`
@pytest.mark.parametrize("installation", CELERY_FIRST, indirect=True)
def test_a_round_and_a_second_one(
    installation: Delivery, world: World, recipes: dict[str, str], tmp_path: Path
) -> None:
    """Train, rank, upload, pool, judge with bad people among them, discard, top up, freeze, score; again."""
    import_judgments(
        JudgmentsImport(name="truth", corpus=CORPUS, file=world.judgments, format="table"), OperationContext()
    )
    with installation.worker():
        near = trained(world, "near", recipes["near"])
        oracle = uploaded(tmp_path, "oracle", world, truth=3.0, seed=1)
        chance = uploaded(tmp_path, "chance", world, truth=0.0, seed=2)
        runs = [*near, *oracle, *chance]
        worked("open_batch", **opening("first", runs))
        judge_as_recorded("first", "truth", mix={**GOOD, **BAD}, seed=1, patience=0)
        unused = batch_state("first").unused
        assert unused and all(name.startswith(("sim1-always_yes", "sim1-random")) for name in unused)
        assert batch_state("first").short > 0
        discarded = worked("reassign_pages", batch="first")
        assert set(discarded["judges"]) == set(unused)
        judge_as_recorded("first", "truth", mix=GOOD, seed=2, patience=0)
        done = batch_state("first")
        assert (done.short, done.open) == (0, 0)
        worked("settle_batch", batch="first", qrels="pooled")
        votes = judged(["first"], world)
        assert all(len(vote) >= 3 for pair, vote in votes.items() if pair[1] != f"{pair[0]}{RANKED}")
        held = {run: against(run, "pooled", votes, tmp_path) for run in runs}
        for way in ("annotation", "search"):
            assert held[f"oracle-{way}"]["S@1"] > held[f"chance-{way}"]["S@1"]
        reported(runs, held)

        kcca = trained(world, "kcca", recipes["kcca"])
        opened = worked("open_batch", **opening("second", [*runs, *kcca]), simulated=True)
        first, second = (Batch.objects.get(name=name) for name in ("first", "second"))
        assert selected_pairs_of(second) and not selected_pairs_of(second) & selected_pairs_of(first)
        assert len(selected_pairs_of(second)) == opened["numbers"]["selected"] < len(selected_pairs_of(first))
        judge_as_recorded("second", "truth", mix=GOOD, seed=3, patience=0)
        assert batch_state("second").short == 0
        worked("settle_batch", batch="second", qrels="pooled")
        assert snapshot_named("pooled").version == 2
        votes = judged(["first", "second"], world)
        for run in [*runs, *kcca]:
            against(run, "pooled", votes, tmp_path)


def reported(runs: list[str], held: dict[str, dict[str, float]]) -> None:
    """Check that a report on the batch contains the figures of each run computed by hand."""
    expected = {"qrels": "pooled", "batch": "first", "runs": runs, "rounds": 200, "resamples": 200}
    worked("build_report", name="first", measures=["S@1", "S@3", "R-precision"], **expected)
    payload = json.loads((building.report_folder("first") / "report.json").read_text())
    values = {
        system["run"]: {measure: figure["value"] for measure, figure in system["figures"].items()}
        for direction in payload["findings"]["directions"]
        for system in direction["systems"]
    }
    assert set(values) == set(held)
    for run, figures in held.items():
        assert values[run] == pytest.approx(figures)
