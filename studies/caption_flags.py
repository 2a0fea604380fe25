"""Flags of written captions: honest ones that are flagged, and how many of the bad ones are found.

    python -m studies.caption_flags [--seeds 5] [--fix]

Captions are those of Flickr8k and Flickr30k (REAL_DATA_DIR, or ../shared/data). A campaign is 600 images with
five captions each, 3,000 in all; each image's are written one after another by five of 30 writers, drawn for
each image. So honest captions are real ones. Who wrote them is not known, and neither are seconds: nothing is
measured of the flag `fast`.

With --fix: the values of honest captions of five campaigns over training images of Flickr8k, no image twice,
at the shares in BUDGET, from which the thresholds in `annotation.protocol.caption_flags` were rounded to the
side of fewer flags.

Otherwise, with those thresholds: campaigns over the validation images of Flickr30k (the captions of the
others are not in the data), one for each seed. Two backgrounds: the campaign's own captions, or those of the
training images of Flickr8k. Bad captions, one in each image at most, take the place of honest ones:

- repeated: an earlier caption of the writer on another image; copied: an earlier one of another writer on the
  same image. As it is, with one to three words replaced, left out or put in (at random, from the captions'
  words), or turned around at a random word ("in the snow a dog runs").
- off topic: a caption of another image: any; the one of 20 with most words in common, by rarity; or of all.
  In the place of the image's first caption to its fifth. All five are there when flags are counted; and for
  the second to fifth also as it was when the caption had just arrived.
- general: real captions of Flickr30k all of whose content words occur in the captions of so many others of
  its 1,000 validation images; and sentences that fit any picture (VAGUE).
- spelling: letters of one to three words of five letters or more left out, doubled or swapped.

Intervals: `phrasebox.agreement.shares.share_interval`, seeds as clusters.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import log
from pathlib import Path

import numpy as np

from annotation.common.plain_text import text_table
from annotation.protocol.caption_flags import (
    COPIED,
    FLAG_REASONS,
    GENERAL,
    OFF_TOPIC,
    REPEATED,
    SPELLING,
    THRESHOLDS,
    CaptionBackground,
    FlagThresholds,
    WrittenCaption,
    caption_flags,
    content_stems,
    flags_within_image,
)
from phrasebox.agreement.shares import share_interval
from studies.measuring import seconds

REPOSITORY = Path(__file__).resolve().parents[1]
IMAGES, WRITERS = 600, 30
#: Share of honest captions that each flag may have on Flickr8k.
BUDGET = {REPEATED: 0.001, COPIED: 0.0025, GENERAL: 0.0025, OFF_TOPIC: 0.005}
#: Thresholds under which nearly every caption has a value.
OPEN = FlagThresholds(repeated=0.35, copied=0.0, general=-1.0, off_topic=(2.0, 2.0, 2.0, 2.0))
#: Least and most images, per mille, that the bands of general captions fit.
BANDS = ((10, 20), (20, 50), (50, 1000))
VAGUE = (
    "Something can be seen here.",
    "This is a nice picture.",
    "There are things in the photo.",
    "The image shows a scene.",
    "Somebody is doing something.",
    "This picture shows something interesting.",
)
#: Number of images among which a similar one is chosen.
LOOKED_AT = 20
REWORDED = ("as it is", "1 word", "2 words", "3 words", "turned around")

#: The captions of images, by name.
Corpus = Mapping[str, Sequence[str]]
#: Bad captions by what was done: the number of each of a campaign.
Bad = dict[str, list[int]]
#: Hits and items by row of a table, a pair for each seed.
Counts = dict[str, list[tuple[int, int]]]


def flickr8k(data: Path) -> dict[str, list[str]]:
    """Return the captions of the training images."""
    folder = data / "flickr8k"
    names = set((folder / "Flickr_8k.trainImages.txt").read_text(encoding="utf-8").split())
    captions: dict[str, list[str]] = {name: [] for name in sorted(names)}
    for line in (folder / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        key, _, text = line.partition("\t")
        if (name := key.split("#")[0]) in names:
            captions[name].append(text.strip())
    return captions


def flickr30k(data: Path) -> dict[str, list[str]]:
    """Return the captions of the validation images."""
    rows = json.loads((data / "flickr30k" / "validation.json").read_text(encoding="utf-8"))
    return {name: row[:5] for name, row in rows.items()}


def campaign_of(corpus: Corpus, rng: random.Random) -> list[WrittenCaption]:
    """Return a campaign over `corpus`, image by image."""
    written = []
    for image, texts in corpus.items():
        for writer, text in zip(rng.sample(range(WRITERS), len(texts)), texts, strict=True):
            written.append(WrittenCaption(len(written), image, writer, text))
    return written


def by_image(captions: Sequence[WrittenCaption]) -> dict[str, list[WrittenCaption]]:
    """Return the captions of each image, in order."""
    groups: dict[str, list[WrittenCaption]] = defaultdict(list)
    for caption in captions:
        groups[str(caption.image)].append(caption)
    return groups


def texts_of(captions: Sequence[WrittenCaption]) -> dict[str, list[str]]:
    """Return the texts of each image, as a background reads them."""
    return {image: [caption.text for caption in group] for image, group in by_image(captions).items()}


class Tamperer:
    """Puts bad captions into a campaign over a corpus."""

    def __init__(self, corpus: Corpus, rng: random.Random) -> None:
        self.corpus, self.rng = corpus, rng
        self.words = [word for texts in corpus.values() for text in texts for word in text.split()]
        self.content = {
            image: frozenset[str]().union(*map(content_stems, texts)) for image, texts in corpus.items()
        }
        frequency = Counter(stem for stems in self.content.values() for stem in stems)
        self.rarity = {stem: log(len(corpus) / times) for stem, times in frequency.items()}

    def repeated(self, captions: list[WrittenCaption]) -> Bad:
        """Repeat writers' earlier captions."""
        earlier: dict[object, list[str]] = defaultdict(list)
        bad: Bad = defaultdict(list)
        for group in by_image(captions).values():
            chosen = self.rng.choice(group)
            if earlier[chosen.writer]:
                self._reword(captions, chosen, self.rng.choice(earlier[chosen.writer]), bad)
            for caption in group:
                earlier[caption.writer].append(caption.text)
        return bad

    def copied(self, captions: list[WrittenCaption]) -> Bad:
        """Copy an earlier caption of the image."""
        bad: Bad = defaultdict(list)
        for group in by_image(captions).values():
            position = self.rng.randrange(1, len(group))
            self._reword(captions, group[position], group[self.rng.randrange(position)].text, bad)
        return bad

    def off_topic(self, captions: list[WrittenCaption]) -> Bad:
        """Write captions of other images."""
        bad: Bad = defaultdict(list)
        for image, group in by_image(captions).items():
            which = self.rng.choice(("any", "similar", "most similar"))
            others = [name for name in self.corpus if name != image]
            if which != "most similar":
                others = self.rng.sample(others, 1 if which == "any" else LOOKED_AT)
            other = max(others, key=lambda name: self._in_common(image, name))
            position = self.rng.randrange(len(group))
            text = self.rng.choice(self.corpus[other])
            captions[group[position].number] = replace(group[position], text=text)
            bad[f"{which}, first" if position == 0 else which].append(group[position].number)
        return bad

    def general(self, captions: list[WrittenCaption]) -> Bad:
        """Write captions that fit many images."""
        whole = CaptionBackground(self.corpus)
        pools: dict[str, list[str]] = {"vague sentences": list(VAGUE)}
        for image, texts in self.corpus.items():
            for text in texts:
                share = 1000 * whole.share_of_images(content_stems(text), image)
                for least, most in BANDS:
                    if least <= share < most:
                        pools.setdefault(_band(least, most), []).append(text)
        bad: Bad = defaultdict(list)
        for group in by_image(captions).values():
            name, chosen = self.rng.choice(sorted(pools)), self.rng.choice(group)
            captions[chosen.number] = replace(chosen, text=self.rng.choice(pools[name]))
            bad[name].append(chosen.number)
        return bad

    def misspelt(self, captions: list[WrittenCaption]) -> Bad:
        """Misspell words."""
        bad: Bad = defaultdict(list)
        for group in by_image(captions).values():
            chosen, number = self.rng.choice(group), self.rng.randint(1, 3)
            words = chosen.text.split()
            long = [index for index, word in enumerate(words) if len(word) >= 5]
            if len(long) < number:
                continue
            for index in self.rng.sample(long, number):
                words[index] = self._misspelt(words[index])
            captions[chosen.number] = replace(chosen, text=" ".join(words))
            bad[f"{number} word{'s' * (number > 1)}"].append(chosen.number)
        return bad

    def _reword(self, captions: list[WrittenCaption], chosen: WrittenCaption, text: str, bad: Bad) -> None:
        how = self.rng.choice(REWORDED)
        words = text.split()
        if how == "turned around":
            cut = self.rng.randrange(1, max(2, len(words) - 1))
            words = [*words[cut:-1], *words[:cut], *words[-1:]]
        for _ in range(REWORDED.index(how) if how != "turned around" else 0):
            index, act = self.rng.randrange(len(words)), self.rng.choice(("replace", "leave out", "put in"))
            if act == "replace":
                words[index] = self.rng.choice(self.words)
            elif act == "put in" or len(words) < 4:
                words.insert(index, self.rng.choice(self.words))
            else:
                del words[index]
        captions[chosen.number] = replace(chosen, text=" ".join(words))
        bad[how].append(chosen.number)

    def _in_common(self, image: str, other: str) -> float:
        return sum(self.rarity[stem] for stem in self.content[image] & self.content[other])

    def _misspelt(self, word: str) -> str:
        at, how = self.rng.randrange(1, len(word) - 1), self.rng.randrange(3)
        if how == 0:
            return word[:at] + word[at + 1 :]
        if how == 1:
            return word[:at] + word[at] + word[at:]
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _band(least: int, most: int) -> str:
    top = f" to {most / 10:g} %" if most < 1000 else " % or more"
    return f"fits {least / 10:g}{top} of the images"


#: What is done to a campaign, by the flag that should find it.
TAMPERING: dict[str, Callable[[Tamperer, list[WrittenCaption]], Bad]] = {
    REPEATED: Tamperer.repeated,
    COPIED: Tamperer.copied,
    OFF_TOPIC: Tamperer.off_topic,
    GENERAL: Tamperer.general,
    SPELLING: Tamperer.misspelt,
}


def reasons_of(
    captions: Sequence[WrittenCaption], background: CaptionBackground, unknown: Callable[[str], int]
) -> dict[int, set[str]]:
    """Return the flags of each caption, by its number."""
    reasons: dict[int, set[str]] = defaultdict(set)
    for flag in caption_flags(captions, background, unknown_words=unknown):
        reasons[flag.caption].add(flag.reason)
    return reasons


def on_arrival(
    captions: Sequence[WrittenCaption], numbers: Sequence[int], background: CaptionBackground
) -> Iterator[bool]:
    """Yield whether each of these captions is off topic among those of its image that came before it."""
    groups = by_image(captions)
    for number in numbers:
        group = [caption for caption in groups[str(captions[number].image)] if caption.number <= number]
        flags = flags_within_image(group, background)
        yield any(flag.caption == number and flag.reason == OFF_TOPIC for flag in flags)


def fix(corpus: Corpus, unknown: Callable[[str], int]) -> None:
    """Print the values of honest captions at the shares in BUDGET, and the shares of the other flags."""
    images = list(corpus)
    random.Random(0).shuffle(images)
    last = {name: corpus[name] for name in images[5 * IMAGES :]}
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    at_once: Counter[str] = Counter()
    total = 0
    for seed in range(5):
        drawn = {name: corpus[name] for name in images[seed * IMAGES : (seed + 1) * IMAGES]}
        captions = campaign_of(drawn, random.Random(seed))
        total += len(captions)
        for name, background in (("own", CaptionBackground(drawn)), ("others", CaptionBackground(last))):
            for flag in caption_flags(captions, background, unknown_words=unknown, thresholds=OPEN):
                if flag.reason in BUDGET:
                    values[flag.reason, name].append(flag.value)
                else:
                    at_once[flag.reason] += name == "own"
            for others in range(1, 5):
                for group in by_image(captions).values():
                    flags = flags_within_image(group[: others + 1], background, thresholds=OPEN)
                    found = [flag.value for flag in flags if flag.reason == OFF_TOPIC]
                    values[f"{OFF_TOPIC} {others}", name] += found
    rows = []
    for (reason, name), found in sorted(values.items()):
        budget = BUDGET[reason.split()[0]]
        if reason.startswith(OFF_TOPIC):
            value = sorted(found)[int(budget * len(found))]
        else:
            value = sorted(found, reverse=True)[int(budget * total)]
        rows.append([reason, name, f"{100 * budget:g} %", f"{value:.4f}"])
    print(text_table(["flag", "background", "honest captions beyond", "value"], rows))
    for reason, times in at_once.items():
        print(f"{reason}: {100 * times / total:.3f} % of the honest captions")


def measure(
    corpus: Corpus, training: Corpus, seeds: int, unknown: Callable[[str], int]
) -> Iterator[tuple[str, Counts]]:
    """Yield by background the counts of honest captions that are flagged, and of bad ones that are found."""
    reference = CaptionBackground(training)
    for which in ("the campaign's own captions", "Flickr8k"):
        counts: Counts = defaultdict(list)
        for seed in range(seeds):
            rng = random.Random(1000 + seed)
            drawn = {name: corpus[name] for name in rng.sample(sorted(corpus), IMAGES)}
            honest = campaign_of(drawn, rng)
            background = reference if which == "Flickr8k" else CaptionBackground(texts_of(honest))
            reasons = reasons_of(honest, background, unknown)
            counts["honest, any flag"].append((len(reasons), len(honest)))
            for reason in FLAG_REASONS:
                flagged = sum(reason in found for found in reasons.values())
                counts[f"honest, {reason}"].append((flagged, len(honest)))
            for reason, tamper in TAMPERING.items():
                captions = list(honest)
                bad = tamper(Tamperer(corpus, random.Random(2000 + seed)), captions)
                if which != "Flickr8k":
                    background = CaptionBackground(texts_of(captions))
                reasons = reasons_of(captions, background, unknown)
                touched = {number for numbers in bad.values() for number in numbers}
                beside = len(reasons.keys() - touched)
                counts[f"honest beside {reason}, any flag"].append((beside, len(captions) - len(touched)))
                for how, numbers in bad.items():
                    hits = sum(reason in reasons[number] for number in numbers)
                    counts[f"{reason}: {how}"].append((hits, len(numbers)))
                    hits = sum(bool(reasons[number]) for number in numbers)
                    counts[f"{reason}: {how}; any flag"].append((hits, len(numbers)))
                    if reason == OFF_TOPIC and "first" not in how:
                        hits = sum(on_arrival(captions, numbers, background))
                        counts[f"{reason}: {how}; on arrival"].append((hits, len(numbers)))
        yield which, counts


def share_text(pairs: Sequence[tuple[int, int]]) -> str:
    """Return a share in per cent with its interval."""
    hits, items = np.array(pairs).T
    low, high = share_interval(hits, items)
    return f"{100 * hits.sum() / items.sum():.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fix", action="store_true", help="print what thresholds were fixed from")
    options = parser.parse_args()
    data = Path(os.environ.get("REAL_DATA_DIR") or REPOSITORY.parent / "shared" / "data")
    if not (data / "flickr30k").is_dir():
        sys.exit(f"no real data: no folder {data} (REAL_DATA_DIR can name another)")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from annotation.selectors.spelling import unknown_words

    def unknown(text: str) -> int:
        return len(unknown_words(text))

    training = flickr8k(data)
    if options.fix:
        fix(training, unknown)
        return
    corpus = flickr30k(data)
    print(f"thresholds: {THRESHOLDS}")
    results = dict(measure(corpus, training, options.seeds, unknown))
    first, second = results.values()
    rows = [
        [name, str(sum(items for _, items in pairs)), share_text(pairs), share_text(second[name])]
        for name, pairs in sorted(first.items())
    ]
    print(text_table(["per cent", "captions", *results], rows))
    worst = {
        name: max(hits / items for hits, items in counts["honest, any flag"])
        for name, counts in results.items()
    }
    print(
        "honest captions flagged in the worst seed:",
        {name: f"{100 * share:.2f} %" for name, share in worst.items()},
    )
    captions = campaign_of(dict(islice(corpus.items(), IMAGES)), random.Random(0))
    taken, background = seconds(lambda: CaptionBackground(texts_of(captions)))
    print(f"background of {len(captions)} captions: {taken:.2f} s")
    taken, _flags = seconds(lambda: caption_flags(captions, background, unknown_words=unknown))
    print(f"flags: {len(captions) / taken:.0f} captions a second")


if __name__ == "__main__":
    main()
