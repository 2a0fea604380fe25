"""Every setting refuses invalid values, with its name, in any form; TOML and rows preserve it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from annotation.protocol.boxes import BoxLimits
from annotation.protocol.campaign_settings import (
    _TABLES,
    CampaignError,
    CampaignSettings,
    as_toml,
    settings_from,
    settings_of,
)
from annotation.protocol.counted import AnswerSettings
from annotation.protocol.kinds import settings_numbers
from annotation.protocol.merging import MergeRules
from annotation.protocol.state import ImageSettings, SavingSettings
from models_core.checked_fields import field_rules

#: The tables of fields, by their name in a TOML file.
RECORDS: dict[str, Any] = {
    "": ImageSettings,
    "limits": BoxLimits,
    "merging": MergeRules,
    "saving": SavingSettings,
} | {name: kind for name, kind in _TABLES.items() if is_dataclass(kind)}
MOST = 10**12
COUNT = (-1, MOST + 1, 1.5, 1e300, True, "3", None)
FROM_ONE = (0, *COUNT)
SHARE = (-0.01, 1.01, True, "0.5", None, float("nan"))
TIME = (0, -1, MOST * 2, float("inf"), True, "1")
MONEY = (-0.01, 1e300, float("inf"), float("nan"), True, "1")
#: Invalid values of each setting; and at the end of each line a valid value other than the default.
INVALID: dict[str, tuple[tuple[Any, ...], Any]] = {
    "order": (("by_luck", 1, None, ["likely_first"]), "as_printed"),
    "link_votes": ((*FROM_ONE, 2), 3),
    "verification_votes": ((*FROM_ONE, 4), 5),
    "boxes": (("some", True), "always"),
    "flags_to_review": (FROM_ONE, 3),
    "limits.fruitless": (COUNT, 0),
    "limits.boxes": (FROM_ONE, 5),
    "merging.iou": ((0, 1.2, "a", True, None), 1),
    "merging.iou_other": ((0, -1, "a", float("nan")), 0.5),
    "merging.never": ((3, ["ab"], [["a"]], [["a", "b", "c"]], [["a", 1]], [["a", "\0"]]), [["a", "b"]]),
    "saving.link_chances": (
        (
            3,
            None,
            "a\0b",
            "none",
            "[]",
            '{"alike":{},"pairs":{"man":0.5}}',
            '{"alike":{"same 3":1},"pairs":{}}',
        ),
        '{"alike":{"other 0":0.2},"pairs":{"guy man":0.9}}',
    ),
    "saving.fullest_caption_first": ((0, "yes", None), True),
    "saving.coverage_by_count": ((1, "no", None), True),
    "trust.entry_tasks": (COUNT, 0),
    "trust.entry_approved": (SHARE, 0),
    "trust.entry_countries": (("US", ["UK"], ["us"], [1], None), ["US", "DE"]),
    "trust.qualification": ((0, "yes", None), False),
    "trust.warm_up_items": ((*FROM_ONE, 5), 40),
    "trust.warm_up_known": ((*FROM_ONE, 31), 30),
    "trust.verdict_known": ((*FROM_ONE, 21), 20),
    "trust.bar": (SHARE, 0.75),
    "trust.relevance_bar": (SHARE, 0.75),
    "trust.window": ((*FROM_ONE, 11), 30),
    "trust.drawing_bar": (SHARE, 1),
    "trust.drawing_known": ((*FROM_ONE, 101), 50),
    "trust.drawing_window": ((*FROM_ONE, 29), 30),
    "trust.drawing_unjudged": (COUNT, 0),
    "trust.drawing_wait_minutes": (COUNT, 5),
    "trust.control_share": (SHARE, 0.1),
    "trust.double_check_share": (SHARE, 0),
    "trust.unchecked_double_check_share": (SHARE, 0.3),
    "trust.drawing_iou": (SHARE, 0.7),
    "trust.page_slips": (COUNT, 2),
    "trust.grade_slip": (COUNT, 0),
    "lease.minutes": (TIME, 0.5),
    "lease.in_hand": (FROM_ONE, 2),
    "pay.basis": (("week", None, 3), "hour"),
    "pay.currency": ((3, None, "U\0D"), "EUR"),
    "pay.per_item": (({"coref_link": -1}, {"coref_link": "1"}, {"nobody": 1}, 3), {"coref_link": 0.02}),
    "pay.hourly": (MONEY, 12),
    "pay.idle_after": (TIME, 30),
    "stop.budget": (MONEY, 100),
    "stop.until": (("2026-13-01", "tomorrow", "2026-12-31\n", 2026, ""), "2026-12-31"),
    "stop.images": (tuple(value for value in COUNT if value is not None), 10),
    "page.images": ((*FROM_ONE, 1), 7),
    "page.captions": (FROM_ONE, 5),
    "page.controls": ((*COUNT, 6), 0),
    "model_annotator.share": (SHARE, 0.25),
    "model_annotator.from_images": (FROM_ONE, 100),
    "model_annotator.retrain_every": (COUNT, 0),
    "model_annotator.images_at_once": (COUNT, 100),
    "model_annotator.system": ((3, True, None, "a\0b"), "drawer"),
    "model_annotator.least_chance": (SHARE, 0.75),
    "model_annotator.tries": (FROM_ONE, 3),
    "model_annotator.bar": (SHARE, 0.7),
    "model_annotator.check_first": ((1, "no", None), False),
}
#: If a limit involves two settings, the message may name the other one.
PARTNERS = {
    "trust.window": "trust.verdict_known",
    "trust.drawing_window": "trust.drawing_known",
    "trust.warm_up_items": "trust.warm_up_known",
    "page.images": "page.controls",
}


def settings_with(name: str, value: Any) -> dict[str, Any]:
    """Return default settings with this one, named as in `CampaignSettings.flat`."""
    table, _, key = name.rpartition(".")
    return {table: {key: value}} if table else {key: value}


def test_every_setting_is_tried() -> None:
    names = {
        f"{table}.{field.name}" if table else field.name
        for table, kind in RECORDS.items()
        for field in fields(kind)
        if not is_dataclass(getattr(kind(), field.name))
    }
    assert names == set(INVALID)


@pytest.mark.parametrize("name", INVALID)
def test_what_a_setting_cannot_be_is_refused_in_one_line_that_names_it(name: str) -> None:
    for value in INVALID[name][0]:
        with pytest.raises(CampaignError, match="expected|no such day") as caught:
            settings_of(settings_with(name, value))
        line = str(caught.value)
        assert line.startswith((f"setting {name}", f"setting {PARTNERS.get(name, name)}")), line
        assert "\n" not in line and "http" not in line


@pytest.mark.parametrize("name", INVALID)
def test_a_record_that_is_built_directly_refuses_the_same(name: str) -> None:
    table, _, key = name.rpartition(".")
    for value in INVALID[name][0]:
        with pytest.raises(ValueError, match="expected|no such day"):
            RECORDS[table](**{key: value})


@pytest.mark.parametrize("name", INVALID)
def test_what_a_setting_can_be_comes_back_from_toml_and_from_a_row_as_it_was_given(name: str) -> None:
    value = INVALID[name][1]
    settings = settings_of(settings_with(name, value))
    assert repr(settings.flat()[name]) == repr(value)
    assert settings != CampaignSettings()
    assert settings_of(tomllib.loads(as_toml(settings))) == settings
    assert settings_from(json.dumps(settings.as_dict())) == settings


@pytest.mark.parametrize("name", settings_numbers())
def test_a_number_of_a_kind_is_whole_and_one_or_more(name: str) -> None:
    for value in FROM_ONE:
        with pytest.raises(CampaignError, match=rf"^setting answers\.{name} is .*: expected a whole "):
            settings_of({"answers": {name: value}})
        with pytest.raises(ValueError, match=f"^{name} is "):
            AnswerSettings(**{name: value})  # type: ignore[arg-type]
    assert settings_of({"answers": {name: 7}}).answers.number(name) == 7


@pytest.mark.parametrize("table", ["", "limits", "merging", *_TABLES])
def test_an_unknown_setting_is_refused_with_those_there_are(table: str) -> None:
    with pytest.raises(CampaignError, match=r"^unknown setting 'colour'.*; known: ") as caught:
        settings_of({table: {"colour": 3}} if table else {"colour": 3})
    assert (f"of [{table}]" in str(caught.value)) == bool(table)


@pytest.mark.parametrize("table", ["limits", "merging", *_TABLES])
def test_a_table_is_a_table(table: str) -> None:
    for value in (3, "x", [1], None):
        with pytest.raises(CampaignError, match=f"^setting '{table}' is .*; expected a table"):
            settings_of({table: value})


@pytest.mark.parametrize("kind", RECORDS.values(), ids=lambda kind: kind.__name__)
def test_every_setting_says_in_one_line_what_it_is_and_where_its_default_is_from(kind: Any) -> None:
    rules = field_rules(kind)
    for field in fields(kind):
        if not is_dataclass(getattr(kind(), field.name)):
            assert rules[field.name].help and field.metadata["source"], field.name


def test_a_number_of_more_digits_than_python_writes_is_refused_like_any_other() -> None:
    with pytest.raises(CampaignError, match=r"^setting stop.images is too long to print: expected a whole"):
        settings_of(tomllib.loads(f"stop.images = 0x{'f' * 6000}"))
