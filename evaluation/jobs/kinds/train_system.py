"""Training a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases, requested_by
from evaluation.services.systems import training
from models_core.device import CPU
from models_core.systems.recipe_files import recipe_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainJobRequest:
    """A system to be trained, as a job's row has it: `TrainRequest` with its files one by one."""

    name: str
    recipe: str
    corpus: str
    train: str = "train"
    held_out: str = "val"
    fold: str = ""
    background: Sequence[str] = ()
    wordnet: str = ""
    features: str = ""
    ids: str = ""
    lemmas: str = ""
    regions: str = ""
    words: str = ""
    layer: str = ""
    text: str = ""
    seed: int = 0
    device: str = CPU
    auxiliary: Sequence[str] = ()
    changes: Sequence[str] = ()

    @property
    def plain(self) -> training.TrainRequest:
        """The same for `train_system_job`."""
        return training.TrainRequest(
            name=self.name,
            recipe=self.recipe,
            corpus=self.corpus,
            train=self.train,
            held_out=self.held_out,
            fold=self.fold,
            sources=training.Sources(
                background=tuple(self.background),
                wordnet=self.wordnet,
                features=self.features,
                ids=self.ids,
                lemmas=self.lemmas,
                regions=self.regions,
                words=self.words,
                layer=self.layer,
                text=self.text,
            ),
            seed=self.seed,
            device=self.device,
            auxiliary=tuple(self.auxiliary),
            changes=tuple(self.changes),
        )


@job_kind(
    "train_system",
    title=gettext_lazy("Training a system"),
    refusals=(UnknownName, OSError, ValueError),
    request=TrainJobRequest,
)
def train_system_job(progress: JobProgress, request: TrainJobRequest) -> dict[str, Any]:
    """Train and store; the result is `systems.Trained`. A killed one goes on after its last phase."""
    phases = Phases(progress, recipe_of(request.recipe).kind)
    return asdict(training.train_system(request.plain, wanted=requested_by(progress), progress=phases))
