"""The datasheet beside an export says how the data was made, in figures that a recount gives too."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.utils import translation
from PIL import Image as Picture

from annotation.datasets.datasheets import card_text
from annotation.datasets.exporting import export_dataset
from annotation.datasets.importing import import_corpus
from annotation.formats import FORMATS
from annotation.images.pictures import picture_path
from annotation.models import Assignment, Campaign, Corpus, Judgment, Task
from annotation.protocol.agreement import AnswerPair, measure_agreement
from annotation.selectors.datasheet.figures import datasheet_figures
from tests.factories import a_corpus, some_images
from tests.queue import test_relevance_pages as relevance
from tests.queue.world import TRUSTING, World

PAID = {**TRUSTING, "link_votes": 3, "pay": {"basis": "hour", "hourly": 12.5, "currency": "EUR"}}


@pytest.fixture
def world(db: None) -> World:
    created = World(some_images(3), settings=PAID)
    created.work()
    return created


def sheet(world: World, folder: Path, format: str = "jsonl", **how: Any) -> tuple[dict[str, Any], str]:
    """The figures and the text of an export's datasheet."""
    corpus, layer = world.corpus.name, world.campaign.name
    written = export_dataset(corpus=corpus, layer=layer, format=format, out=folder, **how)
    assert {folder / "README.md", folder / "datasheet.json"} <= set(written.files)
    return json.loads((folder / "datasheet.json").read_text()), (folder / "README.md").read_text()


def test_figures_are_those_of_a_recount(world: World, tmp_path: Path) -> None:
    Corpus.objects.update(licence="CC BY 4.0")
    # One worker contradicts the others about some links.
    of_one = Judgment.objects.filter(campaign=world.campaign, kind="coref_link", worker=world.workers[0])
    for row in of_one.order_by("pk")[::2]:
        Judgment.objects.filter(pk=row.pk).update(answer="no" if row.answer == "yes" else "yes")
    figures, text = sheet(world, tmp_path / "out", include_unfinished=True)
    rows = Task.objects.filter(drawn_share__isnull=False).values_list("image_id", "key", "drawn_share")
    drawn: dict[tuple[Any, ...], float | None] = {(image, key): share for image, key, share in rows}
    by_question = defaultdict(list)
    for row in Judgment.objects.filter(campaign=world.campaign).order_by("pk"):
        by_question[row.kind, row.image_id, row.key].append((row.answer, row.worker_id))
    for kind, question in figures["campaign"]["questions"].items():
        two = [
            AnswerPair(answers[0][0], answers[1][0], share, (answers[0][1], answers[1][1]))
            for (of, *index), answers in by_question.items()
            if of == kind and (share := drawn.get(tuple(index))) is not None
        ]
        handed_in = Assignment.objects.filter(campaign=world.campaign, kind=kind, state="submitted")
        assert question["answers"] == handed_in.count() > 0
        if not two:
            assert question["agreement"] is None
            continue
        assert question["agreement"]["pairs"] == len(two)
        equal = measure_agreement(two, drawn=len(two), draws=2).equal
        assert equal is not None and question["agreement"]["equal"]["value"] == round(equal.value, 4)
        assert question["agreement"]["equal"]["low"] < equal.value
    link = figures["campaign"]["questions"]["coref_link"]["agreement"]
    assert link["equal"]["value"] < 1 and link["kappa"]["low"] <= link["kappa"]["value"] < 1
    assert figures["campaign"]["people"]["workers"] == len(world.workers)
    assert figures["layer"]["boxes"] == figures["export"]["counts"]["boxes"] > 0
    earned = sum(Assignment.objects.values_list("pay", flat=True))
    assert round(float(figures["campaign"]["cost"]["earned"]) * 1e6) == earned
    assert "- Licence: CC BY 4.0." in text and "in EUR" in text
    assert "| coref_link |" in text


def test_equal_answers_make_equal_bytes_in_every_format_and_language(world: World, tmp_path: Path) -> None:
    for entry in (entry for entry in FORMATS if entry.writes):
        first = sheet(world, tmp_path / entry.key, entry.key)
        with translation.override("de"):
            again = sheet(world, tmp_path / f"{entry.key}-again", entry.key)
        assert first == again, entry.key
        assert f"- Format: {entry.key}." in first[1]


def test_a_simulated_campaign_does_not_pass_for_people(world: World, tmp_path: Path) -> None:
    figures, text = sheet(world, tmp_path / "people", include_unfinished=True)
    assert not figures["campaign"]["simulated"] and "People made it here" in text
    assert "## People and pay" in text
    reported = figures["campaign"]["questions"].values()
    assert any(question["seconds_an_answer"] is not None for question in reported)
    Campaign.objects.update(simulated=True)
    figures, text = sheet(world, tmp_path / "simulated", include_unfinished=True, simulated=True)
    assert text.splitlines()[0].endswith("(simulated)")
    assert figures["campaign"]["simulated"] and "People made it here" not in text
    assert "It was simulated: no person answered anything." in text
    assert "The answers are simulated: they say nothing about people" in text
    # Nobody worked or was paid, and a program took no time that says anything.
    assert "## People and pay" not in text and "worked under pseudonyms" not in text
    questions = figures["campaign"]["questions"].values()
    assert all(question["seconds_an_answer"] is None for question in questions)
    assert any(question["answers"] for question in questions)


def test_people_are_counted_and_never_named(world: World, tmp_path: Path) -> None:
    _, text = sheet(world, tmp_path / "out")
    reported = text + (tmp_path / "out" / "datasheet.json").read_text()
    assert "4 people worked under pseudonyms" in text
    who = Judgment.objects.filter(campaign=world.campaign).values_list("worker__pseudonym", flat=True)
    assert who and not any(name in reported for name in who)


@pytest.mark.django_db
def test_a_folder_with_a_datasheet_is_read_again(tmp_path: Path) -> None:
    a_corpus("harbour", some_images(2))
    for entry in (entry for entry in FORMATS if entry.reads and entry.writes):
        export_dataset(corpus="harbour", format=entry.key, out=tmp_path / entry.key)
        done = import_corpus(name=f"again-{entry.key}", path=tmp_path / entry.key, format=entry.key)
        assert (done.images, done.problems) == (2, ()), entry.key


@pytest.mark.django_db
def test_the_hugging_face_layout_has_pictures_only_where_they_are_wanted(tmp_path: Path) -> None:
    Picture.new("RGB", (500, 375), "navy").save(tmp_path / "night.png")
    first, second = some_images(2)
    a_corpus("harbour", [replace(first, picture=tmp_path / "night.png"), second])
    stored_images = {row.key: row for row in Corpus.objects.get(name="harbour").images.all()}
    for expected in (True, False):
        out = tmp_path / str(expected)
        export_dataset(corpus="harbour", format="huggingface", out=out, with_pictures=expected)
        assert not (out / "images").exists()
        assert (out / "README.md").read_text().startswith("---\npretty_name: ")
        rows = [row for file in (out / "data").iterdir() for row in pq.read_table(file).to_pylist()]
        assert len(rows) == 2
        for row in rows:
            stored = stored_images[row["image_id"]].picture
            held = row["image"]["bytes"] if row["image"] else None
            assert held == (picture_path(stored).read_bytes() if expected and stored else None)


@pytest.mark.django_db(transaction=True)
def test_ticks_on_pages_are_no_agreement() -> None:
    campaign = relevance.campaign({**relevance.MEASURED, "answers": {"relevance": 2}}, known=0)
    pages = Task.objects.count()
    for worker in relevance.workers(2):
        for _ in range(pages):
            lease = relevance.held(campaign, worker)
            relevance.submit(worker, lease, relevance.ticks(lease, right=worker % 2 == 0))
    # Two who ticked different things about the same images, each with the one word that there is.
    answers = Judgment.objects.filter(campaign=campaign, role="vote").values_list("image", "key", "answer")
    assert len(answers) == 2 * pages and len(set(answers)) == pages > 0
    figures = datasheet_figures(campaign.corpus, None, campaign.corpus.images.all(), campaign)
    reported = figures["campaign"]["questions"]["relevance"]
    assert reported["answers"] == 2 * pages and reported["ticked_on_pages"] and reported["agreement"] is None
    export = {"format": "jsonl", "pictures": False, "counts": {}, "excluded": {}, "notes": []}
    text = card_text({**figures, "export": export}, [], "")
    assert "answers are ticks on a page, which this sheet does not compare" in text
    assert "nobody was asked twice" not in text
