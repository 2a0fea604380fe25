"""The savings of a campaign's model annotators, on the page, by API and by command."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Assignment, Judgment
from annotation.protocol import questions as q
from annotation.protocol.answer_times import DRAWING_SECONDS, LOOKING_SECONDS
from annotation.selectors.model_annotators.reports import model_annotator_reports
from annotation.selectors.model_annotators.saving_report import answer_times, model_annotator_saving
from tests.api.v1.conftest import Caller
from tests.factories import some_images
from tests.queue.models_at_work import WITH_MODEL, a_model, work
from tests.queue.world import World
from tests.web import world as people

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """A campaign whose model annotator is partly right, with the seconds of its people."""
    world = World(some_images(3), settings=WITH_MODEL)
    model_annotator = a_model(world)
    work(world)
    judgments = Judgment.objects.filter(worker=model_annotator.worker, answer="drawn")
    assert judgments.exists()
    for seconds, row in enumerate(
        Assignment.objects.exclude(worker=model_annotator.worker).order_by("pk"), start=2
    ):
        Assignment.objects.filter(pk=row.pk).update(seconds=seconds)
    return world


def test_the_saving_is_that_of_the_answers_that_people_gave_one_by_one(world: World) -> None:
    (report,) = model_annotator_reports(world.campaign)
    saving = model_annotator_saving(world.campaign, [report])
    rows = Assignment.objects.filter(state=Assignment.SUBMITTED).exclude(
        worker__model_annotator__isnull=False
    )
    drawn, looked = (
        [row.seconds for row in kinds]
        for kinds in (rows.filter(task__kind=q.BOX_DRAWING), rows.exclude(task__kind=q.BOX_DRAWING))
    )
    assert (saving.times.counts.drawing, saving.times.counts.looking) == (len(drawn), len(looked))
    for looking, shares in zip(LOOKING_SECONDS, saving.shares, strict=True):
        for drawing, share in zip(DRAWING_SECONDS, shares, strict=True):
            after = sum([drawing for _ in drawn] + [looking for _ in looked])
            error = report.judged - report.good
            before = after + report.good * drawing - error * looking
            assert share == pytest.approx(1 - after / before)
    assert report.good and saving.times.looking == pytest.approx(sum(looked) / len(looked))


def test_page_api_and_command_say_the_same(world: World) -> None:
    ada = people.account("ada", "researcher")
    saving = model_annotator_saving(world.campaign, model_annotator_reports(world.campaign))
    body = Caller(ada).get(f"campaigns/{world.campaign.name}/model-annotators/saving").json()
    assert body["shares"] == [list(row) for row in saving.shares]
    assert (body["times"]["drawing"], body["measured"]) == (saving.times.drawing, saving.measured)
    assert (len(body["drawing_prices"]), len(body["looking_prices"])) == (5, 5)
    out = StringIO()
    call_command("model_annotator_saving", world.campaign.name, json=True, stdout=out)
    assert json.loads(out.getvalue())["shares"] == body["shares"]
    client = Client()
    client.force_login(ada)
    page = client.get(f"/campaigns/{world.campaign.name}/model-annotators/").content.decode()
    assert "Seconds saved" in page and page.count('<td class="number">') >= 25


def test_a_study_names_the_seconds_of_a_campaign_or_says_that_there_are_none() -> None:
    world, out = World(some_images(2)), StringIO()
    arguments = ["--corpus", world.corpus.name, "--economy", "--images", "1", "--learn-from", "1"]
    arguments += ["--seeds", "1", "--resamples", "2"]
    with pytest.raises(CommandError, match="people have not drawn and looked"):
        call_command("compare_question_orders", *arguments, campaign=world.campaign.name)
    world.work()
    call_command("compare_question_orders", *arguments, campaign=world.campaign.name, stdout=out)
    times = answer_times(world.campaign)
    message = f"at {times.drawing:.1f} s a drawing and {times.looking:.1f} s a look, as measured in campaign"
    assert message in out.getvalue()
