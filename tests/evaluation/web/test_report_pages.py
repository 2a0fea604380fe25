"""Pages of reports: requested with a form, built by a job, shown as built, downloaded."""

from __future__ import annotations

import io
import json
import re
import zipfile
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from django.test import Client

from annotation import jobs
from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.models import AuditEntry, Corpus, Job
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import QrelsSnapshot, Report, Run
from evaluation.selectors import CANDIDATES
from evaluation.services.judgments.freezing import freeze_protocol
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportRequest
from evaluation.services.runs.files import RunImport, import_run
from evaluation.web import reports as report_pages
from tests.evaluation.database.conftest import matrix_file

pytestmark = pytest.mark.django_db

PLOT = '<svg class="figure" role="img" aria-label="drawn"></svg>'
IMAGES = [f"{key}.jpg" for key in "abc"]
ARCHIVE = "/operations/download_report/file?report=spring"


@pytest.fixture
def world(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two systems' runs, and qrels of originals; figures are not drawn."""
    monkeypatch.setattr(building, "as_svg", lambda plot: PLOT)
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF-")
    records = [
        ImageRecord(id=key, filename=f"{key}.jpg", captions=(CaptionRecord(f"caption of {key}"),))
        for key in "abc"
    ]
    import_records(name="small", records=records, format="jsonl", source="memory")
    names = []
    for name, scores in (("good", np.eye(3)), ("bad", -np.eye(3))):
        file = matrix_file(tmp_path, name, scores, IMAGES, [f"{image}#0" for image in IMAGES])
        for direction in ("annotation", "search"):
            names.append(f"{name}-{direction}")
            import_run(
                RunImport(
                    name=names[-1],
                    corpus="small",
                    file=file,
                    format="scores",
                    direction=direction,
                    system=name,
                ),
                OperationContext(),
            )
    freeze_protocol(name="q", corpus="small", protocol="first caption")
    return names


@pytest.fixture
def built(world: list[str]) -> Report:
    building.build_report(
        ReportRequest(name="spring", qrels="q", runs=world, rounds=50, resamples=20), OperationContext()
    )
    return building.report_named("spring")


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_without_a_corpus_and_without_reports_pages_say_what_is_missing(ada: Client) -> None:
    assert "There are no reports yet." in page(ada, "/evaluation/reports/")
    assert "There is no corpus yet" in page(ada, "/evaluation/new-report/")


def test_a_corpus_of_candidates_needs_qrels_for_a_report(ada: Client, world: list[str]) -> None:
    QrelsSnapshot.objects.all().delete()
    Corpus.objects.filter(name="small").update(format=CANDIDATES)
    form = page(ada, "/evaluation/new-report/?corpus=small")
    assert "There are no qrels yet. A report needs qrels." in form
    assert 'href="/evaluation/freeze/?corpus=small"' in form


def test_a_report_without_qrels_is_of_the_original_pairs(ada: Client, world: list[str]) -> None:
    form = page(ada, "/evaluation/new-report/")
    assert form.count('name="runs"') == 4 and ">original pairs</option>" in form
    building.build_report(
        ReportRequest(name="spring", runs=world, rounds=50, resamples=20), OperationContext()
    )
    row = building.report_named("spring")
    assert row.qrels is None and not building.outdated(row)
    assert "with its original pairs" in page(ada, "/evaluation/reports/spring/")
    assert "<td>original pairs</td>" in page(ada, "/evaluation/reports/")
    document = building.read_report_file(row, building.HTML).decode()
    assert "Corpus small, original pairs." in document


def test_an_address_fills_the_form_and_the_form_starts_a_job(ada: Client, world: list[str]) -> None:
    address = "/evaluation/new-report/?qrels=q:1&runs=good-search&runs=bad-search"
    form = page(ada, address)
    ticked = re.findall(r'name="runs"[^>]*value="([^"]+)" checked', form)
    assert sorted(ticked) == ["bad-search", "good-search"]
    compared = page(ada, "/evaluation/compare/?run=good-search&run=bad-search&qrels=q:1&measures=R%401")
    onwards = re.search(r'href="(/evaluation/new-report/\?[^"]+)"', compared)
    assert onwards and len(re.findall(r'name="runs"[^>]* checked', page(ada, unescape(onwards[1])))) == 2
    answer = ada.post(
        "/evaluation/new-report/",
        {
            "qrels": "q:1",
            "name": "spring",
            "runs": world,
            "baseline": ["bad-annotation"],
            "rounds": "50",
            "resamples": "20",
            "measures": "R@1, median rank",
        },
    )
    assert answer["Location"] == "/evaluation/reports/"
    job = Job.objects.get()
    assert job.arguments["runs"] == world and job.arguments["measures"] == ["R@1", "median rank"]
    jobs.run_queued_job(job.pk)
    listed = page(ada, "/evaluation/reports/")
    assert 'href="/evaluation/reports/spring/"' in listed and '<span class="hint">none</span>' in listed
    assert 'View<span class="aside">' in listed


def test_a_report_is_of_the_images_that_the_comparison_was_of(ada: Client, world: list[str]) -> None:
    compared = page(ada, "/evaluation/compare/?run=good-search&run=bad-search&split=1/3&missing=worst")
    onwards = re.search(r'href="(/evaluation/new-report/\?[^"]+)"', compared)
    assert onwards
    form = page(ada, unescape(onwards[1]) + "&qrels=q")
    assert 'name="split" value="1/3"' in form and '<option value="worst" selected>' in form
    provided = {"qrels": "q:1", "name": "fold", "runs": world, "split": "1/3", "missing": "worst"}
    response = ada.post("/evaluation/new-report/", {**provided, "rounds": "50", "resamples": "20"})
    assert response.status_code == 302
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    (line,) = AuditEntry.objects.filter(act="build_report")
    assert (line.actor_name, line.about["report"]) == ("ada", "fold")
    settings = Report.objects.get(name="fold").inputs["settings"]
    assert (settings["split"], settings["missing"]) == ("1/3", "worst")
    again = re.search(r'href="(/evaluation/new-report/\?[^"]+)"', page(ada, "/evaluation/reports/fold/"))
    assert again and 'name="split" value="1/3"' in page(ada, unescape(again[1]))


@pytest.mark.parametrize(
    ("also", "why"),
    [
        ({"split": "7/3"}, "fold 7/3: unknown fold; expected 1/3 to 3/3"),
        ({"split": "/etc/passwd"}, "There is no split “/etc/passwd” here."),
        ({"missing": "x"}, "Expected one of: 'refuse', 'worst' or 'leave-out'"),
        ({"name": "spring"}, "“spring” exists already"),
        ({"name": ""}, "This is required."),
        ({"runs": []}, "Runs: Expected at least 1."),
        ({"measures": "Q@1"}, "unknown measure"),
        ({"rounds": "many"}, "Expected a whole number."),
        ({"rounds": "999999999"}, "Expected 1000000 or less."),
        ({"batch": "none"}, "There is no batch"),
    ],
)
def test_what_cannot_be_built_is_said_at_once_and_what_was_given_stays(
    ada: Client, built: Report, world: list[str], also: dict[str, object], why: str
) -> None:
    provided = {"qrels": "q:1", "name": "summer", "runs": world, "baseline": ["bad-annotation"]}
    answer = ada.post("/evaluation/new-report/", {**provided, **also})
    assert answer.status_code in (400, 409)
    text = unescape(answer.content.decode())
    assert why in text and not Job.objects.exists()
    assert text.count('name="runs"') == 4
    assert len(re.findall(r'name="baseline" value="bad-annotation" checked', text)) == 1


def test_a_report_is_shown_as_it_was_built(ada: Client, built: Report) -> None:
    text = page(ada, "/evaluation/reports/spring/")
    sections = json.loads(building.read_report_file(built, "report.json"))["sections"]
    assert text.count(PLOT) == sum(len(section["figures"]) for section in sections) > 2
    assert "<strong>100.0</strong>" in text and "good has an original in the top" in text
    assert built.inputs["runs"][0]["digest"] in text and 'lang="en"' in text
    assert " style=" not in text and "<style" not in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for address in re.findall(r'href="(/evaluation/reports/spring/[^"]+)"', text):
        assert ada.get(address).status_code == 200, address
    again = re.search(r'href="(/evaluation/new-report/\?[^"]+)"', text)
    assert again and page(ada, again[1].replace("&amp;", "&")).count(" checked") == 4 + 2 + 1


def test_files_are_kept_and_never_shown_in_place(ada: Client, built: Report) -> None:
    answer = ada.get("/evaluation/reports/spring/files/report.html")
    assert answer["Content-Disposition"] == 'attachment; filename="spring-report.html"'
    assert answer.content == building.read_report_file(built, "report.html")
    assert (
        ada.get("/evaluation/reports/spring/files/figures/curves-search.pdf")["Content-Type"]
        == "application/pdf"
    )
    packed = ada.get(ARCHIVE).getvalue()
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert {name.removeprefix("spring/") for name in archive.namelist()} == set(built.files)
    assert ada.get(ARCHIVE).getvalue() == packed
    for invalid in ("files/none.txt", "files/../../../x"):
        assert ada.get(f"/evaluation/reports/spring/{invalid}").status_code == 404


def test_what_changed_since_and_what_is_damaged_is_said(ada: Client, built: Report) -> None:
    freeze_protocol(name="q", corpus="small", protocol="one caption", number=0)
    Run.objects.filter(name="bad-search").update(digest="0" * 64)
    text = unescape(page(ada, "/evaluation/reports/spring/"))
    assert "qrels are q version 2, were q version 1" in text and "run 'bad-search' has other ranki" in text
    assert "The files are from before these changes" in text
    assert "Its files are from before" in page(ada, "/evaluation/reports/")
    assert ada.get(ARCHIVE).status_code == 200
    (building.report_folder("spring") / "report.json").write_text("{}")
    assert "was changed after it was built" in page(ada, "/evaluation/reports/spring/")
    assert ada.get("/evaluation/reports/spring/files/report.json").status_code == 404


def test_a_long_list_goes_on_by_the_last_row(
    ada: Client, built: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_pages, "REPORTS_PER_PAGE", 1)
    Report.objects.create(
        **{name: getattr(built, name) for name in ("corpus", "qrels", "inputs", "digest", "files")},
        name="summer",
    )
    first = page(ada, "/evaluation/reports/")
    assert "/reports/summer/" in first and "/reports/spring/" not in first
    later = re.search(r'rel="next" href="([^"]+)"', first)
    assert later is not None
    second = page(ada, f"/evaluation/reports/{unescape(later[1])}")
    assert "/reports/spring/" in second and "/reports/summer/" not in second and 'rel="next"' not in second
    assert 'href="?sort=new&amp;down=1">← First' in second


def test_a_report_is_removed_by_a_post(ada: Client, built: Report) -> None:
    payload = {"report": "spring", "next": "/evaluation/reports/"}
    assert ada.post("/operations/remove_report/", payload)["Location"] == "/evaluation/reports/"
    assert not Report.objects.exists() and not building.report_folder("spring").exists()
    assert ada.get("/evaluation/reports/spring/").status_code == 404
