"""Wsabie: maps of images and captions trained with a ranking loss, one pair at a time.

For a pair (x, y) wrong captions are drawn until one, y', violates the margin: x W U' y' > x W U' y - 1. After
s draws the rank of y is estimated as r = floor((n - 1) / s), and a gradient step is made on

    L(r) max(0, 1 - x W U' y + x W U' y'),    L(r) = 1 + 1/2 + ... + 1/r

Then each column of W and U that is longer than the root of `norm` is shortened to it (eq. 4). Rows have
length 1, initial weights are normal, n is the number of captions. After 1,000 draws without a violation the
pair is skipped. With AdaGrad each weight has its own learning rate: `rate` over the root of its summed
squared gradients. Scores are cosines. The rate and the norm are chosen on held-out images after a few epochs.

Source: Gong et al. 2014, section 3.2, eq. 3 and 4; after Weston et al. 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_IMAGES,
    Amounts,
    Dataset,
    FitContext,
    Matrix,
    State,
    View,
    add_method,
    checked_numbers,
)
from models_core.estimators.embeddings import RECALL, LinearEmbedder, LinearMap
from models_core.estimators.grids import GRID_STEPS, Axis, Grid, GridPoint, GridSteps
from phrasebox.lazy import LazyModule, sparse

if TYPE_CHECKING:
    from models_core.estimators.wsabie import steps
else:
    steps = LazyModule("models_core.estimators.wsabie.steps")

#: Number of epochs between two evaluations on the held-out images.
LOOK_EVERY = 10

Update = Literal["sgd", "adagrad"]
SparseCaptions = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class WsabieSettings(CheckedRecord):
    """Settings of Wsabie; of several rates and norms the best pair is chosen on held-out images."""

    components: Annotated[int, Field(ge=1, description="Numbers of an embedding (c)")] = 96
    update: Annotated[Update, Field(description="How weights are changed")] = "adagrad"
    rates: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Learning rates that are tried"),
    ] = (0.2, 0.4, 0.6, 0.8, 1.0)
    norms: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Longest squared columns that are tried (alpha)"),
    ] = (50.0, 100.0, 150.0, 200.0)
    epochs: Annotated[int, Field(ge=1, description="Passes over the training pairs")] = 300
    trial_epochs: Annotated[int, Field(ge=1, description="Passes before settings are compared")] = 20
    grid_steps: GridSteps = GRID_STEPS


class Wsabie(LinearEmbedder):
    """The method. Learned are the maps, `rate_` and `norm_`, `tried_` with a row (rate, norm, mean recall)
    for each setting, and `curve_` with a row (epoch, mean loss, mean held-out recall) for each evaluation."""

    cosine = True
    rate_: float
    norm_: float
    tried_: Matrix
    curve_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: WsabieSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Wsabie:
        """Train on every caption with its image; choose rate and norm on `validation`, the first of equally
        good ones.

        Training continues from the context's latest checkpoint, with the same result as an uninterrupted one.
        Raises ValueError if there is something to choose but no held-out pairs, if a number is not finite,
        and if all captions belong to one image.
        """
        settings, checkpoints = self.settings, context.checkpoints
        grid = Grid((Axis("rate", settings.rates), Axis("norm", settings.norms)), RECALL, settings.grid_steps)
        if validation is None and grid.size > 1:
            raise ValueError("Wsabie chooses its rate on held-out images; give some, or one rate and norm")
        pairs = _Pairs(train)
        arrays, checkpoint = checkpoints.latest() or ({}, {"tried": [], "run": None})
        tried: list[tuple[float, float, float]] = [tuple(row) for row in checkpoint["tried"]]

        def walked(setting: GridPoint, epochs: int, phase: str, done: int, of: int) -> _Walk:
            walk = _Walk(pairs, settings, setting, context)
            if checkpoint["run"] is not None:
                walk.restore(arrays, checkpoint["run"])
                checkpoint["run"] = None
            while walk.epochs < epochs:
                context.progress(phase, done * epochs + walk.epochs, of * epochs)
                loss = walk.epoch()
                if walk.epochs % LOOK_EVERY == 0 or walk.epochs == epochs:
                    self.images_, self.captions_ = walk.maps()
                    walk.curve.append((walk.epochs, loss, self.held_out_recall(validation)))
                if checkpoints.due:
                    held, run = walk.state()
                    checkpoints.save(held, {"tried": tried, "run": run})
            context.progress(phase, (done + 1) * epochs, of * epochs)
            return walk

        trial_epochs = min(settings.trial_epochs, settings.epochs)
        while (setting := grid.next_setting(tried)) is not None:
            figure = 0.0
            if grid.size > 1:
                known = max(grid.size, len(tried) + 1)
                figure = walked(setting, trial_epochs, "trying rates", len(tried), known).curve[-1][2]
            tried.append((*setting, figure))  # type: ignore[arg-type]
            if grid.size > 1:
                checkpoints.save({}, {"tried": tried, "run": None})
        self.tried_, self.selection_ = np.asarray(tried), grid.remarks(tried)
        self.rate_, self.norm_ = grid.best(tried)
        walk = walked((self.rate_, self.norm_), settings.epochs, "learning", 0, 1)
        self.images_, self.captions_ = walk.maps()
        self.curve_ = np.asarray(walk.curve)
        return self

    def state(self) -> State:
        """Return everything learned: arrays, and settings that fit JSON."""
        arrays = {**self.map_arrays(), "tried": self.tried_, "curve": self.curve_}
        return arrays, {"rate": self.rate_, "norm": self.norm_}

    @classmethod
    def from_state(cls, settings: WsabieSettings, state: State) -> Wsabie:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.take_maps(arrays)
        restored.tried_, restored.curve_ = arrays["tried"], arrays["curve"]
        restored.rate_, restored.norm_ = stored_settings["rate"], stored_settings["norm"]
        return restored


class _Pairs:
    """The training pairs with rows of length 1, for `_epoch`."""

    def __init__(self, train: Dataset) -> None:
        self.image_of = np.asarray(train.image_of, np.int64)
        if len(np.unique(self.image_of)) < 2:
            raise ValueError("all captions are of one image; Wsabie needs wrong captions")
        self.images = np.ascontiguousarray(_of_length_one(train.images, IMAGE_VIEW).toarray(), np.float32)
        texts = _of_length_one(train.captions, CAPTION_VIEW)
        self.captions: SparseCaptions = (
            texts.data.astype(np.float32),
            texts.indices.astype(np.int64),
            texts.indptr.astype(np.int64),
        )
        self.words = texts.shape[1]


class _Walk:
    """The weights between epochs of training."""

    def __init__(
        self, pairs: _Pairs, settings: WsabieSettings, setting: GridPoint, context: FitContext
    ) -> None:
        rng = context.rng("weights")
        sizes = (pairs.images.shape[1], pairs.words)
        self.weights = [rng.standard_normal((size, settings.components)).astype(np.float32) for size in sizes]
        self.scales = [np.ones(settings.components, np.float32) for _ in sizes]
        self.squares = [np.zeros_like(weights) for weights in self.weights]
        self.order = context.rng("order")
        self.pairs, (self.rate, self.norm) = pairs, setting
        self.adagrad = settings.update == "adagrad"
        self.epochs = 0
        self.curve: list[tuple[float, float, float]] = []

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return everything that the next epoch depends on, for `restore`."""
        arrays = {
            f"{name}.{side}": array
            for name, sides in (("weights", self.weights), ("scales", self.scales), ("squares", self.squares))
            for side, array in enumerate(sides)
        }
        order = self.order.bit_generator.state
        return arrays, {"epochs": self.epochs, "order": order, "curve": self.curve, "figure": "recall"}

    def restore(self, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> None:
        """Restore a state; raises KeyError if something is missing."""
        self.weights, self.scales, self.squares = (
            [np.array(arrays[f"{name}.{side}"]) for side in (0, 1)]
            for name in ("weights", "scales", "squares")
        )
        self.epochs, self.order.bit_generator.state = settings["epochs"], settings["order"]
        self.curve = [tuple(row) for row in settings["curve"]]

    def epoch(self) -> float:
        """Make one pass over the pairs in a new order; return the mean loss of a pair."""
        order = self.order.permutation(len(self.pairs.image_of)).astype(np.int64)
        seed = np.uint64(self.order.integers(1, 2**63))
        loss = steps.walk_pairs(
            self.pairs.images,
            self.pairs.captions,
            self.pairs.image_of,
            order,
            seed,
            (self.weights[0], self.weights[1], self.scales[0], self.scales[1]),
            (self.squares[0], self.squares[1]),
            (self.rate, self.norm, self.adagrad),
        )
        self.epochs += 1
        return float(loss) / len(order)

    def maps(self) -> tuple[LinearMap, LinearMap]:
        """Return the maps of both sides; rows need not have length 1, since cosines do not depend on it."""
        maps = [
            LinearMap(np.zeros(len(weights)), weights.astype(np.float64) * scale)
            for weights, scale in zip(self.weights, self.scales, strict=True)
        ]
        return maps[0], maps[1]


def _of_length_one(view: View, name: str) -> sparse.csr_matrix:
    """Return rows divided by their lengths; zero rows stay. Raises ValueError for a number that is not
    finite."""
    if not isinstance(view, sparse.csr_matrix):
        view = checked_numbers(view, name)
    elif not np.isfinite(view.data).all():
        raise ValueError(f"{name} hold a number that is not finite; every number must be finite")
    rows = sparse.csr_matrix(view, dtype=np.float64)
    rows.sort_indices()
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return sparse.csr_matrix(sparse.diags(1 / np.sqrt(np.where(squares > 0, squares, 1.0))) @ rows)


def wsabie_memory(settings: WsabieSettings, amounts: Amounts) -> float:
    """`Method.memory` of Wsabie: images, which go through a sparse matrix; weights and squares."""
    numbers = amounts[IMAGE_NUMBERS] + amounts[CAPTION_NUMBERS]
    weights = (4 + 4 + 8 + 8) * numbers * settings.components
    return weights + 40.0 * amounts[TRAINING_IMAGES] * amounts[IMAGE_NUMBERS]


add_method(
    name="wsabie",
    title="Wsabie",
    settings=WsabieSettings,
    make=Wsabie,
    load=Wsabie.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "vectors"},
    source="Gong et al. 2014, section 3.2",
    phases=(("trying rates", 1), ("learning", 1)),
    memory=wsabie_memory,
    recipes={
        "Wsabie-SGD": {
            # The paper gives both grids, so they are not extended.
            "settings": {
                "update": "sgd",
                "rates": [0.01, 0.05, 0.1, 0.2, 0.5, 1.0],
                "grid_steps": 0,
            },
            "printed": "Wsabie with SGD",
        },
        "Wsabie-AdaGrad": {
            "settings": {"update": "adagrad", "grid_steps": 0},
            "printed": "Wsabie with AdaGrad",
        },
    },
)
