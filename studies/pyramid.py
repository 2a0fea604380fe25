"""The pyramid kernel of colour, texture and SIFT words, compared with straightforward NumPy code and the
machine's peak.

    python -m studies.pyramid [--images 6000] [--words 128,256,256] [--device cuda]

Pyramids are synthetic: 21 cells of each kind of words, as in the paper. "obvious" sums minima of one image
with all others; it is run on a sample and extrapolated. A pair of numbers costs 2 operations, a minimum and
an addition; the peak is the rate of a matrix product in single precision, where a pair costs 2 as well but
one instruction does both. The first call compiles and is not counted. The slope is that of log time against
log images, 2 in theory.

With `--device` the kernel is computed there too; vectors go there and the kernel comes back within the time,
and the largest difference to the CPU's is printed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from annotation.common.plain_text import text_table
from phrasebox.device import CPU, NoDevice, torch_on
from phrasebox.kernels.intersection import Intersection, fold_shares
from studies.measuring import peak, slope

CELLS = 21


def pyramids(images: int, words: list[int]) -> list[np.ndarray]:
    """Return shares of a whole image's pixels, shape (images, cells, words), a third of them 0."""
    rng = np.random.default_rng(0)
    pictures = []
    for count in words:
        shares = np.maximum(rng.random((images, CELLS, count), dtype=np.float32) - np.float32(1 / 3), 0)
        pictures.append(shares / np.float32(CELLS * count))
    return pictures


def obvious(vectors: np.ndarray) -> float:
    """Return seconds for one pair of images, by NumPy; the mean over some images with up to 500."""
    others = vectors[:500]
    begun = time.perf_counter()
    for vector in vectors[:4]:
        np.minimum(vector, others).sum(axis=1)
    return (time.perf_counter() - begun) / (4 * len(others))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--words", default="128,256,256", help="Words of each kind")
    parser.add_argument("--device", default=CPU, help="cuda, or one of several, as cuda:0 (default: cpu)")
    options = parser.parse_args()
    try:
        torch_on(options.device)
    except NoDevice as missing:
        raise SystemExit(str(missing)) from None
    kinds = pyramids(options.images, [int(count) for count in options.words.split(",")])
    kernel = Intersection(power=2)
    there = Intersection(power=2, device=options.device)
    small = [kind[:64] for kind in kinds]
    for side in (kernel, there):
        side.gram(small, small)
    slow, best = obvious(fold_shares([kind[:500] for kind in kinds], 2)), peak(np.float32)
    numbers = sum(kind.shape[1] * kind.shape[2] for kind in kinds)
    rows, times = [], []
    sizes = [options.images // 4, options.images // 2, options.images]
    for size in sizes:
        part = [kind[:size] for kind in kinds]
        pairs = size * (size + 1) / 2
        begun, busy = time.perf_counter(), time.process_time()
        gram = kernel.gram(part, part)
        seconds, busy = time.perf_counter() - begun, time.process_time() - busy
        times.append(seconds)
        row = [size, numbers, seconds, busy, slow * pairs, 2 * numbers * pairs / seconds / best]
        if options.device != CPU:
            begun = time.perf_counter()
            other_gram = there.gram(part, part)
            row += [time.perf_counter() - begun, f"{np.abs(other_gram - gram).max():.0e}"]
        rows.append(row)
    head = ["images", "numbers", "s", "processor s", "obvious, s", "share of peak"]
    head += [] if options.device == CPU else [f"{options.device}, s", "largest difference"]
    print(text_table(head, rows))
    print(f"slope {slope(sizes, times):.2f}; a product of matrices makes {best / 1e9:.1f} GFLOP/s")


if __name__ == "__main__":
    main()
