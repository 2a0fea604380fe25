"""What operations about a campaign are addressed by, and whom they are open to."""

from __future__ import annotations

from annotation.api.rest.doors import On
from annotation.common.roles import RESEARCHER
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS

CAMPAIGNS_TAG = "campaigns"
PREPARING_TAG = "preparing"
CAMPAIGN_PATH = "campaigns/<slug:name>"
RUNS_CAMPAIGN = On(CAMPAIGN_OF_ADDRESS, (RESEARCHER,))
