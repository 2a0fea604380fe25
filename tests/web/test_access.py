"""Who may open which page: every route for every kind of visitor."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Corpus
from tests.web import world

VISITORS = ("anonymous", "nobody", "annotator", "reviewer", "researcher", "admin", "suspended")
MAY_BROWSE = {"reviewer", "researcher", "admin"}

#: Route -> the arguments of its address. The picture's route has its own tests.
PAGES = {
    "home": [],
    "corpus": ["scenes"],
    "image": ["scenes", "scene-1"],
    "tags": ["scenes"],
}
OPEN_TO_ALL = {"sign_in", "sign_out", "choose_language"}


def visitor(kind: str) -> Client:
    if kind == "anonymous":
        return Client()
    if kind == "nobody":
        return world.signed_in(kind)
    if kind == "suspended":
        client = world.signed_in(kind, "researcher")
        client_account = world.Account.objects.get(username=kind)
        client_account.is_active = False
        client_account.save()
        return client
    return world.signed_in(kind, kind)


@pytest.mark.parametrize("kind", VISITORS)
@pytest.mark.parametrize("route", PAGES)
def test_a_page_is_open_to_those_who_may_browse(scenes: Corpus, route: str, kind: str):
    address = reverse(route, args=PAGES[route])
    answer = visitor(kind).get(address)
    if kind in MAY_BROWSE:
        assert answer.status_code == 200
    elif kind in ("anonymous", "suspended"):
        assert answer.status_code == 302
        assert answer["Location"] == f"{reverse('sign_in')}?next={address}"
    elif (kind, route) == ("annotator", "home"):
        assert (answer.status_code, answer["Location"]) == (302, reverse("tasks"))
    else:
        assert answer.status_code == 403


@pytest.mark.parametrize("kind", VISITORS)
def test_a_page_takes_no_post(scenes: Corpus, kind: str):
    client = visitor(kind)
    for route, arguments in PAGES.items():
        answer = client.post(reverse(route, args=arguments))
        assert answer.status_code in ((302, 403, 405) if kind not in MAY_BROWSE else (405,)), route


@pytest.mark.parametrize("kind", ["nobody", "annotator"])
def test_who_may_not_browse_is_told_why_and_what_next(scenes: Corpus, kind: str):
    answer = visitor(kind).get(reverse("corpus", args=["scenes"]))
    text = answer.content.decode()
    assert "reviewers and researchers" in text
    assert "ask an admin" in text
    assert "Sign out" in text
    assert "two dogs" not in text


@pytest.mark.parametrize("kind", VISITORS)
def test_the_sign_in_page_opens_for_all_and_leads_on_who_is_in(scenes: Corpus, kind: str):
    answer = visitor(kind).get(reverse("sign_in"))
    if kind in ("anonymous", "suspended"):
        assert answer.status_code == 200
    else:
        assert (answer.status_code, answer["Location"]) == (302, reverse("home"))


@pytest.mark.parametrize("kind", VISITORS)
def test_anybody_may_sign_out_by_post_only(scenes: Corpus, kind: str):
    client = visitor(kind)
    assert client.get(reverse("sign_out")).status_code == 405
    assert client.post(reverse("sign_out"))["Location"] == reverse("sign_in")
    assert client.get(reverse("home")).status_code == 302


def test_what_is_not_published_is_not_there(scenes: Corpus, reader: Client):
    Corpus.objects.update(published=False)
    assert "scenes" not in reader.get(reverse("home")).content.decode()
    assert reader.get(reverse("corpus", args=["scenes"])).status_code == 404
    assert reader.get(reverse("image", args=["scenes", "scene-1"])).status_code == 404


def test_a_layer_in_the_making_is_not_shown(scenes: Corpus, reader: Client):
    scenes.layers.update(published=False)
    page = reader.get(reverse("image", args=["scenes", "scene-1"])).content.decode()
    assert "No layer yet" in page
    assert reader.get(reverse("corpus", args=["scenes"]) + "?layer=import").status_code == 404
