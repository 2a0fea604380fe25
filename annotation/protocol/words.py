"""Sentences for workers, in the reader's language.

The protocol has no languages. The caller may set a translator; until then sentences are unchanged.
"""

from collections.abc import Callable

_speak: Callable[[str], str] = str


def set_translator(translate: Callable[[str], str]) -> None:
    """Translate sentences by `translate` from now on."""
    global _speak
    _speak = translate


def gettext(sentence: str) -> str:
    """Return `sentence` in the reader's language, its placeholders (%(name)s) still open."""
    return _speak(sentence)


def gettext_noop(sentence: str) -> str:
    """Return `sentence` unchanged, marked for translators: the page translates it."""
    return sentence
