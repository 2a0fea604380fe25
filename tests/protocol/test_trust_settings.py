"""The numbers of the crowd rules: each has a source, and none may disable its rule."""

from __future__ import annotations

from dataclasses import fields

import pytest

from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.work import LeaseSettings, PaySettings


def test_every_setting_says_where_its_default_comes_from():
    assert all(field.metadata["source"] for field in fields(TrustSettings))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bar", 1.2),
        ("relevance_bar", -0.1),
        ("control_share", 2.0),
        ("double_check_share", 5.0),
        ("drawing_iou", 50.0),
        ("entry_tasks", -1),
        ("page_slips", -1),
        ("drawing_unjudged", -1),
        ("drawing_wait_minutes", -1),
        ("verdict_known", 21),
        ("verdict_known", 0),
        ("warm_up_known", 31),
        ("warm_up_known", 0),
    ],
)
def test_a_setting_that_would_disable_its_rule_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name} is {value}"):
        TrustSettings(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("minutes", 0), ("in_hand", 0), ("in_hand", -1)])
def test_a_lease_of_no_time_or_of_no_task_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name} is {value}: expected"):
        LeaseSettings(**{name: value})


@pytest.mark.parametrize(
    ("pay", "name"),
    [
        ({"hourly": -1.0}, "hourly is -1.0"),
        ({"per_item": {"box_drawing": 0.1, "coref_link": -0.01}}, "per_item.coref_link is -0.01"),
    ],
)
def test_pay_that_takes_is_refused_by_name(pay, name):
    with pytest.raises(ValueError, match=f"^{name}: expected a number, 0 to "):
        PaySettings(**pay)
