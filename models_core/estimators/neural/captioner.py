"""Captions of images, generated word by word by a recurrent network that gets the image as input.

The network is `captioner_network`. The rate and the weight decay are chosen on held-out captions after a few
epochs; training keeps the model with the highest probability of held-out captions, or the last one without
such captions. `writing` searches for sentences.

Source: Karpathy and Fei-Fei 2015, section 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Dataset, FitContext, Matrix, State
from models_core.estimators.neural.settings import PERPLEXITY, CaptionerSettings
from models_core.estimators.predictors import WritingSettings, WrittenSentence
from phrasebox.device import torch_for

#: Number of images whose sentences are searched for together.
_TOGETHER = 64


class RecurrentCaptioner:
    """Learned are `weights_`, `perplexity_` of the held-out captions after epoch `epoch_`, `rate_`, `decay_`,
    `tried_` with a row (rate, decay, 1 / perplexity) for each setting, and `curve_` with a row (epoch, mean
    loss of a word, held-out perplexity) for each epoch. Without held-out captions perplexities are 0."""

    weights_: dict[str, NDArray[Any]]
    perplexity_: float
    epoch_: int
    rate_: float
    decay_: float
    tried_: Matrix
    curve_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: CaptionerSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> RecurrentCaptioner:
        """Learn from every caption with its image; rate, decay and epoch are chosen on `validation`.

        Continues after the context's last checkpoint. Raises ValueError without held-out captions if there
        is a choice, for numbers that are not finite, and if no rate learns (Diverged).
        """
        from models_core.estimators.neural.captioner_training import CaptionedImages, CaptionerRun
        from models_core.estimators.neural.rate_choice import train_best

        pairs = CaptionedImages.of(train)
        held_out = None if validation is None else CaptionedImages.of(validation)
        device = torch_for(context.device).device
        best_run = train_best(
            self.settings,
            context,
            lambda name, sizes: CaptionerRun(name, (pairs, held_out), self.settings, sizes, context, device),
            looks=held_out is not None,
            figure="1 / perplexity",
        )
        run, self.tried_, self.selection_ = best_run.run, best_run.tried, best_run.remarks
        best = run.members[0]
        self.rate_, self.decay_ = run.sizes.rate, run.sizes.decay
        self.weights_, self.epoch_ = best.weights, best.epoch
        self.curve_ = np.asarray(run.curve)
        self.perplexity_ = float(self.curve_[best.epoch - 1, 2])
        return self

    def write(self, data: Dataset, how: WritingSettings) -> list[WrittenSentence]:
        """Return a sentence for each image. Raises ValueError if images have another width than in
        training."""
        import torch

        from models_core.estimators.neural.captioner_training import stored_captioner
        from models_core.estimators.neural.gradient_training import fitting_threads
        from models_core.estimators.neural.writing import write_sentences

        network, vectors = stored_captioner(self.weights_, rectified=self.settings.rectified), data.images
        if vectors.shape[1] != network.sizes.image:
            raise ValueError(
                f"images of {vectors.shape[1]} numbers against {network.sizes.image}; expected the same"
            )
        sentences: list[WrittenSentence] = []
        rows = min(_TOGETHER, vectors.shape[0]) * (how.beam if how.words == "search" else 1)
        with fitting_threads(rows * network.sizes.hidden * (network.sizes.vocabulary + 1)):
            for start in range(0, vectors.shape[0], _TOGETHER):
                block = np.asarray(vectors[start : start + _TOGETHER], np.float32)
                sentences += write_sentences(network, torch.from_numpy(block), how, start)
        return sentences

    def state(self) -> State:
        """Return the learned state as arrays and JSON-serialisable settings."""
        arrays = {f"weights.{name}": weight for name, weight in self.weights_.items()}
        return {**arrays, "tried": self.tried_}, {
            "rate": self.rate_,
            "decay": self.decay_,
            "epoch": self.epoch_,
            "perplexity": self.perplexity_,
            "curve": self.curve_.tolist(),
            "figure": PERPLEXITY,
        }

    @classmethod
    def from_state(cls, settings: CaptionerSettings, state: State) -> RecurrentCaptioner:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.weights_ = {
            name.removeprefix("weights."): array
            for name, array in arrays.items()
            if name.startswith("weights.")
        }
        restored.tried_, restored.curve_ = arrays["tried"], np.asarray(stored_settings["curve"], np.float64)
        restored.rate_, restored.decay_ = stored_settings["rate"], stored_settings["decay"]
        restored.epoch_, restored.perplexity_ = stored_settings["epoch"], stored_settings["perplexity"]
        return restored
