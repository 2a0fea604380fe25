"""Home shows new users three steps until they are done, and links only those possible now."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Campaign, Corpus
from evaluation.models import Run
from tests.web import world

pytestmark = pytest.mark.django_db


def test_three_steps_are_shown_until_they_are_done() -> None:
    client = world.signed_in("ada", "researcher")

    def steps() -> list[tuple[bool, str]] | None:
        page = client.get(reverse("home"))
        first = page.context["first"]
        assert ("Your first steps" in page.content.decode()) == (first is not None)
        return [(step.done, step.address) for step in first.steps] if first else None

    assert steps() == [(False, reverse("uploads")), (False, ""), (False, "")]
    corpus = Corpus.objects.create(name="quay", format="test", source="", published=True)
    assert steps() == [(True, reverse("uploads")), (False, reverse("campaign_drafts")), (False, "")]
    campaign = Campaign.objects.create(name="first", corpus=corpus, tasks="relevance")
    assert steps() == [
        *((True, reverse("uploads")), (True, reverse("campaign_drafts"))),
        (False, reverse("entry", args=["first"])),
    ]
    Campaign.objects.filter(pk=campaign.pk).update(open_to_all=True)
    assert steps() is None


def test_somebody_who_only_evaluates_is_done_with_runs() -> None:
    client = world.signed_in("ada", "researcher")
    corpus = Corpus.objects.create(name="quay", format="test", source="", published=True)
    assert reverse("evaluation:bring") in client.get(reverse("home")).content.decode()
    Run.objects.create(corpus=corpus, name="near", direction="search", published=True)
    assert client.get(reverse("home")).context["first"] is None


def test_reviewers_are_shown_no_steps() -> None:
    client = world.signed_in("rae", "reviewer")
    assert client.get(reverse("home")).context["first"] is None
