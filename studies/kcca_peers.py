"""KCCA compared with other tools, on the same kernels with the same regulariser.

A tool's result is evaluated by eq. 3 from its weights: correlations are the quotient that eq. 3 maximises,
and the residual is ours. Each tool runs in another Python, which measures its own time; reading the kernels
is not timed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from models_core.estimators.base import Matrix
from models_core.estimators.kcca.kcca import KCCA
from models_core.estimators.kcca.problem import centred, relative_residuals
from studies import kcca_tools
from studies.kcca_problem import DIMENSIONS, KAPPA, Problem, problem
from studies.measuring import seconds

#: Packages, and their tools in `kcca_tools`.
PEERS = {"mvlearn": ("mvlearn", "mvlearn, as it comes"), "cca-zoo": ("cca-zoo",)}


def peers(pythons: Mapping[str, str], sizes: Sequence[int]) -> None:
    """Print a table of the tools at each number of pairs, ours first; `pythons` are those of PEERS."""
    print(
        "\n| what | pairs | seconds | times ours | correlations differ by at most | residual |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for pairs in sizes:
        world = problem(pairs)
        x, y = (centred(side).kernel for side in world[:2])
        model = KCCA(DIMENSIONS, KAPPA)
        ours, _ = seconds(lambda m=model, g=world: m.fit(g.x, g.y))  # type: ignore[misc]
        weights = model.x_.weights, model.y_.weights
        show(f"this project, {model.solver_}", pairs, ours, ours, x, y, weights, model.correlations_)
        for python, tool in ((python, tool) for peer, python in pythons.items() for tool in PEERS[peer]):
            taken, weights = elsewhere(python, tool, world)
            show(tool, pairs, taken, ours, x, y, weights, model.correlations_)


def show(
    what: str,
    pairs: int,
    taken: float,
    ours: float,
    x: Matrix,
    y: Matrix,
    computed: tuple[Matrix, Matrix],
    expected: Matrix,
) -> None:
    alpha, beta = (
        weights / np.sqrt(np.einsum("ij,ij->j", image, image + KAPPA * weights))
        for weights, image in ((side, kernel @ side) for side, kernel in zip(computed, (x, y), strict=True))
    )
    correlations = np.einsum("ij,ij->j", x @ alpha, y @ beta)
    worst = relative_residuals(x, y, alpha, beta, correlations, KAPPA).max()
    apart = np.abs(correlations - expected).max()
    print(
        f"| {what} | {pairs:,} | {taken:.1f} | {taken / ours:.1f} | {apart:.0e} | {worst:.0e} |", flush=True
    )


def elsewhere(python: str, tool: str, world: Problem) -> tuple[float, tuple[Matrix, Matrix]]:
    """Return seconds and weights of a tool run by another Python; only the file of tools is run there."""
    with tempfile.TemporaryDirectory() as folder:
        file, weights = Path(folder) / "problem.npz", Path(folder) / "weights.npz"
        np.savez(file, x=world.x, y=world.y, kappa=KAPPA, dimensions=DIMENSIONS)
        # Isolated, or else our own modules would shadow those of the standard library (`queue`).
        command = [python, "-I", str(Path(kcca_tools.__file__)), tool, str(file), str(weights)]
        answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        with np.load(weights, allow_pickle=False) as held:
            return answer["seconds"], (held["alpha"], held["beta"])
