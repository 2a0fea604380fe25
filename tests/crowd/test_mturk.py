"""Workers of Mechanical Turk: a framed page without cookies, and the tasks in a separate window."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotation import instructions
from annotation.models import Account, Bonus, Identity, Study, Visit
from annotation.protocol import questions as q
from annotation.recruitment import mturk
from annotation.workers import approvals, platform_visits
from tests.crowd import platform
from tests.crowd.platform import TURK, turk_address
from tests.factories import some_images
from tests.queue.world import World
from tests.web.staff import forms, press, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def work() -> World:
    world = World(some_images(4))
    instructions.publish_text(
        campaign=world.campaign, kind=instructions.CONSENT, text="You agree to be kind."
    )
    platform.turk_study(world)
    return world


def way_of(page: Any) -> str:
    match = re.search(r'href="(/mturk/quay/begin/[^"]+)"', page.content.decode())
    assert match
    return match[1]


def window(page: Any) -> Client:
    """Return the window that the framed page opens."""
    client = Client()
    assert client.get(way_of(page)).status_code == 302
    return client


def worked(work: World, answers: int = 1) -> Client:
    """Return a worker's window, after consent and answers."""
    client = window(Client().get(turk_address()))
    press(client, reverse("task_consent", args=["quay"]), "I agree")
    work.workers.append(Visit.objects.get().identity.worker_id)
    for _ in range(answers):
        work.submit(-1, work.held(-1, q.COREF_LINK), then=False)
    return client


def test_before_the_hit_is_accepted_there_are_the_instructions_and_nothing_is_stored(work: World):
    for address in (
        turk_address(assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE"),
        reverse("mturk", args=["quay"]),
    ):
        page = Client().get(address)
        text = instructions.current_text(campaign=work.campaign, kind=q.COREF_LINK)
        assert text.paragraphs[0].text in words(page)
        assert "Accept it to begin" in words(page) and "/begin/" not in page.content.decode()
    assert not Identity.objects.exists()


def test_looking_at_the_hit_makes_no_account(work: World):
    Client().get(turk_address())
    assert not Account.objects.exists()


def test_the_window_signs_in_and_asks_for_consent_first(work: World):
    client = Client()
    answer = client.get(way_of(Client().get(turk_address())))
    assert answer["Location"] == reverse("task_consent", args=["quay"])
    assert Identity.objects.get().provider == "mturk"
    assert Visit.objects.get().participant == TURK["workerId"]


def test_the_framed_page_needs_no_cookie_to_know_how_far_one_is(work: World):
    Study.objects.update(answers_required=2)
    worked(work)
    page = words(Client().get(turk_address()))
    assert "1 of 2 questions" in page and "Continue with the tasks" in page


def test_who_is_finished_hands_in_at_the_market_they_came_from(work: World):
    client = worked(work)
    assert "Finish in the tasks window" in words(Client().get(turk_address()))
    page = press(client, reverse("visit"), "I am finished")
    assert "Refresh" in words(page)
    framed = Client().get(turk_address())
    (form,) = forms(framed)
    assert form.action == "https://workersandbox.mturk.com/mturk/externalSubmit" and form.method == "post"
    assert form.fields == {"assignmentId": [TURK["assignmentId"]], "code": ["well-done"]}


def test_who_is_not_finished_cannot_hand_in(work: World):
    Study.objects.update(answers_required=2)
    worked(work)
    assert forms(Client().get(turk_address())) == []


def test_who_is_screened_out_without_a_code_is_told_to_return_the_hit(work: World):
    client = window(Client().get(turk_address()))
    press(client, reverse("task_consent", args=["quay"]), "I agree")
    work.campaign.state = "paused"
    work.campaign.save()
    page = Client().get(turk_address())
    assert "Return the HIT" in words(page) and forms(page) == []
    assert "Return the HIT" in words(client.get(reverse("visit")))


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://www.mturk.com.evil.example",
        "http://www.mturk.com",
        "https://evil.example",
        "javascript:alert(1)",
        "",
    ],
)
def test_nobody_else_is_handed_anything(work: World, elsewhere: str):
    page = Client().get(turk_address(turkSubmitTo=elsewhere))
    assert page.status_code == 403
    assert "evil" not in page.content.decode()


@pytest.mark.parametrize("field", ["workerId", "assignmentId", "hitId"])
def test_an_id_that_is_none_is_refused(work: World, field: str):
    page = Client().get(turk_address(**{field: '"><script>'}))
    assert page.status_code == 403 and "incomplete" in words(page)


def test_the_way_in_is_good_for_one_worker_and_a_day(work: World, monkeypatch: pytest.MonkeyPatch):
    way = way_of(Client().get(turk_address()))
    assert Client().get(way.replace("/begin/", "/begin/x")).status_code == 403
    monkeypatch.setattr(mturk, "FRAMED_LINK_LIFETIME", -1)
    answer = Client().get(way)
    assert answer.status_code == 403 and "has expired" in words(answer)
    assert not Account.objects.exists()


def test_a_campaign_without_such_a_study_is_not_offered(work: World):
    World(name="other")
    assert Client().get(reverse("mturk", args=["other"])).status_code == 403
    assert Client().get(reverse("mturk", args=["nothing"])).status_code == 404


def test_an_assignment_of_another_worker_is_not_shown(work: World):
    worked(work)
    page = Client().get(turk_address(workerId="A9SOMEBODY"))
    assert "0 of" not in words(page) and forms(page) == []


@pytest.mark.parametrize(
    "about", [{}, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, {"turkSubmitTo": "x"}]
)
def test_only_mturk_may_frame_this_page_and_no_other(work: World, about: dict[str, str]):
    headers = Client().get(turk_address(**about)).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["frame-ancestors"] == "https://worker.mturk.com https://workersandbox.mturk.com"
    assert policy["form-action"] == "https://www.mturk.com https://workersandbox.mturk.com"
    assert "X-Frame-Options" not in headers
    elsewhere = Client().get(reverse("sign_in")).headers
    assert "frame-ancestors 'none'" in elsewhere["Content-Security-Policy"]


def test_the_framed_page_sets_no_cookie(work: World):
    assert not Client().get(turk_address()).cookies


def test_a_worker_who_comes_by_two_hits_in_one_browser_is_one_worker_with_two_visits(work: World):
    client = window(Client().get(turk_address()))
    client.get(way_of(Client().get(turk_address(assignmentId="3OTHER"))))
    assert Identity.objects.count() == 1 and Visit.objects.count() == 2
    assert {platform_visits.visit_progress(visit).answered for visit in Visit.objects.all()} == {0}


def test_a_person_who_is_two_workers_here_is_owed_what_both_are_due(work: World):
    for assignment, amount in (("3FIRST", 1_500_000), ("3SECOND", 250_000), ("3THIRD", 0)):
        window(Client().get(turk_address(assignmentId=assignment)))
        visit = Visit.objects.get(external_id=assignment)
        if amount:
            Bonus.objects.create(
                campaign=work.campaign, worker=visit.identity.worker, amount=amount, reason="patience"
            )
    assert Identity.objects.count() == 3
    Visit.objects.update(outcome=Visit.COMPLETE, ended_at=F("begun_at"))
    written = io.StringIO()
    approvals.write_approvals(campaign=work.campaign, provider="mturk", what="bonuses", file=written)
    (line,) = csv.DictReader(io.StringIO(written.getvalue()))
    assert (line["WorkerId"], line["BonusAmount"], line["AssignmentId"]) == (
        *(TURK["workerId"], "1.75", "3THIRD"),
    )
