"""Loops of mixtures and of Fisher vectors, compiled by Numba, which is imported with this module."""

import numpy as np
from numba import njit

#: Posteriors below this count as 0; rounding hides them beside those that sum to 1.
LEAST_POSTERIOR = 1e-15


@njit(nogil=True, cache=True, fastmath={"reassoc", "nnan", "nsz"})
def subtract_deviations(rows, locations, slopes, out):  # type: ignore[no-untyped-def]
    """Subtract from out[n, k] the sum over d of |rows[n, d] - locations[k, d]| slopes[k, d]."""
    for n in range(rows.shape[0]):
        row = rows[n]
        for k in range(locations.shape[0]):
            location, slope = locations[k], slopes[k]
            total = 0.0
            for d in range(row.shape[0]):
                total += abs(row[d] - location[d]) * slope[d]
            out[n, k] -= total


@njit(nogil=True, cache=True, fastmath={"contract"})
def count_in_bins(columns, edges, posteriors, inside, inside_first):  # type: ignore[no-untyped-def]
    """Add posteriors, and posteriors times values, to the bins of the values.

    `columns` has shape (dimensions, rows). Bin j contains the values from edge j - 1 to below edge j.
    """
    for d in range(columns.shape[0]):
        edge, column, sums, first_sums = edges[d], columns[d], inside[d], inside_first[d]
        for n in range(column.shape[0]):
            value, low, left = column[n], 0, edge.shape[0]
            # A binary search without a branch, which the processor would mispredict half of the time.
            while left > 0:
                half = (left + 1) // 2
                low += half if edge[low + half - 1] <= value else 0
                left -= half
            total, first, shares = sums[low], first_sums[low], posteriors[n]
            for k in range(shares.shape[0]):
                total[k] += shares[k]
                first[k] += shares[k] * value


@njit(nogil=True, cache=True)
def best_edges(edges, inside, inside_first, medians, deviations):  # type: ignore[no-untyped-def]
    """Set, for each component and dimension, the edge with the smallest sum of p |x - edge|, and that sum."""
    dimensions, bins, components = inside.shape
    for d in range(dimensions):
        mass, first = np.zeros(components), np.zeros(components)
        for j in range(bins):
            for k in range(components):
                mass[k] += inside[d, j, k]
                first[k] += inside_first[d, j, k]
        below, below_first = np.zeros(components), np.zeros(components)
        for k in range(components):
            deviations[k, d] = np.inf
        for j in range(bins - 1):
            edge = edges[d, j]
            for k in range(components):
                below[k] += inside[d, j, k]
                below_first[k] += inside_first[d, j, k]
                cost = edge * (2 * below[k] - mass[k]) - 2 * below_first[k] + first[k]
                if cost < deviations[k, d]:
                    deviations[k, d] = cost
                    medians[k, d] = edge


@njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})
def add_gradients(rows, places, shape, factors, how, out):  # type: ignore[no-untyped-def]
    """Fill `out`, zeros of shape (phrases, 2 components dimensions), with the gradients of the components."""
    vectors, posteriors, words = rows
    begin, end = places
    locations, inverse, laplacian = shape
    power, normalised = how
    components, dimensions = locations.shape
    half = components * dimensions
    touched = np.zeros(components, np.bool_)
    for i in range(begin.shape[0]):
        if begin[i] == end[i]:
            continue
        touched[:] = False
        for at in range(begin[i], end[i]):
            word = words[at]
            row = vectors[word]
            for k in range(components):
                share = posteriors[word, k]
                if share < LEAST_POSTERIOR:
                    continue
                touched[k] = True
                location, slope, flat = locations[k], inverse[k], laplacian[k]
                first = out[i, k * dimensions : (k + 1) * dimensions]
                second = out[i, half + k * dimensions : half + (k + 1) * dimensions]
                for d in range(dimensions):
                    z = (row[d] - location[d]) * slope[d]
                    first[d] += share * (np.sign(z) if flat[d] else z)
                    second[d] += share * ((abs(z) if flat[d] else z * z) - 1)
        squares = 0.0
        for k in range(components):
            if not touched[k]:
                continue
            for order in range(2):
                start = order * half + k * dimensions
                part, factor = out[i, start : start + dimensions], factors[order][k]
                for d in range(dimensions):
                    value = part[d] * factor[d] / (end[i] - begin[i])
                    if power:
                        value = np.copysign(np.sqrt(abs(value)), value)
                    squares += value * value
                    part[d] = value
        if normalised and squares > 0:
            length = 1 / np.sqrt(squares)
            for k in range(components):
                if touched[k]:
                    for order in range(2):
                        start = order * half + k * dimensions
                        out[i, start : start + dimensions] *= length
