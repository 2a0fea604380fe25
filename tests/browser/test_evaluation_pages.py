"""The pages of evaluation in a browser: for everybody, at any width, in both schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from playwright.sync_api import expect

from annotation import jobs
from annotation.models import Corpus
from evaluation.figures.base import Plot
from evaluation.figures.files import as_svg
from evaluation.services import reports
from evaluation.services.batches import launch
from evaluation.services.bringing import bring
from evaluation.services.judgments import import_judgments
from evaluation.services.planning import plan
from evaluation.services.qrels import freeze_qrels
from evaluation.services.rankings import rank
from evaluation.services.report_wanted import Wanted
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.web import world as people

IMAGES = 6
#: Every page, and every state of one that looks different. QUERY is an image that asks.
PAGES = (
    "/evaluation/",
    "/evaluation/systems/clip/",
    "/evaluation/train/",
    "/evaluation/bring/",
    "/evaluation/runs/?sort=queries&down=1",
    "/evaluation/runs/clip-annotation/",
    "/evaluation/compare/",
    "/evaluation/compare/?run=clip-annotation&run=noise-annotation&run=clip-search&run=noise-search",
    "/evaluation/runs/clip-annotation/queries/?with=noise-annotation&order=difference",
    "/evaluation/runs/clip-annotation/queries/QUERY/?with=noise-annotation",
    "/evaluation/runs/clip-search/queries/CAPTION/?with=noise-search",
    "/evaluation/batches/",
    "/evaluation/build/?chosen=1&corpus=CORPUS&run=clip-all-search&threshold=&order=depth",
    "/evaluation/batches/first/",
    "/evaluation/reports/",
    "/evaluation/report/?qrels=crowd:1",
    "/evaluation/reports/spring/",
)
#: Figures drawn once for all tests: the same report is the same bytes.
DRAWN: dict[str, str] = {}


def drawn(plot: Plot) -> str:
    if plot.key not in DRAWN:
        DRAWN[plot.key] = as_svg(plot)
    return DRAWN[plot.key]


@pytest.fixture
def judged(transactional_db: None, tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Six pictures, two systems that ranked them, a crowd's judgments, and a training that waits."""
    settings.DATA_DIR = tmp_path / "data"
    cache.clear()  # figures kept from another test would answer for this one's rows
    corpus = people.corpus(tmp_path / "drawn", IMAGES)
    images = [f"scene-{number}.png" for number in range(IMAGES)]
    captions = [f"{image}#{number}" for image in images for number in range(3)]
    dice = np.random.default_rng(0)
    for name, noise in (("clip", 0.1), ("noise", 1.5)):
        vectors = np.eye(IMAGES) + noise * dice.standard_normal((IMAGES, IMAGES))
        held: dict[str, Any] = {"images": np.eye(IMAGES), "captions": np.repeat(vectors, 3, axis=0)}
        file = tmp_path / f"{name}.npz"
        np.savez(file, image_ids=np.array(images), caption_ids=np.array(captions), **held)
        bring(name=name, corpus=corpus.name, path=file)
        rank(system=name, split="test")
        (tmp_path / f"{name}.txt").write_text("".join(f"{image}\n" for image in images))
        rank(system=name, split=str(tmp_path / f"{name}.txt"), run=f"{name}-all")
    crowd = tmp_path / "crowd.txt"
    crowd.write_text(
        "".join(
            f"{image}\t{own}#2\t{yes / 3}\t{yes}\t{3 - yes}\n"
            for place, image in enumerate(images)
            for own, yes in ((image, 3), (images[place - 1], 2), (images[place - 2], 0))
        )
    )
    import_judgments(corpus=corpus.name, path=crowd, format="flickr8k-crowd")
    freeze_qrels(name="crowd", corpus=corpus.name, judgments="flickr8k-crowd")
    monkeypatch.setattr(reports, "as_svg", drawn)
    monkeypatch.setattr(reports, "as_pdf", lambda plot: b"%PDF-")
    chosen = [
        f"{name}-all-{direction}" for name in ("clip", "noise") for direction in ("annotation", "search")
    ]
    reports.build(Wanted("spring", "crowd", chosen, rounds=50, resamples=20))
    launch(plan(corpus=corpus.name, runs=chosen, depth=2, threshold=None, reuse=[]), "first")
    jobs.enqueue(kind="train_system", arguments={"name": "tri", "recipe": "TRI5", "corpus": corpus.name})
    people.account("ada", "researcher")
    return corpus


def addresses(corpus: Corpus) -> list[str]:
    """The pages, with the query that they ask about."""
    image = corpus.images.get(filename="scene-2.png")
    ids = {"QUERY": str(image.pk), "CAPTION": str(image.captions.get(number=2).pk), "CORPUS": corpus.name}
    found = []
    for page in PAGES:
        for word, key in ids.items():
            page = page.replace(word, key)
        found.append(page)
    return found


def test_every_page_is_for_everybody(judged: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    for address in addresses(judged):
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for_everybody(page, colours=False)


def test_a_system_is_looked_into_from_the_list_to_a_query(judged: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    page.get_by_role("link", name="clip", exact=True).click()
    page.get_by_role("link", name="clip-all-annotation").click()
    page.get_by_role("link", name="Look at its queries").click()
    page.get_by_label("Beside").select_option("noise-all-annotation")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("In the order of").select_option("where the two differ most")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("row").nth(1).get_by_role("link").click()
    expect(page.get_by_alt_text("The picture that asks")).to_have_js_property("naturalWidth", 480)
    expect(page.get_by_role("heading", level=2)).to_have_count(2)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("2 of 6")).to_be_visible()
