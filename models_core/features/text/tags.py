"""Ranked tags of an image: the nouns, or compound nouns, of its captions, by position and frequency.

    loc(w; c)  the place of w in caption c, counted from 1, over the number of c's words
    r_loc(w)   the largest of 1 - loc(w; c) over the captions c that have w            (equation 7)
    r_freq(w)  how often w comes in all captions, over the number of nouns in them       (equation 8)
    r_alpha    alpha r_freq + (1 - alpha) r_loc                                        (equation 9)

Choices that the paper does not report: punctuation is no word; the position of a compound is that of its last
noun; equation 8 divides by the occurrences of nouns, so that frequencies add up to 1.

In the paper's syntactic variant, loc is the relative distance of w to the root of the caption's parse
(`tree_locations`): edges to the root over those of the farthest word. Our choices: a compound is as near as
the nearest of its nouns, which is its head; in a caption without a parse all nouns are at 1, and only their
frequency counts.

Source: structured listwise tagging, section 3.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from models_core.features.text.lemmas import NOUN, Word, carries_content

#: The tags: each noun, or adjacent nouns as one.
TagUnit = Literal["nouns", "compounds"]
#: The location of a tag in a caption: by the order of words, or by the distance to the root of its parse.
TagPlacing = Literal["words", "tree"]
#: The alpha of the paper's best models of tags (its section 4.3).
DEFAULT_ALPHA: dict[TagUnit, float] = {"nouns": 0.75, "compounds": 0.0}

_DIGITS = 12  # digits of scores, so that scores that are equal by the equations are equal


@dataclass(frozen=True, slots=True)
class TagPosition:
    """An occurrence of a tag in a caption.

    `location` is its position over the number of words, above 0 and at most 1; or its relative distance to
    the root of a parse, from 0.
    """

    tag: str
    location: float

    @property
    def token(self) -> str:
        """Both as one token, so that a caption is a sequence of tags in the same way as of words."""
        return f"{self.location!r}\t{self.tag}"

    @classmethod
    def of_token(cls, token: str) -> TagPosition:
        """Return the tag of a token. Raises ValueError for an invalid token."""
        location, tag = token.split("\t")
        return cls(tag, float(location))


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless `alpha` is a number from 0 to 1."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is {alpha}; expected 0 (location alone) to 1 (frequency alone)")


def tags_in_caption(
    words: Sequence[Word],
    phrases: Iterable[tuple[int, int]] | None = None,
    *,
    unit: TagUnit = "nouns",
    locations: Sequence[float] | None = None,
) -> tuple[TagPosition, ...]:
    """Return the tags of one caption in order, one for each occurrence.

    `words` are all its words and punctuation, as returned by `Lemmatiser.every_token`; `phrases` its noun
    phrases, as (start, end) in `words`, end exclusive, without overlaps. A noun outside all phrases is no tag
    (None: the whole caption is one phrase). A compound is the longest sequence of nouns within a phrase.
    `locations` of `words`, from 0 to 1, replace those by their order.

    >>> said = [Word("the", ""), Word("soccer", NOUN), Word("field", NOUN), Word(".", "")]
    >>> [(one.tag, round(one.location, 2)) for one in tags_in_caption(said)]
    [('soccer', 0.67), ('field', 1.0)]
    >>> tags_in_caption(said, unit="compounds")
    (TagPosition(tag='soccer field', location=1.0),)
    """
    places, number = [], 0  # position of each token among words
    for word in words:
        number += any(map(str.isalnum, word.lemma))
        places.append(number)
    tag_places: list[TagPosition] = []
    for start, end in ((0, len(words)),) if phrases is None else phrases:
        row: list[str] = []
        for at in range(start, end):
            if words[at].part != NOUN or not carries_content(words[at].lemma):
                row = []
                continue
            joins = unit == "compounds" and bool(row)
            row.append(words[at].lemma)
            location = places[at] / number if locations is None else locations[at]
            if joins:
                before = tag_places.pop().location
                location = location if locations is None else min(before, location)
            tag_places.append(TagPosition(" ".join(row) if joins else words[at].lemma, location))
    return tuple(tag_places)


def tree_locations(heads: Sequence[int]) -> tuple[float, ...]:
    """Return the relative distance of each word of a parse to the root, from 0 for the root to 1.

    `heads` are the numbers of the words' heads, counted from 1, and 0 for the root; they form a tree.

    >>> tree_locations([2, 3, 0])  # The dog bites.
    (1.0, 0.5, 0.0)
    """
    distances = []
    for word in range(1, len(heads) + 1):
        steps = 0
        while word := heads[word - 1]:
            steps += 1
        distances.append(steps)
    farthest = max(distances, default=0)
    return tuple(steps / farthest if farthest else 0.0 for steps in distances)


def ranked_tags(captions: Iterable[Iterable[TagPosition]], alpha: float) -> list[tuple[str, float]]:
    """Return the tags of an image with their scores r_alpha, from 0 to 1, the best first, ties in
    alphabetical order.

    `captions` are the tags of each of its captions, from `tags_in_caption`; without nouns there are no tags.
    Raises ValueError unless `alpha` is a number from 0 to 1.

    >>> ranked_tags([[TagPosition("dog", 2 / 3)]], alpha=0.5)  # "The dog bites."
    [('dog', 0.666666666667)]
    """
    check_alpha(alpha)
    times: Counter[str] = Counter()
    first: dict[str, float] = {}
    for caption in captions:
        for tag_position in caption:
            times[tag_position.tag] += 1
            first[tag_position.tag] = min(tag_position.location, first.get(tag_position.tag, 1.0))
    nouns = times.total()
    scores = {
        tag: round(alpha * times[tag] / nouns + (1 - alpha) * (1 - location), _DIGITS)
        for tag, location in first.items()
    }
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
