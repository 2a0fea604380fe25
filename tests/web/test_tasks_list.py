"""The list of tasks and its blocked states, each with reason and next step; and the course of a test."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation import instructions
from annotation.common import database
from annotation.models import Assignment, Campaign, Control, Identity, TrustState
from annotation.protocol import questions as q
from annotation.quality import controls, qualification
from annotation.quality.controls import ControlItem
from annotation.queue import leases
from annotation.queue.leases import Lease
from annotation.task_types.practice import PRACTICE
from tests.queue.models_at_work import a_model, turns
from tests.queue.world import TRUSTING, World
from tests.web import desk, world
from tests.web.desk import form_of, text_of

TESTED: dict[str, Any] = {
    "trust": {"verdict_known": 2, "double_check_share": 0.0, "control_share": 0.0, "warm_up_known": 1},
    "pay": {"basis": "item", "currency": "EUR", "per_item": {"coref_link": 0.02}},
}
DOGS, COUPLE, WOMAN = ("0:3-5", "1:6-7"), "0:0-2", "1:0-2"


@pytest.fixture
def work(db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "pay": TESTED["pay"]})


@pytest.fixture
def tested(db: None, tmp_path: Path) -> World:
    """A campaign whose links begin with a test of two items."""
    return desk.campaign(tmp_path / "drawn", settings=TESTED)


def set_test(work: World, *, only: str = "") -> None:
    """Add items for three tests: links with the answers yes and no; or `only` those of one answer."""
    items = [
        ControlItem(q.COREF_LINK, Control.QUALIFICATION, f"scene-{n}", mentions, known)
        for n in range(3)
        for mentions, known in ((DOGS, "yes"), ((COUPLE, WOMAN), "no"))
        if only in ("", known)
    ]
    controls.add_control_items(campaign=work.campaign, items=enumerate(items, 1), source="page")
    work.campaign.refresh_from_db()


def rows(client: Client) -> dict[str, str]:
    """Return title -> the text of its row of the list."""
    page = client.get("/tasks/").content.decode()
    names = re.findall(r'<li class="line.*?</li>', page, flags=re.S)
    lines = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in names]
    return {title: row for row in lines for title in TITLES if row.startswith(title)}


LINK, VERIFY, DRAW = "Same or different?", "All the same?", "Draw a box"
TITLES = (LINK, VERIFY, "Is there something to box?", DRAW, "Is this box good?", "Is a box missing?")


def answer_all(ann: Client, right: bool, kind: str = q.COREF_LINK) -> Any:
    """Take a test of links; return the text of its last page."""
    page = ann.get(desk.address(kind))
    while b"data-answer" in page.content:
        held = desk.hidden(page)
        row = Assignment.objects.select_related("control").get(pk=held["assignment"])
        if row.control is None:
            break
        known = str(row.control.known)
        value = known if right else {"yes": "no", "no": "yes"}[known]
        page = ann.post(desk.address(kind), {**held, "answer": value}, follow=True)
    return page


def test_a_row_tells_trust_state_pay_and_the_day(work: World):
    ann = desk.at_work(work)
    row = rows(ann)[LINK]
    assert "Unchecked · 0.02 EUR each" in row
    assert row.endswith("Start : Same or different?, quay")
    ann.post(desk.address(), form_of(work, ann.get(desk.address())))
    images = work.corpus.images.order_by("position")
    known = ControlItem(q.COREF_LINK, Control.CONTROL, images[1].key, ("0:0-2", "1:0-2"), "no")
    controls.add_control_items(campaign=work.campaign, items=[(1, known)], source="page")
    row = rows(ann)[LINK]
    assert "Warm-up: 1 of 1000 checked answers" in row
    assert "1 done today, 0.02 EUR" in row
    assert "Work :" in row


def test_what_is_in_hand_is_gone_on_with(work: World):
    ann = desk.at_work(work)
    ann.get(desk.address())
    assert "Continue :" in rows(ann)[LINK]


def test_a_drawer_whose_boxes_nobody_has_looked_at_is_told_what_to_do_instead(db: None, tmp_path: Path):
    trust = {**TRUSTING["trust"], "drawing_unjudged": 1}
    work = desk.campaign(tmp_path / "drawn", settings={"trust": trust})
    work.measure_verdicts()
    work.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    work.take(1, q.BOX_QUALITY)
    work.submit(0, work.held(0, q.BOX_DRAWING), then=False)
    ann = desk.at_work(work)
    row = rows(ann)[DRAW]
    assert "Others still have to check 1 of your boxes: choose another task" in row and "Work" not in row
    text = text_of(ann.get(desk.address(q.BOX_DRAWING)))
    assert "or in 60 min at the latest" in text and "Refresh" in text
    judged = work.held(1, q.BOX_QUALITY)
    work.submit(1, judged, then=False)
    assert "still have to check" not in rows(ann)[DRAW]


def test_somebody_who_may_judge_a_box_of_a_model_first_is_told_so_and_where(db: None, tmp_path: Path):
    trust = {**TRUSTING["trust"], "drawing_unjudged": 1}
    work = desk.campaign(tmp_path / "drawn", settings={"trust": trust, "model_annotator": {"share": 1.0}})
    work.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    ann = desk.at_work(work)
    assert "Work" in rows(ann)[DRAW] or "Start" in rows(ann)[DRAW]
    a_model(work)
    assert turns(work) == 1
    row = rows(ann)[DRAW]
    assert "what is left to draw depends on them" in row and "Work" not in row and "Start" not in row
    assert "model_annotator" not in row
    text = text_of(ann.get(desk.address(q.BOX_DRAWING)))
    assert "check some of them first" in text and "Refresh" in text
    assert "Other tasks open to you" in text and "Is this box good?" in text


def test_a_kind_that_has_not_come_up_says_so(work: World):
    row = rows(desk.at_work(work))[DRAW]
    assert "No question of this kind is open now" in row and "Start" not in row


def test_who_has_answered_everything_is_told_that_the_rest_is_for_others(work: World):
    ann = desk.at_work(work)
    while b"data-answer" in (page := ann.get(desk.address())).content:
        ann.post(desk.address(), {**desk.hidden(page), "flag": "chunk_wrong"})
    assert "You have answered every open question of this kind" in rows(ann)[LINK]
    assert "You have answered every open question of this kind" in text_of(page)


def test_who_comes_while_others_hold_the_rest_is_told_when_to_look_again(work: World):
    for worker in range(1, 5):
        held: list[int] = []
        while isinstance(lease := work.take(worker, holding=held), Lease):
            held.append(lease.id)
    ann = desk.at_work(work)
    while b"data-answer" in (page := ann.get(desk.address())).content:
        ann.post(desk.address(), {**desk.hidden(page), "act": "return"})
    text = text_of(page)
    assert re.search(r"Others are answering the remaining questions.* \d+ min", text)
    assert "Refresh" in text


@pytest.mark.parametrize(
    ("state", "text"),
    [(Campaign.PAUSED, "This campaign is paused: lunch"), (Campaign.CLOSED, "This campaign is over")],
)
def test_a_campaign_that_gives_nothing_says_so_once(work: World, state: str, text: str):
    ann = desk.at_work(work)
    ann.get(desk.address(q.COREF_LINK))
    Campaign.objects.update(state=state, reason="lunch")
    page = text_of(ann.get("/tasks/"))
    assert page.count(text) == 1
    assert "Continue" in rows(ann)[LINK]


def test_a_campaign_without_an_open_question_says_so_once_and_stands_below_those_with_work(work: World):
    work.work()
    another = World(name="zoo")
    instructions.publish_text(campaign=another.campaign, kind=instructions.CONSENT, text="")
    page = text_of(desk.at_work(work).get("/tasks/"))
    assert page.count("No question is open here now: choose another campaign, or come back later.") == 1
    assert page.index("zoo") < page.index("quay") < page.index("No question is open here now")


def test_a_closed_campaign_leaves_the_list_of_those_who_hold_nothing(work: World):
    Campaign.objects.update(state=Campaign.CLOSED)
    assert "There is no work here yet" in text_of(desk.at_work(work).get("/tasks/"))


def test_consent_is_asked_once_for_a_campaign(db: None, tmp_path: Path):
    work = desk.campaign(tmp_path / "drawn", consent="We keep your answers.")
    page = desk.at_work(work).get("/tasks/")
    assert text_of(page).count("Before you begin") == 1
    assert b'href="/tasks/quay/consent/"' in page.content


def test_a_suspended_worker_is_told_why_and_what_else_there_is(work: World):
    ann = desk.at_work(work)
    desk.open_questions_for(work, q.BOX_REQUIREMENT)
    ann.get(desk.address(q.BOX_REQUIREMENT))
    ann.get(desk.address())
    Assignment.objects.filter(worker=work.workers[0]).delete()
    TrustState.objects.filter(worker=work.workers[0], kind=q.COREF_LINK).update(
        state="suspended", known=12, right=2, last="0" * 10 + "11"
    )
    assert "suspended for you" in rows(ann)[LINK]
    text = text_of(ann.get(desk.address()))
    assert "Fewer than 80 % of your checked answers were right" in text
    assert "Other tasks open to you Is there something to box?" in text


def test_who_was_taken_off_by_a_researcher_is_told_the_reason(work: World):
    ann = desk.at_work(work)
    ann.get(desk.address())
    Assignment.objects.filter(worker=work.workers[0]).delete()
    TrustState.objects.update(blocked=True, reason="please write to us")
    assert "please write to us" in rows(ann)[LINK]
    assert "please write to us" in text_of(ann.get(desk.address()))


@pytest.mark.parametrize(
    ("reported", "text"),
    [
        ({"tasks": 20}, "needs 500 finished tasks"),
        ({"tasks": 900, "approved": 0.5}, "needs an approval rate of 95 %"),
    ],
)
def test_a_reputation_that_is_not_enough_is_told(work: World, reported: dict[str, Any], text: str):
    Identity.objects.filter(worker=work.workers[0]).update(**reported)
    ann = desk.at_work(work)
    assert text in rows(ann)[LINK]
    assert text in text_of(ann.get(desk.address()))


def practise(ann: Client, error: int) -> Any:
    """Practise with `error` wrong answers; return the last page."""
    for number, item in enumerate(PRACTICE.get(q.COREF_LINK).items, 1):
        right = number > error
        answer = item.right if right else {"yes": "no", "no": "yes"}[item.right]
        ann.post(f"{desk.address()}practice/?n={number}", {"answer": answer})
    return ann.get(f"{desk.address()}practice/?n={len(PRACTICE.get(q.COREF_LINK).items) + 1}&right=5")


def test_where_there_is_no_test_practice_is_the_entry_and_most_of_it_must_be_right(tested: World):
    ann = desk.at_work(tested, read=False)
    assert "Begins with practice" in rows(ann)[LINK]
    first = ann.get(desk.address(), follow=True)
    assert "I have read this: practise" in text_of(first) and "read this: begin" not in text_of(first)
    begun = ann.post(f"{desk.address()}instructions/")
    assert begun["Location"] == f"{desk.address()}practice/"
    over = practise(ann, error=2)
    assert "More must be correct before you can begin" in text_of(over)
    assert ann.post(f"{desk.address()}instructions/")["Location"] == f"{desk.address()}practice/"
    assert b"<button>Begin</button>" in practise(ann, error=1).content
    page = ann.post(f"{desk.address()}instructions/", follow=True)
    assert b"data-answer" in page.content
    ann.post(desk.address(), form_of(tested, page))
    assert "Unchecked" in rows(ann)[LINK]
    # A worker who has worked needs no practice, in any session, and no test that is added later.
    set_test(tested)
    again = desk.at_work(tested, read=False)
    assert b"data-answer" in again.get(desk.address()).content


def test_a_test_whose_items_are_all_alike_is_told_to_be_unready(tested: World):
    set_test(tested, only="yes")
    ann = desk.at_work(tested)
    assert "which the researcher has not set up yet" in rows(ann)[LINK]
    text = text_of(ann.get(desk.address()))
    assert "which the researcher has not set up yet" in text and "Take the test" not in text


def test_a_test_is_taken_and_leads_to_the_work(tested: World):
    set_test(tested)
    ann = desk.at_work(tested)
    assert "Begins with a test of at most 2 questions" in rows(ann)[LINK]
    assert "Take the test" in rows(ann)[LINK]
    before = ann.get(desk.address())
    assert "Take the test" in text_of(before) and "Look at the photograph first" in text_of(before)
    assert f'href="{desk.address()}practice/"' in before.content.decode()
    page = ann.post(desk.address() + "test/", follow=True)
    assert "Test: question 1 of 2" in text_of(page)
    assert "Test: 0 of 2" in rows(ann)[LINK]
    page = answer_all(ann, right=True)
    assert "done today" in text_of(page)
    assert "Unchecked" in rows(ann)[LINK]
    assert "EUR" not in text_of(page).partition("done today")[2]


def test_a_failed_test_is_told_and_can_be_taken_again_three_times_in_all(tested: World):
    set_test(tested)
    ann = desk.at_work(tested)
    for attempt in range(qualification.TEST_ATTEMPTS):
        assert "Take the test" in text_of(ann.get(desk.address()))
        ann.post(desk.address() + "test/")
        page = answer_all(ann, right=False)
        if attempt < qualification.TEST_ATTEMPTS - 1:
            assert "You had 0 of 2 right in the test and 2 are needed" in text_of(page)
            assert "Take the test again" in rows(ann)[LINK]
    assert "the most allowed" in text_of(page)
    assert "the most allowed" in rows(ann)[LINK]
    page = ann.post(desk.address() + "test/", follow=True)
    assert "the most allowed" in text_of(page)


def test_a_test_is_gone_on_with_after_a_pause(tested: World):
    set_test(tested)
    ann = desk.at_work(tested)
    page = ann.post(desk.address() + "test/", follow=True)
    held = desk.hidden(page)
    ann.post(desk.address(), {**held, "act": "return"})
    Assignment.objects.filter(state=Assignment.LEASED).update(
        expires_at=database.now() - timedelta(minutes=1)
    )
    leases.end_expired_leases()
    assert "Continue the test" in rows(ann)[LINK]
    assert "Test: question 1 of 2" in text_of(ann.get(desk.address()))


def test_a_test_does_not_begin_before_consent(tested: World):
    set_test(tested)
    instructions.publish_text(
        campaign=tested.campaign, kind=instructions.CONSENT, text="We keep your answers."
    )
    ann = desk.at_work(tested)
    assert "/consent/" in ann.post(desk.address() + "test/", follow=True).redirect_chain[-1][0]
    assert not Assignment.objects.exists()


def test_the_list_costs_a_bounded_number_of_queries(work: World, django_assert_max_num_queries: Any):
    ann = desk.at_work(work)
    ann.get("/tasks/")
    with django_assert_max_num_queries(40):
        ann.get("/tasks/")


def test_without_a_campaign_there_is_a_word_about_it(db: None):

    page = world.signed_in("ann", "annotator").get("/tasks/")
    assert "There is no work here yet" in text_of(page)


def test_an_annotator_lands_on_their_tasks(work: World):
    assert desk.at_work(work).get("/", follow=True).redirect_chain == [("/tasks/", 302)]
