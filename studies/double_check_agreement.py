"""Coverage of the intervals of agreement: how often they contain the agreement of two random workers.

    python -m studies.double_check_agreement [--crowds N] [--draws N] [--images N] [--busy N]
        [--campaigns N]

Without the queue, each crowd opens the questions of IMAGES generated scenes; a fold draws some of them, with
the probabilities SHARES, and two workers for each; the sloppy worker is BUSY times as likely to be drawn as
any other.

Through the queue, each campaign has a crowd of its own, in a temporary SQLite database (three seconds a
campaign if TMPDIR is in memory); a share of its questions about links is drawn, and there are no questions
about boxes.

The truth is computed over all opened questions, from the answers that every permitted worker would give, with
equal weights. The result is how often the 95 % intervals contain it, for each kind of question with at least
LEAST_PAIRS pairs.

Before that, with careful workers only: the figures, and those of only the fold's second answers, whose
selection depends on the first answer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from annotation.protocol.agreement import (
    AnswerPair,
    DoubleCheckAgreement,
    IntervalEstimate,
    measure_agreement,
)
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.double_checks import DoubleChecks
from annotation.protocol.gold import Gold, Truth
from annotation.protocol.questions import (
    BOX_COVERAGE,
    BOX_DRAWING,
    BOX_QUALITY,
    BOX_REQUIREMENT,
    CHAIN_VERIFICATION,
    COREF_LINK,
    QUESTIONS,
    VOTE,
    Judgment,
    Question,
    question_of,
)
from annotation.protocol.state import BOXES_NEVER
from annotation.simulation.driver import Crowd, SimulatedImage, SimulationCost, simulate_image
from annotation.simulation.gate import NO_QUALIFICATION, Gate
from annotation.simulation.workers import SimulatedWorker, make_crowd
from annotation.task_types import discovery
from config.sample import sample_records
from studies.scene_campaigns import imported_scenes, open_scene_campaign

#: Minimum number of pairs of a counted interval.
LEAST_PAIRS = 100
MIX = {"careful": 3, "average": 2, "sloppy": 1}
#: The probability of drawing a question, by kind: about the default, and enough for the pairs of most folds.
SHARES = {
    COREF_LINK: 0.04,
    CHAIN_VERIFICATION: 0.09,
    BOX_REQUIREMENT: 0.09,
    BOX_DRAWING: 0.04,
    BOX_QUALITY: 0.04,
    BOX_COVERAGE: 0.04,
}
#: Number of scenes of a campaign through the queue, and the probability with which its questions are drawn.
QUEUED, QUEUED_SHARE = 17, 0.5


class WatchedCrowd(Crowd):
    """A crowd that records the first version of its questions."""

    questions: dict[tuple[str, str], Question]

    def someone(
        self, question: Question, image: str, cost: SimulationCost, *, also_barred: Iterable[str] = ()
    ) -> SimulatedWorker | None:
        self.questions.setdefault((image, question.key), question)
        return super().someone(question, image, cost, also_barred=also_barred)


@dataclass(slots=True)
class PairCounts:
    """Sums over questions: of the probability that two random workers agree, and of each answer's."""

    questions: int = 0
    equal: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)

    def add(self, answers: Sequence[str]) -> None:
        """Add a question, with the answer of every permitted worker."""
        n, counts = len(answers), Counter(answers)
        self.questions += 1
        self.equal += sum(c * (c - 1) for c in counts.values()) / (n * (n - 1))
        for answer, c in counts.items():
            self.answers[answer] += c / n  # type: ignore[assignment]

    @property
    def agreement(self) -> float:
        """Return the probability that two workers agree on a question."""
        return self.equal / self.questions

    @property
    def kappa(self) -> float | None:
        """Return the kappa of two random workers; None if all give the same answer."""
        expected = sum((n / self.questions) ** 2 for n in self.answers.values())
        return (self.agreement - expected) / (1 - expected) if expected < 1 - 1e-12 else None


#: By image and key, the answer that every permitted worker would give, by the worker's name.
Answers = dict[tuple[str, str], dict[str, str]]


def answers_of_all(
    questions: Mapping[tuple[str, str], Question],
    truths: Mapping[str, Truth],
    workers: Sequence[SimulatedWorker],
) -> Answers:
    """Return all workers' answers to all questions; the drawer of a box is not permitted to judge it."""
    return {
        (image, key): {
            worker.name: worker.answer(question, truths[image])[0]
            for worker in workers
            if worker.name not in question.barred
        }
        for (image, key), question in questions.items()
    }


def true_counts(answers: Answers) -> dict[str, PairCounts]:
    """Return by kind the counts over all questions and all pairs of workers."""
    counts: dict[str, PairCounts] = defaultdict(PairCounts)
    for (_, key), by_worker in answers.items():
        counts[question_of(key)].add(list(by_worker.values()))
    return counts


@dataclass(frozen=True, slots=True)
class Opened:
    """The questions that a crowd opened: everybody's answers, and the images."""

    answers: Answers
    images: list[SimulatedImage]

    def fold(self, seed: int, busy: Mapping[str, int]) -> dict[str, DoubleCheckAgreement]:
        """Return by kind the agreement over the questions that this seed draws, and the two workers it draws
        for each, weighted by `busy`."""
        rng = np.random.default_rng(seed)
        pairs: dict[str, list[AnswerPair]] = defaultdict(list)
        for (image, key), by_worker in self.answers.items():
            kind = question_of(key)
            if share := DoubleChecks(seed, image, SHARES.__getitem__).share(kind, key, 1):
                names = list(by_worker)
                chances = np.array([busy[name] for name in names], dtype=float)
                first, second = rng.choice(names, 2, replace=False, p=chances / chances.sum())
                pair = AnswerPair(by_worker[first], by_worker[second], share, (first, second))
                pairs[kind].append(pair)
        return {kind: measure_agreement(of, drawn=len(of)) for kind, of in pairs.items()}


def open_questions(golds: Sequence[Gold], workers: Sequence[SimulatedWorker], *, seed: int) -> Opened:
    """Send scenes through a crowd, each question answered as often as the fold requires."""
    crowd = WatchedCrowd(workers, seed=seed, gate=Gate({}, seed=seed, settings=NO_QUALIFICATION))
    crowd.questions = {}
    truths = {name: Truth(layer, image=name, size=size) for name, size, layer in golds}
    images = [simulate_image(layer.mentions, truths[name], crowd, review=False) for name, _, layer in golds]
    return Opened(answers_of_all(crowd.questions, truths, workers), images)


@dataclass(slots=True)
class Coverage:
    """Coverage for a kind of question: numbers of intervals, of those that contain the true agreement and
    kappa, and sums."""

    times: int = 0
    pairs: int = 0
    equal: int = 0
    kappa: int = 0
    true_equal: float = 0.0
    true_kappa: float = 0.0

    def add(self, measured: DoubleCheckAgreement, true: PairCounts) -> None:
        """Add one interval, if there are enough pairs."""
        if measured.pairs < LEAST_PAIRS or measured.equal is None or true.kappa is None:
            return
        self.times += 1
        self.pairs += measured.pairs
        self.equal += measured.equal.low <= true.agreement <= measured.equal.high
        self.kappa += measured.kappa is not None and measured.kappa.low <= true.kappa <= measured.kappa.high
        self.true_equal += true.agreement
        self.true_kappa += true.kappa


def markdown(title: str, coverage: Mapping[str, Coverage]) -> Iterator[str]:
    """Yield the table of the coverage by kind, and of all together."""
    yield f"### {title}"
    yield ""
    yield "| question | intervals | pairs, mean | agreement held | kappa held | true agreement | true kappa |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    rows = [(kind, coverage[kind]) for kind in QUESTIONS if kind in coverage and coverage[kind].times]
    for kind, of in rows:
        yield _row(kind, of)
    if rows:
        total = Coverage(
            *(sum(getattr(of, name) for _, of in rows) for name in Coverage.__dataclass_fields__)
        )
        yield _row("all", total)
    yield ""


def _row(name: str, of: Coverage) -> str:
    n = of.times
    cells = [
        name,
        n,
        f"{of.pairs / n:.0f}",
        f"{of.equal / n:.3f}",
        f"{of.kappa / n:.3f}",
        f"{of.true_equal / n:.3f}",
        f"{of.true_kappa / n:.3f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def run_folds(crowds: int, draws: int, images: int, busy: int) -> dict[str, Coverage]:
    """Return the coverage over folds of the questions that each crowd opened, without the queue."""
    golds = scenes(images)
    coverage: dict[str, Coverage] = defaultdict(Coverage)
    for seed in range(crowds):
        workers = make_crowd(MIX, seed=seed)
        loads = {worker.name: 1 for worker in workers} | {workers[-1].name: busy}
        opened = open_questions(golds, workers, seed=seed)
        true = true_counts(opened.answers)
        for number in range(draws):
            for kind, estimate in opened.fold(draws * seed + number, loads).items():
                coverage[kind].add(estimate, true[kind])
        print("\n".join(markdown(f"{seed + 1} crowds", coverage)), file=sys.stderr, flush=True)
    return coverage


def run_campaigns(campaigns: int) -> dict[str, Coverage]:
    """Return the coverage over campaigns through the queue; Django is set up and its database migrated."""
    from annotation.models import Judgment as StoredJudgment
    from annotation.models import Task
    from annotation.selectors.campaign.glance import agreement
    from annotation.simulation.visits import displayed_question
    from annotation.simulation_driver import CrowdPlan, run_campaign_crowd

    corpus = imported_scenes(QUEUED, source="studies.double_check_agreement")
    truths = {name: Truth(layer, image=name, size=size) for name, size, layer in scenes(QUEUED)}
    trust = {
        "qualification": False,
        "double_check_share": QUEUED_SHARE,
        "unchecked_double_check_share": QUEUED_SHARE,
    }
    coverage: dict[str, Coverage] = defaultdict(Coverage)
    for seed in range(campaigns):
        settings = settings_of({"boxes": BOXES_NEVER, "trust": trust})
        campaign = open_scene_campaign(corpus, f"twice{seed}", seed=seed, settings=settings)
        report = run_campaign_crowd(campaign=campaign, plan=CrowdPlan(mix=MIX, seed=seed), review=False)
        assert not any(report.violations.values()), report.violations
        questions = {
            (task.image.image.key, task.key): displayed_question(task.kind, item.content)
            for task in Task.objects.filter(campaign=campaign).select_related("image__image")
            for item in task.items.all()
        }
        workers = {f"sim{seed}-{worker.name}": worker for worker in make_crowd(MIX, seed=seed)}
        stored = StoredJudgment.objects.filter(campaign=campaign)
        for image, key, name, answer in stored.values_list(
            "image__image__key", "key", "worker__pseudonym", "answer"
        ):
            assert answer == workers[name].answer(questions[image, key], truths[image])[0], (image, key, name)
        true = true_counts(answers_of_all(questions, truths, list(workers.values())))
        for kind, measured in agreement(campaign, fresh=True).items():
            coverage[kind].add(measured, true[kind])
        print("\n".join(markdown(f"{seed + 1} campaigns", coverage)), file=sys.stderr, flush=True)
    return coverage


def scenes(number: int) -> list[Gold]:
    """Return generated scenes with their gold."""
    return [
        (record.id, (record.width, record.height), record.layer)
        for record in sample_records(number, seed=1)
        if record.layer is not None
    ]


def run_careful(images: int) -> Iterator[str]:
    """Yield the figures of careful workers only: drawn, true, and with the first answer's selection."""
    workers = make_crowd({"careful": 6}, seed=1)
    opened = open_questions(scenes(images), workers, seed=1)
    true = true_counts(opened.answers)
    drawn = opened.fold(1, {worker.name: 1 for worker in workers})
    yield "### Careful workers (3 % errors)"
    yield ""
    yield "| question | pairs | agreement | kappa | true agreement | true kappa | chosen by the first |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for kind in QUESTIONS:
        measured, chosen = drawn[kind], measure_agreement(_first_two(opened.images, kind), drawn=0)
        assert measured.equal is not None and measured.kappa is not None
        by_fold = "none"
        if chosen.equal is not None and chosen.kappa is not None:
            by_fold = f"{chosen.pairs} pairs, {chosen.equal.value:.3f}, {chosen.kappa.value:.2f}"
        yield (
            f"| {kind} | {measured.pairs} | {_estimate(measured.equal)} | {_estimate(measured.kappa)} | "
            f"{true[kind].agreement:.3f} | {true[kind].kappa:.3f} | {by_fold} |"
        )
    yield ""


def _estimate(of: IntervalEstimate) -> str:
    return f"{of.value:.3f} ({of.low:.3f} to {of.high:.3f})"


def _first_two(images: Sequence[SimulatedImage], kind: str) -> Iterator[AnswerPair]:
    """Yield the first two votes of every question of a kind that two people answered in the fold."""
    for image in images:
        votes: dict[str, list[Judgment]] = defaultdict(list)
        for judgment in image.judgments:
            if judgment.question == kind and judgment.role == VOTE:
                votes[judgment.key].append(judgment)
        for first, *rest in votes.values():
            if rest:
                yield _pair(first, rest[0], 1.0)


def _pair(first: Judgment, second: Judgment, share: float) -> AnswerPair:
    return AnswerPair(first.answer, second.answer, share, (first.worker, second.worker))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--crowds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--images", type=int, default=360)
    parser.add_argument("--busy", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=100)
    options = parser.parse_args()
    discovery.load_kind_modules("rules")
    discovery.load_kind_modules("simulate")
    lines = list(run_careful(options.images)) if options.crowds else []
    if options.crowds:
        folds = run_folds(options.crowds, options.draws, options.images, options.busy)
        lines += markdown(f"{options.crowds * options.draws} folds without the queue", folds)
    if options.campaigns:
        with tempfile.TemporaryDirectory(prefix="phrasebox-double-checks-") as folder:
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
            os.environ["DATA_DIR"] = folder
            import django
            from django.core.management import call_command

            django.setup()
            call_command("migrate", verbosity=0)
            queued = run_campaigns(options.campaigns)
        lines += markdown(f"{options.campaigns} campaigns through the queue", queued)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
