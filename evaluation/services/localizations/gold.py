"""The boxes that people drew: each mention of a layer with its box, phrase and categories."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.datasets.layers import layer_to_read
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.comparison.subsets import Subset
from evaluation.selectors import names_of
from evaluation.services.alignments.localizing import boxed_mentions
from evaluation.services.common import InputError
from models_core.features.text.phrases import phrase_text


@dataclass(frozen=True, slots=True)
class BoxedMention:
    """A mention of an image (row id) with the box around all boxes of its chain, shape (4,).

    `phrase` is `text` lower-cased and without articles; there is at least one of `categories`.
    """

    image: int
    caption: int
    start: int
    end: int
    text: str
    phrase: str
    categories: tuple[str, ...]
    box: NDArray[np.float64]

    @property
    def key(self) -> tuple[int, int, int, int]:
        """Image, caption, first word and the end of the words."""
        return self.image, self.caption, self.start, self.end


def layer_and_state(corpus: str, layer: str) -> tuple[str, list[int]]:
    """Return the name of a layer (of the default one if `layer` is empty), and its row id and version after
    updating it with the latest answers: both change if its boxes do. Empty where the corpus has no layer.
    Raises UnknownName."""
    chosen = layer_to_read(corpus_named(corpus), layer or None)
    return (layer, []) if chosen is None else (chosen.name, [chosen.pk, chosen.version])


def boxed_mentions_of(corpus: str, layer: str, subset: Subset | None) -> list[BoxedMention]:
    """Return the mentions of a layer that have boxes, in the order of images.

    Raises UnknownName, and InputError for a layer without boxes of these images.
    """
    row = corpus_named(corpus)
    chosen = layer_to_read(row, layer or None)
    mentions = [] if chosen is None else list(_mentions(corpus, chosen, subset))
    if not mentions:
        called = f"layer {chosen.name!r}" if chosen else f"corpus {corpus!r}, which has no layer,"
        where = f" of the {subset.called}" if subset else ""
        raise InputError(f"{called} has no boxed mention{where}; name a layer with boxes of these images")
    return mentions


def _mentions(corpus: str, layer: object, subset: Subset | None) -> Iterator[BoxedMention]:
    images = names_of(corpus).image_name
    records = stream_records(corpus=corpus_named(corpus), layer=layer)  # type: ignore[arg-type]
    for image, record in zip(images, records, strict=True):
        if record.layer is None or (subset is not None and image not in subset.images):
            continue
        for mention, box in boxed_mentions(record.layer):
            yield BoxedMention(
                image, *mention.span, mention.text, phrase_text(mention.text), mention.categories, box
            )
