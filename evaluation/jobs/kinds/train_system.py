"""Training a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import Progress, job_kind
from evaluation.jobs.progress import Phases, wanted_by
from evaluation.services.systems import training
from models_core.device import CPU


@job_kind(
    "train_system", title=gettext_lazy("Training a system"), refusals=(UnknownName, OSError, ValueError)
)
def train_system(
    progress: Progress,
    *,
    name: str,
    recipe: str,
    corpus: str,
    train: str = "train",
    held_out: str = "val",
    fold: str = "",
    background: Sequence[str] = (),
    wordnet: str = "",
    features: str = "",
    ids: str = "",
    lemmas: str = "",
    seed: int = 0,
    device: str = CPU,
) -> dict[str, Any]:
    """Train and store; the result is `systems.Trained`. A killed one goes on after its last phase."""
    return asdict(
        training.train_system(
            name=name,
            recipe=recipe,
            corpus=corpus,
            train=train,
            held_out=held_out,
            fold=fold,
            sources=training.Sources(tuple(background), wordnet, features, ids, lemmas),
            seed=seed,
            device=device,
            wanted=wanted_by(progress),
            progress=Phases(progress),
        )
    )
