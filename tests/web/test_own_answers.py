"""The page of a worker's last answers, and the one on which an answer is changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Assignment, AuditEntry, Judgment
from annotation.protocol import questions as q
from annotation.selectors.campaign.cached import newest_act
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from tests.queue.world import TRUSTING, World
from tests.web import counted_desk, desk
from tests.web import world as people
from tests.web.desk import form_of, text_of
from tests.web.test_counted_tasks import at_work

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


def answers(kind: str = q.COREF_LINK) -> str:
    return f"{desk.address(kind)}answers/"


def answered(work: World, ann: Client, kind: str = q.COREF_LINK, **form: str) -> int:
    """Let ann answer a question of `kind`; return the assignment."""
    form_data = {**form_of(work, ann.get(desk.address(kind))), **form}
    ann.post(desk.address(kind), form_data)
    return int(form_data["assignment"])


def test_the_last_answers_are_listed_and_one_of_them_is_changed(work: World):
    ann = desk.at_work(work)
    assert "not answered anything here" in text_of(ann.get(answers()))
    assignment = answered(work, ann, answer="yes")
    page = ann.get(answers())
    assert "The same" in text_of(page)
    assert len(re.findall(r'<b class="chip">[AB]</b>', page.content.decode())) == 2
    assert f'href="{answers()}{assignment}/"' in page.content.decode()
    response = ann.get(f"{answers()}{assignment}/")
    assert "You answered: The same" in text_of(response)
    changed = ann.post(f"{answers()}{assignment}/", {"answer": "no"}, follow=True)
    assert changed.redirect_chain == [(answers(), 303)]
    assert "Your answer is changed." in text_of(changed) and "Different" in text_of(changed)
    assert Judgment.objects.get(assignment=assignment).answer == "no"


def test_a_change_says_nowhere_whose_account_a_pseudonym_is_and_is_no_act_of_staff(work: World):
    before = newest_act(work.campaign)
    ann = desk.at_work(work)
    assignment = answered(work, ann, answer="yes")
    ann.post(f"{answers()}{assignment}/", {"answer": "no"})
    line = AuditEntry.objects.get(act="change_answer")
    assert (line.actor, line.actor_name) == (None, "")
    assert line.about["worker"] == Judgment.objects.get(assignment=assignment).worker.pseudonym
    assert newest_act(work.campaign) == before
    ada = people.signed_in("ada", "researcher", "admin")
    page = text_of(ada.get(reverse("campaign", args=[work.campaign.name])))
    assert "changed an answer" not in page and "change_answer" not in page
    assert line.about["worker"] in text_of(ada.get(reverse("audit")))


def test_an_answer_that_stands_says_why(work: World):
    ann = desk.at_work(work)
    assignment = answered(work, ann)
    Assignment.objects.filter(pk=assignment).update(role="qualification")
    for response in (
        ann.get(f"{answers()}{assignment}/", follow=True),
        ann.post(f"{answers()}{assignment}/", {"answer": "no"}, follow=True),
        ann.get(f"{answers()}{10**18}/", follow=True),
        ann.get(f"{answers(q.BOX_DRAWING)}{assignment}/", follow=True),
    ):
        assert re.search("none of a test|no such answer", text_of(response))


def test_what_the_question_does_not_take_comes_back_with_what_is_wrong(work: World):
    desk.open_questions_for(work, q.BOX_DRAWING)
    ann = desk.at_work(work)
    edges = {"xmin": "11", "ymin": "21", "xmax": "110", "ymax": "220", "way": "drag"}
    assignment = answered(work, ann, q.BOX_DRAWING, answer="drawn", **edges)
    address = f"{answers(q.BOX_DRAWING)}{assignment}/"
    page = ann.get(address).content.decode()
    assert re.findall(r'name="(x|y)(min|max)" value="(\d+)"', page) == [
        ("x", "min", "11"), ("y", "min", "21"), ("x", "max", "110"), ("y", "max", "220"),
    ]  # fmt: skip
    response = ann.post(address, {"answer": "drawn", **edges, "xmax": "12"})
    assert response.status_code == 422 and "too small" in text_of(response)
    assert 'value="12"' in response.content.decode()
    ann.post(address, {"answer": "drawn", **edges, "xmax": "99"})
    assert Judgment.objects.get(assignment=assignment).xmax == 99


@pytest.mark.parametrize(
    ("tasks", "kind", "form_data", "again"),
    [
        ("captions", CAPTION_WRITING, {"text": "Two people walk."}, {"text": "Two people run."}),
        ("relevance", RELEVANCE, {"tick-0-1": "on"}, {"tick-0-0": "on"}),
        (
            "regions",
            REGION_DESCRIPTION,
            {f"region-0-{k}": v for k, v in {"xmin": "1", "ymin": "1", "xmax": "60", "ymax": "60"}.items()}
            | {"region-0-text": "a dog"},
            {"region-0-text": "a cat"},
        ),
    ],
)
def test_an_answer_that_says_more_is_shown_as_it_was_and_changed(
    tmp_path: Path, tasks: str, kind: str, form_data: dict[str, str], again: dict[str, str]
):
    settings = {**TRUSTING, "answers": {"regions": 1}}
    ann = at_work(counted_desk.campaign(tmp_path / "drawn", tasks, settings=settings))
    page = ann.get(desk.address(kind)).content.decode()
    fields = dict(re.findall(r'name="(assignment|token|sizes)" value="([^"]*)"', page))
    choice = re.search(r'<button class="choice" name="answer" value="(\w+)"', page)
    assert choice is not None
    payload = {**fields, "answer": choice[1]}
    ann.post(desk.address(kind), {**payload, **form_data})
    before = Judgment.objects.get(assignment=fields["assignment"]).content
    address = f"{answers(kind)}{fields['assignment']}/"
    response = ann.get(address).content.decode()
    for name, value in form_data.items():
        assert re.search(rf'name="{name}"[^>]*(checked|value="{value}")|>{value}</textarea>', response), name
    # Sent unchanged, the answer is the same.
    ann.post(address, {**payload, **form_data})
    assert Judgment.objects.get(assignment=fields["assignment"]).content == before
    if "tick-0-1" in form_data:
        form_data = {}
    ann.post(address, {**payload, **form_data, **again})
    after = Judgment.objects.get(assignment=fields["assignment"]).content
    assert after != before


def test_the_list_asks_as_much_of_the_database_for_many_answers_as_for_few(work: World):
    ann = desk.at_work(work)
    answered(work, ann)
    ann.get(answers())
    with_one = queries(ann)
    for _ in range(3):
        answered(work, ann)
    assert queries(ann) == with_one


def queries(ann: Client) -> int:
    with CaptureQueriesContext(connection) as seen:
        ann.get(answers())
    return len(seen)
