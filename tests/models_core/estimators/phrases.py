"""Regions that show things, and phrases that name them, by words with vectors."""

import numpy as np

from models_core.estimators.base import Dataset, RaggedRows
from models_core.features.text.phrases import PhraseRows, mean_vectors, numbered_phrases

LINK = ("captions", "images")
THINGS, COLOURS, NUMBERS = 6, 3, 10
NAMES = [*(f"t{number}" for number in range(THINGS)), "red", "blue", "old"]
WORDS = {word: number for number, word in enumerate(NAMES)}


def looks():
    """How things and colours look, shape (things + colours, numbers)."""
    return np.random.default_rng(7).standard_normal((THINGS + COLOURS, NUMBERS))


def phrase_rows(texts):
    """Phrases as the mean of their words' vectors."""
    vectors = np.random.default_rng(8).standard_normal((THINGS + COLOURS, 8)).astype(np.float32)
    phrase_of, words, begin, end = numbered_phrases(texts, WORDS)
    return PhraseRows(phrase_of, words, begin, end, vectors, vectors.shape[1], mean_vectors)


def named(thing, colour):
    return [NAMES[THINGS + colour], f"t{thing}"]


def shown(dice, things, colours):
    noise = 0.2 * dice.standard_normal((len(things), NUMBERS))
    return (looks()[things] + looks()[THINGS + np.asarray(colours)] + noise).astype(np.float32)


def phrases_of_regions(count, *, held_out=0):
    """Pairs to learn from, two phrases a region, and held-out ones with a phrase each."""
    dice = np.random.default_rng(0)

    def made(regions, each):
        things, colours = dice.integers(THINGS, size=regions), dice.integers(COLOURS, size=regions)
        said = [named(*own) for own in zip(things, colours, strict=True) for _ in range(each)]
        views = {
            "images": RaggedRows.of_counts(shown(dice, things, colours), np.ones(regions, np.intp)),
            "captions": phrase_rows(said),
        }
        return Dataset(views, {LINK: np.repeat(np.arange(regions), each)})

    return made(3 * count, 2), made(3 * held_out, 1)


def images_of_regions(count):
    """Images of three regions each with a phrase about each, in mixed order; and which region is right."""
    dice = np.random.default_rng(1)
    rows, said, image_of, right = [], [], [], []
    for image in range(count):
        things = dice.choice(THINGS, 3, replace=False)
        colours = dice.integers(COLOURS, size=3)
        rows.append(shown(dice, things, colours))
        for region in dice.permutation(3):
            said.append(named(things[region], colours[region]))
            image_of.append(image)
            right.append(int(region))
    regions = RaggedRows.of_counts(np.concatenate(rows), np.full(count, 3))
    data = Dataset({"images": regions, "captions": phrase_rows(said)}, {LINK: np.asarray(image_of)})
    return data, np.asarray(right)


def pictures_with_phrases(count, *, held_out=0):
    """Whole images, which are the sum of three regions, with a caption that names all; and held-out ones.

    Beside them: the training images' regions with a phrase each, and new images with their regions and
    phrases, a caption each.
    """
    dice = np.random.default_rng(2)

    def made(images):
        things = np.array([dice.choice(THINGS, 3, replace=False) for _ in range(images)])
        colours = dice.integers(COLOURS, size=things.shape)
        rows = np.stack([shown(dice, *own) for own in zip(things, colours, strict=True)])
        said = [[named(*one) for one in zip(*own, strict=True)] for own in zip(things, colours, strict=True)]
        captions = phrase_rows([[word for phrase in own for word in phrase] for own in said])
        regions = RaggedRows.of_counts(rows.reshape(-1, NUMBERS), np.full(images, 3))
        phrases = phrase_rows([phrase for own in said for phrase in own])
        views = {"images": rows.sum(axis=1), "captions": captions, "regions": regions, "phrases": phrases}
        owner = np.repeat(np.arange(images), 3)
        return Dataset(views, {LINK: np.arange(images), ("phrases", "captions"): owner})

    train, new = made(count), made(held_out)
    regions = train.views["regions"]
    alone = RaggedRows.of_counts(regions.values, np.ones(3 * count, np.intp))
    pairs = Dataset({"images": alone, "captions": train.views["phrases"]}, {LINK: np.arange(3 * count)})
    return train, new, pairs
