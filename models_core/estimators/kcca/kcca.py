"""Kernel canonical correlation analysis: fit on two kernels of the same pairs, project, score.

Source: Hodosh et al. 2013, section 3.2, eq. 3 and 4; the regulariser is K^2 + kappa K. Three solvers: `full`
decomposes both kernels and returns every dimension, `few` computes the leading ones by Cholesky and a block
Krylov space, `gram-schmidt` approximates kernels that do not fit into memory. Projections are affine in a new
item's kernel with the training items, so a model is weights and offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_core import storage
from models_core.estimators.base import Matrix, checked_numbers
from models_core.estimators.kcca import on_device, spectrum
from models_core.estimators.kcca.gram_schmidt import Columns, approximate
from models_core.estimators.kcca.krylov import NotSemidefinite, solve_few
from models_core.estimators.kcca.problem import Centred, centred, checked_kappa, checked_pair
from phrasebox.device import CPU, Torch, host, memory_of, torch_on
from phrasebox.threads import cores, for_each, one_blas_thread

Solver = Literal["auto", "full", "few", "gram-schmidt"]
SOLVERS: tuple[Solver, ...] = ("auto", "full", "few", "gram-schmidt")
_KIND = "kcca"

#: Above this share of all dimensions a decomposition is cheaper than a Krylov space.
_FEW = 0.05
#: Below this number of pairs it is cheaper in any case.
_SMALL = 1000


@dataclass(frozen=True, slots=True)
class Projection:
    """The map of kernels with training items into the common space: k @ weights + offset.

    `weights` has shape (columns, dimensions), `offset` (dimensions,). `columns` selects which of the `items`
    training items are used, all if None.
    """

    weights: Matrix
    offset: Matrix
    items: int
    columns: NDArray[np.intp] | None = None

    def __call__(self, kernel: ArrayLike, name: str = "kernel", on: Torch | None = None) -> Matrix:
        """Project items, shape (new, dimensions); `kernel` is (new, items), or only its `columns`.

        The product is computed `on` a device if given. Raises ValueError if the kernel has another width,
        or an entry that is not finite.
        """
        checked = checked_numbers(kernel, name)
        if checked.ndim != 2 or checked.shape[1] not in (self.items, len(self.weights)):
            raise ValueError(
                f"{name} has shape {checked.shape}; expected (items, {self.items}), "
                "a column for each training item"
            )
        if self.columns is not None and checked.shape[1] == self.items:
            checked = checked[:, self.columns]
        product = checked @ self.weights if on is None else on.product(checked, self.weights)
        return np.asarray(product + self.offset)

    def first(self, dimensions: int) -> Projection:
        """Return the leading dimensions only."""
        cut = np.ascontiguousarray(self.weights[:, :dimensions])
        return replace(self, weights=cut, offset=self.offset[:dimensions].copy())


class KCCA:
    """Fit with `fit(x, y)`; learned are `correlations_` (rho), `x_` and `y_` (Projection), `solver_`.

    `rank` and `tolerance` are for solver `gram-schmidt` only: the columns of the approximation, and the share
    of the trace that may remain. `seed` determines the start of solver `few`. `device` (see
    `phrasebox.device`) is where solver `full` computes, the only solver for devices other than "cpu"; it is
    not stored.
    """

    correlations_: Matrix
    x_: Projection
    y_: Projection
    solver_: Solver

    def __init__(
        self,
        dimensions: int | None = 100,
        kappa: float = 0.1,
        *,
        center: bool = True,
        solver: Solver = "auto",
        rank: int = 1000,
        tolerance: float = 1e-6,
        seed: int = 0,
        device: str = CPU,
    ) -> None:
        self.dimensions, self.kappa, self.center, self.solver = dimensions, kappa, center, solver
        self.rank, self.tolerance, self.seed, self.device = rank, tolerance, seed, device

    def fit(self, x: ArrayLike | Columns, y: ArrayLike | Columns) -> KCCA:
        """Learn from the kernels of the training pairs, shape (n, n) each; `Columns` for gram-schmidt only.

        Raises ValueError for invalid kernels (see `checked_kernel`) or kernels of different pairs, kappa not
        above 0, an unknown solver, more dimensions than correlate, and an unknown device.
        """
        kappa = checked_kappa(self.kappa)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver {self.solver!r} is unknown; there are {', '.join(SOLVERS)}")
        if self.dimensions is not None and self.dimensions < 1:
            raise ValueError(f"dimensions are {self.dimensions}; expected 1 or more, or None for all")
        if self.device != CPU and self.solver not in ("auto", "full"):
            raise ValueError(f"solver {self.solver!r} runs on the CPU only; with a device, use 'full'")
        if self.solver == "gram-schmidt":
            with one_blas_thread():  # single columns leave no work to share
                return self._fit_columns(x, y, kappa)
        if isinstance(x, Columns) or isinstance(y, Columns):
            raise ValueError("kernels given by columns need solver 'gram-schmidt'")
        first, second = (centred(kernel, center=self.center) for kernel in checked_pair(x, y))
        solver: Solver = self.solver
        if solver == "auto":
            pairs = len(first.kernel)
            few = self.dimensions is not None and self.dimensions <= _FEW * pairs and pairs >= _SMALL
            solver = "few" if few and self.device == CPU else "full"
        if solver == "few":
            try:
                return self._fit_few(first, second, kappa)
            except NotSemidefinite:
                if self.solver == "few":
                    raise
        with memory_of(torch_on(self.device)):
            sweep = KappaSweep(first, second, self.device)
            return self._take(sweep.solve(kappa, self.dimensions), sweep.x, sweep.y, "full")

    def transform(self, x: ArrayLike, y: ArrayLike) -> tuple[Matrix, Matrix]:
        """Return both sides' items in the common space, from kernels of new items with the training items."""
        on = torch_on(self.device)
        return self.x_(x, "kernel x", on), self.y_(y, "kernel y", on)

    def score_pairs(self, x: ArrayLike, y: ArrayLike) -> Matrix:
        """Return cosines of every x with every y in the common space (eq. 4), shape (new x, new y).

        The cosine with an item at the origin is 0.
        """
        left, right = self.transform(x, y)
        return np.asarray(unit(left) @ unit(right).T)

    def first(self, dimensions: int) -> KCCA:
        """Return the same model with its leading dimensions only; raises ValueError if it has fewer."""
        _enough(len(self.correlations_), dimensions)
        model = KCCA(**{key: getattr(self, key) for key in _SETTINGS})
        model.dimensions, model.solver_ = dimensions, self.solver_
        model.correlations_ = self.correlations_[:dimensions].copy()
        model.x_, model.y_ = self.x_.first(dimensions), self.y_.first(dimensions)
        return model

    def save(self, folder: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write the model to a new folder; `metadata` (such as the corpus hash) goes into its manifest."""
        arrays = {"correlations": self.correlations_}
        for name, side in (("x", self.x_), ("y", self.y_)):
            arrays[f"{name}.weights"], arrays[f"{name}.offset"] = side.weights, side.offset
            if side.columns is not None:
                arrays[f"{name}.columns"] = side.columns.astype(np.int64)
        settings = {key: getattr(self, key) for key in _SETTINGS}
        settings |= {"solver_": self.solver_, "items": self.x_.items}
        storage.save_model(folder, _KIND, arrays, settings, metadata)

    @classmethod
    def load(cls, folder: Path) -> KCCA:
        """Load the model that `save` wrote; raises storage.BadModel."""
        stored = storage.load_model(folder, _KIND)
        settings, arrays = stored.settings, stored.arrays
        model = cls(**{key: settings[key] for key in _SETTINGS})
        model.solver_, model.correlations_ = settings["solver_"], arrays["correlations"]
        model.x_, model.y_ = (
            Projection(
                arrays[f"{name}.weights"],
                arrays[f"{name}.offset"],
                settings["items"],
                arrays[f"{name}.columns"].astype(np.intp) if f"{name}.columns" in arrays else None,
            )
            for name in ("x", "y")
        )
        return model

    def _fit_few(self, x: Centred, y: Centred, kappa: float) -> KCCA:
        dimensions = len(x.kernel) if self.dimensions is None else self.dimensions
        correlations, alpha, beta = solve_few(x.kernel, y.kernel, kappa, dimensions, seed=self.seed)
        _enough(len(correlations), self.dimensions)
        self.correlations_, self.solver_ = correlations, "few"
        sides = []
        for weights, side in ((alpha, x), (beta, y)):
            if self.center:  # k is centred through its factor: (k - means) H alpha
                weights = weights - weights.mean(axis=0)
            sides.append(Projection(weights, -side.means @ weights, len(weights)))
        self.x_, self.y_ = sides
        return self

    def _fit_columns(self, x: ArrayLike | Columns, y: ArrayLike | Columns, kappa: float) -> KCCA:
        views = [
            side if isinstance(side, Columns) else Columns.of(side, f"kernel {name}")
            for side, name in ((x, "x"), (y, "y"))
        ]
        sizes = [len(side.diagonal) for side in views]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"kernel x is of {sizes[0]} items, kernel y of {sizes[1]}; expected the same pairs"
            )
        first, second = (
            approximate(side, rank=self.rank, tolerance=self.tolerance, center=self.center) for side in views
        )
        solution = spectrum.solve_eigenproblem(
            first, second, first.vectors.T @ second.vectors, kappa, self.dimensions
        )
        _enough(len(solution.correlations), self.dimensions)
        return self._take(solution, first, second, "gram-schmidt")

    def _take(
        self, solution: spectrum.Solution, x: spectrum.KernelView, y: spectrum.KernelView, solver: Solver
    ) -> KCCA:
        self.correlations_, self.solver_ = host(solution.correlations), solver
        self.x_, self.y_ = (
            Projection(
                host(view.back @ coefficients),
                host(-view.shift @ coefficients),
                len(view.vectors),
                view.columns,
            )
            for view, coefficients in ((x, solution.x), (y, solution.y))
        )
        return self


_SETTINGS = ("dimensions", "kappa", "center", "solver", "rank", "tolerance", "seed")


class KappaSweep:
    """Models for every regulariser from one decomposition of the two kernels (see `centred`).

    On a `device` other than "cpu" the views, `cross` and the results of `solve` are torch tensors; models are
    always NumPy arrays.
    """

    def __init__(self, x: Centred, y: Centred, device: str = CPU) -> None:
        self.device, self.on = device, torch_on(device)
        self.x, self.y = (
            spectrum.decompose_both(x, y) if self.on is None else on_device.decompose_on_device(x, y, self.on)
        )
        self.cross = self.x.vectors.T @ self.y.vectors
        self.center = bool(x.means.any() or y.means.any())

    @property
    def rank(self) -> int:
        """The largest possible number of dimensions of a model."""
        return min(self.cross.shape)

    def solve(self, kappa: float, dimensions: int | None = None) -> spectrum.Solution:
        """Solve eq. 3 for one regulariser; raises ValueError if fewer than `dimensions` correlate."""
        arguments = self.x, self.y, self.cross, checked_kappa(kappa), dimensions
        solution = (
            spectrum.solve_eigenproblem(*arguments)
            if self.on is None
            else on_device.solve_on_device(*arguments, self.on)
        )
        _enough(len(solution.correlations), dimensions)
        return solution

    def models(self, kappas: Sequence[float], dimensions: int | None = None) -> Iterator[KCCA]:
        """Yield a model for each kappa, in order, computing as many in parallel as there are cores.

        On a device they are computed one after the other. None means all dimensions. The caller may stop
        between two.
        """
        side_by_side = cores() if self.on is None else 1
        for start in range(0, len(kappas), side_by_side):
            models: dict[float, KCCA] = {}

            def fit(kappa: float, models: dict[float, KCCA] = models) -> None:
                model = KCCA(dimensions, kappa, center=self.center, solver="full", device=self.device)
                models[kappa] = model._take(self.solve(kappa, dimensions), self.x, self.y, "full")

            chosen = kappas[start : start + side_by_side]
            with one_blas_thread():
                for_each(fit, chosen)
            for kappa in chosen:
                yield models.pop(kappa)


def unit(vectors: Matrix) -> Matrix:
    """Return rows of length 1; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _enough(available: int, requested: int | None) -> None:
    if not available:
        raise ValueError("the kernels do not correlate; expected kernels of the same pairs in the same order")
    if requested is not None and available < requested:
        raise ValueError(
            f"{requested} dimensions were requested, but the kernels have {available}; request fewer"
        )
