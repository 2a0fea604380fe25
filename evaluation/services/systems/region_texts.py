"""Regions with texts: the mentions of a layer, assigned to the regions with their boxes.

A mention belongs to the region of its image whose box overlaps the box of its chain the most, by an IoU of at
least 0.5. For a layer that an alignment wrote from the same regions, these boxes are identical.

Source: Karpathy and Fei-Fei 2015, section 3.1.4 ("we annotate segments of text with regions") and 4.3.
"""

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

#: The separator between the name of an image and the number of its region, counted from 1.
OF_REGION = "#region-"


@dataclass(frozen=True)
class RegionTexts:
    """The regions with texts for each image by name: row of the set, and the texts.

    `excluded` counts mentions with boxes by image that no region overlaps enough, or whose text has no
    letter.
    """

    layer: str
    of_image: dict[str, list[tuple[int, tuple[str, ...]]]]
    excluded: Counter[str]

    def mentions(self, images: Iterable[str]) -> tuple[int, int]:
        """Return the number of mentions of these images that are used for training, and of those with boxes
        that are not."""
        names = list(images)
        mention_count = sum(len(texts) for name in names for _, texts in self.of_image.get(name, ()))
        return mention_count, sum(self.excluded[name] for name in names)

    def prepared(self, dataset: Examples, places: Sequence[int], form: Form) -> PreparedDataset:
        """Return the regions of these images as separate items; in the form "regions" none is copied.

        Raises ValueError if there is none.
        """
        assert dataset.regions is not None
        rows, examples = [], []
        for index in places:
            name = dataset.examples[index].name
            begin = int(dataset.regions.rows.begin[index])
            for row, texts in self.of_image.get(name, ()):
                rows.append(row)
                examples.append(ImageExample(f"{name}{OF_REGION}{row - begin + 1}", texts))
        if not rows:
            raise ValueError(
                f"layer {self.layer!r} says nothing of a region of these images; choose a layer with boxes, "
                "or the set of regions that they were drawn around"
            )
        names = tuple(example.name for example in examples)
        values = dataset.regions.rows.values
        if form == "regions":
            first = np.asarray(rows, np.intp)
            alone = RegionVectors(RaggedRows(values, first, first + 1), dataset.regions.source)
            return PreparedDataset(names, written_words(examples), alone)
        vectors = checked_vectors(names, np.stack([values[row] for row in rows]))
        return PreparedDataset(names, written_words(examples), vectors)


def region_texts(dataset: Examples, boxes: NDArray[Any], layer: str) -> RegionTexts:
    """Assign the layer's mentions to regions with `boxes`, shape (rows of the set, 4). Raises UnknownName."""
    assert dataset.regions is not None
    corpus = corpus_named(dataset.corpus)
    chosen = layer_to_read(corpus, layer)
    spans = {
        item.name: (int(begin), int(end))
        for item, begin, end in zip(
            dataset.examples, dataset.regions.rows.begin, dataset.regions.rows.end, strict=True
        )
    }
    of_image: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    without_region: Counter[str] = Counter()
    names = names_of(corpus.name).image_name.values()
    for name, record in zip(names, stream_records(corpus=corpus, layer=chosen), strict=True):
        if record.layer is None:
            continue
        depicted = record.layer.depicted()
        if name not in spans:
            without_region[name] += sum(
                len(item.mentions) for item in record.layer.chains if item.id in depicted
            )
            continue
        begin, end = spans[name]
        texts_by_row: dict[int, list[str]] = {}
        for chain in record.layer.chains:
            if chain.id not in depicted:
                continue
            without_region[name] += len(chain.mentions)
            around = union_box([corners(box) for box in depicted[chain.id]])
            shares = iou(around, boxes[begin:end])
            best = int(shares.argmax())
            if shares[best] >= RIGHT_IOU:
                texts_by_row.setdefault(begin + best, []).extend(m.text for m in chain.mentions)
        texts = {
            row: tuple(text for text in texts_of_row if any(map(str.isalnum, text)))
            for row, texts_of_row in texts_by_row.items()
        }
        texts_of_rows = [(row, texts_of_row) for row, texts_of_row in sorted(texts.items()) if texts_of_row]
        if texts_of_rows:
            of_image[name] = texts_of_rows
            without_region[name] -= sum(len(texts_of_row) for _, texts_of_row in texts_of_rows)
    return RegionTexts(layer, of_image, without_region)


def regions_with_phrases(
    corpus: str, sources: Sources, images: Sequence[str]
) -> tuple[PreparedDataset, tuple[int, int]]:
    """Return the regions of these images that have mentions in the layer of `sources`, as separate items; and
    the number of mentions that were assigned, and of those with boxes that were not.

    Raises UnknownName, and ValueError if there is none.
    """
    dataset = examples_from(corpus, Sources(regions=sources.regions))
    texts_of_regions = region_texts(dataset, feature_set(corpus, sources.regions).boxes(), sources.layer)
    place_of = {example.name: index for index, example in enumerate(dataset.examples)}
    prepared = texts_of_regions.prepared(
        dataset, [place_of[name] for name in images if name in place_of], "regions"
    )
    return prepared, texts_of_regions.mentions(images)
