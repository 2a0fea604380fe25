"""Speed of the protocol: images folded per second, and simulated campaigns.

    python -m studies.protocol [--images 31783] [--processes 2] [--distinct 400]

The images are generated scenes with gold, repeated under new names (with new random numbers) up to the
requested number. It prints, for one process, folds of a finished image (all its judgments) and of a
half-answered one, and, for all processes, all questions answered by a careful crowd, with memory at a tenth
of the run and at the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from annotation.common.plain_text import text_table
from annotation.protocol.gold import Truth
from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment
from annotation.protocol.terms import LayerRecord
from annotation.simulation.driver import Crowd, SimulationCost, simulate_image
from annotation.simulation.workers import make_crowd
from annotation.task_types import discovery
from config.sample import sample_records

FLICKR30K = 31_783
MIX = {"careful": 12, "average": 6, "sloppy": 2}

Gold = tuple[str, tuple[int, int], LayerRecord]


def resident_mib() -> float:
    """Return the memory of this process, MiB (Linux; elsewhere its peak)."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def folded(golds: Sequence[Gold], seconds: float) -> list[list[object]]:
    """Return rows: images folded per second, with all and with half of their judgments."""
    people = Crowd(make_crowd(MIX, seed=1), seed=1)
    full: list[tuple[Fold, tuple[Judgment, ...]]] = []
    for name, size, gold in golds[:100]:
        done = simulate_image(gold.mentions, Truth(gold, image=name, size=size), people)
        full.append((Fold(gold.mentions, rulings=done.rulings), done.judgments))
    rows: list[list[object]] = []
    for what, share in (("all judgments", 1.0), ("half of them", 0.5)):
        cut = [(fold, judgments[: int(len(judgments) * share)]) for fold, judgments in full]
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for fold, judgments in cut:
                fold(judgments)
            count += len(cut)
        rate = count / (time.perf_counter() - start)
        mean = sum(len(judgments) for _, judgments in cut) / len(cut)
        rows.append([f"fold, {what}", f"{mean:.0f} judgments", f"{rate:.0f} images/s"])
    return rows


def campaign(part: tuple[Sequence[Gold], range]) -> tuple[SimulationCost, float, float]:
    """Simulate the images of one process; return cost, MiB at a tenth of the run, MiB at the end."""
    golds, numbers = part
    people = Crowd(make_crowd(MIX, seed=numbers.start), seed=numbers.start)
    cost, early = SimulationCost(), 0.0
    for done, number in enumerate(numbers):
        name, size, gold = golds[number % len(golds)]
        truth = Truth(gold, image=f"{name} {number}", size=size)
        cost.add(simulate_image(gold.mentions, truth, people).cost)
        if done == len(numbers) // 10:
            early = resident_mib()
    return cost, early, resident_mib()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=FLICKR30K)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--distinct", type=int, default=400, help="scenes generated")
    parser.add_argument("--seconds", type=float, default=5.0, help="per row of folding")
    options = parser.parse_args()
    discovery.load_kind_modules("rules")
    discovery.load_kind_modules("simulate")
    golds: list[Gold] = [
        (record.id, (record.width, record.height), record.layer)
        for record in sample_records(options.distinct, seed=1)
        if record.layer is not None
    ]
    rows = folded(golds, options.seconds)
    step = -(-options.images // options.processes)
    parts = [range(i, min(i + step, options.images)) for i in range(0, options.images, step)]
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.map(campaign, [(golds, part) for part in parts])
    seconds = time.perf_counter() - start
    total = SimulationCost()
    for cost, _, _ in results:
        total.add(cost)
    rates = f"{total.images / seconds:.0f} images/s, {total.total / seconds:.0f} judgments/s"
    rows.append(
        [
            f"whole chain, {options.processes} processes",
            f"{total.images} images, {total.mentions} mentions, {total.total} judgments",
            f"{seconds:.0f} s, {rates}",
        ]
    )
    for i, (_, early, end) in enumerate(results):
        rows.append(
            [f"memory of process {i + 1}", "at a tenth, at the end", f"{early:.0f} MiB, {end:.0f} MiB"]
        )
    print(text_table(["what", "of what", "figure"], rows))


if __name__ == "__main__":
    main()
