"""Campaigns that simulated workers answer: marked as such for good, and never mixed with people's work.

No person is handed a task of one, but staff of it who look at its questions; nobody is paid for it; what is
exported of it says that it is simulated.
"""

from __future__ import annotations

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Assignment, Campaign, Identity, Standing, Worker
from annotation.protocol.campaign_settings import CampaignError
from annotation.quality.controls.authoring import raise_revision


def mark_simulated(*, campaign: Campaign, actor: Account | None = None) -> None:
    """Mark a campaign before the first simulated answer; one that is marked stays so.

    Raises CampaignError where people have answered or were paid: their work is not mixed with a simulation's.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if not row.simulated:
            if _has_people(row):
                raise CampaignError(
                    f"people have answered in campaign {row.name!r}, and simulated answers are never mixed "
                    f"with theirs: simulate a copy (open_campaign {row.name}-simulated --like {row.name})"
                )
            row.simulated = True
            row.save(update_fields=["simulated"])
            raise_revision(row)
            record(actor=actor, act="mark_simulated", campaign=row)
    campaign.simulated = True


def _has_people(campaign: Campaign) -> bool:
    """Whether anybody answered who is neither simulated nor a machine, or was paid."""
    theirs = Standing.objects.filter(campaign=campaign, worker__kind=Worker.PERSON).exclude(
        worker__identity__provider=Identity.SIMULATED
    )
    answered = Assignment.objects.filter(
        campaign=campaign, worker__in=theirs.values("worker"), state=Assignment.SUBMITTED
    )
    return answered.exists() or campaign.payouts.exists() or campaign.bonuses.exists()
