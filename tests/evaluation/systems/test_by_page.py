"""A system trained, used for ranking and scored on pages only, with files on the server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.core.cache import cache

from annotation import jobs
from annotation.models import Job
from evaluation.comparison.subsets import subset_named
from evaluation.models import Run, System
from evaluation.services.judgments.freezing import freeze_protocol
from evaluation.services.systems.folders import system_folder
from tests.web import world
from tests.web.staff import forms, press, words

pytestmark = pytest.mark.django_db


def test_the_settings_of_a_recipe_are_changed_by_page(corpus: str):
    cache.clear()
    ada = world.signed_in("ada", "researcher")
    address = "/evaluation/train/?recipe=BoW5"
    assert "How many captions of each training image are learned from" in words(ada.get(address))
    press(ada, address, "Train", name="other", **{"changes.text.captions": "2"})
    assert Job.objects.get().arguments["changes"] == {"text": {"captions": 2}}
    response = press(ada, address, "Train", name="wrong", **{"changes.text.captions": "-2"})
    assert response.status_code == 400 and 'id="changes.text.captions_error"' in response.content.decode()
    another = press(ada, address, "Train", name="another", recipe="TRI5")
    assert another.status_code == 400 and "are now those of this recipe" in words(another)
    assert Job.objects.count() == 1


def test_from_a_recipe_of_the_server_to_figures(
    corpus: str, features: Path, own_recipe: Path, data_dir: Path
):
    cache.clear()
    sources = data_dir / "sources"
    for kind, files in (
        ("recipes", [own_recipe]),
        ("features", [features, features.with_name("features.ids.txt")]),
    ):
        (sources / kind).mkdir(parents=True)
        for file in files:
            shutil.copy(file, sources / kind)
    ada = world.signed_in("ada", "researcher")
    press(ada, "/evaluation/train/", "Train", name="mine", recipe="own.toml", features="features.npy")
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    system = System.objects.get()
    assert (str(system.created_by), system.job) == ("ada", Job.objects.get())
    page = words(ada.get("/evaluation/systems/mine/"))
    assert "Trained by a recipe" in page and "recipe.name own" in page and "training_images 36" in page
    assert str(sources / "features" / "features.npy") in page and system.digest in page
    chosen = {"selection": ["ridge 9: chosen at the end"], "remarks": ["1 of 36 images"]}
    System.objects.update(settings={**system.settings, **chosen})
    page = words(ada.get("/evaluation/systems/mine/"))
    assert "ridge 9: chosen at the end" in page and "1 of 36 images" in page
    press(ada, "/evaluation/systems/mine/", "Rank", split="test")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    freeze_protocol(name="pool", corpus=corpus, protocol="one caption", subset=subset_named(corpus, "test"))
    response = ada.get("/evaluation/runs/mine-search/")
    assert "Queries: 12 of 12." in words(response)
    assert {measure["measure"]: measure["value"] for measure in response.context["figures"]["measures"]}[
        "R@10"
    ] > 0.8
    assert set(Run.objects.values_list("made_by__name", "split", "system_digest")) == {
        ("mine", "test", system.digest)
    }
    shutil.rmtree(system_folder("mine"))
    response = ada.get("/evaluation/systems/mine/")
    assert "Its files are missing" in words(response)
    assert not any("Rank" in form.buttons for form in forms(response))
