"""Whole images and captions in one space, by a head on the vectors of each side.

A head is linear, or has a hidden layer. Vectors can be features of images and bags of words, or those of any
pretrained model, such as CLIP, for both sides. Embeddings are compared by cosine. `embedder_training` learns
the heads by hinge losses or InfoNCE (see `objective`); ranking does not need torch.

Source: Faghri et al. 2018 (VSE++); Radford et al. 2021, section 2.3 (CLIP).
"""

from __future__ import annotations

import numpy as np

from models_core.estimators.base import Dataset, FitContext, Matrix, RankDirection, State, View
from models_core.estimators.embeddings import RECALL, embedded_scores
from models_core.estimators.neural.heads import HEAD_VIEWS, EmbeddingHead
from models_core.estimators.neural.settings import EmbedderSettings
from phrasebox.device import torch_for
from phrasebox.scoring.tiles import Scores


class JointEmbedder:
    """Learned are `heads_` by side, `temperature_` of InfoNCE (None of the hinge losses), `recall_`, the
    held-out recall, `rate_` and `decay_`, `tried_` with a row (rate, decay, held-out recall) for each
    setting, and `curve_` with a row (epoch, mean loss, held-out recall) for each epoch."""

    heads_: dict[str, EmbeddingHead]
    temperature_: float | None
    recall_: float
    rate_: float
    decay_: float
    tried_: Matrix
    curve_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: EmbedderSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> JointEmbedder:
        """Learn from every caption with its image; rate and decay are chosen on `validation`.

        The best epoch on `validation` is kept, or the last one without it. Of equally good settings the
        first is chosen. Continues after the context's last checkpoint. Raises ValueError without held-out
        images if there is a choice, for numbers that are not finite, and if no rate learns (Diverged).
        """
        from models_core.estimators.neural.embedder_training import EmbedderRun, VectorPairs
        from models_core.estimators.neural.rate_choice import train_best

        pairs = VectorPairs.of(train)
        device = torch_for(context.device).device
        trained = train_best(
            self.settings,
            context,
            lambda name, sizes: EmbedderRun(name, (pairs, validation), self.settings, sizes, context, device),
            looks=validation is not None,
            figure=RECALL,
        )
        run, self.tried_, self.selection_ = trained.run, trained.tried, trained.remarks
        self.rate_, self.decay_ = run.sizes.rate, run.sizes.decay
        (member,) = run.members
        self.heads_, self.temperature_ = pairs.heads(member.weights)
        self.recall_, self.curve_ = member.quality, np.asarray(run.curve)
        return self

    def embed(self, view: str, features: View) -> Matrix:
        """Return the embeddings of "images" or "captions", shape (items, components)."""
        return self.heads_[view](features)

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return cosines; rows are queries."""
        images, captions = (self.embed(view, data.views[view]) for view in HEAD_VIEWS)
        return embedded_scores(images, captions, direction=direction, cosine=True)

    def state(self) -> State:
        """Return the learned state as arrays and JSON-serialisable settings."""
        arrays = {
            f"{view}.{name}": array
            for view, head in self.heads_.items()
            for name, array in head.arrays().items()
        }
        return {**arrays, "tried": self.tried_}, {
            "rate": self.rate_,
            "decay": self.decay_,
            "temperature": self.temperature_,
            "recall": self.recall_,
            "curve": self.curve_.tolist(),
        }

    @classmethod
    def from_state(cls, settings: EmbedderSettings, state: State) -> JointEmbedder:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.heads_ = {
            view: EmbeddingHead.from_arrays(
                {n.removeprefix(f"{view}."): a for n, a in arrays.items() if n.startswith(f"{view}.")}
            )
            for view in HEAD_VIEWS
        }
        restored.tried_, restored.temperature_ = arrays["tried"], stored_settings["temperature"]
        restored.rate_, restored.decay_ = stored_settings["rate"], stored_settings["decay"]
        restored.recall_ = stored_settings["recall"]
        restored.curve_ = np.asarray(stored_settings["curve"], np.float64)
        return restored
