"""Flags of captions that people write: repeated, copied, general, off topic, too short or long, misspelt,
fast, pasted, found faulty by a second person.

A flag says that a caption should be looked at, with a value and the threshold that it passed. Each compares
a caption with what is known at no cost: the writer's other captions, the image's other captions, and a
background of captions of many images.

- `repeated`: nearly an earlier sentence of the writer on another image; `copied`: nearly an earlier sentence
  of another writer on the same image. Value: likeness (`likeness_of_texts`), from 0 to 1.
- `general`: it fits too many images. Value: the share of the background's images whose captions have all its
  content words.
- `off_topic`: the image's other captions do not account for its words. Value: `CaptionBackground.agreement`,
  from 0 to 1. Of two captions the later one is flagged; a lone caption cannot be known from its text.
- `length`: its number of words. `spelling`: its number of unknown words. `fast`: characters a second.
  `pasted`: the share of its characters that were pasted.
- `checked`: second people saw a fault (`task_types.caption_check`). Value: the share of those who were asked.

Every caption is compared with the few others of its image, and with those of its writer that share rare
sequences of letters with it, by an index; so the time grows with the number of captions.

Thresholds: `studies.caption_flags` fixed them on Flickr8k so that few honest captions pass them
(studies/RESULTS.md). That of `fast`, 120 words a minute, is the speed of the fastest typists in Dhakal et al.
2018, "Observations on typing from 136 million keystrokes".
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice
from math import ceil, fsum, log
from typing import Any

from phrasebox.text.stems import stems
from phrasebox.text.stopwords import STOP_WORDS
from phrasebox.text.tokens import plain_words


class FlagReason(StrEnum):
    """Why a caption is flagged."""

    REPEATED = "repeated"
    COPIED = "copied"
    GENERAL = "general"
    OFF_TOPIC = "off_topic"
    LENGTH = "length"
    SPELLING = "spelling"
    FAST = "fast"
    PASTED = "pasted"
    CHECKED = "checked"


#: Letters of a sequence; and sequences by which every text counts as longer: short ones are alike by chance.
_LETTERS, _CHANCE = 4, 24
#: Images that a background needs before it tells anything, those from which on it is large, and the most that
#: it reads.
LEAST_BACKGROUND, LARGE_BACKGROUND, MOST_BACKGROUND = 200, 2_000, 8_192
#: Earlier captions of a writer with a sequence of letters that are compared, the newest ones; how many of its
#: rare sequences a caption must share with another to be compared; and captions that say which are rare.
_NEWEST, _SHARED, _SAMPLED = 32, 6, 200
#: Words that say nothing of an image, besides stop words.
_EMPTY = frozenset(
    stems(
        "something someone somebody thing things see seen seeing show shown showing picture pictured image "
        "photo photograph scene view various".split()
    )
)
#: Weight of chance against what a background has counted, in images, and how often an image's captions repeat
#: a word.
_PRIOR, _SAID_AGAIN = 5.0, 0.3
#: Number of pairs of words from which on their associations are computed anew.
_CACHED_PAIRS = 400_000


@dataclass(frozen=True, slots=True)
class FlagThresholds:
    """What a value must pass to be flagged.

    `off_topic`: by the number of the image's other captions, the last one for more; `off_topic_large` with a
    background of `LARGE_BACKGROUND` images or more, which knows more pairs of words that go together.
    """

    repeated: float = 0.54
    copied: float = 0.68
    general: float = 0.027
    off_topic: tuple[float, ...] = (0.13, 0.2, 0.22, 0.24)
    off_topic_large: tuple[float, ...] = (0.19, 0.26, 0.28, 0.29)
    fewest_words: int = 3
    most_words: int = 36
    unknown_words: int = 2
    characters_a_second: float = 10.0
    pasted: float = 0.5
    checked: float = 0.5


THRESHOLDS = FlagThresholds()


@dataclass(frozen=True, slots=True)
class CollectedCaption:
    """A caption: its number in the order of writing, its image and writer, the seconds of writing, 0 if they
    were not measured, and the number of characters that were pasted."""

    number: int
    image: Hashable
    writer: Hashable
    text: str
    seconds: float = 0.0
    pasted: float = 0.0


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """A flag of a caption, by number: reason, value, threshold, and the number of the caption that it is
    like, if any."""

    caption: int
    reason: FlagReason
    value: float
    threshold: float
    like: int | None = None


def caption_flags(
    captions: Iterable[CollectedCaption],
    background: "CaptionBackground | None" = None,
    *,
    unknown_words: Callable[[str], int] | None = None,
    thresholds: FlagThresholds = THRESHOLDS,
) -> list[RaisedFlag]:
    """Return the flags of a campaign's captions. `unknown_words` counts those of a text; without it spelling
    is not looked at, and without a background neither generality nor topic."""
    of_image: dict[Hashable, list[CollectedCaption]] = defaultdict(list)
    of_writer: dict[Hashable, list[CollectedCaption]] = defaultdict(list)
    for caption in captions:
        of_image[caption.image].append(caption)
        of_writer[caption.writer].append(caption)
    flags = []
    for group in of_image.values():
        flags += flags_within_image(group, background, unknown_words=unknown_words, thresholds=thresholds)
    for group in of_writer.values():
        flags += repeated_captions(group, thresholds)
    return flags


def flags_within_image(
    captions: Sequence[CollectedCaption],
    background: "CaptionBackground | None" = None,
    *,
    unknown_words: Callable[[str], int] | None = None,
    thresholds: FlagThresholds = THRESHOLDS,
) -> list[RaisedFlag]:
    """Return all flags of one image's captions but `repeated`."""
    ordered = sorted(captions, key=lambda caption: caption.number)
    flags = [flag for caption in ordered for flag in _alone(caption, unknown_words, thresholds)]
    flags += _copied(ordered, thresholds.copied)
    if background is not None:
        flags += _by_background(ordered, background, thresholds)
    return flags


def repeated_captions(
    captions: Iterable[CollectedCaption], thresholds: FlagThresholds = THRESHOLDS
) -> list[RaisedFlag]:
    """Return the flags of one writer's captions that are like an earlier one on another image."""
    ordered = sorted(captions, key=lambda caption: caption.number)
    sample = ordered[:: 1 + len(ordered) // _SAMPLED]
    frequency = Counter(chain.from_iterable(_grams(caption.text) for caption in sample))
    ranks: dict[str, tuple[int, str]] = {}
    same: dict[frozenset[str], list[CollectedCaption]] = defaultdict(list)
    index: dict[str, deque[int]] = {}
    flags = []
    for position, caption in enumerate(ordered):
        grams = _grams(caption.text)
        for gram in grams.difference(ranks):
            ranks[gram] = (frequency[gram], gram)
        # No text with fewer sequences in common is like it enough, so of the rarest, as many more than those
        # that may differ, `shared` are in common.
        needed = ceil(thresholds.repeated * (len(grams) + _CHANCE) / (2 - thresholds.repeated) - 1e-9)
        shared = max(1, min(_SHARED, needed))
        rare = sorted(grams, key=ranks.__getitem__)[: max(0, len(grams) - needed + shared)]
        before = same[grams]
        votes = Counter(chain.from_iterable(index[gram] for gram in rare if gram in index))
        candidates = [ordered[other] for other, number in votes.items() if number >= shared]
        best = _most_alike(caption, [*before, *candidates])
        if best is not None and best[0] >= thresholds.repeated:
            flags.append(
                RaisedFlag(caption.number, FlagReason.REPEATED, best[0], thresholds.repeated, best[1].number)
            )
        # Two of the same words suffice: one of them is on another image than whatever comes.
        if len(before) < 2 and all(other.image != caption.image for other in before):
            before.append(caption)
            for gram in rare:
                index.setdefault(gram, deque(maxlen=_NEWEST)).append(position)
    return flags


def likeness_of_texts(first: str, second: str) -> float:
    """Return how alike two texts are, from 0 to 1: Dice's coefficient of their sequences of four letters,
    lower for short texts. Punctuation and capitals do not count, and the order of words little."""
    a, b = _grams(first), _grams(second)
    return 2 * len(a & b) / (len(a) + len(b) + _CHANCE)


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words that say something of an image."""
    words = [word for word in plain_words(text) if word not in STOP_WORDS]
    return frozenset(stem for stem in stems(words) if stem not in _EMPTY)


class CaptionBackground:
    """What captions of many images say: which words there are, and which go together.

    `captions_of`: the captions of each image, by the name that `CollectedCaption.image` has, if it is one of
    the same images: an image does not count for its own captions. The first `MOST_BACKGROUND` are read.
    """

    def __init__(self, captions_of: Mapping[Any, Sequence[str]]) -> None:
        self._number: dict[Hashable, int] = {}
        at: dict[str, list[int]] = defaultdict(list)
        #: The number of images several captions of which have a word.
        self.again: Counter[str] = Counter()
        for number, (image, captions) in enumerate(islice(captions_of.items(), MOST_BACKGROUND)):
            self._number[image] = number
            for stem, times in Counter(stem for text in captions for stem in content_stems(text)).items():
                at[stem].append(number)
                self.again[stem] += times > 1
        self.images = len(self._number)
        #: The images with a word, as bits, and their number.
        self.images_with = {stem: _bits(numbers) for stem, numbers in at.items()}
        self.frequency = {stem: len(numbers) for stem, numbers in at.items()}
        # By the number of images that do not count, 0 or 1, and word.
        self._rows: tuple[dict[str, _Associations], dict[str, _Associations]] = ({}, {})

    def share_of_images(self, words: Iterable[str], image: Hashable = None) -> float:
        """Return the share of the images, without `image`, whose captions have all of these stems."""
        there = (1 << self.images) - 1
        for stem in sorted(words, key=lambda stem: self.frequency.get(stem, 0)):
            there &= self.images_with.get(stem, 0)
            if not there:
                return 0.0
        number = self._number.get(image)
        if number is None:
            return there.bit_count() / self.images
        return (there.bit_count() - (there >> number & 1)) / max(1, self.images - 1)

    def agreement(self, words: Iterable[str], others: Iterable[str], image: Hashable = None) -> float:
        """Return how far the stems of a caption and those of an image's other captions account for each
        other, from 0 to 1: the mean share of a stem's information that the likeliest stem of the other side
        gives. 1 if one side is empty."""
        words, others, known = list(words), list(others), int(image in self._number)
        if not words or not others:
            return 1.0
        there = [max(map(self._row(word, known).__getitem__, others)) for word in words]
        back = [max(map(self._row(other, known).__getitem__, words)) for other in others]
        # Exact sums: the order of a set must not change the result.
        return (fsum(there) / len(there) + fsum(back) / len(back)) / 2

    def _row(self, word: str, known: int) -> "_Associations":
        rows = self._rows[known]
        row = rows.get(word)
        if row is None:
            if len(rows) % 64 == 0 and sum(map(len, rows.values())) > _CACHED_PAIRS:
                rows.clear()
            row = rows[word] = _Associations(self, word, known)
        return row


class _Associations(dict[str, float]):
    """By stem, the share of another stem's information, -log p, that it gives; computed when first read.

    `known`: 1 if the image in question, where both are, is one of the background's, and does not count.
    """

    def __init__(self, background: CaptionBackground, word: str, known: int) -> None:
        self._images_with, self._frequency = background.images_with, background.frequency
        self._known, self._bits = known, background.images_with.get(word, 0)
        times = max(0, background.frequency.get(word, 0) - known)
        self._chance = (times + 1) / (background.images - known + 2)
        again = max(0, background.again[word] - known) + _PRIOR * _SAID_AGAIN
        self[word] = self._share(again / (times + _PRIOR))

    def __missing__(self, by: str) -> float:
        known, chance = self._known, self._chance
        both = max(0, (self._bits & self._images_with.get(by, 0)).bit_count() - known)
        of = max(0, self._frequency.get(by, 0) - known)
        share = self[by] = (
            self._share((both + _PRIOR * chance) / (of + _PRIOR)) if both > of * chance else 0.0
        )
        return share

    def _share(self, likely: float) -> float:
        return max(0.0, 1 - log(likely) / log(self._chance))


def _bits(numbers: Sequence[int]) -> int:
    bits = bytearray(numbers[-1] // 8 + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


@lru_cache(maxsize=8_192)
def _grams(text: str) -> frozenset[str]:
    words = plain_words(text)
    line = f" {' '.join(words)} "
    starts = range(max(1, len(line) - _LETTERS + 1)) if words else ()
    return frozenset(line[start : start + _LETTERS] for start in starts)


def _most_alike(
    caption: CollectedCaption, others: Iterable[CollectedCaption]
) -> tuple[float, CollectedCaption] | None:
    """Return the likeness of the most alike caption on another image, the earliest of several, and it."""
    alike = (
        (likeness_of_texts(caption.text, other.text), -other.number, other)
        for other in others
        if other.image != caption.image
    )
    best = max(alike, default=None, key=lambda found: found[:2])
    return None if best is None else (best[0], best[2])


def _alone(
    caption: CollectedCaption, unknown_words: Callable[[str], int] | None, thresholds: FlagThresholds
) -> Iterable[RaisedFlag]:
    """Yield the flags of a caption by itself."""
    number, words = caption.number, len(plain_words(caption.text))
    if words < thresholds.fewest_words:
        yield RaisedFlag(number, FlagReason.LENGTH, words, thresholds.fewest_words)
    elif words > thresholds.most_words:
        yield RaisedFlag(number, FlagReason.LENGTH, words, thresholds.most_words)
    if unknown_words is not None and (unknown := unknown_words(caption.text)) >= thresholds.unknown_words:
        yield RaisedFlag(number, FlagReason.SPELLING, unknown, thresholds.unknown_words)
    if caption.seconds > 0:
        speed = len(caption.text) / caption.seconds
        if speed > thresholds.characters_a_second:
            yield RaisedFlag(number, FlagReason.FAST, speed, thresholds.characters_a_second)
    pasted = min(1.0, caption.pasted / max(1, len(caption.text)))
    if pasted >= thresholds.pasted:
        yield RaisedFlag(number, FlagReason.PASTED, pasted, thresholds.pasted)


def _copied(ordered: Sequence[CollectedCaption], threshold: float) -> Iterable[RaisedFlag]:
    """Yield the flags of captions that are like an earlier one of another writer."""
    for position, caption in enumerate(ordered):
        alike = [
            (likeness_of_texts(caption.text, other.text), -other.number)
            for other in ordered[:position]
            if other.writer != caption.writer
        ]
        if alike and max(alike)[0] >= threshold:
            likeness, other_number = max(alike)
            yield RaisedFlag(caption.number, FlagReason.COPIED, likeness, threshold, -other_number)


def _by_background(
    ordered: Sequence[CollectedCaption], background: CaptionBackground, thresholds: FlagThresholds
) -> Iterable[RaisedFlag]:
    """Yield the flags of an image's captions that fit many images, or not this one."""
    if background.images < LEAST_BACKGROUND:
        return
    words = [content_stems(caption.text) for caption in ordered]
    off_topic = thresholds.off_topic if background.images < LARGE_BACKGROUND else thresholds.off_topic_large
    for position, caption in enumerate(ordered):
        share = background.share_of_images(words[position], caption.image)
        if share > thresholds.general:
            yield RaisedFlag(caption.number, FlagReason.GENERAL, share, thresholds.general)
        others = len(ordered) - 1
        if others < 1 or (others == 1 and position == 0):
            continue
        threshold = off_topic[min(others, len(off_topic)) - 1]
        rest = frozenset().union(*words[:position], *words[position + 1 :])
        agreement = background.agreement(words[position], rest, caption.image)
        if agreement < threshold:
            yield RaisedFlag(caption.number, FlagReason.OFF_TOPIC, agreement, threshold)
