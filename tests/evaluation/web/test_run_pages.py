"""Runs on pages: searched, scored, compared, downloaded, and viewed by query."""

from __future__ import annotations

import csv
import json
from io import BytesIO, StringIO

import numpy as np
import pytest
from pyarrow import parquet

from annotation.common.operations import OperationContext
from annotation.models import Corpus
from evaluation.comparison.comparisons import compare_runs, per_query_rows, score_run
from evaluation.comparison.subsets import subset_named
from evaluation.models import QrelsSnapshot, Run
from evaluation.selectors import CANDIDATES, names_of, run_named, snapshot_named
from evaluation.services.judgments.freezing import freeze_protocol, freeze_qrels
from evaluation.services.judgments.qrels_files import QrelsImport, import_qrels
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.runs import figures as run_figures
from evaluation.services.runs.files import RunImport, import_run
from evaluation.web import comparing, queries, runs
from phrasebox.agreement.summary import Resampling
from tests.evaluation.database.conftest import matrix_file
from tests.evaluation.web import little
from tests.web.staff import words

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small(db, tmp_path) -> None:
    little.corpus()
    little.qrels(tmp_path)
    little.runs(tmp_path, "good", "bad")


def key(name: str) -> int:
    """Return the id of an image's or a caption's row."""
    names = names_of("small")
    return names.image.get(name) or names.caption[name]


def test_runs_are_filtered_sorted_and_paged_by_the_address(ada, monkeypatch):
    monkeypatch.setattr(runs, "RUNS_PER_PAGE", 3)
    page = ada.get("/evaluation/runs/?sort=name&down=1")
    assert [row.name for row in page.context["page"].rows] == ["good-search", "good-annotation", "bad-search"]
    page = ada.get(f"/evaluation/runs/{page.context['page'].later}")
    result = page.context["page"]
    assert [row.name for row in result.rows] == ["bad-annotation"] and not result.later
    page = ada.get("/evaluation/runs/?system=good&direction=search")
    assert [row.name for row in page.context["page"].rows] == ["good-search"]
    assert "No run matches." in words(ada.get("/evaluation/runs/?find=nothing%00&corpus=small"))


def test_equal_values_are_paged_without_loss(ada, monkeypatch):
    monkeypatch.setattr(runs, "RUNS_PER_PAGE", 1)
    seen, address = [], "?sort=queries&down=1"
    while address:
        page = ada.get(f"/evaluation/runs/{address}")
        seen += [row.name for row in page.context["page"].rows]
        address = page.context["page"].later
    assert sorted(seen) == sorted(Run.objects.values_list("name", flat=True))


def test_a_run_s_figures_are_those_of_the_command(ada):
    page = ada.get("/evaluation/runs/good-annotation/?qrels=crowd")
    report = score_run(run_named("good-annotation"), snapshot_named("crowd"))
    assert page.context["figures"] == report
    assert "Pool: qrels crowd version 1 " in words(page) and "R@1 1.000 " in words(page)


def test_figures_name_the_qrels_that_were_asked_for_where_others_have_the_same_rows(ada):
    freeze_qrels(name="twin", corpus="small", judgments="flickr8k-crowd")
    assert snapshot_named("twin").digest == snapshot_named("crowd").digest
    for name in ("crowd", "twin"):
        page = ada.get(f"/evaluation/runs/good-annotation/?qrels={name}")
        assert page.context["figures"]["qrels"] == name
        page = ada.get(f"/evaluation/compare/?run=good-search&run=bad-search&qrels={name}")
        assert page.context["sides"][0].report["qrels"] == name


def run_of(folder, name: str, images: list[str]) -> Run:
    """Import a run for some images, of all judged captions."""
    scores = np.arange(3 * len(images)).reshape(len(images), 3) % 5
    file = matrix_file(folder, name, scores, images, little.JUDGED)
    import_run(
        RunImport(name=name, corpus="small", file=file, format="scores", system=name), OperationContext()
    )
    return run_named(name)


def test_figures_on_the_images_of_a_run_are_of_those_that_it_has_now(ada, tmp_path):
    addresses = [
        "/evaluation/runs/good-annotation/?qrels=crowd&split=run:part",
        "/evaluation/compare/?run=good-annotation&run=bad-annotation&qrels=crowd&split=run:part",
    ]
    api = "/api/v1/runs/good-annotation/scores?qrels=crowd&split=run:part"

    def requested() -> list[int]:
        page, compared = (ada.get(address).context for address in addresses)
        return [
            page["figures"]["total_queries"],
            compared["sides"][0].report["queries"],
            ada.get(api).json()["queries"],
        ]

    run_of(tmp_path, "part", ["a.jpg"])
    assert requested() == [1, 1, 1]
    Run.objects.get(name="part").delete()
    run_of(tmp_path, "part", ["a.jpg", "b.jpg"])
    assert requested() == [2, 2, 2]


@pytest.mark.parametrize("missing", ["leave-out", "worst"])
def test_a_run_is_scored_on_the_images_asked_for_and_says_what_it_does_not_rank(ada, tmp_path, missing):
    row = run_of(tmp_path, "part", ["a.jpg"])
    page = ada.get(f"/evaluation/runs/part/?qrels=crowd&split=test&missing={missing}")
    report = score_run(row, snapshot_named("crowd"), subset=subset_named("small", "test"), missing=missing)
    assert page.context["figures"] == report and report["missing"] == 1
    how = "They are left out." if missing == "leave-out" else "They count as the worst result."
    text = words(page)
    assert f"part does not rank 1 of 2 queries. {how}" in text and "Split test." in text
    german = ada.get(
        f"/evaluation/runs/part/?qrels=crowd&split=test&missing={missing}", headers={"Accept-Language": "de"}
    )
    assert "Teil test." in words(german)
    page = ada.get(f"/evaluation/runs/part/?qrels=crowd&missing={missing}")
    assert page.context["figures"]["total_queries"] == 3
    page = ada.get("/evaluation/runs/part/?qrels=crowd")
    assert "2 of 3 queries" in page.context["error"] and page.context["figures"] is None


def test_a_run_that_chose_from_fewer_items_than_the_qrels_know_says_so(ada, tmp_path):
    freeze_protocol(name="all", corpus="small", protocol="any of five")
    text = words(ada.get("/evaluation/runs/good-annotation/?qrels=all"))
    assert "good-annotation ranked 3 of the 9 candidate items." in text


def test_qrels_that_judge_rankings_for_images_are_not_offered_to_rankings_for_captions(ada, tmp_path):
    (tmp_path / "q.json").write_text('{"a.jpg": ["a.jpg#2"]}')
    import_qrels(
        QrelsImport(name="theirs", corpus="small", file=tmp_path / "q.json", format="json"),
        OperationContext(),
    )

    def choices(page) -> set[str]:
        return {name for name, _title in page.context["form"].fields["qrels"].widget.choices}

    annotation, search = (ada.get(f"/evaluation/runs/good-{way}/") for way in ("annotation", "search"))
    assert choices(annotation) - choices(search) == {"theirs:1"}
    both = ada.get("/evaluation/compare/?run=good-annotation&run=good-search")
    assert "theirs:1" not in choices(both) and not both.context["error"]


@pytest.mark.parametrize(
    ("requested", "says"),
    [
        ("split=7/3", "fold 7/3: unknown fold; expected 1/3 to 3/3"),
        ("split=/etc/passwd", "There is no split “/etc/passwd” here; known: dev, test."),
        ("split=run:nobody", "There is no split “run:nobody” here; known: dev, test."),
        ("qrels=none", "There are no qrels “none” here."),
    ],
)
def test_figures_that_cannot_be_are_said_in_one_line(ada, requested, says):
    page = ada.get(f"/evaluation/runs/good-annotation/?{requested}")
    assert page.context["error"].startswith(says) and "\n" not in page.context["error"]
    assert page.status_code == 200


def test_each_query_s_values_are_files(ada):
    rows = list(per_query_rows([run_named("good-search")], snapshot_named("crowd")))
    address = "/operations/export_values/file?qrels=crowd&runs=good-search&format="
    page = ada.get("/evaluation/runs/good-search/?qrels=crowd")
    assert f"{address}csv" in page.content.decode().replace("&amp;", "&")
    answer = ada.get(f"{address}csv")
    assert answer["Content-Disposition"] == 'attachment; filename="good-search-queries.csv"'
    table = list(csv.DictReader(StringIO(b"".join(answer).decode())))
    assert [row["query"] for row in table] == [row["query"] for row in rows] and len(rows) == 3
    assert json.loads(b"".join(ada.get(f"{address}json"))) == rows
    assert parquet.read_table(BytesIO(b"".join(ada.get(f"{address}parquet")))).to_pylist() == rows
    part = json.loads(b"".join(ada.get(f"{address}json&split=dev")))
    assert [row["query"] for row in part] == ["c.jpg#2"]


def test_each_query_s_values_of_compared_runs_are_files_a_direction(ada):
    requested = "run=good-search&run=bad-search&run=good-annotation&measures=R@1&split=test&qrels=crowd"
    side = ada.get(f"/evaluation/compare/?{requested}").context["sides"][1]
    answer = ada.get(f"/operations/export_values/file?{side.choice}&format=json")
    pair = [run_named("good-search"), run_named("bad-search")]
    subset = subset_named("small", "test")
    assert json.loads(b"".join(answer)) == list(
        per_query_rows(pair, snapshot_named("crowd"), ["R@1"], subset=subset)
    )


def test_runs_without_a_common_query_are_not_compared(ada, tmp_path):
    for name, images in (("one", ["a.jpg"]), ("other", ["b.jpg"])):
        run_of(tmp_path, name, images)
    page = ada.get("/evaluation/compare/?run=one&run=other&qrels=crowd&missing=leave-out")
    assert "run 'other' ranks no query of qrels 'crowd version 1'" in page.context["error"]
    assert not page.context["sides"]
    whole = ada.get("/evaluation/compare/?run=one&run=other&qrels=crowd&missing=worst")
    assert whole.context["sides"][0].report["queries"] == 3


def test_without_qrels_in_the_address_figures_are_of_the_original_pairs(ada):
    page = ada.get("/evaluation/runs/good-annotation/")
    report = page.context["figures"]
    assert (report["qrels"], report["version"], report["queries"]) == ("original pairs", None, 3)
    assert [m["measure"] for m in report["measures"]] == ["R@1", "R@5", "R@10", "median rank"]
    text = words(page)
    assert "Pool: at least 3 captions of corpus small" in text or "Pool: 3 captions of corpus small" in text
    assert "Protocol: original pairs" in text and '<option value="" selected>' in page.content.decode()
    page = ada.get("/evaluation/compare/?run=good-search&run=bad-search")
    (side,) = page.context["sides"]
    first = side.report["systems"][0]
    assert first["figures"]["R@1"] == 1 and first["intervals"]["R@1"] == [pytest.approx(0.438, abs=1e-3), 1]
    assert "good-search 1.000 0.439 to 1.000" in words(page)


def test_a_corpus_of_candidates_without_qrels_leads_to_where_they_are_made(ada):
    QrelsSnapshot.objects.all().delete()
    Corpus.objects.filter(name="small").update(format=CANDIDATES)
    for address in ("/evaluation/runs/good-search/", "/evaluation/compare/?run=good-search"):
        page = ada.get(address)
        assert "This corpus has no qrels yet." in words(page) and "manage.py" not in words(page)
        for way in ("freeze", "import"):
            assert f'href="/evaluation/{way}/?corpus=small"' in page.content.decode()


def test_ties_are_told_and_may_be_broken_in_the_file(ada, tmp_path):
    file = matrix_file(tmp_path, "apart", np.array([[1, 2, 3]]), ["a.jpg"], little.JUDGED)
    import_run(
        RunImport(name="apart", corpus="small", file=file, format="scores", system="apart"),
        OperationContext(),
    )
    assert "items with equal scores" not in words(ada.get("/evaluation/runs/apart/"))
    file = matrix_file(tmp_path, "level", np.array([[1, 1, 0], [3, 2, 1]]), ["a.jpg", "b.jpg"], little.JUDGED)
    import_run(
        RunImport(name="level", corpus="small", file=file, format="scores", system="level"),
        OperationContext(),
    )
    page = ada.get("/evaluation/runs/level/")
    assert "1 of 2 queries has items with equal scores." in words(page)

    def scores(address: str) -> list[float]:
        lines = b"".join(ada.get(address)).decode().splitlines()
        return [float(line.split()[4]) for line in lines if line.startswith("a.jpg ")]

    assert len(set(scores("/operations/export_run/file?run=level"))) == 2
    assert 'href="/operations/export_run/file?run=level&amp;ties=break"' in page.content.decode()
    assert len(set(scores("/operations/export_run/file?run=level&ties=break"))) == 3


def test_an_older_version_that_was_chosen_is_shown_as_chosen(ada):
    freeze_qrels(name="crowd", corpus="small", judgments="flickr8k-crowd", relevance=AS_JUDGED)
    for address in ("/evaluation/runs/good-search/?", "/evaluation/compare/?run=good-search&"):
        page = ada.get(f"{address}qrels=crowd:1").content.decode()
        assert '<option value="crowd:1" selected>' in page and '<option value="crowd:2">' in page


def test_a_run_is_downloaded_as_it_was(ada):
    answer = ada.get("/operations/export_run/file?run=good-search")
    assert answer["Content-Disposition"] == 'attachment; filename="good-search.trec"'
    first = b"".join(answer).decode().splitlines()[0].split()
    assert first == ["a.jpg#2", "Q0", "a.jpg", "1", "1", "good"]


def test_both_directions_are_compared_against_the_chosen_system(ada):
    text = "".join(f"run={run}&" for run in Run.objects.values_list("name", flat=True))
    page = ada.get(f"/evaluation/compare/?{text}baseline=good-search&qrels=crowd")
    sides = page.context["sides"]
    assert [(side.direction, side.report["baseline"]) for side in sides] == [
        ("annotation", "good-annotation"),
        ("search", "good-search"),
    ]
    runs = [run_named("good-search"), run_named("bad-search")]
    again = compare_runs(runs, snapshot_named("crowd"), rounds=10_000, resampling=Resampling())
    assert sides[1].report == again
    whole = ada.get(f"/evaluation/compare/?{text}baseline=good-search&qrels=crowd&rounds=100000")
    assert [side.report["rounds"] for side in whole.context["sides"]] == [100_000, 100_000]
    tested = sum(test["p"] is not None for test in sides[1].report["tests"])
    assert sides[1].tested == tested and f"0 of {tested} results differ" in words(page)


def test_a_comparison_is_downloaded_in_three_shapes(ada):
    address = "/evaluation/compare/?run=good-search&run=bad-search&measures=R@1,median rank"
    table = list(csv.reader(StringIO(ada.get(f"{address}&as=csv").content.decode())))
    assert table[0][:5] == ["run", "R@1", "R@1 low", "R@1 high", "median rank"]
    assert table[1][:2] == ["good-search", "1.0"]
    assert r"\begin{tabular}" in ada.get(f"{address}&as=latex").content.decode()
    (report,) = json.loads(ada.get(f"{address}&as=json").content)
    assert [system["run"] for system in report["systems"]] == ["good-search", "bad-search"]
    assert {test["test"] for test in report["tests"]} == {"McNemar", "randomisation of medians"}


def test_one_run_alone_has_figures_and_no_marks(ada):
    page = ada.get("/evaluation/compare/?run=good-search")
    (side,) = page.context["sides"]
    assert side.tested == 0 and side.report["systems"][0]["figures"]["R@1"] == 1


def test_more_runs_than_a_page_compares_are_for_a_report(ada, monkeypatch):
    monkeypatch.setattr(run_figures, "MOST_RUNS_COMPARED", 1)
    page = ada.get("/evaluation/compare/?run=good-search&run=bad-search")
    assert page.context["error"] == "Expected at most 1."


@pytest.mark.parametrize(
    ("requested", "says"),
    [
        ("run=nobody", "There is no run “nobody” here"),
        ("run=good-search&qrels=none", "There are no qrels “none” here"),
        ("run=good-search&measures=R@x", "R@x"),
    ],
)
def test_a_comparison_that_cannot_be_says_why(ada, requested, says):
    page = ada.get(f"/evaluation/compare/?{requested}")
    assert says in page.context["error"] and page.status_code == 200
    assert ada.get(f"/evaluation/compare/?{requested}&as=csv").status_code == 409


def test_a_query_shows_what_was_judged_of_each_item(ada):
    page = ada.get(
        f"/evaluation/runs/good-annotation/queries/{key('a.jpg')}/?with=bad-annotation&qrels=crowd"
    )
    (ours, first, _), (theirs, second, _) = page.context["tops"]
    assert (ours.name, theirs.name) == ("good-annotation", "bad-annotation")
    reported = {item.entry.name: item.judged for item in first}
    value, another = reported["a.jpg#2"], reported["c.jpg#2"]
    assert (value.original, value.yes, len(value.answers), value.relevance) == (True, 3, 3, 1)
    assert (another.original, another.yes, len(another.answers), another.relevance) == (False, 2, 3, 1)
    assert first[0].entry.name == "a.jpg#2" == second[-1].entry.name
    text = words(page)
    assert "caption 2 of a original yes 3 of 3, relevant" in text
    assert "caption 2 of b yes 1 of 3, not relevant" in text


def test_a_caption_that_asks_is_shown_as_text_and_what_nobody_judged_as_that(ada):
    text = words(ada.get(f"/evaluation/runs/good-search/queries/{key('c.jpg#2')}/?qrels=crowd"))
    assert "caption 2 of c" in text and "c.jpg original" in text
    assert "yes 2 of 3, relevant" in text
    page = ada.get(f"/evaluation/runs/good-search/queries/{key('a.jpg#2')}/?qrels=crowd")
    assert "b.jpg unjudged" in words(page) and "c.jpg unjudged" in words(page)


def test_queries_come_where_two_runs_differ_most_and_lead_to_the_next(ada):
    address = "/evaluation/runs/good-annotation/queries/?with=bad-annotation&order=difference"
    page = ada.get(address)
    rows = page.context["rows"]
    apart = [abs(item - another) for _, _, (item, another) in rows]
    assert apart == sorted(apart, reverse=True) and apart[0] > 0
    first = ada.get(rows[0][1])
    assert first.context["place"] == 1 and not first.context["before"]
    if len(rows) > 1:
        assert first.context["behind"] == rows[1][1]


def test_a_chosen_run_is_offered_however_many_there_are(ada, monkeypatch):
    monkeypatch.setattr(comparing, "MOST_RUNS_LISTED", 1)
    monkeypatch.setattr(queries, "MOST_QRELS_LISTED", 0)
    page = ada.get("/evaluation/compare/?run=good-search")
    choices = {way: [(run.name, ticked) for run, ticked in result] for way, result in page.context["offered"]}
    assert choices["search"] == [("bad-search", False), ("good-search", True)]
    page = ada.get("/evaluation/runs/good-search/queries/?with=bad-search")
    assert [run.name for run in page.context["others"]] == ["bad-search"]


def test_queries_are_paged(ada, monkeypatch):
    monkeypatch.setattr(queries, "QUERIES_PER_PAGE", 2)
    page = ada.get("/evaluation/runs/good-annotation/queries/")
    assert [asking.name for asking, *_ in page.context["rows"]] == ["a.jpg", "b.jpg"]
    page = ada.get(page.context["later"])
    assert [asking.name for asking, *_ in page.context["rows"]] == ["c.jpg"] and not page.context["later"]
    assert "a.jpg#2 caption 2 of a" in words(ada.get("/evaluation/runs/good-search/queries/"))


def test_queries_of_a_run_that_ranks_some_alone_have_their_values(ada, tmp_path):
    run_of(tmp_path, "part", ["b.jpg"])
    page = ada.get("/evaluation/runs/part/queries/?order=worst&with=good-annotation")
    assert page.status_code == 200
    assert [(asking.name, len(values)) for asking, _, values in page.context["rows"]] == [("b.jpg", 2)]
    assert ada.get(f"/evaluation/runs/part/queries/{key('b.jpg')}/").status_code == 200


def test_a_query_that_is_none_is_said_to_be_missing(ada):
    assert ada.get("/evaluation/runs/good-annotation/queries/999999/").status_code == 404
    assert ada.get(f"/evaluation/runs/good-search/queries/{key('a.jpg#0')}/").status_code == 200


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_a_number_that_no_row_can_have_is_no_query(ada, number):
    assert ada.get(f"/evaluation/runs/good-annotation/queries/{number}/").status_code == 404


def test_a_run_of_the_other_direction_cannot_stand_beside(ada):
    page = ada.get("/evaluation/runs/good-annotation/queries/?with=bad-search")
    assert "has another corpus or direction" in words(page)
