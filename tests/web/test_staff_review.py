"""A reviewer's hour, on pages: the queue, reports, an image with its history, and every ruling."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Campaign, Flag, Ruling
from annotation.protocol import questions as q
from annotation.selectors import review
from tests.review.world import (
    HAT,
    MAN,
    THE_MAN,
    a_man,
    chain,
    image,
    lose_the_hat,
    refuse,
    report,
    the_world,
)
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db

IMAGE = "/campaigns/review/images/man/"


@pytest.fixture
def world():
    return the_world()


@pytest.fixture
def rev():
    return people.signed_in("rev", "reviewer")


def test_the_queue_says_who_waits_why_and_leads_there(world, rev):
    queue = reverse("review", args=["review"])
    assert "0 chains wait for a reviewer" in words(rev.get(queue))
    refuse(world)
    lose_the_hat(world)
    page = rev.get(queue)
    assert "2 chains wait for a reviewer" in words(page)
    assert "The man rejected · 2 mentions" in words(page) and "a hat no box found" in words(page)
    assert f'href="{IMAGE}?chain=1"' in page.content.decode()
    only = rev.get(queue, {"reason": "fruitless"})
    assert "a hat" in words(only) and "The man" not in words(only)
    assert "No chain needs review for this reason" in words(rev.get(queue, {"reason": "crowded"}))


def test_the_queue_pages_by_key(rev):
    world = the_world([a_man(f"n{i}") for i in range(3)])
    for index in range(3):
        lose_the_hat(world, index, worker=index)
    first = review.review_queue(campaign=world.campaign.pk, size=2)
    page = rev.get(reverse("review", args=["review"]), {"after": first.after})
    assert [w.image.key for w in page.context["queue"].images] == ["n0"]
    assert "Newest" in words(page)


def test_a_flagged_mention_is_read_and_seen_to_by_page(world, rev):
    report(world, q.COREF_LINK, "chunk_wrong", worker=1, comment="two words too many")
    queue = reverse("review", args=["review"])
    page = rev.get(queue)
    assert "words marked wrongly two words too many A man, The man" in words(page).replace("“", "")
    after = press(rev, queue, "Mark as handled")
    assert messages_on(after) == ["Report marked as handled."]
    assert "No open reports" in words(after)
    assert str(Flag.objects.get().resolved_by) == "rev"
    assert "handled: rev" in words(rev.get(queue, {"reports": "all"}))


def test_a_report_can_be_seen_to_where_the_image_is_shown(world, rev):
    report(world, q.COREF_LINK, "offensive", comment="rude")
    page = press(rev, IMAGE, "Mark as handled")
    assert page.redirect_chain[-1][0] == IMAGE
    assert Flag.objects.get().resolved_at is not None
    assert not any("Mark as handled" in form.buttons for form in forms(page))


def test_an_image_shows_chains_answers_steps_and_why_it_waits(world, rev):
    report(world, q.COREF_LINK, worker=3, comment="chunk")
    refuse(world)
    page = rev.get(IMAGE)
    text = words(page)
    assert "A worker says that these mentions are not one thing" in text
    assert "same thing?" in text and "words marked wrongly" in text and "all one thing? no review-w0" in text
    assert "VERIFICATION REFUSED → REVIEW" in text
    assert 'data-lit="1"' in page.content.decode()
    hat = rev.get(IMAGE, {"chain": 2})
    assert "a hat open: drawing" in words(hat) and "Nobody was asked about it yet" in words(hat)


def test_answers_that_do_not_count_say_why(world, rev):
    refuse(world)
    press(rev, IMAGE, "Save groups", **{f"to:{THE_MAN}": "new1"})
    assert "same thing as 3? yes review-w0 not needed" in words(rev.get(IMAGE, {"chain": 1}))


def test_a_refused_chain_is_kept_by_page(world, rev):
    refuse(world)
    page = press(rev, IMAGE, "Keep as one chain", comment="one man, plainly")
    assert messages_on(page) == ["Ruling saved. Nothing in this image needs review now."]
    assert chain(image(world), MAN, THE_MAN)["s"] == "DRAWING"
    ruling = Ruling.objects.get()
    assert (str(ruling.made_by), ruling.comment) == ("rev", "one man, plainly")
    assert "One chain: “A man”, “The man” one man, plainly" in words(page)


def test_mentions_are_grouped_again_by_page(world, rev):
    refuse(world)
    press(rev, IMAGE, "Save groups", **{f"to:{THE_MAN}": "new1"})
    assert chain(image(world), MAN) and chain(image(world), THE_MAN)
    press(rev, f"{IMAGE}?chain=1", "Save groups", **{f"to:{MAN}": THE_MAN})
    assert chain(image(world), MAN, THE_MAN)
    press(rev, f"{IMAGE}?chain=1", "Save groups", **{f"to:{MAN}": HAT})
    assert chain(image(world), MAN, HAT)["m"] == [MAN, HAT]


def test_boxes_are_given_by_page_and_what_was_typed_is_kept_where_it_is_wrong(world, rev):
    lose_the_hat(world)
    response = press(rev, IMAGE, "Save boxes", boxes="30, 10, 60\n", comment="there")
    assert response.status_code == 409
    assert "Line 1, “30, 10, 60”, is not a box" in words(response)
    (form,) = [form for form in forms(response) if "Save boxes" in form.buttons]
    assert (form.fields["boxes"], form.fields["comment"]) == (["30, 10, 60\n"], ["there"])
    outside = press(rev, IMAGE, "Save boxes", boxes="30 10 600 30")
    assert outside.status_code == 409 and "500 x 375" in words(outside)
    assert not Ruling.objects.exists()
    press(rev, IMAGE, "Save boxes", boxes="30, 10, 60, 30\n\n 1 1 5 5 ")
    assert chain(image(world), HAT)["b"] == [[30, 10, 60, 30], [1, 1, 5, 5]]
    visible = forms(rev.get(IMAGE, {"chain": 2}))
    assert ["30, 10, 60, 30\n1, 1, 5, 5"] in [form.fields.get("boxes") for form in visible]


@pytest.mark.parametrize(
    ("kind", "stage"), [("scene", "NON_VISUAL"), ("none", "NON_VISUAL"), ("excluded", "EXCLUDED")]
)
def test_a_chain_is_closed_without_a_box_by_page(world, rev, kind, stage):
    lose_the_hat(world)
    press(rev, IMAGE, "Close the chain", **{"as": kind})
    assert chain(image(world), HAT)["s"] == stage


def test_closing_needs_a_reason_to_be_chosen(world, rev):
    lose_the_hat(world)
    page = press(rev, IMAGE, "Close the chain")
    assert page.status_code == 409 and "Say why there is no box" in words(page)


def test_a_chain_is_asked_again_by_page_unless_the_campaign_is_closed(world, rev):
    lose_the_hat(world)
    page = press(rev, IMAGE, "Ask again")
    assert chain(image(world), HAT)["s"] == "REQUIREMENT"
    assert "Asked again: “a hat”" in words(page)
    press(rev, f"{IMAGE}?chain=2", "Close the chain", **{"as": "none"})
    press(rev, f"{IMAGE}?chain=2", "Ask again")
    assert chain(image(world), HAT)["s"] != "NON_VISUAL"
    press(rev, f"{IMAGE}?chain=2", "Close the chain", **{"as": "none"})
    Campaign.objects.update(state=Campaign.CLOSED)
    assert not any("Ask again" in form.buttons for form in forms(rev.get(f"{IMAGE}?chain=2")))


def test_a_merge_is_undone_and_done_again_by_page(world, rev):
    lease = world.held(0)
    world.submit(0, lease, world.wrong_answer(lease), then=False)
    world.work()
    page = rev.get(IMAGE)
    assert "Boxes of chains 1, 3 were merged, because they overlap by 100 %." in words(page)
    assert "Chains 1, 3 were merged, because they have the same boxes." in words(page)
    apart = press(rev, IMAGE, "Keep 1 and 3 apart")
    assert image(world).state["merged"] == []
    assert "were merged" not in words(apart)
    again = press(rev, IMAGE, "Withdraw")
    assert messages_on(again) == ["Ruling withdrawn. The workers' answers decide again."]
    assert len(image(world).state["merged"]) == 2
    assert "withdrawn: rev" in words(again)


def test_a_ruling_about_an_image_that_changed_meanwhile_is_refused(world, rev):
    refuse(world)
    old = rev.get(IMAGE)
    (form,) = [form for form in forms(old) if "Keep as one chain" in form.buttons]
    press(people.signed_in("other", "reviewer"), IMAGE, "Save groups", **{f"to:{THE_MAN}": "new1"})
    late = rev.post(form.action, {**form.fields, "act": "keep"})
    assert late.status_code == 409 and "has changed in the meantime" in words(late)
    assert Ruling.objects.count() == 1


def test_withdrawing_twice_says_so(world, rev):
    refuse(world)
    press(rev, IMAGE, "Keep as one chain")
    address = reverse("operation", args=["withdraw_ruling"])
    form_data = {"campaign": "review", "ruling": Ruling.objects.get().pk}
    rev.post(address, form_data)
    assert "already withdrawn" in words(rev.post(address, form_data))


@pytest.mark.parametrize(
    "data", [{}, {"act": "nonsense"}, {"act": "keep", "chain": "9:0-1"}, {"act": "apart"}]
)
def test_a_form_that_the_page_did_not_make_is_refused(world, rev, data):
    answer = rev.post(reverse("rule", args=["review", "man"]), data)
    assert answer.status_code == 409 and 'role="alert"' in answer.content.decode()
    assert not Ruling.objects.exists()


def test_the_next_image_in_review_is_one_click_away(rev):
    world = the_world([a_man("one"), a_man("two")])
    lose_the_hat(world, 0)
    lose_the_hat(world, 1, worker=1)
    page = rev.get("/campaigns/review/images/two/")
    assert 'href="/campaigns/review/images/one/">Next in review' in page.content.decode()
    after = press(rev, "/campaigns/review/images/one/", "Close the chain", **{"as": "none"})
    assert "/campaigns/review/images/two/" in after.content.decode()
    last = press(rev, "/campaigns/review/images/two/", "Close the chain", **{"as": "none"})
    assert "No other image needs review" in words(last)
