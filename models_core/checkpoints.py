"""Checkpoints: what is half learned, kept so that a training that was killed goes on where it was."""

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
#: The folder of a training's checkpoints among what it keeps.
CHECKPOINTS = "checkpoints"
#: Seconds after which a training keeps a checkpoint although its epoch has not ended.
SECONDS_BETWEEN = 120.0


class Checkpoints:
    """Checkpoints of one training in `folder`, which is its own; without one nothing is kept.

    `metadata` says which training it is, and must fit JSON: a checkpoint of another is not taken. Those that
    are not `written` are only read: of several processes of a training one writes.
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
        """Whether the last one is so old that there should be another."""
        return self.folder is not None and self.written and self._clock() - self._saved_at >= SECONDS_BETWEEN

    def save(self, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> None:
        """Keep these in the place of the last ones, which stay until then. Raises OSError."""
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
        """The arrays and settings of the last whole one of this training; None where there is none."""
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
        """The settings alone of the last whole checkpoint in `folder`, of whichever training."""
        for number in sorted(Checkpoints(folder)._numbers(), reverse=True):
            try:
                settings: dict[str, Any] = storage.read_manifest(folder / f"checkpoint-{number}")["settings"]
            except (storage.BadModel, OSError):
                continue  # it made place for a newer one
            return settings
        return None

    def _folder_of(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"checkpoint-{number}"

    def _numbers(self) -> list[int]:
        if self.folder is None or not self.folder.is_dir():
            return []
        return [int(m[1]) for path in self.folder.iterdir() if (m := _NAME.fullmatch(path.name))]
