"""Mixtures of Gaussians, of Laplacians, and of both, over word vectors.

    log p(x) = log sum over k of w_k product over d of f_kd(x_d)

f_kd is a Gaussian (GMM), a Laplacian (LMM), or whichever of them fits component k better in dimension d
(HGLMM). Plummer et al. 2015, section 3, use the last with 30 components, after Klein et al. 2015, and print
no equations; ours are the maximum-likelihood steps of EM in `mixture_steps`, each of which chooses the kinds
of HGLMM again. EM starts from the clusters of k-means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.features.image.clusters import k_means, nearest
from models_core.features.text.mixture_steps import (
    ComponentSums,
    Doubles,
    Family,
    MixtureParameters,
    log_joint,
    new_parameters,
    posteriors_of,
    rank_edges,
)
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.threads import one_blas_thread

#: Number of rows in double precision at a time.
_BLOCK = 4096
#: Maximum number of rows from which clusters and edges are computed; more rows are sampled.
_SAMPLE = 1 << 15


@dataclass(frozen=True, slots=True)
class MixtureSettings(CheckedRecord):
    """Settings of fitting a mixture. Raises BadField. Source: Plummer et al. 2015, section 3 (30
    components)."""

    family: Annotated[
        Family, Field(description="Components: Gaussians, Laplacians, or in each dimension what fits better")
    ] = "hybrid"
    components: Annotated[int, Field(ge=1, le=10_000, description="Components of the mixture")] = 30
    passes: Annotated[int, Field(ge=1, description="Passes of EM over the rows, at most")] = 100
    tolerance: Annotated[
        float, Field(ge=0, lt=1, description="EM ends when the log-likelihood gains less than this share")
    ] = 1e-5
    floor: Annotated[
        float, Field(gt=0, le=1, description="Least scale, as a share of the dimension's standard deviation")
    ] = 0.01
    bins: Annotated[
        int, Field(ge=2, le=65_536, description="Edges in each dimension that Laplacians' medians lie on")
    ] = 1024
    seed: Annotated[int, Field(ge=0, description="Seed of the sample and of the first clusters")] = 0


class WordMixture:
    """A mixture over word vectors; `fit` sets `parameters_` and `curve_`.

    `curve_`, shape (passes,), is the mean log-likelihood of a row before each pass of EM.
    """

    parameters_: MixtureParameters
    curve_: Doubles

    def __init__(self, settings: MixtureSettings | None = None) -> None:
        self.settings = settings or MixtureSettings()

    def fit(
        self,
        rows: NDArray[Any],
        *,
        counts: NDArray[Any] | None = None,
        progress: PhaseProgress = no_progress,
    ) -> WordMixture:
        """Fit to rows, shape (words, dimensions), read in blocks; they may be memory-mapped.

        `counts`, shape (words,), are weights of the rows, 1 by default. `progress` is called with the passes
        done. Raises ValueError for another shape, numbers that are not finite, negative counts, and fewer
        rows, or fewer distinct rows, than components.
        """
        settings = self.settings
        data = _Rows.of(rows, counts, settings.components)
        centred = data.sample(settings.seed)
        try:
            points = centred.astype(np.float32)
            centres = k_means(points, settings.components, seed=settings.seed, most_passes=20)
        except ValueError:
            raise ValueError(
                f"{settings.components} components were requested, but there are fewer different rows; "
                "request fewer, or give more words"
            ) from None
        edges = None if settings.family == "gaussian" else rank_edges(centred, settings.bins)
        least = settings.floor * data.deviation
        shape = (len(centres), centres.shape[1])
        none = MixtureParameters(
            np.full(len(centres), 1 / len(centres)),
            centres.astype(float),
            np.broadcast_to(data.deviation, shape),
            np.full(shape, settings.family == "laplacian"),
        )
        with one_blas_thread():
            sums = ComponentSums(*shape, edges)
            for block, often in data:
                owner = nearest(block.astype(np.float32), centres)[0]
                sums.add(block, np.eye(len(centres))[owner] * often[:, None])
            parameters = new_parameters(sums, none, least, settings.family)
            curve: list[float] = []
            for done in range(1, settings.passes + 1):
                sums, total = ComponentSums(*shape, edges), 0.0
                for block, often in data:
                    shares, likelihoods = posteriors_of(log_joint(block, parameters))
                    total += float(often @ likelihoods)
                    sums.add(block, shares * often[:, None])
                parameters = new_parameters(sums, parameters, least, settings.family)
                curve.append(total / data.total)
                progress("mixture", done, settings.passes)
                if done > 1 and curve[-1] - curve[-2] <= settings.tolerance * abs(curve[-2]):
                    break
        self.parameters_ = replace(parameters, locations=parameters.locations + data.centre)
        self.curve_ = np.array(curve)
        return self

    def posteriors(self, rows: NDArray[Any]) -> Doubles:
        """Return p(component | row) of rows, shape (rows, dimensions); shape (rows, components).

        Raises ValueError for another width or a number that is not finite.
        """
        return np.concatenate([posteriors for posteriors, _ in self._expected(rows)])

    def log_likelihoods(self, rows: NDArray[Any]) -> Doubles:
        """Return log p of each of rows, shape (rows, dimensions); shape (rows,). Raises as `posteriors`
        does."""
        return np.concatenate([likelihoods for _, likelihoods in self._expected(rows)])

    def _expected(self, rows: NDArray[Any]) -> Iterator[tuple[Doubles, Doubles]]:
        """Yield posteriors and log-likelihoods, block by block; one empty block if there are no rows."""
        width = self.parameters_.locations.shape[1]
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(f"word vectors have shape {rows.shape}; expected (words, {width})")
        centre = self.parameters_.locations.mean(axis=0)
        near = replace(self.parameters_, locations=self.parameters_.locations - centre)
        for start in range(0, max(1, len(rows)), _BLOCK):
            block = _finite(rows[start : start + _BLOCK], start) - centre
            if len(block):
                with one_blas_thread():
                    yield posteriors_of(log_joint(block, near))
            else:
                yield np.empty((0, len(near.weights))), np.empty(0)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the fitted parameters, and settings that fit JSON, for `from_state`."""
        parameters = self.parameters_
        arrays: dict[str, NDArray[Any]] = {
            "weights": parameters.weights,
            "locations": parameters.locations,
            "scales": parameters.scales,
            "laplacian": parameters.laplacian,
            "curve": self.curve_,
        }
        return arrays, asdict(self.settings)

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> WordMixture:
        """Restore from the result of `state`; raise KeyError if something is missing."""
        restored = cls(MixtureSettings(**settings))
        names = ("weights", "locations", "scales", "laplacian")
        restored.parameters_ = MixtureParameters(*(np.asarray(arrays[name]) for name in names))
        restored.curve_ = np.asarray(arrays["curve"])
        return restored


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows in blocks of doubles around `centre`; `deviation` has shape (dimensions,), without zeros."""

    rows: NDArray[Any]
    counts: NDArray[Any] | None
    total: float
    centre: Doubles
    deviation: Doubles

    @classmethod
    def of(cls, rows: NDArray[Any], counts: NDArray[Any] | None, components: int) -> _Rows:
        if rows.ndim != 2 or not rows.shape[1]:
            raise ValueError(f"word vectors have shape {rows.shape}; expected (words, dimensions)")
        if len(rows) < components:
            raise ValueError(
                f"{components} components were requested, but there are only {len(rows)} rows; "
                "request fewer, or give more words"
            )
        if counts is not None:
            if counts.shape != (len(rows),):
                raise ValueError(
                    f"counts have shape {counts.shape}; expected ({len(rows)},), one for each row"
                )
            bad = np.flatnonzero(~(np.isfinite(counts) & (counts >= 0)))
            if len(bad) or not counts.any():
                columns = (
                    f"row {bad[0]} (counted from 0) counts {counts[bad[0]]}" if len(bad) else "no row counts"
                )
                raise ValueError(f"{columns}; expected 0 or more, of some rows more")
        data = cls(rows, counts, 0.0, np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
        total, first = 0.0, data.centre
        for block, often in data:
            total, first = total + float(often.sum()), first + often @ block
        data = replace(data, total=total, centre=first / total)
        squares = sum((often @ block**2 for block, often in data), np.zeros(rows.shape[1]))
        deviation = np.sqrt(squares / total)
        if deviation.any():  # a constant dimension gets the others' width
            deviation[deviation == 0] = deviation[deviation > 0].mean()
        return replace(data, deviation=np.where(deviation > 0, deviation, 1.0))

    def __iter__(self) -> Iterator[tuple[Doubles, Doubles]]:
        for start in range(0, len(self.rows), _BLOCK):
            block = _finite(self.rows[start : start + _BLOCK], start) - self.centre
            often = np.ones(len(block)) if self.counts is None else self.counts[start : start + _BLOCK]
            yield block, np.asarray(often, float)

    def sample(self, seed: int) -> Doubles:
        """Return at most `_SAMPLE` rows with a positive count, around the centre."""
        places = np.arange(len(self.rows)) if self.counts is None else np.flatnonzero(self.counts)
        if len(places) > _SAMPLE:
            places = np.sort(np.random.default_rng(seed).choice(places, _SAMPLE, replace=False))
        return np.asarray(self.rows[places], float) - self.centre


def _finite(block: NDArray[Any], start: int) -> Doubles:
    """Return the block in double precision. Raises ValueError for a number that is not finite."""
    checked = np.asarray(block, float)
    # A sum is finite only if all numbers are; it may overflow for huge ones.
    if not np.isfinite(checked.sum()) and not np.isfinite(checked).all():
        row, column = np.argwhere(~np.isfinite(checked))[0]
        raise ValueError(
            f"word vectors: row {row + start}, column {column} (counted from 0) is {checked[row, column]}; "
            "expected finite numbers"
        )
    return checked
