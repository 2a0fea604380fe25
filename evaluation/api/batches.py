"""Batches by API: the list, one with how it stands, the price before it is opened, opening it, and what
follows."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On
from annotation.api.rest.fields import (
    CallFields,
    MoneyField,
    NameField,
    PlainField,
    TextField,
    WholeField,
)
from annotation.api.rest.operations import GET, PATCH, POST, ApiCall, Operation, serves
from annotation.common.roles import RESEARCHER
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text
from annotation.selectors.campaign import costs
from annotation.selectors.jobs import Job
from evaluation.api.given import ArchiveChange, ArchivedFilter, as_plain_json
from evaluation.api.systems import RESEARCHES, OfCorpus
from evaluation.models import Batch
from evaluation.relevance.pair_tasks import USUAL_TASKS, all_pair_tasks
from evaluation.services.archiving import set_archived
from evaluation.services.batches.planning import BATCH_DEPTH
from evaluation.services.batches.pooled_runs import WIDEST
from evaluation.services.batches.scheduler import round_after
from evaluation.services.batches.state import cached_batch_state
from evaluation.services.batches.stored_answers import BatchRefused, reusable
from evaluation.services.common import ImportRefused
from evaluation.web import offered
from evaluation.web.batch_builder import BATCH_REFUSALS, BatchWanted, enqueue_batch, planned_batch
from evaluation.web.batches import BATCH, check_settling

_TAG = "batches"
_ON_BATCH = On(BATCH, (RESEARCHER,))
_ONE = "batches/<slug:name>"
_ACTS = (BatchRefused, ImportRefused)


class BatchShown(serializers.Serializer[Any]):
    """A batch: pairs pooled from runs, and the campaign that asks about them."""

    name = NameField()
    corpus = NameField()
    campaign = NameField()
    depth = serializers.IntegerField()
    threshold = serializers.FloatField(allow_null=True)
    judges = serializers.IntegerField()
    strategy = serializers.CharField()
    asked = serializers.IntegerField(help_text="Pairs that are asked.")
    judgments = serializers.CharField(allow_null=True, help_text="The newest set that was collected.")
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()
    archived = serializers.BooleanField(help_text="Whether lists leave it out.")


class BatchJudgeShown(serializers.Serializer[Any]):
    """A judge of a batch: answers that stand, control items met and right, and why they do not count ("":
    they do)."""

    judge = serializers.CharField()
    answers = serializers.IntegerField()
    controls = serializers.IntegerField()
    right = serializers.IntegerField()
    left_out = serializers.CharField()


class BatchDetailShown(BatchShown):
    """A batch with how it stands. `numbers` is what its pool came to."""

    state = serializers.CharField()
    tasks = serializers.CharField()
    runs = serializers.ListField(child=serializers.CharField())
    judged = serializers.IntegerField()
    short = serializers.IntegerField()
    answers_to_come = serializers.IntegerField()
    collected = serializers.BooleanField()
    earned = MoneyField()
    currency = serializers.CharField()
    agreement = serializers.FloatField(allow_null=True, help_text="Krippendorff's alpha.")
    ends_at = serializers.DateTimeField(allow_null=True)
    people = BatchJudgeShown(many=True)
    numbers = PlainField()


class BatchPlanShown(serializers.Serializer[Any]):
    """What a batch would come to: pairs, answers, hours and cost."""

    pooled = serializers.IntegerField()
    originals = serializers.IntegerField()
    filtered = serializers.IntegerField()
    known = serializers.IntegerField()
    asked = serializers.IntegerField()
    answers = serializers.IntegerField()
    hours = serializers.FloatField()
    amount = MoneyField()
    currency = serializers.CharField()


class BatchPlanned(CallFields):
    """A batch of the top `depth` of `runs`. `threshold` takes unlikely pairs out; null takes none out.
    `reuse` names sets of judgments whose answers are not asked for again; without it, all on the same
    scale."""

    corpus = NameField()
    runs = serializers.ListField(child=NameField(), min_length=1, max_length=200)
    tasks = serializers.ChoiceField(list(all_pair_tasks()), required=False)
    depth = WholeField(required=False, min_value=1, max_value=WIDEST)
    threshold = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=1)
    judges = WholeField(required=False, allow_null=True, min_value=1, max_value=100)
    known_from = TextField(
        required=False, max_length=40, help_text="The split that control items are made from."
    )
    reuse = serializers.ListField(child=NameField(), required=False, max_length=100)
    strategy = TextField(required=False, allow_blank=True, max_length=40)
    rounds = WholeField(required=False, min_value=1, max_value=1000)
    simulated = serializers.BooleanField(
        required=False,
        help_text="Simulated workers will answer: nobody else may, and no batch of people reuses that.",
    )
    settings = PlainField(required=False)


class BatchNamed(BatchPlanned):
    """A batch to be opened, and its name."""

    name = NameField()


class Settling(CallFields):
    """The name of the qrels to be frozen, and the rule; the usual one of the questions without it."""

    qrels = NameField()
    rule = TextField(required=False, allow_null=True)


_EXAMPLE = {
    "name": "pool-1",
    "corpus": "harbour",
    "runs": ["first-annotation", "second-annotation"],
    "depth": 10,
}


class BatchFilter(OfCorpus, ArchivedFilter):
    """Which batches."""


@serves(
    Operation(
        route="batches",
        method=GET,
        path="batches",
        tag=_TAG,
        opens=RESEARCHES,
        asked=BatchFilter,
        answers=BatchShown,
        listed=True,
    )
)
def batches_list_call(call: ApiCall) -> CursorPage:
    """List batches, the newest first."""
    found = offered.offered_batches(call.request).select_related("campaign", "corpus", "judgments")
    found = found.filter(archived_at__isnull=not call.asked.get("archived", False))
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found, "-pk", _batch_plain)


@serves(
    Operation(
        route="batches",
        method=POST,
        path="batches",
        tag=_TAG,
        opens=RESEARCHES,
        body=BatchNamed,
        job=True,
        refuses=BATCH_REFUSALS,
        example=_EXAMPLE,
    )
)
def batch_open_call(call: ApiCall) -> Job:
    """Open a batch as a job: pairs are pooled from runs, and a campaign asks about them."""
    return enqueue_batch(call.request, _wanted(call), call.data["name"])


@serves(
    Operation(
        route="batch_plans",
        method=POST,
        path="batch-plans",
        tag=_TAG,
        opens=RESEARCHES,
        body=BatchPlanned,
        own_transactions=True,
        answers=BatchPlanShown,
        refuses=BATCH_REFUSALS,
        example={key: value for key, value in _EXAMPLE.items() if key != "name"},
    )
)
def batch_plan_call(call: ApiCall) -> dict[str, Any]:
    """Plan a batch: what it would come to. Nothing is opened."""
    made = planned_batch(_wanted(call))
    numbers = made.numbers()
    return {
        **{
            key: numbers[key]
            for key in ("pooled", "originals", "filtered", "known", "asked", "answers", "hours")
        },
        "amount": amount_text(made.price.amount, made.settings.pay.currency),
        "currency": made.settings.pay.currency,
    }


@serves(Operation(route="batch", method=GET, path=_ONE, tag=_TAG, opens=_ON_BATCH, answers=BatchDetailShown))
def batch_show_call(call: ApiCall, batch: Batch) -> dict[str, Any]:
    """Show a batch: how far it is, who judged, what it cost."""
    seen = cached_batch_state(batch)
    pay = settings_of(batch.campaign.settings).pay
    return {
        **_batch_plain(batch),
        "state": seen.state,
        "tasks": seen.tasks,
        "runs": list(seen.runs),
        "judged": seen.judged,
        "short": seen.short,
        "answers_to_come": seen.answers_to_come,
        "collected": seen.collected,
        "earned": amount_text(costs(batch.campaign, pay).earned, pay.currency),
        "currency": pay.currency,
        "agreement": seen.agreement.value,
        "ends_at": json_time(seen.ends_at),
        "people": [
            {
                "judge": name,
                "answers": one.answers,
                "controls": one.known,
                "right": one.right,
                "left_out": one.unused or ("answers withdrawn" if one.withdrawn else ""),
            }
            for name, one in sorted(seen.people.items())
        ],
        "numbers": as_plain_json(
            {key: value for key, value in seen.numbers.items() if key not in ("amount", "price")}
        ),
    }


@serves(
    Operation(
        route="batch",
        method=PATCH,
        path=_ONE,
        tag=_TAG,
        opens=_ON_BATCH,
        body=ArchiveChange,
        answers=BatchShown,
        example={"archived": True},
    )
)
def batch_change_call(call: ApiCall, batch: Batch) -> dict[str, Any]:
    """Archive a batch, or bring it back: lists leave archived ones out, unless they are asked for."""
    set_archived(batch, archived=call.data["archived"], actor=call.account)
    return _batch_plain(batch)


@serves(
    Operation(
        route="batch_collect",
        method=POST,
        path=f"{_ONE}/collect",
        tag=_TAG,
        opens=_ON_BATCH,
        job=True,
        refuses=_ACTS,
    )
)
def batch_collect_call(call: ApiCall, batch: Batch) -> Job:
    """Collect a batch's answers as a set of judgments, as a job."""
    return _ask(call, batch, "collect_judgments", {"batch": batch.name})


@serves(
    Operation(
        route="batch_settle",
        method=POST,
        path=f"{_ONE}/settle",
        tag=_TAG,
        opens=_ON_BATCH,
        body=Settling,
        job=True,
        refuses=_ACTS,
        example={"qrels": "pool-1"},
    )
)
def batch_settle_call(call: ApiCall, batch: Batch) -> Job:
    """Collect a batch's answers and freeze qrels from them, as a job."""
    qrels, rule = call.data["qrels"], call.data.get("rule")
    check_settling(qrels, rule)
    return _ask(call, batch, "settle_batch", {"batch": batch.name, "qrels": qrels, "rule": rule})


@serves(
    Operation(
        route="batch_reassign",
        method=POST,
        path=f"{_ONE}/reassign",
        tag=_TAG,
        opens=_ON_BATCH,
        job=True,
        refuses=_ACTS,
    )
)
def batch_reassign_call(call: ApiCall, batch: Batch) -> Job:
    """Ask others in the place of judges who do not count, as a job."""
    return _ask(call, batch, "top_up_batch", {"batch": batch.name})


@serves(
    Operation(
        route="batch_next_round",
        method=POST,
        path=f"{_ONE}/next-round",
        tag=_TAG,
        opens=_ON_BATCH,
        job=True,
        refuses=_ACTS,
    )
)
def batch_next_round_call(call: ApiCall, batch: Batch) -> Job:
    """Ask the next round of a batch that asks in rounds, as a job."""
    if not batch.strategy:
        raise BatchRefused(f"batch {batch.name!r} asks everything at once; there are no rounds")
    return _ask(call, batch, "next_wave", round_after(batch))


def _ask(call: ApiCall, batch: Batch, kind: str, arguments: dict[str, Any]) -> Job:
    return jobs.enqueue(kind=kind, arguments=arguments, corpus=batch.corpus, actor=call.account)


def _wanted(call: ApiCall) -> BatchWanted:
    """What a call asks for; raises one of BATCH_REFUSALS for a corpus or runs that are not open."""
    given = call.data
    offered.offered_corpus(call.request, given["corpus"])
    runs = tuple(dict.fromkeys(given["runs"]))
    offered.offered_runs(call.request, runs)
    tasks = given.get("tasks", USUAL_TASKS)
    usual = BatchWanted()
    return BatchWanted(
        corpus=given["corpus"],
        runs=runs,
        tasks=tasks,
        depth=given.get("depth", BATCH_DEPTH),
        threshold=given.get("threshold", usual.threshold),
        judges=given.get("judges"),
        known_from=given.get("known_from", ""),
        reuse=tuple(given["reuse"] if "reuse" in given else reusable(given["corpus"], tasks)),
        strategy=given.get("strategy", ""),
        waves=given.get("rounds", usual.waves),
        table=given.get("settings", {}),
        simulated=given.get("simulated", False),
    )


def _batch_plain(row: Batch) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "campaign": row.campaign.name,
        "depth": row.depth,
        "threshold": row.threshold,
        "judges": row.judges,
        "strategy": row.strategy,
        "asked": row.numbers.get("asked", 0),
        "judgments": row.judgments.name if row.judgments is not None else None,
        "digest": row.digest,
        "created_at": json_time(row.created_at),
        "archived": row.archived_at is not None,
    }
