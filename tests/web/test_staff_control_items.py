"""Control items on pages: the list, one by hand, from a file, from a layer, by agreement; retired."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Control
from annotation.protocol import questions as q
from tests.queue.world import TRUSTING
from tests.review.world import HAT, MAN, THE_MAN, a_man, the_world
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db

LIST = "/campaigns/review/control-items/"
NEW = f"{LIST}new/"
HEAD = "kind,purpose,image,mentions,boxes,pending,known,explanation\n"


@pytest.fixture
def world():
    return the_world([a_man("man"), a_man("other")])


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


def upload(client, text, name="items.csv"):
    file = SimpleUploadedFile(name, text.encode(), "text/csv")
    form_data = {"campaign": "review", "file": file, "next": LIST}
    return client.post(reverse("operation", args=["import_controls"]), form_data, follow=True)


def test_a_link_is_made_by_hand(world, ada):
    address = f"{NEW}?image=man&kind=coref_link"
    assert "Which mentions is “same thing?” about?" in words(ada.get(address))
    page = press(
        ada,
        address,
        "Add item",
        mention=[MAN, THE_MAN],
        known="yes",
        purpose="control",
        explanation="one man",
    )
    assert "Control item added" in messages_on(page)[0]
    item = Control.objects.get()
    assert (item.kind, item.known, item.source, str(item.created_by)) == (q.COREF_LINK, "yes", "page", "ada")
    listed = words(ada.get(LIST))
    assert "links A man, The man yes one man mixed into the work by page –" in listed


def test_a_box_to_be_judged_and_boxes_to_be_drawn_are_made_by_hand(world, ada):
    press(
        ada,
        f"{NEW}?image=man&kind=box_quality",
        "Add item",
        mention=[HAT],
        pending="30, 10, 60, 30",
        known="good",
        purpose="qualification",
    )
    press(
        ada,
        f"{NEW}?image=man&kind=box_drawing",
        "Add item",
        mention=[HAT],
        left="30, 10, 60, 30\n70 10 90 30",
        purpose="qualification",
    )
    quality, drawing = Control.objects.order_by("pk")
    assert quality.content["pending"] == [30, 10, 60, 30]
    assert drawing.known == [[30, 10, 60, 30], [70, 10, 90, 30]]
    assert "a hat drew a box for the test" in words(ada.get(LIST))


def test_drawing_is_offered_for_tests_alone(world, ada):
    (form,) = [f for f in forms(ada.get(f"{NEW}?image=man&kind=box_drawing")) if "Add item" in f.buttons]
    assert form.choices["purpose"] == ["qualification"]


@pytest.mark.parametrize(
    ("filled", "error"),
    [
        ({"known": "yes"}, "0 mentions for coref_link; expected 2"),
        ({"mention": [MAN, THE_MAN, HAT], "known": "yes"}, "3 mentions for coref_link; expected 2"),
    ],
)
def test_an_item_that_cannot_be_says_why_and_keeps_what_was_chosen(world, ada, filled, error):
    page = press(ada, f"{NEW}?image=man&kind=coref_link", "Add item", **filled)
    assert page.status_code == 409 and error in words(page)
    (form,) = [form for form in forms(page) if "Add item" in form.buttons]
    assert form.fields.get("mention", []) == filled.get("mention", [])
    assert not Control.objects.exists()


@pytest.mark.parametrize("kind", ["", "nothing", "a\0b"])
def test_an_item_wants_a_kind_of_question(world, ada, kind):
    page = ada.post(NEW, {"image": "man", "kind": kind, "known": "yes", "purpose": "qualification"})
    assert page.status_code == 409 and "Choose a kind of question." in words(page)
    assert not Control.objects.exists()


def test_an_image_that_is_none_is_said_to_be_missing(world, ada):
    page = ada.get(NEW, {"image": "woman", "kind": q.COREF_LINK})
    assert page.status_code == 404 and "has no image “woman”" in words(page)


def test_a_file_is_uploaded_and_taken_whole(world, ada):
    rows = "coref_link,control,man,0:0-2 1:0-2,,,yes,\nbox_requirement,control,other,0:3-5,,,box,\n"
    sheet = "rows: 2 found, 2 taken"
    assert messages_on(upload(ada, HEAD + rows)) == [sheet, "2 control items added."]
    assert messages_on(upload(ada, HEAD + rows)) == [sheet, "0 control items added; 2 already existed."]
    assert {item.source for item in Control.objects.all()} == {"csv"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (HEAD + "coref_link,control,woman,0:0-2 1:0-2,,,yes,\n", "line 2: there is no image 'woman'"),
        ("kind,image\n", "mine.csv"),
        ("", "mine.csv"),
    ],
)
def test_a_bad_file_is_refused_whole_naming_file_or_line(world, ada, text, error):
    page = upload(ada, text, name="mine.csv")
    assert error in words(page) and "/tmp" not in words(page)
    assert not Control.objects.exists()


def test_a_missing_file_is_refused(world, ada):
    page = ada.post(reverse("operation", args=["import_controls"]), {"campaign": "review"})
    assert page.status_code == 400 and "This is required." in words(page)


def test_items_are_made_from_a_layer_by_page(world, ada):
    page = press(ada, LIST, "Add from the layer", layer="import")
    count = Control.objects.count()
    assert count and messages_on(page) == [f"{count} control items added."]
    assert "links" in words(page) and "a layer" in words(page)


def test_what_workers_agree_on_is_promoted_by_page(ada):
    world = the_world(link_votes=3)
    for worker in range(2):
        world.submit(worker, world.held(worker), then=False)
    page = press(ada, LIST, "Promote", kind=q.COREF_LINK, at_least="2", purpose="control")
    assert messages_on(page) == ["1 control item added."]
    assert Control.objects.get().known == "yes"
    assert "agreement" in words(page)


def test_too_small_an_agreement_is_refused(world, ada):
    page = press(ada, LIST, "Promote", at_least="1")
    assert page.status_code == 400 and "Expected 2 or more." in words(page)


def test_an_item_is_retired_by_page_and_is_not_shown_again(world, ada):
    upload(ada, HEAD + "coref_link,control,man,0:0-2 1:0-2,,,yes,\n")
    page = press(ada, LIST, "Retire")
    assert "Answers already given to it still count" in messages_on(page)[-1]
    assert not Control.objects.get().active
    again = {"campaign": "review", "item": str(Control.objects.get().pk)}
    assert ada.post(reverse("operation", args=["retire_control_item"]), again).status_code == 400


def test_an_item_that_was_wrong_is_taken_out_of_what_it_measured(ada):
    world = the_world(
        trust={**TRUSTING["trust"], "control_share": 0.02, "warm_up_known": 30, "warm_up_items": 30}
    )
    upload(ada, HEAD + "coref_link,control,man,0:0-2 1:0-2,,,no,\n")
    lease = world.held(0)
    assert lease.role == "control"
    world.submit(0, lease, world.right(lease), then=False)
    page = ada.get(LIST)
    assert "0 of 1" in words(page)
    assert "1 worker no longer counts it" in messages_on(press(ada, LIST, "Retire as wrong"))[0]


def test_the_list_filters_and_pages_by_key(world, ada, monkeypatch):
    monkeypatch.setattr("annotation.web.staff.controls.items._PAGE", 1)
    rows = "coref_link,control,man,0:0-2 1:0-2,,,yes,\nbox_requirement,qualification,other,0:3-5,,,box,\n"
    upload(ada, HEAD + rows)
    first = ada.get(LIST)
    assert [item.row.kind for item in first.context["items"]] == [q.BOX_REQUIREMENT]
    second = ada.get(LIST + first.context["later"])
    assert [item.row.kind for item in second.context["items"]] == [q.COREF_LINK] and not second.context[
        "later"
    ]
    only = ada.get(LIST, {"purpose": "control"})
    assert [item.row.kind for item in only.context["items"]] == [q.COREF_LINK]
    assert ada.get(LIST, {"kind": "x", "purpose": "x", "before": "x"}).status_code == 200
