"""Scores of images with sentences, computed from embedded regions and words, a tile at a time.

The score is that of eq. 8 or eq. 7 of Karpathy and Fei-Fei 2015 (see `objective`), in single precision. Items
that share their rows, as identical items do after `embed`, have bitwise equal scores.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import RaggedRows
from models_core.estimators.neural.settings import Objective
from phrasebox.scoring.copies import copies_among
from phrasebox.scoring.tiles import RowIndices, ScoreArray, Scores, at_by_tiles

#: Number of images and sentences in a tile: their products fit into the processor's cache.
_IMAGES, _SENTENCES = 16, 256


class AlignmentScores(Scores):
    """Scores with a row for each image and a column for each sentence, or transposed. A sentence without
    words scores 0.

    Raises ValueError if an image has no region.
    """

    def __init__(self, regions: RaggedRows, words: RaggedRows, objective: Objective) -> None:
        if len(regions) and not regions.counts.all():
            raise ValueError(f"image {int(regions.counts.argmin())} (counted from 0) has no region")
        self.regions, self.words, self.objective = regions, words, objective
        self._copies = tuple(
            copies_among(np.where(side.counts > 0, side.begin, -1)) for side in (regions, words)
        )
        self._by_image = True

    @property
    def shape(self) -> tuple[int, int]:
        shape = len(self.regions), len(self.words)
        return shape if self._by_image else shape[::-1]

    @property
    def tile_shape(self) -> tuple[int, int]:
        return (_IMAGES, _SENTENCES) if self._by_image else (_SENTENCES, _IMAGES)

    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        images, sentences = (
            slice(*span.indices(len(side_or_block))[:2])
            for span, side_or_block in zip(
                (rows, columns) if self._by_image else (columns, rows),
                (self.regions, self.words),
                strict=True,
            )
        )
        scores = self._of(np.arange(images.start, images.stop), sentences)
        down, _ = self._copies
        lines, of_lines = down.within(images)
        for firsts, chosen in down.blocks(of_lines):
            side_or_block = self._of(firsts, sentences)
            scores[lines[chosen]] = side_or_block[down.index_in_block(of_lines[chosen])]
        return scores if self._by_image else scores.T

    def _of(self, images: NDArray[np.intp], sentences: slice) -> ScoreArray:
        """Return the scores of these images with a range of sentences; copies are scored separately, always
        in the same groups."""
        scores = self._products(images, np.arange(sentences.start, sentences.stop))
        _, across = self._copies
        places, groups = across.within(sentences)
        for firsts, chosen in across.blocks(groups):
            block = self._products(images, firsts)
            scores[:, places[chosen]] = block[:, across.index_in_block(groups[chosen])]
        return scores

    def _products(self, images: NDArray[np.intp], sentences: NDArray[np.intp]) -> ScoreArray:
        of_images, of_sentences = self.regions.take(images), self.words.take(sentences)
        regions, words = of_images.joined(), of_sentences.joined()
        first, word_of = (np.cumsum(side.counts) - side.counts for side in (of_images, of_sentences))
        result = np.zeros((len(of_images), len(of_sentences)), np.float32)
        spoken = np.flatnonzero(of_sentences.counts)
        if len(regions) and len(words):
            products = regions @ words.T
            if self.objective == "best-region":
                of_words = np.maximum.reduceat(products, first, axis=0)
            else:
                of_words = np.add.reduceat(np.maximum(products, 0), first, axis=0)
            result[:, spoken] = np.add.reduceat(of_words, word_of[spoken], axis=1)
        return result

    def at(self, rows: RowIndices, columns: RowIndices) -> ScoreArray:
        return at_by_tiles(self, rows, columns, np.dtype(np.float32))

    def select(self, rows: RowIndices, columns: RowIndices) -> AlignmentScores:
        images, sentences = (rows, columns) if self._by_image else (columns, rows)
        selected = AlignmentScores(self.regions.take(images), self.words.take(sentences), self.objective)
        selected._by_image = self._by_image
        return selected

    def turned(self) -> AlignmentScores:
        turned = copy(self)
        turned._by_image = not self._by_image
        return turned
