"""Networks learn on a device as on the CPU, and are stored and used without it.

On the CPU by default; TESTS_DEVICE=cuda trains them on a GPU (`tests.models_core.devices`). Tests that are
only meaningful there are slow.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from models_core.estimators.base import FitContext  # noqa: E402
from models_core.estimators.neural.alignment import Alignment  # noqa: E402
from models_core.estimators.neural.captioner import RecurrentCaptioner  # noqa: E402
from models_core.estimators.neural.proposer.box_proposer import BoxProposer  # noqa: E402
from models_core.estimators.neural.proposer.training import ProposerSettings  # noqa: E402
from models_core.estimators.neural.settings import AlignmentSettings, CaptionerSettings  # noqa: E402
from tests.models_core.devices import TORCH  # noqa: E402
from tests.models_core.estimators.neural.sentences import named_pictures  # noqa: E402
from tests.models_core.estimators.neural.sentences import scenes as sentences  # noqa: E402
from tests.models_core.estimators.neural.test_proposer import SIDE, best, scenes  # noqa: E402

#: Losses of the first epoch differ at most by the rounding of bfloat16, which networks use on a GPU.
ROUNDING = 0.01


def test_the_proposer_learns_the_same_and_is_stored_without_the_device(tmp_path: Path) -> None:
    settings = ProposerSettings(side=SIDE, epochs=2, close_epochs=2, last_epochs=1, batch=4)
    plain_value, result = (
        BoxProposer(settings).fit(scenes(8, 1), seed=7, device=device) for device in ("cpu", TORCH)
    )
    new = scenes(6, 9)
    np.testing.assert_allclose(best(result, new), best(plain_value, new), atol=0.05)
    result.save(tmp_path / "kept")
    stored = BoxProposer.load(tmp_path / "kept")
    np.testing.assert_allclose(best(stored, new), best(result, new), atol=1e-3)
    on = BoxProposer(settings).fit(scenes(8, 2), begin=stored, device=TORCH)
    assert len(best(on, new)) == 12


@pytest.mark.slow
def test_the_alignment_learns_the_same() -> None:
    train, _ = sentences(20, things=30, numbers=20, noise=0.5, seed=1)
    settings = AlignmentSettings(size=40, word_size=5, rates=(0.001,), dropout=0.0, batch=40, epochs=40)
    plain_value, result = (
        Alignment(settings).fit(train, None, FitContext(device=device)) for device in ("cpu", TORCH)
    )
    assert result.curve_[0, 1] == pytest.approx(plain_value.curve_[0, 1], rel=ROUNDING)
    assert result.curve_[-1, 1] < result.curve_[0, 1] / 5
    everything = slice(0, None)
    scores = result.score(train, direction="annotation").tile(everything, everything)
    assert (train.image_of[scores.argmax(axis=1)] == np.arange(20)).mean() > 0.9


@pytest.mark.slow
def test_the_captioner_learns_the_same() -> None:
    train, _ = named_pictures(20, captions=2)
    settings = CaptionerSettings(size=6, word_size=5, rates=(0.01,), dropout=0.0, batch=8, epochs=30)
    plain_value, result = (
        RecurrentCaptioner(settings).fit(train, None, FitContext(device=device)) for device in ("cpu", TORCH)
    )
    assert result.curve_[0, 1] == pytest.approx(plain_value.curve_[0, 1], rel=ROUNDING)
    assert result.curve_[-1, 1] < result.curve_[0, 1] / 3
