"""The page on which phrases of an image are marked."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation import campaigns
from annotation.campaigns.phrases import BY_CHUNKER, BY_HAND, phrases_of
from annotation.models import Corpus, Image
from tests.factories import a_corpus, an_image
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def photos() -> Corpus:
    records = [an_image(f"{n}", "A man in a hat .", "Two dogs .", layered=False) for n in range(2)]
    return a_corpus("photos", records)


def at(key: str) -> str:
    return reverse("phrases", args=["photos", key])


def marked(reader: Client, phrases: str):
    form_data = {"corpus": "photos", "image": "0", "phrases": phrases}
    return reader.post(reverse("operation", args=["mark_phrases"]), form_data)


def in_colour(page) -> list[str]:
    """Return the words that the page shows as parts of a phrase."""
    return re.findall(r'class="token in [^"]*"[^>]*>([^<]*)<', page.content.decode())


def of(key: str):
    return phrases_of(Image.objects.select_related("corpus").get(corpus__name="photos", key=key))


def test_phrases_are_marked_one_image_after_the_other(reader: Client, photos: Corpus):
    manage = reader.get(reverse("manage_corpus", args=["photos"]))
    assert "0 of 2 images are marked." in words(manage) and at("0") in manage.content.decode()
    assert at("0") in reader.get(reverse("image", args=["photos", "0"])).content.decode()
    page = reader.get(at("0"))
    assert "nobody has marked any yet" in words(page)
    assert in_colour(page) == ["A", "man", "a", "hat", "Two", "dogs"]
    page = press(reader, at("0"), "Save and next image", phrases="0:4-5 0:0-2")
    assert page.request["PATH_INFO"] == at("1") and messages_on(page) == ["Phrases of 0 saved."]
    assert [mention.id for mention in of("0").mentions] == ["0:0-2", "0:4-5"]
    page = reader.get(at("0"))
    assert "Marked by hand." in words(page) and in_colour(page) == ["A", "man", "hat"]
    manage = reader.get(reverse("manage_corpus", args=["photos"]))
    assert "1 of 2 images is marked." in words(manage) and at("1") in manage.content.decode()
    # The last image has no next one.
    assert "Save and next image" not in words(reader.get(at("1")))
    page = press(reader, at("0"), "Use the phrases that are found")
    assert of("0").source == BY_CHUNKER


def test_what_a_campaign_asks_about_is_shown_and_not_marked(reader: Client, photos: Corpus):
    campaigns.open_campaign(campaigns.CampaignPlan("quay", "photos", "entities", {"boxes": "always"}))
    page = reader.get(at("0"))
    assert "Campaign “quay” asks about the phrases of this image already." in words(page)
    assert '<form class="sentences"' not in page.content.decode() and in_colour(page)
    page = marked(reader, "")
    assert page.status_code == 409 and "asks about the phrases" in words(page)
    assert of("0").source == BY_CHUNKER


@pytest.mark.parametrize(
    ("payload", "message"),
    [("0:0-2 quay", "Expected phrases such as 0:0-2"), ("0:0-99", "words 1 to 99 are no phrase of it")],
)
def test_a_form_with_something_else_in_it_is_refused(
    reader: Client, photos: Corpus, payload: str, message: str
):
    assert message in words(marked(reader, payload)) and of("0").source != BY_HAND
