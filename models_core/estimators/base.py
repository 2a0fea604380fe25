"""What every method that learns is to the rest: the data it is given, how it scores, and how it is found.

A method is a module of this package, or of a package that `METHOD_PACKAGES` of the server names. It makes a
`Method` and hands it to `register_method`; nothing else knows it by name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from models_core.checked_fields import BadField
from models_core.checkpoints import Checkpoints
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.device import CPU
from phrasebox.registry import registering
from phrasebox.scoring.tiles import Scores

Matrix = NDArray[np.float64]
#: An image asks for captions, or a caption for images.
RankDirection = Literal["annotation", "search"]
DIRECTIONS: tuple[RankDirection, ...] = ("annotation", "search")


@dataclass(frozen=True)
class RaggedRows:
    """Items of several rows each: those of item i are `values[begin[i]:end[i]]`, and may be none.

    `values` has shape (rows, numbers), or (rows,) where a row is one number; it may be mapped from a file.
    """

    values: NDArray[Any]
    begin: NDArray[np.intp]
    end: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def shape(self) -> tuple[int, ...]:
        """(items, numbers of a row), or (items,)."""
        return (len(self), *self.values.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers that `item` and `padded` give."""
        return self.values.dtype

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many rows each item has, shape (items,)."""
        return self.end - self.begin

    @classmethod
    def of_counts(cls, values: NDArray[Any], counts: ArrayLike) -> RaggedRows:
        """Items whose rows follow each other, `counts` of them each. Raises ValueError for another sum."""
        rows = np.asarray(counts, np.intp)
        if rows.sum() != len(values):
            raise ValueError(f"items have {rows.sum()} rows; expected {len(values)}")
        end = np.cumsum(rows)
        return cls(values, end - rows, end)

    def take(self, chosen: ArrayLike) -> RaggedRows:
        """Those items, in this order; no row is copied."""
        places = np.asarray(chosen, np.intp)
        return replace(self, begin=self.begin[places], end=self.end[places])

    def item(self, index: int) -> NDArray[Any]:
        """The rows of an item."""
        return self.values[self.begin[index] : self.end[index]]

    def joined(self) -> NDArray[Any]:
        """The rows of all items, one after the other: copied only where they do not lie so."""
        if not len(self):
            return self.values[:0]
        if np.array_equal(self.begin[1:], self.end[:-1]):
            return self.values[self.begin[0] : self.end[-1]]
        return np.concatenate([self.values[a:b] for a, b in zip(self.begin, self.end, strict=True)])

    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first of each items that are alike, ascending, and for each item its place among these.

        Alike are items of the same rows to the bit. Of an item whose first row no other has, nothing else is
        read.
        """
        begins = np.minimum(self.begin, max(0, len(self.values) - 1))
        heads = [
            (int(count), self.values[begin].tobytes() if count else b"")
            for begin, count in zip(begins.tolist(), self.counts.tolist(), strict=True)
        ]
        often = Counter(heads)
        known: dict[Any, int] = {}
        firsts: list[int] = []
        which = np.empty(len(self), np.intp)
        for index, head in enumerate(heads):
            key: Any = index
            if often[head] > 1:
                rows = np.ascontiguousarray(self.values[self.begin[index] : self.end[index]])
                key = head[0], hashlib.blake2b(rows.tobytes(), digest_size=16).digest()
            which[index] = known.setdefault(key, len(firsts))
            if which[index] == len(firsts):
                firsts.append(index)
        return np.asarray(firsts, np.intp), which

    def padded(self, chosen: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Rows of those items side by side, shape (items, longest, numbers), and where they are rows, shape
        (items, longest); the rest is 0. No other row is read."""
        places = np.asarray(chosen, np.intp)
        counts = self.counts[places]
        there = np.arange(max(1, counts.max(initial=0))) < counts[:, None]
        values = np.zeros((*there.shape, *self.values.shape[1:]), self.dtype)
        for row, index in enumerate(places):
            values[row, : counts[row]] = self.item(int(index))
        return values, there


@dataclass(frozen=True)
class UnitRows(RaggedRows):
    """Items whose rows get length 1 when they are looked at, in single precision; rows of zeros stay.

    So nothing of a mapped file is copied before it is needed.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single precision."""
        return np.dtype(np.float32)

    def item(self, index: int) -> NDArray[Any]:
        """The rows of an item, with length 1."""
        return rows_of_length_1(np.asarray(super().item(index), np.float32))

    def joined(self) -> NDArray[Any]:
        """The rows of all items, with length 1."""
        return rows_of_length_1(np.asarray(super().joined(), np.float32))


def rows_of_length_1(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows divided by their lengths, in their own precision; rows of zeros stay."""
    if not rows.size:
        return rows
    # Powers of two change no digit, and keep squares from overflowing and from vanishing.
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    scaled = np.ldexp(rows, -np.frexp(largest)[1][:, None])
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1)[:, None])


@dataclass(frozen=True)
class WordNumbers(RaggedRows):
    """Sentences as numbers of their words, from 0 to `vocabulary` - 1.

    `vectors` are the words' vectors where some are given, shape (vocabulary, numbers).
    """

    vocabulary: int = 0
    vectors: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class TagNumbers(WordNumbers):
    """Images' tags as numbers, each image's most relevant first. `vectors` are the tags'."""


@dataclass(frozen=True)
class EdgeNumbers(WordNumbers):
    """Sentences as their dependency edges: a row is the number of the relation, from 0 to `relations` - 1, of
    the word depended on, and of the word itself."""

    relations: int = 0


#: One kind of item, described: a row for each. Of kernels, a column for each training item. A method that
#: takes regions or words is given RaggedRows (left out here, or each other method had to ask).
View: TypeAlias = NDArray[Any] | sparse.csr_matrix
IMAGE_VIEW, CAPTION_VIEW = "images", "captions"
#: Further kinds of items: regions of the images (RaggedRows), and phrases of the captions (PhraseRows).
REGION_VIEW, PHRASE_VIEW = "regions", "phrases"
#: What a method takes of a kind of item: its kernel with the training items, its own features, those of its
#: regions, the numbers of its words, of its dependency edges or of its ranked tags, vectors of phrases
#: (`PhraseRows`), or, of captions, vectors that somebody gives.
Form = Literal["kernel", "vectors", "regions", "words", "edges", "tags", "phrases", "given"]
#: What a method makes of new items: an order of them for each query, a sentence for each image, scores of an
#: image's regions for each phrase, or an order of tags for each image.
Prediction = Literal["rankings", "captions", "localizations", "tags"]
#: What a method learns captions of: images, or regions of images with the words that are said of each.
CaptionedItem = Literal["images", "regions"]
#: What a method does with regions of training images and the phrases that are said of them: nothing; it
#: learns from them beside images and captions; or it looks at regions and phrases of what it ranks, too.
Grounding = Literal["none", "training", "ranking"]
#: What was learned: arrays by name, and settings that fit JSON.
State = tuple[dict[str, NDArray[Any]], dict[str, Any]]


@dataclass(frozen=True)
class Dataset:
    """Items of several kinds, described, and how they belong together.

    `views` has a row for each item of a kind. `links[("captions", "images")]` is the row of each caption's
    image, shape (captions,).
    """

    views: Mapping[str, View]
    links: Mapping[tuple[str, str], NDArray[np.intp]]

    @property
    def images(self) -> View:
        """The images, a row each."""
        return self.views[IMAGE_VIEW]

    @property
    def captions(self) -> View:
        """The captions, a row each."""
        return self.views[CAPTION_VIEW]

    @property
    def image_of(self) -> NDArray[np.intp]:
        """The row of each caption's image, shape (captions,)."""
        return self.links[CAPTION_VIEW, IMAGE_VIEW]


class SumPairs(Protocol):
    """Adds up pairs in the place of `covariances.sums_of_pairs`."""

    def __call__(self, images: View, captions: View, image_of: NDArray[np.intp], *, described: Any) -> Any:
        """The `PairedSums` over all captions with their images; `described` is a `RowMap`, or None."""


@dataclass(frozen=True)
class FitContext:
    """What a fit may use besides its data: a random generator, a device, somebody who is told how far it is,
    and further data by the names of `Method.needs`, such as "weak". `sum_pairs`, where there is one, adds up
    covariances in the place of `covariances.sums_of_pairs`. `checkpoints` keep what is half learned."""

    seed: int = 0
    device: str = CPU
    progress: PhaseProgress = no_progress
    auxiliary: Mapping[str, Dataset] = field(default_factory=dict)
    sum_pairs: SumPairs | None = None
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def rng(self, phase: str) -> np.random.Generator:
        """Random generator of this phase alone: a phase that is not done again shifts no draw of another."""
        digest = hashlib.sha256(phase.encode()).digest()[:8]
        return np.random.default_rng([self.seed, int.from_bytes(digest)])


#: How much there is to learn from, by the names below: images, captions, and numbers of a row of each; images
#: held out; further pairs (weak ones, or regions with phrases); and different words or tags.
Amounts: TypeAlias = Mapping[str, int]
TRAINING_IMAGES, TRAINING_CAPTIONS, HELD_OUT = "training images", "training captions", "held-out images"
IMAGE_NUMBERS, CAPTION_NUMBERS = "numbers of an image", "numbers of a caption"
FURTHER, FURTHER_IMAGE_NUMBERS, FURTHER_CAPTION_NUMBERS = (
    "further pairs",
    "numbers of an image of the further pairs",
    "numbers of a caption of the further pairs",
)
WORDS = "different words"


class Retriever(Protocol):
    """What scores images with captions. Learned attributes end in an underscore."""

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Learn from `train`; settings are chosen on `validation`, never on what is tested."""

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Rows are queries: images for annotation, captions for search; columns what they ask for."""

    def state(self) -> State:
        """What was learned; `Method.load` takes it back, to the bit."""


def no_estimate(settings: Any, amounts: Amounts) -> float:
    """Nothing is known of the memory that a method takes."""
    return 0.0


def several_values(settings: Any) -> bool:
    """Whether a setting lists several values, of which the best is chosen."""
    values = (getattr(settings, field.name) for field in fields(settings))
    return any(isinstance(value, tuple) and len(set(value)) > 1 for value in values)


def no_check(text: Any, image: Any) -> None:
    """Every setting of both sides is taken."""


@dataclass(frozen=True)
class Method:
    """A way to score images with captions, found by name in `METHODS`.

    `settings` is a frozen dataclass, whose fields are the keys of a recipe's table and whose descriptions
    are the help on the page. `takes` says in which form each kind of item is wanted. A method that `learns`
    nothing is not fitted; one that `selects` chooses settings on held-out images, unless its settings leave
    nothing that it `chooses`. Where `comparable` is
    false, scores compare within a query only. `check` raises BadField for settings of the two sides that it
    cannot use. `recipes` are recipes of this method by name, as plain data. `table` is what a recipe calls
    its settings, `stored` what a stored system calls what was learned. `source` names the paper. `needs`
    names further data that it learns from; one that `needs_words` learns from word vectors too. What
    `predicts` rankings is a Retriever, what predicts captions a Captioner (see `captioners`), of `items`,
    what predicts localizations a Localizer (see `localizers`), what predicts tags an ImageTagger (see
    `taggers`). Held-out images are described by `all_captions` of theirs, or by one each. Several processes
    can learn one `by_processes` together. With `grounding` it finds regions with phrases of the training
    images in the context, as "regions". `phases` are those that `fit` tells of, in order, each with its share
    of the time that learning takes, on any scale; one may come again. They move the progress bar of a job.
    Rows of a length (root of their summed squares) within `lengths` can be learned from and scored: `inputs`
    refuses others. `memory` is how many bytes `fit` takes, about, by its settings and the `Amounts` of data.
    """

    name: str
    title: str
    settings: type
    make: Callable[[Any], Any]
    load: Callable[[Any, State], Any]
    takes: Mapping[str, Form]
    source: str
    learns: bool = True
    selects: bool = True
    chooses: Callable[[Any], bool] = several_values
    comparable: bool = True
    check: Callable[[Any, Any], None] = no_check
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    table: str = "settings"
    stored: str = "model"
    needs: tuple[str, ...] = ()
    needs_words: bool = False
    all_captions: bool = False
    predicts: Prediction = "rankings"
    items: CaptionedItem = "images"
    by_processes: bool = False
    phases: tuple[tuple[str, float], ...] = ()
    grounding: Grounding = "none"
    lengths: tuple[float, float] = (1e-6, 1e8)
    memory: Callable[[Any, Amounts], float] = no_estimate

    @property
    def paper(self) -> str:
        """The source without its section."""
        return self.source.partition(",")[0]


METHODS: dict[str, Method] = {}


def register_method(method: Method) -> Method:
    """Enter a method under its name; ValueError where another has it."""
    if METHODS.get(method.name, method) != method:
        raise ValueError(f"two methods are called {method.name!r}; give one another name")
    METHODS[method.name] = method
    return method


#: Make a method, as `Method` takes it, and enter it.
add_method = registering(register_method, Method)


def method_named(name: str) -> Method:
    """The method of this name; raises BadField, listing those there are."""
    if not isinstance(name, str) or name not in METHODS:
        raise BadField("method", name, f"one of {', '.join(METHODS)}")
    return METHODS[name]


def checked_numbers(values: ArrayLike, name: str) -> Matrix:
    """Finite real numbers as float64; raises ValueError naming the first entry that is none."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of type {numbers.dtype}; expected real numbers")
    numbers = np.asarray(numbers, dtype=np.float64)
    # Sums are not finite where an entry is not, and need no matrix of truth values.
    if not np.isfinite(numbers.sum()):
        invalid = np.argwhere(~np.isfinite(numbers))
        if len(invalid):
            at = tuple(int(i) for i in invalid[0])
            raise ValueError(f"{name} is {numbers[at]} at {at}; every entry must be a finite number")
    return numbers
