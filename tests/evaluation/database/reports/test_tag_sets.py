"""Tag sets in a report: their scores are those of `score_tags`, and their changes are listed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.models import Corpus, Job
from evaluation.models import Report, TagSet
from evaluation.reporting.document import changed_inputs
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportError
from evaluation.services.stored import get_or_publish
from evaluation.services.tagging.scores import score_tag_set
from evaluation.services.tagging.sets import fill_tag_set, tag_set_named
from evaluation.services.tagging.true_tags import TagScoring
from phrasebox.agreement.summary import Resampling
from phrasebox.registry import UnknownName
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.reports.conftest import QUICK, built, request_of
from tests.web import world
from tests.web.staff import press

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("undrawn")]


@pytest.fixture
def tags(corpus: str) -> str:
    """A tag set of the three images, whose captions name a dog before a cat."""
    row = Corpus.objects.get(name=corpus)
    images = list(row.images.order_by("position"))
    for image in images:
        image.captions.filter(number=0).update(text="A dog sees a cat.")
    created = np.random.default_rng(0).random((3, 4)).astype(np.float32)

    def rows() -> Iterator[tuple[int, list[list[Any]], bytes]]:
        for image, scores in zip(images, created, strict=True):
            yield image.pk, [["dog", 0.5]], scores.tobytes()

    settings = {"unit": "nouns", "alpha": 0.0}
    vocabulary = ["dog", "cat", "caption", "boat"]
    get_or_publish(
        TagSet,
        "found",
        {"corpus": row, "vocabulary": vocabulary, "settings": settings},
        lambda new: fill_tag_set(new, rows()),
    )
    return "found"


def test_scores_are_those_of_the_command(qrels: str, runs: list[str], tags: str) -> None:
    report = built(request_of(runs, tags=[tags]))
    how = TagScoring(resampling=Resampling(QUICK["resamples"], 0.95, 0))
    expected = score_tag_set(tag_set_named(tags), how=how)
    assert report["findings"]["tags"] == [expected]
    section = next(measure for measure in report["sections"] if measure["title"] == "Tags")
    assert [measure["key"] for measure in section["tables"]] == ["tags", "tag-intervals", "tag-gains"]
    assert [measure["key"] for measure in section["figures"]] == ["tags"]
    cells = dict(
        zip(
            [cell["text"] for cell in section["tables"][0]["head"]],
            [cell["text"] for cell in section["tables"][0]["rows"][0]],
            strict=True,
        )
    )
    value = {
        (measure["measure"], measure["distractors"]): measure["value"] for measure in expected["measures"]
    }
    assert cells["tag set"] == tags and cells["MiAP"] == f"{100 * value['MiAP', None]:.1f}"
    assert cells["p@1, 5 distractors"] == f"{100 * value['p@1', 5]:.1f}"
    table = (building.report_folder("r") / "tables" / "tags.csv").read_text()
    tidy = {(row["measure"], row["distractors"]): row for row in csv.DictReader(io.StringIO(table))}
    assert float(tidy["MAP", ""]["value"]) == value["MAP", None]
    assert "tag set found" in (building.report_folder("r") / "report.html").read_text()


def test_a_report_without_tag_sets_says_nothing_of_them(qrels: str, runs: list[str]) -> None:
    report = built(request_of(runs))
    assert "tags" not in report["inputs"] and "tags" not in report["findings"]
    assert "Tags" not in {section["title"] for section in report["sections"]}


def test_what_changed_of_a_tag_set_is_said(qrels: str, runs: list[str], tags: str) -> None:
    built(request_of(runs, tags=[tags]))
    row = Report.objects.get()
    assert building.outdated(row) == []
    with pytest.raises(ReportError, match="other inputs .tag set 'found' was left out"):
        built(request_of(runs))
    TagSet.objects.update(digest="other")
    assert building.outdated(row) == ["tag set 'found' has other tags"]
    output_of("remove_tag_set", tags)
    assert building.outdated(row) == ["unknown tag set 'found'"]


def test_tag_sets_that_cannot_be_are_refused(qrels: str, runs: list[str], tags: str) -> None:
    with pytest.raises(UnknownName, match="unknown tag set 'lost'"):
        built(request_of(runs, tags=["lost"]))
    with pytest.raises(CommandError, match=f"--tags .*“{tags}” is given twice"):
        output_of("build_report", "r", "--qrels", "q", "--runs", *runs, "--tags", tags, tags)


def test_the_form_offers_the_tag_sets_of_the_corpus(qrels: str, runs: list[str], tags: str) -> None:
    ada = world.signed_in("ada", "researcher")
    press(ada, "/evaluation/new-report/?qrels=q", "Build the report", runs=runs[0], tags=tags, name="paged")
    job = Job.objects.latest("pk")
    assert job.arguments["tags"] == [tags] and jobs.run_queued_job(job.pk) == Job.DONE, job.error
    assert "Ranked tags" in ada.get("/evaluation/reports/paged/").content.decode()


def test_a_report_says_what_lists_are_scored_among(qrels: str, runs: list[str], tags: str) -> None:
    row = TagSet.objects.get(name=tags)
    images = row.corpus.images.order_by("position")
    lists = iter([(image.pk, [["zebra", 1.0], ["dog", 0.5]], b"") for image in images])
    get_or_publish(
        TagSet, "users", {"corpus": row.corpus, "source": "users"}, lambda new: fill_tag_set(new, lists)
    )
    report = built(request_of(runs, tags=["users", tags]))
    users, result = report["findings"]["tags"]
    assert (users["listed"], result["listed"], result["vocabulary"]) == (True, False, 4)
    assert f"among {users['vocabulary']} that captions or lists name" in str(report["sections"])
    assert changed_inputs(report["inputs"], report["inputs"]) == []
