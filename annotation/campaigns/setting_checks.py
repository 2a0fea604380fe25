"""Checks of settings that name something stored elsewhere, such as a stored proposer.

Its existence is checked when the setting changes. If it is removed later, whatever needs it fails with an
explanation.
"""

from annotation.common.by_name import declared_by_apps, function_named
from annotation.protocol.campaign_settings import CampaignError, CampaignSettings

#: The attribute of AppConfigs: names of settings ("model_annotator.system") with dotted names of functions. A
#: function is called with each new value: it returns one line with the remedy, "" for no problem.
SETTING_CHECKS = "setting_checks"


def check_named(before: CampaignSettings, after: CampaignSettings) -> None:
    """Raise CampaignError if a changed setting names something that does not exist."""
    old, new = before.flat(), after.flat()
    for name, find_problem in declared_by_apps(SETTING_CHECKS):
        if new[name] != old[name] and (problem := function_named(find_problem)(new[name])):
            raise CampaignError(problem)
