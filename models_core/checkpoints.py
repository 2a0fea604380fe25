"""Checkpoints: intermediate states of a training, so that it continues after it was killed."""

import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from models_core import storage

_KIND = "checkpoint"
_NAME = re.compile(r"checkpoint-(\d+)")
#: The name of the folder of checkpoints in a training's folder.
CHECKPOINTS = "checkpoints"
#: Seconds after which a training writes a checkpoint within an epoch.
SECONDS_BETWEEN = 120.0


class Checkpoints:
    """Checkpoints of one training in its own `folder`; without a folder nothing is stored.

    `metadata` identifies the training, and must be JSON-serialisable: checkpoints of others are ignored.
    Checkpoints that are not `written` are only read: of several processes of a training only one writes.
    """

    def __init__(
        self,
        folder: Path | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        written: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.written = written
        self.folder, self.metadata, self._clock = folder, dict(metadata or {}), clock
        self._saved_at = clock()

    @property
    def due(self) -> bool:
        """Whether the last checkpoint is so old that another is due."""
        return self.folder is not None and self.written and self._clock() - self._saved_at >= SECONDS_BETWEEN

    def save(self, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> None:
        """Store a checkpoint that replaces the last one, which stays until it is complete. Raises OSError."""
        if self.folder is None or not self.written:
            return
        number = max(self._numbers(), default=0) + 1
        try:
            storage.save_model(self._folder_of(number), _KIND, arrays, settings, self.metadata)
        except storage.SafetensorError as error:
            raise OSError(f"{self.folder}: no checkpoint could be written ({error})") from error
        for older in self._numbers():
            if older < number:
                shutil.rmtree(self._folder_of(older), ignore_errors=True)
        self._saved_at = self._clock()

    def latest(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """Return the arrays and settings of this training's last complete checkpoint; None if there is
        none."""
        for number in sorted(self._numbers(), reverse=True):
            try:
                stored = storage.load_model(self._folder_of(number), _KIND)
            except storage.BadModel:
                continue
            if stored.manifest["metadata"] == self.metadata:
                return stored.arrays, stored.settings
        return None

    @staticmethod
    def last_settings(folder: Path) -> dict[str, Any] | None:
        """Return the settings of the last complete checkpoint in `folder`, of any training."""
        for number in sorted(Checkpoints(folder)._numbers(), reverse=True):
            try:
                settings: dict[str, Any] = storage.read_manifest(folder / f"checkpoint-{number}")["settings"]
            except (storage.BadModel, OSError):
                continue  # a newer checkpoint replaced it
            return settings
        return None

    def _folder_of(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"checkpoint-{number}"

    def _numbers(self) -> list[int]:
        if self.folder is None or not self.folder.is_dir():
            return []
        return [int(m[1]) for path in self.folder.iterdir() if (m := _NAME.fullmatch(path.name))]
