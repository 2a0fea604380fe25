"""A method from a site's own file: it trains as a job, ranks, is stored, listed and has pages, without
changes in other files. `manage.py check` names missing declarations."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache

from annotation import jobs
from annotation.models import Job
from evaluation.checks import lacking_methods
from evaluation.models import System
from evaluation.services.systems.training import system_named
from models_core.estimators.base import METHODS
from models_core.estimators.discovery import load_methods
from tests.evaluation.database.conftest import output_of
from tests.plug_ins import HERE
from tests.web import world
from tests.web.staff import press, words

NAME = "random-projections"


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the method available, as in a server whose METHOD_PACKAGES names its package; undo this
    afterwards."""
    monkeypatch.delitem(sys.modules, f"{HERE}.random_projections.method", raising=False)
    load_methods(HERE)
    assert NAME in METHODS
    yield
    del METHODS[NAME]


@pytest.mark.django_db
def test_one_file_is_a_method_with_job_runs_and_pages(
    plugged: None, corpus: str, features: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    monkeypatch.setattr("annotation.jobs.progress._PAUSE", 0)
    (data_dir / "sources" / "features").mkdir(parents=True)
    for file in (features, features.with_name("features.ids.txt")):
        shutil.copy(file, data_dir / "sources" / "features")
    ada = world.signed_in("ada", "researcher")
    text = ada.get("/evaluation/train/").content.decode()
    assert '<optgroup label="made up">' in text and '<option value="Random">' in text
    press(ada, "/evaluation/train/", "Train", name="toy", recipe="Random", features="features.npy")
    shares: dict[str, list[float]] = {}

    def look() -> bool:
        shares.setdefault(Job.objects.get().phase, []).append(Job.objects.get().share)
        return False

    assert jobs.run_queued_job(Job.objects.get().pk, stopping=look) == Job.DONE
    learning = shares["adding up covariances"]
    assert (learning[0], learning[-1]) == pytest.approx((0.2, 0.95))
    page = words(ada.get("/evaluation/systems/toy/"))
    assert "recipe.method random-projections" in page and "recipe.settings.directions 64" in page
    press(ada, "/evaluation/systems/toy/", "Rank", split="test")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    output_of("freeze_qrels", "pool", "--corpus", corpus, "--protocol", "one caption", "--split", "test")
    scored = json.loads(output_of("score_run", "toy-search", "--qrels", "pool", "--json"))
    assert {measure["measure"]: measure["value"] for measure in scored["measures"]}["R@5"] > 0.7
    assert "random projections" in output_of("list_recipes")
    assert System.objects.get().recipe == "Random" and "toy" in output_of("list_systems")
    assert type(system_named("toy").model).__module__ == f"{HERE}.random_projections.method"


def test_the_checks_name_what_a_method_does_not_say(plugged: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(lacking_methods()) == []
    whole = METHODS[NAME]

    @dataclasses.dataclass(frozen=True)
    class Unexplained:
        width: int = 3

    for change, expected in (
        ({"title": ""}, "'random-projections' has no title"),
        ({"source": " "}, "'random-projections' has no source"),
        ({"settings": Unexplained, "recipes": {}}, "does not explain its setting width"),
        ({"takes": {**whole.takes, "images": "words"}, "recipes": {}}, "takes images as 'words'"),
        ({"phases": (("resting", 0.0),)}, "gives its phase 'resting' the share 0.0"),
        ({"recipes": {"BoW5": {}}}, "recipe 'BoW5' of method random-projections has the name of another"),
        ({"recipes": {"R": {"settings": {"directions": 0}}}}, "settings.directions is 0; expected"),
    ):
        monkeypatch.setitem(METHODS, NAME, dataclasses.replace(whole, **change))
        (error,) = lacking_methods()
        assert expected in error.msg
        if not error.msg.endswith("recipe"):
            assert "method" in str(error.hint)
