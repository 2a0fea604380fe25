"""Covariances by one and by two Celery workers: time, and whether the sums are bitwise equal.

    python -m studies.shared_covariances [--pairs 60000] [--stacked] [--rounds 3] [--redis BINARY]

A training adds up the sums of dense float32 pairs, 2,048 + 1,500 numbers each, as `train_system` does: pairs
are written to files, workers are called, spans are computed and merged. Alternately without and with another
worker, with one BLAS thread per process. Writing and merging are part of the time. With --stacked the sums
are the second ones of SAE: 512 + 500 numbers with 1,500 Fourier features of each side.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models_core.estimators.transfer.stacked import StackedRows

X, Y = 2048, 1500
STACKED_X, STACKED_Y, FOURIER = 512, 500, 1500


@contextlib.contextmanager
def _worker(folder: Path, url: str) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "config.celery", "worker", "--concurrency", "1"]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--without-mingle", "--without-gossip"], env=dict(os.environ), stdout=log, stderr=log
        )
    from config.celery import app

    try:
        while not app.control.ping(timeout=1, limit=1):
            if process.poll() is not None:
                raise SystemExit((folder / "worker.log").read_text())
        yield
    finally:
        process.terminate()
        process.wait()


def _stacked_rows() -> StackedRows:
    import numpy as np

    from models_core.estimators.embeddings import LinearMap
    from models_core.estimators.transfer.stacked import StackedRows
    from models_core.features.fourier import FourierFeatures

    rng = np.random.default_rng(1)
    maps = {
        view: LinearMap(np.zeros(width), rng.standard_normal((width, 128)) / width)
        for view, width in (("images", STACKED_X), ("captions", STACKED_Y))
    }
    some = rng.standard_normal((500, 128))
    fourier = {view: FourierFeatures(FOURIER).fit(some, rng) for view in maps}
    return StackedRows(maps, fourier, {"images": 1.0, "captions": 1.0}, True)


def _sums(folder: Path, pairs: int, stacked: bool) -> tuple[float, str]:
    import numpy as np

    from evaluation.services.systems.shared_sums import SharedSums

    rng = np.random.default_rng(0)
    x, y = (STACKED_X, STACKED_Y) if stacked else (X, Y)
    images = rng.standard_normal((pairs // 5, x), dtype=np.float32)
    captions = rng.standard_normal((pairs, y), dtype=np.float32)
    stacked_rows = _stacked_rows() if stacked else None
    image_of = np.arange(pairs) // 5
    start = time.perf_counter()
    sums = SharedSums(folder / "data" / "pairs", lambda *progress: None, worth=0)
    covariances = sums(images, captions, image_of, described=stacked_rows)
    taken = time.perf_counter() - start
    progress = hashlib.sha256()
    for _, array in sorted(covariances.state()[0].items()):
        progress.update(np.ascontiguousarray(array).data)
    return taken, progress.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description="Covariances by one and by two Celery workers")
    parser.add_argument("--pairs", type=int, default=60_000)
    parser.add_argument("--stacked", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--redis", default=shutil.which("redis-server") or "redis-server")
    options = parser.parse_args()
    from tests import services

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-sums-")))
        (folder / "data").mkdir()
        url = stack.enter_context(services.redis_server(Path(options.redis)))
        os.environ |= {
            "DATA_DIR": str(folder / "data"),
            "REDIS_URL": url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        import django

        django.setup()
        widths = (STACKED_X + FOURIER, STACKED_Y + FOURIER) if options.stacked else (X, Y)
        print(f"| {options.pairs:,} pairs of {widths[0]:,} + {widths[1]:,} numbers | seconds | sums |")
        print("|---|---:|---|")
        for _ in range(options.rounds):
            taken, digest = _sums(folder, options.pairs, options.stacked)
            print(f"| one worker | {taken:.1f} | {digest} |", flush=True)
            with _worker(folder, url):
                taken, digest = _sums(folder, options.pairs, options.stacked)
            print(f"| two | {taken:.1f} | {digest} |", flush=True)


if __name__ == "__main__":
    main()
