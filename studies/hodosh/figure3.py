"""Figure 3 of Hodosh et al. 2013: the words most similar to "rider" and "swim", printed and ours.

Four columns: alignment and distributional similarity are cosines (eq. 18) on the training captions, Lin's is
eq. 22. The column on the British National Corpus stays empty: it has a licence of its own and is not among
the data. The sizes of the vocabularies, section 3.5.3 and 3.5.4, are added.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from annotation.protocol.terms import ImageRecord
from models_core.features.text.aligned import Tagged, aligned, word_classes
from models_core.features.text.distributional import distributional, frequent
from models_core.features.text.lemmas import Lemmatiser, Word
from models_core.features.text.lin import Lin
from models_core.features.text.wordnet import WordNet
from phrasebox.kernels.similarity import WordKernel
from studies.hodosh.cells import COUNT, KAPPA, PrintedCell

TABLE = "Figure 3"
ALIGNMENT, CAPTIONS, BNC, LIN = "alignment", "distributional, captions", "distributional, BNC", "Lin"
NO_BNC = "the British National Corpus has a licence of its own and is not among the data"

#: By column and word, its five most similar words with their similarities, as printed.
PRINTED_FIGURE3: dict[str, dict[str, dict[str, float]]] = {
    ALIGNMENT: {
        "rider": {"biker": 0.86, "bicyclist": 0.82, "cyclist": 0.79, "bmx": 0.75, "bicycler": 0.73},
        "swim": {"retrieve": 0.56, "paddle": 0.54, "dive": 0.52, "come": 0.38, "wade": 0.31},
    },
    CAPTIONS: {
        "rider": {"bike": 0.41, "dirt": 0.35, "motocross": 0.33, "motorcycle": 0.33, "ride": 0.33},
        "swim": {"pool": 0.53, "trunk": 0.35, "water": 0.34, "dive": 0.30, "goggles": 0.29},
    },
    BNC: {
        "rider": {"ride": 0.21, "horse": 0.20, "race": 0.19, "bike": 0.17, "jockey": 0.16},
        "swim": {"fish": 0.21, "water": 0.18, "sea": 0.18, "pool": 0.18, "beach": 0.17},
    },
    LIN: {
        "rider": {"traveler": 0.94, "cyclist": 0.89, "bicyclist": 0.89, "horseman": 0.84, "jockey": 0.84},
        "swim": {"bathe": 0.85, "sport": 0.85, "football": 0.77, "activity": 0.75, "soccer": 0.73},
    },
}
#: Numbers of words of frequency 5 or more, nouns, verbs, and words that can be both.
PRINTED_SIZES = {
    "words of frequency 5 or more": 1928,
    "nouns": 1180,
    "verbs": 143,
    "nouns that can be verbs": 11,
}

#: Length of our own list in which a printed word must occur.
SIMILAR_WORDS = 6

Nearest = Callable[[str, int], tuple[tuple[str, float], ...]]


@dataclass(frozen=True)
class Neighbour:
    """A printed word with both similarities, and its rank in our list, counted from 1."""

    cell: PrintedCell
    rank: int | None


@dataclass(frozen=True)
class Figure3:
    """`neighbours` of all columns, our own lists of `SIMILAR_WORDS` words, the vocabularies' sizes, and
    the number of images whose captions were read."""

    neighbours: tuple[Neighbour, ...]
    ours: dict[str, dict[str, tuple[tuple[str, float], ...]]]
    sizes: tuple[PrintedCell, ...]
    images: int

    def within(self, column: str) -> int:
        """Return the number of printed words whose similarity is within 0.02."""
        return sum(bool(n.cell.within) for n in self.neighbours if n.cell.column == column)

    def count_listed(self, column: str) -> int:
        """Return the number of printed words among our own first `SIMILAR_WORDS`."""
        return sum(
            n.rank is not None and n.rank <= SIMILAR_WORDS for n in self.neighbours if n.cell.column == column
        )


def tagged(
    images: Iterable[tuple[ImageRecord, ImageRecord]], lemmatiser: Lemmatiser
) -> list[list[tuple[Word, ...]]]:
    """Return the words of each image's captions, from its raw and its lemmatised record."""
    return [
        [
            lemmatiser.words(caption.text, lemmas.text)
            for caption, lemmas in zip(written.captions, lemmatised.captions, strict=True)
        ]
        for written, lemmatised in images
    ]


def make_figure3(training: Tagged, wordnet: WordNet | None, *, why_no_wordnet: str = "no WordNet") -> Figure3:
    """Return Figure 3 from the tagged training captions; without a WordNet its column is empty, with the
    reason."""
    captions = [[word.lemma for word in caption] for image in training for caption in image]
    counts = Counter(lemma for caption in captions for lemma in caption)
    lin = Lin(wordnet, counts) if wordnet else None
    columns: dict[str, tuple[Callable[[str, str], float | None], Nearest] | str] = {
        ALIGNMENT: _of_kernel(aligned(training)),
        CAPTIONS: _of_kernel(distributional(captions)),
        BNC: NO_BNC,
        LIN: _of_lin(lin) if lin else why_no_wordnet,
    }
    neighbours, ours = [], {}
    for column, words in PRINTED_FIGURE3.items():
        had = columns[column]
        if not isinstance(had, str):
            ours[column] = {word: had[1](word, SIMILAR_WORDS) for word in words}
        for word, printed in words.items():
            places = {
                neighbour: n for n, (neighbour, _) in enumerate(ours.get(column, {}).get(word, ()), start=1)
            }
            for neighbour, value in printed.items():
                similarity = None if isinstance(had, str) else had[0](word, neighbour)
                why = (
                    had if isinstance(had, str) else "" if similarity is not None else "not in our vocabulary"
                )
                cell = PrintedCell(
                    TABLE, f"{word}, {neighbour}", column, value, similarity, KAPPA, column, why=why
                )
                neighbours.append(Neighbour(cell, places.get(neighbour)))
    classes = word_classes(training)
    counted = (len(frequent(captions)), len(classes.nouns), len(classes.verbs), len(classes.both))
    sizes = tuple(
        PrintedCell("Vocabularies", name, "words", printed, float(size), COUNT, "vocabularies")
        for (name, printed), size in zip(PRINTED_SIZES.items(), counted, strict=True)
    )
    return Figure3(tuple(neighbours), ours, sizes, len(training))


def _of_kernel(kernel: WordKernel) -> tuple[Callable[[str, str], float | None], Nearest]:
    def value(first: str, second: str) -> float | None:
        known = first in kernel.places and second in kernel.places
        return kernel(first, second) if known else None

    def nearest(word: str, count: int) -> tuple[tuple[str, float], ...]:
        return kernel.nearest(word, count) if word in kernel.places else ()

    return value, nearest


def _of_lin(lin: Lin) -> tuple[Callable[[str, str], float | None], Nearest]:
    """Lists use the nouns of all captions: the printed "traveler" and "horseman" occur only once."""

    def value(first: str, second: str) -> float | None:
        known = first in lin.senses and second in lin.senses
        return lin.similarity(first, second) if known else None

    def nearest(word: str, count: int) -> tuple[tuple[str, float], ...]:
        if word not in lin.senses:
            return ()
        alike = sorted((-lin.similarity(word, second), second) for second in lin.senses if second != word)
        return tuple((second, -value) for value, second in alike[:count])

    return value, nearest
