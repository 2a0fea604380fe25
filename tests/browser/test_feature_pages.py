"""Features in a browser: a file becomes a set; systems are trained on it, rank, and are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.browser.test_evaluation_pages import work_done
from tests.evaluation.systems.conftest import IMAGES, SPLITS
from tests.models_core.systems.worlds import examples, vectors
from tests.web import world as people

RECIPE = 'extends = "BoW5"\nname = "bow5-vectors"\n[image]\nkernel = "linear"\npower = 1\n'


@pytest.fixture
def ada(transactional_db: None, tmp_path: Path, settings, open_page: Open) -> Page:
    """A researcher at a corpus without pictures, with her own recipe on the server."""
    settings.DATA_DIR = tmp_path / "data"
    cache.clear()
    records = [
        ImageRecord(
            id=example.name.removesuffix(".png"),
            filename=example.name,
            captions=tuple(CaptionRecord(caption) for caption in example.captions),
            split=split,
        )
        for example, split in zip(examples(IMAGES), SPLITS, strict=True)
    ]
    import_records(name="world", records=records, format="jsonl", source="memory")
    (tmp_path / "data" / "sources" / "recipes").mkdir(parents=True)
    (tmp_path / "data" / "sources" / "recipes" / "bow5.toml").write_text(RECIPE)
    people.account("ada", "researcher")
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    return page


@pytest.mark.slow  # the default run has the same forms by requests, in `evaluation/web`
def test_features_are_imported_learned_from_and_compared_with_bow5_by_page_alone(ada: Page, tmp_path: Path):
    ada.get_by_role("link", name="Features", exact=True).click()
    expect(ada.get_by_text("There are no feature sets yet.")).to_be_visible()
    for_everybody(ada)
    file = tmp_path / "cnn.npz"
    ids = np.array([*(example.name for example in examples(IMAGES))])
    np.savez(file, vectors=vectors(IMAGES).astype(np.float32), ids=ids)
    form = ada.locator('form[action="/operations/import_features/"]')
    form.get_by_label("Name", exact=True).fill("cnn")
    form.get_by_label("File", exact=True).set_input_files(file)
    form.get_by_role("button", name="Import", exact=True).click()
    expect(ada.get_by_text("Importing the features.")).to_be_visible()
    work_done()
    for name, recipe in (("ncca", "nCCA"), ("bow5", "bow5.toml")):
        ada.goto("/evaluation/train/")
        ada.get_by_label("Name", exact=True).fill(name)
        ada.get_by_label("Recipe").select_option(recipe)
        ada.get_by_label("Vectors of images", exact=True).select_option("cnn:1")
        ada.get_by_role("button", name="Train", exact=True).click()
        expect(ada.get_by_text("Training the system.")).to_be_visible()
        work_done()
        ada.goto(f"/evaluation/systems/{name}/")
        ada.locator('form[action="/operations/rank/"]').get_by_label("Split", exact=True).fill("test")
        ada.get_by_role("button", name="Rank", exact=True).click()
        expect(ada.get_by_text("Ranking the images and captions.")).to_be_visible()
    work_done()
    ada.get_by_role("link", name="Features", exact=True).click()
    expect(ada.get_by_role("row", name="cnn:1")).to_contain_text("bow5, ncca")
    for_everybody(ada)
    ada.goto("/evaluation/freeze/?corpus=world")
    way = ada.get_by_role("form", name="Originals")
    way.get_by_label("Name", exact=True).fill("pool")
    way.get_by_label("Images", exact=True).fill("test")
    way.get_by_role("button", name="Freeze").click()
    expect(ada.get_by_text("Freezing the qrels.")).to_be_visible()
    work_done()
    ada.goto("/evaluation/compare/?run=ncca-search&run=bow5-search&qrels=pool")
    expect(ada.get_by_text("Queries: 12 of 12.")).to_be_visible()
    for name in ("ncca", "bow5"):
        expect(ada.get_by_role("row", name=name).first).to_contain_text("100")
