"""Forgotten passwords, too many attempts, and what users see and control of their stored data."""

from __future__ import annotations

import json
import re
import smtplib
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import instructions, jobs
from annotation.jobs import emails
from annotation.models import Account, Assignment, Identity, Job, Judgment, Worker
from annotation.protocol import questions as q
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.displayed import name_of
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.web.common import limits
from annotation.workers import payments
from tests.queue.world import TRUSTING, World
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db
NEW = "quite-another-Word-7"


@pytest.fixture
def ada() -> Account:
    account = people.account("ada", "annotator")
    account.email = "ada@example.org"
    account.save()
    return account


def sign_in(name: str, password: str, **headers: Any) -> Any:
    return Client(**headers).post(reverse("sign_in"), {"username": name, "password": password})


def link(letter: Any) -> str:
    match = re.search(r"http://testserver(\S+)", letter.body)
    assert match, letter.body
    return match[1]


def ask(address: str = "ada@example.org", **headers: Any) -> Any:
    """Request a reset e-mail, and run the job that sends it."""
    answer = Client(**headers).post(reverse("reset"), {"email": address})
    for job in Job.objects.filter(state=Job.QUEUED, kind="send_letter"):
        assert jobs.run_queued_job(job.pk) == Job.DONE
    return answer


def test_a_request_has_no_say_in_where_links_lead(ada: Account, settings: Any):
    settings.ALLOWED_HOSTS = ["*"]
    ask(HTTP_HOST="evil.example", HTTP_X_FORWARDED_HOST="evil.example")
    (letter,) = mail.outbox
    assert link(letter) and "evil.example" not in f"{letter.subject} {letter.body}"


# A forgotten password


def test_an_e_mail_leads_to_a_new_password(ada: Account):
    assert ask()["Location"] == reverse("reset_sent")
    (letter,) = mail.outbox
    assert letter.to == ["ada@example.org"] and "ada" in letter.body
    client = Client()
    page = client.get(link(letter), follow=True)
    done = client.post(page.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW}, follow=True)
    assert "Password changed" in words(done)
    assert sign_in("ada", people.PASSWORD).status_code == 200
    assert sign_in("ada", NEW)["Location"] == reverse("home")


def test_a_link_works_once(ada: Account):
    ask()
    client = Client()
    page = client.get(link(mail.outbox[0]), follow=True)
    client.post(page.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW})
    assert "no longer works" in words(Client().get(link(mail.outbox[0]), follow=True))


def test_the_secret_of_a_link_does_not_stay_in_the_address(ada: Account):
    ask()
    page = Client().get(link(mail.outbox[0]), follow=True)
    assert page.redirect_chain[-1][0].endswith("/set-password/")


def test_whether_an_account_has_an_address_is_not_told(ada: Account):
    there, not_there = ask(), ask("nobody@example.org")
    assert there["Location"] == not_there["Location"]
    assert len(mail.outbox) == 1


def test_asking_for_an_e_mail_is_the_same_work_whether_an_account_has_the_address(ada: Account):
    lines: list[list[str]] = []
    ask("somebody@example.org")  # from now on the attempts of this address are counted
    for address, mail_count in (("nobody@example.org", 0), ("ada@example.org", 1)):
        Job.objects.all().delete()
        with CaptureQueriesContext(connection) as queries:
            Client().post(reverse("reset"), {"email": address})
        # Sorted by digests, that is, in any order.
        lines.append(
            sorted(
                re.sub(r"'[^']*'|\d+", "", captured_query["sql"])
                for captured_query in queries.captured_queries
            )
        )
        job = Job.objects.get()
        assert mail.outbox == [] and "example.org" not in str(job.arguments)
        assert jobs.run_queued_job(job.pk) == Job.DONE
        job.refresh_from_db()
        assert job.result == {} and len(mail.outbox) == mail_count
    assert lines[0] == lines[1] and not any("annotation_account" in query for query in lines[0])


def test_what_was_asked_for_goes_with_the_e_mail(ada: Account):
    ask()
    emails.prune_emails()
    assert not Job.objects.exists()


def test_an_e_mail_is_in_the_language_of_the_person_who_asked_for_it(ada: Account):
    ask(" ADA@Example.org", headers={"Accept-Language": "de"})
    (letter,) = mail.outbox
    assert letter.to == ["ada@example.org"] and "neues Passwort" in letter.subject


def test_an_e_mail_that_could_not_be_sent_names_no_address(ada: Account, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_letter: Any) -> int:
        raise smtplib.SMTPRecipientsRefused({"ada@example.org": (550, b"no")})

    monkeypatch.setattr(emails, "send_mail", refuse)
    Client().post(reverse("reset"), {"email": "ada@example.org"})
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    job.refresh_from_db()
    assert "SMTPRecipientsRefused" in job.error and "example.org" not in job.error


def test_who_came_by_a_platform_gets_no_e_mail(ada: Account):
    ada.set_unusable_password()
    ada.save()
    ask()
    assert mail.outbox == []


def test_e_mails_are_not_sent_without_end(ada: Account):
    for _ in range(limits.RESET_NAME.most):
        ask()
    response = ask("ADA@example.org")
    assert response.status_code == 429 and "Try again in 60 minutes" in words(response)
    assert len(mail.outbox) == limits.RESET_NAME.most


def test_a_server_without_e_mail_says_so(ada: Account, monkeypatch: pytest.MonkeyPatch):
    from annotation.recruitment.accounts import PasswordReset

    monkeypatch.setattr(PasswordReset, "extra_context", {"sends": False})
    page = Client().get(reverse("reset"))
    assert "sends no e-mail" in words(page) and "<form" not in page.content.decode().partition("</main>")[0]


# Too many attempts


def test_guessing_at_one_account_is_stopped_wherever_it_comes_from(ada: Account):
    for number in range(limits.SIGN_IN_NAME.free):
        assert sign_in("ada", "wrong", REMOTE_ADDR=f"192.0.2.{number}").status_code == 200
    response = sign_in("Ada ", people.PASSWORD, REMOTE_ADDR="198.51.100.1")
    assert response.status_code == 429
    assert "Try again in 1 second." in words(response)
    assert response["Retry-After"] == "1"
    assert 'value="Ada "' in response.content.decode()


def test_each_further_guess_waits_twice_as_long_until_it_is_a_quarter_of_an_hour(ada: Account, later: Any):
    waits: list[int] = []
    for number in range(40):
        answer = sign_in("ada", "wrong", REMOTE_ADDR=f"192.0.2.{number}")
        if answer.status_code == 429:
            waits.append(int(answer["Retry-After"]))
            later(sum(waits))
    assert waits[:12] == [*(2**n for n in range(10)), 900, 900]


def test_one_address_guesses_at_one_account_less_often_than_all_together(ada: Account):
    for _ in range(limits.SIGN_IN_PAIR.free):
        assert sign_in("ada", "wrong").status_code == 200
    assert sign_in("ada", people.PASSWORD).status_code == 429
    assert sign_in("ada", people.PASSWORD, REMOTE_ADDR="198.51.100.1").status_code == 302


@pytest.mark.parametrize("name", ["ａｄａ", " ADA", "ᵃda", "\u2003Ada"])
def test_a_name_is_limited_however_its_letters_are_written(ada: Account, name: str):
    for _ in range(limits.SIGN_IN_PAIR.free):
        sign_in(name, "wrong")
    assert sign_in("ada", people.PASSWORD).status_code == 429


def test_nobody_is_locked_out_of_a_browser_in_which_they_signed_in(ada: Account, later: Any):
    other_client = Client()
    other_client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD})
    other_client.post(reverse("sign_out"))
    for number in range(30):  # continued guesses, at the same address and at others, as often as allowed
        later(1000 * number)
        sign_in("ada", "wrong")
        sign_in("ada", "wrong", REMOTE_ADDR=f"192.0.2.{number}")
    for number in range(limits.SIGN_IN_ADDRESS.most):
        sign_in(f"name-{number}", "wrong")
    stranger = sign_in("ada", people.PASSWORD, REMOTE_ADDR="198.51.100.1")
    assert int(stranger["Retry-After"]) > 800
    response = other_client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD})
    assert response.status_code == 429 and int(response["Retry-After"]) <= 60
    later(29_000 + 61)
    assert (
        other_client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD}).status_code
        == 302
    )


def test_a_browser_is_known_for_those_alone_who_signed_in_there(ada: Account, rf: Any):
    people.account("bob", "annotator")
    other_client = Client()
    other_client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD})
    cookie = other_client.cookies["known"].value
    assert other_client.cookies["known"]["httponly"] and "ada" not in cookie
    response = rf.get("/", HTTP_COOKIE=f"known={cookie}")
    assert limits.knows(response, "ada") and not limits.knows(response, "bob")
    forged = rf.get("/", HTTP_COOKIE=f"known={cookie[:-1]}{'a' if cookie[-1] != 'a' else 'b'}")
    assert not limits.knows(forged, "ada")


def test_guessing_from_one_address_is_stopped_whatever_is_guessed_at(ada: Account):
    for number in range(limits.SIGN_IN_ADDRESS.most):
        sign_in(f"name-{number}", "wrong")
    assert sign_in("ada", people.PASSWORD).status_code == 429
    assert sign_in("ada", people.PASSWORD, REMOTE_ADDR="198.51.100.1").status_code == 302


def test_a_whole_class_signs_in_from_one_address(ada: Account):
    for _ in range(limits.SIGN_IN_ADDRESS.most + 10):
        assert sign_in("ada", people.PASSWORD).status_code == 302


def test_of_the_addresses_of_version_6_the_network_counts(rf: Any):
    first, second = (rf.get("/", REMOTE_ADDR=f"2001:db8::{host}") for host in ("1", "ffff:2"))
    assert limits.address_of(first) == limits.address_of(second) == "2001:db8::/64"


def test_behind_a_proxy_the_address_is_what_the_proxy_says(rf: Any, settings: Any):
    response = rf.get("/", REMOTE_ADDR="10.0.0.2", HTTP_X_FORWARDED_FOR="6.6.6.6, 192.0.2.7")
    assert limits.address_of(response) == "10.0.0.2"
    settings.HTTPS = True
    assert limits.address_of(response) == "192.0.2.7"


def test_a_new_password_lets_in_who_was_kept_waiting(ada: Account):
    for _ in range(limits.SIGN_IN_PAIR.free):
        sign_in("ada", "wrong")
    assert sign_in("ada", NEW).status_code == 429
    ask()
    client = Client()
    page = client.get(link(mail.outbox[0]), follow=True)
    client.post(page.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW})
    assert sign_in("ada", NEW).status_code == 302


# My account


@pytest.fixture
def work() -> World:
    """A campaign in which ann, an account, is the first worker."""
    world = World(settings={**TRUSTING, "pay": {"basis": "item", "per_item": {q.COREF_LINK: 0.05}}})
    Identity.objects.create(worker_id=world.workers[0], account=people.account("ann", "annotator"))
    return world


def ann() -> Client:
    client = Client()
    client.force_login(Account.objects.get(username="ann"))
    return people.confirm(client)


def downloaded() -> Any:
    answer: Any = ann().get(reverse("own_answers"))
    return json.loads(b"".join(answer.streaming_content))


def earn(work: World) -> None:
    work.submit(0, work.held(0), then=False)


def be_paid(work: World) -> None:
    payments.pay_all_due(campaign=work.campaign, reference="all")


def test_one_sees_ones_pseudonym_answers_and_consents(work: World):
    earn(work)
    text = instructions.publish_text(
        campaign=work.campaign, kind=instructions.CONSENT, text="You agree to be kind."
    )
    instructions.record_consent(worker=work.workers[0], campaign=work.campaign, version=text.version)
    page = words(ann().get(reverse("account")))
    assert "quay-w0" in page and "quay : 1 answer" in page and "You agree to be kind." in page


def test_one_downloads_ones_own_answers_and_nobody_elses(work: World):
    earn(work)
    work.submit(1, work.held(1), then=False)
    data = downloaded()
    (answer,) = data["answers"]
    judgment = Judgment.objects.get(worker=work.workers[0])
    assert judgment.image
    assert (answer["kind"], answer["answer"], answer["campaign"]) == (judgment.kind, judgment.answer, "quay")
    assert answer["image"] == name_of(judgment.image.image_id)
    assert judgment.key == "|".join([answer["kind"], *answer["mentions"]])
    assert data["pseudonym"] == "quay-w0" and data["account"]["user_name"] == "ann"


def test_a_download_does_not_tell_which_answers_were_checked(work: World):
    earn(work)
    data = downloaded()
    assert not {"role", "right", "control", "withdrawn"} & set(data["answers"][0])


def test_who_has_never_worked_has_nothing_to_download_or_erase(ada: Account):
    client = Client()
    client.force_login(ada)
    people.confirm(client)
    assert "only this account is stored" in words(client.get(reverse("account")))
    assert client.get(reverse("own_answers")).status_code == 404
    assert client.post(reverse("erase_me"), {"sure": "yes"}).status_code == 404
    assert not Worker.objects.exists()


def test_one_is_erased_on_request_and_the_answers_stay(work: World):
    earn(work)
    be_paid(work)
    client = ann()
    page = press(client, reverse("account"), "Delete my account", sure="yes")
    assert "Your account is deleted" in words(page)
    assert not Account.objects.filter(username="ann").exists()
    assert Judgment.objects.filter(worker__pseudonym="quay-w0").count() == 1
    assert client.get(reverse("account")).status_code == 302


def test_what_one_wrote_is_in_the_download_and_goes_on_request(work: World):
    earn(work)
    be_paid(work)
    judgments = Judgment.objects.filter(worker=work.workers[0])
    judgments.update(kind=CAPTION_WRITING, answer="written", content={"text": "My son on a beach ."})
    assert downloaded()["answers"][0]["text"] == "My son on a beach ."
    press(ann(), reverse("account"), "Delete my account", sure="yes", texts="yes")
    assert judgments.get().content == {"text": ""}


def test_a_download_tells_what_was_ticked_on_a_page_but_not_what_was_checked(work: World):
    earn(work)
    caption = {"image": work.images()[0].image_id, "captions": [[work.images()[0].image_id, 0]]}
    blocks = [{**caption, "roles": [2], "yes": [True]}]
    Judgment.objects.update(kind=RELEVANCE, answer="judged", content={"blocks": blocks})
    first = work.images()[0].image
    assert downloaded()["answers"][0]["pairs"] == [
        {"image": name_of(first.pk), "caption": first.captions.get(number=0).text, "yes": True}
    ]


def test_erasing_waits_for_the_pay(work: World):
    earn(work)
    client = ann()
    page = client.get(reverse("account"))
    assert "still to be paid" in words(page) and "0.05 USD" in words(page)
    assert ">Delete my account</button>" not in page.content.decode()
    response = client.post(reverse("erase_me"), {"sure": "yes"}, follow=True)
    assert messages_on(response) == [
        "You have not been paid for everything yet: you can delete your account once you have."
    ]
    assert Account.objects.filter(username="ann").exists()


def test_erasing_wants_to_be_meant(work: World):
    response = ann().post(reverse("erase_me"), follow=True)
    assert "confirm it first" in messages_on(response)[0]
    assert Account.objects.filter(username="ann").exists()


def test_erasing_gives_back_what_is_in_hand(work: World):
    lease = work.held(0)
    ann().post(reverse("erase_me"), {"sure": "yes"})
    admin = people.signed_in("boss", "admin")
    assert "by the worker" in words(admin.get("/people/audit/"))
    assert Assignment.objects.get(pk=lease.id).state == Assignment.RETURNED


def test_staff_are_not_erased_by_themselves(work: World):
    account = Account.objects.get(username="ann")
    account.roles.create(role="researcher")
    assert "staff role" in words(ann().get(reverse("account")))
    assert "staff role" in messages_on(ann().post(reverse("erase_me"), {"sure": "yes"}, follow=True))[0]


def test_one_keeps_an_address_and_takes_it_away(work: World):
    page = press(ann(), reverse("account"), "Save", email="ann@example.org")
    assert messages_on(page) == ["Email address saved."]
    assert Account.objects.get(username="ann").email == "ann@example.org"
    press(ann(), reverse("account"), "Save", email="")
    assert Account.objects.get(username="ann").email == ""


def test_what_is_no_address_is_not_kept(work: World):
    client = ann()
    answer = client.post(reverse("account_mail"), {"email": "ann at home"})
    assert answer.status_code == 422 and 'value="ann at home"' in answer.content.decode()


def test_one_changes_ones_password(ada: Account):
    client = Client()
    client.force_login(ada)
    page = press(
        client,
        reverse("password_change"),
        "Save password",
        old_password=people.PASSWORD,
        new_password1=NEW,
        new_password2=NEW,
    )
    assert "Password changed" in messages_on(page)[0]
    assert sign_in("ada", NEW).status_code == 302


def test_guessing_at_the_old_password_is_as_slow_as_at_the_sign_in(ada: Account):
    client = Client()
    client.force_login(ada)

    def change(old: str, new: str = NEW) -> Any:
        form_data = {"old_password": old, "new_password1": new, "new_password2": new}
        return client.post(reverse("password_change"), form_data)

    # A new password that is too short does not count as a guess of the old one.
    assert [change(people.PASSWORD, "short").status_code for _n in range(6)] == [200] * 6
    assert [change(f"guess {n}").status_code for n in range(6)] == [200] * 5 + [429]
    response = change(people.PASSWORD)
    assert response.status_code == 429 and "Too many attempts" in words(response)
    ada.refresh_from_db()
    assert ada.check_password(people.PASSWORD)


@pytest.mark.parametrize("route", ["account", "own_answers", "password_change"])
def test_a_stranger_is_led_to_the_sign_in(route: str):
    answer = Client().get(reverse(route))
    assert answer.status_code == 302 and answer["Location"].startswith(reverse("sign_in"))
