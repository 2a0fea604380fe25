"""Learning curves of systems that learn in epochs: of those that stand, and of trainings under way."""

from __future__ import annotations

from typing import NamedTuple

from evaluation.services.systems.folders import system_folder, training_folder
from models_core import storage
from models_core.checkpoints import CHECKPOINTS, Checkpoints


class LearnedEpoch(NamedTuple):
    """After which epoch, the mean loss of a pair in it, and the held-out recall after it, a share."""

    epoch: int
    loss: float
    recall: float


def learning_curve(name: str) -> list[LearnedEpoch]:
    """The epochs of the system `name`, or of its training so far; none where it has no such thing."""
    try:
        settings = storage.read_manifest(system_folder(name))["settings"]
        rows = settings.get("model", {}).get("curve", [])
    except (storage.BadModel, OSError):
        said = Checkpoints.said_last(training_folder(name) / CHECKPOINTS) or {}
        rows = (said.get("run") or {}).get("curve", [])
    return [LearnedEpoch(int(epoch), loss, recall) for epoch, loss, recall in rows]
