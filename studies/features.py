"""Time for words of pictures, computed and from the cache, compared with straightforward code; prints one
table.

    python -m studies.features FOLDER [--pictures 1000]

FOLDER holds photographs (*.jpg). Codebooks are learned from half of those counted, at most 200.

"obvious" describes one picture after another: filters by SciPy's FFT, all distances of points to centres at
once by NumPy, words counted cell by cell; colours and SIFT are also OpenCV's. It is run on a sample and
extrapolated, and must return the same words up to rounding. The peak is the rate of a matrix product in
single precision; operations are those of 38 filters of 49 x 49 pixels and of all distances, an addition and a
multiplication each, without savings by Fourier transforms.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from cv2 import COLOR_RGB2GRAY, cvtColor
from scipy.signal import fftconvolve

from annotation.common.plain_text import text_table
from models_core.features.image import pictures
from models_core.features.image.descriptors import DESCRIPTORS, Field, bank
from models_core.features.image.extraction import extract
from models_core.features.image.pyramid import FINEST
from models_core.features.image.vocabulary import CodebookSettings, Vocabulary, learn
from studies.measuring import peak, seconds

SAMPLE = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=1000)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.jpg"))[: options.pictures]
    if len(paths) < SAMPLE:
        parser.error(f"{options.folder} has {len(paths)} pictures *.jpg; expected {SAMPLE} or more")
    used = min(200, max(1, len(paths) // 2))
    rows, best = [], peak(np.float32)
    busy = time.process_time()
    taken, vocabulary = seconds(lambda: learn(paths, CodebookSettings(pictures=used)))
    rows.append(["codebooks", used, taken, time.process_time() - busy, 1000 * taken / used, "", ""])
    slow, expected = seconds(lambda: [obvious(path, vocabulary) for path in paths[:SAMPLE]])
    slow *= len(paths) / SAMPLE
    work = sum(operations(path, vocabulary) for path in paths[:SAMPLE]) * len(paths) / SAMPLE
    with tempfile.TemporaryDirectory() as folder:
        for what in ("words, computed", "words, from the cache"):
            busy = time.process_time()
            stream = extract(((path.name, path) for path in paths), vocabulary, Path(folder))
            taken, image_counts = seconds(lambda s=stream: [counted.counts for counted in s])  # type: ignore[misc]
            busy = time.process_time() - busy
            beside = [slow, work / taken / best] if what.endswith("computed") else ["", ""]
            rows.append([what, len(paths), taken, busy, 1000 * taken / len(paths), *beside])
    print(
        text_table(
            ["what", "pictures", "s", "processor s", "ms a picture", "obvious, s", "share of peak"], rows
        )
    )
    difference = sum(
        int(np.abs(a.astype(int) - b).sum()) // 2 for a, b in zip(image_counts, expected, strict=False)
    )
    points = sum(int(counts.sum()) for counts in expected)
    print(
        f"{difference} of {points} points have another word in the obvious code; "
        f"a product of matrices makes {best / 1e9:.1f} GFLOP/s in single precision"
    )


def obvious(path: Path, vocabulary: Vocabulary) -> np.ndarray:
    """Return a picture's counts, shape (16, words of all kinds)."""
    picture = pictures.pixels(pictures.read_picture(path), vocabulary.settings.longer_side)
    kinds = []
    for (kind, (describe, _)), centres in zip(DESCRIPTORS.items(), vocabulary.centres, strict=True):
        field = filtered(picture) if kind == "texture" else describe(picture)
        points = field.reshape(-1, field.shape[2])
        words = np.concatenate(
            [
                ((points[start : start + 500, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
                for start in range(0, len(points), 500)
            ]
        ).reshape(field.shape[:2])
        rows, columns = field.shape[:2]
        down, across = np.arange(rows) * FINEST // rows, np.arange(columns) * FINEST // columns
        cells = [words[down == i][:, across == j] for i in range(FINEST) for j in range(FINEST)]
        kinds.append([np.bincount(cell.ravel(), minlength=len(centres)) for cell in cells])
    return np.hstack(kinds)


def filtered(picture: pictures.Pixels) -> Field:
    """Return `descriptors.texture` by SciPy's FFT."""
    grey = cvtColor(picture, COLOR_RGB2GRAY).astype(np.float32)
    grey = (grey - grey.mean()) / max(float(grey.std()), 1e-9)
    wide = np.pad(grey, len(bank()[0][0]) // 2, mode="reflect")
    filtered_images = []
    for oriented in bank():
        responses = [fftconvolve(wide, kernel[::-1, ::-1], mode="valid") for kernel in oriented]
        filtered_images.append(responses[0] if len(oriented) == 1 else np.max(np.abs(responses), axis=0))
    field = np.stack(filtered_images, axis=2)
    strength = np.linalg.norm(field, axis=2, keepdims=True)
    return np.asarray(field * np.log1p(strength / 0.03) / np.maximum(strength, 1e-30), dtype=np.float32)


def operations(path: Path, vocabulary: Vocabulary) -> int:
    """Return the number of additions and multiplications for one picture if each filter is applied pixel by
    pixel."""
    picture = pictures.pixels(pictures.read_picture(path), vocabulary.settings.longer_side)
    points = picture.shape[0] * picture.shape[1]
    shapes = len(range(2, picture.shape[0], 4)) * len(range(2, picture.shape[1], 4))
    numbers = [points, points, shapes]
    distances = sum(2 * n * centres.size for n, centres in zip(numbers, vocabulary.centres, strict=True))
    return distances + 2 * points * sum(kernel.size for oriented in bank() for kernel in oriented)


if __name__ == "__main__":
    main()
