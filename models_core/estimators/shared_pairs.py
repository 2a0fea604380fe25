"""Covariances of many pairs, computed by several processes. Each adds up some spans of the pairs.

Pairs and partial sums are files in one folder, which all processes see. A process locks a span before it adds
it up; the lock ends when the process ends. The sums of a span are one file, which appears only when it is
complete. So each span is counted once, even if a process is killed or starts late. Partial sums are merged in
the order of the spans, so the result does not depend on which process computed which span.

Source: Gong et al. 2014, section 3.2 (sums over pairs are all that eq. 1 needs).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import View
from models_core.estimators.covariances import PAIRS_PER_BLOCK, ROW_MAPS, PairedSums, RowMap, sums_of_pairs
from models_core.estimators.discovery import load_methods
from models_core.phase_cache import digest_of_parts
from phrasebox.lazy import sparse

#: Maximum number of spans: the partial sums of one span take as much space as those of all pairs.
MOST_SPANS = 16
#: Seconds before looking again at a span that another process holds.
_PAUSE = 0.1
_HEADER = "pairs.json"
_ROW_MAP = "row_map.npz"

#: Called with the number of spans that are done and of all spans; an exception from it ends the work.
SpansDone = Callable[[int, int], None]


def _ignore(done: int, total: int) -> None:
    """Report nothing."""


class SharedPairs:
    """Pairs of images and captions in `folder`, and the sums of the spans that are done."""

    def __init__(self, folder: Path) -> None:
        """Open what `write_pairs` wrote; raises FileNotFoundError if it is not there, or incomplete."""
        self.folder = folder
        header = json.loads((folder / _HEADER).read_text())
        self.pairs, self._length = int(header["pairs"]), int(header["span"])
        self._images, self._captions = _opened(folder, "images"), _opened(folder, "captions")
        self._image_of = np.load(folder / "image_of.npy")
        self._described = _opened_map(folder, header["described"]) if "described" in header else None

    @property
    def spans(self) -> int:
        """The number of spans."""
        return -(-self.pairs // self._length)

    @property
    def missing(self) -> list[int]:
        """The numbers of the spans whose sums are not there yet."""
        return [number for number in range(self.spans) if not self._sums(number).exists()]

    def take_spans(self, done: SpansDone = _ignore) -> int:
        """Add up every span that is neither done nor held by another process; return their number.

        Raises FileNotFoundError if the folder is removed meanwhile.
        """
        taken = 0
        for number in self.missing:
            with self._claimed(number) as ours:
                if ours and not self._sums(number).exists():
                    self._add_up(number)
                    taken += 1
            done(self.spans - len(self.missing), self.spans)
        return taken

    def total(self, done: SpansDone = _ignore) -> PairedSums:
        """Return the sums of all pairs: add up free spans, wait for other processes, and take over the spans
        of dead ones.

        Raises ValueError if the sums there are not of these pairs.
        """
        while self.missing:
            if not self.take_spans(done):
                time.sleep(_PAUSE)
        whole: PairedSums | None = None
        for number in range(self.spans):
            with np.load(self._sums(number)) as arrays:
                part = PairedSums.from_state(arrays, {"count": int(arrays["count"])})
            whole = whole or PairedSums(*part.widths)
            whole.merge(part)
        whole = whole or PairedSums(self._images.shape[1], self._captions.shape[1])
        if whole.count != self.pairs:
            raise ValueError(
                f"{self.folder}: sums of {whole.count:.0f} pairs, and the data has {self.pairs}; remove it"
            )
        return whole

    def _sums(self, number: int) -> Path:
        return self.folder / f"sums-{number:04}.npz"

    def _add_up(self, number: int) -> None:
        part = slice(number * self._length, (number + 1) * self._length)
        sums = sums_of_pairs(
            self._images, self._captions[part], self._image_of[part], described=self._described
        )
        arrays, settings = sums.state()
        with _whole(self._sums(number)) as file:
            np.savez(file, **arrays, count=np.array(settings["count"], np.int64))  # type: ignore[arg-type]

    @contextlib.contextmanager
    def _claimed(self, number: int) -> Iterator[bool]:
        handle = os.open(self.folder / f"claim-{number:04}", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(handle)


def write_pairs(
    root: Path,
    images: View,
    captions: View,
    image_of: NDArray[np.intp],
    *,
    rows: int = PAIRS_PER_BLOCK,
    described: RowMap | None = None,
) -> SharedPairs:
    """Write pairs to a folder in `root` that several processes share, or use those that are there.

    `image_of` is the row of each caption's image. `described`, if given, maps each block to what is added up;
    its state is written, not its results. The folder's name is a digest of the data, so a process that still
    works on other data writes elsewhere. Spans are whole blocks of `rows` pairs; their limits depend on the
    data alone.
    """
    pairs = captions.shape[0]
    blocks = -(-pairs // rows)
    header: dict[str, Any] = {"pairs": pairs, "span": -(-blocks // MOST_SPANS) * rows}
    made_of: dict[str, NDArray[Any]] = {}
    if described is not None:
        made_of, settings = described.state()
        header["described"] = {"name": described.name, "settings": settings}
    arrays = [made_of[name] for name in sorted(made_of)]
    folder = root / digest_of_parts(header, *_arrays(images), *_arrays(captions), image_of, *arrays)
    with contextlib.suppress(FileNotFoundError):
        return SharedPairs(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _write(folder, "images", images)
        _write(folder, "captions", captions)
        with _whole(folder / "image_of.npy") as file:
            np.save(file, np.asarray(image_of))
        if made_of:
            with _whole(folder / _ROW_MAP) as file:
                np.savez(file, **made_of)  # type: ignore[arg-type]
        # Written last: if this file exists, all files do.
        with _whole(folder / _HEADER) as file:
            file.write_text(json.dumps(header))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return SharedPairs(folder)


def _write(folder: Path, name: str, view: View) -> None:
    if isinstance(view, sparse.csr_matrix):
        with _whole(folder / f"{name}.npz") as file:
            sparse.save_npz(file, view, compressed=False)
        return
    with _whole(folder / f"{name}.npy") as file:
        np.save(file, view)


def _opened(folder: Path, name: str) -> View:
    if (folder / f"{name}.npz").exists():
        return sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz"))
    array: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return array


def _opened_map(folder: Path, header: Mapping[str, Any]) -> RowMap:
    if header["name"] not in ROW_MAPS:
        load_methods()  # a helper process has not loaded the methods yet
    with np.load(folder / _ROW_MAP) as arrays:
        return ROW_MAPS[header["name"]](({name: arrays[name] for name in arrays.files}, header["settings"]))


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a file for writing that gets its name when it is complete, and is removed if writing fails."""
    part = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield part
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _arrays(view: View) -> tuple[NDArray[Any], ...]:
    return (view.data, view.indices, view.indptr) if isinstance(view, sparse.csr_matrix) else (view,)
