"""Flags of captions that people write: repeated, copied, general, off topic, too short or long, misspelt,
fast.

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

Every caption is compared with the few others of its image, and with those of its writer that share rare
sequences of letters with it, by an index; so the time grows with the number of captions.

Thresholds: `studies.caption_flags` fixed them on Flickr8k so that few honest captions pass them
(studies/RESULTS.md). That of `fast`, 120 words a minute, is the speed of the fastest typists in Dhakal et al.
2018, "Observations on typing from 136 million keystrokes".
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import ceil, log

from phrasebox.text.stems import stems
from phrasebox.text.stopwords import STOP_WORDS
from phrasebox.text.tokens import plain_words

REPEATED, COPIED, GENERAL, OFF_TOPIC = "repeated", "copied", "general", "off_topic"
LENGTH, SPELLING, FAST = "length", "spelling", "fast"
FLAG_REASONS = (REPEATED, COPIED, GENERAL, OFF_TOPIC, LENGTH, SPELLING, FAST)

#: Letters of a sequence; and sequences by which every text counts as longer: short ones are alike by chance.
_LETTERS, _CHANCE = 4, 24
#: Images that a background needs before it tells anything, and the most that it reads.
LEAST_IMAGES, MOST_IMAGES = 200, 8_192
#: Earlier captions of a writer with a sequence of letters that are compared, the newest ones.
_NEWEST = 32
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

    `off_topic`: by the number of the image's other captions, the last one for more.
    """

    repeated: float = 0.6
    copied: float = 0.6
    general: float = 0.03
    off_topic: tuple[float, ...] = (0.2, 0.25, 0.28, 0.3)
    fewest_words: int = 4
    most_words: int = 35
    unknown_words: int = 2
    characters_a_second: float = 10.0


THRESHOLDS = FlagThresholds()


@dataclass(frozen=True, slots=True)
class WrittenCaption:
    """A caption: its number in the order of writing, its image and writer, and the seconds of writing, 0 if
    they were not measured."""

    number: int
    image: Hashable
    writer: Hashable
    text: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """A flag of a caption, by number: reason, value, threshold, and the number of the caption that it is
    like, if any."""

    caption: int
    reason: str
    value: float
    threshold: float
    like: int | None = None


def caption_flags(
    captions: Iterable[WrittenCaption],
    background: "CaptionBackground | None" = None,
    *,
    unknown_words: Callable[[str], int] | None = None,
    thresholds: FlagThresholds = THRESHOLDS,
) -> list[RaisedFlag]:
    """Return the flags of a campaign's captions. `unknown_words` counts those of a text; without it spelling
    is not looked at, and without a background neither generality nor topic."""
    of_image: dict[Hashable, list[WrittenCaption]] = defaultdict(list)
    of_writer: dict[Hashable, list[WrittenCaption]] = defaultdict(list)
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
    captions: Sequence[WrittenCaption],
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
    captions: Iterable[WrittenCaption], thresholds: FlagThresholds = THRESHOLDS
) -> list[RaisedFlag]:
    """Return the flags of one writer's captions that are like an earlier one on another image."""
    ordered = sorted(captions, key=lambda caption: caption.number)
    frequency = Counter(grams for caption in ordered for grams in _grams(caption.text))
    same: dict[frozenset[str], list[WrittenCaption]] = defaultdict(list)
    index: dict[str, deque[WrittenCaption]] = defaultdict(lambda: deque(maxlen=_NEWEST))
    flags = []
    for caption in ordered:
        grams = _grams(caption.text)
        # No text with fewer sequences in common is like it enough, so one of those beyond is shared.
        needed = ceil(thresholds.repeated * (len(grams) + _CHANCE) / (2 - thresholds.repeated) - 1e-9)
        rare = sorted(grams, key=lambda gram: (frequency[gram], gram))[: max(0, len(grams) - needed + 1)]
        before = same[grams]
        candidates = {id(other): other for gram in rare for other in index[gram]}.values()
        best = _most_alike(caption, [*before[:2], *candidates])
        if best is not None and best[0] >= thresholds.repeated:
            flags.append(RaisedFlag(caption.number, REPEATED, best[0], thresholds.repeated, best[1].number))
        if not before:
            for gram in rare:
                index[gram].append(caption)
        # Two suffice: one of them is on another image.
        if len(before) < 2 and all(other.image != caption.image for other in before):
            before.append(caption)
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

    `captions_of`: the captions of each image, by the name that `WrittenCaption.image` has, if it is one of
    the same images: an image does not count for its own captions. The first `MOST_IMAGES` are read.
    """

    def __init__(self, captions_of: Mapping[Hashable, Sequence[str]]) -> None:
        self._number: dict[Hashable, int] = {}
        at: dict[str, list[int]] = defaultdict(list)
        #: Images where several captions have a word.
        self._again: Counter[str] = Counter()
        for number, (image, captions) in enumerate(islice(captions_of.items(), MOST_IMAGES)):
            self._number[image] = number
            for stem, times in Counter(stem for text in captions for stem in content_stems(text)).items():
                at[stem].append(number)
                self._again[stem] += times > 1
        self.images = len(self._number)
        #: The images with a word, as bits.
        self._with = {stem: _bits(numbers) for stem, numbers in at.items()}
        self._frequency = {stem: len(numbers) for stem, numbers in at.items()}
        # By the number of images that do not count, 0 or 1, and word.
        self._rows: tuple[dict[str, _Row], dict[str, _Row]] = ({}, {})

    def share_of_images(self, words: Iterable[str], image: Hashable = None) -> float:
        """Return the share of the images, without `image`, whose captions have all of these stems."""
        there = (1 << self.images) - 1
        for stem in sorted(words, key=lambda stem: self._frequency.get(stem, 0)):
            there &= self._with.get(stem, 0)
            if not there:
                return 0.0
        own = self._number.get(image)
        if own is None:
            return there.bit_count() / self.images
        return (there.bit_count() - (there >> own & 1)) / max(1, self.images - 1)

    def agreement(self, words: Iterable[str], others: Iterable[str], image: Hashable = None) -> float:
        """Return how far the stems of a caption and those of an image's other captions account for each
        other, from 0 to 1: the mean share of a stem's information that the likeliest stem of the other side
        gives. 1 if one side is empty."""
        words, others, known = list(words), list(others), int(image in self._number)
        if not words or not others:
            return 1.0
        there = [max(map(self._row(word, known).__getitem__, others)) for word in words]
        back = [max(map(self._row(other, known).__getitem__, words)) for other in others]
        return (sum(there) / len(there) + sum(back) / len(back)) / 2

    def _row(self, word: str, known: int) -> "_Row":
        rows = self._rows[known]
        row = rows.get(word)
        if row is None:
            if len(rows) % 64 == 0 and sum(map(len, rows.values())) > _CACHED_PAIRS:
                rows.clear()
            row = rows[word] = _Row(lambda by: self._association(word, by, known))
        return row

    def _association(self, word: str, by: str, known: int) -> float:
        """Return the share of a word's information, -log p, that another word of the image gives."""
        times = max(0, self._frequency.get(word, 0) - known)
        chance = (times + 1) / (self.images - known + 2)
        if word == by:
            again = max(0, self._again[word] - known) + _PRIOR * _SAID_AGAIN
            likely = again / (times + _PRIOR)
        else:
            both = (self._with.get(word, 0) & self._with.get(by, 0)).bit_count()
            of = max(0, self._frequency.get(by, 0) - known)
            likely = (max(0, both - known) + _PRIOR * chance) / (of + _PRIOR)
        return max(0.0, log(likely / chance)) / -log(chance)


class _Row(dict[str, float]):
    """Values by key, each computed when it is first read."""

    def __init__(self, value: Callable[[str], float]) -> None:
        self._value = value

    def __missing__(self, key: str) -> float:
        value = self[key] = self._value(key)
        return value


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
    caption: WrittenCaption, others: Iterable[WrittenCaption]
) -> tuple[float, WrittenCaption] | None:
    """Return the likeness of the most alike caption on another image, the earliest of several, and it."""
    alike = (
        (likeness_of_texts(caption.text, other.text), -other.number, other)
        for other in others
        if other.image != caption.image
    )
    best = max(alike, default=None, key=lambda found: found[:2])
    return None if best is None else (best[0], best[2])


def _alone(
    caption: WrittenCaption, unknown_words: Callable[[str], int] | None, thresholds: FlagThresholds
) -> Iterable[RaisedFlag]:
    """Yield the flags of a caption by itself."""
    number, words = caption.number, len(plain_words(caption.text))
    if words < thresholds.fewest_words:
        yield RaisedFlag(number, LENGTH, words, thresholds.fewest_words)
    elif words > thresholds.most_words:
        yield RaisedFlag(number, LENGTH, words, thresholds.most_words)
    if unknown_words is not None and (unknown := unknown_words(caption.text)) >= thresholds.unknown_words:
        yield RaisedFlag(number, SPELLING, unknown, thresholds.unknown_words)
    if caption.seconds > 0:
        speed = len(caption.text) / caption.seconds
        if speed > thresholds.characters_a_second:
            yield RaisedFlag(number, FAST, speed, thresholds.characters_a_second)


def _copied(ordered: Sequence[WrittenCaption], threshold: float) -> Iterable[RaisedFlag]:
    """Yield the flags of captions that are like an earlier one of another writer."""
    for position, caption in enumerate(ordered):
        alike = [
            (likeness_of_texts(caption.text, other.text), -other.number)
            for other in ordered[:position]
            if other.writer != caption.writer
        ]
        if alike and max(alike)[0] >= threshold:
            likeness, other_number = max(alike)
            yield RaisedFlag(caption.number, COPIED, likeness, threshold, -other_number)


def _by_background(
    ordered: Sequence[WrittenCaption], background: CaptionBackground, thresholds: FlagThresholds
) -> Iterable[RaisedFlag]:
    """Yield the flags of an image's captions that fit many images, or not this one."""
    if background.images < LEAST_IMAGES:
        return
    words = [content_stems(caption.text) for caption in ordered]
    for position, caption in enumerate(ordered):
        share = background.share_of_images(words[position], caption.image)
        if share > thresholds.general:
            yield RaisedFlag(caption.number, GENERAL, share, thresholds.general)
        others = len(ordered) - 1
        if others < 1 or (others == 1 and position == 0):
            continue
        threshold = thresholds.off_topic[min(others, len(thresholds.off_topic)) - 1]
        rest = frozenset().union(*words[:position], *words[position + 1 :])
        agreement = background.agreement(words[position], rest, caption.image)
        if agreement < threshold:
            yield RaisedFlag(caption.number, OFF_TOPIC, agreement, threshold)
