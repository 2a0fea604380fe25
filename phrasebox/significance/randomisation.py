"""Fisher's randomisation test: had the systems' names been shuffled, how often so large a difference?

In each round every query's two values are exchanged with probability one half; where several queries are of
one image, which are not independent, all of that image's together. Two-sided: p is
(c + 1) / (rounds + 1), where c rounds gave a difference at least as large as the one seen, in
either direction. Random bits come from a seed, and all pairs of systems share them, so a table of
systems is one matrix product.

Source: Fisher 1935; Smucker et al. 2007; Hodosh et al. 2013, section 4.2.2 (100,000 rounds).
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.significance.pairing import paired, paired_differences, shared_images
from phrasebox.threads import one_blas_thread

ROUNDS = 100_000
#: Maximum number of rounds: enough for p to six digits, without taking days.
MOST_ROUNDS = 1_000_000

#: Number of entries in a block of random bits: fits into the cache together with its products.
_BLOCK = 2**20
#: Sums of the same numbers in another order differ by less than this share of them.
_ROUNDING = 1e-9

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Randomisation:
    """`difference` is first minus second, of means or of medians."""

    difference: float
    p: float
    rounds: int


@dataclass(frozen=True, slots=True)
class _Table:
    """All pairs of systems: both arrays have shape (systems, systems); row minus column."""

    differences: _Floats
    p: _Floats
    rounds: int


def of_means(
    systems: ArrayLike, *, images: Sequence[Hashable] | None = None, rounds: int = ROUNDS, seed: int = 0
) -> _Table:
    """Test every pair of systems; `systems` has shape (systems, queries), NaN as `paired` has it.

    `images` has the image of each query; without them each query has its own image.

    >>> of_means([[1, 1], [0, 1]], rounds=100).differences.tolist()
    [[0.0, 0.5], [-0.5, 0.0]]
    """
    tables = np.asarray(systems, dtype=np.float64)
    values = paired(*tables)
    number, queries = values.shape
    # What all systems share cannot distinguish them, and would only cost precision.
    values = values - values.mean(axis=0)
    owners = shared_images(images, tables[0])
    if owners is not None:
        values = np.stack([np.bincount(owners, weights=row) for row in values])
    total = values.sum(axis=1)
    as_large = np.zeros((number, number), dtype=np.int64)
    seen = np.abs(total[:, None] - total)
    spread = np.stack([np.abs(first - values).sum(axis=1) for first in values])
    least = seen - _ROUNDING * spread
    with one_blas_thread():
        for bits in _bits(rounds, values.shape[1], seed):
            # Signs of +1 and -1, as bits: sum(sign * v) = 2 * sum(bit * v) - sum(v).
            sums = 2 * (values @ bits.astype(np.float64).T) - total[:, None]
            for first in range(number - 1):
                moved = np.abs(sums[first + 1 :] - sums[first])
                as_large[first, first + 1 :] += np.count_nonzero(
                    moved >= least[first, first + 1 :, None], axis=1
                )
    p = np.ones((number, number))
    upper = np.triu_indices(number, 1)
    p[upper] = (as_large[upper] + 1) / (rounds + 1)
    p.T[upper] = p[upper]
    return _Table((total[:, None] - total) / queries, p, rounds)


def of_mean(
    first: ArrayLike,
    second: ArrayLike,
    *,
    images: Sequence[Hashable] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Randomisation:
    """Test one pair; the same as its cell of `of_means` under the same seed.

    >>> result = of_mean([1, 1, 1, 1], [0, 0, 0, 0], rounds=1000)
    >>> result.difference, 0.1 < result.p < 0.15  # 2 of 16 exchanges differ as much
    (1.0, True)
    """
    both = np.stack([np.asarray(v, dtype=np.float64) for v in (first, second)])
    table = of_means(both, images=images, rounds=rounds, seed=seed)
    return Randomisation(float(table.differences[0, 1]), float(table.p[0, 1]), rounds)


def of_median(
    first: ArrayLike,
    second: ArrayLike,
    *,
    images: Sequence[Hashable] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Randomisation:
    """Test medians of two systems: values are exchanged, and both medians computed again; `images` as above.

    A rank of infinity (not retrieved) is larger than all; two infinite medians do not differ.

    >>> of_median([1, 2, 3], [2, 4, 9], rounds=100).difference
    -2.0
    """
    values = paired(first, second)
    queries = values.shape[1]
    # Codes sort as the values do, and can be exchanged by adding what they differ by.
    known, codes = np.unique(values, return_inverse=True)
    ours, theirs = codes.reshape(values.shape).astype(np.int32)
    seen = paired_differences(_medians(ours[None], known), _medians(theirs[None], known))[0]
    as_large = 0
    owners = shared_images(images, first)
    of_images = queries if owners is None else int(owners.max()) + 1
    for drawn in _bits(rounds, of_images, seed, width=queries):
        bits = drawn if owners is None else drawn.take(owners, axis=1)
        ours_swapped = np.multiply(bits, ours - theirs, dtype=np.int32) + theirs
        theirs_swapped = ours + theirs - ours_swapped
        moved = np.abs(paired_differences(_medians(ours_swapped, known), _medians(theirs_swapped, known)))
        as_large += int(np.count_nonzero(moved >= abs(seen) * (1 - _ROUNDING)))
    return Randomisation(float(seen), (as_large + 1) / (rounds + 1), rounds)


def of_sums(
    first: ArrayLike,
    second: ArrayLike,
    figure: Callable[[_Floats], _Floats],
    *,
    images: Sequence[Hashable] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Randomisation:
    """Test a figure that is computed from sums over items, such as BLEU: what whole images add is exchanged,
    and both figures are computed again.

    `first` and `second` contain each item's terms of k sums, shape (items, k); `figure` computes figures of
    shape (rows,) from sums of shape (rows, k). `images` as above. Raises ValueError for different shapes, and
    for other numbers of images than items.

    >>> share = lambda sums: sums[:, 0] / sums[:, 1]
    >>> result = of_sums([[1, 1], [1, 1]], [[0, 1], [0, 1]], share, rounds=1000)
    >>> result.difference, 0.45 < result.p < 0.55  # 2 of 4 exchanges differ as much
    (1.0, True)
    """
    tables = [np.asarray(terms, np.float64) for terms in (first, second)]
    if tables[0].shape != tables[1].shape or tables[0].ndim != 2:
        raise ValueError(
            f"sums have shapes {tables[0].shape} and {tables[1].shape}; expected (items, sums) twice"
        )
    owners = shared_images(images, np.zeros(len(tables[0])))
    if owners is not None:
        held = [np.zeros((int(owners.max()) + 1, tables[0].shape[1])) for _ in tables]
        for sums, table in zip(held, tables, strict=True):
            np.add.at(sums, owners, table)
        tables = held
    ours, theirs = (table.sum(axis=0, keepdims=True) for table in tables)
    values = figure(ours), figure(theirs)
    seen = float(paired_differences(*values)[0])
    least = abs(seen) - _ROUNDING * float(sum(abs(value[0]) for value in values))
    as_large, apart = 0, tables[0] - tables[1]
    with one_blas_thread():
        for bits in _bits(rounds, len(apart), seed, width=apart.shape[1]):
            moved = bits.astype(np.float64) @ apart
            exchanged = paired_differences(figure(theirs + moved), figure(ours - moved))
            as_large += int(np.count_nonzero(np.abs(exchanged) >= least))
    return Randomisation(seen, (as_large + 1) / (rounds + 1), rounds)


def _bits(rounds: int, queries: int, seed: int, *, width: int = 0) -> Iterator[NDArray[np.uint8]]:
    """Random zeros and ones, (some rounds, queries) at a time; the blocks do not change with what asks.

    They are as long as fits the cache where a round makes `width` numbers: as many as queries by default.
    """
    if rounds < 1:
        raise ValueError(f"{rounds} permutations; use at least 1")
    if rounds > MOST_ROUNDS:
        raise ValueError(f"{rounds} permutations; use {MOST_ROUNDS} at most")
    rng = np.random.default_rng(seed)
    wide = -(-queries // 8)
    step = max(1, _BLOCK // max(width, queries))
    for start in range(0, rounds, step):
        packed = np.frombuffer(rng.bytes(wide * min(step, rounds - start)), dtype=np.uint8)
        yield np.unpackbits(packed.reshape(-1, wide), axis=1, count=queries)


def _medians(codes: NDArray[np.int32], known: _Floats) -> _Floats:
    """The median value of each row; overwrites nothing."""
    middle = codes.shape[1] // 2
    parted = np.partition(codes, middle, axis=1)
    upper = known[parted[:, middle].astype(np.intp)]
    if codes.shape[1] % 2:
        return np.asarray(upper)
    return np.asarray((known[parted[:, :middle].max(axis=1).astype(np.intp)] + upper) / 2)
