"""What a method is given, looked at before it learns or scores: numbers so large or so small that squares
overflow or vanish are refused; what a method can work with, but hardly as intended, is a remark.

Every training and every scoring goes through here, so that no method needs a check of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    PHRASE_VIEW,
    REGION_VIEW,
    Dataset,
    Method,
    RaggedRows,
    WordNumbers,
)
from models_core.features.text.phrases import PhraseRows

#: Numbers that are looked at together (32 MiB in double precision).
_TOGETHER = 2**22
#: A column with more than this share of the variance of all columns hides the others.
_DOMINANT = 0.9
#: With fewer columns that vary, one may have most of the variance by right.
_LEAST_COLUMNS = 3


class NumbersOutOfRange(ValueError):
    """Numbers that a method cannot compute with; one line with the remedy."""


def check_inputs(method: Method, data: Dataset, which: str = "") -> tuple[str, ...]:
    """Remarks on the numbers of `data`, a sentence each; `which` says which data it is, such as "held-out".

    Raises NumbersOutOfRange where numbers of a view are larger or smaller than the method takes. What is not
    finite is left to the methods, which name the row.
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
    """What is to be known of the rows of one view."""
    if isinstance(rows, WordNumbers | PhraseRows):
        if rows.vectors is None:
            return
        name, rows = f"word vectors of the {name}", rows.vectors
    elif isinstance(rows, RaggedRows):
        rows = rows.joined() if rows.shape[1:] else None
    if rows is None or not rows.shape[0] or rows.dtype.kind != "f":
        return
    seen = _Sums(rows)
    if not np.isfinite(seen.largest):
        return
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
    """Raise NumbersOutOfRange where rows that are not zeros are too long or too short."""
    least, most = lengths
    if seen.largest > 0 and not least <= seen.length <= most:
        raise NumbersOutOfRange(
            f"rows of the {name} have a length of about {seen.length:.0e} (root of summed squares); the "
            f"method takes {least:g} to {most:g}: divide them by {seen.length:.0e}, or standardise columns"
        )


class _Sums:
    """What is counted of rows: the largest number, the typical length of those that are not zeros, those that
    are, and the column that has most of the variance."""

    def __init__(self, rows: Any) -> None:
        self.largest = float(max((_largest(block) for block in _blocks(rows)), default=0.0))
        self.length, self.zeros, self.first_zero = 0.0, 0, -1
        self.dominant: tuple[int, float] | None = None
        if np.isfinite(self.largest):
            self._count(rows)

    def _count(self, rows: Any) -> None:
        # Divided by the largest, squares neither overflow nor vanish.
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
    """The rows, a few at a time."""
    step = max(1, _TOGETHER // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        yield rows[start : start + step]


def _largest(block: Any) -> float:
    values: NDArray[Any] = block.data if sparse.issparse(block) else np.asarray(block)
    return float(max(abs(values.max(initial=0)), abs(values.min(initial=0))))
