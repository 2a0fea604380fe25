"""Staff pages name kinds, questions and answers with the texts of their task types."""

from __future__ import annotations

import pytest

from annotation.protocol import kinds
from annotation.web.staff.wording import answer_in_words, kind_in_words, question_in_words


@pytest.mark.parametrize("kind", kinds.all_kinds(), ids=lambda kind: kind.key)
def test_every_kind_says_what_it_is_what_it_asks_and_what_was_answered(kind: kinds.Kind):
    assert str(kind_in_words(kind.key)) and str(question_in_words(kind.key))
    assert all(str(answer_in_words(kind.key, answer)) for answer in kind.answers)
    assert len({str(kind_in_words(name)) for name in kinds.names()}) == len(kinds.names())


def test_one_word_of_two_kinds_is_read_by_its_kind():
    assert str(answer_in_words("graded_relevance", "2")) == "2: somewhat related"
    # For a page's control item it is the number of correct captions, not a grade.
    assert str(answer_in_words("relevance", "2")) == "2"


def test_what_no_type_knows_is_shown_as_it_is_stored():
    assert kind_in_words("gone") == question_in_words("gone") == "gone"
    assert answer_in_words("gone", "yes") == "yes"
