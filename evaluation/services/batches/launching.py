"""Batches launched: a campaign that asks people about what is planned, and the batch, both or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation import campaigns
from annotation.campaigns import OpenedPairs
from annotation.common import database
from annotation.quality import controls
from annotation.selectors.corpora import check_split, corpus_named
from evaluation.comparison.query_sets import store_queries
from evaluation.models import Batch, BatchRun
from evaluation.selectors import run_named
from evaluation.services.batches.planning import Plan, page_fill_numbers
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import check_name, exclusive_work


@dataclass(frozen=True, slots=True)
class Launched:
    """A batch as it stands. `unchanged`: it stood already, made from the same."""

    batch: Batch
    unchanged: bool
    opened: OpenedPairs | None


def launch(
    plan: Plan,
    name: str,
    *,
    known_from: str | None = None,
    begin: bool = True,
    actor: Any = None,
) -> Launched:
    """Open the campaign `name` that asks about what is planned, and keep the batch: both or nothing.

    `known_from` is a split whose images become control items; `actor` is the account that asks. Unless it is
    to `begin`, the campaign stays a draft. Where the batch stands, made from the same, nothing changes.
    Raises BatchRefused, CampaignError, BadItem, UnknownName, Busy.
    """
    check_name(name, "batch")
    with exclusive_work(f"batch.{name}", "batch", name):
        standing = Batch.objects.filter(name=name).first()
        if standing is not None:
            if standing.digest != plan.digest:
                raise BatchRefused(
                    f"batch {name!r} already exists with other runs or settings; choose another name"
                )
            return Launched(standing, True, None)
        if not len(plan.asked) and plan.askable:
            raise BatchRefused(
                "there is nothing to ask in rounds: existing judgments already determine the order of the "
                f"systems; leave the order out to ask all {plan.askable} pairs"
            )
        if not len(plan.asked):
            raise BatchRefused(
                f"there is nothing to ask: of {plan.pooled_pairs} pairs {plan.originals} are originals, "
                f"{plan.filtered} are filtered out and {plan.known} are already judged; freeze the "
                "existing judgments instead"
            )
        if known_from is not None:
            check_known(plan, known_from)
        pairs, fillers = plan.pooled.called(plan.asked), plan.pooled.by_image(plan.fillers)
        with database.writing():
            campaign = campaigns.create_campaign(
                name=name,
                corpus=plan.corpus,
                tasks=plan.tasks,
                settings=plan.settings.as_dict(),
                actor=actor,
            )
            if plan.simulated:
                campaigns.mark_simulated(campaign=campaign, actor=actor)
            opened = campaigns.open_pairs(campaign=campaign, pairs=pairs, fillers=fillers, actor=actor)
            if known_from is not None:
                controls.from_split(campaign=campaign, split=known_from, actor=actor)
            if begin:
                campaigns.begin_campaign(campaign=campaign, actor=actor)
            batch = Batch.objects.create(
                corpus=campaign.corpus,
                name=name,
                campaign=campaign,
                depth=plan.depth,
                threshold=plan.threshold,
                judges=plan.judges,
                seed=campaign.seed,
                reused=list(plan.reused),
                digest=plan.digest,
                strategy=plan.strategy,
                waves={"share": plan.share, "asked": [opened.pairs], "tau": None, "ended": ""}
                if plan.strategy
                else {},
                numbers={**plan.numbers(), "task_count": opened.tasks, **page_fill_numbers(opened.filling)},
            )
            BatchRun.objects.bulk_create(
                BatchRun(batch=batch, run=run_named(part.run), position=position, digest=part.digest)
                for position, part in enumerate(plan.runs)
            )
            store_queries(batch, plan.pooled.queries)
    return Launched(batch, False, opened)


def check_known(plan: Plan, split: str) -> None:
    """Control items must be of images that nobody is asked about, in whichever round: their answers would be
    wanted too.

    Raises BatchRefused, and UnknownName where the corpus has no such split.
    """
    corpus = corpus_named(plan.corpus)
    check_split(corpus, split)
    there = set(corpus.images.filter(split=split).values_list("pk", flat=True))
    asked = [set(plan.pooled.ids(pairs)[0].tolist()) for pairs in (plan.may_ask, plan.fillers)]
    if both := there & (asked[0] | asked[1]):
        raise BatchRefused(
            f"split {split!r} contains {len(both)} images that the batch asks about; make control items "
            "from another split"
        )
