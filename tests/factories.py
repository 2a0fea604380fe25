"""Corpora for tests in readable form: captions in the notation of Flickr30k Entities.

an_image("7", "[/EN#1/people A man] in [/EN#2/clothing a hat] .", objects=[boxed("1", 3, 4, 60, 80)])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from django.conf import settings

from annotation.datasets.importing import import_records
from annotation.formats.entities_notation import chains_of, parse_sentence
from annotation.images.decoding import PictureError, StoredPicture
from annotation.images.pictures import store_pictures
from annotation.models import Corpus
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
)


def stored_picture(path: Path, *, into: Path | None = None) -> StoredPicture:
    """Return the picture at `path` as it is stored. Raises PictureError."""
    (stored,) = store_pictures([path], into=into)
    if isinstance(stored, PictureError):
        raise stored
    return stored


MAN, HAT, STREET = "[/EN#1/people A man]", "[/EN#2/clothing a hat]", "[/EN#3/scene the street]"


def a_layer(*captions: str, objects: Iterable[LayerObject] = ()) -> LayerRecord:
    """Return the chains in `captions`, and `objects`; chains that only an object names come last."""
    chains = chains_of(map(parse_sentence, captions))
    objects = tuple(objects)
    marked = {chain.id for chain in chains}
    drawn = dict.fromkeys(c for thing in objects for c in thing.chains if c not in marked)
    return LayerRecord((*chains, *(Chain(c, ()) for c in drawn)), objects)


def an_image(
    id: str,
    *captions: str,
    objects: Iterable[LayerObject] = (),
    layered: bool = True,
    split: str = "",
    size: tuple[int, int] = (500, 375),
    picture: Path | None = None,
) -> ImageRecord:
    """Return an image with `captions` in the notation; without a layer if not `layered`."""
    return ImageRecord(
        id=id,
        filename=f"{id}.jpg",
        captions=tuple(CaptionRecord(" ".join(parse_sentence(c)[0])) for c in captions),
        split=split,
        width=size[0],
        height=size[1],
        picture=picture,
        layer=a_layer(*captions, objects=objects) if layered else None,
    )


def boxed(chains: str, *corners: int) -> LayerObject:
    """Return a box of the chains in `chains`, separated by spaces."""
    return LayerObject(tuple(chains.split()), Box(*corners))


def boxless(chain: str, *, scene: bool = False) -> LayerObject:
    """Return an object with the reason why `chain` has no box."""
    return LayerObject((chain,), scene=scene, nobndbox=not scene)


def some_images(number: int, *, layered: bool = True) -> list[ImageRecord]:
    """Return `number` small images, each with two captions, three chains, two boxes and a scene."""
    objects = (boxed("1", 10, 10, 100, 200), boxed("2", 30, 10, 60, 30), boxless("3", scene=True))
    captions = (f"{MAN} in {HAT} crosses {STREET} .", "[/EN#1/people Somebody] walks .")
    return [
        an_image(
            str(1000 + n), *captions, objects=objects, layered=layered, split="train" if n % 2 else "test"
        )
        for n in range(number)
    ]


def a_corpus(name: str, records: Sequence[ImageRecord]) -> Corpus:
    """Import `records` as the corpus `name`."""
    import_records(name=name, records=records, format="test", source=f"test {name}")
    return Corpus.objects.get(name=name)


def put_on_server(folder: str, file: Path) -> str:
    """Return the name of a file that an operator put into a folder of `sources`."""
    index = Path(settings.DATA_DIR) / "sources" / folder
    index.mkdir(parents=True, exist_ok=True)
    link = index / file.name
    if not link.exists():
        link.symlink_to(file)
    return file.name
