"""What a task shows of the corpus: an image's captions, its size, its picture.

A published corpus never changes, so a process caches what it has read.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection
from django.utils.crypto import salted_hmac

from annotation.common import database
from annotation.images.pictures import picture_size

#: Number of images that a process caches; one is about 2 KB.
CACHED_IMAGES = 4096
#: Number of digits of an image's name.
NAME_LENGTH = 20


class DisplayedCaption(NamedTuple):
    """A caption as it was written, and its words, by which mentions are positioned."""

    text: str
    words: tuple[str, ...]


class DisplayedImage(NamedTuple):
    """An image of a corpus. `width` and `height` are 0 if unknown; `picture` may be empty."""

    id: int
    key: str
    width: int
    height: int
    picture: str
    captions: tuple[DisplayedCaption, ...]

    @property
    def name(self) -> str:
        """The image's name for a worker's program, instead of the key.

        A key reveals the split of an image, by its order or by published lists, and control items are often
        from another one. An image outside corpora, such as an example, has its key.
        """
        return name_of(self.id) if self.id else self.key


@lru_cache(maxsize=CACHED_IMAGES)
def displayed_image(image: int) -> DisplayedImage:
    """Return the image with this id, in one query. Raises LookupError if there is none."""
    images = displayed_images([image])
    if image not in images:
        raise LookupError(f"there is no image with the id {image}")
    return images[image]


def displayed_images(images: Collection[int]) -> dict[int, DisplayedImage]:
    """Return the images with these ids, by id, in one query, without unknown ids."""
    if not images:
        return {}
    rows: dict[int, list[tuple[Any, ...]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT i.id, i.key, i.width, i.height, i.picture, c.text, c.tokens
               FROM annotation_image i LEFT JOIN annotation_caption c ON c.image_id = i.id
               WHERE i.id IN ({database.parameters(images)}) ORDER BY i.id, c.number""",
            list(images),
        )
        for image, *row in cursor.fetchall():
            rows.setdefault(image, []).append(tuple(row))
    return {image: _from_rows(image, image_rows) for image, image_rows in rows.items()}


def _from_rows(image: int, rows: Sequence[tuple[Any, ...]]) -> DisplayedImage:
    key, width, height, picture = rows[0][:4]
    if picture and not (width and height):
        width, height = picture_size(picture) or (0, 0)
    captions = tuple(
        DisplayedCaption(text, tuple((tokens or text).split()))
        for *_, text, tokens in rows
        if text is not None
    )
    return DisplayedImage(image, key, width, height, picture, captions)


@lru_cache(maxsize=CACHED_IMAGES)
def name_of(image: int) -> str:
    """Return the name of the image with this id: constant on one server, and without information about it."""
    return salted_hmac("annotation.image", str(image), algorithm="sha256").hexdigest()[:NAME_LENGTH]


def caption_text(image: int, number: int) -> str:
    """Return the text of a caption: `number` (from 0) of the image with this id. Raises LookupError."""
    return displayed_image(image).captions[number].text
