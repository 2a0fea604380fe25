"""Participants of Prolific: they arrive with an address, work, and return with a code."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation import instructions
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Consent,
    Identity,
    Study,
    TrustState,
    Visit,
    Worker,
)
from annotation.moderation import worker_status
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.quality import worker_trust
from annotation.web.common import limits
from annotation.workers import platform_visits, pseudonyms, sessions
from annotation.workers.accounts import granting
from tests.crowd import platform
from tests.crowd.platform import ANN, BOB, FIRST, SECOND, account_in, come, visit, work_as
from tests.queue.world import World
from tests.trust.test_qualification import examining, take_test
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db
BACK = "Back to Prolific, with the code"


# Arrival


def test_a_participant_is_a_worker_under_a_pseudonym(work: World):
    client = come()
    account = account_in(client)
    identity = Identity.objects.get()
    assert (identity.provider, identity.external_id) == ("prolific", ANN)
    assert account.username == identity.worker.pseudonym and not account.has_usable_password()
    assert ANN not in words(client.get(reverse("tasks"))) and "quay" in words(client.get(reverse("tasks")))


def test_who_comes_again_is_the_same_worker(work: World):
    come()
    come()
    come(submission=SECOND)
    assert Worker.objects.filter(identity__provider="prolific").count() == 1
    assert Visit.objects.count() == 2


def test_another_participant_in_the_same_browser_is_somebody_else(work: World):
    client = come()
    ann = account_in(client)
    session = client.session
    session["instructions_read"] = {"left by": 1}
    session.save()
    come(BOB, SECOND, client)
    assert account_in(client) != ann
    assert "instructions_read" not in client.session


def test_a_researcher_who_tries_the_address_is_signed_out_first(work: World):
    client = people.signed_in("ada", "researcher")
    come(client=client)
    assert account_in(client).username != "ada"
    assert client.get(reverse("entry", args=["quay"])).status_code == 403


def test_consent_comes_before_the_first_task(work: World):
    instructions.publish_text(campaign=work.campaign, kind=instructions.CONSENT, text="You agree to be kind.")
    client = Client()
    consent = reverse("task_consent", args=["quay"])
    assert client.get(platform.signed())["Location"] == consent
    task = reverse("task", args=["quay", q.COREF_LINK])
    assert client.get(task)["Location"].startswith(consent)
    press(client, consent, "I agree")
    assert Consent.objects.count() == 1
    assert client.get(platform.signed())["Location"] == reverse("tasks")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "incomplete"),
        ("?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID=x&SESSION_ID=y", "incomplete"),
        (f"?PROLIFIC_PID={ANN}&STUDY_ID={platform.STUDY}", "incomplete"),
        (f"?PROLIFIC_PID={ANN}'--&STUDY_ID={platform.STUDY}&SESSION_ID={FIRST}", "incomplete"),
        (f"?PROLIFIC_PID={ANN}&STUDY_ID={BOB}&SESSION_ID={FIRST}", "not been added here yet"),
    ],
)
def test_an_address_that_is_none_is_refused_with_the_next_step(work: World, query: str, message: str):
    answer = Client().get(reverse("prolific", args=["quay"]) + query)
    assert answer.status_code == 403 and message in words(answer)
    assert not Identity.objects.exists() and not Account.objects.exists()


def test_a_study_leads_to_its_own_campaign_only(work: World):
    World(name="other")
    answer = Client().get(platform.signed(name="other"))
    assert answer.status_code == 403 and "not been added here yet" in words(answer)
    assert Client().get(platform.signed(name="nothing")).status_code == 404


def test_a_submission_of_somebody_else_is_refused(work: World):
    come(ANN, FIRST)
    answer = Client().get(platform.signed(BOB, FIRST))
    assert answer.status_code == 403 and "somebody else" in words(answer)


def test_an_address_lets_nobody_into_an_account_of_staff(work: World):
    account_in(come()).roles.create(role="researcher")
    client = Client()
    answer = client.get(platform.signed())
    assert answer.status_code == 403 and "Sign in with its password" in words(answer)
    assert "_auth_user_id" not in client.session


def test_a_suspended_account_is_not_let_in(work: World):
    Account.objects.filter(pk=account_in(come()).pk).update(is_active=False)
    assert Client().get(platform.signed()).status_code == 403


def test_accounts_are_not_made_without_end(work: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "ENTRY_ADDRESS", limits.ENTRY_ADDRESS._replace(most=1))
    come()
    assert Client().get(platform.signed(BOB, SECOND)).status_code == 429
    come()


def test_from_whom_the_role_was_taken_it_stays_taken(work: World):
    work.campaign.open_to_all = False
    work.campaign.save()
    account = account_in(come())
    assert [grant.campaign for grant in account.roles.all()] == [work.campaign]
    granting.revoke_role(account=account, role="annotator", campaign=work.campaign)
    come()
    assert not account.roles.exists()


# Working and returning


def test_a_visitor_sees_only_the_campaign_they_came_for(work: World):
    World(name="elsewhere")
    page = words(come().get(reverse("tasks")))
    assert "quay" in page and "elsewhere" not in page


def test_there_is_no_code_while_there_is_work(work: World):
    client = come()
    page = words(client.get(reverse("visit")))
    assert "0 of 2" in page and "C0MPLETE" not in page
    assert "There is work left" in messages_on(client.post(reverse("finish_visit"), follow=True))[0]
    assert visit().outcome == ""


def test_enough_answers_lead_back_with_the_completion_code(work: World):
    client = come()
    work_as(work, answers=2)
    task = reverse("task", args=["quay", q.COREF_LINK])
    assert client.get(task)["Location"] == reverse("visit")
    assert "C0MPLETE" in words(client.get(reverse("visit")))
    answer = client.post(reverse("finish_visit"))
    assert answer["Location"] == "https://app.prolific.com/submissions/complete?cc=C0MPLETE"
    assert visit().outcome == "complete"


def test_going_back_twice_is_going_back_once(work: World):
    client = come()
    work_as(work, answers=2)
    first = client.post(reverse("finish_visit"))["Location"]
    ended = visit().ended_at
    assert client.post(reverse("finish_visit"))["Location"] == first
    assert visit().ended_at == ended


def test_nothing_is_handed_out_beyond_what_was_asked(work: World):
    client = come()
    work_as(work, answers=1)
    held = work.held(-1)
    answer = client.get(
        reverse("task", args=["quay", q.COREF_LINK]), {"part": "task", "holding": str(held.id)}
    )
    assert answer.json() == {"nothing": "done"}


def test_what_is_in_hand_when_one_goes_back_is_given_back(work: World):
    client = come()
    work_as(work, answers=1)
    held = work.held(-1)
    Study.objects.update(answers_required=1)
    client.post(reverse("finish_visit"))
    assert Assignment.objects.get(pk=held.id).state == Assignment.RETURNED


def test_answers_before_the_visit_and_of_tests_do_not_count(work: World):
    come()
    work_as(work, answers=2)
    come(submission=SECOND)
    assert (
        platform_visits.answers_of_visit(visit()) == 2
        and platform_visits.answers_of_visit(visit(SECOND)) == 0
    )
    Assignment.objects.update(role="qualification")
    assert platform_visits.answers_of_visit(visit()) == 0


def test_some_answers_are_enough_where_nothing_is_left(work: World):
    client = come()
    work_as(work, answers=1)
    Campaign.objects.update(state=Campaign.PAUSED)
    page = words(client.get(reverse("visit")))
    assert "you are done" in page and "C0MPLETE" in page
    task = reverse("task", args=["quay", q.COREF_LINK])
    assert client.get(task)["Location"] == reverse("visit")


def test_who_found_nothing_at_all_gets_the_other_code(work: World):
    Campaign.objects.update(state=Campaign.PAUSED)
    client = come()
    page = words(client.get(reverse("visit")))
    assert "no work for you now" in page and "SCREEN0UT" in page and "C0MPLETE" not in page
    client.post(reverse("finish_visit"))
    assert "did not pass" not in words(client.get(reverse("visit")))


def suspend(kinds: Any = q.QUESTIONS) -> None:
    """Suspend the visitor from these kinds."""
    campaign = Campaign.objects.get(name="quay")
    for kind in kinds:
        trust = settings_of(campaign.settings).trust
        worker_trust.join_campaign(
            worker=visit().identity.worker_id, campaign=campaign, kind=kind, settings=trust
        )
    TrustState.objects.filter(kind__in=kinds).update(state="suspended")


def test_who_is_suspended_goes_back_screened_out(work: World):
    client = come()
    suspend()
    task = reverse("task", args=["quay", q.COREF_LINK])
    assert client.get(task)["Location"] == reverse("visit")
    page = client.get(reverse("visit"))
    assert "Your visit ends here" in words(page) and "C0MPLETE" not in words(page)
    answer = client.post(reverse("finish_visit"))
    assert answer["Location"].endswith("?cc=SCREEN0UT")
    assert visit().outcome == "screened_out"


def test_a_suspension_from_one_kind_leaves_the_others(work: World):
    client = come()
    suspend([q.BOX_DRAWING])
    assert (
        "0 of 2" in words(client.get(reverse("visit")))
        and platform_visits.visit_progress(visit()).state == platform_visits.WORKING
    )


def test_who_failed_the_test_may_take_it_again_or_go_back():
    world = examining()
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    platform.prolific_study(world)
    client = come()
    world.workers.append(visit().identity.worker_id)
    # They are removed from all other open kinds: without items for its test a kind would be open to them.
    for kind in q.QUESTIONS[1:]:
        worker_status.suspend_worker(campaign=world.campaign, worker=world.workers[-1], kind=kind)
    assert platform_visits.visit_progress(visit()).state == platform_visits.WORKING
    take_test(world, right=0, worker=-1)
    reached = platform_visits.visit_progress(visit())
    assert (reached.state, reached.code, reached.again) == (platform_visits.SCREENED_OUT, "SCREEN0UT", True)
    assert "take the test again instead" in words(client.get(reverse("visit")))
    task = reverse("task", args=["quay", q.COREF_LINK])
    failed = client.get(task)
    assert "take the test again, or end your visit" in words(failed) and "End my visit" in words(failed)
    for _ in range(2):
        take_test(world, right=0, worker=-1)
    assert not platform_visits.visit_progress(visit()).again
    assert client.get(task)["Location"] == reverse("visit")


def test_the_way_back_stands_at_the_end_of_a_task_and_where_there_is_nothing_to_do(work: World):
    client = come()
    task, way = reverse("task", args=["quay", q.COREF_LINK]), "My visit: progress and way back"
    client.post(reverse("task_instructions", args=["quay", q.COREF_LINK]))
    page = client.get(task)
    assert "data-answer" in page.content.decode() and way in words(page)
    assert way not in words(client.get(f"{task}?part=task&holding=0"))
    nothing = words(client.get(reverse("task", args=["quay", q.BOX_QUALITY])))
    assert "You have answered 0 of 2 questions." in nothing and way in nothing
    nobody = people.signed_in("olga", "annotator")
    nobody.post(reverse("task_instructions", args=["quay", q.COREF_LINK]))
    for kind in (q.COREF_LINK, q.BOX_QUALITY):
        assert way not in words(nobody.get(reverse("task", args=["quay", kind])))


def test_without_a_code_one_is_told_what_to_do(work: World):
    Study.objects.update(completion_code="")
    client = come()
    work_as(work, answers=2)
    page = client.get(reverse("visit"))
    assert "no code for this" in words(page) and BACK not in words(page)


def test_only_the_page_of_a_visit_lets_a_form_lead_to_prolific(work: World):
    client = come()
    policy = client.get(reverse("visit")).headers["Content-Security-Policy"]
    assert "form-action 'self' https://app.prolific.com" in policy
    assert "prolific" not in client.get(reverse("tasks")).headers["Content-Security-Policy"]


def test_who_did_not_come_from_a_platform_has_no_visit(work: World):
    client = people.signed_in("olga", "annotator")
    assert client.get(reverse("visit"))["Location"] == reverse("tasks")
    assert client.post(reverse("finish_visit"))["Location"] == reverse("tasks")


def test_a_visit_of_another_is_not_shown(work: World):
    come()
    client = people.signed_in("olga", "annotator")
    session = client.session
    session[sessions.VISIT] = visit().pk
    session.save()
    assert client.get(reverse("visit"))["Location"] == reverse("tasks")


def test_erasing_a_worker_erases_what_the_platform_knows_them_by(work: World):
    come()
    pseudonyms.erase_worker(worker=visit().identity.worker)
    assert not Visit.objects.exists() and not Identity.objects.exists()
