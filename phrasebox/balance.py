"""Balance sheets: what a source has, what an import took of it, and what it left, with a reason for each.

Things are counted by kind, as pictures, captions or columns, and of every kind found = taken + left. Readers
count what they pass over where they pass it over; who stores things counts those.

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
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice

#: Kinds of things.
SOURCE_FILES, PICTURES, NAMED_IMAGES, CAPTIONS = "files", "pictures", "images", "captions"
ROWS, TABLE_COLUMNS, NAMES = "rows", "columns", "names"
BOXES, BOX_LABELS, OUTLINES = "boxes", "labels", "outlines"
#: What other tools have beside boxes: shapes; what is said of a box, of an image, of a reference.
MASKS, LINES, POINTS, ELLIPSES = "masks", "lines", "points", "ellipses"
CUBOIDS, SKELETONS, TRACKS, CROWDS = "cuboids", "skeletons", "tracks", "crowds"
ROTATIONS, ATTRIBUTES, GROUPS, RELATIONS = "rotations", "attributes", "groups", "relations"
IMAGE_LABELS, REFERENCE_SPLITS = "image_labels", "reference_splits"
FURTHER_ANNOTATIONS, PREDICTIONS = "further_annotations", "predictions"
PAIRS, VECTORS, PARSES, MENTIONS, QUERIES = "pairs", "vectors", "parses", "mentions", "queries"

#: Reasons why things are left: they are among the problems that are listed; they follow from what was left
#: before; they are what systems and tools put beside data; other imports read them; they lie outside of their
#: picture; they are words of a dictionary that the corpus does not use; they say again what was taken; they
#: are of images that were not requested, or that have no reference; they rank below the depth that is stored;
#: they only fill up pages.
PROBLEM, OF_LEFT, CLUTTER, COMPANION = "problem", "of_left", "clutter", "companion"
OUTSIDE, NOT_NEEDED, REPEATED = "outside", "not_needed", "repeated"
NOT_REQUESTED, WITHOUT_REFERENCE = "not_requested", "without_reference"
BELOW_DEPTH, FILLING = "below_depth", "filling"
#: Reasons why things that could mean something are not used: nothing reads them; they are within an archive
#: that lies in the source; no caption is of them; they name nothing that is there; they are of a caption with
#: other words; no layer can hold them; the corpus has their images in another size; they are boxes without an
#: area, or phrases without a box.
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
        *(PROBLEM, OF_LEFT, CLUTTER, COMPANION, OUTSIDE, NOT_NEEDED, REPEATED),
        *(NOT_REQUESTED, WITHOUT_REFERENCE, BELOW_DEPTH, FILLING),
        *UNUSED_REASONS,
    }
)

#: What is said of things that were taken: pictures were turned upright as their EXIF data says, or are too
#: small to ask about; images have no picture; sizes and boxes of images were those of the picture before it
#: was turned, and were turned with it; boxes without a size were taken as of the upright picture.
TURNED, TOO_SMALL, PICTURELESS, RAW_FRAME = "turned", "too_small", "no_picture", "raw_frame"
UPRIGHT_FRAME = "upright_frame"
SHEET_NOTES = frozenset({TURNED, TOO_SMALL, PICTURELESS, RAW_FRAME, UPRIGHT_FRAME})

#: Names of things that a sheet has for each reason, at most.
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Remainder:
    """Things of a kind that were left for one of LEFT_REASONS, with the names of some."""

    reason: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def unused(self) -> bool:
        """Whether they could mean something, and are not used."""
        return self.reason in UNUSED_REASONS


@dataclass(frozen=True, slots=True)
class SheetLine:
    """How many things of a kind a source has, how many were taken, and what was left."""

    kind: str
    found: int
    taken: int
    left: tuple[Remainder, ...] = ()

    @property
    def balanced(self) -> bool:
        """Whether each thing was taken, or has a reason why it was not."""
        return self.found == self.taken + sum(remainder.count for remainder in self.left)


@dataclass(frozen=True, slots=True)
class SheetNote:
    """One of SHEET_NOTES: how many things that were taken it is said of, with the names of some."""

    note: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BalanceSheet:
    """What an import found, took and left: a line for each kind of thing, and notes on what was taken."""

    lines: tuple[SheetLine, ...] = ()
    notes: tuple[SheetNote, ...] = ()

    @property
    def balanced(self) -> bool:
        """Whether every line is."""
        return all(line.balanced for line in self.lines)

    @property
    def unused(self) -> tuple[tuple[str, Remainder], ...]:
        """What was found and is not used: the kind of things, and which."""
        return tuple((line.kind, rest) for line in self.lines for rest in line.left if rest.unused)


class Tally:
    """Counts for a balance sheet while a source is read; `opened` are the files that were read."""

    def __init__(self) -> None:
        self.opened: set[str] = set()
        self._found: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._left: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = {}
        self._notes: dict[str, tuple[int, tuple[str, ...]]] = {}

    def count(self, kind: str, number: int = 1) -> None:
        """So many things of a kind are there."""
        self._found[kind] += number

    def take(self, kind: str, number: int = 1) -> None:
        """So many of those that are there were taken."""
        self._taken[kind] += number

    def leave(self, kind: str, reason: str, number: int = 1, *examples: str) -> None:
        """So many of those that are there were left; raises ValueError for a reason that is not declared."""
        if reason not in LEFT_REASONS:
            raise ValueError(f"{reason!r} is no reason of a balance sheet")
        if number:
            count, names = self._left.get((kind, reason), (0, ()))
            self._left[kind, reason] = count + number, (*names, *examples)[:EXAMPLES]

    def pass_over(self, kind: str, reason: str, number: int = 1, *examples: str) -> None:
        """So many things of a kind are there, and were left."""
        self.count(kind, number)
        self.leave(kind, reason, number, *examples)

    def take_others(self, kind: str, number: int, left: Mapping[str, Collection[str]] | None = None) -> None:
        """So many things of a kind are there; those named in `left` were left, each for its reason, and all
        others were taken."""
        self.count(kind, number)
        for reason, names in (left or {}).items():
            self.leave(kind, reason, len(names), *islice(names, EXAMPLES))
            number -= len(names)
        self.take(kind, number)

    def note(self, note: str, number: int = 1, *examples: str) -> None:
        """Say one of SHEET_NOTES of so many things that were taken; raises ValueError for another."""
        if note not in SHEET_NOTES:
            raise ValueError(f"{note!r} is no note of a balance sheet")
        if number:
            count, names = self._notes.get(note, (0, ()))
            self._notes[note] = count + number, (*names, *examples)[:EXAMPLES]

    def add(self, sheet: BalanceSheet) -> None:
        """Count what is on a sheet too."""
        for line in sheet.lines:
            self.count(line.kind, line.found)
            self.take(line.kind, line.taken)
            for rest in line.left:
                self.leave(line.kind, rest.reason, rest.count, *rest.examples)
        for note in sheet.notes:
            self.note(note.note, note.count, *note.examples)

    def sheet(self) -> BalanceSheet:
        """What was counted until now; kinds of which there is nothing have no line."""
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
    """Have readers count with `tally` until the context ends."""
    token = _counting.set(tally)
    try:
        yield
    finally:
        _counting.reset(token)


def current_tally() -> Tally:
    """What counts the source that is being read; one that nobody looks at where nobody counts."""
    tally = _counting.get()
    return Tally() if tally is None else tally
