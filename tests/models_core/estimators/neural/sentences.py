"""Images of a few regions with sentences that name their content."""

import numpy as np

from models_core.estimators.base import Dataset, EdgeNumbers, RaggedRows, WordNumbers

LINK = ("captions", "images")


def scenes(images=20, *, captions=2, things=8, numbers=6, noise=0.1, seed=0, held_out=0):
    """Return a dataset of `images`, and another of `held_out` ones with a caption each, or None.

    An image shows two to four of the `things`, one per region. A caption names them all in any order, among
    uninformative words.
    """
    rng = np.random.default_rng(seed)
    looks = rng.standard_normal((things, numbers))

    def created(count, item):
        regions, words = [], []
        for _ in range(count):
            displayed = rng.choice(things, rng.integers(2, 5), replace=False)
            regions.append(looks[displayed] + noise * rng.standard_normal((len(displayed), numbers)))
            for _ in range(item):
                message = [*displayed, *rng.integers(things, things + 3, rng.integers(0, 3))]
                words.append(rng.permutation(message))
        return Dataset(
            {"images": rows_of(regions), "captions": numbers_of(words, things + 3)},
            {LINK: np.repeat(np.arange(count), item)},
        )

    return created(images, captions), created(held_out, 1) if held_out else None


def rows_of(item):
    """Return items with these rows."""
    width = next((len(row) for rows in item for row in rows), 1)
    values = np.concatenate([np.reshape(rows, (-1, width)) for rows in item]).astype(np.float32)
    return RaggedRows.of_counts(values, [len(rows) for rows in item])


def numbers_of(item, vocabulary, vectors=None):
    """Return sentences of these word numbers."""
    rows = RaggedRows.of_counts(
        np.concatenate([np.asarray(e, np.int64) for e in item]), [len(e) for e in item]
    )
    return WordNumbers(rows.values, rows.begin, rows.end, vocabulary, vectors)


def edges_as_numbers(item, vocabulary, relations, vectors=None):
    """Return sentences of these edges: relation, head, word."""
    rows = RaggedRows.of_counts(
        np.concatenate([np.asarray(e, np.int64).reshape(-1, 3) for e in item]), [len(e) for e in item]
    )
    return EdgeNumbers(rows.values, rows.begin, rows.end, vocabulary, vectors, relations)


def in_edges(data, relations=3):
    """Return the same data, in which each word depends on the previous one, with an uninformative
    relation."""
    words = data.captions
    item = []
    for index in range(len(words)):
        values = words.item(index).tolist()
        before = [words.vocabulary, *values[:-1]]
        item.append(
            [(n % relations, head, word) for n, (head, word) in enumerate(zip(before, values, strict=True))]
        )
    edges = edges_as_numbers(item, words.vocabulary + 1, relations)
    return Dataset({**data.views, "captions": edges}, data.links)


def named_pictures(images=20, *, captions=2, things=5, numbers=6, noise=0.1, seed=0, held_out=0):
    """Return a dataset of `images` as vectors, and another of `held_out` ones with a caption each, or None.

    An image shows two of the `things`, and its vector is their sum; a caption names them in the order of
    their numbers, between two words that all captions have.
    """
    rng = np.random.default_rng(seed)
    looks = rng.standard_normal((things, numbers))

    def created(count, item):
        vectors, words = [], []
        for _ in range(count):
            displayed = np.sort(rng.choice(things, 2, replace=False))
            vectors.append(looks[displayed].sum(axis=0) + noise * rng.standard_normal(numbers))
            words += [[things, *displayed, things + 1]] * item
        return Dataset(
            {"images": np.asarray(vectors, np.float32), "captions": numbers_of(words, things + 2)},
            {LINK: np.repeat(np.arange(count), item)},
        )

    return created(images, captions), created(held_out, 1) if held_out else None
