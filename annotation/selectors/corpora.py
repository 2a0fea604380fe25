"""Corpora and layers by the names people type."""

from collections.abc import Sequence

from annotation.common.plain_text import with_known
from annotation.models import Corpus, Image, Layer
from phrasebox.registry import UnknownName


class AmbiguousLayer(ValueError):
    """Several layers, and none was named."""


def corpus_named(name: str) -> Corpus:
    """The published corpus `name`; raises UnknownName listing what exists."""
    published = Corpus.objects.filter(published=True)
    try:
        return published.get(name=name)
    except Corpus.DoesNotExist:
        names = published.values_list("name", flat=True)
        raise with_known(UnknownName(f"unknown corpus {name!r}"), names) from None


def layer_named(corpus: Corpus, name: str | None = None) -> Layer | None:
    """The published layer `name` of `corpus`; without a name the only one, or None where there is none.

    Raises UnknownName, and AmbiguousLayer listing the layers where several exist and none is named.
    """
    layers = {layer.name: layer for layer in corpus.layers.filter(published=True).order_by("name")}
    known = ", ".join(layers) or "none"
    if name is not None:
        if name not in layers:
            raise UnknownName(f"unknown layer {name!r} of corpus {corpus.name!r}; known: {known}")
        return layers[name]
    if len(layers) > 1:
        raise AmbiguousLayer(f"corpus {corpus.name!r} has several layers; name one of: {known}")
    return next(iter(layers.values()), None)


def split_names(corpus: Corpus) -> list[str]:
    """The splits that its images belong to; "" for those that belong to none."""
    return list(corpus.images.order_by("split").values_list("split", flat=True).distinct())


def splits_of_corpora(corpora: Sequence[Corpus]) -> list[str]:
    """The splits that images of any of these corpora belong to, by name; one query."""
    splits = Image.objects.filter(corpus__in=corpora).exclude(split="").values_list("split", flat=True)
    return sorted(set(splits.order_by().distinct()))


def layers_of_corpora(corpora: Sequence[Corpus]) -> list[Layer]:
    """The published layers of these corpora, each with its corpus, in their order and by name; one query."""
    places = {corpus.pk: index for index, corpus in enumerate(corpora)}
    layers = Layer.objects.filter(corpus__in=corpora, published=True).select_related("corpus")
    return sorted(layers, key=lambda layer: (places[layer.corpus_id], layer.name))


def check_split(corpus: Corpus, name: str) -> None:
    """Raise UnknownName listing what exists unless `corpus` has images of the split `name`."""
    splits = split_names(corpus)
    if name not in splits:
        known = ", ".join(repr(split) for split in splits) or "none"
        raise UnknownName(f"unknown split {name!r} of corpus {corpus.name!r}; known: {known}")
