"""Word alignment by expectation maximisation: IBM models 1 and 2.

Model 1 gives a target sentence t of m words, from a source s of l words and an empty word s_0,

    P(t | s) = product over j of sum over i of P(t_j | s_i) / (l + 1)

and model 2 replaces 1 / (l + 1) by a learned probability q(i | j, l, m) of positions. Model 1 starts from a
uniform distribution and its likelihood has one maximum; model 2 starts from model 1's translations. The
likelihood never decreases.

Source: Brown, Della Pietra, Della Pietra and Mercer 1993, sections 4.1 and 4.2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Sentence = Sequence[str]

#: Number of steps of each model, as in Giza++.
TRAINING_STEPS = 5


@dataclass(frozen=True)
class Translations:
    """P(target | source): `matrix` of shape (source, target) over `words`, without the empty word.

    Rows sum to 1, or to 0 for a word in no source. `likelihoods` are log P of all pairs under the parameters
    before each step, of model 1 and then model 2.
    """

    words: tuple[str, ...]
    matrix: _Floats
    likelihoods: tuple[tuple[float, ...], tuple[float, ...]]


def caption_pairs(images: Iterable[Sequence[_Sentence]]) -> list[tuple[_Sentence, _Sentence]]:
    """Return all ordered pairs of different captions of one image, without captions that have no word."""
    return [pair for captions in images for pair in permutations([c for c in captions if c], 2)]


def train_alignment(
    pairs: Sequence[tuple[_Sentence, _Sentence]], *, first: int = TRAINING_STEPS, second: int = TRAINING_STEPS
) -> Translations:
    """Train with `first` steps of model 1, then `second` of model 2, on (source, target) pairs.

    A target without words is ignored. Raises ValueError if no pair has a word on both sides.
    """
    cells = _Cells(pairs)
    translation = 1.0 / cells.partners[cells.source_of_entry]
    prior = 1.0 / cells.lengths_at
    likelihoods: tuple[list[float], list[float]] = ([], [])
    for step in range(first + second):
        second_model = step >= first
        joint = translation[cells.entry] * prior[cells.slot]
        evidence = np.bincount(cells.target_index, joint)
        likelihoods[second_model].append(float(np.log(evidence).sum()))
        joint /= evidence[cells.target_index]
        translation = _shares(joint, cells.entry, cells.source_of_entry)
        if second_model:
            prior = _shares(joint, cells.slot, cells.group_at)
    size = len(cells.words)
    matrix = np.zeros((size + 1, size + 1))
    matrix[cells.source_of_entry, cells.target_of_entry] = translation
    return Translations(cells.words, matrix[1:, 1:], (tuple(likelihoods[0]), tuple(likelihoods[1])))


class _Cells:
    """Every (source position, target position) of every pair, as columns of integers.

    An entry is a pair of words that co-occur; word 0 is the empty word. A cell's kind is (i, j, l, m).
    """

    def __init__(self, pairs: Sequence[tuple[_Sentence, _Sentence]]) -> None:
        usable = [(source, target) for source, target in pairs if source and target]
        if not usable:
            raise ValueError(
                f"none of {len(pairs)} pairs of captions has words on both sides; alignment needs such pairs"
            )
        self.words = tuple(sorted({word for pair in usable for side in pair for word in side}))
        number = {word: n for n, word in enumerate(self.words, start=1)}
        sources = [np.array([0, *(number[w] for w in source)], dtype=np.int64) for source, _ in usable]
        targets = [np.array([number[w] for w in target], dtype=np.int64) for _, target in usable]
        shapes: dict[tuple[int, int], _Integers] = {}
        spans = []  # (source length with the empty word, group (j, l, m)) of each target position
        places = groups = 0
        for source, target in zip(sources, targets, strict=True):
            long, m = len(source), len(target)
            if (long, m) in shapes:
                continue
            shapes[long, m] = np.arange(places, places + long * m)
            spans.append((np.full(long * m, long), groups + np.repeat(np.arange(m), long)))
            places, groups = places + long * m, groups + m
        self.lengths_at: _Floats = np.concatenate([length for length, _ in spans]).astype(np.float64)
        self.group_at: _Integers = np.concatenate([group for _, group in spans])
        self.slot: _Integers = np.concatenate(
            [shapes[len(s), len(t)] for s, t in zip(sources, targets, strict=True)]
        )
        lengths = np.repeat([len(s) for s in sources], [len(t) for t in targets])
        self.target_index: _Integers = np.repeat(np.arange(len(lengths)), lengths)
        source_words = np.concatenate([np.tile(s, len(t)) for s, t in zip(sources, targets, strict=True)])
        target_words = np.repeat(np.concatenate(targets), lengths)
        size = len(self.words) + 1
        codes, self.entry = np.unique(source_words * size + target_words, return_inverse=True)
        self.source_of_entry, self.target_of_entry = codes // size, codes % size
        #: Number of target words that co-occur with each source word.
        self.partners: _Integers = np.bincount(self.source_of_entry, minlength=size)


def _shares(joint: _Floats, kind: _Integers, group_of_kind: _Integers) -> _Floats:
    """Return expected counts of each kind of cell over those of the kind's group; 0 if the group has none."""
    counts = np.bincount(kind, joint).astype(np.float64)
    totals = np.bincount(group_of_kind, counts)[group_of_kind]
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
