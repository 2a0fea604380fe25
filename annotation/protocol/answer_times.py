"""What answers take in seconds, and what share of these fewer or other answers save, at a list of prices.

Seconds are the answers of each kind times what one of that kind takes. So a saving holds at a price of a
drawing and of a look, and at other prices it is another one: drawing took 7 s by extreme clicking and 35 s by
dragging (Papadopoulos et al. 2017), a look 2 to 3 s (Papadopoulos et al. 2016) or 9 s (Su et al. 2012).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.protocol.kinds import draws

#: Seconds of a drawing and of an answer by looking over which a saving is shown.
DRAWING_SECONDS: tuple[float, ...] = (7.0, 14.0, 21.0, 28.0, 35.0)
LOOKING_SECONDS: tuple[float, ...] = (2.0, 2.5, 4.0, 5.75, 9.0)


@dataclass(frozen=True, slots=True)
class DrawingsAndLooks:
    """Answers of people, or their mean over images: `drawing` a box, and by `looking`."""

    drawing: float
    looking: float

    def seconds(self, drawing: float, looking: float) -> float:
        """What they take, where one of each takes so many seconds."""
        return self.drawing * drawing + self.looking * looking


def drawings_and_looks(by_kind: Mapping[str, float]) -> DrawingsAndLooks:
    """Answers by kind of question as drawings and looks."""
    drawing = sum(number for kind, number in by_kind.items() if draws(kind))
    return DrawingsAndLooks(drawing, sum(by_kind.values()) - drawing)


def saved_share(
    before: DrawingsAndLooks, after: DrawingsAndLooks, *, drawing: float, looking: float
) -> float:
    """The share of the seconds of `before` that `after` saves at these prices; negative where it costs more,
    0 where `before` takes none."""
    seconds = before.seconds(drawing, looking)
    return 1 - after.seconds(drawing, looking) / seconds if seconds else 0.0


def saved_shares(before: DrawingsAndLooks, after: DrawingsAndLooks) -> tuple[tuple[float, ...], ...]:
    """The saved share at each price of a look (rows) and of a drawing (columns)."""
    return tuple(
        tuple(saved_share(before, after, drawing=drawing, looking=looking) for drawing in DRAWING_SECONDS)
        for looking in LOOKING_SECONDS
    )


def table_of_savings(shares: Sequence[Sequence[float]]) -> str:
    """`saved_shares` as text: a row for each price of a look, a column for each price of a drawing."""
    head = ["a look / a drawing", *(f"{seconds:g} s" for seconds in DRAWING_SECONDS)]
    rows = [
        [f"{seconds:g} s", *(f"{share:+.1%}" for share in row)]
        for seconds, row in zip(LOOKING_SECONDS, shares, strict=True)
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
    )
