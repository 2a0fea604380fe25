"""Ranked tags of a corpus's images, from its captions; an image at a time, so that memory stays flat.

A caption whose authors say that it does not describe the image has no tags.

Source: structured listwise tagging, section 3.2; `models_core.features.text.tags` has the equations.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TextIO

from annotation.common.spreadsheets import escape_formula
from annotation.datasets.layers import layer_to_read
from annotation.datasets.tags import KeptTags, keep_tags
from annotation.formats.files.text import whole_file
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import image_names, names_of
from evaluation.services.features.parses import parses_of
from evaluation.services.tags.reading import (
    CaptionToRead,
    check_process_count,
    parsed_locations,
    read_ranked_tags,
)
from models_core.features.text.tags import (
    DEFAULT_ALPHA,
    TagPlacing,
    TagUnit,
    check_alpha,
)
from models_core.features.text.tokens import tokenise
from models_core.phase_cache import PhaseProgress, no_progress

_PHASE = "ranking tags"
#: Gives the locations of a caption's tokens; None: by their order.
_Locating = Callable[[Sequence[str]], list[float] | None]
#: Digits after the point of a score in a file.
SCORE_DIGITS = 6
_TOGETHER = 50  # images between two words of progress


@dataclass(frozen=True, slots=True)
class TagsRequest:
    """Which corpus, what becomes a tag, alpha of equation 9 (None: the paper's for this sort of tag), and by
    what tags are placed: the order of words, or the tree of the caption's parse.

    With a `layer` of the corpus its mentions are the noun phrases, else the chunker's. So many `processes`
    read captions.
    """

    corpus: str
    unit: TagUnit = "nouns"
    alpha: float | None = None
    layer: str = ""
    processes: int = 1
    place: TagPlacing = "words"

    @property
    def weight(self) -> float:
        """The alpha that is taken."""
        return DEFAULT_ALPHA[self.unit] if self.alpha is None else self.alpha


@dataclass(frozen=True, slots=True)
class ImageTags:
    """An image by the name we write, and its tags with their scores, the best first."""

    image: str
    tags: list[tuple[str, float]]


@dataclass(slots=True)
class TagsReport:
    """What was written: so many `tags` of so many `images`, of which `without` have none."""

    images: int = 0
    tags: int = 0
    without: int = 0


def rank_tags(wanted: TagsRequest, *, progress: PhaseProgress = no_progress) -> Iterator[ImageTags]:
    """The tags of each image of the corpus, in its order; an image without a noun has none, nor has one that
    the layer does not cover.

    Raises UnknownName, also where tags are placed by parses and there are none, and ValueError for an alpha
    outside 0 to 1 and for less than a process, before the first image.
    """
    check_alpha(wanted.weight)
    check_process_count(wanted.processes)
    corpus, names = corpus_named(wanted.corpus), image_names(wanted.corpus)
    layer = layer_to_read(corpus, wanted.layer) if wanted.layer else None
    located = _by_parse(wanted.corpus) if wanted.place == "tree" else repeat(lambda tokens: None)

    def captions() -> Iterator[list[CaptionToRead]]:
        for record in stream_records(corpus=corpus, layer=layer):
            yield list(_captions(record, located, stored=layer is not None))

    def found() -> Iterator[ImageTags]:
        ranked = read_ranked_tags(captions(), wanted.unit, wanted.weight, processes=wanted.processes)
        for place, (name, tags) in enumerate(zip(names, ranked, strict=True)):
            if place % _TOGETHER == 0:
                progress(_PHASE, place, len(names))
            yield ImageTags(name, tags)
        progress(_PHASE, len(names), len(names))

    return found()


def _captions(record: ImageRecord, located: Iterator[_Locating], *, stored: bool) -> Iterator[CaptionToRead]:
    """The captions of an image that describe it, with the phrases that are `stored`."""
    phrases: dict[int, list[tuple[int, int]]] = {}
    for mention in record.layer.mentions if record.layer is not None else ():
        phrases.setdefault(mention.caption, []).append((mention.start, mention.end))
    for number, (caption, locate) in enumerate(zip(record.captions, located, strict=False)):
        if not caption.unrelated:
            own = sorted(phrases.get(number, ())) if stored else None
            tokens = caption_tokens(caption)
            yield CaptionToRead(tokens, own, locate(tokens))


def _by_parse(corpus: str) -> Iterator[_Locating]:
    """For each caption of the corpus, in order, how far its tokens are from the root of its parse; parses of
    what no caption is called by are passed over."""
    parses = parses_of(corpus)

    def found() -> Iterator[_Locating]:
        called = names_of(corpus).caption_name
        known = set(called.values())
        left = (parse for parse in parses.sentences() if parse.id in known)
        coming = next(left, None)
        for name in called.values():
            own = coming if coming is not None and coming.id == name else None
            coming = next(left, None) if own is not None else coming
            yield partial(parsed_locations, parse=own)

    return found()


def keep_ranked_tags(wanted: TagsRequest, *, progress: PhaseProgress = no_progress) -> KeptTags:
    """Rank the tags of a corpus, and keep them in place of those that are kept for it.

    Raises UnknownName, Busy, and ValueError for an alpha outside 0 to 1; those kept before stay then.
    """
    images = rank_tags(wanted, progress=progress)
    corpus = corpus_named(wanted.corpus)
    keys = list(corpus.images.order_by("position").values_list("key", flat=True))
    ranked = ((key, one.tags) for key, one in zip(keys, images, strict=True))
    return keep_tags(corpus=corpus, images=ranked, unit=wanted.unit, alpha=wanted.weight, place=wanted.place)


def tag_layouts() -> Mapping[str, str]:
    """The layouts of files of tags, which their names end in, with their titles."""
    return {"jsonl": "JSON Lines", "csv": "CSV"}


def write_ranked_tags(images: Iterator[ImageTags], out: Path, layout: str) -> TagsReport:
    """The images as a new file in one of `tag_layouts`.

    Raises FormatError where it is there already, and OSError; then nothing is written.
    """
    with whole_file(out) as part, part.open("w", encoding="utf-8", newline="") as stream:
        if layout == "csv":
            return _write_table(images, stream)
        return write_tag_lines(images, stream.write)


def write_tag_lines(images: Iterator[ImageTags], write: Callable[[str], object]) -> TagsReport:
    """`write` a line of JSON for each image: {"image": NAME, "tags": [[TAG, SCORE], ...]}."""
    report = TagsReport()
    for one in _counted(images, report):
        tags = [[tag, round(score, SCORE_DIGITS)] for tag, score in one.tags]
        write(json.dumps({"image": one.image, "tags": tags}, ensure_ascii=False) + "\n")
    return report


def _write_table(images: Iterator[ImageTags], stream: TextIO) -> TagsReport:
    """A row for each tag: image, tag, score. An image without tags has no row."""
    report, table = TagsReport(), csv.writer(stream, lineterminator="\n")
    table.writerow(("image", "tag", "score"))
    for one in _counted(images, report):
        for tag, score in one.tags:
            table.writerow((escape_formula(one.image), escape_formula(tag), round(score, SCORE_DIGITS)))
    return report


def _counted(images: Iterator[ImageTags], report: TagsReport) -> Iterator[ImageTags]:
    """The same; `report` counts them as they pass."""
    for one in images:
        report.images += 1
        report.tags += len(one.tags)
        report.without += not one.tags
        yield one


def caption_tokens(caption: CaptionRecord) -> Sequence[str]:
    """Its words with its punctuation: as its corpus has them, else as we cut them."""
    return tokenise(caption.text) if caption.tokens is None else caption.tokens
