"""Both sides of a recipe as kernels: learned from training captions, with Gram matrices.

Source: Hodosh et al. 2013, sections 3.1 and 3.3 to 3.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.kcca.kcca import unit
from models_core.estimators.nearest_neighbour import f1_similarity
from models_core.features.text.aligned import aligned
from models_core.features.text.distributional import distributional, frequent
from models_core.features.text.lin import Lin
from models_core.features.text.wordnet import DEBIAN_FOLDER, WORDNET_FILES, WordNet
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts, from_json_array, to_json_array
from models_core.storage import file_digest
from models_core.systems.caption_reading import CaptionWords, to_lists
from models_core.systems.dataset import CountedWords, Features, Vectors
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_settings import PictureSettings, TextSettings
from phrasebox import kernels
from phrasebox.device import CPU
from phrasebox.kernels.bag_of_words import BagOfWords
from phrasebox.kernels.grams import FloatMatrix, powered
from phrasebox.kernels.idf import Document, weights
from phrasebox.kernels.similarity import CUT_ALIGNMENT, CUT_DISTRIBUTIONAL, WordKernel, average, greater
from phrasebox.kernels.trigram import Trigram
from phrasebox.lazy import sparse


@dataclass(frozen=True)
class WordVectorTable:
    """Words and their vectors, shape (words, numbers)."""

    words: Sequence[str]
    vectors: NDArray[np.floating]

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these words, zeros for a word without one; shape (words, numbers)."""
        place_of = {word: index for index, word in enumerate(self.words)}
        vectors = np.zeros((len(words), self.vectors.shape[1]), np.float32)
        for row, word in enumerate(words):
            if word in place_of:
                vectors[row] = self.vectors[place_of[word]]
        return vectors

    def of_phrases(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of the vectors of each phrase's words, zeros for a word without one; shape
        (phrases, numbers). Source: structured listwise tagging, section 4.2."""
        words = sorted({word for phrase in phrases for word in phrase.split()})
        place_of, vectors = {word: index for index, word in enumerate(words)}, self.of(words)
        phrase_vectors = np.zeros((len(phrases), self.vectors.shape[1]), np.float32)
        for row, phrase in enumerate(phrases):
            word_vectors = vectors[[place_of[word] for word in phrase.split()]]
            if len(word_vectors) and word_vectors.any(axis=1).all():
                phrase_vectors[row] = word_vectors.mean(axis=0)
        return phrase_vectors


@dataclass(frozen=True)
class CaptionVectorTable:
    """Captions by name and their vectors, shape (captions, numbers), which may be mapped from a file."""

    names: Sequence[str]
    vectors: NDArray[np.floating]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names and vectors."""
        return digest_of_parts(list(self.names), np.asarray(self.vectors))

    def of(self, names: Sequence[str]) -> NDArray[np.floating]:
        """Return the vectors of these captions, shape (captions, numbers), in single or double precision.

        Raises ValueError for a caption without a vector, naming it.
        """
        without = next((name for name in names if name not in self._places), None)
        if without is not None:
            raise ValueError(f"caption {without!r} has no vector; leave its image out, or give one of each")
        vectors = np.asarray(self.vectors[[self._places[name] for name in names]])
        return vectors.astype(np.float64 if vectors.dtype == np.float64 else np.float32)


@dataclass(frozen=True, slots=True)
class Resources:
    """The data that some recipes need besides the corpus.

    `background` is a text as sentences of lemmas, `called` its name; of its `lines`, `excluded` were left out
    as captions of the corpus. `wordnet` is the folder of the noun files, Debian's if None. `word_vectors` are
    initial word vectors of a method, `caption_vectors` describe captions for recipes that take given vectors.
    The `seed` is for random initial values.
    """

    background: Sequence[Sequence[str]] = ()
    called: str = ""
    wordnet: Path | None = None
    lines: int = 0
    excluded: int = 0
    word_vectors: WordVectorTable | None = None
    caption_vectors: CaptionVectorTable | None = None
    seed: int = 0


class TextKernel(Protocol):
    """A kernel of captions, learned on training items."""

    def gram(self, rows: Sequence[Document], columns: Sequence[Document]) -> FloatMatrix:
        """Return the kernel, shape (rows, columns)."""


class F1:
    """F1 of two bags of words (section 3.1), each item's captions as one text."""

    def __init__(self, training: Sequence[Document], weighting: str) -> None:
        self.weight = weights("idf" if weighting == "idf" else "none", training)

    def gram(self, rows: Sequence[Document], columns: Sequence[Document]) -> FloatMatrix:
        """Return F1, in [0, 1]; 0 if neither has a word with a weight."""
        places: dict[str, int] = {}
        left, right = _counts(rows, places), _counts(columns, places)
        left.resize((len(rows), len(places)))
        return f1_similarity(left, right, [self.weight(word) for word in places])


#: Name -> function that learns this kernel on training items; for recipes with word similarity, another
#: kernel is used.
TEXT_KERNELS: dict[str, Callable[[TextSettings, Sequence[Document]], TextKernel]] = {
    "f1": lambda text, training: F1(training, text.weighting),
    "bag-of-words": lambda text, training: BagOfWords(training, weighting=text.weighting),
    "tag-rank": lambda text, training: kernels.TagRank(training),
    "trigram": lambda text, training: Trigram(training, weighting=text.weighting),
}


def text_kernel(
    text: TextSettings, training: Sequence[Document], similarity: WordKernel | None
) -> TextKernel:
    """Return the kernel of the text's side; `similarity` is the result of `similarity_of`."""
    if similarity is not None:
        return kernels.SimilarTrigram(training, similarity, weighting=text.weighting)
    return TEXT_KERNELS[text.kernel](text, training)


def image_gram(image: PictureSettings, rows: Features, columns: Features, device: str = CPU) -> FloatMatrix:
    """Return the kernel of the image's side, shape (rows, columns). Raises BadRecipe for features that do not
    fit.

    Intersections are computed on `device`.
    """
    if isinstance(rows, Vectors) and isinstance(columns, Vectors) and image.of_vectors:
        left, right = np.asarray(rows.values, np.float64), np.asarray(columns.values, np.float64)
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"features of {left.shape[1]} dimensions against {right.shape[1]}; expected the same"
            )
        return powered(unit(left) @ unit(right).T, image.power)
    if isinstance(rows, CountedWords) and isinstance(columns, CountedWords) and not image.of_vectors:
        levels = 2 if image.kernel == "pyramid" else 0
        kernel = kernels.Intersection(levels=levels, power=image.power, device=device)
        left_shares = rows.shares(image.kernel)
        right_shares = left_shares if columns is rows else columns.shares(image.kernel)
        return kernel.gram(left_shares, right_shares)
    check_features(image, rows)
    check_features(image, columns)
    raise ValueError("features of two kinds cannot be compared; expected one kind")


def check_features(image: PictureSettings, features: Features) -> None:
    """Raise BadRecipe if a kernel of picture words is used with vectors, or the other way round."""
    if image.of_vectors == isinstance(features, Vectors):
        return
    raise BadRecipe(
        "the image kernel 'linear' needs a feature file; give one"
        if image.of_vectors
        else f"the image kernel {image.kernel!r} is for visual words, not for a feature file; use 'linear'"
    )


def check_resources(recipe: Recipe, aids: Resources) -> None:
    """Raise BadRecipe if a recipe needs a background text and has none, WordNetMissing for WordNet."""
    if recipe.text.of_background and not aids.background:
        raise BadRecipe(f"recipe {recipe.name!r} needs a background text (BNC in print); give one")
    if recipe.reads == "names" and aids.caption_vectors is None:
        raise BadRecipe(f"recipe {recipe.name!r} needs vectors of captions; give a feature set of them")
    if "lin" in recipe.text.similarities:
        WordNet(aids.wordnet or DEBIAN_FOLDER)


def wordnet_digest(recipe: Recipe, aids: Resources) -> str:
    """Return the SHA-256 of the noun files that a recipe uses; empty if it uses none. Raises
    WordNetMissing."""
    if "lin" not in recipe.text.similarities:
        return ""
    folder = WordNet(aids.wordnet or DEBIAN_FOLDER).folder
    return digest_of_parts([file_digest(folder / name) for name in WORDNET_FILES])


def similarity_of(
    recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
) -> WordKernel | None:
    """Return the recipe's word kernel (section 3.5) for the training captions `words`, or None if it has
    none.

    Raises BadRecipe if the background text is missing, WordNetMissing, and ValueError if there is too little
    text for any word.
    """
    similarities = recipe.text.similarities
    if not similarities:
        return None
    sentences = [[word.lemma for word in caption] for image_captions in words for caption in image_captions]
    corpus = digest_of_parts(to_lists(words))

    def kernel_of(what: str, provenance: dict[str, str], make: Callable[[], WordKernel]) -> WordKernel:
        def arrays() -> PhaseArrays:
            kernel = make()
            return {"words": to_json_array(kernel.words), "matrix": kernel.matrix}

        stored = cache.arrays(f"similarities, {what}", {"corpus": corpus, **provenance}, arrays)
        return WordKernel(from_json_array(stored["words"]), stored["matrix"])

    check_resources(recipe, aids)
    if "lin" in similarities:
        wordnet = WordNet(aids.wordnet or DEBIAN_FOLDER)
        counts = Counter(word for caption in sentences for word in caption)
        return kernel_of(
            "lin", {"wordnet": wordnet_digest(recipe, aids)}, lambda: Lin(wordnet, counts).kernel()
        )
    parts: list[WordKernel] = []
    if recipe.text.of_background:
        text = digest_of_parts([list(sentence) for sentence in aids.background])
        among = frequent(sentences)
        background = kernel_of(
            "background", {"text": text}, lambda: distributional(aids.background, among=among)
        )
        parts.append(background.cut(CUT_DISTRIBUTIONAL))
    if "ic" in similarities:
        parts.append(kernel_of("captions", {}, lambda: distributional(sentences)).cut(CUT_DISTRIBUTIONAL))
    combined = average(*parts) if len(parts) == 2 else parts[0] if parts else None
    if "alignment" in similarities:
        image_captions = kernel_of("alignment", {}, lambda: aligned(words)).cut(CUT_ALIGNMENT)
        combined = image_captions if combined is None else greater(combined, image_captions)
    return combined


def _counts(documents: Sequence[Document], places: dict[str, int]) -> sparse.csr_matrix:
    """Return word counts, shape (documents, words so far)."""
    rows, columns = [], []
    for row, captions in enumerate(documents):
        for words in captions:
            for word in words:
                rows.append(row)
                columns.append(places.setdefault(word, len(places)))
    ones = np.ones(len(rows))
    return sparse.coo_matrix((ones, (rows, columns)), shape=(len(documents), len(places))).tocsr()
