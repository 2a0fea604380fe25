"""Names of kinds of questions and their answers in sentences: words for people, or keys for a terminal, whose
commands use these."""

from collections.abc import Callable
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotation.task_types.base import TASK_TYPES, TranslatableText


class Wording(NamedTuple):
    """Names of a kind of question, and of an answer to one (kind, answer)."""

    kind: Callable[[str], str]
    answer: Callable[[str, str], str]


def kind_in_words(kind: str) -> TranslatableText:
    """Return a kind of question as a noun, for tables; the key of an unknown one."""
    return TASK_TYPES.get(kind).name if kind in TASK_TYPES else kind


def answer_in_words(kind: str, answer: str) -> TranslatableText:
    """Return an answer in words; its stored form if the kind has no words for it."""
    return TASK_TYPES.get(kind).answer_words.get(answer, answer) if kind in TASK_TYPES else answer


def _kind_quoted(kind: str) -> str:
    return _("“%(kind)s”") % {"kind": kind_in_words(kind)}


def _answer_quoted(kind: str, answer: str) -> str:
    return _("“%(answer)s”") % {"answer": answer_in_words(kind, answer)}


def _answer_key(_kind: str, answer: str) -> str:
    return repr(answer)


#: In quoted words, for sentences; and by key.
IN_WORDS, BY_KEY = Wording(_kind_quoted, _answer_quoted), Wording(str, _answer_key)
