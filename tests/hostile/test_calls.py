"""No call breaks the product: it responds, or reports what is wrong with the call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.services.reports import building
from tests.crowd import platform
from tests.hostile import attack, operations, world

pytestmark = pytest.mark.django_db

#: Calls of each role in the default run, and in the thorough one. A fixed sample: its draws depend on the
#: operations, not on the run.
SAMPLE, WHOLE = 20, 20_000


@pytest.fixture
def data(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build the world, and return the folder of its files; figures are drawn elsewhere."""
    monkeypatch.setattr(building, "as_svg", lambda plot: '<svg class="figure" role="img"></svg>')
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF-")
    settings.DATA_DIR = tmp_path / "data"
    settings.PROLIFIC_WEBHOOK_SECRET = platform.SECRET
    settings.PROLIFIC_JWKS = platform.KEY_SET
    world.again(tmp_path / "made")
    return tmp_path / "data"


def test_every_route_is_attacked() -> None:
    assert not operations.unattacked()


def test_no_call_of_a_sample_breaks_anything(data: Path) -> None:
    """Dearer than a test may be: it is one world and some hundred requests, each through all layers."""
    for role in operations.ALL:
        result = attack.attack(role, SAMPLE, seed=1, data=data, in_order=False)
        print(result)
        assert not result.broken, "\n\n".join(result.broken)


@pytest.mark.slow
@pytest.mark.parametrize("role", operations.ALL)
def test_twenty_thousand_calls_of_a_role_break_nothing_and_do_everything(data: Path, role: str) -> None:
    result = attack.attack(role, WHOLE, seed=1, data=data)
    print(result)
    assert not result.broken, "\n\n".join(result.broken[:20])
    assert not result.never()
    assert 3 * result.succeeded >= result.calls


@pytest.mark.slow
@pytest.mark.parametrize("role", operations.ALL)
def test_nothing_that_nobody_means_breaks_anything_wherever_it_stands(data: Path, role: str) -> None:
    result = attack.sweep(role, data=data)
    print(result)
    assert not result.broken, "\n\n".join(result.broken[:20])
