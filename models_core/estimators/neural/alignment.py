"""Alignment of the regions of an image with the words of a sentence, for ranking and for localizing.

Regions and words are mapped into one space (`network`), where an image and a sentence score as their best
matching parts do (`objective`). The learning rate and the weight decay are chosen on held-out images after a
few epochs. Training keeps the best models on held-out images, or the last ones without such images; the first
of them ranks.

Source: Karpathy and Fei-Fei 2015, section 3.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Dataset, FitContext, Matrix, RaggedRows, RankDirection, State
from models_core.estimators.embeddings import RECALL
from models_core.estimators.neural.settings import AlignmentSettings
from phrasebox.device import torch_for
from phrasebox.scoring.tiles import Scores, check_finite


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
    selection_: tuple[str, ...]

    def __init__(self, settings: AlignmentSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Alignment:
        """Learn from every caption with its image; rate and decay are chosen on `validation`.

        Of equally good ones the first are chosen. Continues after the context's last checkpoint. Raises
        ValueError without held-out images if there is a choice, for regions that are not finite, and if
        no rate learns (Diverged).
        """
        from models_core.estimators.neural.alignment_training import AlignmentRun, TrainingPairs
        from models_core.estimators.neural.rate_choice import train_best

        pairs = TrainingPairs.of(train)
        check_finite(pairs.regions.values, "regions")
        device = torch_for(context.device).device
        members = train_best(
            self.settings,
            context,
            lambda name, sizes: AlignmentRun(
                name, (pairs, validation), self.settings, sizes, context, device
            ),
            looks=validation is not None,
            figure=RECALL,
        )
        run, self.tried_, self.selection_ = members.run, members.tried, members.remarks
        self.rate_, self.decay_ = run.sizes.rate, run.sizes.decay
        self.members_ = [member.weights for member in run.members]
        self.recalls_ = np.asarray([(member.epoch, member.quality) for member in run.members])
        self.curve_ = np.asarray(run.curve)
        return self

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return the scores of the first member; rows are queries."""
        return self.member_scores(data, 0, direction=direction)

    def member_scores(self, data: Dataset, member: int, *, direction: RankDirection) -> Scores:
        """Return the scores of one of the stored models; number 0 is the best on held-out images."""
        from models_core.estimators.neural.scores import AlignmentScores

        scores = AlignmentScores(*self.embedded(data, member), self.settings.objective)
        return scores if direction == "annotation" else scores.turned()

    def embedded(self, data: Dataset, member: int = 0) -> tuple[RaggedRows, RaggedRows]:
        """Return regions of images and words of captions in the common space."""
        from models_core.estimators.neural.alignment_training import embed, stored_network

        return embed(stored_network(self.members_[member]), data)

    def state(self) -> State:
        """Return the learned state as arrays and JSON-serialisable settings."""
        arrays = {
            f"member.{index}.{name}": array
            for index, member in enumerate(self.members_)
            for name, array in member.items()
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
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.members_ = [
            {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}
            for prefix in (f"member.{index}." for index in range(stored_settings["members"]))
        ]
        restored.recalls_, restored.tried_ = arrays["recalls"], arrays["tried"]
        restored.rate_, restored.decay_ = stored_settings["rate"], stored_settings["decay"]
        restored.curve_ = np.asarray(stored_settings["curve"], np.float64)
        return restored
