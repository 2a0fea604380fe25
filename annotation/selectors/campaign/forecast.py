"""What is still to come in a campaign: one forecast, of which page, commands and batches tell."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.models import Campaign
from annotation.protocol.work import PaySettings
from annotation.selectors.campaign.cost import Cost, costs
from annotation.selectors.campaign.progress import to_come


@dataclass(frozen=True, slots=True)
class Forecast:
    """The answers to come and what they will earn, in millionths of the currency; None: too early to tell."""

    answers: int | None
    pay: int | None


def forecast(campaign: Campaign, pay: PaySettings, *, fresh: bool = False) -> Forecast:
    """What a campaign still takes; a minute old at most unless `fresh`. Nothing where it is closed."""
    answers = to_come(campaign, fresh=fresh)
    return Forecast(answers, pay_to_come(answers, costs(campaign, pay)))


def pay_to_come(answers: int | None, so_far: Cost) -> int | None:
    """What that many answers will earn, known items among them, at what one earned so far."""
    if not answers:
        return answers
    on_tasks = so_far.answers - sum(of.controls + of.tests for of in so_far.kinds.values())
    return round(answers * so_far.earned / on_tasks) if on_tasks else None
