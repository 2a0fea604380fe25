"""Balance sheets: what a source has, what an import took, and what it left, with a reason for each.

Things are counted by kind, such as pictures, captions or columns; for every kind found = taken + left.
Readers count what they skip; the code that stores things counts what it stores.

>>> tally = Tally()
>>> tally.count("pictures", 3); tally.take("pictures", 2); tally.leave("pictures", UNCAPTIONED, 1, "c.jpg")
>>> sheet = tally.sheet()
>>> sheet.lines[0].found, sheet.lines[0].taken, sheet.lines[0].left
(3, 2, (Remainder(reason='no_caption', count=1, examples=('c.jpg',)),))
>>> sheet.balanced, sheet.unused
(True, (('pictures', Remainder(reason='no_caption', count=1, examples=('c.jpg',))),))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice

#: Kinds of things.
SOURCE_FILES, PICTURES, NAMED_IMAGES, CAPTIONS = "files", "pictures", "images", "captions"
ROWS, TABLE_COLUMNS, NAMES = "rows", "columns", "names"
BOXES, BOX_LABELS, OUTLINES = "boxes", "labels", "outlines"
#: Shapes of other tools besides boxes; attributes of a box, of an image, and of a reference.
MASKS, LINES, POINTS, ELLIPSES = "masks", "lines", "points", "ellipses"
CUBOIDS, SKELETONS, TRACKS, CROWDS = "cuboids", "skeletons", "tracks", "crowds"
ROTATIONS, ATTRIBUTES, GROUPS, RELATIONS = "rotations", "attributes", "groups", "relations"
IMAGE_LABELS, REFERENCE_SPLITS = "image_labels", "reference_splits"
FURTHER_ANNOTATIONS, PREDICTIONS = "further_annotations", "predictions"
PAIRS, VECTORS, PARSES, MENTIONS, QUERIES = "pairs", "vectors", "parses", "mentions", "queries"
FILE_ARRAYS, TAGS = "arrays", "tags"

#: Reasons why things are left: they are among the listed problems; they belong to something that was left;
#: systems and tools put them beside data; other imports read them; they lie outside their picture; they are
#: words of a dictionary that the corpus does not use; they repeat what was taken; their images were not
#: requested, or have no reference; they rank below the depth that is stored; they only fill up pages.
PROBLEM, OF_LEFT, CLUTTER, COMPANION = "problem", "of_left", "clutter", "companion"
OUTSIDE, NOT_NEEDED, DUPLICATE = "outside", "not_needed", "repeated"
NOT_REQUESTED, WITHOUT_REFERENCE = "not_requested", "without_reference"
BELOW_DEPTH, FILLING = "below_depth", "filling"
#: Reasons why things that could have a meaning are not used: nothing reads them; they are in an archive
#: within the source; no caption describes them; they name nothing that exists; they belong to a caption with
#: other words; no layer can store them; the corpus has their images in another size; they are boxes without
#: an area, or phrases without a box.
NOT_READ, PACKED_INSIDE, UNCAPTIONED = "not_read", "packed", "no_caption"
UNKNOWN, OTHER_WORDS, NOT_KEPT = "unknown", "other_words", "not_kept"
OTHER_SIZE, NO_AREA, WITHOUT_BOX = "other_size", "no_area", "without_box"
UNUSED_REASONS = frozenset(
    {
        *(NOT_READ, PACKED_INSIDE, UNCAPTIONED, UNKNOWN, OTHER_WORDS, NOT_KEPT),
        *(OTHER_SIZE, NO_AREA, WITHOUT_BOX),
    }
)
LEFT_REASONS = frozenset(
    {
        *(PROBLEM, OF_LEFT, CLUTTER, COMPANION, OUTSIDE, NOT_NEEDED, DUPLICATE),
        *(NOT_REQUESTED, WITHOUT_REFERENCE, BELOW_DEPTH, FILLING),
        *UNUSED_REASONS,
    }
)

#: Notes on things that were taken: pictures were rotated by their EXIF data, or are too small for questions;
#: images have no picture; sizes and boxes were those of the picture before its rotation, and were rotated
#: with it; boxes without a size were taken as those of the rotated picture.
TURNED, TOO_SMALL, PICTURELESS, RAW_FRAME = "turned", "too_small", "no_picture", "raw_frame"
UPRIGHT_FRAME = "upright_frame"
SHEET_NOTES = frozenset({TURNED, TOO_SMALL, PICTURELESS, RAW_FRAME, UPRIGHT_FRAME})

#: Maximum number of examples for each reason on a sheet.
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Remainder:
    """Things of a kind that were left for one of LEFT_REASONS, with the names of some."""

    reason: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def unused(self) -> bool:
        """Whether they could have a meaning and are not used."""
        return self.reason in UNUSED_REASONS


@dataclass(frozen=True, slots=True)
class SheetLine:
    """Number of things of a kind that a source has, that were taken, and that were left."""

    kind: str
    found: int
    taken: int
    left: tuple[Remainder, ...] = ()

    @property
    def balanced(self) -> bool:
        """Whether each thing was taken or has a reason."""
        return self.found == self.taken + sum(remainder.count for remainder in self.left)


@dataclass(frozen=True, slots=True)
class SheetNote:
    """One of SHEET_NOTES, with the number of things that it is about and the names of some."""

    note: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BalanceSheet:
    """Everything that an import found, took and left: a line for each kind of thing, and notes on what was
    taken."""

    lines: tuple[SheetLine, ...] = ()
    notes: tuple[SheetNote, ...] = ()

    @property
    def balanced(self) -> bool:
        """Whether every line is balanced."""
        return all(line.balanced for line in self.lines)

    @property
    def unused(self) -> tuple[tuple[str, Remainder], ...]:
        """The remainders that could have a meaning and are not used, each with its kind of thing."""
        return tuple((line.kind, rest) for line in self.lines for rest in line.left if rest.unused)


#: Kind, file and name of a part of a file.
FilePart = tuple[str, str, str]
#: Counts of a tally, and why each part of a file is left, "" if it was taken.
Counts = tuple[BalanceSheet, dict[FilePart, str]]


class Tally:
    """Counts for a balance sheet while a source is read; `opened` are the files that were read."""

    def __init__(self) -> None:
        self.opened: set[str] = set()
        self._found: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._left: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = {}
        self._notes: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._parts: dict[FilePart, str] = {}

    def count(self, kind: str, number: int = 1) -> None:
        """Count `number` things of a kind as found."""
        self._found[kind] += number

    def take(self, kind: str, number: int = 1) -> None:
        """Count `number` things of a kind as taken."""
        self._taken[kind] += number

    def leave(self, kind: str, reason: str, number: int = 1, *examples: str) -> None:
        """Count `number` things of a kind as left. Raises ValueError for an undeclared reason."""
        if reason not in LEFT_REASONS:
            raise ValueError(f"{reason!r} is no reason of a balance sheet")
        if number:
            count, names = self._left.get((kind, reason), (0, ()))
            self._left[kind, reason] = count + number, (*names, *examples)[:EXAMPLES]

    def pass_over(self, kind: str, reason: str, number: int = 1, *examples: str) -> None:
        """Count `number` things of a kind as found and left."""
        self.count(kind, number)
        self.leave(kind, reason, number, *examples)

    def find_parts(self, kind: str, file: str, names: Iterable[str]) -> None:
        """Count named parts of a file as found, and as not read until they are settled; each once, however
        often the file is opened."""
        for name in names:
            self._parts.setdefault((kind, file, name), NOT_READ)

    def settle_parts(self, kind: str, file: str, names: Iterable[str], reason: str = "") -> None:
        """Count those of these parts that were found as left for `reason`, or as taken, which is final."""
        for name in names:
            if self._parts.get((kind, file, name)):
                self._parts[kind, file, name] = reason

    def take_others(self, kind: str, number: int, left: Mapping[str, Collection[str]] | None = None) -> None:
        """Count `number` things of a kind as found: those in `left` as left, each for its reason, all others
        as taken."""
        self.count(kind, number)
        for reason, names in (left or {}).items():
            self.leave(kind, reason, len(names), *islice(names, EXAMPLES))
            number -= len(names)
        self.take(kind, number)

    def note(self, note: str, number: int = 1, *examples: str) -> None:
        """Add one of SHEET_NOTES about `number` things that were taken. Raises ValueError for another
        note."""
        if note not in SHEET_NOTES:
            raise ValueError(f"{note!r} is no note of a balance sheet")
        if number:
            count, names = self._notes.get(note, (0, ()))
            self._notes[note] = count + number, (*names, *examples)[:EXAMPLES]

    def add(self, sheet: BalanceSheet) -> None:
        """Add the counts of a sheet."""
        for line in sheet.lines:
            self.count(line.kind, line.found)
            self.take(line.kind, line.taken)
            for rest in line.left:
                self.leave(line.kind, rest.reason, rest.count, *rest.examples)
        for note in sheet.notes:
            self.note(note.note, note.count, *note.examples)

    def counts(self) -> Counts:
        """Return the counts until now, for `merge`."""
        return self._counted(), dict(self._parts)

    def merge(self, counts: Counts) -> None:
        """Add the counts of another tally; parts of files that both have are counted once."""
        sheet, parts = counts
        self.add(sheet)
        for (kind, file, name), reason in parts.items():
            self.find_parts(kind, file, [name])
            if reason != NOT_READ:
                self.settle_parts(kind, file, [name], reason)

    def sheet(self) -> BalanceSheet:
        """Return the sheet of the counts until now; kinds without things have no line."""
        whole = Tally()
        whole.add(self._counted())
        for (kind, _file, name), reason in self._parts.items():
            whole.count(kind)
            if reason:
                whole.leave(kind, reason, 1, name)
            else:
                whole.take(kind)
        return whole._counted()

    def _counted(self) -> BalanceSheet:
        kinds = (kind for kind, number in self._found.items() if number)
        return BalanceSheet(
            tuple(
                SheetLine(
                    kind,
                    self._found[kind],
                    self._taken[kind],
                    tuple(Remainder(why, *rest) for (of, why), rest in self._left.items() if of == kind),
                )
                for kind in kinds
            ),
            tuple(SheetNote(note, *counted) for note, counted in self._notes.items()),
        )


_counting: ContextVar[Tally | None] = ContextVar("tally of a source", default=None)


@contextmanager
def counted_by(tally: Tally) -> Iterator[None]:
    """Make readers count with `tally` until the context ends."""
    token = _counting.set(tally)
    try:
        yield
    finally:
        _counting.reset(token)


def current_tally() -> Tally:
    """Return the tally of the source that is being read, or a throw-away one outside `counted_by`."""
    tally = _counting.get()
    return Tally() if tally is None else tally
