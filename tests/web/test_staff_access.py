"""Who may open which page of a campaign, and send its forms: every route, every kind of visitor."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import AuditEntry, Campaign, Control, Flag, Invitation, Job, Ruling, TrustState
from annotation.protocol import questions as q
from annotation.protocol.contents import ruling_json
from annotation.protocol.rulings import Closure
from annotation.workers import invitations
from tests import worlds
from tests.review.world import HAT, image, report, the_world
from tests.web.test_access import VISITORS, visitor

pytestmark = pytest.mark.django_db

READERS = {"reviewer", "researcher", "admin"}
RUNNERS = {"researcher", "admin"}
ADMINS = {"admin"}
OF_IT, OF_IMAGE, OF_WORKER = ["review"], ["review", "man"], ["review", "review-w0"]

#: Route -> the arguments of its address, and who may read it.
PAGES = {
    "campaigns": ([], READERS),
    "campaign": (OF_IT, READERS),
    "campaign_settings": (OF_IT, READERS),
    "change_settings": (OF_IT, RUNNERS),
    "image_order": (OF_IT, RUNNERS),
    "review": (OF_IT, READERS),
    "review_image": (OF_IMAGE, READERS),
    "campaign_drafts": ([], RUNNERS),
    "workers": (OF_IT, RUNNERS),
    "worker": (OF_WORKER, RUNNERS),
    "entry": (OF_IT, RUNNERS),
    "control_item_list": (OF_IT, RUNNERS),
    "new_control_item": (OF_IT, RUNNERS),
    "texts": (OF_IT, RUNNERS),
    "text": (["review", "consent"], RUNNERS),
    "jobs": (OF_IT, RUNNERS),
}
#: Route -> the arguments of its address, and who may do it.
ACTS = {
    "rule": (OF_IMAGE, READERS),
}
#: Pages that also accept a POST, and who may do it.
BOTH = {
    "campaign_drafts": RUNNERS,
    "change_settings": RUNNERS,
    "new_control_item": RUNNERS,
}
#: Everything that accepts a POST: route -> the arguments of its address, and who may do it.
POSTS = ACTS | {route: (PAGES[route][0], roles) for route, roles in BOTH.items()}


@pytest.fixture
def world(db):
    def build():
        world = the_world()
        report(world, q.COREF_LINK)
        row = image(world)
        Ruling.objects.create(image=row, content=ruling_json(Closure((HAT,), "none")))
        invitations.make_invitation(campaign=world.campaign)
        return world

    return worlds.again("a campaign with a report, a ruling and an invitation", build)


def address(route, arguments):
    ids = {"RULING": Ruling.objects, "FLAG": Flag.objects, "INVITATION": Invitation.objects}
    return reverse(route, args=[ids[a].get().pk if a in ids else a for a in arguments])


@pytest.mark.parametrize("kind", VISITORS)
def test_a_page_is_open_to_its_roles(world, kind):
    client = visitor(kind)
    for route, (arguments, roles) in PAGES.items():
        answer = client.get(address(route, arguments))
        if kind in roles:
            assert answer.status_code == 200, route
        else:
            check_refusal(answer, route, kind)


@pytest.mark.parametrize(
    ("route", "kind"), [(route, kind) for route, (_, roles) in POSTS.items() for kind in sorted(roles)]
)
def test_an_act_is_open_to_its_roles(world, route, kind):
    assert visitor(kind).post(address(route, POSTS[route][0])).status_code in (200, 302, 409, 412)


@pytest.mark.parametrize("kind", VISITORS)
def test_an_act_changes_nothing_for_others(world, kind):
    client = visitor(kind)
    before = state_of_everything()
    for route, (arguments, roles) in POSTS.items():
        if kind not in roles:
            check_refusal(client.post(address(route, arguments)), route, kind)
            assert state_of_everything() == before, route


def check_refusal(answer, route, kind):
    if kind in ("anonymous", "suspended"):
        assert answer.status_code == 302 and answer["Location"].startswith(reverse("sign_in")), route
    else:
        assert answer.status_code == 403, route


def test_an_act_takes_no_get(world):
    admin = visitor("admin")
    for route, (arguments, _) in ACTS.items():
        assert admin.get(address(route, arguments)).status_code == 405, route


def test_a_page_says_whom_to_ask_for_what_one_may_not_do(world):
    text = visitor("reviewer").get(reverse("workers", args=["review"])).content.decode()
    assert "This page is for researchers" in text and "Ask an admin" in text
    text = visitor("researcher").post(reverse("operation", args=["erase_worker"])).content.decode()
    assert "This page is for admins" in text


def test_a_reviewer_is_shown_only_what_a_reviewer_may_open(world):
    page = visitor("reviewer").get(reverse("campaign", args=["review"])).content.decode()
    assert reverse("review", args=["review"]) in page
    for route in ("workers", "control_item_list", "texts", "jobs"):
        assert reverse(route, args=["review"]) not in page


@pytest.mark.parametrize(
    ("route", "arguments"),
    [
        ("campaign", ["nothing"]),
        ("review_image", ["review", "nobody"]),
        ("worker", ["review", "nobody"]),
        ("text", ["review", "nothing"]),
    ],
)
def test_what_is_not_there_is_said_to_be_missing(world, route, arguments):
    assert visitor("admin").get(reverse(route, args=arguments)).status_code == 404


def state_of_everything():
    return (
        list(Campaign.objects.values("state", "settings", "revision")),
        list(Flag.objects.values("resolved_at")),
        list(Ruling.objects.values("pk", "withdrawn_at")),
        list(TrustState.objects.values("blocked", "withdrawn_at")),
        list(Invitation.objects.values("pk", "revoked_at")),
        Control.objects.count(),
        Job.objects.count(),
        AuditEntry.objects.count(),
    )
