"""Checks of settings that name something stored elsewhere, such as a stored proposer.

Its existence is checked when the setting changes. If it is removed later, whatever needs it fails with an
explanation.
"""

from collections.abc import Callable
from typing import Any

from annotation.protocol.campaign_settings import CampaignError, CampaignSettings

#: By the name of a setting: called with its new value, returns the problem, "" for none.
_CHECKS: dict[str, Callable[[Any], str]] = {}


def add_setting_check(name: str, find_problem: Callable[[Any], str]) -> None:
    """Call `find_problem` with each new value of a setting ("model_annotator.system"): it returns one line
    with the remedy, "" for no problem."""
    _CHECKS[name] = find_problem


def check_named(before: CampaignSettings, after: CampaignSettings) -> None:
    """Raise CampaignError if a changed setting names something that does not exist."""
    old, new = before.flat(), after.flat()
    for name, find_problem in _CHECKS.items():
        if new[name] != old[name] and (problem := find_problem(new[name])):
            raise CampaignError(problem)
