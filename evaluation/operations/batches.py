"""Operations on batches: plan, open, follow, collect, freeze."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest, register_stored
from annotation.common.plain_text import pages_text, text_table
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.pair_tasks import pair_tasks
from evaluation.services.batches import closing, collecting, launching, listing, reassignment, rounds
from evaluation.services.batches.closing import ClosedBatch
from evaluation.services.batches.collecting import Collected
from evaluation.services.batches.launching import OpenedBatch, PlannedBatch
from evaluation.services.batches.listing import BatchStatus
from evaluation.services.batches.reassignment import CLOSED_MESSAGE, Reassignment
from evaluation.services.batches.rounds import STABLE, RoundStatus
from evaluation.services.batches.state import BatchState
from phrasebox.agreement.estimates import Estimate
from phrasebox.pooling.unlikely import FilterLoss

#: The remedy where pages lack captions.
_REMEDY = "they can be judged as they are; for more fillers, use a greater depth, more runs, or smaller pages"
_UNFILTERED = "they can be judged as they are; with a threshold, filtered pairs fill them"


def plan_text(plan: PlannedBatch) -> str:
    """Return the size and the cost of a batch."""
    numbers, pairs = plan.numbers, pair_tasks(plan.tasks)
    runs = [[run.run, run.direction, run.pairs, run.alone, run.unjudged] for run in numbers.runs]
    cut = "no filter" if plan.threshold is None else f"BLEU_pre under {plan.threshold:g}"
    word = "pages" if pairs.paged else "graded pairs"
    # Where nothing is filtered, pages need no fillers.
    filling = asdict(numbers) if pairs.filtered else {}
    took = f"as in batch {numbers.measured_on!r}" if numbers.measured_on else "assumed"
    rows: list[list[Any]] = [
        [f"pairs in the top {plan.depth}", numbers.pooled],
        ["originals, relevant without a judgment", numbers.originals],
        [f"filtered out ({cut})", numbers.filtered],
        ["judged before", numbers.known],
        *([["can be asked", numbers.askable]] if plan.strategy else []),
        ["to be asked, in a first round" if plan.strategy else "to be asked", numbers.selected],
        [f"{word} to be answered", numbers.task_count],
        ["filtered pairs as fillers", numbers.fillers],
        *([["captions missing on pages", numbers.missing]] if filling else []),
        [f"answers to {word}, {plan.judges} each", numbers.answers],
        ["judgments of the pairs asked", numbers.judgments],
    ]
    work = f"{numbers.hours:.1f} hours of work at {numbers.seconds_an_answer:.0f} seconds per answer"
    return "\n".join(
        [
            text_table(["run", "direction", "pairs", "alone", "unjudged"], runs),
            "",
            text_table(["what", "number"], rows),
            "",
            f"{work} ({took}), {numbers.price}",
            *pages_text(filling, _UNFILTERED if plan.threshold is None else _REMEDY),
            "not included: pages with control items only, and pages that are reassigned",
        ]
    )


def opened_text(opened: OpenedBatch) -> str:
    """Return the same, and the state of the batch."""
    end = "already exists, nothing changed" if opened.unchanged else f"opened, {opened.state}"
    return f"{plan_text(opened)}\nbatch {opened.batch!r} {end}"


def collected_text(collected: Collected) -> str:
    """Return what was collected, and who does not count."""
    end = "already exist, nothing changed" if collected.unchanged else "collected"
    counts = f"{collected.answers} answers about {collected.pairs} pairs, {collected.new} of them new"
    lines = [
        f"judgments {collected.judgments!r} {end}: {counts}",
        f"{collected.short} requested pairs have fewer answers than required",
        *_unused(collected.unused, collected.batch),
        *_reinstated(collected.before, collected.counted, collected.batch),
        f"digest {collected.digest}",
    ]
    return "\n".join(lines)


def closed_text(closed: ClosedBatch) -> str:
    """Return what was collected and frozen."""
    frozen = closed.frozen
    state = "already exists, nothing changed" if frozen.unchanged else "frozen"
    return (
        f"{collected_text(closed.collected)}\n"
        f"qrels {frozen.qrels!r} version {frozen.version} {state}: {frozen.relevant} of {frozen.rows} pairs "
        f"are relevant ({frozen.settings})"
    )


def reassignment_text(reassignment: Reassignment) -> str:
    """Return whose pages are asked again, and the price."""
    if not reassignment.judges:
        return f"all judges of batch {reassignment.batch!r} count; nothing needs to be reassigned"
    did = "answers withdrawn" if reassignment.done else "answers to be withdrawn"
    word = "reassigned" if reassignment.done else "to be reassigned"
    lines = [f"{judge}: {why}" for judge, why in reassignment.judges.items()]
    work = f"{reassignment.answers} answers {word}: {reassignment.seconds / 3600:.1f} hours"
    return "\n".join([f"{did}:", *lines, f"{work}, {reassignment.price}"])


def round_text(status: RoundStatus) -> str:
    """Return the progress of a batch in rounds."""
    return f"batch {status.batch!r}: {_rounds(status)}"


def status_text(report: BatchStatus) -> str:
    """Return the progress of a batch, and how reliable it is."""
    state = report.status
    counts = f"{state.judged} of {state.numbers['selected']} pairs have {state.judges} answers"
    ends = f", expected by {state.ends_at.date().isoformat()}" if state.ends_at else ""
    money = f", {state.to_come}" if state.to_come else ""
    filling = asdict(state.filling) if pair_tasks(state.tasks).filtered else {}
    lines = [
        f"batch {state.batch!r} of corpus {state.corpus!r}, {state.tasks}, {state.state}",
        f"{state.open} tasks open; {counts}; {state.answers} answers, {state.earned}",
        f"{state.answers_to_come} answers are still to come{money}{ends}",
        *_lacking(state),
        *pages_text(filling, _UNFILTERED if state.threshold is None else _REMEDY),
        *([_rounds(state.rounds)] if state.rounds else []),
        _agreement(state.agreement),
        *_unused(state.unused, state.batch),
        *_reinstated(report.before, report.counted, state.batch),
        *([f"that is {state.top_up.answers} answers, {state.top_up.price}"] if state.top_up.answers else []),
        *([_loss(state.loss)] if state.loss else []),
    ]
    if state.omissions is not None:
        head = ["run left out", "direction", "alone", "relevant", "score", "without", "place", "then"]
        keys = ("run", "direction", "own_pairs", "relevant", "score", "score_without", "rank", "rank_without")
        lines += [
            "",
            text_table(head, [[getattr(system, key) for key in keys] for system in state.omissions]),
        ]
    return "\n".join(lines)


def _unused(unused: Mapping[str, str], batch: str) -> list[str]:
    """Return a line for each judge whose answers do not count, and the remedy."""
    lines = [f"not used: {judge} ({why})" for judge, why in unused.items()]
    return [*lines, "reassign their pages, and others judge them"] if lines else []


def _reinstated(before: dict[str, int], counted: dict[str, int], batch: str) -> list[str]:
    """Return a line for each judge with answers from before their reinstatement, and how to change whether
    these count."""
    why = "before the trust rules suspended them and a person reinstated them"
    lines = [f"not used: {answers} answers that {judge} gave {why}" for judge, answers in before.items()]
    lines += [
        f"counted by name: {answers} answers that {judge} gave {why}" for judge, answers in counted.items()
    ]
    if before:
        lines.append(f"collect judgments again, counting {', '.join(before)}, to have these too")
    if counted:
        lines.append(f"collect judgments again, leaving out {', '.join(counted)}, to have them without these")
    return lines


def _rounds(status: RoundStatus) -> str:
    share = status.selected / status.askable if status.askable else 1.0
    counts = f"{status.selected} of {status.askable} pairs ({share:.0%}) asked in {status.rounds} rounds"
    tau = "" if status.tau is None else f", tau with the last rankings at least {status.tau:.3f}"
    if status.outdated:
        return f"{counts}{tau}; it had ended, but answers changed since: the next round is to be chosen again"
    if not status.ended:
        return counts + tau
    why = "systems keep their order" if status.ended == STABLE else "every pair was asked"
    return f"{counts}{tau}; ended, {why}: {status.askable - status.selected} pairs stay unjudged"


def _lacking(state: BatchState) -> list[str]:
    """Return which pairs, judged before or no longer asked, lack answers, and the remedy."""
    lines = []
    if state.lacking:
        before = state.reused + state.lacking
        lines.append(f"{state.lacking} of {before} pairs that were judged before now lack answers")
    if state.state == CLOSED_MESSAGE and state.short:
        lines.append(f"its campaign is closed, and {state.short} of its pairs lack answers")
    return [*lines, "open a new batch of the same runs to collect them"] if lines else []


def _agreement(alpha: Estimate) -> str:
    if alpha.value is None:
        return f"agreement: {alpha.reason}"
    return f"judges agree with alpha {alpha.value:.2f} over {alpha.items} pairs"


def _loss(loss: FilterLoss) -> str:
    return (
        f"filter: {loss.relevant} of {loss.judged} judged fillers are relevant "
        f"({loss.relevant / loss.judged:.2%}, Wilson {loss.low:.2%} to {loss.high:.2%}, clustered by "
        f"{loss.images} images), {loss.some_yes} were marked as relevant by at least one judge; of "
        f"{loss.filtered} filtered pairs about {loss.expected:.0f} are lost ({loss.at_least:.0f} to "
        f"{loss.at_most:.0f})"
    )


_ON_BATCH = Has((RESEARCHER,), on="batch", corpora=True)
_ON_CORPUS = Has((RESEARCHER,), on="corpus", corpora=True)
_BATCH = listing.STORED_BATCH.address
_EXAMPLE = {"corpus": "harbour", "runs": ["first-annotation", "second-annotation"], "depth": 10}

register_stored(listing.STORED_BATCH)
register(
    title=_("Plan a batch"),
    permission=_ON_CORPUS,
    run=launching.plan_batch,
    rest=Rest("POST", "batch-plans", "batches", own_transactions=True, example=_EXAMPLE),
    command=CommandLine(text=plan_text),
    page=FormPage("evaluation:new_batch"),
)
register(
    title=_("Open a batch"),
    permission=_ON_CORPUS,
    run=launching.open_batch,
    before_job=launching.check_new,
    as_job=True,
    rest=Rest("POST", "batches", "batches", route="batches", example={"name": "pool-1", **_EXAMPLE}),
    command=CommandLine(positional=("name",), text=opened_text),
    page=FormPage(
        "evaluation:new_batch",
        started=_("Opening the batch."),
    ),
)
register(
    title=_("Show a batch"),
    permission=_ON_BATCH,
    run=listing.batch_status,
    rest=Rest("GET", _BATCH, "batches", route="batch"),
    command=CommandLine(text=status_text),
    page=FormPage("evaluation:batch"),
)
register(
    title=_("Collect the answers of a batch"),
    permission=_ON_BATCH,
    run=collecting.collect_judgments,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/judgments", "batches", example={}),
    command=CommandLine(text=collected_text),
    page=FormPage(started=_("Collecting the answers.")),
)
register(
    title=_("Collect and freeze the answers of a batch"),
    permission=_ON_BATCH,
    run=closing.settle_batch,
    before_job=closing.check_rule,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/qrels", "batches", example={"qrels": "pool-1"}),
    command=CommandLine(positional=("batch", "qrels"), text=closed_text),
    page=FormPage(started=_("Collecting and freezing the answers.")),
)
register(
    name="plan_reassignment",
    title=_("Show whose pages would be reassigned"),
    permission=_ON_BATCH,
    run=reassignment.reassignment_plan,
    rest=Rest("GET", f"{_BATCH}/reassignment", "batches", route="reassignment"),
    command=CommandLine(text=reassignment_text),
    page=FormPage("evaluation:batch"),
)
register(
    title=_("Reassign the pages of judges who do not count"),
    permission=_ON_BATCH,
    run=reassignment.reassign_pages,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/reassignment", "batches", route="reassignment", example={}),
    command=CommandLine(text=reassignment_text),
    page=FormPage(started=_("Withdrawing their answers and reassigning the pages.")),
)
register(
    title=_("Ask the next round of a batch"),
    permission=_ON_BATCH,
    run=rounds.next_round,
    before_job=rounds.number_round,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/rounds", "batches", example={}),
    command=CommandLine(text=round_text),
    page=FormPage(started=_("Selecting the pairs of the next round.")),
)
