"""Ranked tags of a corpus's images, from its captions; an image at a time, so that memory stays flat.

A caption whose authors say that it does not describe the image has no tags.

Source: structured listwise tagging, section 3.2; `models_core.features.text.tags` has the equations.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from annotation.common.spreadsheets import escape_formula
from annotation.datasets.tags import KeptTags, keep_tags
from annotation.formats.files.text import whole_file
from annotation.protocol.terms import CaptionRecord
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import image_names
from evaluation.services.tags.reading import TagReader
from models_core.features.text.tags import (
    DEFAULT_ALPHA,
    TagUnit,
    check_alpha,
    ranked_tags,
)
from models_core.features.text.tokens import tokenise
from models_core.phase_cache import PhaseProgress, no_progress

_PHASE = "ranking tags"
#: Digits after the point of a score in a file.
SCORE_DIGITS = 6
_TOGETHER = 50  # images between two words of progress


@dataclass(frozen=True, slots=True)
class TagsRequest:
    """Which corpus, what becomes a tag, and alpha of equation 9 (None: the paper's for this sort of tag)."""

    corpus: str
    unit: TagUnit = "nouns"
    alpha: float | None = None

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
    """The tags of each image of the corpus, in its order; an image without a noun has none.

    Raises UnknownName, and ValueError for an alpha outside 0 to 1, before the first image.
    """
    check_alpha(wanted.weight)
    corpus, names = corpus_named(wanted.corpus), image_names(wanted.corpus)
    reader = TagReader(wanted.unit)

    def found() -> Iterator[ImageTags]:
        for place, (name, record) in enumerate(zip(names, stream_records(corpus=corpus), strict=True)):
            if place % _TOGETHER == 0:
                progress(_PHASE, place, len(names))
            captions = (reader.tags(_tokens(one)) for one in record.captions if not one.unrelated)
            yield ImageTags(name, ranked_tags(captions, wanted.weight))
        progress(_PHASE, len(names), len(names))

    return found()


def keep_ranked_tags(wanted: TagsRequest, *, progress: PhaseProgress = no_progress) -> KeptTags:
    """Rank the tags of a corpus, and keep them in place of those that are kept for it.

    Raises UnknownName, Busy, and ValueError for an alpha outside 0 to 1; those kept before stay then.
    """
    images = rank_tags(wanted, progress=progress)
    corpus = corpus_named(wanted.corpus)
    keys = list(corpus.images.order_by("position").values_list("key", flat=True))
    ranked = ((key, one.tags) for key, one in zip(keys, images, strict=True))
    return keep_tags(corpus=corpus, images=ranked, unit=wanted.unit, alpha=wanted.weight)


def write_ranked_tags(images: Iterator[ImageTags], out: Path) -> TagsReport:
    """The images as a new file: CSV where its name ends in .csv, else JSON lines.

    Raises FormatError where it is there already, and OSError; then nothing is written.
    """
    with whole_file(out) as part, part.open("w", encoding="utf-8", newline="") as stream:
        if out.suffix.lower() == ".csv":
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


def _tokens(caption: CaptionRecord) -> Sequence[str]:
    return tokenise(caption.text) if caption.tokens is None else caption.tokens
