"""What bad workers do to a campaign, and what the trust rules and withdrawing answers do about it.

    python -m studies.bad_workers [--images N] [--seeds N] [--workers N] [--good PRESET]

Generated scenes with gold go through a simulated crowd of which 30 % are bad (half of them click at
random, half always say yes), without a qualification test. First table: whom the rules suspend, by
kind of question. Second: B-cubed chain F1 and box IoU of the crowd's layer; the same after the
judgments of everybody suspended were withdrawn and the others had answered what that opened again;
and of a crowd in which the bad ones never came. `studies/RESULTS.md` holds the output.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from annotation.protocol.gold import Gold, Truth
from annotation.protocol.image import Fold
from annotation.protocol.questions import ANSWERS, QUESTIONS, Judgment
from annotation.protocol.rng import SeededRng
from annotation.protocol.scores import LayerScores, compare_layers
from annotation.protocol.terms import Box
from annotation.protocol.trust import SUSPENDED, Event
from annotation.simulation.driver import Crowd, SimulatedImage, simulate_image
from annotation.simulation.gate import Gate, control_items_from_gold
from annotation.simulation.workers import make_crowd
from annotation.task_types import discovery
from config.sample import sample_records

#: Images whose gold makes the control items; they are not annotated.
KNOWN_FROM = 60
BAD_SHARE = 0.3
BAD = ("random", "always_yes")
HORIZON = 60


class Watched(Gate):
    """A gate that records after how many items each trust state was suspended."""

    suspended_at: dict[tuple[str, str], int]

    def __init__(self, golds: Sequence[Gold], seed: int) -> None:
        super().__init__(control_items_from_gold(golds, seed=seed), seed=seed)
        self.suspended_at = {}

    def note(self, worker: str, kind: str, event: Event) -> None:
        super().note(worker, kind, event)
        trust_state = self.trust(worker, kind)
        if trust_state.state == SUSPENDED:
            self.suspended_at.setdefault((worker, kind), trust_state.items)

    def items(self) -> Iterator[tuple[str, str, int]]:
        """Yield worker, kind and number of items of every trust state."""
        for (worker, kind), trust_state in self._trust.items():
            yield worker, kind, trust_state.items


@dataclass(slots=True)
class Report:
    """The totals over all seeds.

    `fates` counts trust states by (preset, kind): all that were suspended or reached the horizon, "early"
    ones suspended within it, "ever" suspended at all; `people` counts workers by preset in the same way,
    suspended for any kind. `same`: of `images`, those whose state after withdrawing is the same as with other
    answers.
    """

    fates: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    people: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    before: LayerScores = field(default_factory=LayerScores)
    after: LayerScores = field(default_factory=LayerScores)
    without: LayerScores = field(default_factory=LayerScores)
    answers: int = 0
    withdrawn: int = 0
    again: int = 0
    same: int = 0
    images: int = 0


def run(images: Sequence[Gold], *, seeds: int, workers: int, good: str) -> Report:
    """Send `images` (the first KNOWN_FROM make control items) through one crowd for each seed."""
    report = Report()
    bad = round(workers * BAD_SHARE)
    mix = {good: workers - bad, BAD[0]: bad - bad // 2, BAD[1]: bad // 2}
    for seed in range(seeds):
        gate = Watched(images[:KNOWN_FROM], seed)
        people = Crowd(make_crowd(mix, seed=seed), seed=seed, gate=gate)
        done = [(gold, _simulated(gold, people)) for gold in images[KNOWN_FROM:]]
        _count(report, gate, good)
        out = set(gate.suspended_at)
        for gold, simulated in done:
            report.images += 1
            report.before.add(compare_layers(simulated.state.layer, gold[2]))
            retained = [j for j in simulated.judgments if (j.worker, j.question) not in out]
            report.answers += len(simulated.judgments)
            report.withdrawn += len(simulated.judgments) - len(retained)
            report.same += _same(gold, simulated, out, seed)
            after = _simulated(gold, people, judgments=retained, simulated=simulated)
            report.again += len(after.judgments) - len(retained)
            report.after.add(compare_layers(after.state.layer, gold[2]))
        alone = Crowd(make_crowd({good: mix[good]}, seed=seed), seed=seed, gate=Gate({}, seed=seed))
        for gold in images[KNOWN_FROM:]:
            report.without.add(compare_layers(_simulated(gold, alone).state.layer, gold[2]))
    return report


def _simulated(
    gold: Gold, people: Crowd, *, judgments: Sequence[Judgment] = (), simulated: SimulatedImage | None = None
) -> SimulatedImage:
    name, size, layer = gold
    ruled = simulated.rulings if simulated else ()
    return simulate_image(
        layer.mentions, Truth(layer, image=name, size=size), people, earlier=judgments, ruled=ruled
    )


def _count(report: Report, gate: Watched, good: str) -> None:
    suspended: dict[str, list[int]] = {}
    for worker, kind, items in gate.items():
        preset = worker.rsplit("-", 1)[0]
        at = gate.suspended_at.get((worker, kind))
        suspended.setdefault(worker, [])
        if at is not None:
            suspended[worker].append(at)
        if at is None and items < HORIZON:
            continue
        report.fates[preset, kind].update(all=1, early=at is not None and at <= HORIZON, ever=at is not None)
    for worker, ats in suspended.items():
        preset = worker.rsplit("-", 1)[0]
        report.people[preset].update(all=1, early=any(at <= HORIZON for at in ats), ever=bool(ats))


def _same(gold: Gold, simulated: SimulatedImage, out: set[tuple[str, str]], seed: int) -> bool:
    """Whether the image's state after withdrawing would be the same if the withdrawn workers had answered
    otherwise."""
    fold = Fold(gold[2].mentions, rulings=simulated.rulings)
    changed = [_otherwise(j, seed) if (j.worker, j.question) in out else j for j in simulated.judgments]

    def withdrawn(judgments: Sequence[Judgment]) -> list[Judgment]:
        return [replace(j, withdrawn=(j.worker, j.question) in out) for j in judgments]

    return fold(withdrawn(simulated.judgments)) == fold(withdrawn(changed))


def _otherwise(judgment: Judgment, seed: int) -> Judgment:
    """Another legal answer to the same question."""
    rng = SeededRng("otherwise", seed, judgment.id)
    answer = rng.choice(ANSWERS[judgment.question])
    left, top = 1 + rng.below(200), 1 + rng.below(200)
    box = Box(left, top, left + rng.below(200), top + rng.below(200)) if answer == "drawn" else None
    return replace(judgment, answer=answer, box=box)


def markdown(report: Report, *, good: str) -> str:
    """Return both tables as Markdown, and a line on the cost of withdrawing."""
    presets = (good, *BAD)
    head = ["question", *(f"{preset}: {what}" for preset in presets for what in ("within 60", "in all"))]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for kind in QUESTIONS:
        lines.append([kind, *_cells(report.fates[preset, kind] for preset in presets)])
    together = [sum((report.fates[preset, kind] for kind in QUESTIONS), Counter[str]()) for preset in presets]
    lines.append(["all kinds", *_cells(together)])
    lines.append(["workers, at any kind", *_cells(report.people[preset] for preset in presets)])
    scores = [["layer", "chain F1", "box IoU"], ["---", "---:", "---:"]]
    for name, value in (
        ("with the bad ones' judgments", report.before),
        ("with the answers of all who were suspended withdrawn", report.after),
        ("had the bad ones never come", report.without),
    ):
        scores.append([name, f"{value.f1:.4f}", f"{value.iou:.4f}"])
    tables = "\n\n".join("\n".join(f"| {' | '.join(row)} |" for row in table) for table in (lines, scores))
    text = (
        f"{tables}\n\nOf {report.answers} judgments {report.withdrawn} were withdrawn, {report.again} more "
        "were needed afterwards."
    )
    if report.images:
        text += (
            f" In {report.same} of {report.images} images the state after withdrawing is that with "
            "other answers of the suspended, drawn at random."
        )
    return text


def _cells(counts: Iterator[Counter[str]] | Sequence[Counter[str]]) -> Iterator[str]:
    for count in counts:
        for what in ("early", "ever"):
            yield f"{count[what]:d} of {count['all']}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What bad workers do, and what is done about them")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--good", default="careful", metavar="PRESET")
    options = parser.parse_args()
    discovery.load_kind_modules("rules")
    discovery.load_kind_modules("simulate")
    images: list[Gold] = [
        (record.id, (record.width, record.height), record.layer)
        for record in sample_records(KNOWN_FROM + options.images, seed=1)
        if record.layer is not None
    ]
    print(
        markdown(
            run(images, seeds=options.seeds, workers=options.workers, good=options.good), good=options.good
        )
    )


if __name__ == "__main__":
    main()
