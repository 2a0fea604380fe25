"""The page that deletes a corpus, or withdraws a picture: it first shows what would be deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.common.roles import ADMIN, RESEARCHER
from annotation.images.pictures import picture_path
from annotation.models import Account, AuditEntry, Campaign, Corpus, Image, Job, RoleGrant
from tests.web import world
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn(tmp_path: Path, settings) -> Corpus:
    settings.DATA_DIR = tmp_path / "data"
    return world.corpus(tmp_path / "drawn", name="drawn")


def test_a_corpus_is_deleted(drawn: Corpus, reader: Client):
    address = reverse("manage_corpus", args=["drawn"])
    assert address in reader.get(reverse("corpus", args=["drawn"])).content.decode()
    assert "Nothing uses this corpus. Its 3 images go" in words(reader.get(address))
    page = press(reader, address, "Delete this corpus", sure="on")
    assert messages_on(page) == ["Corpus deleted."] or "There is no corpus here yet." in words(page)
    assert reader.get(address).status_code == 404
    assert [jobs.run_queued_job(job.pk) for job in Job.objects.all()] == [Job.DONE]
    assert not Corpus.objects.exists() and not Image.objects.exists()
    assert AuditEntry.objects.get(act="delete_corpus").actor_name == "ada"


def test_a_corpus_that_is_used_says_by_what_and_offers_no_button(drawn: Corpus, reader: Client):
    Campaign.objects.create(name="quay", corpus=drawn, tasks="relevance")
    page = reader.get(reverse("manage_corpus", args=["drawn"]))
    assert "cannot be deleted: these depend on it: campaigns; delete them first." in words(page)
    assert "/operations/delete_corpus/" not in page.content.decode()
    assert reader.post("/operations/delete_corpus/", {"corpus": "drawn", "sure": "on"}).status_code == 409
    assert Corpus.objects.get().published


def test_a_picture_is_shown_and_then_withdrawn(drawn: Corpus, reader: Client):
    image = drawn.images.get(position=1)
    inspector = reader.get(reverse("image", args=["drawn", image.key])).content.decode()
    address = f"{reverse('withdraw_picture', args=['drawn'])}?image={image.key}"
    assert address in inspector
    text = words(reader.get(address))
    assert "Picture number 1" in text and "It goes from every corpus that has the same picture" in text
    page = press(reader, address, "Withdraw this picture permanently")
    assert page.status_code == 400 and picture_path(image.picture).exists()
    page = press(reader, address, "Withdraw this picture permanently", sure="on")
    assert messages_on(page) == ["Picture withdrawn from drawn, with 0 open tasks and 0 exports."]
    assert not picture_path(image.picture).exists()
    assert Image.objects.get(pk=image.pk).picture == ""
    assert "This image has no picture." in words(reader.get(address))
    assert reader.get(reverse("image", args=["drawn", image.key])).status_code == 200


@pytest.fixture
def shared(drawn: Corpus, tmp_path: Path) -> Corpus:
    """A corpus with the same pictures as `drawn`."""
    return world.corpus(tmp_path / "shared", name="secret")


@pytest.mark.parametrize(
    ("role", "granted", "goes"),
    [
        (RESEARCHER, ("drawn",), False),
        (RESEARCHER, ("drawn", "secret"), True),
        (RESEARCHER, (), True),
        (ADMIN, (), True),
    ],
)
def test_a_picture_that_corpora_of_others_have_is_an_admins_to_withdraw(
    drawn: Corpus, shared: Corpus, role: str, granted: tuple[str, ...], goes: bool
):
    image = drawn.images.get(position=1)
    assert shared.images.filter(picture=image.picture).exists()
    client = world.signed_in("bob", *(() if granted else (role,)))
    for name in granted:
        corpus = Corpus.objects.get(name=name)
        RoleGrant.objects.create(account=Account.objects.get(username="bob"), role=role, corpus=corpus)
    address = reverse("withdraw_picture", args=["drawn"])
    text = words(client.get(f"{address}?image={image.key}"))
    assert ("Withdraw this picture permanently" in text) == goes
    form_data = {"corpus": "drawn", "image": image.key, "sure": "on"}
    form_data["next"] = reverse("manage_corpus", args=["drawn"])
    page = client.post(reverse("operation", args=["withdraw_picture"]), form_data, follow=True)
    by_name = {
        True: "Picture withdrawn from drawn, secret, with 0 open tasks and 0 exports.",
        False: "Corpora of others have the same picture: ask an admin to withdraw it.",
    }
    assert by_name[goes] in words(page) and (goes or "secret" not in text + words(page))
    assert picture_path(image.picture).exists() is not goes


@pytest.mark.parametrize("key", ["nobody", "", "\0", "<b>"])
def test_an_image_that_is_not_there_is_told(drawn: Corpus, reader: Client, key: str):
    page = reader.get(reverse("withdraw_picture", args=["drawn"]), {"image": key}, follow=True)
    assert "has no image" in messages_on(page)[0] and "<b>”" not in page.content.decode()


def test_reviewers_and_other_corpora_have_no_such_page(drawn: Corpus):
    for name, role in (("rev", "reviewer"), ("ann", "annotator")):
        client = world.signed_in(name, role)
        assert client.get(reverse("manage_corpus", args=["drawn"])).status_code == 403
        assert client.post("/operations/delete_corpus/", {"corpus": "drawn"}).status_code == 403
    assert (
        "manage/"
        not in world.signed_in("rev2", "reviewer").get(reverse("corpus", args=["drawn"])).content.decode()
    )
