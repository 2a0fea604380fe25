"""Run the protocol with a simulated crowd: ask, answer, fold, until an image is complete.

The driver asks all open questions of the fold at a time, and folds again. It has no state of its own about an
image, so its results follow from the judgments.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.double_checks import DoubleChecks, answers_of_people, asked_outside, wait_for_second
from annotation.protocol.gold import Truth
from annotation.protocol.image import Fold
from annotation.protocol.kinds import draws, kind_of
from annotation.protocol.questions import DOUBLE_CHECK, VOTE, Judgment, Question, judgment_name
from annotation.protocol.rng import SeededRng
from annotation.protocol.rulings import Boxes, Closure, Partition, Ruling
from annotation.protocol.state import LINKING, VERIFICATION, ImageSettings, ImageState
from annotation.protocol.terms import LayerRecord, Mention, renamed
from annotation.simulation.gate import Gate
from annotation.simulation.kinds import SIMULATED
from annotation.simulation.simulated_model import SimulatedModel
from annotation.simulation.workers import SimulatedWorker


@dataclass(slots=True)
class SimulationCost:
    """Cost so far: judgments and paid seconds of people by question, and exceptional events.

    `model_answers`: the answers of a model annotator, which take no person's time.
    """

    images: int = 0
    mentions: int = 0
    judgments: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    controls: Counter[str] = field(default_factory=Counter)
    double_checks: Counter[str] = field(default_factory=Counter)
    superseded: int = 0
    rulings: int = 0
    unfinished: int = 0
    model_answers: int = 0

    @property
    def total(self) -> int:
        """Number of judgments of all kinds."""
        return self.judgments.total()

    def add(self, cost: SimulationCost) -> None:
        """Add the cost of other images."""
        for question, seconds in cost.seconds.items():
            self.seconds[question] += seconds
        for name in ("judgments", "controls", "double_checks"):
            getattr(self, name).update(getattr(cost, name))
        for name in ("images", "mentions", "superseded", "rulings", "unfinished", "model_answers"):
            setattr(self, name, getattr(self, name) + getattr(cost, name))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for a layer's `cost` and for `--json`."""
        return {
            name: dict(value) if isinstance(value := getattr(self, name), dict) else value
            for name in self.__slots__
        }


class Crowd:
    """Simulated workers and who of them is still there. Raises ValueError if there are none.

    With a `gate`, control items come first if they are due, and suspended workers are skipped; without one,
    everybody is always trusted. A `model_annotator` answers first if it can.
    """

    def __init__(
        self,
        workers: Sequence[SimulatedWorker],
        *,
        seed: int,
        gate: Gate | None = None,
        annotator: SimulatedModel | None = None,
    ) -> None:
        if not workers:
            raise ValueError("a crowd needs one worker or more")
        self.model_annotator = annotator
        self.workers = list(workers)
        self.seed = seed
        self.gate = gate
        self.left = {w.name: w.leaves_after() for w in workers}
        self.answered: Counter[str] = Counter()

    def someone(
        self, question: Question, image: str, cost: SimulationCost, *, also_barred: Iterable[str] = ()
    ) -> SimulatedWorker | None:
        """Return a worker who may answer, or None, drawn at random by question."""
        barred = question.barred.union(also_barred)
        start = SeededRng(self.seed, image, question.key, len(barred)).below(len(self.workers))
        for step in range(len(self.workers)):
            worker = self.workers[(start + step) % len(self.workers)]
            if worker.name in barred or self.answered[worker.name] >= self.left[worker.name]:
                continue
            if self.gate is not None:
                controls = self.gate.tested(worker, question.kind)
                cost.controls[question.kind] += controls
                cost.seconds[question.kind] += controls * SIMULATED.get(question.kind).seconds
                if not self.gate.admits(worker.name, question.kind):
                    continue
            self.answered[worker.name] += 1
            return worker
        return None


@dataclass(frozen=True, slots=True)
class SimulatedImage:
    """An image after the crowd's work, with all judgments and rulings."""

    state: ImageState
    judgments: tuple[Judgment, ...]
    rulings: tuple[Ruling, ...]
    cost: SimulationCost


def simulate_image(
    mentions: Sequence[Mention],
    truth: Truth,
    crowd: Crowd,
    settings: ImageSettings | None = None,
    *,
    review: bool = True,
    earlier: Sequence[Judgment] = (),
    ruled: Sequence[Ruling] = (),
) -> SimulatedImage:
    """Send one image through all six questions, from the start or from these `judgments` and rulings.

    With `review`, a reviewer who knows the gold rules on every chain that ends in review or that no worker is
    left to answer; without, such chains stay open.
    """
    cost = SimulationCost(images=1, mentions=len(mentions))
    judgments: list[Judgment] = list(earlier)
    rulings: list[Ruling] = list(ruled)
    fold = Fold(mentions, settings, rulings)
    gate = crowd.gate
    draw = None
    if gate is not None:
        draw = DoubleChecks(gate.seed, truth.image, lambda kind: gate.rules(kind).double_check_share)
    questions_of: dict[str, Question] = {}
    drawn: list[str] = []
    drawers = {j.id: j.worker for j in earlier if draws(j.question)}
    while True:
        state = fold(judgments)
        before = len(judgments)
        fresh = [question for question in state.questions if question.key not in questions_of]
        questions_of.update((question.key, question) for question in state.questions)
        if draw is not None:
            drawn += asked_outside(fresh, draw.shares(fresh))
        for question in state.questions:
            judgments.extend(_ask(question, truth, crowd, cost, drawers=drawers))
        open_keys = {question.key for question in state.questions}
        for key in wait_for_second(drawn, judgments, open_keys):
            (first,) = answers_of_people(judgments)[key]
            judgments.extend(_ask_second(questions_of[key], first.worker, truth, crowd, cost))
        if len(judgments) > before:
            continue
        more = rulings_of(state, truth) if review and not state.complete else []
        if not more:
            break
        rulings.extend(more)
        fold = Fold(mentions, settings, rulings)
    cost.superseded = len(state.superseded)
    cost.rulings = len(rulings) - len(ruled)
    cost.unfinished = not state.complete
    return SimulatedImage(state, tuple(judgments), tuple(rulings), cost)


def _ask(
    question: Question, truth: Truth, crowd: Crowd, cost: SimulationCost, *, drawers: dict[str, str]
) -> Iterator[Judgment]:
    """Yield the answers of as many workers as `question` needs in any case, as far as there are any. The
    drawers are added to `drawers`, by judgment."""
    question_keys: list[str] = []
    gate, annotator = crowd.gate, crowd.model_annotator
    proposed = annotator.answer(question, truth) if annotator is not None else None
    if annotator is not None and proposed is not None:
        name = judgment_name(truth.image, annotator.name, question.key, proposed.attempt)
        drawers[name] = annotator.name
        cost.model_answers += 1
        yield Judgment(name, question.key, annotator.name, "drawn", proposed.box, by_model=True)
        return
    for _ in range(question.needed):
        worker = crowd.someone(question, truth.image, cost, also_barred=question_keys)
        if worker is None:
            return
        question_keys.append(worker.name)
        judgment = _answer(worker, question, truth, VOTE)
        yield judgment
        cost.seconds[question.kind] += SIMULATED.get(question.kind).seconds
        cost.judgments[question.kind] += 1
        if draws(question.kind):
            drawers[judgment.id] = worker.name
        drawer = drawers[question.key.split("|")[1]] if kind_of(question.kind).judges else None
        if annotator is not None and drawer is not None:
            annotator.looked_at(question, truth, good=judgment.answer == "good")
        if annotator is not None and drawer == annotator.name:
            annotator.judged(question, truth, good=judgment.answer == "good")
            drawer = None
        if gate is not None:
            gate.done(judgment, drawer)


def _ask_second(
    question: Question, first: str, truth: Truth, crowd: Crowd, cost: SimulationCost
) -> Iterator[Judgment]:
    """Yield the answer of one more worker than `first` to a drawn question, outside the fold, if there is
    one."""
    worker = crowd.someone(question, truth.image, cost, also_barred=[first])
    if worker is not None:
        cost.seconds[question.kind] += SIMULATED.get(question.kind).seconds
        cost.double_checks[question.kind] += 1
        yield _answer(worker, question, truth, DOUBLE_CHECK)


def _answer(worker: SimulatedWorker, question: Question, truth: Truth, role: str) -> Judgment:
    answer, box = worker.answer(question, truth)
    name = judgment_name(truth.image, worker.name, question.key)
    return Judgment(name, question.key, worker.name, answer, box, role=role)


def rulings_of(state: ImageState, truth: Truth) -> list[Ruling]:
    """Return the assertions of a reviewer who knows the gold about the chains that did not close.

    Every round either settles pairs of mentions or closes chains for good, so rounds end.
    """
    unlinked = [m.id for chain in state.chains if chain.stage == LINKING for m in chain.mentions]
    rulings: list[Ruling] = [_partition(unlinked, truth)] if unlinked else []
    for chain in state.chains:
        if chain.closed or chain.stage == LINKING:
            continue
        ids = tuple(m.id for m in chain.mentions)
        mixed = len({truth.chain_of[name] for name in ids}) > 1
        if mixed or chain.stage == VERIFICATION or chain.reason == "refused":
            rulings.append(_partition(ids, truth))
        else:
            gold = truth.chain_of[ids[0]]
            boxes = truth.boxes[gold]
            rulings.append(Boxes(ids, boxes) if boxes else Closure(ids, truth.kinds[gold]))
    return rulings


def _partition(mentions: Iterable[str], truth: Truth) -> Partition:
    groups: dict[str, list[str]] = {}
    for name in mentions:
        groups.setdefault(truth.chain_of[name], []).append(name)
    return Partition(tuple(tuple(group) for group in groups.values()))


def numbered(layer: LayerRecord, first: int) -> tuple[LayerRecord, int]:
    """Return the layer with its chains renamed to `first`, `first + 1`, ... and the next free number."""
    names = {chain.id: str(first + i) for i, chain in enumerate(layer.chains)}
    return renamed(layer, names), first + len(names)
