"""Batches: planned, opened, followed, collected, frozen."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Rest,
    register,
    register_stored,
)
from annotation.common.roles import RESEARCHER
from evaluation.operations import batch_texts as texts
from evaluation.services.batches import (
    closing,
    collecting,
    launching,
    listing,
    reassignment,
    rounds,
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
    command=CommandLine(text=texts.plan_text),
    page=FormPage("evaluation:new_batch"),
)
register(
    title=_("Open a batch"),
    permission=_ON_CORPUS,
    run=launching.open_batch,
    before_job=launching.check_new,
    as_job=True,
    rest=Rest("POST", "batches", "batches", route="batches", example={"name": "pool-1", **_EXAMPLE}),
    command=CommandLine(positional=("name",), text=texts.opened_text),
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
    command=CommandLine(text=texts.status_text),
    page=FormPage("evaluation:batch"),
)
register(
    title=_("Collect the answers of a batch"),
    permission=_ON_BATCH,
    run=collecting.collect_judgments,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/judgments", "batches", example={}),
    command=CommandLine(text=texts.collected_text),
    page=FormPage(started=_("Collecting the answers.")),
)
register(
    title=_("Collect and freeze the answers of a batch"),
    permission=_ON_BATCH,
    run=closing.settle_batch,
    before_job=closing.check_rule,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/qrels", "batches", example={"qrels": "pool-1"}),
    command=CommandLine(positional=("batch", "qrels"), text=texts.closed_text),
    page=FormPage(started=_("Collecting and freezing the answers.")),
)
register(
    name="plan_reassignment",
    title=_("Show whose pages would be reassigned"),
    permission=_ON_BATCH,
    run=reassignment.reassignment_plan,
    rest=Rest("GET", f"{_BATCH}/reassignment", "batches", route="reassignment"),
    command=CommandLine(text=texts.reassignment_text),
    page=FormPage("evaluation:batch"),
)
register(
    title=_("Reassign the pages of judges who do not count"),
    permission=_ON_BATCH,
    run=reassignment.reassign_pages,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/reassignment", "batches", route="reassignment", example={}),
    command=CommandLine(text=texts.reassignment_text),
    page=FormPage(started=_("Withdrawing their answers and reassigning the pages.")),
)
register(
    title=_("Ask the next round of a batch"),
    permission=_ON_BATCH,
    run=rounds.next_round,
    before_job=rounds.number_round,
    as_job=True,
    rest=Rest("POST", f"{_BATCH}/rounds", "batches", example={}),
    command=CommandLine(text=texts.round_text),
    page=FormPage(started=_("Selecting the pairs of the next round.")),
)
