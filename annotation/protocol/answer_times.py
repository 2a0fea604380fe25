"""Seconds that answers take, and the share of them that another set of answers saves, for a list of prices.

The seconds are the number of answers of each kind times the time for one. A saving therefore depends on the
time for a drawing and for a look: drawing took 7 s by extreme clicking and 35 s by dragging (Papadopoulos et
al. 2017), a look 2 to 3 s (Papadopoulos et al. 2016) or 9 s (Su et al. 2012).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.protocol.kinds import draws

#: Seconds of a drawing for which a saving is computed, and likewise of an answer by looking.
DRAWING_SECONDS: tuple[float, ...] = (7.0, 14.0, 21.0, 28.0, 35.0)
LOOKING_SECONDS: tuple[float, ...] = (2.0, 2.5, 4.0, 5.75, 9.0)


@dataclass(frozen=True, slots=True)
class DrawingsAndLooks:
    """Numbers of people's answers, or their mean over images: by `drawing` a box, and by `looking`."""

    drawing: float
    looking: float

    def seconds(self, drawing: float, looking: float) -> float:
        """Return the seconds that they take, at these seconds for one drawing and one look."""
        return self.drawing * drawing + self.looking * looking


def drawings_and_looks(by_kind: Mapping[str, float]) -> DrawingsAndLooks:
    """Return answers by kind of question as drawings and looks."""
    drawing = sum(number for kind, number in by_kind.items() if draws(kind))
    return DrawingsAndLooks(drawing, sum(by_kind.values()) - drawing)


def saved_share(
    before: DrawingsAndLooks, after: DrawingsAndLooks, *, drawing: float, looking: float
) -> float:
    """Return the share of the seconds of `before` that `after` saves at these prices.

    It is negative if `after` takes longer, and 0 if `before` takes no time.
    """
    seconds = before.seconds(drawing, looking)
    return 1 - after.seconds(drawing, looking) / seconds if seconds else 0.0


def saved_shares(before: DrawingsAndLooks, after: DrawingsAndLooks) -> tuple[tuple[float, ...], ...]:
    """Return the saved share at each price of a look (rows) and of a drawing (columns)."""
    return tuple(
        tuple(saved_share(before, after, drawing=drawing, looking=looking) for drawing in DRAWING_SECONDS)
        for looking in LOOKING_SECONDS
    )


def table_of_savings(shares: Sequence[Sequence[float]]) -> str:
    """Return `saved_shares` as text: a row for each price of a look, a column for each price of a drawing."""
    head = ["a look / a drawing", *(f"{seconds:g} s" for seconds in DRAWING_SECONDS)]
    rows = [
        [f"{seconds:g} s", *(f"{share:+.1%}" for share in row)]
        for seconds, row in zip(LOOKING_SECONDS, shares, strict=True)
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
    )
