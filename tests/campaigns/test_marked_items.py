"""Marks of test items: a clearly wrong box, and marks stored by two tabs at once."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.campaigns.drafts import keeping, marks
from annotation.campaigns.drafts.posing import worse_box
from annotation.models import Account, Control
from annotation.protocol.terms import Box
from tests.factories import a_corpus, some_images
from tests.transactions import written

RIGHT = Box(101, 1, 200, 100)
MOVED, HALF = Box(31, 1, 130, 100), Box(101, 1, 140, 100)


def test_a_wrong_box_is_moved_aside_where_that_fits_nothing() -> None:
    assert worse_box(RIGHT, [RIGHT]) == MOVED


def test_a_wrong_box_is_halved_where_it_would_fit_something_else_when_moved() -> None:
    assert worse_box(RIGHT, [RIGHT, MOVED]) == HALF


def test_a_wrong_box_is_small_where_everything_else_fits_something() -> None:
    small = worse_box(RIGHT, [RIGHT, MOVED, HALF])
    assert small == Box(101, 1, 126, 26)


def a_mark(corpus: int, image: str, known: str) -> dict[str, Any]:
    by_name = {"kind": "coref_link", "purpose": Control.QUALIFICATION, "image": image}
    return {**by_name, "corpus": corpus, "known": known}


@pytest.mark.django_db(transaction=True)
def test_marks_are_kept_in_a_transaction_each_in_the_place_of_an_older_one() -> None:
    """Locks last as long as that, and on SQLite writers take turns by it."""
    corpus = a_corpus("quay", some_images(2))
    draft = keeping.begin_draft(owner=Account.objects.create_user("mia"), corpus=corpus)
    first, second = a_mark(corpus.pk, "one", "yes"), a_mark(corpus.pk, "two", "yes")
    marks.store_marks(draft=draft, marks=[first, second])
    changed = a_mark(corpus.pk, "one", "no")
    result = written(lambda: marks.store_marks(draft=draft, marks=[changed]))
    assert result and [statement for held, statement in result if not held] == []
    assert draft.marks == [second, changed] and draft.fields["entry"] == "marked"
