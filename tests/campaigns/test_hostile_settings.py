"""Settings that TOML can represent but no row can store are refused, with their name."""

from __future__ import annotations

import tomllib

import pytest

from annotation.protocol.campaign_settings import CampaignError, settings_of


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[stop]\nbudget = inf", "budget is inf"),
        ("[stop]\nbudget = nan", "budget is nan"),
        ("[stop]\nimages = 1" + "0" * 300, "images is 1000"),
        ("[pay]\nbasis = 'hour'\nhourly = 1e300", "hourly is 1e+300"),
        ("[pay]\nbasis = 'item'\nper_item = {coref_link = inf}", "per_item.coref_link is inf"),
        ("[merging]\nnever = 3", "merging.never is 3"),
    ],
)
def test_a_setting_that_no_row_can_hold_is_refused(text: str, says: str) -> None:
    with pytest.raises(CampaignError, match="^setting .*: expected ") as caught:
        settings_of(tomllib.loads(text))
    assert says.replace("+", "") in str(caught.value).replace("+", "")
