"""The pages that delete a corpus or withdraw a picture, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from annotation.models import Corpus, Image
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.web import world


@pytest.fixture
def scenes(transactional_db: None, tmp_path: Path, settings) -> Corpus:
    """Three images in a separate DATA_DIR: withdrawals there are permanent."""
    settings.DATA_DIR = tmp_path / "data"
    world.account("ada", "researcher")
    return world.corpus(tmp_path / "drawn")


def test_a_picture_is_withdrawn_and_then_the_corpus_deleted(scenes: Corpus, open_page: Open):
    page = open_page()
    key = scenes.images.order_by("position")[0].key
    sign_in(page, "ada", then=f"/corpora/scenes/images/{key}/")
    page.get_by_role("link", name="Withdraw this picture").click()
    expect(page.get_by_role("heading", name="Withdraw a picture")).to_be_visible()
    for_everybody(page)
    page.get_by_label("I understand that this cannot be undone").check()
    page.get_by_role("button", name="Withdraw this picture permanently").click()
    expect(page.get_by_text("Picture withdrawn from scenes")).to_be_visible()
    assert Image.objects.get(key=key).picture == ""
    for_everybody(page)
    page.get_by_label("I understand that this cannot be undone").check()
    page.get_by_role("button", name="Delete this corpus").click()
    expect(page.get_by_text("There is no corpus here yet.")).to_be_visible()
    assert not Corpus.objects.filter(published=True).exists()
