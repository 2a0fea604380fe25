"""What a task shows of the corpus: an image's captions, its size, its picture.

A corpus never changes once it is published, so a process remembers what it has read.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection
from django.utils.crypto import salted_hmac

from annotation.common import database
from annotation.images.pictures import picture_size

#: Images kept by a process; one is some 2 KB.
CACHED_IMAGES = 4096
#: Digits of an image's name.
NAME_LENGTH = 20


class DisplayedCaption(NamedTuple):
    """A caption as it was written, and its words, by which mentions are placed."""

    text: str
    words: tuple[str, ...]


class DisplayedImage(NamedTuple):
    """An image of a corpus. `width` and `height` are 0 where nobody knows; `picture` may be empty."""

    id: int
    key: str
    width: int
    height: int
    picture: str
    captions: tuple[DisplayedCaption, ...]

    @property
    def name(self) -> str:
        """What a worker's program is told instead of the key.

        A key tells, by its place among others or by what is published, of which split an image is, and
        control items are often of another one. What is of no corpus, as an example, has its key.
        """
        return name_of(self.id) if self.id else self.key


@lru_cache(maxsize=CACHED_IMAGES)
def displayed_image(image: int) -> DisplayedImage:
    """The image with this id, in one query. Raises LookupError where there is none."""
    images = displayed_images([image])
    if image not in images:
        raise LookupError(f"there is no image with the id {image}")
    return images[image]


def displayed_images(images: Collection[int]) -> dict[int, DisplayedImage]:
    """The images with these ids, by id, in one query; ids that no image has are left out."""
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
    """The name of the image with this id: always the same on one server, and says nothing about it."""
    return salted_hmac("annotation.image", str(image), algorithm="sha256").hexdigest()[:NAME_LENGTH]


def caption_text(image: int, number: int) -> str:
    """The text of a caption: `number` (from 0) of the image with this id. Raises LookupError."""
    return displayed_image(image).captions[number].text
