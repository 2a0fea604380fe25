"""Alignment of the regions of an image with the words of a sentence, for ranking and for looking.

Regions and words are mapped into one space (`network`), where an image and a sentence score as their best
matching parts do (`objective`). The rate and the weight decay are chosen on held-out images after a few
epochs. Of the whole training the best models on held-out images are kept, without such images the last ones;
the first of them ranks.

Source: Karpathy and Fei-Fei 2015, section 3.1.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.device import torch_for
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    Dataset,
    FitContext,
    Matrix,
    Method,
    RaggedRows,
    RankDirection,
    State,
    register_method,
)
from models_core.estimators.neural.settings import ALIGNMENTS, AlignmentSettings
from models_core.scoring.tiles import Scores, check_finite


class Alignment:
    """Learned are `members_`, the weights of the best models with the best first, `recalls_` with a row
    (epoch, held-out recall) for each, `rate_` and `decay_`, `tried_` with a row (rate, decay, held-out
    recall) for each setting, and `curve_` with a row (epoch, mean loss, held-out recall) for each epoch."""

    members_: list[dict[str, NDArray[Any]]]
    recalls_: Matrix
    rate_: float
    decay_: float
    tried_: Matrix
    curve_: Matrix

    def __init__(self, settings: AlignmentSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Alignment:
        """Learn from every caption with its image; rate and decay are chosen on `validation`.

        Of equally good ones the first are taken. Goes on after the last of the context's checkpoints. Raises
        ValueError without held-out images where there is something to choose, for regions that are not
        finite, and where no rate learns (Diverged).
        """
        from models_core.estimators.neural.training import AlignmentRun, Diverged, TrainingPairs

        settings = self.settings
        grid = list(product(settings.rates, settings.decays))
        if validation is None and len(grid) > 1:
            raise ValueError("the alignment chooses its rate on held-out images; give some, or one rate")
        pairs = TrainingPairs.of(train)
        check_finite(pairs.regions.values, "regions")
        device = torch_for(context.device).device
        tried: list[tuple[float, float, float]] = []
        arrays, said = context.checkpoints.latest() or ({}, {})
        if said:
            tried = [(rate, decay, recall) for rate, decay, recall in said["tried"]]
        trials = settings.trial_epochs if len(grid) > 1 else 0
        for place, steps in enumerate(grid):
            if place < len(tried):
                continue
            run = AlignmentRun(f"trial {place + 1}", pairs, settings, steps, context, device)
            try:
                run.train(
                    trials,
                    validation,
                    told=lambda place=place, run=run: context.progress(  # type: ignore[misc]
                        "trying rates",
                        (place * trials + run.epoch) * run.batches + run.batch,
                        max(1, len(grid) * trials * run.batches),
                    ),
                )
                recall = max((member.recall for member in run.members), default=0.0)
            except Diverged:
                if len(grid) == 1:
                    raise
                recall = -1.0
            tried.append((*steps, recall))
            context.checkpoints.save({}, {"tried": tried, "run": None})
        self.tried_ = np.asarray(tried)
        best = self.tried_[self.tried_[:, 2].argmax()]
        if best[2] < 0:
            raise Diverged(
                f"with none of the rates {settings.rates} is the loss a number; choose smaller ones"
            )
        self.rate_, self.decay_ = float(best[0]), float(best[1])
        run = AlignmentRun("learning", pairs, settings, (self.rate_, self.decay_), context, device)
        if said and said["run"] is not None:
            run.restore(arrays, said["run"])

        def keep() -> None:
            held, told = run.state()
            context.checkpoints.save(held, {"tried": tried, "run": told})

        run.train(
            settings.epochs,
            validation,
            told=lambda: context.progress(
                "learning", run.epoch * run.batches + run.batch, settings.epochs * run.batches
            ),
            keep=keep,
        )
        self.members_ = [member.weights for member in run.members]
        self.recalls_ = np.asarray([(member.epoch, member.recall) for member in run.members])
        self.curve_ = np.asarray(run.curve)
        return self

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Scores of the first member; rows are queries."""
        return self.member_scores(data, 0, direction=direction)

    def member_scores(self, data: Dataset, member: int, *, direction: RankDirection) -> Scores:
        """Scores of one of the kept models, of which 0 is the best on held-out images."""
        from models_core.estimators.neural.scores import AlignmentScores

        found = AlignmentScores(*self.embedded(data, member), self.settings.objective)
        return found if direction == "annotation" else found.turned()

    def embedded(self, data: Dataset, member: int = 0) -> tuple[RaggedRows, RaggedRows]:
        """Regions of images and words of captions in the common space."""
        from models_core.estimators.neural.training import embed, stored_network

        return embed(stored_network(self.members_[member]), data)

    def state(self) -> State:
        """Everything learned as arrays, and as settings that fit JSON."""
        arrays = {
            f"member.{place}.{name}": own
            for place, member in enumerate(self.members_)
            for name, own in member.items()
        }
        arrays |= {"recalls": self.recalls_, "tried": self.tried_}
        return arrays, {
            "rate": self.rate_,
            "decay": self.decay_,
            "members": len(self.members_),
            "curve": self.curve_.tolist(),
        }

    @classmethod
    def from_state(cls, settings: AlignmentSettings, state: State) -> Alignment:
        """What `state` gave; raises KeyError where something is missing."""
        arrays, said = state
        found = cls(settings)
        found.members_ = [
            {n.removeprefix(prefix): own for n, own in arrays.items() if n.startswith(prefix)}
            for prefix in (f"member.{place}." for place in range(said["members"]))
        ]
        found.recalls_, found.tried_ = arrays["recalls"], arrays["tried"]
        found.rate_, found.decay_ = said["rate"], said["decay"]
        found.curve_ = np.asarray(said["curve"], np.float64)
        return found


register_method(
    Method(
        name="alignment",
        title="Alignment of regions and words",
        settings=AlignmentSettings,
        make=Alignment,
        load=Alignment.from_state,
        takes={IMAGE_VIEW: "regions", CAPTION_VIEW: "words"},
        source="Karpathy and Fei-Fei 2015, section 3.1",
        recipes=ALIGNMENTS,
    )
)
