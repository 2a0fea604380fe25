"""Flags of written captions: honest ones that are flagged, and how many of the bad ones are found.

    python -m studies.caption_flags [--seeds 5] [--fix]

Captions are those of Flickr8k and Flickr30k (REAL_DATA_DIR, or ../shared/data). A campaign is 600 images with
five captions each, 3,000 in all; each image's are written one after another by five of 30 writers, drawn for
each image. So honest captions are real ones. Who wrote them is not known, and neither are seconds: nothing is
measured of the flags `fast` and `pasted`.

With --fix: the values of honest captions of five campaigns over training images of Flickr8k, no image twice,
at the shares in BUDGET, from which the thresholds in `annotation.protocol.caption_flags` were rounded to the
side of fewer flags.

Otherwise, with those thresholds: campaigns over the validation images of Flickr30k (the captions of the
others are not in the data), one for each seed. Two backgrounds: the campaign's own captions, or those of the
training images of Flickr8k. In a third of the images a bad caption takes the place of an honest one:

- repeated: an earlier caption of the writer on another image; copied: an earlier one of another writer on the
  same image. As it is, with one to three words replaced, left out or put in (at random, from the captions'
  words), or turned around at a random word ("in the snow a dog runs").
- off topic: a caption of another image: any; the one of 20 with most words in common, by rarity; or of all.
  In the place of the image's first caption to its fifth. All five are there when flags are counted; and for
  the second to fifth also as it was when the caption had just arrived.
- general: real captions of Flickr8k's images for development and testing all of whose content words occur in
  the captions of so many of the 1,000 images of Flickr30k; and sentences that fit any picture (VAGUE).
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
    THRESHOLDS,
    CaptionBackground,
    CollectedCaption,
    FlagReason,
    FlagThresholds,
    caption_flags,
    content_stems,
    flags_within_image,
)
from phrasebox.agreement.shares import share_interval
from phrasebox.text.tokens import plain_words
from studies.measuring import seconds

REPOSITORY = Path(__file__).resolve().parents[1]
IMAGES, WRITERS = 600, 30
#: Share of honest captions that each flag may have on Flickr8k.
BUDGET = {
    FlagReason.REPEATED: 0.001,
    FlagReason.COPIED: 0.0025,
    FlagReason.GENERAL: 0.0025,
    FlagReason.OFF_TOPIC: 0.005,
    FlagReason.LENGTH: 0.0,
}
#: Thresholds under which nearly every caption has a value.
OPEN = FlagThresholds(repeated=0.35, copied=0.0, general=-1.0, off_topic=(2.0,), off_topic_large=(2.0,))
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
#: Share of the images that get a bad caption.
TAMPERED = 1 / 3
#: Number of images among which a similar one is chosen.
LOOKED_AT = 20
BACKGROUNDS = ("own", "Flickr8k")
REWORDED = ("as it is", "1 word", "2 words", "3 words", "turned around")

#: The captions of images, by name.
Corpus = Mapping[str, Sequence[str]]
#: Bad captions by what was done: the number of each of a campaign.
Bad = dict[str, list[int]]
#: By row of a table, for each seed: captions with the flag in question, with any flag, and in all.
Counts = dict[str, list[tuple[int, int, int]]]
#: Counts the unknown words of a text.
UnknownWords = Callable[[str], int]


def flickr8k(data: Path, *splits: str) -> dict[str, list[str]]:
    """Return the captions of the images of some splits."""
    folder = data / "flickr8k"
    files = [folder / f"Flickr_8k.{split}Images.txt" for split in splits]
    names = {name for file in files for name in file.read_text(encoding="utf-8").split()}
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


def campaign_of(corpus: Corpus, rng: random.Random) -> list[CollectedCaption]:
    """Return a campaign over `corpus`, image by image."""
    written: list[CollectedCaption] = []
    for image, texts in corpus.items():
        for writer, text in zip(rng.sample(range(WRITERS), len(texts)), texts, strict=True):
            written.append(CollectedCaption(len(written), image, writer, text))
    return written


def by_image(captions: Sequence[CollectedCaption]) -> dict[str, list[CollectedCaption]]:
    """Return the captions of each image, in order."""
    groups: dict[str, list[CollectedCaption]] = defaultdict(list)
    for caption in captions:
        groups[str(caption.image)].append(caption)
    return groups


def texts_of(captions: Sequence[CollectedCaption]) -> dict[str, list[str]]:
    """Return the texts of each image, as a background reads them."""
    return {image: [caption.text for caption in group] for image, group in by_image(captions).items()}


class Tamperer:
    """Puts bad captions into a campaign over a corpus."""

    def __init__(self, corpus: Corpus, general: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        self.corpus, self.pools, self.rng = corpus, general, rng
        self.words = [word for texts in corpus.values() for text in texts for word in text.split()]
        self.content = {
            image: frozenset[str]().union(*map(content_stems, texts)) for image, texts in corpus.items()
        }
        frequency = Counter(stem for stems in self.content.values() for stem in stems)
        self.rarity = {stem: log(len(corpus) / times) for stem, times in frequency.items()}

    def repeated(self, captions: list[CollectedCaption]) -> Bad:
        """Repeat writers' earlier captions."""
        earlier: dict[object, list[str]] = defaultdict(list)
        bad: Bad = defaultdict(list)
        for group in by_image(captions).values():
            chosen = self.rng.choice(group)
            if earlier[chosen.writer] and self._drawn():
                self._reword(captions, chosen, self.rng.choice(earlier[chosen.writer]), bad)
            for caption in group:
                earlier[caption.writer].append(captions[caption.number].text)
        return bad

    def copied(self, captions: list[CollectedCaption]) -> Bad:
        """Copy an earlier caption of the image."""
        bad: Bad = defaultdict(list)
        for group in filter(self._drawn, by_image(captions).values()):
            position = self.rng.randrange(1, len(group))
            self._reword(captions, group[position], group[self.rng.randrange(position)].text, bad)
        return bad

    def off_topic(self, captions: list[CollectedCaption]) -> Bad:
        """Write captions of other images."""
        bad: Bad = defaultdict(list)
        for image, group in filter(self._drawn, by_image(captions).items()):
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

    def general(self, captions: list[CollectedCaption]) -> Bad:
        """Write captions that fit many images."""
        bad: Bad = defaultdict(list)
        for group in filter(self._drawn, by_image(captions).values()):
            name, chosen = self.rng.choice(sorted(self.pools)), self.rng.choice(group)
            captions[chosen.number] = replace(chosen, text=self.rng.choice(self.pools[name]))
            bad[name].append(chosen.number)
        return bad

    def misspelt(self, captions: list[CollectedCaption]) -> Bad:
        """Misspell words."""
        bad: Bad = defaultdict(list)
        for group in filter(self._drawn, by_image(captions).values()):
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

    def _drawn(self, group: object = None) -> bool:
        """Whether an image gets a bad caption."""
        return self.rng.random() < TAMPERED

    def _reword(
        self, captions: list[CollectedCaption], chosen: CollectedCaption, text: str, bad: Bad
    ) -> None:
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


def general_captions(corpus: Corpus, candidates: Corpus) -> dict[str, list[str]]:
    """Return sentences that fit many images of `corpus`, by how many."""
    pools: dict[str, list[str]] = {"vague sentences": list(VAGUE)}
    whole = CaptionBackground(corpus)
    for text in dict.fromkeys(text for texts in candidates.values() for text in texts):
        share = 1000 * whole.share_of_images(content_stems(text))
        for least, most in BANDS:
            if least <= share < most:
                pools.setdefault(_band(least, most), []).append(text)
    return pools


def _band(least: int, most: int) -> str:
    top = f" to {most / 10:g} %" if most < 1000 else " % or more"
    return f"fits {least / 10:g}{top} of the images"


#: What is done to a campaign, by the flag that should find it.
TAMPERING: dict[str, Callable[[Tamperer, list[CollectedCaption]], Bad]] = {
    FlagReason.REPEATED: Tamperer.repeated,
    FlagReason.COPIED: Tamperer.copied,
    FlagReason.OFF_TOPIC: Tamperer.off_topic,
    FlagReason.GENERAL: Tamperer.general,
    FlagReason.SPELLING: Tamperer.misspelt,
}


def reasons_of(
    captions: Sequence[CollectedCaption], background: CaptionBackground, unknown: UnknownWords
) -> dict[int, set[str]]:
    """Return the flags of each caption, by its number."""
    reasons: dict[int, set[str]] = defaultdict(set)
    for flag in caption_flags(captions, background, unknown_words=unknown):
        reasons[flag.caption].add(flag.reason)
    return reasons


def on_arrival(
    captions: Sequence[CollectedCaption], numbers: Sequence[int], background: CaptionBackground
) -> Iterator[bool]:
    """Yield whether each of these captions is off topic among those of its image that came before it."""
    groups = by_image(captions)
    for number in numbers:
        group = [caption for caption in groups[str(captions[number].image)] if caption.number <= number]
        flags = flags_within_image(group, background)
        yield any(flag.caption == number and flag.reason == FlagReason.OFF_TOPIC for flag in flags)


def fix(corpus: Corpus, unknown: UnknownWords) -> None:
    """Print the values of honest captions at the shares in BUDGET, and the share that is misspelt."""
    images = list(corpus)
    random.Random(0).shuffle(images)
    last = {name: corpus[name] for name in images[5 * IMAGES :]}
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    total = misspelt = 0
    for seed in range(5):
        drawn = {name: corpus[name] for name in images[seed * IMAGES : (seed + 1) * IMAGES]}
        captions = campaign_of(drawn, random.Random(seed))
        total += len(captions)
        lengths = [len(plain_words(caption.text)) for caption in captions]
        values[f"{FlagReason.LENGTH} at most", ""] += lengths
        values[f"{FlagReason.LENGTH} at least", ""] += [-length for length in lengths]
        for name, background in (("own", CaptionBackground(drawn)), ("others", CaptionBackground(last))):
            for flag in caption_flags(captions, background, unknown_words=unknown, thresholds=OPEN):
                if flag.reason == FlagReason.SPELLING:
                    misspelt += name == "own"
                elif flag.reason not in (FlagReason.LENGTH, FlagReason.OFF_TOPIC):
                    values[flag.reason, name].append(flag.value)
            for others in range(1, 5):
                for group in by_image(captions).values():
                    flags = flags_within_image(group[: others + 1], background, thresholds=OPEN)
                    found = [flag.value for flag in flags if flag.reason == FlagReason.OFF_TOPIC]
                    values[f"{FlagReason.OFF_TOPIC} {others}", name] += found
    rows = []
    for (reason, name), found in sorted(values.items()):
        budget = BUDGET[FlagReason(reason.split()[0])]
        if reason.startswith(FlagReason.OFF_TOPIC):
            value = sorted(found)[int(budget * len(found))]
        else:
            value = sorted(found, reverse=True)[int(budget * total)]
        rows.append([reason, name, f"{100 * budget:g} %", f"{abs(value):.4g}"])
    print(text_table(["flag", "background", "honest captions beyond", "value"], rows))
    print(f"{FlagReason.SPELLING}: {100 * misspelt / total:.2f} % of the honest captions")


def measure(
    corpus: Corpus, training: Corpus, general: Mapping[str, Sequence[str]], seeds: int, unknown: UnknownWords
) -> Iterator[tuple[str, Counts]]:
    """Yield by background the counts of honest captions that are flagged, and of bad ones that are found."""
    reference = CaptionBackground(training)
    for which in BACKGROUNDS:
        counts: Counts = defaultdict(list)
        for seed in range(seeds):
            rng = random.Random(1000 + seed)
            drawn = {name: corpus[name] for name in rng.sample(sorted(corpus), IMAGES)}
            honest = campaign_of(drawn, rng)
            background = reference if which == "Flickr8k" else CaptionBackground(texts_of(honest))
            reasons = reasons_of(honest, background, unknown)
            for honest_flag in FlagReason:
                flagged = sum(honest_flag in found for found in reasons.values())
                counts[f"honest: {honest_flag}"].append((flagged, flagged, len(honest)))
            counts["honest: any"].append((len(reasons), len(reasons), len(honest)))
            for reason, tamper in TAMPERING.items():
                captions = list(honest)
                bad = tamper(Tamperer(corpus, general, random.Random(2000 + seed)), captions)
                if which != "Flickr8k":
                    background = CaptionBackground(texts_of(captions))
                reasons = reasons_of(captions, background, unknown)
                touched = {number for numbers in bad.values() for number in numbers}
                beside = len(reasons.keys() - touched)
                counts[f"honest beside {reason}"].append((beside, beside, len(captions) - len(touched)))
                for how, numbers in bad.items():
                    hits = sum(reason in reasons[number] for number in numbers)
                    any_flag = sum(bool(reasons[number]) for number in numbers)
                    counts[f"{reason}: {how}"].append((hits, any_flag, len(numbers)))
                    if reason == FlagReason.OFF_TOPIC and "first" not in how:
                        hits = sum(on_arrival(captions, numbers, background))
                        counts[f"{reason}: {how}; on arrival"].append((hits, hits, len(numbers)))
        yield which, counts


def share_text(hits: Sequence[int], items: Sequence[int]) -> str:
    """Return a share in per cent with its interval."""
    low, high = share_interval(np.array(hits), np.array(items))
    return f"{100 * sum(hits) / sum(items):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


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

    training = flickr8k(data, "train")
    if options.fix:
        fix(training, unknown)
        return
    corpus = flickr30k(data)
    general = general_captions(corpus, flickr8k(data, "dev", "test"))
    print(f"thresholds: {THRESHOLDS}")
    print("general captions:", {name: len(texts) for name, texts in general.items()})
    results = dict(measure(corpus, training, general, options.seeds, unknown))
    rows = []
    for name in results[BACKGROUNDS[0]]:
        cells = []
        for counts in results.values():
            hits, any_flag, items = zip(*counts[name], strict=True)
            cells += [share_text(hits, items), share_text(any_flag, items)]
        rows.append([name, str(sum(items)), *cells])
    head = ["per cent", "captions"]
    for which in results:
        head += [f"{which}: flag", f"{which}: any flag"]
    print(text_table(head, sorted(rows)))
    for which, counts in results.items():
        shares = [f"{100 * hits / items:.2f}" for hits, _, items in counts["honest: any"]]
        print(f"honest captions flagged by seed, background {which}: {', '.join(shares)} %")
    captions = campaign_of(dict(islice(corpus.items(), IMAGES)), random.Random(0))
    taken, background = seconds(lambda: CaptionBackground(texts_of(captions)))
    print(f"background of {len(captions)} captions: {taken:.2f} s")
    taken, _flags = seconds(lambda: caption_flags(captions, background, unknown_words=unknown))
    print(f"flags: {len(captions) / taken:.0f} captions a second")


if __name__ == "__main__":
    main()
