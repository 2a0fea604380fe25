"""The pages on which reviewers mend phrases."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Campaign, Flag, Job, Ruling
from annotation.protocol import questions as q
from annotation.protocol.contents import mention_from
from tests.review.world import HAT, MAN, THE_MAN, a_man, image, report, the_world
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/review/images/man/phrases/"


@pytest.fixture
def world():
    return the_world()


@pytest.fixture
def rev():
    return people.signed_in("rev", "reviewer")


def mentions(world) -> dict[str, tuple[str, ...]]:
    return {m.id: m.categories for m in map(mention_from, image(world).mentions)}


def test_a_change_is_previewed_and_saved(world, rev):
    world.work()
    assert PAGE in rev.get(reverse("review_image", args=["review", "man"])).content.decode()
    unrelated = {"unrelated:1": ["1"]}
    page = press(rev, PAGE, "Preview", phrases=f"{MAN} {THE_MAN} 0:4-5")
    assert page.status_code == 200
    assert "4 answers no longer count; they stay stored and paid." in words(page)
    assert "Questions that open at once: draw a box 1" in words(page)
    assert set(mentions(world)) == {MAN, HAT, THE_MAN}, "a preview changes nothing"
    page = press(
        rev,
        PAGE,
        "Save changes",
        "",
        comment="no article",
        phrases=f"{MAN} {THE_MAN} 0:4-5",
        **unrelated,
    )
    assert page.request["PATH_INFO"] == reverse("review_image", args=["review", "man"])
    assert messages_on(page)[0].startswith("Phrases saved")
    assert mentions(world) == {MAN: ("people",), "0:4-5": ("clothing",)}
    assert [ruling.comment for ruling in Ruling.objects.all()] == ["no article"] * 2
    assert "Caption 2 does not describe the picture." in words(page)
    assert "No phrase: 0:3-5; Phrase: “hat” (0:4-5; clothing)" in words(page)


def test_a_category_and_a_noun_are_chosen(world, rev):
    press(rev, PAGE, "Save changes", **{f"categories:{HAT}": "other", f"noun:{MAN}": "A"})
    fields = {mention.id: mention for mention in map(mention_from, image(world).mentions)}
    assert (fields[HAT].categories, fields[MAN].noun, fields[MAN].head) == (("other",), "A", "a")


def test_what_cannot_be_is_said_and_nothing_is_lost(world, rev):
    page = press(rev, PAGE, "Save changes", comment="why")
    assert (page.status_code, "Nothing was changed." in words(page)) == (409, True)
    page = press(rev, PAGE, "Save changes", phrases=f"{MAN} {THE_MAN} {HAT} 0:4-6", comment="why")
    assert page.status_code == 409
    assert "would have a word in common" in words(page)
    assert (
        'value="0:0-2 0:3-5 0:4-6 1:0-2"' in page.content.decode()
        and ">why</textarea>" in page.content.decode()
    )


def test_a_report_leads_there_with_the_change_that_it_proposes(world, rev):
    report(world, q.BOX_DRAWING, comment="it should be hat", mention=HAT)
    flag = Flag.objects.get()
    address = f"{PAGE}?report={flag.pk}"
    assert address in rev.get(reverse("review", args=["review"])).content.decode()
    assert address in rev.get(reverse("review_image", args=["review", "man"])).content.decode()
    page = rev.get(address)
    assert "Proposed: “hat” instead of “a hat”." in words(page)
    press(rev, address, "Save changes")
    flag.refresh_from_db()
    assert flag.resolved_at is not None
    assert set(mentions(world)) == {MAN, THE_MAN, "0:4-5"}


def test_a_rule_is_previewed_and_applied(rev):
    the_world([a_man("one"), a_man("two")])
    address = reverse("phrase_rules", args=["review"])
    assert address in rev.get(reverse("review", args=["review"])).content.decode()
    assert rev.get(address).status_code == 200
    rule = f"{address}?words=hat&act=categorise&categories=other&whole=false"
    page = rev.get(rule)
    assert "2 images change" in words(page)
    assert "a hat (clothing) a hat (other) 2" in words(page)
    press(rev, rule, "Apply the rule", comment="no clothing")
    job = Job.objects.get(kind="apply_phrase_rule")
    assert job.arguments["categories"] == ["other"]
    assert "No phrase of this campaign" in words(rev.get(f"{address}?words=coat&act=remove"))
    assert rev.get(f"{address}?words=hat&act=categorise").status_code == 400


def test_an_image_that_is_not_open_has_no_such_page(world, rev):
    assert rev.get("/campaigns/review/images/nobody/phrases/").status_code == 404
    Campaign.objects.update(state=Campaign.CLOSED)
    assert rev.get(PAGE).status_code == 200
