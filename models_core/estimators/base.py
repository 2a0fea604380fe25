"""The interfaces of learning methods: their data, their scores, and their registry.

A method is a module of this package, or of a package in the server's setting `METHOD_PACKAGES`. It creates a
`Method` and passes it to `register_method`; no other module refers to it by name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_core.checked_fields import BadField
from models_core.checkpoints import Checkpoints
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.device import CPU
from phrasebox.lazy import sparse
from phrasebox.registry import registering
from phrasebox.scoring.tiles import Scores

Matrix = NDArray[np.float64]
#: Images are queries for captions, or captions are queries for images.
RankDirection = Literal["annotation", "search"]
DIRECTIONS: tuple[RankDirection, ...] = ("annotation", "search")


@dataclass(frozen=True)
class RaggedRows:
    """Items with several rows each: those of item i are `values[begin[i]:end[i]]`, possibly none.

    `values` has shape (rows, numbers), or (rows,) where a row is one number; it may be memory-mapped.
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
        """The number type of the results of `item` and `padded`."""
        return self.values.dtype

    @property
    def counts(self) -> NDArray[np.intp]:
        """The number of rows of each item, shape (items,)."""
        return self.end - self.begin

    @classmethod
    def of_counts(cls, values: NDArray[Any], counts: ArrayLike) -> RaggedRows:
        """Build items with consecutive rows, `counts` of them each. Raises ValueError for another sum."""
        rows = np.asarray(counts, np.intp)
        if rows.sum() != len(values):
            raise ValueError(f"items have {rows.sum()} rows; expected {len(values)}")
        end = np.cumsum(rows)
        return cls(values, end - rows, end)

    def take(self, chosen: ArrayLike) -> RaggedRows:
        """Return these items, in this order; no row is copied."""
        places = np.asarray(chosen, np.intp)
        return replace(self, begin=self.begin[places], end=self.end[places])

    def item(self, index: int) -> NDArray[Any]:
        """Return the rows of an item."""
        return self.values[self.begin[index] : self.end[index]]

    def joined(self) -> NDArray[Any]:
        """Return the rows of all items, one after the other: copied only if they are not contiguous."""
        if not len(self):
            return self.values[:0]
        if np.array_equal(self.begin[1:], self.end[:-1]):
            return self.values[self.begin[0] : self.end[-1]]
        return np.concatenate([self.values[a:b] for a, b in zip(self.begin, self.end, strict=True)])

    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the first of each group of identical items, ascending, and for each item the position of its
        group.

        Identical items have bitwise the same rows. If no other item has an item's first row, its other rows
        are not read.
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
        """Return rows of these items side by side, shape (items, longest, numbers), and a mask of the actual
        rows, shape (items, longest); the rest is 0. No other row is read."""
        places = np.asarray(chosen, np.intp)
        counts = self.counts[places]
        there = np.arange(max(1, counts.max(initial=0))) < counts[:, None]
        values = np.zeros((*there.shape, *self.values.shape[1:]), self.dtype)
        for row, index in enumerate(places):
            values[row, : counts[row]] = self.item(int(index))
        return values, there


@dataclass(frozen=True)
class UnitRows(RaggedRows):
    """Items whose rows are normalised to length 1 when they are read, in single precision; zero rows stay.

    So nothing of a memory-mapped file is copied before it is needed.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single precision."""
        return np.dtype(np.float32)

    def item(self, index: int) -> NDArray[Any]:
        """Return the rows of an item, with length 1."""
        return rows_of_length_1(np.asarray(super().item(index), np.float32))

    def joined(self) -> NDArray[Any]:
        """Return the rows of all items, with length 1."""
        return rows_of_length_1(np.asarray(super().joined(), np.float32))


def rows_of_length_1(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows divided by their lengths, in their own precision; zero rows stay."""
    if not rows.size:
        return rows
    # Scaling by powers of two changes no digit, and prevents overflow and underflow of the squares.
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    scaled = np.ldexp(rows, -np.frexp(largest)[1][:, None])
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1)[:, None])


@dataclass(frozen=True)
class WordNumbers(RaggedRows):
    """Sentences as numbers of their words, from 0 to `vocabulary` - 1.

    `vectors` are the words' vectors, if there are any, shape (vocabulary, numbers).
    """

    vocabulary: int = 0
    vectors: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class TagNumbers(WordNumbers):
    """Images' tags as numbers, each image's most relevant first. `vectors` are the tags'."""


@dataclass(frozen=True)
class EdgeNumbers(WordNumbers):
    """Sentences as their dependency edges: a row has the number of the relation, from 0 to `relations` - 1,
    of the head, and of the word itself."""

    relations: int = 0


#: Descriptions of one kind of item: a row for each. Kernels have a column for each training item. Methods
#: that take regions or words get RaggedRows (omitted from this alias, or every other method would have to
#: check for it).
View: TypeAlias = Union[NDArray[Any], "sparse.csr_matrix"]
IMAGE_VIEW, CAPTION_VIEW = "images", "captions"
#: Additional kinds of items: regions of the images (RaggedRows), and phrases of the captions (PhraseRows).
REGION_VIEW, PHRASE_VIEW = "regions", "phrases"
#: The form in which a method takes a kind of item: its kernel with the training items, its own features,
#: those of its regions, the numbers of its words, of its dependency edges or of its ranked tags, vectors of
#: phrases (`PhraseRows`), or, for captions, vectors supplied by the user.
Form = Literal["kernel", "vectors", "regions", "words", "edges", "tags", "phrases", "given"]
#: What a method predicts for new items: a ranking for each query, a sentence for each image, scores of an
#: image's regions for each phrase, or a ranking of tags for each image.
Prediction = Literal["rankings", "captions", "localizations", "tags"]
#: The items with captions that a method learns from: images, or regions of images with the words about each.
CaptionedItem = Literal["images", "regions"]
#: How a method uses regions of training images and the phrases about them: not at all; as training data
#: besides images and captions; or also regions and phrases of the items that it ranks.
Grounding = Literal["none", "training", "ranking"]
#: The learned state: arrays by name, and JSON-serialisable settings.
State = tuple[dict[str, NDArray[Any]], dict[str, Any]]


@dataclass(frozen=True)
class Dataset:
    """Descriptions of several kinds of items, and the links between them.

    `views` has a row for each item of a kind. `links[("captions", "images")]` is the row of each caption's
    image, shape (captions,).
    """

    views: Mapping[str, View]
    links: Mapping[tuple[str, str], NDArray[np.intp]]

    @property
    def images(self) -> View:
        """The images, one row each."""
        return self.views[IMAGE_VIEW]

    @property
    def captions(self) -> View:
        """The captions, one row each."""
        return self.views[CAPTION_VIEW]

    @property
    def image_of(self) -> NDArray[np.intp]:
        """The row of each caption's image, shape (captions,)."""
        return self.links[CAPTION_VIEW, IMAGE_VIEW]


class SumPairs(Protocol):
    """Sums pairs instead of `covariances.sums_of_pairs`."""

    def __call__(self, images: View, captions: View, image_of: NDArray[np.intp], *, described: Any) -> Any:
        """Return the `PairedSums` over all captions with their images; `described` is a `RowMap`, or None."""


@dataclass(frozen=True)
class FitContext:
    """What a fit may use besides its data: a random generator, a device, a progress callback, and additional
    data by the names in `Method.needs`, such as "weak". `sum_pairs`, if given, sums covariances instead of
    `covariances.sums_of_pairs`. `checkpoints` store intermediate states."""

    seed: int = 0
    device: str = CPU
    progress: PhaseProgress = no_progress
    auxiliary: Mapping[str, Dataset] = field(default_factory=dict)
    sum_pairs: SumPairs | None = None
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def rng(self, phase: str) -> np.random.Generator:
        """Return the random generator of this phase alone: skipping one phase does not change the draws of
        another."""
        digest = hashlib.sha256(phase.encode()).digest()[:8]
        return np.random.default_rng([self.seed, int.from_bytes(digest)])


#: The amounts of training data, by the names below: images, captions, and numbers per row of each; held-out
#: images; additional pairs (weak ones, or regions with phrases); and different words or tags.
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
    """Scores images with captions. Learned attributes end in an underscore."""

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Learn from `train`; settings are chosen on `validation`, never on test data."""

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return scores: rows are queries, images for annotation and captions for search; columns are the
        items."""

    def state(self) -> State:
        """Return the learned state; `Method.load` restores it bit for bit."""


def no_estimate(settings: Any, amounts: Amounts) -> float:
    """Return 0: the memory of the method is unknown."""
    return 0.0


def several_values(settings: Any) -> bool:
    """Whether a setting lists several values, of which the best is chosen."""
    values = (getattr(settings, field.name) for field in fields(settings))
    return any(isinstance(value, tuple) and len(set(value)) > 1 for value in values)


def no_check(text: Any, image: Any) -> None:
    """Accept every setting of both sides."""


@dataclass(frozen=True)
class Method:
    """A method that scores images with captions, registered by name in `METHODS`.

    `settings` is a frozen dataclass, whose fields are the keys of a recipe's table and whose descriptions are
    the help on the page. `takes` is the form of each kind of item. A method that does not `learn` is not
    fitted; one that `selects` chooses settings on held-out images, if its settings leave anything to choose
    (`chooses`). Unless `comparable`, scores can only be compared within a query. `check` raises BadField for
    settings of the two sides that it cannot use. `recipes` are recipes of this method by name, as plain data.
    `table` is the name of its settings in a recipe, `stored` that of its learned state in a stored system.
    `source` names the paper. `needs` names additional training data; with `needs_words` it uses word vectors
    too. A method that `predicts` rankings is a Retriever; one that predicts captions, of `items`, is a
    Captioner; one that predicts localizations is a Localizer; one that predicts tags is an ImageTagger (see
    `predictors`). Held-out images have `all_captions` or one each. With `by_processes` several processes can
    train together. With `grounding` the context has regions with phrases of the training images, as
    "regions". `phases` are those that `fit` reports, in order, each with its share of the training time, on
    any scale; a phase may be repeated. They move the progress bar of a job. Rows must have a length (root of
    their summed squares) within `lengths`: `inputs` rejects others. `memory` returns roughly how many bytes
    `fit` takes, from its settings and the `Amounts` of data.
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
    """Register a method under its name; raises ValueError if another one has it."""
    if METHODS.get(method.name, method) != method:
        raise ValueError(f"two methods are called {method.name!r}; give one another name")
    METHODS[method.name] = method
    return method


#: Create a method from the arguments of `Method`, and register it.
add_method = registering(register_method, Method)


def method_named(name: str) -> Method:
    """Return the method of this name; raises BadField listing the existing ones."""
    if not isinstance(name, str) or name not in METHODS:
        raise BadField("method", name, f"one of {', '.join(METHODS)}")
    return METHODS[name]


def checked_numbers(values: ArrayLike, name: str) -> Matrix:
    """Return finite real numbers as float64; raises ValueError with the first invalid entry."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of type {numbers.dtype}; expected real numbers")
    numbers = np.asarray(numbers, dtype=np.float64)
    # A sum is only finite if all entries are, and needs no boolean matrix.
    if not np.isfinite(numbers.sum()):
        invalid = np.argwhere(~np.isfinite(numbers))
        if len(invalid):
            at = tuple(int(i) for i in invalid[0])
            raise ValueError(f"{name} is {numbers[at]} at {at}; every entry must be a finite number")
    return numbers
