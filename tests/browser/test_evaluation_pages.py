"""The pages of evaluation in a browser: accessible, at any width, in both schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from playwright.sync_api import expect

from annotation import jobs
from annotation.common.operations import OperationContext
from annotation.datasets.layer_rows import write_layer
from annotation.models import Corpus, Job
from annotation.protocol.terms import Box, Chain, LayerObject, LayerRecord, Mention
from evaluation.comparison.comparisons import score_run
from evaluation.comparison.subsets import subset_named
from evaluation.figures.base import Plot
from evaluation.figures.files import as_svg
from evaluation.models import CaptionSet, LocalizationSet, System, TaggedImage, TagSet, WrittenCaption
from evaluation.selectors import run_named, snapshot_named
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.localizations.scores import LocalizationScoring, localization_report
from evaluation.services.localizations.sets import LocalizedMention, write_rows
from evaluation.services.localizations.stored_scores import store_localization_scores
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportRequest
from evaluation.services.runs.ranking import RankRunsRequest, rank_system
from evaluation.services.systems.upload import AddSystemRequest, add_system
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.sizes import THOROUGH
from tests.web import world as people

IMAGES = 6
#: Every page, and every state of one that looks different. QUERY is an image that is a query.
PAGES = (
    "/evaluation/",
    "/evaluation/systems/clip/",
    "/evaluation/captions/told/",
    "/evaluation/localizations/found/?show=wrong",
    "/evaluation/tags/found/",
    "/evaluation/train/",
    "/evaluation/add-system/",
    "/evaluation/features/",
    "/evaluation/features/collections/",
    "/evaluation/runs/?sort=queries&down=1",
    "/evaluation/runs/clip-annotation/",
    "/evaluation/runs/clip-annotation/?split=1/3",
    "/evaluation/qrels/",
    "/evaluation/qrels/crowd/",
    "/evaluation/freeze/?corpus=CORPUS",
    "/evaluation/import/",
    "/evaluation/compare/",
    "/evaluation/compare/?run=clip-annotation&run=noise-annotation&run=clip-search&run=noise-search",
    "/evaluation/runs/clip-annotation/queries/?with=noise-annotation&order=difference",
    "/evaluation/runs/clip-annotation/queries/QUERY/?with=noise-annotation",
    "/evaluation/runs/clip-search/queries/CAPTION/?with=noise-search",
    "/evaluation/batches/",
    "/evaluation/new-batch/?chosen=1&corpus=CORPUS&run=clip-all-search&threshold=&order=depth",
    "/evaluation/batches/first/",
    "/evaluation/reports/",
    "/evaluation/new-report/?qrels=crowd:1",
    "/evaluation/reports/spring/",
)
#: Figures drawn once for all tests: the same report has the same bytes.
DRAWN: dict[str, str] = {}


def drawn(plot: Plot) -> str:
    if plot.key not in DRAWN:
        DRAWN[plot.key] = as_svg(plot)
    return DRAWN[plot.key]


def embeddings(folder: Path, name: str, noise: float, rng: np.random.Generator) -> Path:
    """Write a file of vectors, in which the distance of captions from their images depends on `noise`."""
    images = [f"scene-{number}.png" for number in range(IMAGES)]
    vectors = np.eye(IMAGES) + noise * rng.standard_normal((IMAGES, IMAGES))
    held: dict[str, Any] = {
        "images": np.eye(IMAGES),
        "captions": np.repeat(vectors, 3, axis=0),
        "image_ids": np.array(images),
        "caption_ids": np.array([f"{image}#{number}" for image in images for number in range(3)]),
    }
    np.savez(folder / f"{name}.npz", **held)
    return folder / f"{name}.npz"


@pytest.fixture
def judged(transactional_db: None, tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Six pictures, two systems that ranked them, a crowd's judgments, and a queued training."""
    settings.DATA_DIR = tmp_path / "data"
    cache.clear()  # figures stored by another test would be used for this one's rows
    corpus = people.corpus(tmp_path / "drawn", IMAGES)
    images = [f"scene-{number}.png" for number in range(IMAGES)]
    rng = np.random.default_rng(0)
    for name, noise in (("clip", 0.1), ("noise", 1.5)):
        file = embeddings(tmp_path, name, noise, rng)
        by_command = OperationContext(by_path=True)
        add_system(AddSystemRequest(name=name, corpus=corpus.name, file=file), by_command)
        rank_system(RankRunsRequest(system=name, split="test"), by_command)
        (tmp_path / f"{name}.txt").write_text("".join(f"{image}\n" for image in images))
        listed = RankRunsRequest(system=name, split=str(tmp_path / f"{name}.txt"), name=f"{name}-all")
        rank_system(listed, by_command)
    crowd = tmp_path / "crowd.txt"
    crowd.write_text(
        "".join(
            f"{image}\t{ours}#2\t{yes / 3}\t{yes}\t{3 - yes}\n"
            for index, image in enumerate(images)
            for ours, yes in ((image, 3), (images[index - 1], 2), (images[index - 2], 0))
        )
    )
    import_judgments(
        JudgmentsImport(corpus=corpus.name, file=crowd, format="flickr8k-crowd"), OperationContext()
    )
    freeze_qrels(name="crowd", corpus=corpus.name, judgments="flickr8k-crowd")
    monkeypatch.setattr(building, "as_svg", drawn)
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF-")
    chosen = [
        f"{name}-all-{direction}" for name in ("clip", "noise") for direction in ("annotation", "search")
    ]
    building.build_report(
        ReportRequest(name="spring", qrels="crowd", runs=chosen, rounds=50, resamples=20), OperationContext()
    )
    launch(plan(BatchRequest(corpus=corpus.name, runs=chosen, depth=2, threshold=0, reuse=[])), "first")
    caption_set = CaptionSet.objects.create(
        corpus=corpus, name="told", made_by=System.objects.get(name="clip"), regions="", published=True
    )
    WrittenCaption.objects.bulk_create(
        WrittenCaption(caption_set=caption_set, position=n, image=image, text=f"a scene of number {n}")
        for n, image in enumerate(corpus.images.order_by("position"))
    )
    _localized(corpus)
    _tagged(corpus)
    jobs.enqueue(kind="train_system", arguments={"name": "tri", "recipe": "TRI5", "corpus": corpus.name})
    people.account("ada", "researcher")
    return corpus


def _tagged(corpus: Corpus) -> None:
    """Add tags found by the system "clip", with figures."""
    figures = {"value": 0.5, "low": 0.25, "high": 0.75}
    tag_set = TagSet.objects.create(
        corpus=corpus,
        name="found",
        made_by=System.objects.get(name="clip"),
        settings={"unit": "nouns", "alpha": 0.75, "score": "own"},
        vocabulary=["scene", "boat"],
        figures={
            "images": 6,
            "unit": "nouns",
            "alpha": 0.75,
            "unknown": 1,
            "subset": "",
            "measures": [
                {"measure": "p@1", "distractors": 5, **figures, "chance": 0.2},
                {"measure": "MAP", "distractors": None, **figures},
            ],
        },
        published=True,
    )
    TaggedImage.objects.bulk_create(
        TaggedImage(tag_set=tag_set, position=n, image=image, tags=[["scene", 0.5], ["boat", 0.25]])
        for n, image in enumerate(corpus.images.order_by("position"))
    )


def _localized(corpus: Corpus) -> None:
    """Add a layer with boxes, and a system's localizations of its mentions, shifted in every second image."""
    records = []
    for image in corpus.images.order_by("position"):
        words = tuple(image.captions.get(number=0).text.split())
        chain = Chain("1", (Mention(0, 0, 2, words[:2], ("people",)),))
        records.append((image.key, LayerRecord((chain,), (LayerObject(("1",), Box(10, 10, 60, 60)),))))
    write_layer(corpus=corpus, name="gold", source="import", records=records)
    localization_set = LocalizationSet.objects.create(
        corpus=corpus, name="found", made_by=System.objects.get(name="clip"), layer="gold"
    )
    mentions = []
    for number, image in enumerate(corpus.images.order_by("position")):
        left = 10 + 40 * (number % 2)
        region = np.array([[left, 10, left + 50, 60, 1]], np.float32)
        mentions.append(LocalizedMention(image.pk, 0, 0, 2, "words", region))
    write_rows(localization_set, mentions, [])
    localization_set.published = True
    localization_set.save()
    store_localization_scores(
        "found", localization_report(LocalizationScoring(localization_set="found", layer="gold"))
    )


def addresses(corpus: Corpus) -> list[str]:
    """Return the pages, with their query."""
    image = corpus.images.get(filename="scene-2.png")
    ids = {"QUERY": str(image.pk), "CAPTION": str(image.captions.get(number=2).pk), "CORPUS": corpus.name}
    names = []
    for page in PAGES:
        for word, key in ids.items():
            page = page.replace(word, key)
        names.append(page)
    return names


def test_every_page_is_for_everybody(judged: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    for address in addresses(judged)[:: 1 if THOROUGH else 3]:
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for_everybody(page)


def test_a_system_is_looked_into_from_the_list_to_a_query(judged: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    page.get_by_role("link", name="clip", exact=True).click()
    page.get_by_role("link", name="clip-all-annotation").click()
    page.get_by_role("link", name="View the queries").click()
    page.get_by_label("Compare with").select_option("noise-all-annotation")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("Order").select_option("largest difference first")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("row").nth(1).get_by_role("link").click()
    expect(page.get_by_alt_text("The image of this query")).to_have_js_property("naturalWidth", 480)
    expect(page.get_by_role("heading", level=2)).to_have_count(2)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("2 of 6")).to_be_visible()


def work_done() -> None:
    """Run the queued jobs, as a worker would."""
    for job in Job.objects.filter(state=Job.QUEUED).order_by("pk"):
        assert jobs.run_queued_job(job.pk) == Job.DONE, Job.objects.get(pk=job.pk).error


@pytest.mark.slow  # the default run has the same forms by requests, in `evaluation/web`
def test_two_files_of_embeddings_become_a_table_for_a_paper_by_page_alone(
    transactional_db: None, tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch, open_page: Open
):
    settings.DATA_DIR = tmp_path / "data"
    cache.clear()
    monkeypatch.setattr(building, "as_svg", drawn)
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF-")
    corpus = people.corpus(tmp_path / "drawn", IMAGES)
    people.account("ada", "researcher")
    page = open_page()
    sign_in(page, "ada", then="/evaluation/")
    rng = np.random.default_rng(0)
    for name, noise in (("near", 0.1), ("far", 2.0)):
        page.goto("/evaluation/")
        page.get_by_role("link", name="Add a system").click()
        way = page.get_by_role("form", name="Add a system")
        way.get_by_label("Name", exact=True).fill(name)
        way.get_by_label("File", exact=True).set_input_files(embeddings(tmp_path, name, noise, rng))
        way.get_by_role("button", name="Upload").click()
        page.get_by_label("Captions", exact=True).select_option("any of five")
        page.get_by_role("button", name="Rank").click()
        expect(page.get_by_text("Ranking the images and captions.")).to_be_visible()
    work_done()
    page.get_by_role("link", name="Compare").click()
    page.get_by_label("far-search").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("alert").get_by_role("link", name="Freeze qrels").click()
    way = page.get_by_role("form", name="Originals")
    way.get_by_label("Name", exact=True).fill("fold")
    way.get_by_label("Protocol", exact=True).select_option("any of five")
    way.get_by_label("Images", exact=True).fill("1/3")
    way.get_by_role("button", name="Freeze").click()
    expect(page.get_by_text("Freezing the qrels.")).to_be_visible()
    work_done()
    page.goto("/evaluation/qrels/")
    page.get_by_role("link", name="fold", exact=True).click()
    expect(page.get_by_text("originals: any of five, fold 1/3").first).to_be_visible()
    for run in ("near-search", "far-search", "near-annotation", "far-annotation"):
        page.get_by_label(f"Compare {run}").check()
    page.get_by_role("button", name="Compare the selected runs").click()
    expect(page.get_by_text("Queries: 6 of 6.")).to_be_visible()
    page.get_by_role("link", name="Build a report of these runs").click()
    page.get_by_label("Name", exact=True).fill("paper")
    page.get_by_text("Measures, seed, permutations").click()
    page.get_by_label("Permutations of the randomisation test").fill("50")
    page.get_by_label("Resamples of the bootstrap").fill("20")
    page.get_by_role("button", name="Build the report").click()
    expect(page.get_by_text("Building the report.")).to_be_visible()
    work_done()
    page.goto("/evaluation/reports/")
    page.get_by_role("link", name="paper", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="LaTeX").first.click()
    table = Path(download.value.path()).read_text()
    assert download.value.suggested_filename.endswith(".tex")
    assert r"\begin{tabular}" in table and "near" in table and "far" in table
    part = subset_named(corpus.name, "1/3")
    figures = score_run(run_named("near-search"), snapshot_named("fold"))
    assert part is not None and figures["queries"] == 3 * len(part.images) == 6
