"""Scores of images with sentences from embedded regions and words, a tile at a time.

The score is that of eq. 8 or eq. 7 of Karpathy and Fei-Fei 2015 (see `objective`), in single precision. Items
that share their rows, as `embed` has it where they are alike, have equal scores to the bit.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import RaggedRows
from models_core.estimators.neural.settings import Objective
from phrasebox.scoring.copies import copies_among
from phrasebox.scoring.tiles import RowIndices, ScoreArray, Scores, at_by_tiles

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
        self._copies = tuple(
            copies_among(np.where(own.counts > 0, own.begin, -1)) for own in (regions, words)
        )
        self._by_image = True

    @property
    def shape(self) -> tuple[int, int]:
        found = len(self.regions), len(self.words)
        return found if self._by_image else found[::-1]

    @property
    def tile_shape(self) -> tuple[int, int]:
        return (_IMAGES, _SENTENCES) if self._by_image else (_SENTENCES, _IMAGES)

    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        images, sentences = (
            slice(*span.indices(len(own))[:2])
            for span, own in zip(
                (rows, columns) if self._by_image else (columns, rows),
                (self.regions, self.words),
                strict=True,
            )
        )
        found = self._of(np.arange(images.start, images.stop), sentences)
        down, _ = self._copies
        lines, of_lines = down.within(images)
        for firsts, chosen in down.blocks(of_lines):
            own = self._of(firsts, sentences)
            found[lines[chosen]] = own[down.place_in_block(of_lines[chosen])]
        return found if self._by_image else found.T

    def _of(self, images: NDArray[np.intp], sentences: slice) -> ScoreArray:
        """Scores of these images with a run of sentences; those of copies are computed apart, always the same
        ones together."""
        found = self._products(images, np.arange(sentences.start, sentences.stop))
        _, across = self._copies
        places, groups = across.within(sentences)
        for firsts, chosen in across.blocks(groups):
            own = self._products(images, firsts)
            found[:, places[chosen]] = own[:, across.place_in_block(groups[chosen])]
        return found

    def _products(self, images: NDArray[np.intp], sentences: NDArray[np.intp]) -> ScoreArray:
        of_images, of_sentences = self.regions.take(images), self.words.take(sentences)
        regions, words = of_images.joined(), of_sentences.joined()
        first, word_of = (np.cumsum(own.counts) - own.counts for own in (of_images, of_sentences))
        found = np.zeros((len(of_images), len(of_sentences)), np.float32)
        spoken = np.flatnonzero(of_sentences.counts)
        if len(regions) and len(words):
            products = regions @ words.T
            if self.objective == "best-region":
                of_words = np.maximum.reduceat(products, first, axis=0)
            else:
                of_words = np.add.reduceat(np.maximum(products, 0), first, axis=0)
            found[:, spoken] = np.add.reduceat(of_words, word_of[spoken], axis=1)
        return found

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
