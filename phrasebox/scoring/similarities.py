"""Scores of vectors in one space: cosine, inner product, or Euclidean distance."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phrasebox.scoring.tiles import Products

#: The measures that compare two vectors.
VectorSimilarity = Literal["cosine", "dot", "euclidean"]


def similarity_scores(
    rows: NDArray[Any], columns: NDArray[Any], similarity: VectorSimilarity = "cosine"
) -> Products:
    """Return the scores of every row with every column, both of shape (items, numbers), computed a tile at a
    time.

    For "euclidean" they are half of the negative squared distances. Raises ValueError for different widths.
    """
    if rows.shape[1] != columns.shape[1]:
        raise ValueError(
            f"vectors of {rows.shape[1]} and of {columns.shape[1]} numbers; expected those of one space"
        )
    if similarity == "euclidean":
        # -|a - b|^2 / 2 as an inner product, so that the tiles of products work for distances too.
        rows, columns = _with_length(rows, first=True), _with_length(columns, first=False)
    return Products(rows, columns, cosine=similarity == "cosine")


def _with_length(rows: NDArray[Any], *, first: bool) -> NDArray[Any]:
    rows = np.asarray(rows, np.float64)
    half = -0.5 * np.einsum("ij,ij->i", rows, rows)
    ones = np.ones(len(rows))
    return np.column_stack([rows, *((half, ones) if first else (ones, half))])
