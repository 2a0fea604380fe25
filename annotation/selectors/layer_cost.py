"""Cost of a layer: counted from its campaign's answers, or stored by a simulation."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Q, Sum

from annotation.models import (
    Assignment,
    Campaign,
    Layer,
    Mention,
    ModelAnnotator,
    OpenImage,
    PlannedImage,
    Ruling,
)
from annotation.protocol import questions as q
from annotation.selectors.campaign.cost import TEST_ROLE


def cost_of(layer: Layer, campaign: Campaign | None) -> Mapping[str, Any]:
    """Return the cost of a layer, from `campaign` if the layer grows with it."""
    return layer.cost if campaign is None else answers_cost(campaign)


def answers_cost(campaign: Campaign) -> dict[str, Any]:
    """Return the cost of people's answers to the campaign until now, in the form of a simulation's cost.

    Answers of model annotators and unpaid tests are excluded. `images` are those that its layer covers once
    it is refreshed: images with an answer or ruling, or without questions. So images opened later do not
    lower the cost per image.
    """
    costs: dict[str, dict[str, float]] = {"judgments": {}, "seconds": {}, "controls": {}, "double_checks": {}}
    names = {q.VOTE: "judgments", q.EXTRA: "judgments", q.DOUBLE_CHECK: "double_checks"}
    model_annotators = ModelAnnotator.objects.filter(campaign=campaign).values("worker")
    done = Assignment.objects.filter(campaign=campaign, state=Assignment.SUBMITTED)
    done = done.exclude(worker__in=model_annotators).exclude(role=TEST_ROLE)
    for kind, role, count, seconds in (
        done.values("kind", "role")
        .annotate(n=Count("id"), s=Sum("seconds"))
        .values_list("kind", "role", "n", "s")
    ):
        table = costs[names.get(role, "controls")]
        table[kind] = table.get(kind, 0) + count
        costs["seconds"][kind] = costs["seconds"].get(kind, 0.0) + seconds
    opened = OpenImage.objects.filter(campaign=campaign)
    return {
        **costs,
        "images": opened.filter(Q(version__gt=0) | Q(complete=True)).count(),
        "mentions": Mention.objects.filter(layer__corpus=campaign.corpus, layer__name=campaign.name).count(),
        "rulings": Ruling.objects.filter(image__campaign=campaign, withdrawn_at=None).count(),
        "unfinished": opened.filter(complete=False).count()
        + PlannedImage.objects.filter(campaign=campaign).count(),
    }
