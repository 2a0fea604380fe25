"""The charts of a campaign: bars by the hour, running totals with forecast and limit, horizontal shares.

The caller passes words and the formats of numbers and times, so that a chart is in the reader's language.
They are half as wide as a report's figures, for two side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from annotation.figures.style import ACCENT, FIGURE_INK, legend, value_grid, whole_numbers
from annotation.figures.svg import drawn_as_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches; the last is the height of a row of a legend or of shares.
_WIDTH, _HEIGHT, _ROW = 4.6, 2.5, 0.32
_LIMIT_COLOUR = "#d55e00"
#: Maximum number of times below an axis.
_TIMES = 4

#: A time, and a count or amount.
ChartPoint = tuple[datetime, float]


@dataclass(frozen=True, slots=True)
class ChartWords:
    """The words of a chart: its accessible title, the name of its values, and the formats of values and
    times."""

    title: str
    values: str
    number: Callable[[float], str]
    time: Callable[[datetime], str]


@dataclass(frozen=True, slots=True)
class TotalLine:
    """A running total: its points, its name, and its forecast and its limit, each with a name, if any."""

    points: Sequence[ChartPoint]
    name: str
    expected: ChartPoint | None = None
    expected_name: str = ""
    limit: float | None = None
    limit_name: str = ""


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A row of shares: its name, its share from 0 to 1, and the text beside the bar."""

    name: str
    share: float
    beside: str


def bars_by_hour(points: Sequence[ChartPoint], words: ChartWords, *, key: str) -> str:
    """Return a bar for each hour, as SVG; `points` are at least one start of an hour."""

    def draw() -> Figure:
        figure, axes = _sheet(_HEIGHT)
        axes.bar(
            [_days(at) for at, _value in points],
            [value for _at, value in points],
            width=0.8 / 24,
            align="edge",
            color=ACCENT,
        )
        _finish(axes, words, [at for at, _value in points])
        whole_numbers(axes.yaxis)
        return figure

    return drawn_as_svg(draw, key=key, title=words.title)


def running_total(line: TotalLine, words: ChartWords, *, key: str) -> str:
    """Return a running total, as SVG: its forecast is dashed, its limit dotted."""

    def draw() -> Figure:
        names = [line.name]
        names += [line.expected_name] if line.expected is not None else []
        names += [line.limit_name] if line.limit is not None else []
        figure, axes = _sheet(_HEIGHT + (_ROW if len(names) > 1 else 0))
        xs, ys = [_days(at) for at, _value in line.points], [value for _at, value in line.points]
        handles: list[Any] = axes.plot(xs, ys, color=ACCENT)
        axes.fill_between(xs, ys, color=ACCENT, alpha=0.15, linewidth=0)
        times = [at for at, _value in line.points]
        if line.expected is not None:
            at, value = line.expected
            handles += axes.plot([xs[-1], _days(at)], [ys[-1], value], color=ACCENT, linestyle="--")
            times.append(at)
        if line.limit is not None:
            handles.append(axes.axhline(line.limit, color=_LIMIT_COLOUR, linestyle=":", linewidth=1.4))
        _finish(axes, words, times)
        if len(names) > 1:
            legend(figure, handles, names)
        return figure

    return drawn_as_svg(draw, key=key, title=words.title)


def shares_side_by_side(rows: Sequence[ShareBar], words: ChartWords, *, key: str) -> str:
    """Return a bar for each share, from the top, as SVG; at least one row."""

    def draw() -> Figure:
        figure, axes = _sheet(0.7 + _ROW * len(rows))
        places = list(range(len(rows), 0, -1))
        axes.barh(places, [row.share for row in rows], height=0.6, color=ACCENT)
        for height, row in zip(places, rows, strict=True):
            axes.text(row.share + 0.015, height, row.beside, va="center", color=FIGURE_INK, fontsize=8)
        axes.set_yticks(places, [row.name for row in rows])
        axes.set_ylim(0.4, len(rows) + 0.6)
        axes.set_xlim(0, 1.3)
        axes.set_xticks([0, 0.5, 1], [words.number(100 * share) for share in (0, 0.5, 1)])
        axes.set_xlabel(words.values)
        axes.tick_params(axis="y", length=0)
        value_grid(axes, "x")
        return figure

    return drawn_as_svg(draw, key=key, title=words.title)


def _sheet(height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def _finish(axes: Axes, words: ChartWords, times: Sequence[datetime]) -> None:
    """Add the axes' labels: values at the left, a few times below, which the caller formats in UTC."""
    first, last = min(times), max(times)
    number = min(_TIMES, max(2, len(set(times))))
    marks = [first + (last - first) * index / (number - 1) for index in range(number)]
    texts = [words.time(mark) for mark in marks]
    # Of labels with the same text, only the first is needed.
    labelled = [index for index, text in enumerate(texts) if index == 0 or text != texts[index - 1]]
    axes.set_xticks([_days(marks[index]) for index in labelled], [texts[index] for index in labelled])
    axes.set_xlabel("UTC", fontsize=8, loc="right")
    axes.set_ylabel(words.values)
    axes.yaxis.set_major_formatter(lambda value, _position: words.number(value))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    value_grid(axes)


def _days(at: datetime) -> float:
    """Return a time in matplotlib's unit: days."""
    return at.timestamp() / 86_400
