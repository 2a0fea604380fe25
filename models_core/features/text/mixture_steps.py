"""The two steps of EM for mixtures of diagonal Gaussians and Laplacians: densities, sums, and new parameters.

In each dimension d, a component k has a location m and a scale s, and is a Gaussian or a Laplacian:

    log N(x; m, s) = -(x - m)^2 / (2 s^2) - log s - log(2 pi) / 2        s: standard deviation
    log L(x; m, s) = -|x - m| / s - log(2 s)                             s: mean absolute deviation

Laplacians need weighted medians. To bound the memory, each dimension has `bins` edges, evenly spaced by rank
among the values of a sample of rows; posteriors p(k|x), and p(k|x) x, are summed between the edges. From
these sums the weighted mean of |x - e| is exact for every edge e, and the best edge is chosen. A Laplacian's
location is therefore always an edge: the step is exact among edges, and the median itself if every value is
an edge. Otherwise its rank is off by at most about 1 / (bins * w_k), where w_k is the component's weight.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import LazyModule
from phrasebox.threads import for_each

if TYPE_CHECKING:
    from models_core.features.text import mixture_loops
else:
    mixture_loops = LazyModule("models_core.features.text.mixture_loops")

Doubles = NDArray[np.float64]
#: Kind of the components: Gaussians, Laplacians, or either in each dimension.
Family = Literal["gaussian", "laplacian", "hybrid"]

#: Number of rows, and of dimensions, that one thread processes at a time.
_ROWS, _DIMENSIONS = 512, 32
_LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False)
class MixtureParameters:
    """The parameters of a fitted mixture.

    `weights` has shape (components,) and sums to 1; `locations`, `scales` and `laplacian` (true for a
    Laplacian, false for a Gaussian) have shape (components, dimensions).
    """

    weights: Doubles
    locations: Doubles
    scales: Doubles
    laplacian: NDArray[np.bool_]


class ComponentSums:
    """Sums over rows, weighted by posteriors, from which new parameters are computed.

    `edges` has shape (dimensions, bins), ascending; None if no component can be a Laplacian. `mass` has shape
    (components,), `first` (of x) and `second` (of x squared) (components, dimensions); `inside` and
    `inside_first` (of p and of p x between edges) (dimensions, bins + 1, components).
    """

    def __init__(self, components: int, dimensions: int, edges: Doubles | None) -> None:
        self.edges = edges
        self.mass = np.zeros(components)
        self.first = np.zeros((components, dimensions))
        self.second = np.zeros((components, dimensions))
        bins = 0 if edges is None else edges.shape[1] + 1
        self.inside = np.zeros((dimensions, bins, components))
        self.inside_first = np.zeros((dimensions, bins, components))

    def add(self, rows: Doubles, posteriors: Doubles) -> None:
        """Add rows, shape (rows, dimensions), with their posteriors, shape (rows, components)."""
        self.mass += posteriors.sum(axis=0)
        self.first += posteriors.T @ rows
        self.second += posteriors.T @ rows**2
        edges = self.edges
        if edges is None:
            return
        columns = np.ascontiguousarray(rows.T)

        def count(start: int) -> None:
            part = slice(start, start + _DIMENSIONS)
            mixture_loops.count_in_bins(
                columns[part], edges[part], posteriors, self.inside[part], self.inside_first[part]
            )

        for_each(count, range(0, len(columns), _DIMENSIONS))


def rank_edges(sample: Doubles, bins: int) -> Doubles:
    """Return values of a sample, shape (rows, dimensions), evenly spaced by rank; shape (dimensions,
    bins)."""
    columns = np.sort(np.ascontiguousarray(sample.T), axis=1)
    places = np.linspace(0, len(sample) - 1, bins).round().astype(np.intp)
    return np.ascontiguousarray(columns[:, places])


def log_joint(rows: Doubles, parameters: MixtureParameters) -> Doubles:
    """Return the log of weight times density of each row under each component, shape (rows, components).

    Rows should be near 0, since squares are multiplied out. Call within `one_blas_thread`.
    """
    inverse = 1 / parameters.scales
    precision = np.where(parameters.laplacian, 0, inverse**2)
    slopes = np.where(parameters.laplacian, inverse, 0)
    constant = np.log(parameters.weights) - np.where(
        parameters.laplacian, np.log(2 * parameters.scales), np.log(parameters.scales) + np.log(2 * np.pi) / 2
    ).sum(axis=1)
    shifted = parameters.locations * precision
    constant -= (parameters.locations * shifted).sum(axis=1) / 2
    any_gaussian, any_laplacian = not parameters.laplacian.all(), parameters.laplacian.any()
    joint = np.empty((len(rows), len(constant)))

    def fill(start: int) -> None:
        part = slice(start, start + _ROWS)
        block, out = rows[part], joint[part]
        out[:] = constant
        if any_gaussian:
            out += block @ shifted.T
            out -= (block**2 @ precision.T) / 2
        if any_laplacian:
            mixture_loops.subtract_deviations(block, parameters.locations, slopes, out)

    for_each(fill, range(0, len(rows), _ROWS))
    return joint


def posteriors_of(joint: Doubles) -> tuple[Doubles, Doubles]:
    """Return posteriors, shape (rows, components), and log-likelihoods, shape (rows,), from `log_joint`."""
    highest = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - highest)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    shares[shares < mixture_loops.LEAST_POSTERIOR] = 0
    return shares, (highest + np.log(total))[:, 0]


def new_parameters(
    sums: ComponentSums, before: MixtureParameters, least: Doubles, family: Family
) -> MixtureParameters:
    """Return the parameters of maximum likelihood given the sums, with scales of at least `least`, shape
    (dimensions,).

    In a hybrid, each component and dimension becomes a Gaussian or a Laplacian, whichever is more likely.
    Components without rows keep their parameters of `before`.
    """
    mass = np.maximum(sums.mass, _LEAST_WEIGHT)[:, None]
    locations = sums.first / mass
    spread = np.maximum(sums.second / mass - locations**2, 0)
    scales = np.maximum(np.sqrt(spread), least)
    laplacian = np.full(locations.shape, family == "laplacian")
    if sums.edges is not None:
        medians, deviations = np.empty_like(locations), np.empty_like(locations)
        mixture_loops.best_edges(sums.edges, sums.inside, sums.inside_first, medians, deviations)
        deviations = np.maximum(deviations / mass, 0)
        lengths = np.maximum(deviations, least)
        if family == "hybrid":
            # Minus the mean log-likelihood of the component's rows, for the best parameters of either kind.
            as_gaussian = spread / (2 * scales**2) + np.log(scales) + np.log(2 * np.pi) / 2
            laplacian = deviations / lengths + np.log(2 * lengths) < as_gaussian
        locations = np.where(laplacian, medians, locations)
        scales = np.where(laplacian, lengths, scales)
    empty = (sums.mass <= _LEAST_WEIGHT)[:, None]
    weights = np.maximum(sums.mass / sums.mass.sum(), _LEAST_WEIGHT)
    return MixtureParameters(
        weights / weights.sum(),
        np.where(empty, before.locations, locations),
        np.where(empty, before.scales, scales),
        np.where(empty, before.laplacian, laplacian),
    )
