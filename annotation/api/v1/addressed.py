"""What operations about a campaign are addressed by, and whom they are open to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import TextField
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign
from annotation.moderation.discarding import CannotDo
from annotation.selectors.workers.worker_table import workers_called
from annotation.web.common.access import BROWSING
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS

#: Workers that one call may name.
MOST_WORKERS = 1_000
CAMPAIGNS_TAG = "campaigns"
PREPARING_TAG = "preparing"
CAMPAIGN_PATH = "campaigns/<slug:name>"
READS_CAMPAIGN = On(CAMPAIGN_OF_ADDRESS, BROWSING)
RUNS_CAMPAIGN = On(CAMPAIGN_OF_ADDRESS, (RESEARCHER,))


class WorkerNames(serializers.ListField):
    """Workers by their pseudonyms."""

    def __init__(self, **about: Any) -> None:
        of = {"child": TextField(max_length=40), "min_length": 1, "max_length": MOST_WORKERS}
        super().__init__(**{**of, **about})


def workers_named(campaign: Campaign, names: Sequence[str]) -> dict[str, int]:
    """Pseudonym -> id of these workers. Raises CannotDo, which names one that is not there."""
    found = workers_called(campaign, [name for name in names if "\0" not in name])
    if unknown := [name for name in names if name not in found]:
        raise CannotDo(
            _("Campaign “%(campaign)s” has no worker “%(name)s”.")
            % {"campaign": campaign.name, "name": unknown[0]}
        )
    return found
