"""Sentences for workers, in the reader's language.

The protocol knows no languages. The caller may say how a sentence is put into the reader's; until
then it stands as it is written.
"""

from collections.abc import Callable

_speak: Callable[[str], str] = str


def set_translator(translate: Callable[[str], str]) -> None:
    """From now on, put sentences into words by `translate`."""
    global _speak
    _speak = translate


def gettext(sentence: str) -> str:
    """`sentence` in the reader's language, its places (%(name)s) still open."""
    return _speak(sentence)


def gettext_noop(sentence: str) -> str:
    """`sentence` as it is written, marked for translators: the page puts it into words."""
    return sentence
