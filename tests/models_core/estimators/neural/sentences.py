"""Images of a few regions with sentences that name what is in them."""

import numpy as np

from models_core.estimators.base import Dataset, EdgeNumbers, RaggedRows, WordNumbers

LINK = ("captions", "images")


def scenes(images=20, *, captions=2, things=8, numbers=6, noise=0.1, seed=0, held_out=0):
    """A dataset of `images`, and another of `held_out` ones with a caption each, or None.

    An image shows two to four of the `things`, a region each. A caption names them all in any order, among
    words that say nothing.
    """
    dice = np.random.default_rng(seed)
    looks = dice.standard_normal((things, numbers))

    def made(count, each):
        regions, words = [], []
        for _ in range(count):
            shown = dice.choice(things, dice.integers(2, 5), replace=False)
            regions.append(looks[shown] + noise * dice.standard_normal((len(shown), numbers)))
            for _ in range(each):
                said = [*shown, *dice.integers(things, things + 3, dice.integers(0, 3))]
                words.append(dice.permutation(said))
        return Dataset(
            {"images": rows_of(regions), "captions": numbers_of(words, things + 3)},
            {LINK: np.repeat(np.arange(count), each)},
        )

    return made(images, captions), made(held_out, 1) if held_out else None


def rows_of(each):
    """Items with these rows."""
    width = next((len(row) for rows in each for row in rows), 1)
    values = np.concatenate([np.reshape(rows, (-1, width)) for rows in each]).astype(np.float32)
    return RaggedRows.of_counts(values, [len(rows) for rows in each])


def numbers_of(each, vocabulary, vectors=None):
    """Sentences of these numbers of words."""
    rows = RaggedRows.of_counts(
        np.concatenate([np.asarray(e, np.int64) for e in each]), [len(e) for e in each]
    )
    return WordNumbers(rows.values, rows.begin, rows.end, vocabulary, vectors)


def edges_as_numbers(each, vocabulary, relations, vectors=None):
    """Sentences of these edges: a relation, the word depended on, the word."""
    rows = RaggedRows.of_counts(
        np.concatenate([np.asarray(e, np.int64).reshape(-1, 3) for e in each]), [len(e) for e in each]
    )
    return EdgeNumbers(rows.values, rows.begin, rows.end, vocabulary, vectors, relations)


def in_edges(data, relations=3):
    """The same data, where each word depends on the one before, by a relation that says nothing."""
    words = data.captions
    each = []
    for place in range(len(words)):
        own = words.item(place).tolist()
        before = [words.vocabulary, *own[:-1]]
        each.append(
            [(n % relations, head, word) for n, (head, word) in enumerate(zip(before, own, strict=True))]
        )
    made = edges_as_numbers(each, words.vocabulary + 1, relations)
    return Dataset({**data.views, "captions": made}, data.links)


def named_pictures(images=20, *, captions=2, things=5, numbers=6, noise=0.1, seed=0, held_out=0):
    """A dataset of `images` as vectors, and another of `held_out` ones with a caption each, or None.

    An image shows two of the `things`, and its vector is their sum; a caption names them in the order of
    their numbers, between two words that all captions have.
    """
    dice = np.random.default_rng(seed)
    looks = dice.standard_normal((things, numbers))

    def made(count, each):
        vectors, words = [], []
        for _ in range(count):
            shown = np.sort(dice.choice(things, 2, replace=False))
            vectors.append(looks[shown].sum(axis=0) + noise * dice.standard_normal(numbers))
            words += [[things, *shown, things + 1]] * each
        return Dataset(
            {"images": np.asarray(vectors, np.float32), "captions": numbers_of(words, things + 2)},
            {LINK: np.repeat(np.arange(count), each)},
        )

    return made(images, captions), made(held_out, 1) if held_out else None
