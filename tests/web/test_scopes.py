"""Lists and forms show, and accept, only what the user's roles allow."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.common.roles import RESEARCHER
from annotation.datasets import layer_rows
from annotation.models import Campaign, Control, Corpus, Job
from annotation.workers.accounts import granting, worker_tokens
from tests.factories import a_corpus, some_images
from tests.review.world import the_world
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db
OTHER_LAYER = "import"


@pytest.fixture
def campaign(db: None) -> Campaign:
    """A campaign, a second one of its corpus, and a corpus of another user."""
    world = the_world()
    reference = world.campaign.settings
    Campaign.objects.create(name="second", corpus=world.corpus, tasks="entities", settings=reference)
    a_corpus("secret", some_images(1))
    return world.campaign


def somebody(role: str, **scope: Any) -> Client:
    account = people.account("bob")
    granting.grant(account=account, role=role, **scope)
    client = Client()
    client.force_login(account)
    return client


def test_lists_hold_what_a_role_for_a_corpus_covers(campaign: Campaign):
    bob = somebody(RESEARCHER, corpus=campaign.corpus)
    assert "secret" not in words(bob.get(reverse("home")))
    listed = words(bob.get(reverse("campaigns")))
    assert campaign.name in listed and "second" in listed and "Open a campaign" in listed
    form = words(bob.get(reverse("operation", args=["open_campaign"])))
    assert campaign.corpus.name in form and "secret" not in form
    form_data = {"name": "c", "corpus": "secret", "tasks": "entities"}
    response = bob.post(reverse("operation", args=["open_campaign"]), form_data)
    assert response.status_code == 400 and "There is no corpus “secret” here" in words(response)
    assert not Campaign.objects.filter(name="c").exists()


def test_a_role_for_a_campaign_opens_that_campaign_alone(campaign: Campaign):
    bob = somebody(RESEARCHER, campaign=campaign)
    home = bob.get(reverse("home"))
    assert home.status_code == 302 and home["Location"] == reverse("campaigns")
    listed = bob.get(reverse("campaigns"))
    assert campaign.name in words(listed)
    assert "second" not in words(listed) and "Open a campaign" not in words(listed)
    text = listed.content.decode()
    assert "/evaluation/" not in text and reverse("roles") not in text
    page = bob.get(reverse("review_image", args=[campaign.name, "man"])).content.decode()
    assert reverse("image", args=[campaign.corpus.name, "man"]) not in page


def test_a_role_for_a_campaign_exports_its_own_layer_and_no_other(campaign: Campaign):
    bob = somebody(RESEARCHER, campaign=campaign)
    form_data = {"format": "jsonl", "unfinished": "include"}
    by_name = {**form_data, "corpus": campaign.corpus.name, "layer": OTHER_LAYER}
    page = bob.post(reverse("operation", args=["export_dataset"]), by_name)
    assert page.status_code == 400 and not Job.objects.exists()
    layer_rows.write_layer(
        corpus=campaign.corpus, name=campaign.name, source="campaign", records=[], settings=campaign.settings
    )
    bob.post(reverse("operation", args=["export_campaign"]), {**form_data, "campaign": campaign.name})
    assert Job.objects.get().campaign == campaign


def test_control_items_are_made_of_no_layer_that_is_not_open(campaign: Campaign):
    bob = somebody(RESEARCHER, campaign=campaign)
    form_data = {"campaign": campaign.name, "layer": OTHER_LAYER}
    page = bob.post(reverse("operation", args=["add_controls_from_layer"]), form_data)
    assert "Your role covers only this campaign" in page.content.decode() and not Control.objects.exists()


def test_whose_role_is_taken_away_is_out_at_once(campaign: Campaign):
    bob = somebody(RESEARCHER, corpus=campaign.corpus)
    account, corpus = people.Account.objects.get(username="bob"), Corpus.objects.get(pk=campaign.corpus_id)
    worker_tokens.make_worker_token(account)
    address = reverse("campaign", args=[campaign.name])
    assert bob.get(address).status_code == 200
    assert granting.revoke_role(account=account, role=RESEARCHER, corpus=corpus)
    assert bob.get(address)["Location"].startswith(reverse("sign_in"))
    assert not account.worker_tokens.exists()
    bob.force_login(account)
    assert bob.get(address).status_code == 403
