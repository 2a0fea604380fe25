"""A few steps of each neural training, for `test_processes`: alone, or started by torchrun.

python -m tests.models_core.estimators.neural.in_processes FILE torchrun --nproc-per-node 2 -m
tests.models_core.estimators.neural.in_processes FILE
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import torch

from models_core.estimators.base import FitContext
from models_core.estimators.neural.alignment_training import AlignmentRun, TrainingPairs
from models_core.estimators.neural.captioner_training import CaptionedImages, CaptionerRun
from models_core.estimators.neural.gradient_training import GradientRun, StepSizes, network_weights
from models_core.estimators.neural.settings import AlignmentSettings, CaptionerSettings
from models_core.processes import joined_processes
from tests.models_core.estimators.neural.sentences import named_pictures, scenes

#: With batches of 13 of 60 pairs the last has 8, and the parts of the processes differ in size.
ALIGNED = AlignmentSettings(size=9, word_size=5, rates=(0.001,), dropout=0.0, batch=13, epochs=10)
WRITES = CaptionerSettings(size=9, word_size=5, rates=(0.003,), dropout=0.0, batch=13, epochs=10)


def curves() -> dict[str, list[float]]:
    """Return the losses of 50 steps of each, in double precision, and the final sum of the weights."""
    cpu, result = torch.device("cpu"), {}
    pairs = TrainingPairs.of(scenes(30, captions=2)[0])
    pictures = CaptionedImages.of(named_pictures(30, captions=2)[0])
    runs: dict[str, GradientRun] = {
        objective: AlignmentRun(
            objective,
            (pairs, None),
            replace(ALIGNED, objective=objective),
            StepSizes(0.001, 0.0),
            FitContext(),
            cpu,
        )
        for objective in ("best-region", "fragments")
    }
    own_steps = StepSizes(0.003, 0.0)
    runs["captions"] = CaptionerRun("captions", (pictures, None), WRITES, own_steps, FitContext(), cpu)
    for name, run in runs.items():
        run.network.double()
        steps = [run.step(batch) for _ in range(10) for batch in run.epoch_batches()]
        weights = network_weights(run.network)
        result[name] = [*steps, float(sum(abs(weight).sum() for weight in weights.values()))]
    return result


def main() -> None:
    torch.set_num_threads(1)
    with joined_processes("cpu") as (processes, _):
        result = curves()
        if processes.first:
            Path(sys.argv[1]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
