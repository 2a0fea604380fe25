"""The loss of a batch's filter is estimated from its own filtered pairs, independently of other batches."""

from __future__ import annotations

from collections import defaultdict

import pytest

from annotation.models import Campaign, Judgment
from annotation.protocol.paging import PAGE_ROLES, ROLE_CONTROL, ROLE_FILLER
from evaluation.models import Batch, Run
from evaluation.selectors import names_of, rankings_of
from evaluation.services.batches.launching import launch
from evaluation.services.batches.state import batch_state
from tests.evaluation.database.pooled_world import crowd, planned, scene

pytestmark = pytest.mark.django_db(transaction=True)

#: An image and the image of the caption: ids of rows. All captions are the first of their images.
Pair = tuple[int, int]


def bleu_pre(pair: Pair) -> float:
    """Two words per caption: those of one scene share both, those of similar scenes one, and others none."""
    called = names_of("quay").image_name
    apart = scene(called[pair[1]]) - scene(called[pair[0]])
    return 1 if apart == 0 else 0.5 if apart % 7 < 5 else 0


def pool_of(batch: Batch) -> set[Pair]:
    """Return the best items of the batch's runs, without originals."""
    owner = names_of("quay").owner
    result = set()
    for row in batch.runs.all():
        for query, items, _ in rankings_of(row.run):
            for item in items[: batch.depth].tolist():
                annotates = row.run.direction == Run.ANNOTATION
                image, caption = (query, item) if annotates else (item, query)
                result.add((image, owner[caption]))
    return {(image, value) for image, value in result if image != value}


def say_yes(campaign: Campaign, to: set[Pair]) -> None:
    """Change all answers about some pairs to yes."""
    for judgment in Judgment.objects.filter(campaign=campaign):
        assert judgment.content is not None
        for block in judgment.content["blocks"]:
            block["yes"] = [
                yes or (block["image"], value) in to
                for yes, (value, _) in zip(block["yes"], block["captions"], strict=True)
            ]
        judgment.save(update_fields=["content"])


def answered(until: Batch) -> tuple[dict[Pair, list[bool]], set[Pair]]:
    """Return all answers in the batches up to one, and the pairs that were fillers on any of their pages."""
    votes: dict[Pair, list[bool]] = defaultdict(list)
    fillers = set()
    campaigns = Batch.objects.filter(pk__lte=until.pk).values_list("campaign", flat=True)
    for content in Judgment.objects.filter(campaign__in=campaigns).values_list("content", flat=True):
        for block in content["blocks"] if content else ():
            for (value, _), role, yes in zip(block["captions"], block["roles"], block["yes"], strict=True):
                if PAGE_ROLES[role] != ROLE_CONTROL:
                    votes[block["image"], value].append(yes)
                    if PAGE_ROLES[role] == ROLE_FILLER:
                        fillers.add((block["image"], value))
    return votes, fillers


def expected(batch: Batch) -> tuple[int, int, float, int]:
    """Return judged fillers, relevant ones, the estimated loss of all filtered pairs, and the relevant pairs
    found."""
    votes, displayed = answered(batch)
    pool = pool_of(batch)
    assert batch.threshold is not None
    unlikely = {pair for pair in pool if bleu_pre(pair) < batch.threshold}
    relevant = {pair for pair, vote in votes.items() if 2 * sum(vote) > len(vote)}
    fillers = displayed & unlikely
    hits = len(fillers & relevant)
    return len(fillers), hits, hits / len(fillers) * len(unlikely), len(relevant & (pool - unlikely))


def counts_of(batch: Batch) -> tuple[int, int, float, int]:
    loss = batch_state(batch.name).loss
    assert loss is not None and loss.filtered == batch.numbers["filtered"]
    return loss.judged, loss.relevant, loss.expected, loss.relevant_left


def test_fillers_that_the_filter_of_this_batch_let_through_say_nothing_of_its_loss(
    pooled_runs: list[str],
) -> None:
    strict = launch(planned(pooled_runs, threshold=0.75), "strict").batch
    crowd(strict.campaign, {"perfect": 5})
    likely_fillers = {pair for pair in answered(strict)[1] if bleu_pre(pair) == 0.5}
    assert likely_fillers
    say_yes(strict.campaign, likely_fillers)
    # Of fewer runs, so that some pairs of the first batch are in no pool of the second.
    loose = launch(planned(pooled_runs[2:], depth=6, threshold=0.25, simulated=True), "loose").batch
    crowd(loose.campaign, {"perfect": 5}, seed=2)
    assert counts_of(strict) == pytest.approx(expected(strict))
    assert counts_of(strict)[1] == len(likely_fillers), "of its own they are what it loses"
    assert counts_of(loose) == pytest.approx(expected(loose))
    assert counts_of(loose)[:2] != (0, 0) and counts_of(loose)[1] == 0, (
        "nothing of what it put aside is relevant"
    )
    votes, displayed = answered(loose)
    unlikely = {pair for pair in pool_of(loose) if bleu_pre(pair) == 0}
    assert displayed - unlikely and displayed & unlikely, "fillers of the other batch that are none here"
    everywhere = {pair for pair, vote in votes.items() if 2 * sum(vote) > len(vote)} - displayed
    assert counts_of(loose)[3] < len(everywhere | likely_fillers)
    assert everywhere - pool_of(loose), "relevant pairs of the other batch that are in no pool here"


def test_a_batch_of_whose_filtered_pairs_none_was_judged_says_nothing(pooled_runs: list[str]) -> None:
    strict = launch(planned(pooled_runs[2:], depth=2, threshold=0.75), "strict").batch
    crowd(strict.campaign, {"perfect": 5})
    sharp = planned(pooled_runs[:1], depth=2, threshold=0.75, simulated=True)
    later = launch(sharp, "later", begin=False).batch
    _, displayed = answered(later)
    assert displayed and not {pair for pair in displayed & pool_of(later) if bleu_pre(pair) < 0.75}
    assert batch_state("strict").loss is not None and batch_state("later").loss is None
