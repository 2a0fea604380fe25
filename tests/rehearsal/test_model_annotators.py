"""A model annotator in a simulated crowd gets the turns of the periodic job, not only those after answers."""

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
    # No answer opened these questions after the model annotator was added: it draws after two steps of each
    # person.
    answers = Judgment.objects.filter(campaign=world.campaign).order_by("pk")
    workers = list(answers.values_list("worker", flat=True)[before:])
    assert workers.index(model_annotator.worker_id) <= 2 * 3
    # Each of these turns, including the first, checks whether it should be trained.
    assert trained[0] == 0 and len(trained) > 1
