"""The annotation files of Flickr30k Entities, similar to VOC: a picture's size and its objects.

The writer's canonical layout: the children of `<annotation>` one per line, indented by two spaces, nothing
between the elements inside them, LF, no XML declaration. The reader accepts any layout, and ignores unknown
elements. Source: Plummer et al. 2015, the published annotation.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import escape

import defusedxml.sax
from defusedxml.common import DefusedXmlException

from annotation.protocol.terms import NOT_VISUAL, Box, LayerObject
from phrasebox.text_files import FormatError, decimal_number, open_bytes, short_repr

_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_FLAGS = ("scene", "nobndbox")
_LONGEST_NUMBER = 10

#: Maximum bytes of a file, and levels of its elements; real ones have a few thousand, and four.
_LARGEST, _DEEPEST = 16 * 1024 * 1024, 16


@dataclass(slots=True)
class Annotation:
    """The content of one file: sizes in pixels, 0 if unknown; objects in file order."""

    filename: str = ""
    width: int = 0
    height: int = 0
    objects: list[LayerObject] = field(default_factory=list)


def read_annotation(file: Path) -> Annotation:
    """Read one file. Raises FormatError with its line; a DTD or an entity declaration is rejected."""
    handler = _Handler(file)
    with open_bytes(file) as stream:
        if os.fstat(stream.fileno()).st_size > _LARGEST:
            raise FormatError(f"is larger than {_LARGEST} bytes", file=file, expected="an annotation")
        try:
            defusedxml.sax.parse(stream, handler, forbid_dtd=True)
        except SAXParseException as error:
            raise FormatError(
                f"is not XML ({error.getMessage()})",
                file=file,
                line=error.getLineNumber(),
                expected="well-formed XML",
            ) from error
        except DefusedXmlException as error:
            raise FormatError(
                "declares a DTD or an entity, which is refused",
                file=file,
                line=handler.line,
                expected="plain elements and text",
            ) from error
        except (LookupError, UnicodeError) as error:
            raise FormatError(f"has an unreadable encoding ({error})", file=file, expected="UTF-8") from error
    return handler.annotation


class _Handler(ContentHandler):
    """Builds an Annotation; `path` is the stack of open elements."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.annotation = Annotation()
        self.path: list[str] = []
        self.text: list[str] = []
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        self.boxless: set[str] = set()
        self.boxes = 0

    @property
    def line(self) -> int | None:
        # The parser sets the locator; before its first event there is none.
        locator = getattr(self, "_locator", None)
        number = locator.getLineNumber() if locator else None
        return int(number) if number else None

    def refuse(self, problem: str, expected: str) -> FormatError:
        return FormatError(problem, file=self.file, line=self.line, expected=expected)

    def startElement(self, name: str, attrs: object) -> None:
        if not self.path and name != "annotation":
            raise self.refuse(f"begins with <{name}>", "<annotation>")
        self.path.append(name)
        if len(self.path) > _DEEPEST:
            raise self.refuse(f"is nested more than {_DEEPEST} deep", "an annotation")
        self.text.clear()
        if self.path == ["annotation", "object"]:
            self.names, self.numbers, self.boxes = [], {}, 0
        elif self.path == ["annotation", "object", "bndbox"]:
            self.boxes += 1

    def characters(self, content: str) -> None:
        self.text.append(content)

    def endElement(self, name: str) -> None:
        match self.path[1:]:
            case ["filename"]:
                self.annotation.filename = self._text()
            case ["size", "width"]:
                self.annotation.width = self._number()
            case ["size", "height"]:
                self.annotation.height = self._number()
            case ["object", "name"]:
                self.names.append(self._chain())
            case ["object", "bndbox", corner] if corner in _CORNERS:
                self.numbers[corner] = self._number()
            case ["object", flag] if flag in _FLAGS:
                self.numbers[flag] = self._number()
            case ["object"]:
                self._object()
        self.path.pop()
        self.text.clear()

    def _text(self) -> str:
        return "".join(self.text).strip()

    def _number(self) -> int:
        text = self._text()
        number = decimal_number(text) if len(text) <= _LONGEST_NUMBER else None
        # Fractions of pixels, which some tools write, are rounded.
        whole = number is not None and (number.is_integer() or self.path[-1] in _CORNERS)
        if number is None or not whole or number < 0:
            raise self.refuse(f"<{self.path[-1]}> is {short_repr(text)}", "a whole number")
        return round(number)

    def _chain(self) -> str:
        text = self._text()
        if not (text.isascii() and text.isdigit()) or text == NOT_VISUAL:
            raise self.refuse(f"<name> is {short_repr(text)}", "the number of a visual chain")
        if text in self.names:
            raise self.refuse(f"the object names chain {text} twice", "each chain once")
        return text

    def _object(self) -> None:
        if not self.names:
            raise self.refuse("the object has no <name>", "the chains it depicts")
        if self.boxes > 1:
            raise self.refuse("the object has two boxes", "one object per box")
        if self.boxes:
            self.annotation.objects.append(LayerObject(tuple(self.names), self._box()))
            return
        if not any(flag in self.numbers for flag in _FLAGS):
            raise self.refuse(
                "the object has neither a box nor a flag", "<bndbox>, or <scene> and <nobndbox>"
            )
        scene, nobndbox = (self.numbers.get(flag, 0) for flag in _FLAGS)
        if scene > 1 or nobndbox > 1:
            raise self.refuse("a flag is neither 0 nor 1", "0 or 1")
        # Several names without a box have the same flags; our objects without a box belong to one chain.
        for chain in self.names:
            if chain in self.boxless:
                raise self.refuse(
                    f"chain {chain} has a second object without box", "one such object per chain"
                )
            self.boxless.add(chain)
            self.annotation.objects.append(LayerObject((chain,), None, bool(scene), bool(nobndbox)))

    def _box(self) -> Box:
        missing = [corner for corner in _CORNERS if corner not in self.numbers]
        if missing:
            raise self.refuse(f"the box has no <{missing[0]}>", "all four corners")
        if any(self.numbers.get(flag) for flag in _FLAGS):
            raise self.refuse("the object has both a box and a flag", "one of them")
        try:
            box = Box(*(self.numbers[corner] for corner in _CORNERS))
        except ValueError as error:
            raise self.refuse(
                str(error).split(": expected")[0], "1 <= xmin <= xmax and 1 <= ymin <= ymax"
            ) from error
        wide, high = self.annotation.width, self.annotation.height
        if (wide and box.xmax > wide) or (high and box.ymax > high):
            raise self.refuse(
                f"the box {box.xmin},{box.ymin},{box.xmax},{box.ymax} reaches outside the picture",
                f"at most {wide},{high}",
            )
        return box


def print_annotation(filename: str, width: int, height: int, objects: Iterable[LayerObject]) -> str:
    """Return the canonical text of an annotation file; the depth is always 3."""
    size = f"<width>{width}</width><height>{height}</height><depth>3</depth>"
    rows = ["<annotation>", f"  <filename>{escape(filename)}</filename>", f"  <size>{size}</size>"]
    for obj in objects:
        names = "".join(f"<name>{escape(chain)}</name>" for chain in obj.chains)
        if obj.box is None:
            what = f"<scene>{obj.scene:d}</scene><nobndbox>{obj.nobndbox:d}</nobndbox>"
        else:
            corners = (obj.box.xmin, obj.box.ymin, obj.box.xmax, obj.box.ymax)
            inside = "".join(f"<{tag}>{n}</{tag}>" for tag, n in zip(_CORNERS, corners, strict=True))
            what = f"<bndbox>{inside}</bndbox>"
        rows.append(f"  <object>{names}{what}</object>")
    return "\n".join([*rows, "</annotation>", ""])
