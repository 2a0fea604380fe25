"""Codebooks: 128 colours, 256 textures and 256 shapes that describe pictures.

Source: Hodosh et al. 2013, section 3.3.1: k-means on 1,000 points of each of 200 pictures. The paper uses
pictures of PASCAL 2008; here they are sampled from the user's pictures. The sample of pictures and points
depends on the seed and on the contents of the files, not on their names or order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models_core import storage
from models_core.extras import LazyExtra
from models_core.features.image import pictures, pyramid
from models_core.features.image.clusters import Points, k_means, nearest
from models_core.features.image.descriptors import DESCRIPTORS
from phrasebox.threads import one_blas_thread

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


_KIND = "image-words"

#: Called with the phase, the amount done, and the total; may raise to stop.
_Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class CodebookSettings:
    """Settings of a vocabulary. The longer side is in pixels; `words` are the numbers of words of each kind
    in `KINDS`."""

    longer_side: int = 200
    pictures: int = 200
    points: int = 1000
    words: tuple[int, ...] = tuple(number for _, number in DESCRIPTORS.values())
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Codebooks in the order of KINDS, shape (words, dimensions) each, and the settings that they were
    learned with."""

    centres: tuple[Points, ...]
    settings: CodebookSettings

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of settings and centres, so that counts of two vocabularies never mix."""
        sha256 = hashlib.sha256(json.dumps([asdict(self.settings), cv2.__version__]).encode())
        for centres in self.centres:
            sha256.update(centres.tobytes())
        return sha256.hexdigest()

    def counts(self, picture: pictures.Picture) -> NDArray[np.uint32]:
        """Return counts of words in each of the 4 x 4 cells, all kinds side by side, (16, sum of words).
        Raises BadPicture."""
        colours = pictures.pixels(picture, self.settings.longer_side)
        kinds = []
        for (describe, _), centres in zip(DESCRIPTORS.values(), self.centres, strict=True):
            field = describe(colours)
            words, _ = nearest(field.reshape(-1, field.shape[2]), centres)
            kinds.append(pyramid.count_in_cells(words.reshape(field.shape[:2]), len(centres)))
        return np.hstack(kinds)

    def split(self, counts: NDArray[np.integer]) -> list[NDArray[np.integer]]:
        """Split counts with all kinds side by side, (..., sum of words), into one array per kind."""
        return np.split(counts, np.cumsum([len(c) for c in self.centres])[:-1], axis=-1)

    def save(self, folder: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write the codebooks to a new folder (see storage.save)."""
        arrays: dict[str, NDArray[Any]] = dict(zip(DESCRIPTORS, self.centres, strict=True))
        storage.save_model(
            folder, _KIND, arrays, asdict(self.settings), {"opencv": cv2.__version__} | (metadata or {})
        )

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Load codebooks that `save` wrote. Raises storage.BadModel."""
        stored = storage.load_model(folder, _KIND)
        settings = CodebookSettings(**stored.settings | {"words": tuple(stored.settings["words"])})
        return cls(tuple(stored.arrays[kind] for kind in DESCRIPTORS), settings)


def learn(
    paths: Sequence[Path],
    settings: CodebookSettings | None = None,
    *,
    progress: _Progress = lambda phase, done, of: None,
) -> Vocabulary:
    """Learn codebooks from some of the pictures. Raises BadPicture, and ValueError for none or too few
    points."""
    settings = settings or CodebookSettings()
    if not paths:
        raise ValueError("no pictures were given; codebooks need at least one")
    chosen = _drawn(paths, settings)
    samples: list[list[Points]] = []
    with one_blas_thread(), ThreadPoolExecutor(2) as pool:
        for done, sample in enumerate(pool.map(lambda path: _sample(path, settings), chosen), start=1):
            samples.append(sample)
            progress("sampling pictures", done, len(chosen))
    centres = []
    for index, (kind, number) in enumerate(zip(DESCRIPTORS, settings.words, strict=True)):
        points = np.concatenate([sample[index] for sample in samples])

        def report_progress(done: int, of: int, phase: str = f"clustering {kind}") -> None:
            progress(phase, done, of)

        centres.append(k_means(points, number, seed=settings.seed, progress=report_progress))
    return Vocabulary(tuple(centres), settings)


def _drawn(paths: Iterable[Path], settings: CodebookSettings) -> list[Path]:
    """Return the first pictures without duplicates, ordered by a hash of seed and content."""
    keyed: dict[bytes, Path] = {}
    for path in paths:
        digest = pictures.read_picture(path).digest
        keyed.setdefault(hashlib.sha256(f"{settings.seed} {digest}".encode()).digest(), path)
    return [path for _, path in sorted(keyed.items())[: settings.pictures]]


def _sample(path: Path, settings: CodebookSettings) -> list[Points]:
    picture = pictures.read_picture(path)
    colours = pictures.pixels(picture, settings.longer_side)
    sample = []
    for index, (describe, _) in enumerate(DESCRIPTORS.values()):
        field = describe(colours)
        points = field.reshape(-1, field.shape[2])
        rng = np.random.default_rng([settings.seed, index, int(picture.digest[:16], 16)])
        sample.append(points[rng.permutation(len(points))[: settings.points]])
    return sample
