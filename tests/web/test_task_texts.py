"""The first texts for annotators: instructions, and the text of the consent."""

from __future__ import annotations

from pathlib import Path

from annotation import instructions
from annotation.models import Assignment, Judgment
from annotation.protocol import questions as q
from tests.queue.world import World
from tests.web import desk
from tests.web.desk import form_of, text_of


def test_instructions_come_before_the_first_task_and_once(work: World):
    ann = desk.at_work(work, read=False)
    first = ann.get(desk.address())
    assert (first.status_code, first["Location"]) == (303, desk.address() + "instructions/")
    page = ann.get(first["Location"])
    assert "Do the two phrases refer to exactly the same" in text_of(page)
    assert ann.post(first["Location"])["Location"] == desk.address()
    assert ann.get(desk.address()).status_code == 200


def test_who_has_answered_under_these_instructions_need_not_read_them_again(work: World):
    ann = desk.at_work(work)
    ann.post(desk.address(), form_of(work, ann.get(desk.address())))
    later = desk.at_work(work, read=False)
    assert later.get(desk.address()).status_code == 200


def test_new_instructions_are_read_first_and_stand_on_the_page(work: World):
    ann = desk.at_work(work)
    instructions.publish_text(
        campaign=work.campaign, kind=q.COREF_LINK, text="Look twice.\n\nGood: two looks."
    )
    assert ann.get(desk.address()).status_code == 303
    page = ann.post(desk.address() + "instructions/", follow=True)
    assert "Look twice." in text_of(page)
    form = form_of(work, page)
    ann.post(desk.address(), form)
    assert Judgment.objects.get().instructions == 1


def test_consent_is_asked_first_and_once(db: None, tmp_path: Path):
    work = desk.campaign(tmp_path / "drawn", consent="We keep your answers.")
    ann = desk.at_work(work)
    response = ann.get(desk.address())
    assert (response.status_code, response["Location"]) == (303, "/tasks/quay/consent/?kind=coref_link")
    page = ann.get(response["Location"])
    assert "We keep your answers." in text_of(page)
    assert not Assignment.objects.exists()
    assert ann.post(response["Location"], {"version": "1"})["Location"] == desk.address()
    assert ann.get(desk.address()).status_code == 200
    assert "You have agreed to this" in text_of(ann.get("/tasks/quay/consent/"))


def test_who_agrees_to_an_older_text_reads_the_new_one(db: None, tmp_path: Path):
    work = desk.campaign(tmp_path / "drawn", consent="We keep your answers.")
    ann = desk.at_work(work)
    instructions.publish_text(campaign=work.campaign, kind=instructions.CONSENT, text="And we publish them.")
    page = ann.post("/tasks/quay/consent/", {"version": "1"}, follow=True)
    assert "The text has changed" in text_of(page) and "And we publish them." in text_of(page)
    assert ann.get(desk.address()).status_code == 303
