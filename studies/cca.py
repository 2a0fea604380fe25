"""Linear methods on many pairs: share of the machine's peak in the covariance step, memory, and peers.

    python -m studies.cca [--pairs 100000 1000000] [--only PART] [--cca-zoo PYTHON]

- covariances: X'X, X'Y and Y'Y of 4,096 + 3,000 numbers a pair in float32, dense, in blocks of 8,192 pairs.
  Blocks are drawn once and added in turn, so that reading is not timed. Operations are those that are
  executed: p (p + 1) for a square of p columns, of which half is computed, 2 p q for a product. Beside them
  the share of the peak, that of a product of two float32 matrices of 4,096, measured before and after. Then
  the same with captions as sparse bags of 10 words. Memory is the peak of the process.
- peers: ours, scikit-learn and cca-zoo (with `--cca-zoo`, a Python with that package) on 20,000 pairs of
  1,024 +
  1,000 numbers, 32 components; scikit-learn, which finds one after the other, the first only.
- ranking: 25,000 images and 125,000 captions by embeddings of 96 numbers, both directions, R@1, 5, 10 and the
  median rank, without the matrix of scores in memory.
- precision: 5,000 images of 4,096 numbers and 25,000 captions of 1,000, in float32, embedded and ranked in
  both directions in double and in single precision: seconds of CPU, MiB allocated at most, and figures.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy import sparse

from models_core.estimators.base import DIRECTIONS, Dataset, RankDirection, View
from models_core.estimators.cca import canonical_maps
from models_core.estimators.covariances import PAIRS_PER_BLOCK, PairedSums, sums_of_pairs
from models_core.estimators.embeddings import LinearEmbedder, LinearMap, embedded_scores, ranks_of_originals
from phrasebox.scoring.tiles import Scores
from studies.measuring import peak, seconds

PARTS = ("covariances", "peers", "ranking", "precision")
X, Y = 4096, 3000
WORDS = 10
PEER_PAIRS, PEER_X, PEER_Y, COMPONENTS = 20_000, 1024, 1000, 32
#: scikit-learn computes components sequentially, each in many passes over the data.
COMPONENTS_OF_SKLEARN = 1


def held() -> float:
    """Return the peak memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def covariances(counts: list[int]) -> None:
    rng = np.random.default_rng(0)
    blocks = [
        (
            rng.standard_normal((PAIRS_PER_BLOCK, X), dtype=np.float32),
            rng.standard_normal((PAIRS_PER_BLOCK, Y), dtype=np.float32),
        )
        for _ in range(2)
    ]
    bags = [
        sparse.random(PAIRS_PER_BLOCK, Y, WORDS / Y, format="csr", dtype=np.float32, random_state=seed)
        for seed in range(2)
    ]
    print("| captions | pairs | seconds | G operations/s | share of the peak | GiB at most |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, texts in (("dense", [text for _, text in blocks]), ("sparse", bags)):
        for pairs in counts:
            before = peak(np.float32, X)
            sums = PairedSums(X, Y)

            def add(sums: PairedSums = sums, texts: list[View] = texts, pairs: int = pairs) -> None:
                for number, start in enumerate(range(0, pairs, PAIRS_PER_BLOCK)):
                    rows = min(PAIRS_PER_BLOCK, pairs - start)
                    sums.add(blocks[number % 2][0][:rows], texts[number % 2][:rows])

            taken, _ = seconds(add)
            matrix_numbers = X * (X + 1)
            matrix_numbers += Y * (Y + 1) + 2 * X * Y if name == "dense" else 2 * X * WORDS + WORDS * WORDS
            speed = pairs * matrix_numbers / taken
            best = max(before, peak(np.float32, X))
            cells = f"{taken:.1f} | {speed / 1e9:.0f} | {speed / best:.0%} | {held():.1f}"
            print(f"| {name} | {pairs:,} | {cells} |", flush=True)


def peers(python: str) -> None:
    from sklearn.cross_decomposition import CCA

    rng = np.random.default_rng(0)
    about = rng.standard_normal((PEER_PAIRS, 64))
    x, y = (
        about @ rng.standard_normal((64, size)) + 4 * rng.standard_normal((PEER_PAIRS, size))
        for size in (PEER_X, PEER_Y)
    )
    print("| 20,000 pairs of 1,024 + 1,000 numbers | seconds | first correlations |")
    print("|---|---:|---|")

    def ours() -> np.ndarray:
        covariances = sums_of_pairs(x, y, np.arange(PEER_PAIRS)).covariances()
        return canonical_maps(covariances, COMPONENTS, 0.0).correlations

    taken, correlations = seconds(ours)
    print(f"| phrasebox | {taken:.1f} | {_first(correlations)} |", flush=True)
    model = CCA(n_components=COMPONENTS_OF_SKLEARN)
    taken, sides = seconds(lambda: model.fit(x, y).transform(x, y))
    sample_correlations = [
        float(np.corrcoef(sides[0][:, k], sides[1][:, k])[0, 1]) for k in range(COMPONENTS_OF_SKLEARN)
    ]
    print(f"| scikit-learn | {taken:.1f} | {_first(sample_correlations)} |", flush=True)
    if python:
        np.savez("/tmp/benchmark-cca.npz", x=x, y=y)
        done = subprocess.run([python, "-c", _ZOO], capture_output=True, text=True, check=False)
        Path("/tmp/benchmark-cca.npz").unlink()
        print(done.stdout.strip() or f"| cca-zoo | failed: {done.stderr.strip().splitlines()[-1]} | |")


#: The script for cca-zoo's Python, with the same numbers.
_ZOO = f"""
import time
import numpy as np
from cca_zoo.linear import CCA
held = np.load("/tmp/benchmark-cca.npz")
views = [held["x"], held["y"]]
start = time.perf_counter()
model = CCA({COMPONENTS}).fit(views)
taken = time.perf_counter() - start
x, y = model.transform(views)
found = [abs(np.corrcoef(x[:, k], y[:, k])[0, 1]) for k in range(3)]
print(f"| cca-zoo | {{taken:.1f}} | " + ", ".join(f"{{one:.6f}}" for one in found) + " |")
"""


def _first(correlations: np.ndarray | list[float]) -> str:
    return ", ".join(f"{correlation:.6f}" for correlation in correlations[:3])


def rank(images: int = 25_000, captions: int = 125_000, size: int = 96) -> None:
    rng = np.random.default_rng(0)
    image_of = np.repeat(np.arange(images), captions // images)
    about = rng.standard_normal((images, size)).astype(np.float32)
    texts = (about[image_of] + 3 * rng.standard_normal((captions, size))).astype(np.float32)
    print(
        f"| {images:,} images x {captions:,} captions, {size} numbers | seconds | R@1, 5, 10 | GiB at most |"
    )
    print("|---|---:|---|---:|")
    for direction in DIRECTIONS:

        def ranks(direction: RankDirection = direction) -> np.ndarray:
            scores = embedded_scores(about, texts, direction=direction, cosine=True)
            return ranks_of_originals(scores, image_of, direction)

        taken, computed = seconds(ranks)
        shares = ", ".join(f"{np.mean(computed <= k):.3f}" for k in (1, 5, 10))
        print(f"| {direction} | {taken:.1f} | {shares} | {held():.2f} |", flush=True)


class _Projected(LinearEmbedder):
    """Fixed maps, compared by the cosine."""

    cosine = True

    def __init__(self, images: LinearMap, captions: LinearMap) -> None:
        self.images_, self.captions_ = images, captions


def precision(images: int = 5_000, captions: int = 25_000, size: int = 96) -> None:
    rng = np.random.default_rng(0)
    image_of = np.repeat(np.arange(images), captions // images)
    about = rng.standard_normal((images, size))
    sides, maps = [], []
    for rows, width in ((about, X), (about[image_of], PEER_Y)):
        spread = rng.standard_normal((size, width)) / np.sqrt(size)
        noisy = rows @ spread + 6 * rng.standard_normal((len(rows), width)) + 3
        sides.append(noisy.astype(np.float32))
        maps.append(LinearMap(np.full(width, 3.0), spread.T))
    model = _Projected(*maps)
    data = Dataset({"images": sides[0], "captions": sides[1]}, {("captions", "images"): image_of})

    def double(direction: RankDirection) -> Scores:
        embedded = (model.embed(view, data.views[view]) for view in ("images", "captions"))
        return embedded_scores(*embedded, direction=direction, cosine=True)

    print("| precision | direction | CPU seconds | MiB at most | R@1, 5, 10 | median, mean rank |")
    print("|---|---|---:|---:|---|---|")
    for name, scores in (("double", double), ("single", lambda way: model.score(data, direction=way))):
        for direction in DIRECTIONS:
            tracemalloc.start()
            start = time.process_time()
            ranks = ranks_of_originals(scores(direction), image_of, direction)
            taken, most = time.process_time() - start, tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            shares = ", ".join(f"{np.mean(ranks <= k):.5f}" for k in (1, 5, 10))
            middle = f"{np.median(ranks):.1f}, {np.mean(ranks):.4f}"
            print(f"| {name} | {direction} | {taken:.2f} | {most:.0f} | {shares} | {middle} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Linear methods on many pairs")
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--cca-zoo", default="", metavar="PYTHON")
    options = parser.parse_args()
    # Each part runs in its own process, because peak memory is that of a whole process.
    if options.only is None:
        for part in PARTS:
            subprocess.run([sys.executable, "-m", "studies.cca", *sys.argv[1:], "--only", part], check=True)
    elif options.only == "covariances":
        covariances(options.pairs)
    elif options.only == "peers":
        peers(options.cca_zoo)
    elif options.only == "ranking":
        rank()
    else:
        precision()


if __name__ == "__main__":
    main()
