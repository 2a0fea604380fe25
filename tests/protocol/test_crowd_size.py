"""The minimum number of workers of a campaign, compared with a search through all possible answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, takewhile
from typing import Any

import pytest

from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.counted import CountedFold, CountedQuestion
from annotation.protocol.image import Fold
from annotation.protocol.kinds import all_tasks, is_counted, kind_of, kinds_of_tasks
from annotation.protocol.questions import DOUBLE_CHECK, FLAGS, VOTE, Judgment, Question
from annotation.protocol.rehearsal import CrowdSize, crowd_size
from annotation.protocol.state import ImageState
from annotation.protocol.terms import Box
from tests.protocol.build import mentions

Folds = Callable[[Iterable[Judgment]], ImageState]
#: An image with a box to draw, and one with a link, whose chain is verified next.
BOXED, LINKED = mentions("a dog/animals"), mentions("a dog/animals", "the dog/animals")


def folds_of(tasks: str, settings: CampaignSettings) -> list[Folds]:
    """Return images with all kinds of question of these tasks."""
    protocol, kinds = settings.protocol, kinds_of_tasks(tasks)
    if all(map(is_counted, kinds)):
        counted_questions = [
            CountedQuestion(kind, f"{kind}|0", settings.answers.answers_needed(kind)) for kind in kinds
        ]
        return [CountedFold(counted_questions, flags_to_review=protocol.flags_to_review)]
    linked = Fold(LINKED, protocol.of_image(pictured=False))
    return [linked, Fold(BOXED, protocol)] if protocol.boxes != "never" else [linked]


def most_people(fold: Folds, *, checked: bool, returning: bool) -> int:
    """Return the maximum number of people excluded from a question, plus one: with fewer, it could be stuck.

    Every sequence of answers is tried; `checked`: a second person is asked each question. Without `returning`
    a sequence ends when a question comes back, and nobody reports.
    """
    tried: dict[Any, int] = {}

    def person(question: Question, also: str = "") -> str:
        return next(name for n in count() if (name := f"w{n}") not in {*question.barred, also})

    def after(judgments: tuple[Judgment, ...]) -> int:
        """Return the maximum from here on."""
        state = fold(judgments)
        if not state.questions:
            return 0
        question = state.questions[0]
        # The rest depends on this only: keys with fewer boxes do not come back.
        beside = question.key.rpartition("|")[2]
        had = frozenset(
            (judgment.question, judgment.worker)
            for judgment in judgments
            if judgment.key.rpartition("|")[2] == beside
        )
        provided = takewhile(lambda judgment: judgment.key == question.key, reversed(judgments))
        votes = tuple(judgment.answer for judgment in provided if not judgment.flag)
        moves = [move.outcome for chain in state.chains for move in chain.moves]
        fruitless = sum(1 for _ in takewhile(lambda outcome: outcome != "GOOD", reversed(moves)))
        reporters = frozenset(judgment.worker for judgment in judgments if judgment.flag)
        here = (question.kind, beside, question.barred, had, votes, fruitless, reporters)
        if here not in tried:
            tried[here] = votes_on(question, judgments)
        return tried[here]

    def votes_on(question: Question, judgments: tuple[Judgment, ...]) -> int:
        had = [judgment for judgment in judgments if judgment.key == question.key]
        if had and judgments[-1].key != question.key and not returning:
            return 0
        kind, number, most = kind_of(question.kind), len(judgments), len(question.barred) + 1
        # "scene" and "no" count like "none"; all answers to a counted question are equivalent.
        answers = [word for word in kind.answers if word not in ("scene", "no") or not kind.about_boxes]
        for word in answers[: 1 if kind.counted else None] + [*FLAGS[:1]] * returning:
            corner = 20 * len(question.boxes) + 1
            box = Box(corner, 1, corner + 9, 9) if word == "drawn" else None
            message = ("", box, word) if word in FLAGS else (word, box, "")
            then = (*judgments, Judgment(f"j{number}", question.key, person(question), *message, VOTE))
            if checked and word not in FLAGS and not kind.counted and all(judgment.flag for judgment in had):
                if all(item.key != question.key for item in fold(then).questions):
                    second = person(question, then[-1].worker)
                    then = (*then, Judgment(f"c{number}", question.key, second, *message, DOUBLE_CHECK))
                    most = max(most, len(question.barred) + 2)
            most = max(most, after(then))
        return most

    return after(())


def sizes(tasks: str, values: dict[str, Any], *, returning: bool) -> tuple[int, int]:
    """Return the crowd size for these tasks and settings, computed and searched."""
    settings = settings_of(values)
    size = crowd_size(kinds_of_tasks(tasks), settings)
    checked = settings.trust.double_check_share > 0
    folds = folds_of(tasks, settings)
    searched = max(most_people(fold, checked=checked, returning=returning) for fold in folds)
    return (size.enough if returning else size.least), searched


def counted(tasks: str) -> bool:
    return all(map(is_counted, kinds_of_tasks(tasks)))


ALONE: dict[str, Any] = {"trust": {"double_check_share": 0.0}}
#: Questions that are asked once, and questions that come back and are reported, if sequences are short.
ONCE: list[dict[str, Any]] = [
    {"limits": {"boxes": 2}},
    {"limits": {"boxes": 2}, **ALONE},
    {"limits": {"boxes": 2}, "link_votes": 3, "verification_votes": 7},
    {"limits": {"boxes": 2}, "link_votes": 5, "saving": {"coverage_by_count": True}},
    {"boxes": "never"},
    {"boxes": "never", **ALONE},
    {"boxes": "never", "link_votes": 3},
]
RETURNING: list[dict[str, Any]] = [
    {"flags_to_review": 1, "limits": {"fruitless": 1, "boxes": 2}},
    {"flags_to_review": 1, "limits": {"fruitless": 2, "boxes": 2}, **ALONE},
    {"flags_to_review": 1, "limits": {"fruitless": 1, "boxes": 1}},
    {"flags_to_review": 2, "limits": {"fruitless": 1, "boxes": 1}, **ALONE},
    {"flags_to_review": 3, "boxes": "never", "link_votes": 3},
    {"flags_to_review": 2, "boxes": "never"},
]


@pytest.mark.parametrize("tasks", all_tasks())
def test_the_crowd_is_the_one_that_a_search_through_all_answers_finds(tasks: str) -> None:
    for returning, settings in ((False, ONCE), (True, RETURNING)):
        for values in settings:
            computed, searched = sizes(tasks, values, returning=returning)
            assert computed == searched, (tasks, values, returning)


@pytest.mark.parametrize("number", [1, 2, 3, 9])
def test_as_many_workers_as_answers_are_counted(number: int) -> None:
    for tasks in filter(counted, all_tasks()):
        (kind,) = kinds_of_tasks(tasks)
        for returning in (False, True):
            computed, searched = sizes(tasks, {"answers": {kind: number}}, returning=returning)
            assert computed == searched == number + returning


def test_images_without_pictures_need_nobody_for_boxes() -> None:
    kinds = kinds_of_tasks("entities")
    assert crowd_size(kinds, settings_of({}), pictured=True) == CrowdSize(4, 14)
    assert crowd_size(kinds, settings_of({}), pictured=False) == CrowdSize(2, 3)
    assert crowd_size(kinds, settings_of({"boxes": "always"}), pictured=False) == CrowdSize(4, 14)
