"""Deleting a campaign that nobody has worked on.

Its entries in the audit log stay, with its name.
"""

from dataclasses import dataclass

from django.db import IntegrityError
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import OperationContext
from annotation.models import (
    Account,
    Assignment,
    Bonus,
    Campaign,
    Invitation,
    Job,
    Judgment,
    OpenImage,
    Payout,
    Ruling,
    Visit,
    Worker,
)
from annotation.protocol.campaign_settings import CampaignError
from annotation.queue import image_rows
from annotation.selectors.corpora import CampaignRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCampaignRequest(CampaignRequest):
    """Its questions, texts and control items are deleted; its entries in the audit log stay. Rejected once
    somebody has joined it: once a task was leased, or an invitation used."""


def why_not_deletable(campaign: Campaign) -> str:
    """Return why the campaign cannot be deleted, in one sentence; "" if it can."""
    if Assignment.objects.filter(campaign=campaign).exists():
        return _("somebody has begun to work on it: close it instead")
    held = (
        Judgment.objects.filter(campaign=campaign),
        Ruling.objects.filter(image__campaign=campaign),
        Payout.objects.filter(campaign=campaign),
        Bonus.objects.filter(campaign=campaign),
    )
    if any(rows.exists() for rows in held):
        return _("it holds answers, rulings or payments: close it instead")
    if Visit.objects.filter(study__campaign=campaign).exists():
        return _("somebody has joined it from a platform: close it instead")
    if Invitation.objects.filter(campaign=campaign, used__gt=0).exists():
        return _("somebody has joined it by an invitation: close it instead")
    if campaign.jobs.filter(state__in=Job.LIVE).exists():
        return _("one of its jobs is queued or running: cancel that first")
    return ""


def delete_campaign(*, campaign: Campaign, actor: Account | None = None) -> None:
    """Delete a campaign that nobody has joined, with its questions, texts and control items.

    Raises CampaignError if somebody has, or if something else depends on it.
    """
    try:
        with database.writing():
            row = Campaign.objects.select_for_update().get(pk=campaign.pk)
            if why := why_not_deletable(row):
                raise CampaignError(
                    _("campaign “%(name)s” cannot be deleted: %(why)s") % {"name": row.name, "why": why}
                )
            images = OpenImage.objects.filter(campaign=row).count()
            record(actor=actor, act="delete_campaign", campaign=row, corpus=row.corpus.name, images=images)
            image_rows.remove_questions(row)
            model_annotators = list(row.model_annotators.values_list("worker", flat=True))
            row.delete()
            # A model annotator's worker belongs to one campaign.
            Worker.objects.filter(pk__in=model_annotators).delete()
    except ProtectedError as error:
        what = sorted({str(blocker._meta.verbose_name) for blocker in error.protected_objects})
        raise CampaignError(
            _("campaign “%(name)s” cannot be deleted: %(what)s depends on it")
            % {"name": campaign.name, "what": ", ".join(what)}
        ) from error
    except IntegrityError as error:
        raise CampaignError(
            _("campaign “%(name)s” cannot be deleted: somebody has just joined it") % {"name": campaign.name}
        ) from error


def delete_named_campaign(request: DeleteCampaignRequest, context: OperationContext) -> None:
    """Delete a campaign."""
    delete_campaign(campaign=request.row(), actor=context.actor)
