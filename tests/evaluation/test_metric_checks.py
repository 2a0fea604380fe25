"""`manage.py check` names each missing part of a measure, and how to add it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import Error

from evaluation.checks import lacking_measures
from phrasebox.metrics import METRICS
from phrasebox.metrics.examples import example_problems
from tests.plug_ins import METRIC_FOLDERS, copied

KEY = "weighted_precision"
NAME = "weighted precision@k"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A copy of the measure's folder, not loaded yet."""
    with copied(METRIC_FOLDERS, KEY, tmp_path) as folder:
        yield folder


def checked() -> list[Error]:
    """Return the errors of the check, with measures loaded as at Django's start."""
    METRIC_FOLDERS.load()
    return list(lacking_measures())


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_our_own_measures_lack_nothing() -> None:
    assert list(lacking_measures()) == []


def test_a_whole_measure_of_another_package_lacks_nothing(folder: Path) -> None:
    assert checked() == [] and NAME in METRICS.names()


@pytest.mark.parametrize(
    ("part", "id"), [("metric.py", "E001"), ("README.md", "E003"), ("examples.json", "E004")]
)
def test_a_missing_part_is_the_one_error_and_says_what_to_write(folder: Path, part: str, id: str) -> None:
    (folder / part).unlink()
    (error,) = checked()
    assert error.id == f"evaluation.{id}"
    assert f"'{KEY}'" in error.msg and str(folder / part) in str(error.hint)


def test_a_measure_is_registered_under_the_name_of_its_folder(folder: Path) -> None:
    change(folder / "metric.py", '"weighted precision@k"', '"heavy precision@k"')
    (error,) = [error for error in checked() if error.id == "evaluation.E002"]
    assert str(folder / "metric.py") in str(error.hint)


@pytest.mark.parametrize(
    ("old", "new", "id", "message"),
    [
        ('"share of the weight of the top k places that holds relevant items"', '""', "E006", "has no title"),
        ('"made up, for the tests",', '"",', "E006", "has no source"),
        ('"ranking",', '"rankings",', "E007", "of the family 'rankings'"),
        ('aliases=("WP",),', 'aliases=("WP",), unit="score",', "E008", "has no range"),
        ('aliases=("WP",),', 'aliases=("WP",), bounds=(1.0, 0.0),', "E008", "has no range"),
        ('aliases=("WP",),', 'aliases=("WP",), unit="rank",', "E009", "calls higher ones better"),
        ('cut_off="required"', 'cut_off="none"', "E010", "its cut-off is 'none'"),
        (
            'aliases=("WP",),',
            'aliases=("WP",), unit="points", bounds=(0, 2),',
            "E011",
            "no table of rankings",
        ),
        ('aliases=("WP",),', 'aliases=("WP",), bounds=(0, 2), binary=True,', "E011", "no 0 or 1"),
        ("(ranked: Ranked, k: int)", "(ranked: Ranked)", "E012", "computed by weighted_precision"),
    ],
)
def test_what_a_measure_does_not_say_of_itself_is_named(
    folder: Path, old: str, new: str, id: str, message: str
) -> None:
    change(folder / "metric.py", old, new)
    (error,) = [error for error in checked() if error.id == f"evaluation.{id}"]
    assert message in error.msg and f"'{NAME}'" in error.msg and str(folder / "metric.py") in str(error.hint)


def test_a_measure_without_a_definition_is_named(folder: Path) -> None:
    text = (folder / "metric.py").read_text()
    _, _, body = text.partition('tests.\n"""\n')
    head, doc, rest = body.partition('    """A share of each query, shape (queries,)."""\n')
    assert body and doc
    (folder / "metric.py").write_text(head + rest)
    (error,) = checked()
    assert error.id == "evaluation.E006" and "has no definition" in error.msg


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ("[{", "is no JSON"),
        ("{}", "holds no list of examples"),
        ("[]", "holds no list of examples"),
        (
            [{"queries": [{"grades": [1]}], "values": [1]}],
            r"example 1: cannot be computed (KeyError: 'measure')",
        ),
        ([{"measure": "WP@1", "queries": [{"grades": [1]}], "values": [0.5]}], "[1.0], and not [0.5]"),
        ([{"measure": "WP@1", "queries": [{"grades": [1]}], "values": [1, 1]}], "[1.0], and not [1, 1]"),
        (
            [{"measure": "WP@1", "queries": [{"grades": [1]}, {"grades": []}], "values": [1]}],
            "several lengths",
        ),
        ([{"measure": "WP", "queries": [{"grades": [1]}], "values": [1]}], "has no cut-off"),
        ([{"measure": "P@1", "queries": [{"grades": [1]}], "values": [1]}], "is about P@1"),
    ],
)
def test_an_example_that_comes_out_otherwise_is_named(folder: Path, examples: Any, message: str) -> None:
    text = examples if isinstance(examples, str) else json.dumps(examples)
    (folder / "examples.json").write_text(text)
    (error,) = checked()
    assert error.id == "evaluation.E005" and message in error.msg
    assert str(folder / "examples.json") in str(error.hint)


def test_a_value_outside_the_range_is_named(folder: Path) -> None:
    change(folder / "metric.py", 'aliases=("WP",),', 'aliases=("WP",), bounds=(0.0, 0.5),')
    invalid = [error.msg for error in checked()]
    assert len(invalid) == 2 and all("outside its range from 0.0 to 0.5" in message for message in invalid)


def test_measures_of_captions_have_examples_too() -> None:
    rouge = METRICS.find("ROUGE-L").measure
    example = {
        "measure": "ROUGE-L",
        "captions": ["A dog runs."],
        "references": [["A dog runs."]],
        "values": [1],
    }
    assert example_problems(json.dumps([example]), rouge) == []
    assert "and not [0]" in example_problems(json.dumps([{**example, "values": [0]}]), rouge)[0]
    upper = METRICS.find("upper bound").measure
    assert example_problems(json.dumps([example]), upper) == [
        "example 1: measures of localization have no examples; expected one of ranking and captioning"
    ]


def test_the_range_follows_from_the_unit_where_it_is_not_said() -> None:
    assert METRICS.find("P@5").measure.range == (0.0, 1.0)
    assert METRICS.find("median rank").measure.range == (1.0, float("inf"))
    assert METRICS.find("CIDEr-D").measure.range == (0.0, 10.0)
