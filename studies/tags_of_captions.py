"""Evaluate tags ranked by position and frequency against people's judgments of captions. Prints tables.

    python -m studies.tags_of_captions DATA [--resamples 1000] [--seed 0]
    python -m studies.tags_of_captions DATA --speed [--images 31783]

DATA has the folders `semantic_flickraudio` (Kamper et al. 2017: for 1,000 captions and 67 keywords, how many
of five annotators judged that the keyword's meaning is in the caption) and `flickr8k`. A keyword is relevant
if more than half did. Only nouns are used: keywords that the tagger tags as nouns in most of their
occurrences in the captions of these images. A keyword's score is that of the tag of its lemma (compounds: the
best tag that has it among its words); a keyword without a tag ranks below all tags.

Tags are ranked from the judged caption, from all five captions of its image, or from only the four others,
which shows how well tags of an image predict another caption. MAP: each keyword ranks captions; MiAP: each
caption ranks keywords; ties are averaged over all orders. "Occurring": only among the captions (keywords)
with a tag for the keyword, so that only the order of tags is measured. Intervals of 95 %: keywords drawn for
MAP, captions for MiAP, by the bootstrap.

With --speed: captions per CPU second, for the given number of images; Flickr8k's are repeated as necessary.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from annotation.common.plain_text import text_table
from evaluation.services.tags.reading import TagReader
from models_core.features.text.lemmas import NOUN, Word
from models_core.features.text.tags import TagPosition, TagUnit, ranked_tags, tags_in_caption
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.formats.base import JUDGMENT_FORMATS
from phrasebox.metrics.ranking import average_precision
from phrasebox.metrics.tagging import by_tag_and_image
from phrasebox.significance.resampling import bootstrap_difference, figure_interval
from phrasebox.text.tokens import tokenise
from studies.measuring import seconds

Floats = NDArray[np.float64]
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
UNITS: tuple[TagUnit, ...] = ("nouns", "compounds")
#: The score of a keyword without a tag: below every tag, whose scores begin at 0.
ABSENT = -1.0
#: Words, and noun phrases among them.
ReadCaption = tuple[tuple[Word, ...], list[tuple[int, int]]]


class Captions:
    """Flickr8k's captions by image, each tagged and chunked once, on request."""

    def __init__(self, folder: Path) -> None:
        self.texts: dict[str, list[str]] = defaultdict(list)
        with (folder / "Flickr8k.token.txt").open(encoding="utf-8") as stream:
            for line in stream:
                name, _, text = line.rstrip("\n").partition("\t")
                self.texts[name.partition(".jpg")[0]].append(text)
        self._reader = TagReader()
        self._read: dict[str, list[ReadCaption]] = {}

    def read(self, image: str) -> list[ReadCaption]:
        """Return words and noun phrases of each caption of an image."""
        if image not in self._read:
            self._read[image] = [self._reader.read(tokenise(text)) for text in self.texts[image]]
        return self._read[image]


def nouns_among(keywords: Sequence[str], captions: Captions, images: Sequence[str]) -> dict[str, str]:
    """Return the lemma of each keyword that is a noun in most of its occurrences as written."""
    seen: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for image in images:
        for text, (words, _) in zip(captions.texts[image], captions.read(image), strict=True):
            for token, word in zip(tokenise(text), words, strict=True):
                seen[token.lower()][word.lemma, word.part == NOUN] += 1
    nouns_of_images = {}
    for keyword in keywords:
        nouns = Counter({lemma: n for (lemma, noun), n in seen[keyword].items() if noun})
        if 2 * nouns.total() > seen[keyword].total():
            nouns_of_images[keyword] = nouns.most_common(1)[0][0]
    return nouns_of_images


def keyword_scores(tags: Sequence[tuple[str, float]], lemmas: Sequence[str]) -> list[float]:
    """Return the score of each keyword: that of the best tag with its lemma among its words."""
    best: dict[str, float] = {}
    for tag, score in tags:
        for lemma in tag.split():
            best[lemma] = max(score, best.get(lemma, ABSENT))
    return [best.get(lemma, ABSENT) for lemma in lemmas]


def rankings(image_captions: list[list[ReadCaption]], lemmas: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield name and scores, shape (captions, keywords), of each way to rank, the baselines first."""
    for unit in UNITS:
        places = [
            [tags_in_caption(*caption, unit=unit) for caption in captions] for captions in image_captions
        ]
        tables = {a: _table(places, lemmas, a) for a in ALPHAS}
        if unit == "nouns":
            anywhere = [[tags_in_caption(words) for words, _ in captions] for captions in image_captions]
            yield "the word is a tag", np.where(tables[0.0] > ABSENT, 1.0, ABSENT)
        for alpha in ALPHAS:
            yield f"{unit}, alpha {alpha:g}{' (frequency alone)' if alpha == 1 else ''}", tables[alpha]
        if unit == "nouns":
            yield "nouns, alpha 0.75, outside noun phrases too", _table(anywhere, lemmas, 0.75)


def _print_nouns(read: Sequence[ReadCaption]) -> None:
    """Print how many nouns are outside all noun phrases, and in how many captions one occurs twice."""
    taken = [tags_in_caption(*tag) for tag in read]
    all_nouns = sum(len(tags_in_caption(words)) for words, _ in read)
    inside = sum(map(len, taken))
    twice = sum(len({tag.tag for tag in tags_of_caption}) < len(tags_of_caption) for tags_of_caption in taken)
    joined = sum(
        " " in tag.tag
        for tags_of_caption in read
        for tag in tags_in_caption(*tags_of_caption, unit="compounds")
    )
    print(
        f"{len(read):,} captions have {all_nouns:,} nouns, {all_nouns - inside:,} of them outside all noun "
        f"phrases; {joined:,} compounds; {twice:,} captions have a noun twice"
    )


def _table(places: Sequence[Sequence[Sequence[TagPosition]]], lemmas: Sequence[str], alpha: float) -> Floats:
    return np.array(
        [keyword_scores(ranked_tags(places_of_image, alpha), lemmas) for places_of_image in places]
    )


def measured(data: Path, resamples: int, seed: int) -> None:
    """Print the tables."""
    captions = Captions(data / "flickr8k")
    pairs = list(JUDGMENT_FORMATS.get("keyword-counts").read(data / "semantic_flickraudio"))
    utterances = list(dict.fromkeys(pair.document for pair in pairs))
    keywords = list(dict.fromkeys(pair.query for pair in pairs))
    split = [(key.rpartition("_")[0], int(key.rpartition("_")[2])) for key in utterances]
    images = list(dict.fromkeys(image for image, _ in split))
    nouns = nouns_among(keywords, captions, images)
    is_relevant = {(p.document, p.query): 2 * sum(p.grades) > len(p.grades) for p in pairs}
    relevant = np.array([[is_relevant[u, k] for k in nouns] for u in utterances])
    print(f"{len(nouns)} keywords that are nouns: {', '.join(nouns)}")
    print(f"{len(utterances)} captions of {len(images)} images, {relevant.sum():,} relevant pairs")
    _print_nouns([caption for image in images for caption in captions.read(image)])
    sources: dict[str, Callable[[int, int], bool]] = {
        "the caption that was judged": lambda at, judged: at == judged,
        "all five captions": lambda at, judged: True,
        "the four others": lambda at, judged: at != judged,
    }
    for source, chosen in sources.items():
        image_captions = [
            [caption for at, caption in enumerate(captions.read(image)) if chosen(at, judged)]
            for image, judged in split
        ]
        rows = list(rankings(image_captions, list(nouns.values())))
        _print(source, rows, relevant, resamples, seed)


def _print(
    source: str, rows: list[tuple[str, Floats]], relevant: NDArray[np.bool_], resamples: int, seed: int
) -> None:
    table, values_by_ranking = [], {}
    for name, scores in rows:
        tags = scores > ABSENT
        line = [name]
        for among in (relevant, relevant & tags):
            for by, ranked in zip(("MAP", "MiAP"), by_tag_and_image(scores, among), strict=True):
                values = average_precision(ranked)
                values_by_ranking[name, by, among is relevant] = values
                drawn = Bootstrap(range(len(values)), resamples, 0.95, seed)
                interval = figure_interval(values, drawn)
                line.append(f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
        table.append(line)
    print(f"\nTags from {source}; {int((rows[0][1] > ABSENT).sum()):,} pairs with a tag, ", end="")
    print(f"{int((relevant & (rows[0][1] > ABSENT)).sum()):,} of them relevant\n")
    print(text_table(["ranking", "MAP", "MiAP", "MAP, occurring", "MiAP, occurring"], table))
    print("\nDifferences, paired:")
    against = ["nouns, alpha 1 (frequency alone)", "the word is a tag"]
    for first, second in itertools.product(("nouns, alpha 0", "nouns, alpha 0.75"), against):
        for by, whole in itertools.product(("MAP", "MiAP"), (True, False)):
            first_values, second_values = (
                values_by_ranking[first, by, whole],
                values_by_ranking[second, by, whole],
            )
            bounds = bootstrap_difference(
                first_values, second_values, Bootstrap(range(len(first_values)), resamples, 0.95, seed)
            )
            which = "" if whole else ", occurring"
            print(
                f"  {first} less {second}, {by}{which}: {bounds.value:+.4f} [{bounds.low:+.4f}, "
                f"{bounds.high:+.4f}], p {bounds.p:.3f}"
            )


def speed(data: Path, images: int) -> None:
    """Print the time for the tags of this number of images, without a database."""
    texts = list(Captions(data / "flickr8k").texts.values())
    for unit in UNITS:
        reader, done = TagReader(unit), Counter[str]()

        def work(reader: TagReader = reader, done: Counter[str] = done) -> None:
            for image_texts in itertools.islice(itertools.cycle(texts), images):
                done["tags"] += len(ranked_tags((reader.tags(tokenise(text)) for text in image_texts), 0.75))
                done["captions"] += len(image_texts)

        began = time.process_time()
        took, _ = seconds(work)
        busy = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{unit}: {images:,} images, {done['captions']:,} captions, {done['tags']:,} tags "
            f"in {took:.1f} s, {busy:.1f} s of the processor, {done['captions'] / busy:,.0f} captions a "
            f"second of it; peak {peak:.0f} MiB"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true", help="Measure time instead")
    parser.add_argument("--images", type=int, default=31_783, help="Of --speed")
    options = parser.parse_args()
    if options.speed:
        speed(options.data, options.images)
    else:
        measured(options.data, options.resamples, options.seed)
