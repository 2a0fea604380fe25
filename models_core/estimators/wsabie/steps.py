"""Wsabie's steps: one pass over the pairs, compiled.

Source: Gong et al. 2014, section 3.2, eq. 3 and 4; after Weston et al. 2011.
"""

from typing import Any

import numba
import numpy as np

#: Maximum number of draws of a wrong caption before a pair is skipped.
MOST_DRAWS = 1000
#: Smaller factors of a column are multiplied into it.
LEAST_FACTOR = 1e-3
#: Lower limit of accumulated squares: the first step of AdaGrad divides by its root.
_LEAST_SQUARE = 1e-12


@numba.njit(cache=True)
def next_random(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the next state of splitmix64, and its number."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state_after = state
    state_after = (state_after ^ (state_after >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state_after = (state_after ^ (state_after >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, state_after ^ (state_after >> np.uint64(31))


@numba.njit(cache=True, fastmath=True)
def _project(captions: Any, caption: Any, weights: Any, scale: Any, out: Any) -> None:
    """Compute out = y U of a caption."""
    data, words, ends = captions
    out[:] = 0
    for at in range(ends[caption], ends[caption + 1]):
        value = data[at]
        row = weights[words[at]]
        for k in range(len(out)):
            out[k] += value * row[k]
    for k in range(len(out)):
        out[k] *= scale[k]


@numba.njit(cache=True)
def _settle(weights: Any, scale: Any, column: int) -> None:
    """Multiply a factor that has become small into its column: numbers divided by it would grow without
    bound."""
    if scale[column] < LEAST_FACTOR:
        for row in range(len(weights)):
            weights[row, column] *= scale[column]
        scale[column] = 1


@numba.njit(cache=True, fastmath=True)
def _dot(left: Any, right: Any) -> Any:
    total = left[0] * right[0]
    for k in range(1, len(left)):
        total += left[k] * right[k]
    return total


@numba.njit(cache=True, fastmath=True, nogil=True)
def walk_pairs(
    images: Any, captions: Any, image_of: Any, order: Any, seed: Any, weights: Any, squares: Any, steps: Any
) -> float:
    """Make one pass over the pairs in `order`; change weights, scales and squares, and return the summed
    loss.

    `captions` are the arrays of a CSR matrix; `weights` are W, U and a factor for each of their columns,
    `squares` the summed squared gradients of AdaGrad, `steps` (rate, norm, whether AdaGrad).
    """
    w, u, w_scale, u_scale = weights
    rate, norm, adagrad = steps
    count, size = len(image_of), w.shape[1]
    data, words, ends = captions
    kind = w.dtype
    harmonic = np.zeros(count + 1)
    for rank in range(1, count + 1):
        harmonic[rank] = harmonic[rank - 1] + 1 / rank
    u_norms = np.zeros(size)
    for row in range(len(u)):
        for k in range(size):
            u_norms[k] += (u[row, k] * u_scale[k]) ** 2
    about, right, negative = np.zeros(size, kind), np.zeros(size, kind), np.zeros(size, kind)
    w_norms, gradient = np.zeros(size), np.zeros(size, kind)
    state, loss = seed, 0.0
    for caption in order:
        image = image_of[caption]
        x = images[image]
        about[:] = 0
        for d in range(len(x)):
            value = x[d]
            if value != 0:
                for k in range(size):
                    about[k] += value * w[d, k]
        for k in range(size):
            about[k] *= w_scale[k]
        _project(captions, caption, u, u_scale, right)
        least = _dot(about, right) - 1
        violating_item, violation, draws = np.int64(-1), 0.0, 0
        while draws < MOST_DRAWS:
            state, drawn = next_random(state)
            candidate = np.int64(drawn % np.uint64(count))
            if image_of[candidate] == image:
                continue
            draws += 1
            _project(captions, candidate, u, u_scale, negative)
            score = _dot(about, negative)
            if score > least:
                violating_item, violation = candidate, score - least
                break
        if violating_item < 0:
            continue
        weight = harmonic[(count - 1) // draws]
        loss += weight * violation
        # The gradient of W is -weight x' (right - wrong), that of U -weight (y - y')' about.
        w_norms[:] = 0
        for k in range(size):
            gradient[k] = -weight * (right[k] - negative[k])
        for d in range(len(x)):
            value = x[d]
            for k in range(size):
                slope = value * gradient[k]
                if slope != 0:
                    if adagrad:
                        squares[0][d, k] += slope * slope
                        step = rate * slope / np.sqrt(squares[0][d, k] + _LEAST_SQUARE)
                    else:
                        step = rate * slope
                    w[d, k] -= step / w_scale[k]
                w_norms[k] += (w[d, k] * w_scale[k]) ** 2
        for k in range(size):
            if w_norms[k] > norm:
                w_scale[k] *= np.sqrt(norm / w_norms[k])
                _settle(w, w_scale, k)
        # A word of both captions has one gradient, for the difference of its two values.
        left, stop, at, end = ends[caption], ends[caption + 1], ends[violating_item], ends[violating_item + 1]
        while left < stop or at < end:
            if at >= end or (left < stop and words[left] < words[at]):
                row, value = words[left], data[left]
                left += 1
            elif left >= stop or words[at] < words[left]:
                row, value = words[at], -data[at]
                at += 1
            else:
                row, value = words[left], data[left] - data[at]
                left += 1
                at += 1
            for k in range(size):
                slope = -weight * value * about[k]
                if slope != 0:
                    before = u[row, k] * u_scale[k]
                    if adagrad:
                        squares[1][row, k] += slope * slope
                        step = rate * slope / np.sqrt(squares[1][row, k] + _LEAST_SQUARE)
                    else:
                        step = rate * slope
                    after = before - step
                    u[row, k] = after / u_scale[k]
                    u_norms[k] += after * after - before * before
        for k in range(size):
            if u_norms[k] > norm:
                u_scale[k] *= np.sqrt(norm / u_norms[k])
                u_norms[k] = norm
                _settle(u, u_scale, k)
    return loss
