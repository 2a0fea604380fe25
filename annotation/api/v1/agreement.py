"""How far two people agree, as calls return it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from annotation.protocol.agreement import DoubleCheckAgreement


class IntervalShown(serializers.Serializer[Any]):
    """A figure with its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class AnswerShareShown(serializers.Serializer[Any]):
    """How often people give an answer."""

    answer = serializers.CharField(help_text="“reported” where people reported the question instead.")
    share = IntervalShown()


class AgreementShown(serializers.Serializer[Any]):
    """How far two people agree on a kind of question, over those that were drawn for it when they opened:
    the share of equal answers, kappa, the share of each answer, and of drawings the mean IoU."""

    kind = serializers.CharField()
    drawn = serializers.IntegerField(help_text="Questions drawn for a second answer.")
    pairs = serializers.IntegerField(help_text="Of these, answered by two people.")
    waiting = serializers.IntegerField(help_text="Still open.")
    lacking = serializers.IntegerField(help_text="Never answered by a second person.")
    equal = IntervalShown(allow_null=True)
    kappa = IntervalShown(allow_null=True)
    answers = AnswerShareShown(many=True)
    overlap = IntervalShown(allow_null=True)


def agreement_shown(kinds: Mapping[str, DoubleCheckAgreement]) -> list[dict[str, Any]]:
    """The figures of each kind, for `AgreementShown`."""
    return [{"kind": kind, "lacking": of.lacking, **asdict(of)} for kind, of in kinds.items()]
