"""Regions that show things, and phrases that name them, with word vectors."""

import numpy as np

from models_core.estimators.base import Dataset, RaggedRows
from models_core.features.text.phrases import PhraseRows, mean_vectors, numbered_phrases

LINK = ("captions", "images")
THINGS, COLOURS, NUMBERS = 6, 3, 10
NAMES = [*(f"t{number}" for number in range(THINGS)), "red", "blue", "old"]
WORDS = {word: number for number, word in enumerate(NAMES)}


def looks():
    """Return vectors of things and colours, shape (things + colours, numbers)."""
    return np.random.default_rng(7).standard_normal((THINGS + COLOURS, NUMBERS))


def phrase_rows(texts):
    """Return each phrase as the mean of its words' vectors."""
    vectors = np.random.default_rng(8).standard_normal((THINGS + COLOURS, 8)).astype(np.float32)
    phrase_of, words, begin, end = numbered_phrases(texts, WORDS)
    return PhraseRows(phrase_of, words, begin, end, vectors, vectors.shape[1], mean_vectors)


def named(thing, colour):
    return [NAMES[THINGS + colour], f"t{thing}"]


def drawn_regions(rng, things, colours):
    noise = 0.2 * rng.standard_normal((len(things), NUMBERS))
    return (looks()[things] + looks()[THINGS + np.asarray(colours)] + noise).astype(np.float32)


def phrases_of_regions(count, *, held_out=0):
    """Return training pairs, two phrases per region, and held-out ones with one phrase each."""
    rng = np.random.default_rng(0)

    def created(regions, item):
        things, colours = rng.integers(THINGS, size=regions), rng.integers(COLOURS, size=regions)
        message = [named(*value) for value in zip(things, colours, strict=True) for _ in range(item)]
        views = {
            "images": RaggedRows.of_counts(drawn_regions(rng, things, colours), np.ones(regions, np.intp)),
            "captions": phrase_rows(message),
        }
        return Dataset(views, {LINK: np.repeat(np.arange(regions), item)})

    return created(3 * count, 2), created(3 * held_out, 1)


def images_of_regions(count):
    """Return images of three regions each with one phrase per region, in mixed order; and the correct
    regions."""
    rng = np.random.default_rng(1)
    rows, message, image_of, right = [], [], [], []
    for image in range(count):
        things = rng.choice(THINGS, 3, replace=False)
        colours = rng.integers(COLOURS, size=3)
        rows.append(drawn_regions(rng, things, colours))
        for region in rng.permutation(3):
            message.append(named(things[region], colours[region]))
            image_of.append(image)
            right.append(int(region))
    regions = RaggedRows.of_counts(np.concatenate(rows), np.full(count, 3))
    data = Dataset({"images": regions, "captions": phrase_rows(message)}, {LINK: np.asarray(image_of)})
    return data, np.asarray(right)


def pictures_with_phrases(count, *, held_out=0):
    """Return whole images, each the sum of three regions, with a caption that names all; and held-out ones.

    Also returns the training images' regions with a phrase each, and new images with their regions and
    phrases, one caption each.
    """
    rng = np.random.default_rng(2)

    def created(images):
        things = np.array([rng.choice(THINGS, 3, replace=False) for _ in range(images)])
        colours = rng.integers(COLOURS, size=things.shape)
        rows = np.stack(
            [drawn_regions(rng, *own_phrases) for own_phrases in zip(things, colours, strict=True)]
        )
        message = [
            [named(*row) for row in zip(*own_phrases, strict=True)]
            for own_phrases in zip(things, colours, strict=True)
        ]
        captions = phrase_rows(
            [[word for phrase in own_phrases for word in phrase] for own_phrases in message]
        )
        regions = RaggedRows.of_counts(rows.reshape(-1, NUMBERS), np.full(images, 3))
        phrases = phrase_rows([phrase for own_phrases in message for phrase in own_phrases])
        views = {"images": rows.sum(axis=1), "captions": captions, "regions": regions, "phrases": phrases}
        owner = np.repeat(np.arange(images), 3)
        return Dataset(views, {LINK: np.arange(images), ("phrases", "captions"): owner})

    train, new = created(count), created(held_out)
    regions = train.views["regions"]
    alone = RaggedRows.of_counts(regions.values, np.ones(3 * count, np.intp))
    pairs = Dataset({"images": alone, "captions": train.views["phrases"]}, {LINK: np.arange(3 * count)})
    return train, new, pairs
