"""The first account, roles granted and revoked, and invitations of staff."""

from __future__ import annotations

import re
import smtplib
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.common import database
from annotation.common.operations import Invalid
from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER, WHOLE_SERVER
from annotation.jobs import emails
from annotation.models import Account, AuditEntry, Corpus, Job, RoleGrant, StaffInvitation
from annotation.web.staff.people import roles
from annotation.workers.accounts import first, granting, inviting
from phrasebox.errors import PhraseboxError
from tests.factories import a_corpus, some_images
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db
PASSWORD = "the harbour at six"
CHOSEN = {"password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def admin() -> Client:
    return people.signed_in("ada", ADMIN)


@pytest.fixture
def quay() -> Corpus:
    return a_corpus("quay", some_images(1))


def granted(name: str) -> set[tuple[str, str | None, str | None]]:
    rows = RoleGrant.objects.filter(account__username=name)
    return set(rows.values_list("role", "corpus__name", "campaign__name"))


# The first account


def test_the_link_that_the_server_printed_makes_one_admin(tmp_path: Path):
    address = reverse("first_account", args=[first.token()])
    assert first.token() == address.split("/")[-2], "a server that starts again prints the same link"
    assert (tmp_path / "first-account").stat().st_mode & 0o077 == 0
    client = Client()
    assert client.get(reverse("first_account", args=["x" * 32])).status_code == 404
    home = press(client, address, "Create my account", username="ada", **CHOSEN)
    assert home.status_code == 200 and granted("ada") == {(ADMIN, None, None)}
    assert Account.objects.get().has_role(ADMIN, on=WHOLE_SERVER)
    assert Client().get(address).status_code == 404
    assert Client().post(address, {"username": "eve", **CHOSEN}).status_code == 404
    assert first.token() == "" and Account.objects.count() == 1


def test_there_is_no_such_link_where_there_is_an_account():
    link = first.token()
    people.account("ada")
    assert Client().get(reverse("first_account", args=[link])).status_code == 404
    assert first.token() == ""
    assert Client().get(reverse("first_account", args=["x"])).status_code == 404


def test_a_weak_password_makes_no_first_account():
    answer = Client().post(
        reverse("first_account", args=[first.token()]),
        {"username": "ada", "password1": "123", "password2": "123"},
    )
    assert answer.status_code == 422 and not Account.objects.exists()


# Roles


def test_the_command_grants_a_role_for_one_corpus_and_takes_it_away(quay: Corpus, capsys: Any):
    people.account("bob")
    for _again in range(2):
        call_command("grant_role", "bob", RESEARCHER, "--corpus", "quay")
    assert granted("bob") == {(RESEARCHER, "quay", None)}
    call_command("revoke_role", "bob", RESEARCHER)  # for the whole server, which he does not have
    assert granted("bob") == {(RESEARCHER, "quay", None)}
    call_command("revoke_role", "bob", RESEARCHER, "--corpus", "quay")
    assert granted("bob") == set()
    lines = re.findall(r"changed: (\w+)", capsys.readouterr().out)
    assert lines == ["True", "False", "False", "True"]
    assert list(AuditEntry.objects.order_by("pk").values_list("act", flat=True)) == [
        "grant_role",
        "revoke_role",
    ]


@pytest.mark.parametrize("error", [("nobody", RESEARCHER), ("bob", RESEARCHER, "--corpus", "nowhere")])
def test_the_command_names_what_is_not_there(error: tuple[str, ...]):
    people.account("bob")
    with pytest.raises(CommandError, match=error[-1] if len(error) > 2 else error[0]):
        call_command("grant_role", *error)


def test_the_last_admin_of_the_server_stays(quay: Corpus):
    ada, bob = people.account("ada", ADMIN), people.account("bob")
    granting.grant(account=bob, role=ADMIN, corpus=quay)
    with pytest.raises(PhraseboxError, match="“ada” is the last admin"):
        granting.revoke_role(account=ada, role=ADMIN)
    assert granting.revoke_role(account=bob, role=ADMIN, corpus=quay)
    granting.grant(account=bob, role=ADMIN)
    Account.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(PhraseboxError, match="the last admin"):
        granting.revoke_role(account=ada, role=ADMIN)
    Account.objects.filter(pk=bob.pk).update(is_active=True)
    assert granting.revoke_role(account=ada, role=ADMIN)


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_remove_each_other_at_once_leave_one():
    pair = [people.account("ada", ADMIN), people.account("bob", ADMIN)]
    barrier, ended = Barrier(2), []

    def remove(whom: Account) -> None:
        try:
            barrier.wait(30)
            ended.append(granting.revoke_role(account=whom, role=ADMIN))
        except PhraseboxError:
            ended.append(False)
        finally:
            connection.close()

    threads = [Thread(target=remove, args=[whom]) for whom in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == [False, True]
    assert RoleGrant.objects.filter(role=ADMIN).count() == 1


def test_only_admins_of_everything_grant_and_nobody_to_themselves(quay: Corpus):
    ada, bob = people.account("ada", ADMIN), people.account("bob", RESEARCHER)
    with pytest.raises(PhraseboxError, match="grant a role to yourself"):
        granting.grant(account=ada, role=RESEARCHER, corpus=quay, actor=ada)
    for role, corpus in ((RESEARCHER, None), (ADMIN, quay)):
        eve = people.account(f"eve-{role}")
        granting.grant(account=eve, role=role, corpus=corpus)
        with pytest.raises(PhraseboxError, match="Only admins of the whole server"):
            granting.grant(account=bob, role=ADMIN, actor=Account.objects.get(pk=eve.pk))
    assert granted("bob") == {(RESEARCHER, None, None)}


def test_an_admin_gives_and_takes_roles_by_page(admin: Client, quay: Corpus):
    people.account("bob")
    page = press(admin, reverse("roles"), "Grant", account="bob", role=REVIEWER, corpus="quay")
    assert messages_on(page) == ["They have this role now."] and granted("bob") == {(REVIEWER, "quay", None)}
    assert "reviewer for the corpus quay" in words(page)
    assert Account.objects.get(username="bob").roles.get().granted_by == Account.objects.get(username="ada")
    page = press(admin, reverse("roles"), "Grant", account="eve")
    assert "There is no account “eve”" in words(page)
    page = press(admin, reverse("roles"), "Grant", account="ada", role=ADMIN)
    assert "grant a role to yourself" in words(page)
    by_name = {"account": "ada", "role": ADMIN, "next": reverse("roles")}
    page = admin.post(reverse("operation", args=["revoke_role"]), by_name)
    assert page.status_code == 409 and "the last admin" in words(page)
    page = press(admin, f"{reverse('roles')}?find=bob", "Revoke")
    assert (
        messages_on(page) == ["Role revoked."]
        and granted("bob") == set()
        and granted("ada") == {(ADMIN, None, None)}
    )


def test_roles_are_named_in_the_language_of_the_page(admin: Client, quay: Corpus):
    granting.grant(account=people.account("bob"), role=REVIEWER, corpus=quay)
    inviting.invite_staff(email="eve@example.org", role=RESEARCHER)
    page = words(admin.get(reverse("roles"), headers={"Accept-Language": "de"}))
    assert "Prüfung für das Korpus quay" in page and "Forschung für den ganzen Server" in page
    assert not any(word in page for word in (ANNOTATOR, REVIEWER, RESEARCHER))


def test_the_page_of_roles_shows_all_of_them_page_by_page_and_finds_one(
    admin: Client, quay: Corpus, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(roles, "ROLES_PER_PAGE", 3)
    names = [f"bob-{number}" for number in range(7)]
    for name in names:
        granting.grant(account=people.account(name), role=REVIEWER, corpus=quay)
        inviting.invite_staff(email=f"{name}@example.org", role=REVIEWER)

    def every(list_of: str, query: str) -> list[str]:
        values: list[str] = []
        while True:
            page = admin.get(reverse("roles") + query)
            about = page.context[list_of]
            values += [
                getattr(row, "account", None) and row.account.username or row.email for row in about.rows
            ]
            if not about.later:
                return values
            assert f'href="{about.later.replace("&", "&amp;")}"' in page.content.decode()
            query = about.later

    assert every("grants", "") == ["ada", *names]
    assert every("grants", "?sort=since&down=1") == [*names[::-1], "ada"]
    assert every("grants", "?find=B-5") == ["bob-5"]
    assert every("waiting", "") == [f"{name}@example.org" for name in names]
    assert every("waiting", "?invited-find=B-2&find=nobody") == ["bob-2@example.org"]
    page = words(admin.get(f"{reverse('roles')}?find=nobody"))
    assert "No role matches." in page and "7 invitations wait" in page
    StaffInvitation.objects.filter(email__startswith="bob-0").update(created_by=people.account("eve"))
    assert "bob-0@example.org" not in every("waiting", ""), "its sender is no admin"


# Invitations


def test_an_invitation_is_for_one_person_once(admin: Client, quay: Corpus, settings: Any):
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    page = press(admin, reverse("roles"), "Invite", email="bob@example.org", role=RESEARCHER, corpus="quay")
    assert "Invitation created" in messages_on(page)[0] and mail.outbox == []
    job = Job.objects.get()
    assert "bob" not in str(job.arguments) and jobs.run_queued_job(job.pk) == Job.DONE
    (email,) = mail.outbox
    (address,) = re.findall(r"testserver(/\S+)", str(email.body))
    page = admin.get(reverse("roles"))
    assert email.to == ["bob@example.org"] and address in words(page) and "E-mail sent" in words(page)
    assert "You are signed in as ada" in words(admin.get(address))
    client = Client()
    assert "researcher for the corpus quay" in words(client.get(address))
    press(client, address, "Create my account", username="bob", **CHOSEN)
    bob = Account.objects.get(username="bob")
    assert bob.email == "bob@example.org" and granted("bob") == {(RESEARCHER, "quay", None)}
    assert client.get(reverse("corpus", args=["quay"])).status_code == 200
    inviting.forget_invited_addresses()
    assert StaffInvitation.objects.get().email == ""
    assert Client().get(address).status_code == 410
    assert Client().post(address, {"username": "eve", **CHOSEN}).status_code == 410


def test_the_page_says_what_became_of_an_invitations_e_mail(
    admin: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_e_mail: Any) -> int:
        raise smtplib.SMTPRecipientsRefused({"bob@example.org": (550, b"no")})

    page = press(admin, reverse("roles"), "Invite", email="eve@example.org", role=REVIEWER)
    assert "E-mail on its way" in words(page)
    StaffInvitation.objects.update(revoked_at=database.now())
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE and mail.outbox == [], "it was over by then"
    monkeypatch.setattr(emails, "send_mail", refuse)
    press(admin, reverse("roles"), "Invite", email="bob@example.org", role=REVIEWER)
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.FAILED
    page = admin.get(reverse("roles"))
    assert "E-mail not sent: send the link yourself" in words(page) and "(SMTPRecipientsRefused)" in words(
        page
    )
    settings.SENDS_MAIL = False
    page = press(admin, reverse("roles"), "Invite", email="amy@example.org", role=REVIEWER)
    assert "send it yourself" in words(page) and Job.objects.count() == 2


@pytest.mark.parametrize(
    "ended", ["old", "taken back", "another link", "its admin is none any more", "its admin is gone"]
)
def test_an_invitation_ends(ended: str):
    ada = people.account("ada", ADMIN)
    people.account("abe", ADMIN)
    row = inviting.invite_staff(email="bob@example.org", role=RESEARCHER, actor=ada)
    address = reverse("staff_invite", args=[inviting.staff_invitation_token(row)])
    match ended:
        case "old":
            assert row.expires_at <= database.now() + timedelta(days=7)
            StaffInvitation.objects.update(expires_at=database.now())
        case "taken back":
            people.perform("revoke_staff_invitation", invitation=row.pk)
            with pytest.raises(Invalid, match="There is no invitation"):
                people.perform("revoke_staff_invitation", invitation=row.pk)
        case "another link":
            address = address.replace(":", ":x")
        case "its admin is gone":
            ada.delete()
        case _:
            granting.revoke_role(account=ada, role=ADMIN)
    inviting.forget_invited_addresses()
    forgotten = ended in ("old", "taken back")
    assert StaffInvitation.objects.filter(email="").exists() == forgotten
    answer = Client().post(address, {"username": "bob", **CHOSEN})
    assert answer.status_code == 410 and not Account.objects.filter(username="bob").exists()
    assert not StaffInvitation.objects.exclude(used_at=None).exists()


def test_annotators_and_what_is_no_address_are_not_invited_as_staff():
    with pytest.raises(Invalid, match="role: Expected one of"):
        people.perform("invite_staff", email="bob@example.org", role=ANNOTATOR)
    for email in ("bob", f"{'b' * 60}@{'x.' * 120}org"):
        with pytest.raises(Invalid, match="email: Expected"):
            people.perform("invite_staff", email=email, role=RESEARCHER)
