"""Tokenising captions in the style of the Penn Treebank.

Conventions: white space always separates; punctuation, brackets and quotation marks stand alone; clitics are
cut off ("man's" -> "man 's", "don't" -> "do n't"); hyphenated and slashed words stay whole ("t-shirt",
"and/or"); abbreviations keep their full stop ("Mr.", "L.A."), and a run of stops is one token. Nothing is
rewritten: joining the tokens without spaces gives the text without its white space. Text that is cut already
stays as it is.

Source: the tokenisation of the Flickr30k captions, which follows the Penn Treebank's, except that quotation
marks are kept as written.
"""

import re
from functools import lru_cache
from itertools import chain

_ABBREVIATIONS = frozenset(
    "mr. mrs. ms. dr. st. jr. sr. prof. rev. gen. lt. col. sgt. capt. mt. ft. ave. blvd. vs. etc. "
    "e.g. i.e. a.m. p.m. inc. co. ltd. approx. dept.".split()
)
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]\.$")
_APOSTROPHES = "'’"
_OPENING = re.compile(r"``|''|\"|'(?=[^\W\d_]{3})|[(\[{<“‘«$#£€¿¡]|\.{2,}|--+|[-–—,;:!?*&%/](?=.)")
_CLOSING = re.compile(r"(?:``|''|\.{2,}|--+|[\")\]}>”»,;:!?%$*/…–—])$")
_CLITIC = re.compile(r"(?<=[^\W_])(?:n[’']t|[’'](?:s|re|ve|ll|d|m))$", re.IGNORECASE)


def tokenise(text: str) -> tuple[str, ...]:
    """The words and punctuation marks of `text`, in order.

    `tokenise(" ".join(tokens)) == tokens` for tokens that this function made.
    """
    return tuple(chain.from_iterable(map(_cut, text.split())))


def plain_words(text: str) -> list[str]:
    """Return the words of `text` lower-cased and without punctuation, as in Karpathy and Fei-Fei 2015,
    section 4."""
    return [token.lower() for token in tokenise(text) if any(map(str.isalnum, token))]


@lru_cache(maxsize=65536)
def _cut(chunk: str) -> tuple[str, ...]:
    """Return the tokens of one chunk without white space."""
    tail: list[str] = []
    head: list[str] = []
    while chunk and not _whole(chunk):
        opening = _OPENING.match(chunk)
        if opening and opening.end() < len(chunk):
            head.append(opening.group())
            chunk = chunk[opening.end() :]
            continue
        parted = _part_from_the_right(chunk)
        if parted is None:
            break
        chunk, last = parted
        tail.append(last)
    return (*head, *([chunk] if chunk else []), *reversed(tail))


def _whole(chunk: str) -> bool:
    """Whether the chunk is one token by its shape: one character, an abbreviation, a clitic by itself."""
    return (
        len(chunk) == 1
        or chunk.lower() in _ABBREVIATIONS
        or bool(_INITIALS.match(chunk))
        or bool(
            re.fullmatch(
                r"\.{2,}|--+|``|''|n[’']t|[’'](?:s|re|ve|ll|d|m|em|n)|[’']\d\ds?", chunk, re.IGNORECASE
            )
        )
    )


def _part_from_the_right(chunk: str) -> tuple[str, str] | None:
    """Return the chunk without its last token, and that token; None if nothing can be split off."""
    closing = _CLOSING.search(chunk)
    if closing:
        return chunk[: closing.start()], closing.group()
    if chunk[-1] == ".":
        return chunk[:-1], "."
    clitic = _CLITIC.search(chunk)
    if clitic:
        return chunk[: clitic.start()], clitic.group()
    if chunk[-1] in _APOSTROPHES:
        return chunk[:-1], chunk[-1]
    return None
