"""From a batch's campaign to judgments that can be frozen, and what is to be known about them.

`collect` keeps all answers that count, of the batch, of those before it and of the judgments it
reused, as one set of judgments, so that its qrels know all that is known. Collected again, only
what changed makes a new set: NAME, then NAME-2; earlier ones stay, since qrels may be made of them.

Left out: withdrawn answers, reports, known items, and all answers of judges below the bar (the 70 %
rule; see `annotation.selectors.pair_judgments`). Such judges are named: discarding them has the
pages asked again, which is how pairs come to their number of judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.campaign_settings import settings_of
from annotation.selectors.campaign import costs, money, tasks
from annotation.selectors.pair_judgments import Judge
from evaluation.formats.base import JudgedPair
from evaluation.grades import MEAN_GRADE
from evaluation.models import Batch, BatchRun, JudgmentSet
from evaluation.pooling.omissions import LeftOut, leave_out
from evaluation.pooling.pools import Integers, among, pool
from evaluation.pooling.unlikely import FilterLoss, filter_loss
from evaluation.qrels import MAJORITY, AnyRule
from evaluation.selectors import names_of
from evaluation.services.judgments import JudgmentsReport, digest_of, store_judgments
from evaluation.services.pooled import Pooled, pooled
from evaluation.services.stored_answers import Answers, BatchRefused, earlier, stored
from evaluation.services.writing import alone

#: What counts as relevant where a batch is looked at; qrels may be frozen under another rule.
USUAL: dict[str, AnyRule] = {"relevance": MAJORITY, "graded": MEAN_GRADE}


@dataclass(frozen=True, slots=True)
class Collected:
    """The judgments collected. `new` pairs were not in the set before; `unused` judges do not count, and why.

    `short` of the wanted pairs have fewer answers than wanted, counting those alone that count.
    """

    batch: str
    judgments: str
    unchanged: bool
    pairs: int
    answers: int
    new: int
    unused: dict[str, str]
    short: int
    digest: str


@dataclass(frozen=True, slots=True)
class BatchState:
    """How a batch stands: tasks `open`, pairs `judged` by as many as wanted, what was earned, who does not
    count, what the filter loses (None: no filler was judged), what runs lose that are left out (None where
    not asked for, or too early)."""

    batch: str
    corpus: str
    tasks: str
    runs: tuple[str, ...]
    depth: int
    threshold: float | None
    judges: int
    state: str
    judgments: str
    numbers: Mapping[str, Any]
    open: int
    judged: int
    short: int
    answers: int
    earned: str
    unused: dict[str, str]
    loss: FilterLoss | None
    left_out: list[LeftOut] | None


def batch_named(name: str) -> Batch:
    """The batch of that name; raises BatchRefused listing what exists."""
    found = Batch.objects.select_related("campaign__corpus", "corpus", "judgments").filter(name=name).first()
    if found is None:
        known = ", ".join(Batch.objects.values_list("name", flat=True)) or "none"
        raise BatchRefused(f"unknown batch {name!r}; known: {known}")
    return found


def collect(name: str) -> Collected:
    """Keep what was answered so far as judgments; raises BatchRefused where that is nothing, and Busy."""
    batch = batch_named(name)
    with alone(f"batch.{name}", "batch", name):
        batch.refresh_from_db()
        answers, who = _answers(batch)
        pairs = list(answers.judged_pairs(names_of(batch.corpus.name)))
        if not pairs:
            raise BatchRefused(f"nobody who counts has judged a pair of batch {name!r} yet; collect it later")
        before = batch.judgments
        made = _kept(batch, pairs)
        if before is None or made.judgments != before.name:
            row = JudgmentSet.objects.get(corpus=batch.corpus, name=made.judgments)
            Batch.objects.filter(pk=batch.pk).update(judgments=row)
    had = before.pair_count if before is not None else 0
    return Collected(
        batch=name,
        judgments=made.judgments,
        unchanged=made.unchanged,
        pairs=made.pairs,
        answers=made.answers,
        new=max(0, made.pairs - had),
        unused={judge: one.unused for judge, one in who[name].items() if one.unused},
        short=_short(batch, answers),
        digest=made.digest,
    )


def state(name: str, *, omissions: bool = False, measure: str = "R-precision") -> BatchState:
    """How a batch stands; with `omissions` also what each run loses that is left out of its pool."""
    batch = batch_named(name)
    answers, who = _answers(batch)
    asked = tasks(batch.campaign, fresh=True)
    pay = settings_of(batch.campaign.settings).pay
    cost = costs(batch.campaign, pay)
    runs = [row.run for row in BatchRun.objects.filter(batch=batch).select_related("run__corpus")]
    found = pooled(batch.corpus.name, runs)
    known, relevant, some_yes = _judged(found, answers, USUAL[batch.campaign.tasks])
    wanted = batch.numbers["asked"]
    short = _short(batch, answers)
    return BatchState(
        batch=name,
        corpus=batch.corpus.name,
        tasks=batch.campaign.tasks,
        runs=tuple(run.name for run in runs),
        depth=batch.depth,
        threshold=batch.threshold,
        judges=batch.judges,
        state=batch.campaign.state,
        judgments=batch.judgments.name if batch.judgments is not None else "",
        numbers=batch.numbers,
        open=sum(one.open for one in asked.values()),
        judged=wanted - short,
        short=short,
        answers=cost.answers,
        earned=money(cost.earned, pay.currency),
        unused={judge: one.unused for judge, one in who[name].items() if one.unused},
        loss=_loss(batch, found, answers, known, relevant, some_yes),
        left_out=leave_out(
            found.shortlists,
            pool(found.shortlists, found.space, depth=batch.depth),
            known,
            relevant,
            measure=measure,
        )
        if omissions and len(known)
        else None,
    )


def _answers(batch: Batch) -> tuple[Answers, dict[str, dict[str, Judge]]]:
    return stored(
        corpus=batch.corpus.name,
        tasks=batch.campaign.tasks,
        reuse=batch.reused,
        batches=earlier(batch.corpus.name, batch.campaign.tasks, until=batch),
    )


def _kept(batch: Batch, pairs: list[JudgedPair]) -> JudgmentsReport:
    """The set that holds `pairs`: the batch's newest where it does, else the next."""
    corpus, source = batch.corpus.name, f"batch {batch.name}"
    digest = digest_of(corpus=corpus, pairs=pairs, source=source)
    name = batch.judgments.name if batch.judgments is not None else batch.name
    sets = dict(JudgmentSet.objects.filter(corpus=batch.corpus, published=True).values_list("name", "digest"))
    number = 1
    while name in sets and sets[name] != digest:
        number += 1
        name = f"{batch.name}-{number}"
    return store_judgments(
        corpus=corpus, pairs=pairs, name=name, format=f"batch-{batch.campaign.tasks}", source=source
    )


def _short(batch: Batch, answers: Answers) -> int:
    """How many of the pairs that a batch asks about have fewer answers than it wants."""
    enough = sum(
        len(given) >= batch.judges for pair, given in answers.of.items() if pair in answers.wanted[batch.name]
    )
    return int(batch.numbers["asked"]) - enough


def _judged(
    found: Pooled, answers: Answers, rule: AnyRule
) -> tuple[Integers, NDArray[np.bool_], NDArray[np.bool_]]:
    """Judged pairs, sorted; which are relevant under `rule`; and which anybody thinks so of."""
    images, captions, _, values = answers.arrays()
    pairs, ours = found.numbers(images, captions)
    given = [values[place] for place in np.flatnonzero(ours)]
    relevant = np.array([rule.holds(JudgedPair("", "", tuple(one))) for one in given], dtype=bool)
    some = np.array([rule.holds(JudgedPair("", "", (max(one),))) for one in given], dtype=bool)
    order = np.argsort(pairs)
    return pairs[order], relevant[order], some[order]


def _loss(
    batch: Batch,
    found: Pooled,
    answers: Answers,
    known: Integers,
    relevant: NDArray[np.bool_],
    some_yes: NDArray[np.bool_],
) -> FilterLoss | None:
    """What the filter loses, from all fillers judged so far; None without a filter, or a judged filler."""
    if batch.threshold is None or not answers.fillers:
        return None
    pairs = np.array(sorted(answers.fillers), dtype=np.int64)
    fillers, _ = found.numbers(pairs[:, 0], pairs[:, 1])
    is_filler = among(known, np.sort(fillers))
    images, _ = found.space.parts(known[is_filler])
    return filter_loss(
        images,
        relevant[is_filler],
        some_yes[is_filler],
        filtered=int(batch.numbers["filtered"]),
        found=int(relevant[~is_filler].sum()),
        seed=batch.seed,
    )
