"""Sentences that a network writes word by word: the most probable ones, or sampled ones.

A sentence of the words w_1 ... w_n has the probability p(w_1) p(w_2 | w_1) ... p(END | w_1 ... w_n), given
its image. It has at least one word, and at most `limit`: a sentence of that length is cut there and needs no
END.

Beam search keeps the `beam` most probable beginnings of a sentence and extends each with every word. Finished
sentences are set aside, and the best of them is returned as soon as no beginning is more probable, since each
word lowers the probability. A beam of 1 is greedy search. Sampled sentences are drawn word by word; with
temperature T, probabilities of words are in proportion to p^(1/T).

Source: Karpathy and Fei-Fei 2015, section 3.2 ("RNN at test time").
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models_core.estimators.predictors import WritingSettings, WrittenSentence


class WordByWord(Protocol):
    """A network that predicts the next word; END has the highest number."""

    def begin(self, images: Tensor) -> Tensor:
        """Return the state before the first word, a row for each image."""

    def advance(self, state: Tensor, numbers: Tensor) -> Tensor:
        """Return the state after one more word in each row."""

    def next_words(self, state: Tensor) -> Tensor:
        """Return the log-probabilities of the next word, shape (rows, words + 1)."""


@dataclass(slots=True)
class _Search:
    """The search for one image's sentence: beginnings with their log-probabilities, and the best finished
    sentence."""

    words: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    scores: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))
    best: WrittenSentence | None = None

    def go_on(self, following: NDArray[Any], beam: int, limit: int) -> tuple[list[int], list[int]]:
        """Extend all beginnings by one word and keep the best; `following` has a row for each beginning.

        Return the rows that the remaining beginnings extend, and their new words.
        """
        total = self.scores[:, None] + following
        if not self.words[0]:
            total[:, -1] = -np.inf  # a sentence has at least one word
        rows, numbers = np.divmod(_highest(total.ravel(), beam), total.shape[1])
        scores = total[rows, numbers]
        end = total.shape[1] - 1
        cut = len(self.words[0]) + 1 == limit
        ended = (numbers == end) | cut
        for row, number, score in zip(rows[ended], numbers[ended], scores[ended], strict=True):
            if self.best is None or score > self.best.log_probability:
                last = () if number == end else (int(number),)
                self.best = WrittenSentence(self.words[row] + last, float(score))
        alive = ~ended
        if self.best is not None:
            alive &= scores > self.best.log_probability
        self.words = [
            (*self.words[row], int(number)) for row, number in zip(rows[alive], numbers[alive], strict=True)
        ]
        self.scores = scores[alive]
        return rows[alive].tolist(), numbers[alive].tolist()


def _highest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the indices of the `count` highest finite values, highest first; of equal values the first."""
    count = min(count, int(np.isfinite(values).sum()))
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
        places = np.concatenate([above, equal[: count - len(above)]])
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")]


def search_sentences(network: WordByWord, images: Tensor, *, beam: int, limit: int) -> list[WrittenSentence]:
    """Return the most probable sentence that the search finds for each image; `images` has a row for each."""
    searches = [_Search() for _ in range(len(images))]
    state = network.begin(images)
    alive = list(range(len(searches)))
    while alive:
        following = network.next_words(state).cpu().numpy().astype(np.float64)
        rows: list[int] = []
        words: list[int] = []
        first, still = 0, []
        for index in alive:
            search = searches[index]
            held = len(search.words)
            chosen_rows, numbers = search.go_on(following[first : first + held], beam, limit)
            rows += [first + row for row in chosen_rows]
            words += numbers
            first += held
            if chosen_rows:
                still.append(index)
        alive = still
        if alive:
            device = state.device
            state = network.advance(
                state[torch.tensor(rows, device=device)], torch.tensor(words, device=device)
            )
    return [search.best or WrittenSentence(()) for search in searches]


def draw_sentences(
    network: WordByWord,
    images: Tensor,
    generators: list[np.random.Generator],
    *,
    temperature: float,
    limit: int,
) -> list[WrittenSentence]:
    """Return a sentence for each image, sampled with its generator."""
    words: list[list[int]] = [[] for _ in generators]
    scores = np.zeros(len(generators))
    state = network.begin(images)
    alive = list(range(len(generators)))
    for step in range(limit):
        following = network.next_words(state).cpu().numpy().astype(np.float64)
        end = following.shape[1] - 1
        if step == 0:
            following[:, end] = -np.inf
        weights = np.exp((following - following.max(axis=1, keepdims=True)) / temperature)
        drawn = [_drawn(row, generators[index]) for row, index in zip(weights, alive, strict=True)]
        rows = []
        for row, (number, index) in enumerate(zip(drawn, alive, strict=True)):
            scores[index] += following[row, number]
            if number != end:
                words[index].append(number)
                rows.append(row)
        alive = [alive[row] for row in rows]
        if not alive or step == limit - 1:
            break
        device = state.device
        numbers = torch.tensor([drawn[row] for row in rows], device=device)
        state = network.advance(state[torch.tensor(rows, device=device)], numbers)
    return [WrittenSentence(tuple(index), float(score)) for index, score in zip(words, scores, strict=True)]


def _drawn(weights: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return an index sampled in proportion to the weights."""
    summed = np.cumsum(weights)
    return int(np.searchsorted(summed, rng.random() * summed[-1], side="right"))


def write_sentences(
    network: WordByWord, images: Tensor, how: WritingSettings, first: int = 0
) -> list[WrittenSentence]:
    """Return a sentence for each image; `first` is the index of the first image among all images of the
    task."""
    with torch.no_grad():
        if how.words == "search":
            return search_sentences(network, images, beam=how.beam, limit=how.limit)
        generators = [np.random.default_rng([how.seed, first + index]) for index in range(len(images))]
        return draw_sentences(network, images, generators, temperature=how.temperature, limit=how.limit)
