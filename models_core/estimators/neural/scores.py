"""Scores of images with sentences from embedded regions and words, a tile at a time.

The score is that of eq. 8 or eq. 7 of Karpathy and Fei-Fei 2015 (see `objective`), in single precision.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import RaggedRows
from models_core.estimators.neural.settings import Objective
from models_core.scoring.tiles import RowIndices, ScoreArray, Scores, at_by_tiles

#: Images and sentences of a tile: their products fit into the processor's cache.
_IMAGES, _SENTENCES = 16, 256


class AlignmentScores(Scores):
    """Rows are images and columns sentences, until turned. A sentence without words scores 0.

    Raises ValueError where an image has no region.
    """

    def __init__(self, regions: RaggedRows, words: RaggedRows, objective: Objective) -> None:
        if len(regions) and not regions.counts.all():
            raise ValueError(f"image {int(regions.counts.argmin())} (counted from 0) has no region")
        self.regions, self.words, self.objective = regions, words, objective
        self._by_image = True

    @property
    def shape(self) -> tuple[int, int]:
        found = len(self.regions), len(self.words)
        return found if self._by_image else found[::-1]

    @property
    def tile_shape(self) -> tuple[int, int]:
        return (_IMAGES, _SENTENCES) if self._by_image else (_SENTENCES, _IMAGES)

    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        images, sentences = (rows, columns) if self._by_image else (columns, rows)
        of_images = self.regions.take(np.arange(len(self.regions))[images])
        of_sentences = self.words.take(np.arange(len(self.words))[sentences])
        regions, first = _together(of_images)
        words, word_of = _together(of_sentences)
        found = np.zeros((len(of_images), len(of_sentences)), np.float32)
        spoken = np.flatnonzero(of_sentences.counts)
        if len(regions) and len(words):
            products = regions @ words.T
            if self.objective == "best-region":
                of_words = np.maximum.reduceat(products, first, axis=0)
            else:
                of_words = np.add.reduceat(np.maximum(products, 0), first, axis=0)
            found[:, spoken] = np.add.reduceat(of_words, word_of[spoken], axis=1)
        return found if self._by_image else found.T

    def at(self, rows: RowIndices, columns: RowIndices) -> ScoreArray:
        return at_by_tiles(self, rows, columns, np.dtype(np.float32))

    def select(self, rows: RowIndices, columns: RowIndices) -> AlignmentScores:
        images, sentences = (rows, columns) if self._by_image else (columns, rows)
        other = AlignmentScores(self.regions.take(images), self.words.take(sentences), self.objective)
        other._by_image = self._by_image
        return other

    def turned(self) -> AlignmentScores:
        other = copy(self)
        other._by_image = not self._by_image
        return other


def _together(items: RaggedRows) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The rows of all items, one after the other, and where each item's begin."""
    begin = np.concatenate([[0], np.cumsum(items.counts)[:-1]]).astype(np.intp)
    if len(items) and np.array_equal(items.begin[1:], items.end[:-1]):
        return items.values[items.begin[0] : items.end[-1]], begin
    return np.concatenate([items.item(place) for place in range(len(items))]), begin
