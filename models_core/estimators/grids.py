"""Settings that are chosen from a grid on held-out items.

If the best setting is at an end of the grid, a better one may lie beyond. So the grid is extended there with
its own ratio, step by step, while the new end is the best, by at most `steps`. Several axes are crossed: a
new value is tried with all values of the others. `remarks` report extensions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field

#: The figure of an unusable setting: its matrix is not invertible, or its loss is not a number.
UNUSABLE = -1.0
#: The setting of methods with a grid that limits its extension.
GridSteps = Annotated[
    int,
    Field(ge=0, description="Steps by which a grid is extended at most where the best is at its end"),
]
GRID_STEPS = 4
#: A value for each axis.
GridPoint: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A setting with the values to try, in order. `whole` ones are integers; values beyond `most` are
    meaningless."""

    name: str
    values: tuple[float, ...]
    whole: bool = False
    most: float = float("inf")

    def beyond(self, values: Sequence[float], *, upper: bool) -> float | None:
        """Return the next value beyond an end of `values`, at the distance of the last step; None if there
        is none."""
        ordered = sorted(set(values), reverse=upper)
        if len(ordered) < 2 or not min(ordered[:2]) > 0:
            return None
        value = float(f"{ordered[0] * (ordered[0] / ordered[1]):.6g}")
        value = round(value) if self.whole else value
        fits = value <= self.most and value > 0 and value not in values
        return value if fits else None


class _Search(NamedTuple):
    """The state of a search: the values of each axis, the best setting so far, and the settings to try
    next."""

    values: tuple[tuple[float, ...], ...]
    best: GridPoint
    next: GridPoint | None


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of several axes. `figure` names what settings are compared by; at most `steps` values are
    added at each end of each axis."""

    axes: tuple[Axis, ...]
    figure: str
    steps: int

    @property
    def size(self) -> int:
        """The number of settings in the grid before extensions."""
        return prod(len(set(axis.values)) for axis in self.axes)

    def next_setting(self, tried: Sequence[Sequence[float]]) -> GridPoint | None:
        """Return the setting to try after `tried`, rows of a setting and its figure; None if nothing is
        left."""
        return list(self._searched(tried))[-1].next

    def best(self, tried: Sequence[Sequence[float]]) -> GridPoint:
        """Return the setting with the highest figure; of equal ones the first that was tried."""
        *setting, _ = max(tried, key=lambda row: row[-1])
        return tuple(setting)

    def remarks(self, tried: Sequence[Sequence[float]]) -> tuple[str, ...]:
        """Return a sentence for each axis whose chosen value is at an end of the grid, or beyond it."""
        searches = list(self._searched(tried))
        first, last = searches[0], searches[-1]
        figures = {tuple(row[:-1]): row[-1] for row in tried}
        return tuple(
            sentence
            for index, axis in enumerate(self.axes)
            if (
                sentence := _remark(
                    axis,
                    last.values[index],
                    last.best[index],
                    (self.figure, figures[first.best], figures[last.best]),
                )
            )
        )

    def _searched(self, tried: Sequence[Sequence[float]]) -> Iterator[_Search]:
        """Yield the search with the original grid, and after each extension that `tried` allows."""
        figures = {tuple(row[:-1]): row[-1] for row in tried}
        values = tuple(tuple(dict.fromkeys(axis.values)) for axis in self.axes)
        while True:
            known = [setting for setting in product(*values) if setting in figures]
            best = max(known, key=lambda candidate: figures[candidate]) if known else ()
            missing = next((setting for setting in product(*values) if setting not in figures), None)
            yield _Search(values, best, missing)
            if missing is not None:
                return
            extended = self._extended(values, best)
            if extended is None or figures[best] == UNUSABLE:
                return
            values = extended

    def _extended(
        self, values: tuple[tuple[float, ...], ...], best: GridPoint
    ) -> tuple[GridPoint, ...] | None:
        """Return the values of the axes extended by one at an end that is the best; None if no end is."""
        for index, (axis, listed_values) in enumerate(zip(self.axes, values, strict=True)):
            for upper, end in ((True, max(listed_values)), (False, min(listed_values))):
                listed = max(axis.values) if upper else min(axis.values)
                added = sum(value > listed if upper else value < listed for value in listed_values)
                value = axis.beyond(listed_values, upper=upper)
                if best[index] == end and added < self.steps and value is not None:
                    return (*values[:index], (*listed_values, value), *values[index + 1 :])
        return None


def _remark(axis: Axis, values: Sequence[float], best: float, moved: tuple[str, float, float]) -> str:
    """Return a remark on the chosen value of an axis; "" if it is inside the grid."""
    figure, before, after = moved
    listed = f"{min(axis.values):g} .. {max(axis.values):g}"
    beyond = not min(axis.values) <= best <= max(axis.values)
    upper = best == max(values)
    at_end = (upper or best == min(values)) and axis.beyond(values, upper=upper) is not None
    if not beyond and not at_end:
        return ""
    remark = f"{axis.name} {best:g}: chosen "
    if beyond:
        remark += (
            f"at the end of the extended grid {min(values):g} .. {max(values):g}"
            if at_end
            else (f"beyond the grid {listed}, which was extended to {min(values):g} .. {max(values):g}")
        )
        return f"{remark}; held-out {figure} moved from {before:.3f} to {after:.3f}"
    return (
        f"{remark}at the end of the grid {listed}, which was not extended; held-out {figure} is {after:.3f}, "
        f"and {'larger' if upper else 'smaller'} values may do better"
    )
