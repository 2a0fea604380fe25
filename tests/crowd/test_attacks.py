"""Attack scripts: an attacker who knows the ids of a participant.

Each is tried with every configuration of a server: no confirmation, webhooks, the API, signed links.
docs/entry.md describes what an attacker can do who knows all three ids, if links are not signed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import instructions
from annotation.models import (
    Account,
    Assignment,
    AuditEntry,
    Identity,
    Judgment,
    PlatformReport,
    Study,
    TrustState,
    Visit,
    Worker,
)
from annotation.protocol import questions as q
from annotation.workers import confirmation, payments, platform_visits, prolific_api
from phrasebox.errors import PhraseboxError
from tests.crowd import platform
from tests.crowd.platform import ANN, BOB, FIRST, SECOND, account_in, arrive, come, report_state, visit
from tests.factories import some_images
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db
INVENTED = "61c0ffee00000000deadbeef"
NOTHING, WEBHOOK, API, LINKS = "nothing", "webhook", "api", "links"
#: For what only webhooks show.
WEBHOOKS = pytest.mark.parametrize("way", [WEBHOOK], indirect=True)


@pytest.fixture
def itself(monkeypatch: pytest.MonkeyPatch) -> Iterator[platform.Server]:
    """Prolific's API, which knows the submissions of the two real participants."""
    with platform.prolific_itself() as server:
        server.knows(FIRST, ANN)
        server.knows(SECOND, BOB)
        monkeypatch.setattr(prolific_api, "PROLIFIC_API", server.address)
        yield server


@pytest.fixture(params=[NOTHING, WEBHOOK, API, LINKS])
def way(request: pytest.FixtureRequest, settings: Any, itself: platform.Server) -> str:
    """The server's configuration; it knows Ann from an earlier study."""
    settings.PROLIFIC_JWKS = platform.KEY_SET
    settings.PROLIFIC_WEBHOOK_SECRET = platform.SECRET if request.param == WEBHOOK else ""
    settings.PROLIFIC_API_TOKEN = platform.API_TOKEN if request.param == API else ""
    settings.PROLIFIC_SIGNED_LINKS = request.param == LINKS
    result: str = request.param
    return result


@pytest.fixture
def ann(way: str) -> tuple[World, Client]:
    """Ann herself, after consent and answers."""
    world = World(some_images(6))
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    platform.prolific_study(world)
    client = come()
    platform.work_as(world, answers=2)
    Assignment.objects.update(pay=2_000_000)
    Identity.objects.filter(external_id=ANN).update(tasks=900, approved=0.99)
    return world, client


def attack(way: str, who: str = ANN, submission: str = INVENTED) -> Client | None:
    """Try an address that the attacker wrote; return None if it is refused."""
    client = Client()
    answer = client.get(platform.address(who, submission))
    if way == LINKS:
        assert answer.status_code == 403 and "has not signed this link" in words(answer)
        return None
    assert answer.status_code == 302, words(answer)
    return client


def answers(world: World, submission: str, count: int = 2, who: str = "") -> None:
    world.workers.append(visit(submission, who).identity.worker_id)
    for _ in range(count):
        world.submit(-1, world.held(-1, q.COREF_LINK), then=False)


# An invented session id, with the id of a participant who is known


def test_an_invented_submission_reads_nothing_of_the_participant(ann: tuple[World, Client], way: str):
    theirs = account_in(ann[1])
    client = attack(way)
    if client is None:
        assert Account.objects.count() == Visit.objects.count() == 1
        return
    assert account_in(client) != theirs
    for route in ("account", "own_answers"):
        answer = client.get(reverse(route))
        assert answer.status_code == 403 and "This sign-in opens only the tasks" in words(answer)
        assert theirs.username not in words(answer)
    seen = words(client.get(reverse("tasks"))) + words(client.get(reverse("visit")))
    assert theirs.username not in seen and "0 of 2" in seen
    worker = Worker.objects.get(identity__account=account_in(client))
    assert not Judgment.objects.filter(worker=worker).exists() and worker.pseudonym != theirs.username


def test_an_invented_submission_changes_and_erases_nothing(ann: tuple[World, Client], way: str):
    theirs = account_in(ann[1])
    client = attack(way)
    if client is None:
        return
    for item in (client, ann[1]):
        # Not even if the session is the participant's own: an address is not a password.
        for route, fields in (
            ("account_mail", {"email": "eve@example.org"}),
            ("erase_me", {"sure": "yes", "texts": "yes"}),
            ("password_change", {"old_password": "", "new_password1": "x" * 12, "new_password2": "x" * 12}),
        ):
            assert item.post(reverse(route), fields).status_code == 403
    theirs.refresh_from_db()
    assert theirs.email == "" and not theirs.has_usable_password()
    assert Identity.objects.get(account=theirs).external_id == ANN
    assert not Account.objects.exclude(email="").exists()


def test_an_invented_submission_has_nothing_of_the_participants_history(ann: tuple[World, Client], way: str):
    world = ann[0]
    theirs = Worker.objects.get(identity__external_id=ANN)
    before = list(TrustState.objects.filter(worker=theirs).order_by("pk").values())
    client = attack(way)
    if client is None:
        return
    answers(world, INVENTED)
    worker = visit(INVENTED).identity.worker
    assert worker != theirs and visit(INVENTED).identity.external_id == ""
    assert list(TrustState.objects.filter(worker=theirs).order_by("pk").values()) == before
    ours = TrustState.objects.get(worker=worker, kind=q.COREF_LINK)
    assert ours.items == 2 and ours.entered_tasks is None


def test_an_invented_submission_gets_no_code(ann: tuple[World, Client], way: str):
    client = attack(way)
    if client is None:
        return
    answers(ann[0], INVENTED)
    page = words(client.get(reverse("visit")))
    finished = client.post(reverse("finish_visit"), follow=False)
    if way == NOTHING:
        # If nothing can confirm participants, codes are shown as before, and the page of the study says so.
        assert visit(INVENTED).verification == "unverified" and "C0MPLETE" in page
        return
    assert "C0MPLETE" not in page and "You get your code once the platform has confirmed you" in page
    assert finished["Location"] == reverse("visit") and visit(INVENTED).outcome == ""
    reached = platform_visits.visit_progress(visit(INVENTED))
    assert (reached.state, reached.code) == (platform_visits.DONE, "")


def test_an_invented_submission_is_not_paid(ann: tuple[World, Client], way: str):
    world = ann[0]
    client = attack(way)
    if client is None or way == NOTHING:
        return
    answers(world, INVENTED)
    worker = visit(INVENTED).identity.worker
    Assignment.objects.filter(worker=worker).update(pay=3_000_000)
    with pytest.raises(PhraseboxError, match="has not confirmed"):
        payments.pay(worker=worker.pk, campaign=world.campaign, amount=1)
    paid = payments.pay_all_due(campaign=world.campaign, reference="may")
    assert [payout.worker.identity.external_id for payout in paid] == [ANN]
    out = StringIO()
    call_command("list_dues", "quay", stdout=out)
    assert "left out: 1 whom their platform has not confirmed, with 6.00" in out.getvalue()


def test_an_invented_submission_stands_in_the_way_of_nobody(ann: tuple[World, Client], way: str):
    """However many invent ids: the participant comes, works on, and gets their code."""
    world, client = ann
    for number in range(3):
        attack(way, submission=f"{INVENTED[:-1]}{number}")
        attack(way, who=BOB, submission=f"{INVENTED[:-2]}a{number}")
    assert "C0MPLETE" in words(client.get(reverse("visit")))
    report_state("ACTIVE", SECOND, BOB)
    bob = come(BOB, SECOND)
    answers(world, SECOND)
    assert "C0MPLETE" in words(bob.get(reverse("visit")))
    assert Identity.objects.filter(external_id__in=[ANN, BOB]).count() == 2


# Somebody else's submission


def test_whose_submission_is_known_is_not_taken_over(ann: tuple[World, Client], way: str):
    for who in (ANN, BOB):
        answer = Client().get(platform.address(who, FIRST))
        assert answer.status_code == 403, "Ann came by a signed link: an unsigned one is somebody else's"
    assert "_auth_user_id" in ann[1].session and Visit.objects.get().verification == "confirmed"


def test_who_comes_first_with_the_ids_of_another_is_put_out_when_that_one_comes(way: str, itself: Any):
    """An unconfirmed visit does not block, end or take over a confirmed one."""
    world = World(some_images(4))
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    platform.prolific_study(world)
    itself.submissions.clear()
    thief = Client()
    thief.get(platform.address(BOB, FIRST))  # with their own id and Ann's submission
    copy = Client()
    copy.get(platform.address(ANN, FIRST))  # with both of Ann's
    client = come(ANN, FIRST)
    assert visit(FIRST, ANN) if way == LINKS else Visit.objects.filter(verification="refused").count() == 2
    confirmed = Visit.objects.get(verification="confirmed")
    assert confirmed.identity.account == account_in(client) and confirmed.participant == ANN
    for item in (thief, copy):
        assert item.get(reverse("tasks"))["Location"].startswith(reverse("sign_in"))
        assert item.get("/api/tasks").status_code == 401
    assert Client().get(platform.address(BOB, FIRST)).status_code == 403


@WEBHOOKS
def test_the_webhook_puts_out_who_claims_anothers_submission(ann: tuple[World, Client], way: str):
    thief = arrive(ANN, SECOND)
    answers(ann[0], SECOND)
    bob = arrive(BOB, SECOND)
    assert report_state("ACTIVE", SECOND, BOB).json() == {"changed": True}
    assert visit(SECOND, ANN).verification == "refused" and visit(SECOND, BOB).verification == "confirmed"
    assert thief.get(reverse("visit"))["Location"].startswith(reverse("sign_in"))
    assert bob.get(reverse("visit")).status_code == 200
    # Permanently, whatever is reported later.
    report_state("ACTIVE", SECOND, ANN)
    assert visit(SECOND, ANN).verification == "refused"
    assert Client().get(platform.address(ANN, SECOND)).status_code == 403


@WEBHOOKS
def test_one_submission_is_of_one_study(ann: tuple[World, Client], way: str):
    world = World(name="other")
    platform_visits.save_study(
        campaign=world.campaign, provider="prolific", external_id=BOB, answers_required=1
    )
    arrive(BOB, SECOND)
    report_state("ACTIVE", SECOND, BOB)
    answer = Client().get(platform.address(BOB, SECOND, study=BOB, name="other"))
    assert answer.status_code == 403 and "somebody else" in words(answer)


# Forged news


@pytest.mark.parametrize(
    "forged",
    [
        {"secret": "guessed"},
        {"secret": ""},
        {"sent_at": time.time() - 86_400},
        {"who": BOB},
        {"submission": SECOND},
    ],
)
@WEBHOOKS
def test_a_forged_webhook_confirms_nobody(ann: tuple[World, Client], way: str, forged: dict[str, Any]):
    arrive(ANN, INVENTED)
    report_state("ACTIVE", **{"submission": INVENTED, "who": ANN, **forged})
    assert visit(INVENTED).verification in ("waiting", "refused")
    assert Identity.objects.filter(external_id=ANN).count() == 1


# Links


def forged(case: str) -> str:
    """Return a link that Prolific did not sign, or not for this study."""
    now = int(time.time())
    mine = {"PROLIFIC_PID": BOB, "STUDY_ID": platform.STUDY, "SESSION_ID": SECOND}
    public = platform.THEIRS.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    claims = jwt.decode(platform.token(), options={"verify_signature": False})
    return {
        "another key": lambda: platform.token(key=platform.FORGED),
        "no signature": lambda: jwt.encode(claims, "", algorithm="none", headers={"kid": "theirs"}),
        # The public key used as a shared secret: by hand, as libraries refuse to.
        "their public key as a secret": lambda: by_secret(claims, public),
        "expired": lambda: platform.token(exp=now - 60),
        "not yet": lambda: platform.token(nbf=now + 600),
        "no expiry": lambda: platform.token(exp=None),
        "another site": lambda: platform.token(aud="https://elsewhere.example/prolific/quay/"),
        "no site": lambda: platform.token(aud=None),
        "another issuer": lambda: platform.token(iss="https://prolific.com.evil.example"),
        "another study": lambda: platform.token(study=BOB),
        "of another participant": lambda: platform.token(BOB, FIRST),
        "of another submission": lambda: platform.token(ANN, SECOND),
        "one's own": lambda: platform.token(prolific=mine),
        "no ids": lambda: platform.token(prolific=None),
        "ids that are none": lambda: platform.token(prolific=[ANN]),
        "an unknown key": lambda: jwt.encode(claims, platform.FORGED, "RS256", headers={"kid": "mine"}),
        "no token at all": lambda: "a.b.c",
        "too long": lambda: "a" * 9000,
    }[case]()


def by_secret(claims: dict[str, Any], secret: bytes) -> str:
    signing = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    reference = jwt.encode(claims, "x" * 32, algorithm="HS256", headers={"kid": "theirs"}).rsplit(".", 1)[0]
    return f"{reference}.{jwt.utils.base64url_encode(signing.sign(reference.encode(), secret)).decode()}"


CASES = (
    *("another key", "no signature", "their public key as a secret", "expired", "not yet", "no expiry"),
    *("another site", "no site", "another issuer", "another study", "of another participant"),
    *("of another submission", "one's own", "no ids", "ids that are none", "an unknown key"),
    *("no token at all", "too long"),
)


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_a_link_that_prolific_did_not_sign_for_this_lets_nobody_in(
    work: World, settings: Any, case: str, required: bool
):
    settings.PROLIFIC_SIGNED_LINKS = required
    answer = Client().get(f"{platform.address()}&prolific_token={forged(case)}")
    assert answer.status_code == 403 and "has not signed this link" in words(answer)
    assert not Account.objects.exists() and not Visit.objects.exists()


def test_a_link_is_good_once_and_in_the_browser_that_opened_it(work: World):
    link = platform.signed()
    first = Client()
    assert first.get(link).status_code == 302 and first.get(link).status_code == 302
    replayed = Client()
    answer = replayed.get(link)
    assert answer.status_code == 403 and "has already been used" in words(answer)
    assert "_auth_user_id" not in replayed.session
    # Prolific signs again when the study is opened there again.
    assert replayed.get(platform.signed()).status_code == 302


def test_an_old_link_still_leads_back_in_the_same_browser(work: World):
    client = come()
    expired = platform.token(exp=int(time.time()) - 600)
    assert client.get(f"{platform.address()}&prolific_token={expired}").status_code == 302


def test_the_keys_are_fetched_once_and_links_wait_where_they_do_not_come(
    work: World, settings: Any, itself: platform.Server, monkeypatch: pytest.MonkeyPatch
):
    settings.PROLIFIC_JWKS, settings.PROLIFIC_SIGNED_LINKS = None, True
    monkeypatch.setattr(prolific_api, "KEYS", prolific_api._Keys())
    itself.status = 503
    answer = Client().get(platform.signed())
    assert answer.status_code == 503 and "cannot be checked right now" in words(answer)
    assert not Visit.objects.exists()
    itself.status = 200
    monkeypatch.setattr(prolific_api, "ASK_AGAIN", -1)
    come()
    come(BOB, SECOND)
    assert itself.requested_paths.count("/.well-known/study/jwks.json") == 2
    assert set(Visit.objects.values_list("verified_by", flat=True)) == {"link"}


# The API


def test_the_api_confirms_on_arrival(work: World, settings: Any, itself: platform.Server):
    settings.PROLIFIC_API_TOKEN = platform.API_TOKEN
    client = arrive()
    assert (visit().verification, visit().verified_by) == ("confirmed", "api")
    platform.work_as(work, answers=2)
    assert "C0MPLETE" in words(client.get(reverse("visit")))


@pytest.mark.parametrize(
    "known", [{"who": BOB}, {"study": BOB}, {"status": "RETURNED"}, {"status": "TIMED-OUT"}]
)
def test_the_api_refuses_at_the_door(work: World, settings: Any, itself: Any, known: dict[str, str]):
    settings.PROLIFIC_API_TOKEN = platform.API_TOKEN
    itself.knows(FIRST, **{"who": ANN, **known})
    assert Client().get(platform.address()).status_code == 403
    assert not Visit.objects.exists() and not Account.objects.exists()


def test_who_the_api_says_nothing_of_waits_and_is_asked_about_later(
    work: World, settings: Any, itself: platform.Server, later: Any
):
    settings.PROLIFIC_API_TOKEN, settings.PROLIFIC_WEBHOOK_SECRET = platform.API_TOKEN, ""
    itself.status = 503
    client = arrive()
    platform.work_as(work, answers=2)
    assert visit().verification == "waiting"
    assert client.get(reverse("visit"), {"part": "state"}).json() == {"verification": "waiting"}
    itself.status = 200
    request = len(itself.requested_paths)
    client.get(reverse("visit"))
    confirmation.ask_waiting()
    assert len(itself.requested_paths) == request, "it was asked a moment ago"
    later(120)
    confirmation.ask_waiting()
    assert visit().verification == "confirmed"
    assert client.get(reverse("visit"), {"part": "state"}).json() == {"verification": "confirmed"}
    assert "C0MPLETE" in words(client.get(reverse("visit")))


def test_who_looks_at_their_page_makes_us_ask(work: World, settings: Any, itself: Any, later: Any):
    settings.PROLIFIC_API_TOKEN, settings.PROLIFIC_WEBHOOK_SECRET = platform.API_TOKEN, ""
    itself.submissions.clear()
    client = arrive()
    assert visit().verification == "waiting"
    itself.knows(FIRST, ANN)
    later(10)
    client.get(reverse("visit"))
    assert visit().verification == "confirmed"


# Identities, once reported


@WEBHOOKS
def test_a_known_participant_who_came_unconfirmed_goes_on_as_who_they_are(
    ann: tuple[World, Client], way: str
):
    """In a browser of their own, with another submission: one person, one worker, no answer lost."""
    world, first = ann
    theirs = Worker.objects.get(identity__external_id=ANN)
    client = arrive(ANN, SECOND)
    Study.objects.update(answers_required=3)
    answers(world, SECOND)
    held = world.held(-1)
    Study.objects.update(answers_required=2)
    assert visit(SECOND).identity.worker != theirs
    report_state("ACTIVE", SECOND, ANN)
    result = visit(SECOND)
    assert (result.identity.worker, result.verification, result.verified_by) == (
        theirs,
        "confirmed",
        "webhook",
    )
    assert result.came_as and not Worker.objects.filter(pseudonym=result.came_as).exists()
    assert account_in(client) == account_in(first)
    assert "C0MPLETE" in words(client.get(reverse("visit")))
    assert Judgment.objects.filter(worker=theirs).count() == 4
    # Assigned tasks are answered on the page that shows them.
    response = client.post(
        reverse("api_answer", args=[held.id]),
        {"answer": world.right(held).answer, "token": "t", "next": False},
        content_type="application/json",
    )
    assert response.status_code == 200, response.content
    assert Judgment.objects.filter(worker=theirs).count() == 5


def test_news_that_comes_before_the_participant_confirms_them(work: World):
    report_state("RESERVED")
    report_state("ACTIVE")
    arrive()
    assert (visit().verification, visit().verified_by) == ("confirmed", "webhook")
    assert Identity.objects.get().external_id == ANN
    assert Client().get(platform.address(BOB, FIRST)).status_code == 403


def test_what_is_told_of_submissions_is_forgotten(work: World, later: Any):
    report_state("ACTIVE")
    confirmation.prune_platform_reports()
    assert PlatformReport.objects.count() == 1
    later(4 * 86_400)
    confirmation.prune_platform_reports()
    assert not PlatformReport.objects.exists()


def test_a_participant_with_two_new_submissions_in_one_browser_is_one_worker(work: World):
    client = arrive(ANN, FIRST)
    arrive(ANN, SECOND, client)
    assert Identity.objects.count() == 1 and Visit.objects.count() == 2
    report_state("ACTIVE", SECOND, ANN)
    assert visit(FIRST).verification == "waiting" and visit(SECOND).verification == "confirmed"
    report_state("ACTIVE", FIRST, BOB)
    assert visit(FIRST).verification == "refused"
    assert client.get(reverse("visit")).status_code == 200, "they came by another submission too"


@WEBHOOKS
def test_a_suspended_participant_does_not_escape_by_coming_unconfirmed(ann: tuple[World, Client], way: str):
    Account.objects.filter(pk=account_in(ann[1]).pk).update(is_active=False)
    client = arrive(ANN, SECOND)
    report_state("ACTIVE", SECOND, ANN)
    assert visit(SECOND).verification == "refused"
    assert client.get(reverse("tasks"))["Location"].startswith(reverse("sign_in"))


def test_a_researcher_confirms_by_hand(work: World):
    arrive()
    out = StringIO()
    call_command("list_visits", "quay", stdout=out)
    assert "waiting" in out.getvalue()
    call_command("confirm_visit", "quay", FIRST, ANN, stdout=out)
    assert (visit().verification, visit().verified_by) == ("confirmed", "hand")
    # The entry remains when the person is erased, so it contains none of their ids.
    assert AuditEntry.objects.get(act="confirm_visit").about == {"visit": visit().pk}


def test_a_visit_is_confirmed_to_the_study_that_was_named(work: World):
    """Ann has opened her submission at the address of another study too, and that one first."""
    world = World(some_images(1), name="other")
    platform_visits.save_study(
        campaign=world.campaign, provider=platform_visits.PROLIFIC, external_id="b" * 24, answers_required=2
    )
    client = Client()
    assert client.get(platform.address(study="b" * 24, name="other")).status_code == 302
    arrive(client=client)
    call_command("confirm_visit", "quay", FIRST, ANN, stdout=StringIO())
    here, there = (Visit.objects.get(study__campaign=item.campaign) for item in (work, world))
    assert (here.verification, there.verification) == ("confirmed", "refused")
    assert AuditEntry.objects.get(act="confirm_visit").about == {"visit": here.pk}
    call_command("confirm_visit", "quay", FIRST, ANN, stdout=StringIO())
    assert AuditEntry.objects.filter(act="confirm_visit").count() == 1, "nothing changed"


def test_the_page_of_recruiting_says_what_is_sure(ann: tuple[World, Client], way: str):
    attack(way)
    page = words(people.signed_in("ada", "researcher").get(reverse("entry", args=["quay"])))
    assert "confirmed: 1" in page
    assert ("Prolific: unverified. Only the address says who a participant is" in page) == (way == NOTHING)
    assert ("waiting: 1" in page) == (way in (WEBHOOK, API))
    by_name = {WEBHOOK: "webhooks", API: "the API", LINKS: "signed links"}
    assert all((f"confirmed by: {word}" in page) == (way == entry) for entry, word in by_name.items())


# Sessions opened by an address may only work


def test_such_a_session_may_only_work_whatever_the_account_may_do(work: World):
    client = come()
    account_in(client).roles.create(role="admin")
    for route, args in (("roles", []), ("campaigns", []), ("entry", ["quay"]), ("account", [])):
        answer = client.get(reverse(route, args=args))
        assert answer.status_code == 403 and "This sign-in opens only the tasks" in words(answer)
    assert client.get(reverse("home"))["Location"] == reverse("tasks")
    assert client.get(reverse("tasks")).status_code == 200
    page = words(client.get(reverse("tasks")))
    assert "People" not in page and "Finish" in page


def test_signing_in_with_a_password_makes_it_a_session_like_any_other(work: World):
    client = come()
    account = account_in(client)
    account.set_password(people.PASSWORD)
    account.save()
    client.get(platform.signed())
    client.post(reverse("sign_out"))
    client.post(reverse("sign_in"), {"username": account.username, "password": people.PASSWORD})
    assert client.get(reverse("account")).status_code == 200


# Mechanical Turk


@pytest.fixture
def turk() -> World:
    world = World(some_images(4))
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    platform.turk_study(world)
    return world


def begin(**another: str) -> Client:
    client = Client()
    page = client.get(platform.turk_address(**another)).content.decode()
    way = page.split('href="/mturk/quay/begin/')[1].split('"')[0]
    assert client.get(f"/mturk/quay/begin/{way}").status_code == 302
    return client


def test_an_invented_assignment_has_nothing_of_the_worker(turk: World):
    theirs = account_in(begin())
    answers(turk, platform.TURK["assignmentId"], count=1)
    client = begin(assignmentId="3INVENTED")
    assert account_in(client) != theirs
    assert visit("3INVENTED").verification == "unverified"
    assert visit("3INVENTED").identity.worker != visit(platform.TURK["assignmentId"]).identity.worker
    for route in ("account", "own_answers"):
        assert client.get(reverse(route)).status_code == 403
    for route in ("account_mail", "erase_me", "password_change"):
        assert client.post(reverse(route), {"sure": "yes", "email": "eve@example.org"}).status_code == 403
    assert Identity.objects.count() == 2 and not Account.objects.exclude(email="").exists()


def test_a_worker_of_mturk_is_not_kept_out_by_who_came_first_with_their_assignment(turk: World):
    begin(workerId="A9SOMEBODY")
    client = begin()
    assert visit(platform.TURK["assignmentId"], platform.TURK["workerId"]).identity.account == account_in(
        client
    )
