"""Pages of questions whose votes are only counted, without scripts: their content, and refused answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation import instructions
from annotation.models import Account, Campaign, Judgment
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.web.annotator.task_texts import READ
from tests.queue.world import TRUSTING
from tests.web import counted_desk
from tests.web.desk import address, hidden

pytestmark = pytest.mark.django_db(transaction=True)


def at_work(campaign: Campaign) -> Client:
    """Return a client of ann, signed in, who has read the instructions."""
    client = Client()
    client.force_login(Account.objects.get(username="ann"))
    kind = campaign.kinds[0]
    session = client.session
    session[READ] = {f"{campaign.pk}:{kind}": instructions.current_text(campaign=campaign, kind=kind).version}
    session.save()
    return client


def send(client: Client, kind: str, **fields: str) -> tuple[int, str]:
    """Send `fields` as the answer to the current question; return status and page."""
    page = client.get(address(kind))
    answer: Any = client.post(address(kind), {**hidden(page), **fields})
    return answer.status_code, answer.content.decode()


def test_a_page_shows_each_picture_with_its_sentences_and_no_picture_beside(tmp_path: Path):
    client = at_work(counted_desk.campaign(tmp_path, "relevance"))
    text = client.get(address(RELEVANCE)).content.decode()
    assert text.count('class="larger"') == counted_desk.PICTURES
    assert len(re.findall(r'type="checkbox" name="tick-\d-\d"', text)) == 50
    assert "data-frame" not in text and "data-picture>" not in text
    # The full stop follows its word directly, as in print; corpora have a space before it.
    assert len(re.findall(r"<span>Two people [\w ]+ on day \d+\.</span>", text)) == 50


def test_ticks_are_there_again_where_a_page_was_not_whole(tmp_path: Path):
    client = at_work(counted_desk.campaign(tmp_path, "relevance"))
    status, text = send(client, RELEVANCE, answer="judged", sizes="10,10", **{"tick-0-3": "on"})
    assert status == 422 and not Judgment.objects.exists()
    assert re.findall(r'name="(tick-\d-\d)" checked', text) == ["tick-0-3"]


def test_a_grade_is_the_key_of_its_button(tmp_path: Path):
    client = at_work(counted_desk.campaign(tmp_path, "graded", images=2))
    text = client.get(address(GRADED_RELEVANCE)).content.decode()
    assert re.findall(r'name="answer" value="(\d)" data-key="(\d)"', text) == [(g, g) for g in "4321"]


def test_a_caption_that_is_none_is_there_again_with_what_is_wrong(tmp_path: Path):
    client = at_work(counted_desk.campaign(tmp_path, "captions", images=1))
    status, text = send(client, CAPTION_WRITING, answer="written", text="Two <people>")
    assert status == 422 and not Judgment.objects.exists()
    assert "at least 3 words" in text and ">Two &lt;people&gt;</textarea>" in text
    assert 'aria-describedby="limits wrong"' in text


def test_a_campaign_says_how_long_a_caption_is_before_and_while_it_is_written(tmp_path: Path):
    settings = {**TRUSTING, "answers": {"fewest_words": 4, "most_words": 6}}
    client = at_work(counted_desk.campaign(tmp_path, "captions", images=1, settings=settings))
    instructions = client.get(reverse("task_instructions", args=["quay", CAPTION_WRITING])).content.decode()
    assert "A sentence has 4 to 6 words." in instructions
    page = client.get(address(CAPTION_WRITING)).content.decode()
    assert 'data-fewest="4" data-most="6"' in page and "4 to 6 words." in page
    for text, wrong in (
        ("Two people walk.", "at least 4 words"),
        ("Two people walk home with two dogs.", "at most 6"),
    ):
        status, page = send(client, CAPTION_WRITING, answer="written", text=text)
        assert status == 422 and wrong in page and not Judgment.objects.exists()
    assert send(client, CAPTION_WRITING, answer="written", text="Two people walk home - 2 dogs.")[0] == 303


def test_regions_that_are_too_few_are_there_again(tmp_path: Path):
    client = at_work(counted_desk.campaign(tmp_path, "regions", images=1))
    text = client.get(address(REGION_DESCRIPTION)).content.decode()
    assert text.count('class="region"') == 5 and text.count('max="480"') == 10
    fields = {"xmin": "3", "ymin": "4", "xmax": "90", "ymax": "80", "text": "a “dog”", "way": "drag"}
    status, text = send(
        client, REGION_DESCRIPTION, answer="described", **{f"region-1-{k}": v for k, v in fields.items()}
    )
    assert status == 422 and not Judgment.objects.exists()
    for name, value in fields.items():
        assert re.search(rf'name="region-1-{name}" value="{value}"', text), name
        assert re.search(rf'name="region-0-{name}" value=""', text), name
