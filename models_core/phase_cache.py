"""A cache of finished phases: a phase that was killed is done again, a finished one is not.

The results of a phase are stored under a digest of everything they depend on, as a folder that is moved to
its place when complete (`storage`). Damaged results are computed again.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core import storage

PhaseArrays = dict[str, NDArray[Any]]
#: Called with the phase, the amount done, and the total; may raise to stop the work.
PhaseProgress = Callable[[str, int, int], None]

#: Increase this when the results of phases change, so that old ones are not used.
_DEFINITION = 1
_KIND = "phase"


def no_progress(phase: str, done: int, of: int) -> None:
    """Report nothing."""


class PhaseCache:
    """The results of phases in `folder`; without a folder nothing is kept. `progress` is called for every
    phase.

    Kernel matrices are large and useful for one training only: they are kept in `kernels`, or not at all.
    """

    def __init__(
        self,
        folder: Path | None = None,
        progress: PhaseProgress = no_progress,
        *,
        kernels: Path | None = None,
    ) -> None:
        self.folder, self.progress, self.kernels = folder, progress, kernels

    def within(self, name: str) -> PhaseCache:
        """Return the same cache, whose phases are reported as parts of `name`."""
        return PhaseCache(self.folder, lambda phase, done, of: self.progress(f"{name}, {phase}", done, of))

    def arrays(
        self, phase: str, provenance: Mapping[str, Any], make: Callable[[], PhaseArrays]
    ) -> PhaseArrays:
        """Return the result of `make`, or its stored result for the same `provenance` (which must fit
        JSON)."""
        self.progress(phase, 0, 1)
        arrays = self._stored(phase, provenance, make)
        self.progress(phase, 1, 1)
        return arrays

    def _stored(
        self, phase: str, provenance: Mapping[str, Any], make: Callable[[], PhaseArrays]
    ) -> PhaseArrays:
        if self.folder is None:
            return make()
        text = json.dumps([_DEFINITION, phase, provenance], sort_keys=True)
        name = f"{re.sub(r'[^a-z0-9]+', '-', phase.lower())}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        folder = self.folder / name
        if folder.exists():
            try:
                return storage.load_model(folder, _KIND).arrays
            except storage.BadModel:
                shutil.rmtree(folder)
        arrays = make()
        try:
            storage.save_model(folder, _KIND, arrays, {"phase": phase}, dict(provenance))
        except OSError:
            if not folder.exists():  # else another process stored the same meanwhile
                raise
        return arrays


def to_json_array(data: Any) -> NDArray[np.uint8]:
    """Return plain data as an array of bytes, for a file of arrays."""
    return np.frombuffer(json.dumps(data, ensure_ascii=False).encode(), dtype=np.uint8)


def from_json_array(array: NDArray[Any]) -> Any:
    """Return the data that `to_json_array` was given; tuples become lists."""
    return json.loads(array.tobytes())


def digest_of_parts(*parts: Any) -> str:
    """Return the SHA-256 of arrays (type, shape and bytes) and plain data, in this order."""
    sha256 = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha256.update(f"{part.dtype} {part.shape}\n".encode())
            sha256.update(np.ascontiguousarray(part).data)
        else:
            sha256.update(json.dumps(part, sort_keys=True, ensure_ascii=False).encode())
    return sha256.hexdigest()
