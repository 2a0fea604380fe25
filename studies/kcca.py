"""Time, accuracy and scaling of KCCA; prints one table.

    python -m studies.kcca [--pairs 6000] [--only fit|sweep|growth|others|peers] [--device cuda]
        [--mvlearn PYTHON] [--cca-zoo PYTHON] [--whole]

Kernels are synthetic: bags of words from topics of Zipfian words, and histograms of the same topics, as
cosines with themselves, all in float64; generating them is not timed. Each time is also given as a number of
products of two matrices of that size (2 n^3 operations each), measured in the same process.

- fit: 100 dimensions, all solvers; the relative residual of eq. 3 at its worst dimension.
- sweep: 4 regularisers by 46 numbers of dimensions, scored on 1,000 held-out pairs.
- growth: fits and sweeps at doubling sizes, and the slope of time against size on logarithmic axes.
- others: the generalised eigenproblem of twice the size with SciPy, the straightforward solution.
- peers: mvlearn's KMCCA and cca-zoo's KCCA on the same kernels with the same regulariser, each by a
  Python that has it (both pin other packages than we do), at a quarter and at half of the pairs; with
  `--whole` at all of them, where they take minutes.

With `--device` fits, sweep and growth are run there too, each beside the CPU's, with the largest difference
to it. Kernels go there and results come back within the time; starting the device is not timed.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.linalg import eigh

from models_core.estimators.base import DIRECTIONS, Matrix
from models_core.estimators.kcca.kcca import KCCA, Solver
from models_core.estimators.kcca.problem import centred, relative_residuals
from models_core.estimators.kcca.selection import KAPPAS, SelectedKCCA
from phrasebox.device import CPU, NoDevice, torch_on
from studies.kcca_peers import PEERS, peers
from studies.kcca_problem import DIMENSIONS, KAPPA, Problem, problem
from studies.measuring import product_seconds, seconds, slope


def row(what: str, pairs: int, taken: float, product: float, remark: str) -> None:
    print(f"| {what} | {pairs:,} | {taken:.1f} | {taken / product:.1f} | {remark} |", flush=True)


def start(device: str) -> None:
    """Make torch start the device, which takes seconds once; exit if there is none."""
    try:
        on = torch_on(device)
    except NoDevice as missing:
        raise SystemExit(str(missing)) from None
    if on is not None:
        small = problem(100, 10)
        SelectedKCCA(number=2, device=device).fit(small.x, small.y, small.new_x, small.new_y)


def fits(world: Problem, product: float, device: str) -> None:
    x, y = (centred(side).kernel for side in world[:2])
    first: Matrix | None = None
    solvers: list[tuple[Solver, str]] = [("few", CPU), ("full", CPU), ("gram-schmidt", CPU)]
    for solver, where in solvers + ([] if device == CPU else [("full", device)]):
        model = KCCA(DIMENSIONS, KAPPA, solver=solver, rank=1000, device=where)
        taken, _ = seconds(lambda m=model: m.fit(world.x, world.y))  # type: ignore[misc]
        remark = "approximation of rank 1,000"
        if solver != "gram-schmidt":
            worst = relative_residuals(
                x, y, model.x_.weights, model.y_.weights, model.correlations_, KAPPA
            ).max()
            remark = f"residual {worst:.0e}"
        first = model.correlations_ if first is None else first
        remark += f"; correlations differ by {np.abs(model.correlations_ - first).max():.0e}"
        row(f"fit, {solver}{at(where)}", len(world.x), taken, product, remark)


def at(device: str) -> str:
    """Return the part of a row's name for its device."""
    return "" if device == CPU else f", {device}"


def sweep(world: Problem, product: float, device: str) -> None:
    first: SelectedKCCA | None = None
    for where in dict.fromkeys((CPU, device)):
        system = SelectedKCCA(device=where)
        taken, _ = seconds(lambda s=system: s.fit(world.x, world.y, world.new_x, world.new_y))  # type: ignore[misc]
        remark = f"{len(system.trials_)} settings, {len(KAPPAS)} kappas"
        if first is not None:
            remark += f"; {differences(system, first)}"
        first = system
        row(f"sweep and selection{at(where)}", len(world.x), taken, product, remark)


def differences(first: SelectedKCCA, second: SelectedKCCA) -> str:
    """Return the differences of two selections on the same pairs."""
    if [trial.setting for trial in first.trials_] != [trial.setting for trial in second.trials_]:
        return "another grid of settings: the kernels retain another number of dimensions"
    recalls = max(
        float(np.abs(np.subtract(a.recall[direction], b.recall[direction])).max())
        for a, b in zip(first.trials_, second.trials_, strict=True)
        for direction in DIRECTIONS
    )
    same = sum(a == b for d in DIRECTIONS for a, b in zip(first.chosen_[d], second.chosen_[d], strict=True))
    return f"shares differ by {recalls:.0e}, {same} of {2 * len(first.chosen_['search'])} picks are the same"


def growth(largest: int, device: str) -> None:
    sizes = [largest // 4, largest // 2, largest]
    times: dict[str, list[float]] = {}
    for pairs in sizes:
        world, product = problem(pairs, 1000), product_seconds(pairs)

        def timed(what: str, model: KCCA | SelectedKCCA) -> None:
            on_all = world if isinstance(model, SelectedKCCA) else world[:2]  # noqa: B023
            taken, _ = seconds(lambda: model.fit(*on_all))
            times.setdefault(what, []).append(taken)
            row(f"growth, {what}", pairs, taken, product, "")  # noqa: B023

        timed("few", KCCA(DIMENSIONS, KAPPA, solver="few"))
        for where in dict.fromkeys((CPU, device)):
            timed(f"full{at(where)}", KCCA(DIMENSIONS, KAPPA, solver="full", device=where))
            timed(f"sweep and selection{at(where)}", SelectedKCCA(device=where))
    for what, taken in times.items():
        print(f"\nslope of {what}: {slope(sizes, taken):.2f} (theory: 3)")


def others(world: Problem, product: float) -> None:
    pairs = len(world.x)
    x, y = (centred(side).kernel for side in world[:2])

    def first_thought() -> Matrix:
        zero = np.zeros((pairs, pairs))
        regular = [side @ side + KAPPA * side + 1e-8 * np.eye(pairs) for side in (x, y)]
        left = np.block([[zero, x @ y], [y @ x, zero]])
        right = np.block([[regular[0], zero], [zero, regular[1]]])
        return np.asarray(eigh(left, right, subset_by_index=[2 * pairs - DIMENSIONS, 2 * pairs - 1])[0])

    row(
        "SciPy, generalised eigenproblem of 2n", pairs, seconds(first_thought)[0], product, "eq. 3 as printed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How long KCCA takes.")
    parser.add_argument("--pairs", type=int, default=6000)
    parser.add_argument("--only", choices=["fit", "sweep", "growth", "others", "peers"])
    parser.add_argument("--device", default=CPU, help="cuda, or one of several, as cuda:0 (default: cpu)")
    for tool in PEERS:
        parser.add_argument(f"--{tool}", metavar="PYTHON", help=f"a Python that has {tool}")
    parser.add_argument("--whole", action="store_true", help="peers at all pairs, not at a quarter and half")
    options = parser.parse_args()
    pythons = {tool: python for tool in PEERS if (python := getattr(options, tool.replace("-", "_")))}
    sizes = [options.pairs] if options.whole else [options.pairs // 4, options.pairs // 2]
    if options.only == "peers":
        if not pythons:
            parser.error(f"--only peers: name a Python that has one, with --{' or --'.join(PEERS)}")
        peers(pythons, sizes)
        return
    start(options.device)
    product = product_seconds(options.pairs)
    print(f"A product takes {product:.2f} s: {2 * options.pairs**3 / product / 1e9:.0f} GFLOP/s.\n")
    print("| what | pairs | seconds | products | remark |\n| --- | ---: | ---: | ---: | --- |")
    world = problem(options.pairs, 1000 if options.only in (None, "sweep") else 0)
    if options.only in (None, "fit"):
        fits(world, product, options.device)
    if options.only in (None, "sweep"):
        sweep(world, product, options.device)
    if options.only in (None, "others"):
        others(world, product)
    if options.only in (None, "growth"):
        growth(options.pairs, options.device)
    if pythons and options.only is None:
        peers(pythons, sizes)


if __name__ == "__main__":
    main()
