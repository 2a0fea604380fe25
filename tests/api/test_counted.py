"""Questions whose votes are only counted, through the API: requested, and answered directly or with a page's
form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Account, Judgment
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.tag_relevance.rules import TAG_RELEVANCE
from tests.api.conftest import Program
from tests.queue.world import TRUSTING
from tests.web import counted_desk

pytestmark = pytest.mark.django_db(transaction=True)

REGIONS = [{"box": [n, 2, 60 + n, 90], "text": f"part {n}", "way": "drag"} for n in range(1, 6)]


def of_a_page(task: Any) -> dict[str, Any]:
    return {
        "answer": "judged",
        "ticked": [[n == 2 for n in range(len(b["captions"]))] for b in task["blocks"]],
    }


def form_of_a_page(task: Any) -> dict[str, Any]:
    sizes = [len(block["captions"]) for block in task["blocks"]]
    ticks = {f"tick-{number}-2": "on" for number in range(len(sizes))}
    return {"answer": "judged", "sizes": ",".join(map(str, sizes)), **ticks}


def form_of_regions(task: Any) -> dict[str, Any]:
    form = {"answer": "described"}
    for number, region in enumerate(REGIONS):
        edges = dict(zip(("xmin", "ymin", "xmax", "ymax"), map(str, region["box"]), strict=True))
        form |= {
            f"region-{number}-{k}": str(v)
            for k, v in {**edges, "text": region["text"], "way": "drag"}.items()
        }
    return form


AnswerOf = Callable[[Any], dict[str, Any]]
ANSWERS: dict[str, tuple[str, AnswerOf, AnswerOf]] = {
    "relevance": (RELEVANCE, of_a_page, form_of_a_page),
    "tags": (TAG_RELEVANCE, of_a_page, form_of_a_page),
    "graded": (GRADED_RELEVANCE, lambda task: {"answer": "3"}, lambda task: {"answer": "3"}),
    "captions": (
        CAPTION_WRITING,
        lambda task: {"answer": "written", "text": "Two people walk."},
        lambda task: {"answer": "written", "text": "Two people walk."},
    ),
    "regions": (
        REGION_DESCRIPTION,
        lambda task: {"answer": "described", "regions": REGIONS},
        form_of_regions,
    ),
}


@pytest.mark.parametrize("by_form", [False, True])
@pytest.mark.parametrize("tasks", ANSWERS)
def test_every_kind_is_told_and_answered(tmp_path: Path, tasks: str, by_form: bool):
    kind, outright, form = ANSWERS[tasks]
    counted_desk.campaign(tmp_path, tasks)
    ann = Program(Account.objects.get(username="ann"))
    task = ann.take(kind)
    value = {"kind": kind, "form": form(task)} if by_form else outright(task)
    status, text = ann.answer(task, **value)
    assert (status, text["repeated"]) == (200, False), text
    judgment = Judgment.objects.get()
    if outright is of_a_page:
        assert judgment.content is not None
        assert all(block["yes"] == [n == 2 for n in range(10)] for block in judgment.content["blocks"])
    else:
        expected = {
            "graded": ("3", None),
            "captions": ("written", {"text": "Two people walk."}),
            "regions": ("described", {"regions": REGIONS}),
        }
        assert (judgment.answer, judgment.content or None) == expected[tasks]


def test_a_program_reads_how_long_a_caption_is(tmp_path: Path):
    settings = {**TRUSTING, "answers": {"fewest_words": 4, "most_words": 6}}
    counted_desk.campaign(tmp_path, "captions", settings=settings)
    ann = Program(Account.objects.get(username="ann"))
    task = ann.take(CAPTION_WRITING)
    assert (task["fewest_words"], task["most_words"]) == (4, 6)
    status, text = ann.answer(task, answer="written", text="Two people walk.")
    assert (status, text["code"], text["field"]) == (422, "bad_answer", "text")
    assert ann.answer(task, answer="written", text="Two people walk home.")[0] == 200


def test_a_program_may_say_how_a_caption_was_written(tmp_path: Path):
    counted_desk.campaign(tmp_path, "captions")
    ann = Program(Account.objects.get(username="ann"))
    task = ann.take(CAPTION_WRITING)
    value = {"answer": "written", "text": "Two people walk."}
    for wrong in (-1, 1e6, True, "3", float("nan")):
        assert ann.answer(task, **value, pasted=wrong)[0] in (400, 422)
    measured = {"pasted": 3, "first_key": 1.26, "typing": 0}
    form = {name: str(number) for name, number in (value | measured).items()}
    assert ann.answer(task, kind=CAPTION_WRITING, form=form | {"typing": "nan"})[0] == 200
    assert Judgment.objects.get().content == {"text": value["text"], "pasted": 3.0, "first_key": 1.3}


@pytest.mark.parametrize("tasks", ["relevance", "tags", "captions", "regions"])
def test_a_word_alone_is_no_answer_where_more_is_asked(tmp_path: Path, tasks: str):
    kind, outright, _ = ANSWERS[tasks]
    counted_desk.campaign(tmp_path, tasks)
    ann = Program(Account.objects.get(username="ann"))
    task = ann.take(kind)
    status, text = ann.answer(task, answer=outright(task)["answer"])
    assert (status, text["code"]) == (422, "bad_answer")
    assert not Judgment.objects.exists()
