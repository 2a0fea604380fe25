"""Practice: each answer is assessed at once, with a reason; nothing is stored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from annotation import instructions
from annotation.models import Assignment, AuditEntry, Campaign, Control, Judgment, TrustState
from annotation.protocol import kinds
from annotation.protocol import questions as q
from annotation.task_types.practice import PRACTICE, PracticeItem, practice_scene
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from tests.web import counted_desk, desk, world

pytestmark = pytest.mark.django_db(transaction=True)

#: The tasks of a campaign in which the kind can be practised.
TASKS = {kind.key: kind.tasks for kind in kinds.all_kinds() if kind.counted}


@pytest.fixture(params=kinds.names())
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each kind of question, in a campaign with it."""
    requested: str = request.param
    if requested in TASKS:
        counted_desk.campaign(tmp_path / "drawn", TASKS[requested])
    else:
        desk.campaign(tmp_path / "drawn")
    return requested


def ann() -> Client:
    client = Client()
    assert client.login(username="ann", password=world.PASSWORD)
    return client


def address(kind: str, number: int = 1, right: int = 0) -> str:
    return f"{desk.address(kind)}practice/?n={number}&right={right}"


def answer(kind: str, item: PracticeItem, *, right: bool = True) -> dict[str, Any]:
    """Return a form's fields that answer an item correctly, or wrongly if it can be graded."""
    if kind == q.BOX_DRAWING:
        taken = set(item.boxes)
        left = [
            box for box in practice_scene(item.scene).boxes(item.mentions[0]) if tuple_of(box) not in taken
        ]
        if not (left and right):
            return {"answer": "none" if right or left else "drawn", **edges((1, 1, 50, 50))}
        return {"answer": "drawn", **edges(tuple_of(left[0]))}
    if item.blocks:
        ticks = {
            f"tick-{index}-{number}": "on"
            for index, (_name, sentences) in enumerate(item.blocks)
            for number, (_text, fits) in enumerate(sentences)
            if fits == right
        }
        sizes = ",".join(str(len(sentences)) for _name, sentences in item.blocks)
        return {"answer": "judged", "sizes": sizes, **ticks}
    if kind == REGION_DESCRIPTION:
        regions: dict[str, Any] = {"answer": "described"}
        for index, (corners, words) in enumerate(item.regions):
            regions[f"region-{index}-text"] = f"my {words}"
            regions |= {f"region-{index}-{edge}": value for edge, value in edges(corners).items()}
        return regions
    if item.models:
        return {"answer": "written", "text": "A boy plays with his dog in the field."}
    invalid = [word for word in q.answers_to(kind) if word not in (item.right, "written")]
    return {"answer": item.right if right else invalid[0]}


def tuple_of(box: Any) -> tuple[int, int, int, int]:
    return (box.xmin, box.ymin, box.xmax, box.ymax)


def edges(corners: tuple[int, int, int, int]) -> dict[str, int]:
    return dict(zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True))


def stored() -> list[int]:
    """Return the number of rows that practice must not change."""
    return [item.objects.count() for item in (Assignment, Judgment, TrustState, Control, AuditEntry)]


def text_of(page: Any) -> str:
    """Return a page's text, without markup."""
    text = re.sub(r"<[^>]+>", " ", page.content.decode())
    return " ".join(text.replace("&#x27;", "'").replace("&quot;", '"').split())


def test_all_items_can_be_answered_rightly_and_nothing_is_stored(kind: str):
    client, before = ann(), stored()
    right = 0
    for number, item in enumerate(PRACTICE.get(kind).items, 1):
        response = client.get(address(kind, number, right))
        assert f"Practice, {number} of {len(PRACTICE.get(kind).items)}" in text_of(response)
        assert str(item.why) not in text_of(response)
        page = client.post(address(kind, number, right), answer(kind, item))
        assert page.status_code == 200
        verdict = "Correct" if item.right else "A good answer"
        assert f">{verdict}</h2>" in page.content.decode()
        assert " ".join(str(item.why).split()) in text_of(page)
        right += bool(item.right)
        assert f"?n={number + 1}&amp;right={right}" in page.content.decode()
    over = text_of(client.get(address(kind, len(PRACTICE.get(kind).items) + 1, right)))
    assert f"{right} of {right} were correct." in over if right else "what a good answer looks like" in over
    assert stored() == before


def test_a_wrong_answer_is_told_what_is_right_and_why(kind: str):
    if kind == REGION_DESCRIPTION:
        return  # no answer can be wrong
    client, item = ann(), PRACTICE.get(kind).items[0]
    page = client.post(address(kind), answer(kind, item, right=False))
    assert ">Not correct</h2>" in page.content.decode()
    assert " ".join(str(item.why).split()) in text_of(page)
    assert "?n=2&amp;right=0" in page.content.decode()


def test_instructions_lead_to_practice_and_show_a_good_and_a_bad_picture(kind: str):
    page = ann().get(f"{desk.address(kind)}instructions/").content.decode()
    assert f'href="{desk.address(kind)}practice/"' in page
    listed = re.findall(
        r'<figure class="example (good|bad)">\s*<div class="frame"><img[^>]* alt="([^"]+)"', page
    )
    assert {sort for sort, _alt in listed} == {"good", "bad"}


@pytest.fixture
def links(tmp_path: Path) -> Campaign:
    return desk.campaign(tmp_path / "drawn").campaign


def test_what_says_nothing_is_asked_again(links: Campaign):
    page = ann().post(address(q.COREF_LINK), {"answer": "perhaps"})
    assert page.status_code == 422
    assert "is not an answer to this question" in text_of(page)
    assert "Practice, 1 of 5" in text_of(page)


def test_what_was_entered_is_there_again(links: Campaign):
    page = ann().post(address(q.BOX_DRAWING), {"answer": "drawn", **edges((7, 8, 9, 9))})
    assert page.status_code == 422 and "too small" in text_of(page)
    assert 'name="xmin" value="7"' in page.content.decode()


@pytest.mark.parametrize("query", ["n=0", "n=-1", "n=x", "n=&right=7", "right=%F0%9F%98%80", ""])
def test_an_address_that_cannot_be_is_the_first_item(query: str, links: Campaign):
    page = ann().get(f"{desk.address()}practice/?{query}")
    assert "Practice, 1 of 5" in text_of(page)


def test_nobody_can_have_had_more_right_than_there_are(links: Campaign):
    page = ann().get(address(q.COREF_LINK, 99, 99))
    assert "5 of 5 were correct." in text_of(page)


def test_practice_ends_at_the_work(links: Campaign):
    client = ann()
    over = client.get(address(q.COREF_LINK, 6, 4)).content.decode()
    assert "4 of 5 were correct." in over
    begun = client.post(f"{desk.address()}instructions/", follow=True)
    assert f'action="{desk.address()}instructions/"' in over
    assert begun.redirect_chain[-1][0] == desk.address() and "data-answer" in begun.content.decode()


def test_beside_a_text_of_ones_own_no_picture_of_ours_may_contradict_it(links: Campaign):
    instructions.publish_text(campaign=links, kind=q.COREF_LINK, text="Say yes whenever you feel like it.")
    page = ann().get(f"{desk.address()}instructions/").content.decode()
    assert "whenever you feel like it" in page and "<figure" not in page


def test_pictures_stand_beside_the_text_in_every_language(links: Campaign):
    with translation.override("en"):  # the request leaves its language in this thread
        answer = ann().get(f"{desk.address()}instructions/", headers={"Accept-Language": "de"})
    page = answer.content.decode()
    assert '<html lang="de">' in page and page.count("<figure") == 2
