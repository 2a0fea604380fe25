"""Ranked tags of a corpus's images, from its captions; one image at a time, so that memory stays constant.

A caption that is marked as unrelated to its image has no tags.

Source: structured listwise tagging, section 3.2; `models_core.features.text.tags` has the equations.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, TextIO

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, NewFile, OneOf, OperationContext
from annotation.datasets.layers import layer_to_read
from annotation.datasets.tags import save_tags
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.selectors.corpora import CORPORA, corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import image_names, names_of
from evaluation.services.features.parses import parses_of
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import LayerField, check_layer
from evaluation.services.tags.reading import CaptionToRead, parsed_locations, read_ranked_tags
from models_core.features.text.tags import DEFAULT_ALPHA, TagPlacing, TagUnit
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.spreadsheets import escape_formula
from phrasebox.text.tokens import tokenise
from phrasebox.text_files import whole_file

_PHASE = "ranking tags"
#: Returns the locations of a caption's tokens; None: by their order.
_Locating = Callable[[Sequence[str]], list[float] | None]
#: Digits after the decimal point of a score in a file.
SCORE_DIGITS = 6
_TOGETHER = 50  # images between two progress reports


def tag_layouts() -> Mapping[str, str]:
    """Return the layouts of tag files, which are also their suffixes, with their titles."""
    return {"jsonl": "JSON Lines", "csv": "CSV"}


def _units() -> Mapping[str, Any]:
    return {"nouns": _("single nouns"), "compounds": _("nouns that stand together, as “soccer field”")}


def _places() -> Mapping[str, Any]:
    return {"words": _("the order of words"), "tree": _("the trees of imported parses")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsRequest:
    """The nouns of each image's captions are ranked as its tags, by position and frequency."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    unit: Annotated[TagUnit, OneOf(_units), Help(_("Tags"))] = "nouns"
    alpha: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Help(_("Weight of frequency"), _("The rest is that of the place; else the paper's for these tags")),
    ] = None
    layer: Annotated[
        LayerField, Help(_("Layer"), _("Its mentions are the noun phrases; else the chunker's"))
    ] = ""
    placed_by: Annotated[TagPlacing, OneOf(_places), Help(_("Placed by"))] = "words"

    @property
    def weight(self) -> float:
        """The alpha to use."""
        return DEFAULT_ALPHA[self.unit] if self.alpha is None else self.alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTagsRequest(TagsRequest):
    """The nouns of each image's captions are ranked as its tags, and written to a file."""

    layout: Annotated[str, OneOf(tag_layouts), Help(_("Layout"))] = "jsonl"
    processes: Annotated[int, Field(ge=1, le=1024), Help(_("Processes that read captions"))] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTags:
    """The tags that a corpus now has: their number, `distinct` different ones; `excluded` were too long."""

    corpus: str
    unit: str
    alpha: float
    placed_by: str
    images: int
    tags: int
    distinct: int
    excluded: int


@dataclass(frozen=True, slots=True)
class ImageTags:
    """An image by the name that we write, and its tags with their scores, best first."""

    image: str
    tags: list[tuple[str, float]]


@dataclass(slots=True)
class TagsReport:
    """The written file: the numbers of `tags` and `images`; `without` images have none."""

    images: int = 0
    tags: int = 0
    without: int = 0


def tags_of_images(
    request: TagsRequest, *, processes: int = 1, progress: PhaseProgress = no_progress
) -> Iterator[ImageTags]:
    """Yield the tags of each image of the corpus, in its order; an image without a noun, or outside the
    layer, has none.

    Raises UnknownName, also if tags are located by parses and there are none, before the first image.
    """
    corpus, names = corpus_named(request.corpus), image_names(request.corpus)
    layer = layer_to_read(corpus, request.layer) if request.layer else None
    located = _by_parse(request.corpus) if request.placed_by == "tree" else repeat(lambda tokens: None)

    def captions() -> Iterator[list[CaptionToRead]]:
        for record in stream_records(corpus=corpus, layer=layer):
            yield list(_captions(record, located, stored=layer is not None))

    def read_images() -> Iterator[ImageTags]:
        ranked = read_ranked_tags(captions(), request.unit, request.weight, processes=processes)
        for index, (name, tags) in enumerate(zip(names, ranked, strict=True)):
            if index % _TOGETHER == 0:
                progress(_PHASE, index, len(names))
            yield ImageTags(name, tags)
        progress(_PHASE, len(names), len(names))

    return read_images()


def _captions(record: ImageRecord, located: Iterator[_Locating], *, stored: bool) -> Iterator[CaptionToRead]:
    """Yield the captions of an image that describe it, with the `stored` phrases."""
    phrases: dict[int, list[tuple[int, int]]] = {}
    for mention in record.layer.mentions if record.layer is not None else ():
        phrases.setdefault(mention.caption, []).append((mention.start, mention.end))
    for number, (caption, locate) in enumerate(zip(record.captions, located, strict=False)):
        if not caption.unrelated:
            phrases_of_caption = sorted(phrases.get(number, ())) if stored else None
            tokens = caption_tokens(caption)
            yield CaptionToRead(tokens, phrases_of_caption, locate(tokens))


def _by_parse(corpus: str) -> Iterator[_Locating]:
    """Yield for each caption of the corpus, in order, how far its tokens are from the root of its parse;
    parses without a caption are skipped."""
    parses = parses_of(corpus)

    def locators() -> Iterator[_Locating]:
        called = names_of(corpus).caption_name
        known = set(called.values())
        left = (parse for parse in parses.sentences() if parse.id in known)
        coming = next(left, None)
        for name in called.values():
            parse_of_caption = coming if coming is not None and coming.id == name else None
            coming = next(left, None) if parse_of_caption is not None else coming
            yield partial(parsed_locations, parse=parse_of_caption)

    return locators()


def check_tags(request: TagsRequest, context: OperationContext) -> TagsRequest:
    """Raise Invalid if the corpus has no such layer, and UnknownName if it lacks the parses."""
    check_layer("layer", request.layer, corpus_named(request.corpus))
    if request.placed_by == "tree":
        parses_of(request.corpus)
    return request


def rank_tags(request: TagsRequest, context: OperationContext) -> StoredTags:
    """Rank the tags of a corpus, and store them instead of its previous ones.

    Raises UnknownName and Busy; then the previous ones stay.
    """
    check_tags(request, context)
    images = tags_of_images(request, progress=PhaseShares(context.report_progress))
    corpus = corpus_named(request.corpus)
    keys = list(corpus.images.order_by("position").values_list("key", flat=True))
    ranked = ((key, image.tags) for key, image in zip(keys, images, strict=True))
    about: dict[str, Any] = {"unit": request.unit, "alpha": request.weight, "placed_by": request.placed_by}
    stored = save_tags(corpus=corpus, images=ranked, **about)
    return StoredTags(corpus=corpus.name, **about, **asdict(stored))


def export_ranked_tags(request: ExportTagsRequest, context: OperationContext) -> NewFile:
    """Rank the tags of a corpus into a file."""
    check_tags(request, context)
    images = tags_of_images(
        request, processes=request.processes, progress=PhaseShares(context.report_progress)
    )
    return NewFile(
        f"{request.corpus}-tags.{request.layout}",
        lambda path: write_ranked_tags(images, path, request.layout),
    )


def write_ranked_tags(images: Iterator[ImageTags], out: Path, layout: str) -> TagsReport:
    """Write the images to a new file in one of `tag_layouts`.

    Raises FormatError if it exists already, and OSError; then nothing is written.
    """
    with whole_file(out) as part, part.open("w", encoding="utf-8", newline="") as stream:
        if layout == "csv":
            return _write_table(images, stream)
        return write_tag_lines(images, stream.write)


def write_tag_lines(images: Iterator[ImageTags], write: Callable[[str], object]) -> TagsReport:
    """Call `write` with a line of JSON for each image: {"image": NAME, "tags": [[TAG, SCORE], ...]}."""
    report = TagsReport()
    for image in _counted(images, report):
        tags = [[tag, round(score, SCORE_DIGITS)] for tag, score in image.tags]
        write(json.dumps({"image": image.image, "tags": tags}, ensure_ascii=False) + "\n")
    return report


def _write_table(images: Iterator[ImageTags], stream: TextIO) -> TagsReport:
    """Write a row for each tag: image, tag, score. An image without tags has no row."""
    report, table = TagsReport(), csv.writer(stream, lineterminator="\n")
    table.writerow(("image", "tag", "score"))
    for image in _counted(images, report):
        for tag, score in image.tags:
            table.writerow((escape_formula(image.image), escape_formula(tag), round(score, SCORE_DIGITS)))
    return report


def _counted(images: Iterator[ImageTags], report: TagsReport) -> Iterator[ImageTags]:
    """Yield the same images; `report` counts them."""
    for image in images:
        report.images += 1
        report.tags += len(image.tags)
        report.without += not image.tags
        yield image


def caption_tokens(caption: CaptionRecord) -> Sequence[str]:
    """Return a caption's words and punctuation: as its corpus has them, else by our tokeniser."""
    return tokenise(caption.text) if caption.tokens is None else caption.tokens
