"""A measure from one folder under tests: in commands, on pages, in comparisons and reports.

`tests/plugged_in/weighted_precision` contains all of it, as described in CONTRIBUTING ("Add a metric").
`tests/evaluation/test_metric_checks.py` tests that `manage.py check` names each missing part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.core.management import CommandError
from django.urls import reverse

from evaluation.checks import lacking_entries
from evaluation.services.reports import building
from phrasebox.metrics import METRICS
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.reports.conftest import report_json
from tests.plug_ins import METRIC_FOLDERS, plugged
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db

NAME = "weighted precision@2"
OPTIONS = ["--qrels", "q", "--measures", "wp@2,R@1"]


@pytest.fixture(autouse=True)
def plugged_in() -> Iterator[None]:
    cache.clear()
    with plugged(METRIC_FOLDERS):
        yield
    cache.clear()


def test_a_measure_of_one_folder_lacks_nothing() -> None:
    assert NAME.replace("@2", "@k") in METRICS.names("ranking") and list(lacking_entries()) == []


def test_it_scores_a_run_by_command(qrels: str, runs: list[str]) -> None:
    report = json.loads(output_of("score_run", "good-a", *OPTIONS, "--json"))
    value = next(measure["value"] for measure in report["measures"] if measure["measure"] == NAME)
    # a's own caption is first, and c's at position 2.5, behind the cut; each weight is 1 / (1 + 1/2).
    assert value == pytest.approx(2 / 3)
    assert NAME in output_of("score_run", "good-a", *OPTIONS)


def test_it_compares_systems_by_command_and_by_page(qrels: str, runs: list[str]) -> None:
    report = json.loads(output_of("compare_runs", "good-a", "bad-a", *OPTIONS, "--rounds", 50, "--json"))
    assert report["tests"][0]["measure"] == NAME and report["tests"][0]["test"] == "randomisation of means"
    ada = people.signed_in("ada", "researcher")
    page = ada.get(
        f"{reverse('evaluation:compare')}?run=good-a&run=bad-a&qrels=q&measures=weighted+precision@2"
    )
    assert "weighted precision@k" in page.context["known"] and NAME in words(page)


@pytest.mark.usefixtures("undrawn")
def test_it_has_its_column_in_a_report(qrels: str, runs: list[str]) -> None:
    requested = ("--qrels", "q", "--measures", "wp@2", "R@1", "--rounds", 50, "--resamples", 20)
    output_of("build_report", "r", "--runs", *runs, *requested)
    assert report_json()["inputs"]["settings"]["measures"] == [NAME, "R@1"]
    page = (building.report_folder("r") / "report.html").read_text()
    assert NAME in page and "66.7" in page
    form = people.signed_in("ada", "researcher").get(reverse("evaluation:new_report") + "?qrels=q")
    assert "weighted precision@k" in form.context["all_measures"]


def test_without_its_package_nobody_knows_it(qrels: str, runs: list[str]) -> None:
    with plugged(METRIC_FOLDERS):
        METRICS._by_name.pop("weighted precision@k")
        for key in ("weightedprecision", "wp"):
            METRICS._by_key.pop(key)
        with pytest.raises(CommandError, match="unknown measure 'wp@2'"):
            output_of("score_run", "good-a", *OPTIONS)
