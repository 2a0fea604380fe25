"""Regions with what is said of each: the mentions of a layer, beside the regions that their boxes are.

A mention belongs to that region of its image whose box overlaps the box of its chain the most, by an IoU of
at least 0.5. Of a layer that an alignment wrote of the same regions these are the very same boxes.

Source: Karpathy and Fei-Fei 2015, section 3.1.4 ("we annotate segments of text with regions") and 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.datasets.layers import layer_to_read
from annotation.protocol.contents import corners
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import names_of
from evaluation.services.features.store import feature_set
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.sources import Sources
from models_core.estimators.base import Form, RaggedRows
from models_core.systems.caption_reading import ImageExample, written_words
from models_core.systems.dataset import PreparedDataset, RegionVectors, checked_vectors
from phrasebox.metrics.localization import RIGHT_IOU, iou, union_box

#: Between the name of an image and the number of its region, counted from 1.
OF_REGION = "#region-"


@dataclass(frozen=True)
class RegionTexts:
    """For each image by name, its regions of which something is said: row of the set, and the texts.

    `left_out` counts mentions with boxes by image: those of which no region overlaps the box enough, or whose
    text has no letter.
    """

    layer: str
    of_image: dict[str, list[tuple[int, tuple[str, ...]]]]
    left_out: Counter[str]

    def mentions(self, images: Iterable[str]) -> tuple[int, int]:
        """How many mentions of these images are learned from, and how many with boxes are not."""
        names = list(images)
        kept = sum(len(texts) for name in names for _, texts in self.of_image.get(name, ()))
        return kept, sum(self.left_out[name] for name in names)

    def prepared(self, found: Examples, places: Sequence[int], form: Form) -> PreparedDataset:
        """The regions of these images as items of their own; as "regions" none is copied.

        Raises ValueError where there is none.
        """
        assert found.regions is not None
        rows, examples = [], []
        for place in places:
            name = found.examples[place].name
            begin = int(found.regions.rows.begin[place])
            for row, texts in self.of_image.get(name, ()):
                rows.append(row)
                examples.append(ImageExample(f"{name}{OF_REGION}{row - begin + 1}", texts))
        if not rows:
            raise ValueError(
                f"layer {self.layer!r} says nothing of a region of these images; choose a layer with boxes, "
                "or the set of regions that they were drawn around"
            )
        names = tuple(one.name for one in examples)
        values = found.regions.rows.values
        if form == "regions":
            first = np.asarray(rows, np.intp)
            alone = RegionVectors(RaggedRows(values, first, first + 1), found.regions.source)
            return PreparedDataset(names, written_words(examples), alone)
        vectors = checked_vectors(names, np.stack([values[row] for row in rows]))
        return PreparedDataset(names, written_words(examples), vectors)


def region_texts(found: Examples, boxes: NDArray[Any], layer: str) -> RegionTexts:
    """What the layer says of regions with `boxes`, shape (rows of the set, 4). Raises UnknownName."""
    assert found.regions is not None
    corpus = corpus_named(found.corpus)
    chosen = layer_to_read(corpus, layer)
    spans = {
        one.name: (int(begin), int(end))
        for one, begin, end in zip(
            found.examples, found.regions.rows.begin, found.regions.rows.end, strict=True
        )
    }
    of_image: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    left_out: Counter[str] = Counter()
    names = names_of(corpus.name).image_name.values()
    for name, record in zip(names, stream_records(corpus=corpus, layer=chosen), strict=True):
        if record.layer is None:
            continue
        depicted = record.layer.depicted()
        if name not in spans:
            left_out[name] += sum(len(one.mentions) for one in record.layer.chains if one.id in depicted)
            continue
        begin, end = spans[name]
        said: dict[int, list[str]] = {}
        for chain in record.layer.chains:
            if chain.id not in depicted:
                continue
            left_out[name] += len(chain.mentions)
            around = union_box([corners(box) for box in depicted[chain.id]])
            shares = iou(around, boxes[begin:end])
            best = int(shares.argmax())
            if shares[best] >= RIGHT_IOU:
                said.setdefault(begin + best, []).extend(m.text for m in chain.mentions)
        texts = {row: tuple(text for text in own if any(map(str.isalnum, text))) for row, own in said.items()}
        kept = [(row, own) for row, own in sorted(texts.items()) if own]
        if kept:
            of_image[name] = kept
            left_out[name] -= sum(len(own) for _, own in kept)
    return RegionTexts(layer, of_image, left_out)


def regions_with_phrases(
    corpus: str, sources: Sources, images: Sequence[str]
) -> tuple[PreparedDataset, tuple[int, int]]:
    """The regions of these images of which the layer of `sources` says something, as items of their own; and
    how many mentions of the images are said of them, and how many with boxes are not.

    Raises UnknownName, and ValueError where there is none.
    """
    found = examples_from(corpus, Sources(regions=sources.regions))
    said = region_texts(found, feature_set(corpus, sources.regions).boxes(), sources.layer)
    place_of = {one.name: place for place, one in enumerate(found.examples)}
    prepared = said.prepared(found, [place_of[name] for name in images if name in place_of], "regions")
    return prepared, said.mentions(images)
