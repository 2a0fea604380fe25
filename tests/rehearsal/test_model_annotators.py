"""A model annotator in a simulated crowd has the turns that the periodic job gives it, not only those of
answers."""

from __future__ import annotations

import pytest

from annotation.models import Campaign, Judgment
from annotation.protocol import questions as q
from annotation.simulation.visits import ORDERLY
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from tests.queue.models_at_work import to_draw

pytestmark = pytest.mark.django_db


def test_a_model_draws_between_the_answers_of_a_simulated_crowd(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    world, model_annotator = to_draw(6)
    Campaign.objects.filter(pk=world.campaign.pk).update(simulated=True)
    before = Judgment.objects.filter(campaign=world.campaign).count()
    trained: list[int] = []

    def train() -> None:
        trained.append(
            Judgment.objects.filter(campaign=world.campaign, worker=model_annotator.worker).count()
        )

    plan = CrowdPlan(mix={"careful": 3}, seed=1, conduct=ORDERLY, patience=0.0, train=train)
    done = run_campaign_crowd(campaign=world.campaign, plan=plan)
    assert set(done.violations.values()) == {0}
    drawings = Judgment.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING).order_by("pk")
    assert drawings.filter(worker=model_annotator.worker).exists()
    # No answer had opened these questions since the model annotator came: after two steps of each person it
    # draws.
    answers = Judgment.objects.filter(campaign=world.campaign).order_by("pk")
    workers = list(answers.values_list("worker", flat=True)[before:])
    assert workers.index(model_annotator.worker_id) <= 2 * 3
    # Whether it is to learn is asked before each of these turns, the first included.
    assert trained[0] == 0 and len(trained) > 1
