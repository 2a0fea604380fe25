"""Settings of a campaign that name something kept elsewhere, such as a stored proposer.

That it exists is checked when the setting changes. If it is removed later, what needs it fails and says why.
"""

from collections.abc import Callable
from typing import Any

from annotation.protocol.campaign_settings import CampaignError, CampaignSettings

#: By the name of a setting: called with its new value, says what is wrong with it, "" for nothing.
_CHECKS: dict[str, Callable[[Any], str]] = {}


def add_setting_check(name: str, why_wrong: Callable[[Any], str]) -> None:
    """Have `why_wrong` asked about each new value of a setting ("machine.system"): one line with the remedy,
    "" for nothing."""
    _CHECKS[name] = why_wrong


def check_named(before: CampaignSettings, after: CampaignSettings) -> None:
    """Raise CampaignError where a setting that changes names what is not there."""
    old, new = before.flat(), after.flat()
    for name, why_wrong in _CHECKS.items():
        if new[name] != old[name] and (wrong := why_wrong(new[name])):
            raise CampaignError(wrong)
