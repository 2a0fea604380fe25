"""How long words of pictures take, first and again from the cache; prints one table.

    python -m benchmarks.features FOLDER [--pictures 100]

FOLDER holds photographs (*.jpg). Codebooks are learned from half of those counted, at most 200.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from models_core.image.extraction import extract
from models_core.image.vocabulary import Settings, learn


def main() -> None:
    parser = argparse.ArgumentParser(description="How long words of pictures take.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=100)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.jpg"))[: options.pictures]
    print("| what | pictures | seconds | milliseconds a picture |\n| --- | ---: | ---: | ---: |")
    start = time.perf_counter()
    used = min(200, max(1, len(paths) // 2))
    vocabulary = learn(paths, Settings(pictures=used))
    row("codebooks of 128, 256 and 256 words", used, time.perf_counter() - start)
    with tempfile.TemporaryDirectory() as folder:
        for what in ("words, computed", "words, from the cache"):
            start = time.perf_counter()
            for _ in extract(((path.name, path) for path in paths), vocabulary, Path(folder)):
                pass
            row(what, len(paths), time.perf_counter() - start)


def row(what: str, pictures: int, taken: float) -> None:
    print(f"| {what} | {pictures} | {taken:.1f} | {1000 * taken / pictures:.0f} |", flush=True)


if __name__ == "__main__":
    main()
