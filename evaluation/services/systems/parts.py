"""Parts of ranked items: regions of images, and phrases of captions, which are the mentions of a layer."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.datasets.layers import layer_to_read
from annotation.protocol.terms import NOT_VISUAL
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import names_of
from evaluation.services.common import InputError
from evaluation.services.features.store import FeatureSet, feature_set
from evaluation.services.systems.examples import examples_from
from evaluation.services.systems.sources import Sources
from models_core.estimators.base import RaggedRows
from models_core.systems.dataset import ImageExample
from phrasebox.kernels.idf import Document
from phrasebox.text.tokens import plain_words


def check_proposed(regions: FeatureSet) -> None:
    """Raise InputError for regions that people drew."""
    if regions.origin.get("regions") == "gold":
        raise InputError(
            f"the regions {regions.label!r} are boxes that people drew, which tell the answer; give "
            "regions that were proposed"
        )


def parts_of(
    corpus: str, sources: Sources, images: Sequence[ImageExample], captions: Sequence[str]
) -> tuple[RaggedRows, list[Document], NDArray[np.intp]]:
    """Return the regions of each image, empty where the set has none; each phrase of `captions` (by name) as
    its words; and the caption of each phrase.

    Raises UnknownName, and InputError for regions that people drew and for a corpus without a layer.
    """
    if not sources.regions:
        raise InputError(f"the images of corpus {corpus!r} need regions to rank; give a set of them")
    stored = feature_set(corpus, sources.regions)
    check_proposed(stored)
    dataset = examples_from(corpus, Sources(regions=stored.label))
    assert dataset.regions is not None
    rows = dataset.regions.rows
    place_of = {example.name: index for index, example in enumerate(dataset.examples)}
    spans = [
        (int(rows.begin[place_of[example.name]]), int(rows.end[place_of[example.name]]))
        if example.name in place_of
        else (0, 0)
        for example in images
    ]
    begin, end = np.asarray(spans, np.intp).reshape(-1, 2).T
    if len(images) and not (end > begin).any():
        raise InputError(
            f"none of the {len(images)} images to rank has a region in {stored.label!r}; extract regions "
            "of their split"
        )
    phrases, caption_of = _phrases(corpus, sources.layer, captions)
    if len(captions) and not phrases:
        raise InputError(
            f"none of the {len(captions)} captions to rank has a phrase in the layer; name one that "
            "has, or mark phrases first"
        )
    return RaggedRows(rows.values, begin, end), phrases, caption_of


def _phrases(corpus: str, layer: str, captions: Sequence[str]) -> tuple[list[Document], NDArray[np.intp]]:
    row, names = corpus_named(corpus), names_of(corpus)
    read = layer_to_read(row, layer or None)
    if read is None:
        raise InputError(f"corpus {corpus!r} has no layer; import or annotate mentions first")
    place_of = {name: index for index, name in enumerate(captions)}
    name_of = {(names.owner[pk], names.number[pk]): name for pk, name in names.caption_name.items()}
    phrases: list[Document] = []
    caption_of: list[int] = []
    for image, record in zip(names.image_name, stream_records(corpus=row, layer=read), strict=True):
        for chain in record.layer.chains if record.layer else ():
            for mention in chain.mentions if chain.id != NOT_VISUAL else ():
                index = place_of.get(name_of.get((image, mention.caption), ""), -1)
                if index >= 0:
                    phrases.append([plain_words(mention.text)])
                    caption_of.append(index)
    return phrases, np.asarray(caption_of, np.intp)
