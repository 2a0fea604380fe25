"""The input of every solver of KCCA: two kernels of the same training pairs, checked and centred.

Source: Hodosh et al. 2013, section 3.2.1. Eq. 3 constrains both sides to a'(K^2 + kappa K)a = 1, so at its
solution K_x K_y b = rho (K_x^2 + kappa K_x) a and K_y K_x a = rho (K_y^2 + kappa K_y) b.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from models_core.estimators.base import Matrix, checked_numbers

_ASYMMETRY = 1e-8  # of the largest entry; a kernel summed in another order differs by less
_ROWS = 512  # compared with their mirror image at a time


class Centred(NamedTuple):
    """A training kernel, shape (n, n), and the means of its original columns, shape (n,); zeros where it was
    not to be centred."""

    kernel: Matrix
    means: Matrix


def checked_kernel(kernel: ArrayLike, name: str) -> Matrix:
    """Return the kernel of training items in float64, shape (n, n).

    Raises ValueError with the name `name` if it is not square, has fewer than two items, has an entry that is
    no finite number, or is not symmetric.
    """
    checked = np.asarray(kernel)
    if checked.ndim != 2 or checked.shape[0] != checked.shape[1]:
        raise ValueError(f"{name} has shape {checked.shape}; expected a square kernel, (pairs, pairs)")
    if len(checked) < 2:
        raise ValueError(f"{name} is of {len(checked)} training pairs; expected 2 or more")
    checked = checked_numbers(checked, name)
    allowed = _ASYMMETRY * max(float(checked.max()), -float(checked.min()))
    for start in range(0, len(checked), _ROWS):
        strip = slice(start, start + _ROWS)
        difference = np.abs(checked[strip] - checked[:, strip].T)
        if difference.max() > allowed:
            row, column = (int(i) for i in np.unravel_index(difference.argmax(), difference.shape))
            raise ValueError(
                f"{name} is not symmetric: entries ({row + start}, {column}) and ({column}, {row + start}) "
                f"differ by {difference.max():.3g}; expected a kernel of training items with themselves"
            )
    return checked


def checked_pair(x: ArrayLike, y: ArrayLike) -> tuple[Matrix, Matrix]:
    """Return both kernels, checked to have the same number of pairs; raises ValueError."""
    first, second = checked_kernel(x, "kernel x"), checked_kernel(y, "kernel y")
    if len(first) != len(second):
        raise ValueError(
            f"kernel x is of {len(first)} items, kernel y of {len(second)}; "
            "expected the two sides of the same pairs"
        )
    return first, second


def checked_kappa(kappa: float) -> float:
    """Check the regulariser of eq. 3, which must be positive: without it, invertible kernels correlate
    perfectly."""
    if not (np.isfinite(kappa) and kappa > 0):
        raise ValueError(f"kappa is {kappa}; expected a number above 0")
    return float(kappa)


def centred(kernel: Matrix, *, center: bool = True) -> Centred:
    """Return the kernel of features minus their mean over the training items: H K H, H = I - 11'/n."""
    if not center:
        return Centred(kernel, np.zeros(len(kernel)))
    means = kernel.mean(axis=0)
    result = kernel - means
    result -= means[:, None] - means.mean()
    return Centred(result, means)


def relative_residuals(
    x: Matrix, y: Matrix, alpha: Matrix, beta: Matrix, correlations: Matrix, kappa: float
) -> Matrix:
    """Return the residual of each dimension in eq. 3, relative to the length of K_x K_y b; shape
    (dimensions,).

    `x` and `y` are the kernels used for solving (centred if they were), `alpha` and `beta` have shape (n,
    dimensions). The larger of both sides' residuals counts.
    """
    residuals = np.zeros(len(correlations))
    left, right = x @ alpha, y @ beta
    for kernel, coefficients, own_image, other_image in ((x, alpha, left, right), (y, beta, right, left)):
        target = kernel @ other_image
        gap = target - correlations * (kernel @ (own_image + kappa * coefficients))
        residuals = np.maximum(residuals, np.linalg.norm(gap, axis=0) / np.linalg.norm(target, axis=0))
    return residuals
