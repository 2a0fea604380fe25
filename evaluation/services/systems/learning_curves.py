"""Learning curves of systems that learn in epochs: of those that stand, and of trainings under way."""

from dataclasses import dataclass
from typing import NamedTuple

from evaluation.services.systems.folders import system_folder, training_folder
from models_core import storage
from models_core.checkpoints import CHECKPOINTS, Checkpoints


class LearnedEpoch(NamedTuple):
    """After which epoch, the mean loss in it, of a pair or of a word, and the held-out figure after it."""

    epoch: int
    loss: float
    figure: float


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The epochs, and what their figures are: "recall", a share, or "perplexity"."""

    figure: str
    epochs: list[LearnedEpoch]


def learning_curve(name: str) -> LearningCurve:
    """That of the system `name`, or of its training so far; without epochs where it has no such thing."""
    try:
        held = storage.read_manifest(system_folder(name))["settings"].get("model", {})
    except (storage.BadModel, OSError):
        checkpoint = Checkpoints.last_settings(training_folder(name) / CHECKPOINTS) or {}
        held = checkpoint.get("run") or {}
    epochs = [LearnedEpoch(int(epoch), loss, figure) for epoch, loss, figure in held.get("curve", [])]
    return LearningCurve(held.get("figure", "recall"), epochs)
