"""Four ways to learn normalised CCA from clean pairs X, Y and weak pairs F, T.

weak only      CCA of F, T
joint          CCA of [X; beta F], [Y; beta T]
text feature   CCA of [X, the mean of the texts T of each image's k nearest F], Y
stacked        CCA of [X, phi(X A)], [Y, phi(Y B)], A and B the scaled maps of CCA on F, T;
               phi is a random Fourier map (SAE), or nothing (linear); without X and Y "stacked training"

Weak texts are described as the clean captions are. What stands beside other features is scaled to their mean
variance: one ridge is for both, and would else count for the smaller alone. Ridges and powers, of both CCAs,
are chosen on held-out clean images.

Source: Gong et al. 2014, sections 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    Dataset,
    FitContext,
    Matrix,
    Method,
    RankDirection,
    State,
    View,
    checked_numbers,
    register_method,
)
from models_core.estimators.cca import CCA
from models_core.estimators.covariances import (
    ADDING_UP,
    Covariances,
    sums_of_dataset,
    sums_of_pairs,
)
from models_core.estimators.transfer.settings import (
    JointSettings,
    StackedSettings,
    TextFeatureSettings,
    WeakSettings,
)
from models_core.features.fourier import FourierFeatures
from models_core.scoring.tiles import Scores

#: What a fit finds weak pairs under.
WEAK = "weak"
#: Weak images that are compared at a time.
_BLOCK = 8192
#: Rows that variances are compared on; of more, as many are drawn.
_SCALED_BY = 5000


def matching_scale(own: View, added: NDArray[Any]) -> float:
    """By which columns are multiplied so that their mean variance is that of the columns of `own`.

    1 where either has none.
    """
    mean = np.asarray(own.mean(axis=0, dtype=np.float64)).ravel()
    squares = own.multiply(own) if isinstance(own, sparse.csr_matrix) else np.square(own, dtype=np.float64)
    theirs = float((np.asarray(squares.mean(axis=0)).ravel() - mean**2).mean())
    ours = float(added.var(axis=0, dtype=np.float64).mean())
    return float(np.sqrt(theirs / ours)) if theirs > 0 and ours > 0 else 1.0


def weak_pairs(context: FitContext) -> Dataset:
    """Raises ValueError where there are none."""
    if WEAK not in context.auxiliary:
        raise ValueError("the method learns from weak pairs too; give a weak collection")
    return context.auxiliary[WEAK]


class WeakOnly:
    """Normalised CCA of weak pairs; learned is `cca_`."""

    cca_: CCA

    def __init__(self, settings: WeakSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> WeakOnly:
        """Learn from the weak pairs; held-out clean ones choose ridge and power. Raises ValueError."""
        self.cca_ = CCA(self.settings.cca()).solve(self._covariances(train, context), validation, context)
        return self

    def _covariances(self, train: Dataset, context: FitContext) -> Covariances:
        return sums_of_dataset(weak_pairs(context), context).covariances()

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Cosines; rows are queries."""
        return self.cca_.score(data, direction=direction)

    def state(self) -> State:
        """What CCA learned."""
        return self.cca_.state()

    @classmethod
    def from_state(cls, settings: Any, state: State) -> WeakOnly:
        """What `state` gave; raises KeyError where something is missing."""
        found = cls(settings)
        found.cca_ = CCA.from_state(settings.cca(), state)
        return found


class Joint(WeakOnly):
    """Normalised CCA of clean and weak pairs as one set; learned is `cca_`."""

    settings: JointSettings

    def _covariances(self, train: Dataset, context: FitContext) -> Covariances:
        # Rows times beta are, in squares, pairs that count beta^2 times.
        found = sums_of_dataset(train, context)
        found.merge(sums_of_dataset(weak_pairs(context), context).weighted(self.settings.weight**2))
        return found.covariances()


class TextFeature:
    """CCA of images beside the mean text of similar weak images; learned is `cca_`.

    It keeps the weak pairs, which new images are compared with: `images_`, shape (n, d), and `texts_`, the
    mean bag of each, sparse (n, words).
    """

    cca_: CCA
    images_: NDArray[np.float32]
    texts_: sparse.csr_matrix
    scale_: float

    def __init__(self, settings: TextFeatureSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> TextFeature:
        """Learn from clean pairs; raises ValueError without weak pairs."""
        weak = weak_pairs(context)
        self.images_ = np.ascontiguousarray(weak.images, np.float32)
        count = len(self.images_)
        owner = sparse.csr_matrix(
            (np.ones(len(weak.image_of), np.float32), (weak.image_of, np.arange(len(weak.image_of)))),
            shape=(count, len(weak.image_of)),
        )
        several = np.maximum(np.asarray(owner.sum(axis=1)).ravel(), 1)
        self.texts_ = sparse.csr_matrix(sparse.diags(1 / several) @ owner @ sparse.csr_matrix(weak.captions))
        context.progress("looking for neighbours", 0, 1)
        self.scale_ = matching_scale(train.images, self.text_features(train.images))
        described = self._with_texts(train)
        context.progress("looking for neighbours", 1, 1)
        self.cca_ = CCA(self.settings.cca()).fit(
            described, None if validation is None else self._with_texts(validation), context
        )
        return self

    def _with_texts(self, data: Dataset) -> Dataset:
        texts = np.float32(self.scale_) * self.text_features(data.images)
        beside = np.hstack([np.asarray(data.images, np.float32), texts])
        return Dataset({**data.views, IMAGE_VIEW: beside}, data.links)

    def text_features(self, images: View) -> NDArray[np.float32]:
        """The mean text of each image's nearest weak images, shape (images, words)."""
        rows = np.asarray(images, np.float32)
        k = min(self.settings.neighbours, len(self.images_))
        # Of each block the nearest k stay; |x - f|^2 less |x|^2 is enough to compare.
        lengths = np.einsum("ij,ij->i", self.images_, self.images_)
        near = np.empty((len(rows), 0), np.float32)
        places = np.empty((len(rows), 0), np.intp)
        for start in range(0, len(self.images_), _BLOCK):
            part = slice(start, start + _BLOCK)
            apart = lengths[part] - 2 * rows @ self.images_[part].T
            near = np.hstack([near, apart])
            own = np.arange(start, start + apart.shape[1])
            places = np.hstack([places, np.broadcast_to(own, apart.shape)])
            kept = np.argsort(near, axis=1, kind="stable")[:, :k]
            near, places = np.take_along_axis(near, kept, 1), np.take_along_axis(places, kept, 1)
        chosen = sparse.csr_matrix(
            (np.full(places.size, 1 / k, np.float32), places.ravel(), np.arange(len(rows) + 1) * k),
            shape=(len(rows), len(self.images_)),
        )
        return np.asarray((chosen @ self.texts_).toarray(), np.float32)

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Cosines; rows are queries."""
        return self.cca_.score(self._with_texts(data), direction=direction)

    def state(self) -> State:
        """What CCA learned, and the weak pairs."""
        arrays, said = self.cca_.state()
        texts = {"data": self.texts_.data, "indices": self.texts_.indices, "indptr": self.texts_.indptr}
        arrays |= {"weak.images": self.images_, **{f"weak.texts.{name}": own for name, own in texts.items()}}
        return arrays, {**said, "words": self.texts_.shape[1], "scale": self.scale_}

    @classmethod
    def from_state(cls, settings: TextFeatureSettings, state: State) -> TextFeature:
        """What `state` gave; raises KeyError where something is missing."""
        arrays, said = state
        found = cls(settings)
        found.cca_ = CCA.from_state(settings.cca(), state)
        found.images_, found.scale_ = arrays["weak.images"], said["scale"]
        parts = tuple(arrays[f"weak.texts.{name}"] for name in ("data", "indices", "indptr"))
        found.texts_ = sparse.csr_matrix(parts, shape=(len(found.images_), said["words"]))
        return found


class Stacked:
    """CCA on top of the features that a CCA of weak pairs gives; learned are `weak_` and `cca_`, with Fourier
    features `fourier_` for each side, and `scales_` of what stands beside the original features."""

    weak_: CCA
    cca_: CCA
    fourier_: Mapping[str, FourierFeatures]
    scales_: Mapping[str, float]

    def __init__(self, settings: StackedSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Stacked:
        """Learn from weak pairs first, then from clean ones; raises ValueError without weak pairs."""
        settings = self.settings
        if isinstance(train.images, np.ndarray) and not np.isfinite(train.images.sum(dtype=np.float64)):
            checked_numbers(train.images, IMAGE_VIEW)  # it names the first
        weak = sums_of_dataset(self._auxiliary(context), context).covariances()
        self.weak_ = CCA(settings.weak_cca()).solve(weak, validation, context)
        self.fourier_ = {}
        if settings.mapping == "fourier":
            for view in (IMAGE_VIEW, CAPTION_VIEW):
                made = FourierFeatures(
                    settings.features, neighbour=settings.neighbour, as_printed=settings.as_printed
                )
                rows = self.weak_.embed(view, train.views[view])
                self.fourier_ = {**self.fourier_, view: made.fit(rows, context.rng(f"fourier, {view}"))}
        self.scales_ = {IMAGE_VIEW: 1.0, CAPTION_VIEW: 1.0}
        if settings.original:
            self.scales_ = {view: self._scale(view, train.views[view], context) for view in self.scales_}
        context.progress(ADDING_UP, 0, 1)
        found = sums_of_pairs(
            train.images,
            train.captions,
            train.image_of,
            described=(
                lambda block: self.stacked(IMAGE_VIEW, block),
                lambda block: self.stacked(CAPTION_VIEW, block),
            ),
        )
        context.progress(ADDING_UP, 1, 1)
        held_out = None if validation is None else self._all_stacked(validation)
        self.cca_ = CCA(settings.cca()).solve(found.covariances(), held_out, context)
        return self

    def _auxiliary(self, context: FitContext) -> Dataset:
        return weak_pairs(context)

    def _mapped(self, view: str, rows: View) -> Matrix:
        """phi(X A)."""
        embedded = self.weak_.embed(view, rows)
        return self.fourier_[view].transform(embedded) if view in self.fourier_ else embedded

    def _scale(self, view: str, rows: View, context: FitContext) -> float:
        chosen = context.rng(f"scale, {view}").permutation(rows.shape[0])[:_SCALED_BY]
        return matching_scale(rows[chosen], self._mapped(view, rows[chosen]))

    def stacked(self, view: str, rows: View) -> View:
        """[X, phi(X A)] of eq. 5, dense, shape (rows, numbers of the CCA on top)."""
        embedded: View = self.scales_[view] * self._mapped(view, rows)
        if not self.settings.original:
            return embedded
        own = rows.toarray() if isinstance(rows, sparse.csr_matrix) else np.asarray(rows)
        return np.hstack([own, embedded])

    def _all_stacked(self, data: Dataset) -> Dataset:
        views = {view: self.stacked(view, data.views[view]) for view in (IMAGE_VIEW, CAPTION_VIEW)}
        return Dataset(views, data.links)

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Cosines; rows are queries."""
        return self.cca_.score(self._all_stacked(data), direction=direction)

    def state(self) -> State:
        """What both CCAs learned, and what was drawn."""
        said: dict[str, Any] = {"scales": dict(self.scales_)}
        arrays: dict[str, NDArray[Any]] = {}
        for name, model in (("weak", self.weak_), ("top", self.cca_)):
            own, said[name] = model.state()
            arrays |= {f"{name}.{key}": array for key, array in own.items()}
        for view, made in self.fourier_.items():
            arrays |= {f"fourier.{view}.{key}": array for key, array in made.state().items()}
        return arrays, said

    @classmethod
    def from_state(cls, settings: StackedSettings, state: State) -> Stacked:
        """What `state` gave; raises KeyError where something is missing."""
        arrays, said = state

        def of(prefix: str) -> dict[str, NDArray[Any]]:
            start = f"{prefix}."
            return {key.removeprefix(start): own for key, own in arrays.items() if key.startswith(start)}

        found = cls(settings)
        found.weak_ = CCA.from_state(settings.weak_cca(), (of("weak"), said["weak"]))
        found.cca_ = CCA.from_state(settings.cca(), (of("top"), said["top"]))
        found.scales_ = said["scales"]
        views = (IMAGE_VIEW, CAPTION_VIEW) if settings.mapping == "fourier" else ()
        found.fourier_ = {
            view: FourierFeatures(
                settings.features, neighbour=settings.neighbour, as_printed=settings.as_printed
            ).take_state(of(f"fourier.{view}"))
            for view in views
        }
        return found


def _registered(name: str, title: str, settings: type, kind: Any, recipes: Mapping[str, Any]) -> None:
    register_method(
        Method(
            name=name,
            title=title,
            settings=settings,
            make=kind,
            load=kind.from_state,
            takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "vectors"},
            source="Gong et al. 2014, section 4",
            recipes=recipes,
            needs=(WEAK,),
        )
    )


_registered(
    "weak-only",
    "CCA of weak pairs",
    WeakSettings,
    WeakOnly,
    {"Weak-only": {"printed": "Weakly Supervised Only"}},
)
_registered(
    "joint", "CCA of clean and weak pairs", JointSettings, Joint, {"Joint": {"printed": "Joint Training"}}
)
_registered(
    "text-feature",
    "CCA with text features",
    TextFeatureSettings,
    TextFeature,
    {"Text-feature": {"printed": "Text Feature"}},
)
_registered(
    "stacked",
    "stacked CCA",
    StackedSettings,
    Stacked,
    {
        "SAE": {"printed": "SAE (nonlinear)"},
        "SAE-linear": {"settings": {"mapping": "linear"}, "printed": "SAE (linear)"},
        "Stacked": {
            "settings": {"mapping": "linear", "original": False, "weak_components": 256},
            "printed": "Stacked Training",
        },
    },
)
