"""Task pages without a browser: shown, answered, reported, returned; and errors that lose no data."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from annotation import instructions
from annotation.common import database
from annotation.models import Assignment, Campaign, Flag, Judgment
from annotation.protocol import questions as q
from annotation.queue import leases
from annotation.queue.leases import Lease
from annotation.task_types.base import TASK_TYPES
from tests.queue.world import World
from tests.web import desk
from tests.web.desk import form_of, text_of
from tests.web.test_access import visitor

KINDS = list(q.QUESTIONS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_question_is_shown_answered_and_followed_by_the_next(work: World, kind: str):
    desk.open_questions_for(work, kind)
    ann = desk.at_work(work)
    page = ann.get(desk.address(kind))
    assert page.status_code == 200
    form = form_of(work, page)
    response = ann.post(desk.address(kind), form)
    assert (response.status_code, response["Location"]) == (303, desk.address(kind))
    judgment = Judgment.objects.get(assignment=form["assignment"])
    assert judgment.answer == form["answer"]
    assert judgment.schema == TASK_TYPES.get(kind).schema_version
    assert Assignment.objects.get(pk=form["assignment"]).seconds <= 3.5
    assert ann.get(desk.address(kind)).status_code == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_offers_every_answer_of_its_question_with_its_key(work: World, kind: str):
    desk.open_questions_for(work, kind)
    page = desk.at_work(work).get(desk.address(kind)).content.decode()
    buttons = re.findall(r'<button class="choice" name="answer" value="(\w+)" data-key="(\d)"', page)
    assert {value for value, _ in buttons} == set(q.ANSWERS[kind])
    assert [key for _, key in buttons] == [str(n + 1) for n in range(len(buttons))]


def test_a_link_question_marks_one_phrase_in_each_of_two_captions(work: World):
    page = desk.at_work(work).get(desk.address()).content.decode()
    captions = re.findall(r"<li><p>(.*?)</p></li>", page)
    assert len(captions) == 2
    assert [re.findall(r'<b class="chip">(\w)</b>', caption) for caption in captions] == [["A"], ["B"]]


def test_a_box_question_shows_the_caption_of_the_chains_longest_phrase(work: World):
    desk.open_questions_for(work, q.BOX_DRAWING)
    page = desk.at_work(work).get(desk.address(q.BOX_DRAWING)).content.decode()
    assert len(re.findall(r"<li><p>", page)) == 1


def test_punctuation_stands_as_in_print(work: World):
    text = text_of(desk.at_work(work).get(desk.address()))
    assert "in the park." in text and "park ." not in text


def test_boxes_that_are_there_and_the_one_in_question_are_named(work: World):
    desk.open_questions_for(work, q.BOX_QUALITY)
    page = desk.at_work(work).get(desk.address(q.BOX_QUALITY)).content.decode()
    assert '<text x="9.0" y="14.5">?</text>' in page
    assert re.search(r'<rect class="outline hue-2"', page)


def test_an_answer_sent_twice_is_stored_once_and_said_to_be(work: World):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    ann.post(desk.address(), form)
    assert "stored once" in text_of(ann.post(desk.address(), form, follow=True))
    assert Judgment.objects.filter(assignment=form["assignment"]).count() == 1


def test_a_second_answer_from_another_tab_is_not_taken_and_the_first_stays(work: World):
    ann = desk.at_work(work)
    first, second = (form_of(work, ann.get(desk.address())) for _ in range(2))
    assert first["assignment"] == second["assignment"] and first["token"] != second["token"]
    ann.post(desk.address(), first)
    page = ann.post(desk.address(), {**second, "answer": "yes"}, follow=True)
    assert "already answered this task" in text_of(page)
    assert Judgment.objects.get(assignment=first["assignment"]).answer == first["answer"]


def test_an_answer_after_the_lease_ran_out_is_stored(work: World, monkeypatch: pytest.MonkeyPatch):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    later = database.now() + timedelta(hours=1)
    monkeypatch.setattr(database, "now", lambda: later)
    leases.end_expired_leases()
    response = ann.post(desk.address(), form, follow=True)
    assert response.status_code == 200
    assert Judgment.objects.get(assignment=form["assignment"]).answer == form["answer"]


def test_an_answer_that_others_made_needless_is_stored_and_looks_like_any_other(work: World):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    held = Assignment.objects.get(pk=form["assignment"])
    Assignment.objects.filter(pk=held.pk).update(expires_at=database.now() - timedelta(minutes=1))
    leases.end_expired_leases()
    while held.task and held.task.state == "open":
        for worker in range(1, 4):
            lease = work.take(worker)
            if isinstance(lease, Lease):
                work.submit(worker, lease, then=False)
        held.task.refresh_from_db()
    page = ann.post(desk.address(), form, follow=True)
    assert "settled" not in text_of(page) and page.status_code == 200
    assert Judgment.objects.filter(assignment=held.pk).count() == 1


def test_an_answer_in_a_paused_campaign_is_stored_and_the_pause_is_told(work: World):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    Campaign.objects.update(state=Campaign.PAUSED, reason="we look at the first answers")
    page = ann.post(desk.address(), form, follow=True)
    assert page.status_code == 200
    assert "This campaign is paused: we look at the first answers" in text_of(page)
    assert Judgment.objects.filter(assignment=form["assignment"]).count() == 1


@pytest.mark.parametrize(
    "data", [{"answer": "maybe"}, {"answer": ""}, {"answer": "good"}, {"token": "x" * 65}]
)
def test_what_is_no_answer_is_not_stored_and_the_same_task_stays(work: World, data: dict[str, str]):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    page = ann.post(desk.address(), {**form, **data})
    assert page.status_code == 422
    assert 'role="alert"' in page.content.decode()
    assert desk.hidden(page)["assignment"] == form["assignment"]
    assert not Judgment.objects.exists()


@pytest.mark.parametrize("number", ["", "0", "x", "-3", "9" * 30, "²"])
def test_an_answer_to_nothing_is_told_so(work: World, number: str):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    page = ann.post(desk.address(), {**form, "assignment": number}, follow=True)
    assert "No such task is assigned to you" in text_of(page)
    assert not Judgment.objects.exists()


@pytest.mark.parametrize("seconds", ["", "nan", "inf", "-1", "a"])
def test_without_a_time_worked_an_answer_counts_all_the_same(work: World, seconds: str):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    assert ann.post(desk.address(), {**form, "seconds": seconds}).status_code == 303
    assert 0 <= Assignment.objects.get(pk=form["assignment"]).seconds < 60


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        (("", "", "", ""), "Draw a box first"),
        (("1", "2", "3", ""), "Draw a box first"),
        (("1.5", "2", "30", "40"), "whole numbers"),
        (("-1", "2", "30", "40"), "whole numbers"),
        (("10", "10", "12", "40"), "too small"),
        (("30", "10", "12", "40"), "left must come before right"),
        (("10", "10", "481", "40"), "extends beyond the picture"),
    ],
)
def test_what_is_no_box_comes_back_as_it_was_typed(work: World, edges: tuple[str, ...], text: str):
    desk.open_questions_for(work, q.BOX_DRAWING)
    ann = desk.at_work(work)
    held = desk.hidden(ann.get(desk.address(q.BOX_DRAWING)))
    payload = dict(zip(("xmin", "ymin", "xmax", "ymax"), edges, strict=True))
    page = ann.post(desk.address(q.BOX_DRAWING), {**held, "answer": "drawn", **payload})
    assert page.status_code == 422
    assert text in text_of(page)
    assert re.findall(r'name="[xy]m\w+" value="([^"]*)"', page.content.decode()) == list(edges)
    assert not Judgment.objects.filter(assignment=int(held["assignment"])).exists()


def test_a_box_typed_by_hand_is_stored_to_the_pixel(work: World):
    desk.open_questions_for(work, q.BOX_DRAWING)
    ann = desk.at_work(work)
    held = desk.hidden(ann.get(desk.address(q.BOX_DRAWING)))
    edges = {"xmin": "1", "ymin": "2", "xmax": "480", "ymax": "360"}
    ann.post(desk.address(q.BOX_DRAWING), {**held, "answer": "drawn", **edges})
    judgment = Judgment.objects.get(assignment=int(held["assignment"]))
    assert [judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax] == [1, 2, 480, 360]


def test_no_box_needs_no_edges(work: World):
    desk.open_questions_for(work, q.BOX_DRAWING)
    ann = desk.at_work(work)
    held = desk.hidden(ann.get(desk.address(q.BOX_DRAWING)))
    empty = {"xmin": "", "ymin": "", "xmax": "", "ymax": ""}
    assert ann.post(desk.address(q.BOX_DRAWING), {**held, "answer": "none", **empty}).status_code == 303


def test_a_report_is_stored_with_its_comment_and_thanked_for(work: World):
    ann = desk.at_work(work)
    held = desk.hidden(ann.get(desk.address()))
    page = ann.post(desk.address(), {**held, "flag": "chunk_wrong", "comment": "cut <off>"}, follow=True)
    assert "Thank you for the report" in text_of(page)
    assert Flag.objects.get().comment == "cut <off>"
    assert Judgment.objects.get().flag == "chunk_wrong"


def test_a_returned_task_goes_to_others_and_another_comes(work: World):
    ann = desk.at_work(work)
    held = desk.hidden(ann.get(desk.address()))
    page = ann.post(desk.address(), {**held, "act": "return"}, follow=True)
    assert "Skipped" in text_of(page)
    assert Assignment.objects.get(pk=held["assignment"]).state == Assignment.RETURNED
    assert desk.hidden(page)["assignment"] != held["assignment"]


def test_reloading_keeps_the_task(work: World):
    ann = desk.at_work(work)
    first, second = (desk.hidden(ann.get(desk.address())) for _ in range(2))
    assert first["assignment"] == second["assignment"]


def test_a_page_that_is_open_gets_its_next_task_alone(work: World):
    ann = desk.at_work(work)
    first = desk.hidden(ann.get(desk.address()))
    again = ann.get(desk.address() + "?part=task")
    assert desk.hidden(again)["assignment"] == first["assignment"]
    following = ann.get(desk.address() + f"?part=task&holding={first['assignment']},x,")
    assert desk.hidden(following)["assignment"] != first["assignment"]
    assert following.content.decode().strip().startswith('<div class="task" data-task')
    assert "<title>" not in following.content.decode() and "no-store" in following["Cache-Control"]


def test_what_comes_instead_of_the_next_task_is_told_by_its_code(work: World):
    ann, unread = desk.at_work(work), desk.at_work(work, read=False)
    assert unread.get(desk.address() + "?part=task").json() == {"nothing": "instructions"}
    assert ann.get(desk.address(q.BOX_QUALITY) + "?part=task").json() == {"nothing": "none_open"}
    instructions.publish_text(campaign=work.campaign, kind=instructions.CONSENT, text="We keep your answers.")
    assert ann.get(desk.address() + "?part=task").json() == {"nothing": "no_consent"}


def test_nothing_is_kept_by_browsers(work: World):
    assert "no-store" in desk.at_work(work).get(desk.address())["Cache-Control"]


@pytest.mark.parametrize(
    "path", ["/tasks/other/coref_link/", "/tasks/quay/relevance/", "/tasks/other/consent/"]
)
def test_what_there_is_not_is_not_found(work: World, path: str):
    assert desk.at_work(work).get(path).status_code == 404


def test_a_page_costs_as_many_queries_for_the_tenth_task_as_for_the_first(
    work: World, django_assert_max_num_queries: Any
):
    ann = desk.at_work(work)
    for most in (28, 26, 26):  # the first page also stores the worker's trust state
        with django_assert_max_num_queries(most):
            page = ann.get(desk.address())
        ann.post(desk.address(), form_of(work, page))


@pytest.mark.parametrize("kind", ["anonymous", "nobody", "reviewer", "researcher", "annotator", "admin"])
@pytest.mark.parametrize("route", ["tasks", "task", "task_instructions", "task_consent", "task_test"])
def test_task_pages_are_open_to_annotators(work: World, route: str, kind: str):
    arguments = {"tasks": [], "task_consent": ["quay"]}.get(route, ["quay", q.COREF_LINK])
    address = reverse(route, args=arguments)
    answer = visitor(kind).post(address) if route == "task_test" else visitor(kind).get(address)
    if kind == "anonymous":
        assert (answer.status_code, answer["Location"]) == (302, f"/sign-in/?next={address}")
    elif kind in ("annotator", "admin"):
        assert answer.status_code in (200, 303)
    else:
        assert answer.status_code == 403
        assert "Tasks are for annotators" in text_of(answer)


def test_a_page_takes_no_answer_to_a_task_of_another_campaign(work: World):
    ann = desk.at_work(work)
    form = form_of(work, ann.get(desk.address()))
    row = work.campaign
    Campaign.objects.create(
        name="second",
        corpus=row.corpus,
        tasks=row.tasks,
        settings=row.settings,
        state="open",
        open_to_all=True,
    )
    ann.post(reverse("task", args=["second", q.COREF_LINK]), form)
    assert not Judgment.objects.exists()
    ann.post(reverse("task", args=["second", q.COREF_LINK]), {**form, "act": "return"})
    assert Assignment.objects.get().state == Assignment.LEASED
    ann.post(desk.address(), form)
    assert Judgment.objects.count() == 1
