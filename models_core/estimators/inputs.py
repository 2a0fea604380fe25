"""Checks of a method's inputs before it learns or scores: numbers so large or so small that squares overflow
or underflow are rejected; inputs that work, but hardly as intended, get a remark.

Every training and every scoring calls these, so that no method needs its own checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    PHRASE_VIEW,
    REGION_VIEW,
    Dataset,
    Method,
    RaggedRows,
    UnitRows,
    WordNumbers,
)
from models_core.features.text.phrases import PhraseRows
from phrasebox.lazy import sparse

#: Number of values checked at a time (32 MiB in double precision).
_TOGETHER = 2**22
#: The share of the variance of all columns above which a column hides the others.
_DOMINANT = 0.9
#: With fewer varying columns, one may legitimately have most of the variance.
_LEAST_COLUMNS = 3


class NumbersOutOfRange(ValueError):
    """Numbers with which a method cannot compute; one line with the remedy."""


def check_inputs(method: Method, data: Dataset, which: str = "") -> tuple[str, ...]:
    """Return remarks on the numbers of `data`, a sentence each; `which` names the data, such as "held-out".

    Raises NumbersOutOfRange if numbers of a view are larger or smaller than the method accepts. Methods
    themselves check that numbers are finite, since they can name the row.
    """
    remarks: list[str] = []
    for view, rows in data.views.items():
        name = f"{which} {_NAMES.get(view, view)}".strip()
        form = method.takes.get(view)
        if form == "kernel":
            name = f"kernel of the {name}"
        remarks += _remarks(name, rows, method.lengths, vectors=form != "kernel")
    return tuple(remarks)


_NAMES: Mapping[str, str] = {
    IMAGE_VIEW: "images",
    CAPTION_VIEW: "captions",
    REGION_VIEW: "regions",
    PHRASE_VIEW: "phrases",
}


def _remarks(name: str, rows: Any, lengths: tuple[float, float], *, vectors: bool) -> Iterator[str]:
    """Yield the remarks on the rows of one view."""
    divided = isinstance(rows, UnitRows)
    if isinstance(rows, WordNumbers | PhraseRows):
        if rows.vectors is None:
            return
        name, rows = f"word vectors of the {name}", rows.vectors
    elif isinstance(rows, RaggedRows):
        # Before rows are divided by their lengths, a large column still varies.
        rows = RaggedRows.joined(rows) if rows.shape[1:] else None
    if rows is None or not rows.shape[0] or rows.dtype.kind != "f":
        return
    seen = _Sums(rows)
    if not np.isfinite(seen.largest):
        return
    if not divided:
        _check_length(name, seen, lengths)
    if not vectors:
        return
    if seen.zeros:
        remedy = (
            "no word of theirs is known"
            if sparse.issparse(rows)
            else "compute their features again, or leave them out"
        )
        yield (
            f"{seen.zeros} of {rows.shape[0]} {name} have only zeros, first row {seen.first_zero}, and "
            f"rank by chance; {remedy}"
        )
    if seen.dominant is not None:
        column, share = seen.dominant
        yield (
            f"column {column} of the {name} has {100 * share:.2f} % of the variance of all "
            f"{rows.shape[1]} columns, so that the others hardly count; standardise the columns"
        )


def _check_length(name: str, seen: _Sums, lengths: tuple[float, float]) -> None:
    """Raise NumbersOutOfRange if nonzero rows are too long or too short."""
    least, most = lengths
    if seen.largest > 0 and not least <= seen.length <= most:
        raise NumbersOutOfRange(
            f"rows of the {name} have a length of about {seen.length:.0e} (root of summed squares); the "
            f"method takes {least:g} to {most:g}: divide them by {seen.length:.0e}, or standardise columns"
        )


class _Sums:
    """Statistics of rows: the largest number, the typical length of nonzero rows, the number of zero rows,
    and the column with the largest share of the variance."""

    def __init__(self, rows: Any) -> None:
        self.largest = float(max((_largest(block) for block in _blocks(rows)), default=0.0))
        self.length, self.zeros, self.first_zero = 0.0, 0, -1
        self.dominant: tuple[int, float] | None = None
        if np.isfinite(self.largest):
            self._count(rows)

    def _count(self, rows: Any) -> None:
        # Divided by the largest number, squares neither overflow nor underflow.
        sums, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        start = 0
        for block in _blocks(rows):
            part = block.astype(np.float64) / (self.largest or 1.0)
            part_squares = part.multiply(part) if sparse.issparse(part) else np.square(part)
            sums += np.asarray(part.sum(axis=0)).ravel()
            squares += np.asarray(part_squares.sum(axis=0)).ravel()
            counts = part.getnnz(axis=1) if sparse.issparse(part) else np.count_nonzero(part, axis=1)
            empty = np.flatnonzero(counts == 0)
            if len(empty) and self.first_zero < 0:
                self.first_zero = start + int(empty[0])
            self.zeros += len(empty)
            start += block.shape[0]
        self.length = self.largest * float(np.sqrt(squares.sum() / max(1, start - self.zeros)))
        variances = np.maximum(squares / start - (sums / start) ** 2, 0)
        if (variances > 0).sum() >= _LEAST_COLUMNS:
            column = int(variances.argmax())
            share = float(variances[column] / variances.sum())
            if share > _DOMINANT:
                self.dominant = column, share


def _blocks(rows: Any) -> Iterator[Any]:
    """Yield the rows in blocks."""
    step = max(1, _TOGETHER // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        yield rows[start : start + step]


def _largest(block: Any) -> float:
    values: NDArray[Any] = block.data if sparse.issparse(block) else np.asarray(block)
    return float(max(abs(values.max(initial=0)), abs(values.min(initial=0))))
