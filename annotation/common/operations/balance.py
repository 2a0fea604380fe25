"""Balance sheets of imports in words, and the confirmation that unused things may be left."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from annotation.common.operations.errors import invalid
from annotation.common.operations.fields import Help
from phrasebox import balance
from phrasebox.balance import BalanceSheet, Remainder, Tally, counted_by

_C = TypeVar("_C")
_R = TypeVar("_R")

#: Labels of kinds of things.
KINDS_IN_WORDS = {
    balance.SOURCE_FILES: _("files"),
    balance.PICTURES: _("pictures"),
    balance.NAMED_IMAGES: _("images"),
    balance.CAPTIONS: _("captions"),
    balance.ROWS: _("rows"),
    balance.TABLE_COLUMNS: _("columns"),
    balance.NAMES: _("names in lists"),
    balance.BOXES: _("boxes"),
    balance.BOX_LABELS: _("labels"),
    balance.OUTLINES: _("outlines"),
    balance.MASKS: _("masks"),
    balance.LINES: _("lines"),
    balance.POINTS: _("points"),
    balance.ELLIPSES: _("ellipses"),
    balance.CUBOIDS: _("cuboids"),
    balance.SKELETONS: _("skeletons"),
    balance.TRACKS: _("tracks of a video"),
    balance.CROWDS: _("masks of crowds"),
    balance.ROTATIONS: _("rotations of boxes"),
    balance.ATTRIBUTES: _("attributes of boxes"),
    balance.GROUPS: _("groups of boxes"),
    balance.RELATIONS: _("relations between boxes"),
    balance.IMAGE_LABELS: _("answers about whole images"),
    balance.REFERENCE_SPLITS: _("splits of references"),
    balance.FURTHER_ANNOTATIONS: _("further annotations of an image"),
    balance.PREDICTIONS: _("predictions"),
    balance.PAIRS: _("pairs"),
    balance.VECTORS: _("vectors"),
    balance.PARSES: _("parses"),
    balance.MENTIONS: _("phrases"),
    balance.QUERIES: _("queries"),
    balance.FILE_ARRAYS: _("arrays"),
    balance.TAGS: _("tags"),
}
#: Why a number of things is left.
LEFT_IN_WORDS = {
    balance.PROBLEM: _("%(count)s with a problem"),
    balance.OF_LEFT: _("%(count)s of images that were left"),
    balance.CLUTTER: _("%(count)s added by systems and tools"),
    balance.COMPANION: _("%(count)s that other imports read"),
    balance.OUTSIDE: _("%(count)s outside of their picture"),
    balance.NOT_NEEDED: _("%(count)s of words that the corpus does not use"),
    balance.DUPLICATE: _("%(count)s that repeat another"),
    balance.NOT_REQUESTED: _("%(count)s of images that were not requested"),
    balance.WITHOUT_REFERENCE: _("%(count)s of images without a caption to compare with"),
    balance.BELOW_DEPTH: _("%(count)s below the depth that is stored"),
    balance.FILLING: _("%(count)s only to fill up pages"),
    balance.NOT_READ: _("%(count)s not read by this format"),
    balance.PACKED_INSIDE: _("%(count)s packed within the source: unpack it first"),
    balance.UNCAPTIONED: _("%(count)s without a caption"),
    balance.UNKNOWN: _("%(count)s without a match in the corpus"),
    balance.OTHER_WORDS: _("%(count)s whose words are not those of their caption"),
    balance.NOT_KEPT: _("%(count)s not supported by layers"),
    balance.OTHER_SIZE: _("%(count)s that the corpus has in another size, which no EXIF turn explains"),
    balance.NO_AREA: _("%(count)s without an area"),
    balance.WITHOUT_BOX: _("%(count)s without a box in the files"),
}
#: Notes on a number of things that were taken.
NOTES_IN_WORDS = {
    balance.TURNED: _("pictures turned upright, as their EXIF data says; boxes are of those: %(count)s"),
    balance.RAW_FRAME: _(
        "images with size and boxes of the picture before EXIF turned it, which were turned too: %(count)s"
    ),
    balance.UPRIGHT_FRAME: _(
        "images that EXIF turned, whose boxes were taken as those of the upright picture: %(count)s"
    ),
    balance.TOO_SMALL: _("pictures too small to be asked about: %(count)s"),
    balance.PICTURELESS: _("images without a picture: %(count)s"),
}
#: The confirmation that unused things may be left.
LEAVE_UNUSED = Help(
    _("Ignore unused content"), _("Without this, a source with unused content is not imported")
)


class SheetRow(NamedTuple):
    """A line of a balance sheet in words."""

    kind: str
    found: int
    taken: int
    left: str


def sheet_rows(sheet: BalanceSheet) -> Iterator[SheetRow]:
    """Yield the lines of a balance sheet, for a table."""
    for line in sheet.lines:
        left = "; ".join(_left(rest) for rest in line.left)
        yield SheetRow(str(KINDS_IN_WORDS.get(line.kind, line.kind)), line.found, line.taken, left)


def sheet_notes(sheet: BalanceSheet) -> list[str]:
    """Return the notes on things that were taken."""
    return [_named(str(NOTES_IN_WORDS[note.note]), note.count, note.examples) for note in sheet.notes]


def sheet_text(sheet: BalanceSheet) -> list[str]:
    """Return a balance sheet as lines of text."""
    lines = []
    for row in sheet_rows(sheet):
        text = _t("%(kind)s: %(found)d found, %(taken)d taken") % row._asdict()
        lines.append(text + (_t(", left: %(left)s") % row._asdict() if row.left else ""))
    return [*lines, *sheet_notes(sheet)]


def check_used(sheet: BalanceSheet, *, leave_unused: bool) -> None:
    """Raise Invalid if something is unused, without confirmation."""
    if not leave_unused and sheet.unused:
        kinds = ((str(KINDS_IN_WORDS.get(kind, kind)), _left(rest)) for kind, rest in sheet.unused)
        raise invalid("leave_unused", "unused", what="; ".join(f"{kind}: {left}" for kind, left in kinds))


def with_sheet(run: Callable[[Any, _C], _R]) -> Callable[[Any, _C], _R]:
    """Wrap an operation's function so that its result has the balance sheet of its readers as `sheet`."""

    @wraps(run)
    def counted(request: Any, context: _C) -> _R:
        tally = Tally()
        with counted_by(tally):
            result: Any = run(request, context)
        return cast(_R, replace(result, sheet=tally.sheet()))

    return counted


def _left(rest: Remainder) -> str:
    return _named(str(LEFT_IN_WORDS[rest.reason]), rest.count, rest.examples)


def _named(words: str, count: int, examples: tuple[str, ...]) -> str:
    """Return the words, with some names; names of files may contain anything, including control sequences."""
    text = words % {"count": count}
    names = ", ".join(examples) + (", …" if count > len(examples) else "")
    printable = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in names)
    return f"{text} ({printable})" if examples else text
