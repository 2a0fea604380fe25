"""From pictures and captions to alignments in the inspector and to captions of pictures, on pages only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from PIL import Image
from playwright.sync_api import Page, expect

from annotation.datasets.importing import import_records
from annotation.models import Corpus
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import CaptionSet
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.browser.test_evaluation_pages import work_done
from tests.models_core.features.image.networks import colours
from tests.web import world as people

pytest.importorskip("torch", exc_type=ImportError)
pytestmark = pytest.mark.slow
COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "white": (240, 240, 240)}
SPLITS = ("train",) * 60 + ("val",) * 12 + ("test",) * 12
SMALL = """
extends = "{}"
[text]
least_count = 2
[settings]
size = 24
word_size = 12
rates = [{}]
epochs = 12
batch = 24
dropout = 0.1
"""


@pytest.fixture
def ada(transactional_db: None, tmp_path: Path, settings: Any, open_page: Open) -> Page:
    """A researcher at a corpus of pictures with one colour per half, with recipes and a network."""
    settings.DATA_DIR = tmp_path / "data"
    cache.clear()
    rng, drawn = np.random.default_rng(0), tmp_path / "drawn"
    drawn.mkdir()
    records = []
    for number, split in enumerate(SPLITS):
        left, right = rng.choice(list(COLOURS), 2, replace=False)
        pixels = np.zeros((48, 64, 3), np.uint8)
        pixels[:, :32], pixels[:, 32:] = COLOURS[left], COLOURS[right]
        Image.fromarray(pixels).save(drawn / f"{number}.png")
        captions = tuple(
            CaptionRecord(text) for text in (f"A {left} half beside a {right} half", f"{right} and {left}")
        )
        picture = drawn / f"{number}.png"
        records.append(ImageRecord(f"{number}", f"{number}.png", captions, split, 64, 48, picture))
    import_records(name="halves", records=records, format="jsonl", source="memory")
    sources = settings.DATA_DIR / "sources"
    for folder in ("recipes", "networks"):
        (sources / folder).mkdir(parents=True)
    (sources / "recipes" / "aligns.toml").write_text(SMALL.format("BRNN", 0.002))
    (sources / "recipes" / "writes.toml").write_text(SMALL.format("mRNN", 0.005))
    colours(sources / "networks" / "colours.onnx")
    people.account("ada", "researcher")
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    return page


def described(page: Page, name: str, method: str) -> None:
    """Make features of whole pictures, or of regions, with the form of the page *Features*."""
    page.goto("/evaluation/features/")
    form = page.locator("section", has=page.get_by_role("heading", name="Compute features by a network"))
    form.get_by_label("Name", exact=True).fill(name)
    form.get_by_label("Whole pictures, or regions").select_option(method)
    form.get_by_label("Settings that differ from the usual").fill("shorter=8 output=means crops=0")
    form.get_by_role("button", name="Compute").click()
    work_done()


def trained(page: Page, name: str, recipe: str, label: str, features: str) -> None:
    """Train a system with the form of the page *Train a system*."""
    page.goto("/evaluation/train/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Recipe").select_option(recipe)
    page.get_by_label(label, exact=True).select_option(features)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("Training the system.")).to_be_visible()
    work_done()
    page.goto(f"/evaluation/systems/{name}/")
    expect(page.get_by_role("heading", name="Learning curve")).to_be_visible()


def test_alignments_are_seen_in_the_inspector_by_page_alone(ada: Page) -> None:
    described(ada, "parts", "grid")
    trained(ada, "aligned", "aligns.toml", "Regions of images", "parts:1")
    for_everybody(ada)
    ada.get_by_label("Name of the layer").fill("decoded")
    ada.get_by_role("button", name="Write the layer").click()
    work_done()
    ada.goto("/corpora/halves/")
    expect(ada.get_by_role("main")).to_contain_text("decoded")
    key = Corpus.objects.get().images.filter(split="test")[0].key
    ada.goto(f"/corpora/halves/images/{key}/?layer=decoded")
    expect(ada.locator(".box .outline").first).to_be_attached()
    expect(ada.get_by_role("main")).to_contain_text("half")


def test_captions_are_written_and_looked_at_by_page_alone(ada: Page) -> None:
    described(ada, "whole", "")
    trained(ada, "writes", "writes.toml", "Vectors of images, in place of visual words", "whole:1")
    expect(ada.get_by_text("Held-out perplexity:")).to_be_visible()
    written = ada.locator("section", has=ada.get_by_role("heading", name="Captions it wrote"))
    written.get_by_label("Split, or a fold such as 1/5").fill("test")
    written.get_by_role("button", name="Write captions").click()
    expect(ada.get_by_text("Writing captions.")).to_be_visible()
    work_done()
    ada.goto("/evaluation/captions/writes/")
    caption_set = CaptionSet.objects.get().captions.order_by("position")
    expect(ada.locator(".wrote")).to_have_text(list(caption_set.values_list("text", flat=True)))
    right = [set(item.text.split()) & set(COLOURS) for item in caption_set]
    listed = [set(item.image.captions.get(number=1).text.split()) & set(COLOURS) for item in caption_set]
    assert sum(entry == there for entry, there in zip(right, listed, strict=True)) >= 9, "of 12 pictures"
    for_everybody(ada)
