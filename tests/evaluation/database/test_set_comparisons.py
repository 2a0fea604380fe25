"""Captions and tags of several systems compared: by command, by job on a page, and by API."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.models import Job
from evaluation.models import TagSet
from evaluation.services.stored import get_or_publish
from evaluation.services.tagging.sets import fill_tag_set
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.test_imported_sets import imported, tags_file
from tests.evaluation.database.test_score_captions import OTHERS, WRITTEN, scenes, written
from tests.evaluation.systems.localizing import api_client
from tests.evaluation.tags.test_rank_tags import pets
from tests.web import world

__all__ = ["pets", "scenes"]
pytestmark = pytest.mark.django_db
SMALL = ("--resamples", 40, "--rounds", 60)


def compared(kind: str, *arguments: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(output_of(f"compare_{kind}", *arguments, *SMALL, "--json"))["report"]
    return report


def values(report: dict[str, Any], name: str) -> dict[str, float]:
    (one,) = [one for one in report["sets"] if one["set"] == name]
    return {figure["measure"]: figure["value"] for figure in one["measures"]}


@pytest.fixture
def two(scenes: str, tmp_path: Path) -> str:
    imported("captions", "mine", written(tmp_path, WRITTEN), scenes)
    imported("captions", "theirs", written(tmp_path, OTHERS, name="theirs.jsonl"), scenes)
    return scenes


def test_captions_are_compared_as_their_files_are(two: str, tmp_path: Path) -> None:
    some = ("--measures", "BLEU-4,ROUGE-L,CIDEr-D", "--split", "test")
    report = compared("captions", "mine", "theirs", *some)
    files = (tmp_path / "mine.jsonl", tmp_path / "theirs.jsonl")
    arguments = ("score_captions", two, *files, *some, *SMALL, "--json", "--leave-unused")
    of_files = json.loads(output_of(*arguments))["report"]
    assert report["baseline"] == "mine" and report["basis"]["counted"] == 2
    assert [one["measures"] for one in report["sets"]] == [one["measures"] for one in of_files["sets"]]
    without = [{**row, "set": "theirs"} for row in of_files["differences"]]
    assert report["differences"] == without
    assert {row["over"] for row in without} == {"images"}
    text = output_of("compare_captions", "mine", "theirs", *some, *SMALL)
    assert "adjusted by Holm for 3 tests" in text and "Differences from mine" in text
    assert text.count("resamples of whole images") == 3, "below each table"
    turned = compared("captions", "mine", "theirs", *some, "--baseline", "theirs")
    assert turned["baseline"] == "theirs" and {row["set"] for row in turned["differences"]} == {"mine"}
    latex = output_of("compare_captions", "mine", "theirs", *some, *SMALL, "--latex")
    assert latex.count(r"\begin{tabular}") == 3 and r"\textbf{" in latex
    alone = compared("captions", "theirs", *some)
    assert values(alone, "theirs") == values(report, "theirs") and alone["differences"] == []
    with pytest.raises(CommandError, match="caption set 'mine' is named twice"):
        output_of("compare_captions", "mine", "mine")
    with pytest.raises(CommandError, match="sets.*There is no caption set|There is no caption set"):
        output_of("compare_captions", "mine", "nobody")


def vocabulary_set(corpus: Any, name: str, vocabulary: list[str], scores: dict[int, list[float]]) -> None:
    def fill(row: TagSet) -> None:
        ranked = []
        for pk, of_image in scores.items():
            best_first = np.argsort(-np.array(of_image)).tolist()
            tags = [[vocabulary[index], of_image[index]] for index in best_first]
            ranked.append((pk, tags, np.asarray(of_image, np.float32).tobytes()))
        fill_tag_set(row, iter(ranked))

    get_or_publish(TagSet, name, {"corpus": corpus, "vocabulary": vocabulary}, fill)


def test_tags_are_compared_on_the_same_true_tags(pets: str, tmp_path: Path) -> None:
    """Against single scores where both sets could choose the same tags; and by hand where they could not."""
    tags = {"1.jpg": [["dog", 1], ["cat", 0.5]], "2.jpg": [["boy", 1], ["dog", 0.5]], "5.jpg": [["cat", 1]]}
    better = {**tags, "5.jpg": [["tree", 1], ["cat", 0.5]]}
    for name, of_set in (("mine", tags), ("theirs", better)):
        imported("tags", name, tags_file(tmp_path, of_set, f"{name}.jsonl"), pets)
    options = ("--missing", "leave-out", "--distractors", 0, 2)
    report = compared("tags", "mine", "theirs", *options)
    alone = json.loads(output_of("score_tags", "theirs", *options, "--resamples", 0, "--json"))["report"]
    own = {
        row["measure"] + (f", {row['distractors']} distractors" if row["distractors"] else ""): row["value"]
        for row in alone["measures"]
    }
    both = values(report, "theirs")
    # The lists of both sets name other tags, so that more of them are ranked.
    same = [name for name in own if name != "MiAP"]
    assert {name: both[name] for name in same} == pytest.approx({name: own[name] for name in same})
    assert both["MiAP"] >= values(report, "mine")["MiAP"]
    over = {row["measure"]: row["over"] for row in report["differences"]}
    assert over["MAP"] == "tags" and over["MiAP"] == "images"
    assert all(0 < row["p"] <= row["adjusted"] <= 1 for row in report["differences"])

    corpus = TagSet.objects.get(name="mine").corpus
    ids = dict(corpus.images.values_list("key", "pk"))
    scores = {ids["1"]: [3.0, 1.0], ids["2"]: [1.0, 2.0], ids["5"]: [2.0, 1.0]}
    vocabulary_set(corpus, "closed", ["dog", "boy"], scores)
    mixed = compared("tags", "closed", "theirs", *options)
    assert mixed["unknown"] == 0 and mixed["images"] == 3
    # The closed set cannot say "tree", the only true tag of image 5: it comes after its own two tags.
    assert values(mixed, "closed")["P@1"] == pytest.approx(2 / 3)
    assert values(mixed, "theirs")["P@1"] == 1.0
    with pytest.raises(CommandError, match="1 of 4 images .* have no tags in set 'theirs'"):
        output_of("compare_tags", "theirs", "mine", "--split", "all")


def test_a_page_and_the_api_compare_in_a_job(two: str, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    ada = world.signed_in("ada", "researcher")
    page = "/operations/compare_captions/"
    assert "Compare captions" in ada.get(page).content.decode()
    form = {
        "sets": ["mine", "theirs"],
        "measures": "BLEU-1, CIDEr-D",
        "rounds": 50,
        "resamples": 40,
        "tokens": "ptb",
    }
    sent = ada.post(page, form)
    assert sent.status_code == 302, sent.content.decode()
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    shown = html.unescape(ada.get(page).content.decode())
    assert "Differences from mine" in shown and "theirs" in shown and "CIDEr-D" in shown
    assert "images: 3 of 3" in shown.lower()
    table = ada.get(f"{page}results/{job.pk}/csv").content.decode()
    assert table.startswith("set,BLEU-1,") and "measure,set,difference" in table
    ada.post(page, {**form, "sets": ["mine", "nobody"]})
    assert Job.objects.latest("pk") == job, "an unknown set is refused before there is a job"
    body = {"sets": ["mine", "theirs"], "measures": ["BLEU-1"]}
    response = api_client("ada").post("/api/v1/caption-comparisons", body, content_type="application/json")
    assert response.status_code == 202, response.content
