"""Words of many pictures as a stream, computed in threads, and cached by content so that work can resume.

The cache is a folder `<digest of the vocabulary>/<first two digits>/<SHA-256 of the file>.npz`. An entry is
written to a temporary file and renamed, so every entry is complete. Another vocabulary or a changed picture
has other entries; the cache never needs to be cleared.
"""

import os
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_core.extras import LazyExtra
from models_core.features.image import pictures
from models_core.features.image.pyramid import FINEST
from models_core.features.image.vocabulary import Vocabulary
from phrasebox.threads import one_blas_thread

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


_Counts = NDArray[np.uint32]


class _Counted(NamedTuple):
    """A picture's name, the SHA-256 of its file, its counts (16, words), and whether they were cached."""

    name: str
    digest: str
    counts: _Counts
    cached: bool


class Cache:
    """Counts by content, in a folder that several processes may share."""

    def __init__(self, folder: Path, vocabulary: Vocabulary) -> None:
        self.folder = folder / vocabulary.digest[:32]
        self.shape = (FINEST**2, sum(len(centres) for centres in vocabulary.centres))

    def get(self, digest: str) -> _Counts | None:
        """Return the counts, or None if they are missing or the file is damaged, so that they are computed
        again."""
        try:
            with np.load(self._file(digest), allow_pickle=False) as stored:
                counts = stored["counts"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return counts if counts.shape == self.shape and counts.dtype == np.uint32 else None

    def put(self, digest: str, counts: _Counts) -> None:
        """Store the counts of a picture's content, atomically."""
        file = self._file(digest)
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez_compressed(stream, counts=counts)
            os.replace(scratch, file)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise

    def _file(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.npz"


def extract(
    named: Iterable[tuple[str, Path]],
    vocabulary: Vocabulary,
    cache: Path,
    *,
    total: int = 0,
    progress: Callable[[int, int], None] = lambda done, of: None,
    workers: int | None = None,
) -> Iterator[_Counted]:
    """Yield the counts of each picture in input order, with only a few pictures in memory.

    `progress` is called with the number of pictures done and `total`; an exception that it raises ends the
    stream, and computed counts stay in the cache. Raises BadPicture naming the first unusable picture. While
    the stream runs, OpenCV and BLAS use one thread each, since pictures are processed in parallel.
    """
    store = Cache(cache, vocabulary)
    workers = workers or os.cpu_count() or 1

    def work(name: str, path: Path) -> _Counted:
        picture = pictures.read_picture(path)
        counts = store.get(picture.digest)
        if counts is not None:
            return _Counted(name, picture.digest, counts, True)
        counts = vocabulary.counts(picture)
        store.put(picture.digest, counts)
        return _Counted(name, picture.digest, counts, False)

    waiting: deque[Future[_Counted]] = deque()
    threads = cv2.getNumThreads()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        cv2.setNumThreads(1)
        try:
            done = 0
            source = iter(named)
            ended = False
            while not ended or waiting:
                while not ended and len(waiting) < 2 * workers:
                    item = next(source, None)
                    if item is None:
                        ended = True
                    else:
                        waiting.append(pool.submit(work, *item))
                if waiting:
                    counted = waiting.popleft().result()
                    done += 1
                    progress(done, total)
                    yield counted
        finally:
            for future in waiting:
                future.cancel()
            cv2.setNumThreads(threads)
