"""Names of images and captions in files: equivalent spellings, and the item that a name means.

A corpus has several names for an image: its key, its file name, that without the extension, and its id in the
source. These are name spaces. A format that says which of them it uses declares them, and they are tried in
its order. Where a format does not say, all are tried, and a name that means two items is an `AmbiguousName`,
which names both.

Spellings that look alike are one name (`folded`). The exact spelling comes first, then those that look alike.

>>> names = ImageNames([ImageNaming(7, "1", "1.jpg", "2"), ImageNaming(8, "2", "2.JPG", "1")])
>>> names.find("2.jpg"), names.find("2", (SOURCE,)), names.find("3")
(8, 7, None)
>>> names.find("2")
Traceback (most recent call last):
phrasebox.names.AmbiguousName: '2' is the key of '2.JPG' and the id in the source of '1.jpg'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from os.path import splitext
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from phrasebox.errors import PhraseboxError
from phrasebox.text_files import FormatError, short_repr

PICTURE_EXTENSIONS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")

#: Name spaces of images and captions.
KEY, FILE, STEM, SOURCE = "key", "file", "stem", "source"
#: For formats that do not determine the name space.
ANY: tuple[str, ...] = ()
#: The name spaces in messages.
SPACES = {
    KEY: "key",
    FILE: "file name",
    STEM: "file name without its extension",
    SOURCE: "id in the source",
}

_COCO_FILE = re.compile(r"COCO_\w+_0*(\d{1,12})\.jpg")
_NUMBERED = re.compile(r"(.+)[#_](\d{1,9})", re.ASCII | re.DOTALL)
#: White space of all kinds, and the escapes that `escaped` writes for it and for the percent sign.
_SPACE = re.compile(r"\s")
_ESCAPES = re.compile(
    "|".join(["%25", *(quote(sign) for sign in map(chr, range(0x3001)) if sign.isspace() and sign != "%")])
)
_AMBIGUOUS_HINT = "images by file name, captions by filename#number, or the choice which names the file has"


def extension(filename: str) -> str:
    """Return the known picture extension of `filename`, as written, or ""."""
    suffix = splitext(filename)[1]
    return suffix if suffix.lower() in PICTURE_EXTENSIONS else ""


def base_name(filename: str) -> str:
    """Return the name without folders, also those of Windows, which are separated by backslashes."""
    return filename.replace("\\", "/").rpartition("/")[2]


def image_id(filename: str) -> str:
    """The name without folders and without a known picture extension.

    `2258277193_586949ec62.jpg.1` stays whole: `.1` is no picture's extension.
    """
    name = base_name(filename)
    return name.removesuffix(extension(name))


def escaped(name: str) -> str:
    """`name` without white space, for formats that are cut there: `a b.jpg` is `a%20b.jpg`.

    A name without white space stays as it is, unless `unescaped` would change it.

    >>> escaped("a b 50%.jpg"), escaped("50%.jpg"), escaped("a%20b")
    ('a%20b%2050%25.jpg', '50%.jpg', 'a%2520b')
    """
    if name.split() == [name] and ("%" not in name or not _ESCAPES.search(name)):
        return name
    return _SPACE.sub(lambda sign: quote(sign[0]), name.replace("%", "%25"))


def unescaped(name: str) -> str:
    """The name that `escaped` wrote so; other signs with a percent sign stay."""
    return _ESCAPES.sub(lambda sign: unquote(sign[0]), name) if "%" in name else name


def folded(name: str) -> str:
    """Return the common form of all spellings of a name that look alike.

    They are the same after NFC, with one plain space for spaces of any kind, also escaped ones, without
    invisible signs, with slashes between folders, and with a picture's extension in small letters.

    >>> folded("Cafe\\u0301\\u202f1.JPG") == folded("Caf\\u00e9 1.jpg")
    True
    """
    name = unescaped(name)
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
        name = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    if " " in name or "\\" in name or name.split() != [name]:
        name = " ".join(name.replace("\\", "/").split())
    name = name.removeprefix("./")
    ending = extension(name)
    return name if ending == ending.lower() else name.removesuffix(ending) + ending.lower()


def same_file(first: str, second: str) -> bool:
    """Whether two folded file names may be of one file: one may have folders that the other omits."""
    return first == second or first.endswith(f"/{second}") or second.endswith(f"/{first}")


class AmbiguousName(PhraseboxError):
    """A name of two items, in one line that lists both."""


class ImageNaming(NamedTuple):
    """An image by its number, and its names; "" for missing ones."""

    item: int
    key: str
    filename: str = ""
    source: str = ""


#: Items by name: one, or several.
_Index = dict[str, int | tuple[int, ...]]


def _enter(index: _Index, name: str, item: int) -> None:
    there = _items(index, name)
    if item not in there:
        index[name] = (*there, item) if there else item


def _items(index: _Index, name: str) -> tuple[int, ...]:
    there = index.get(name, ())
    return there if isinstance(there, tuple) else (there,)


class ImageNames:
    """The images of a corpus by their names."""

    def __init__(self, images: Iterable[ImageNaming]) -> None:
        self.images = {image.item: image for image in images}
        self._exact: dict[str, _Index] = {}
        self._alike: dict[str, _Index] = {}

    def find(self, name: str, spaces: Sequence[str] = ANY) -> int | None:
        """Return the image of that name in the declared `spaces`, the first that knows it; None for an
        unknown name.

        Raises AmbiguousName.
        """
        for find_in in (self._exactly, self._looking_alike):
            meant: dict[int, str] = {}
            for space in spaces or SPACES:
                for item in find_in(space, name):
                    meant.setdefault(item, space)
                if spaces and meant:
                    break
            if len(meant) > 1:
                raise AmbiguousName(self._meanings(name, meant))
            if meant:
                return next(iter(meant))
        return None

    def declared(self, *spaces: str) -> tuple[str, ...]:
        """Return the spaces that a format declares; ANY if the first of several is ids in the source, and the
        corpus has none."""
        return ANY if len(spaces) > 1 and SOURCE in spaces and not self._of_space(SOURCE) else spaces

    def key(self, name: str) -> str:
        """Return the key of the image with that key or file name; an unknown name is returned unchanged.
        Raises AmbiguousName."""
        item = self.find(name, (KEY, FILE))
        return name if item is None else self.images[item].key

    def caption_key(self, name: str) -> str:
        """Return `KEY#number` of a caption named `image#number`, with the image's `key`."""
        image, sign, number = name.rpartition("#")
        return f"{self.key(image)}{sign}{number}"

    def label(self, item: int) -> str:
        """Return the name of an image in messages."""
        return self.images[item].filename or self.images[item].key

    def _of_space(self, space: str) -> _Index:
        """Return the images by their names in a space."""
        if space not in self._exact:
            index: _Index = {}
            for image in self.images.values():
                for of_space, name in _names_of(image):
                    if of_space == space:
                        _enter(index, name, image.item)
            self._exact[space] = index
        return self._exact[space]

    def _exactly(self, space: str, name: str) -> tuple[int, ...]:
        return _items(self._of_space(space), name)

    def _looking_alike(self, space: str, name: str) -> Sequence[int]:
        if space not in self._alike:
            index: _Index = {}
            for known in self._of_space(space):
                for item in self._exactly(space, known):
                    _enter(index, _index_key(space, known), item)
            self._alike[space] = index
        items = _items(self._alike[space], _index_key(space, name))
        if space != FILE or not items:
            return items
        whole = folded(name)
        return [item for item in items if any(same_file(whole, known) for known in self._files(item))]

    def _files(self, item: int) -> Iterator[str]:
        return (folded(name) for space, name in _names_of(self.images[item]) if space == FILE)

    def _meanings(self, name: str, meant: dict[int, str]) -> str:
        (first_image, first), (second_image, second), *_ = meant.items()
        labels = short_repr(self.label(first_image)), short_repr(self.label(second_image))
        if first == second:
            return f"{short_repr(name)} is the {SPACES[first]} of both {labels[0]} and {labels[1]}"
        meanings = f"the {SPACES[first]} of {labels[0]} and the {SPACES[second]} of {labels[1]}"
        return f"{short_repr(name)} is {meanings}"


def _names_of(image: ImageNaming) -> Iterator[tuple[str, str]]:
    """Yield each name space with a name of the image in it."""
    if image.key:
        yield KEY, image.key
    if image.filename:
        yield FILE, image.filename
        yield STEM, image_id(image.filename)
    if image.key and image.key not in (image.filename, image_id(image.filename)):
        yield FILE, f"{image.key}.jpg"  # as written by formats that only know file names
    number = None if image.source else _COCO_FILE.fullmatch(base_name(image.filename))
    if source := number[1] if number else image.source:
        yield SOURCE, source


def _index_key(space: str, name: str) -> str:
    return base_name(folded(name)) if space == FILE else folded(name)


class CaptionNaming(NamedTuple):
    """A caption by its number among all, its image, its number there, and its id in the source, or ""."""

    item: int
    image: int
    number: int
    source: str = ""


class CaptionNames:
    """The captions of a corpus by their ids in the source, and by `image#number` or `image_number` with any
    name of their image."""

    def __init__(self, images: ImageNames, captions: Iterable[CaptionNaming]) -> None:
        self.images = images
        self.captions = {caption.item: caption for caption in captions}
        self._exact: _Index = {}
        self._numbered: dict[tuple[int, int], int] = {}
        for caption in self.captions.values():
            if caption.source:
                _enter(self._exact, caption.source, caption.item)
            # Otherwise the id contains its number in the source, which skips some.
            if "#" not in caption.source:
                self._numbered[caption.image, caption.number] = caption.item
        self._alike: _Index | None = None

    def find(self, name: str, spaces: Sequence[str] = ANY) -> int | None:
        """Return the caption of that name, with its image named in `spaces`; None for an unknown name.

        Raises AmbiguousName.
        """
        meant = dict.fromkeys(_items(self._exact, name))
        if (numbered := self._by_number(name, spaces)) is not None:
            meant[numbered] = None
        if not meant:
            if self._alike is None:
                self._alike = {}
                for known in self._exact:
                    for item in _items(self._exact, known):
                        _enter(self._alike, _folded_caption(known), item)
            meant = dict.fromkeys(_items(self._alike, _folded_caption(name)))
        if len(meant) > 1:
            first, second = (self._label(item) for item in list(meant)[:2])
            raise AmbiguousName(f"{short_repr(name)} is the name of both {first} and {second}")
        return next(iter(meant), None)

    def _by_number(self, name: str, spaces: Sequence[str]) -> int | None:
        match = _NUMBERED.fullmatch(name)
        image = self.images.find(match[1], spaces) if match else None
        return None if match is None or image is None else self._numbered.get((image, int(match[2])))

    def _label(self, item: int) -> str:
        caption = self.captions[item]
        return f"caption {caption.number} of {short_repr(self.images.label(caption.image))}"


def _folded_caption(name: str) -> str:
    image, sign, number = name.rpartition("#")
    return f"{folded(image)}{sign}{folded(number)}"


class Lookup(dict[str, int | None]):
    """The meanings of the names in a file, each looked up once: `lookup[name]`, None if it is unknown.

    Raises FormatError with the file for a name of two items.
    """

    def __init__(
        self,
        find: Callable[[str, Sequence[str]], int | None],
        spaces: Sequence[str] = ANY,
        *,
        file: Path | str,
    ) -> None:
        super().__init__()
        self._find, self._spaces, self._file = find, spaces, file

    def __missing__(self, name: str) -> int | None:
        try:
            item = self._find(name, self._spaces)
        except AmbiguousName as error:
            raise FormatError(str(error), file=self._file, expected=_AMBIGUOUS_HINT) from error
        self[name] = item
        return item

    def means(self, name: str) -> bool:
        """Whether a name is known, for one item or two."""
        try:
            return self[name] is not None
        except FormatError:
            return True

    def get(self, name: str, default: int | None = None) -> int | None:  # type: ignore[override]
        """Return the item with that name; `default` where it is unknown."""
        item = self[name]
        return default if item is None else item
