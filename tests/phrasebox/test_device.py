"""The computing device: NumPy by default, and a one-line error if the device is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from models_core.estimators.kcca.kcca import KCCA
from models_core.estimators.kcca.selection import SelectedKCCA
from phrasebox.device import NoDevice, torch_on
from tests.models_core.estimators.kernel_methods.kernels import kernels

ON_THE_CPU = """
import sys
import numpy as np
from phrasebox.kernels.intersection import Intersection
from models_core.systems import cross_validation
from models_core.estimators.kcca.selection import SelectedKCCA
from tests.models_core.estimators.kernel_methods.kernels import kernels
given = kernels(60)
SelectedKCCA((0.5,), number=3).fit(given.x, given.y, given.new_x, given.new_y)
shares = [np.full((5, 4), 0.25)]
Intersection(levels=0).gram(shares, shares)
assert "torch" not in sys.modules
"""


def test_the_cpu_needs_no_torch() -> None:
    assert torch_on("cpu") is None
    subprocess.run([sys.executable, "-c", ON_THE_CPU], check=True, timeout=120)


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:01", "CPU", "", "cuda:0 "])
def test_an_unknown_device_is_named(name: str) -> None:
    with pytest.raises(NoDevice) as error:
        torch_on(name)
    assert str(error.value) == (
        f"device {name}: unknown; expected cpu, cuda, or one of several such as cuda:0"
    )


def test_without_torch_a_device_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # makes Python treat the module as missing
    provided = kernels(30)
    for fit in (
        lambda: KCCA(5, device="cuda").fit(provided.x, provided.y),
        lambda: SelectedKCCA(device="cuda").fit(provided.x, provided.y, provided.new_x, provided.new_y),
    ):
        with pytest.raises(NoDevice) as error:
            fit()
        assert str(error.value) == "device cuda: torch is not installed; install it, or use cpu"


@pytest.mark.parametrize("solver", ["few", "gram-schmidt"])
def test_a_solver_of_the_cpu_is_refused_with_a_device(solver) -> None:
    provided = kernels(30)
    with pytest.raises(
        ValueError, match=f"solver '{solver}' runs on the CPU only; with a device, use 'full'"
    ):
        KCCA(5, solver=solver, device="cuda").fit(provided.x, provided.y)
