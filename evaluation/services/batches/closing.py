"""Collect a batch's answers and freeze them in one step. Both parts, and the whole, may be repeated."""

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext, invalid
from evaluation.services.batches.collecting import Collected, CollectRequest, batch_named, collect
from evaluation.services.judgments.freezing import QrelsReport, freeze_qrels
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.phases import part_of_progress
from phrasebox.registry import UnknownName
from phrasebox.relevance.grades import GRADED_RULES
from phrasebox.relevance.qrels import RELEVANCE_RULES, rule_named


@dataclass(frozen=True, slots=True)
class ClosedBatch:
    """The collected judgments and the qrels frozen from them."""

    collected: Collected
    frozen: QrelsReport


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleRequest(CollectRequest):
    """The answers of a batch are collected, and frozen as the next version of qrels."""

    qrels: Annotated[str, Named(), Help(_("Qrels"), _("Their name"))]
    rule: Annotated[
        str | None, Field(max_length=100), Help(_("Rule"), _("By default the usual one of the question"))
    ] = None
    originals: Annotated[bool, Help(_("Originals are relevant"), _("Judged or not"))] = True


def check_rule(request: SettleRequest, context: OperationContext) -> SettleRequest:
    """Raise Invalid if the requested rule does not exist."""
    if request.rule is not None:
        try:
            rule_named(request.rule)
        except UnknownName:
            known = ", ".join((*RELEVANCE_RULES.keys(), *GRADED_RULES.keys()))
            raise invalid("rule", "unknown_of", kind=_("rule"), value=request.rule, known=known) from None
    return request


def settle_batch(request: SettleRequest, context: OperationContext) -> ClosedBatch:
    """Collect and freeze; raises as these two do. Repeating it changes nothing."""
    check_rule(request, context)
    corpus = batch_named(request.batch).corpus.name
    report_progress, actor = context.report_progress, context.actor
    counted = request.counted()
    collected = collect(
        request.batch, count=counted, report_progress=part_of_progress(report_progress, 0.0, 0.6), actor=actor
    )
    frozen = freeze_qrels(
        name=request.qrels,
        corpus=corpus,
        judgments=collected.judgments,
        relevance=RelevanceChoice(request.rule, originals=request.originals),
        report_progress=part_of_progress(report_progress, 0.6, 1.0),
        actor=actor,
    )
    return ClosedBatch(collected, frozen)
