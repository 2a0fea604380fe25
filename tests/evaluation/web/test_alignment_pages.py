"""From pictures and captions to aligned segments on pages: features, training and layer, each as a job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache
from PIL import Image

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.models import Job, Layer
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.services.features.store import feature_set
from tests.models_core.features.image.networks import colours
from tests.web import world
from tests.web.staff import press, words

pytest.importorskip("torch", exc_type=ImportError)
pytestmark = pytest.mark.django_db
SHADES = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 50, 220), "white": (240, 240, 240)}
RECIPE = """
extends = "BRNN"
[text]
least_count = 2
[settings]
size = 16
word_size = 8
rates = [0.002]
epochs = 5
batch = 20
"""


@pytest.fixture
def halves(tmp_path: Path, settings) -> str:
    """Pictures with two halves of different colours, and captions that name them."""
    settings.DATA_DIR = tmp_path / "data"
    rng, records = np.random.default_rng(0), []
    for number in range(40):
        left, right = rng.choice(sorted(SHADES), 2, replace=False)
        picture = Image.new("RGB", (64, 32), SHADES[left])
        picture.paste(SHADES[right], (32, 0, 64, 32))
        picture.save(tmp_path / f"{number}.png")
        captions = (CaptionRecord(f"{left} beside {right}"), CaptionRecord(f"some {right} , some {left}"))
        split = "train" if number < 23 else "val" if number < 33 else "test"
        records.append(
            ImageRecord(f"{number}", f"{number}.png", captions, split, 64, 32, tmp_path / f"{number}.png")
        )
    import_records(name="halves", records=records, format="jsonl", source="memory")
    sources = tmp_path / "data" / "sources"
    for kind in ("networks", "recipes"):
        (sources / kind).mkdir(parents=True)
    colours(sources / "networks" / "colours.onnx")
    (sources / "recipes" / "small.toml").write_text(RECIPE)
    return "halves"


def test_alignments_are_made_by_page_alone(halves):
    cache.clear()
    ada = world.signed_in("ada", "researcher")
    form = {"corpus": halves, "weights": "colours.onnx", "method": "grid", "limit": "9"}
    provided = {"name": "parts", "extractor_settings": 'shorter = 8\noutput = "means"'}
    press(ada, "/evaluation/features/", "Find regions", **provided, **form)
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert feature_set(halves, "parts").rows == 400
    page_text = words(ada.get("/evaluation/features/"))
    assert "parts:1 halves regions 400 3" in page_text
    requested = {"name": "aligned", "recipe": "small.toml", "corpus": halves, "regions": "parts:1"}
    press(ada, "/evaluation/train/", "Train", **requested)
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, Job.objects.get(pk=job.pk).error
    page = "/evaluation/systems/aligned/"
    response = press(ada, page, "Write the layer", layer="decoded", split="test", beta="-2")
    assert "Expected 0.0 or more." in words(response)
    press(ada, page, "Write the layer", layer="decoded", split="test", beta="0.5")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    layer = Layer.objects.get(name="decoded")
    assert layer.covers.count() == 7 and layer.settings["beta"] == 0.5
    assert "“decoded” exists already" in words(
        press(ada, page, "Write the layer", layer="decoded", split="test")
    )
    inspected = words(ada.get(f"/corpora/{halves}/images/39/?layer=decoded"))
    assert "1 box other · " in inspected


def test_what_the_forms_of_features_do_not_offer_is_refused(halves):
    ada = world.signed_in("ada", "researcher")
    regions = {"corpus": halves, "weights": "colours.onnx", "name": "parts", "whole": "true"}
    for change, says in (
        ({"weights": "../../secret.onnx"}, "There is no file “../../secret.onnx” here"),
        ({"method": "beams"}, "Expected one of"),
        ({"method": "file"}, "This is required."),
        ({"method": "gold", "layer": "nobody"}, "There is no layer “nobody” here"),
        ({"extractor_settings": "crops"}, "This is not valid TOML"),
        ({"method": "grid", "limit": "many"}, "Expected a whole number."),
        ({"name": "a b"}, "This is no valid name"),
    ):
        answer = ada.post("/operations/extract_regions/", {**regions, **change})
        assert answer.status_code == 400 and says in words(answer), change
    assert not Job.objects.exists()
    form = {"corpus": halves, "weights": "colours.onnx", "name": "whole"}
    ada.post("/operations/extract_features/", form)
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert feature_set(halves, "whole").kind == "image"


def test_pictures_and_regions_are_described_without_a_network(halves):
    ada = world.signed_in("ada", "researcher")
    form = {"corpus": halves, "extractor": "layout", "weights": ""}
    press(ada, "/evaluation/features/", "Compute", name="whole", **form)
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    press(ada, "/evaluation/features/", "Find regions", name="parts", limit="5", **form)
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    assert feature_set(halves, "whole").dimensions == feature_set(halves, "parts").dimensions == 154
