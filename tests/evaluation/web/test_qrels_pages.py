"""Qrels on pages: frozen by a job, imported, exported, compared with, deleted; and judgments imported."""

from __future__ import annotations

import gzip
import json
import re
from fractions import Fraction
from html import unescape
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation import jobs
from annotation.models import AuditEntry, Image, Job
from evaluation.comparison.subsets import subset_named
from evaluation.models import JudgmentSet, QrelsRow, QrelsSnapshot, Report
from evaluation.selectors import QrelsCounts, counts_of, names_of, qrels_of, snapshot_named
from evaluation.services.common import MOST_READ
from evaluation.services.judgments.freezing import freeze_protocol, freeze_qrels
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.web import qrels
from tests.evaluation.web import little
from tests.factories import a_corpus, some_images
from tests.web.staff import messages_on, press, words

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db

EXPORT = "/operations/export_qrels/file"
FREEZE, IMPORT, LIST = "/evaluation/freeze/", "/evaluation/import/", "/evaluation/qrels/"
PROTOCOL = {"act": "protocol", "name": "own", "corpus": "small", "protocol": "any of five"}
JUDGMENTS = {"act": "judgments", "name": "votes", "corpus": "small", "judgments": "flickr8k-crowd"}
TREC = b"a.jpg 0 a.jpg#2 2\na.jpg 0 b.jpg#0 0\nb.jpg 0 a.jpg#1 1\nc.jpg 0 b.jpg#2 -1\n"
TABLE = "image,caption,grade\na.jpg,a.jpg#0,4.5\na.jpg,b.jpg#0,1\nb.jpg,b.jpg#0,2.25\n"


@pytest.fixture(autouse=True)
def small(db: None) -> str:
    return little.corpus()


def uploaded(content: bytes | str, name: str = "file.txt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def done(page) -> QrelsSnapshot:
    """Return the qrels of the job that a page started; check that both succeeded."""
    assert messages_on(page) == ["Freezing the qrels. They will appear here."]
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, Job.objects.get(pk=job.pk).error
    return snapshot_named(job.arguments["name"])


def error_text(page) -> str:
    """Return the one error line of a refused form: above the forms, or beside a field."""
    assert page.status_code in (400, 409)
    (line,) = re.findall(r'<(?:p|span) class="wrong[^>]*>(.*?)</', page.content.decode(), re.DOTALL)
    assert "\n" not in line
    return unescape(line)


# Freezing


def test_without_qrels_the_list_says_what_they_are_and_how_to_get_some(ada):
    page = ada.get(LIST)
    assert "There are no qrels yet." in words(page)
    for address in (FREEZE, IMPORT):
        assert f'href="{address}"' in page.content.decode()


def test_originals_are_frozen_on_a_fold_by_a_job(ada):
    page = press(ada, FREEZE, "Freeze", name="own", protocol="any of five", split="1/3")
    created = done(page)
    expected = subset_named("small", "1/3")
    assert expected is not None and len(expected.images) == 1
    assert created.pool == "any of five, fold 1/3"
    (line,) = AuditEntry.objects.filter(act="freeze_qrels")
    assert (line.actor_name, line.about["qrels"], line.about["digest"]) == ("ada", "own:1", created.digest)
    assert set(QrelsRow.objects.filter(snapshot=created).values_list("image", flat=True)) == expected.images
    page_text = words(ada.get(LIST))
    assert "own version 1 small originals: any of five, fold 1/3 – 3 1 3 3" in page_text
    assert 'href="/evaluation/qrels/own/">View' in ada.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("requested", "pool", "images"),
    [
        ({}, "any of five", "abc"),
        ({"split": "test"}, "any of five, split test", "ab"),
        ({"split": "run:good-search"}, "any of five, images of run good-search", "abc"),
        ({"protocol": "one caption", "caption": "1"}, "one caption, number 1", "abc"),
        ({"split": "2/3", "fold_seed": "7"}, "any of five, fold 2/3 (seed 7)", None),
    ],
)
def test_originals_are_frozen_as_the_form_says(ada, tmp_path, requested, pool, images):
    little.runs(tmp_path, "good")
    created = done(ada.post(FREEZE, {**PROTOCOL, **requested}, follow=True))
    assert created.pool == pool
    rows = QrelsRow.objects.filter(snapshot=created).values_list("image__key", flat=True)
    if images is not None:
        assert set(rows) == set(images)
    else:
        subset = subset_named("small", "2/3", seed=7)
        assert subset is not None
        assert {Image.objects.get(corpus__name="small", key=key).pk for key in rows} == subset.images


def test_a_file_of_names_chooses_the_images(ada):
    created = done(
        ada.post(FREEZE, {**PROTOCOL, "images": uploaded("c.jpg\na.jpg\n", "te.txt")}, follow=True)
    )
    assert created.pool == "any of five, images in te.txt"
    assert set(QrelsRow.objects.filter(snapshot=created).values_list("image__key", flat=True)) == {"a", "c"}


def test_files_of_judgments_and_qrels_are_noted_once_by_the_account_that_sent_them(ada):
    for _ in range(2):
        ada.post(IMPORT, {**SITS, "file": uploaded(TABLE, "sits.csv")}, follow=True)
    (line,) = AuditEntry.objects.filter(act="add_judgments")
    assert (line.actor_name, line.about["judgments"], line.about["corpus"]) == ("ada", "sits", "small")


def test_judgments_are_frozen_as_the_command_does(ada, tmp_path):
    little.qrels(tmp_path)
    provided = {**JUDGMENTS, "rule": "half", "originals": "true", "split": "test"}
    created = done(ada.post(FREEZE, provided, follow=True))
    command = freeze_qrels(
        name="twin",
        corpus="small",
        judgments="flickr8k-crowd",
        relevance=RelevanceChoice("half"),
        subset=subset_named("small", "test"),
    )
    assert (created.digest, created.rule, created.subset) == (command.digest, "half", "split test")
    # As sent by the form for a box that is not ticked.
    page = ada.get(FREEZE + "?corpus=small&judgments=flickr8k-crowd").content.decode()
    assert '<input type="hidden" name="originals" value="false">' in page
    bare = done(ada.post(FREEZE, {**JUDGMENTS, "name": "bare", "originals": "false"}, follow=True))
    assert not bare.originals


def test_grades_on_a_scale_are_frozen_from_a_score_on(ada):
    ada.post(IMPORT, {**SITS, "file": uploaded(TABLE, "sits.csv")}, follow=True)
    provided = {**JUDGMENTS, "judgments": "sits", "relevant_from": "2.25", "gains": "exponential"}
    created = done(ada.post(FREEZE, {**provided, "summary": "median"}, follow=True))
    assert created.rule == "median 0 to 5 from 2.25 exponential"
    graded = qrels_of(created, names_of("small"))
    assert graded.settings.rule.threshold == Fraction("2.25")  # type: ignore[union-attr]
    assert graded.relevant == {"a.jpg": frozenset({"a.jpg#0"}), "b.jpg": frozenset({"b.jpg#0"})}


@pytest.mark.parametrize(
    ("provided", "says"),
    [
        ({"name": "a b"}, "This is no valid name"),
        ({"corpus": "nowhere"}, "There is no corpus “nowhere” here"),
        ({"protocol": "x"}, "Expected one of: 'one caption', 'first caption' or 'any of five'."),
        ({"caption": "1"}, "This cannot be combined with “any of five”."),
        ({"caption": "one"}, "Expected a whole number."),
        ({"split": "nowhere"}, "There is no split “nowhere” here; known: dev, test."),
        ({"split": "/etc/passwd"}, "There is no split “/etc/passwd” here"),
        ({"split": "7/3"}, "fold 7/3: unknown fold; expected 1/3 to 3/3"),
        ({"split": "1/4"}, "fold 1/4: "),
        ({"split": "run:nobody"}, "There is no split “run:nobody” here"),
        ({"split": "test", "images": "a.jpg\n"}, "This cannot be combined with split."),
        (
            {"images": "a.jpg\nx1.jpg\nx2.jpg\nx3.jpg\nx4.jpg\n"},
            "file.txt: names 4 images ('x1.jpg', 'x2.jpg', 'x3.jpg', ...) that corpus 'small' lacks",
        ),
        ({"images": "a.jpg\na.jpg\nb.jpg\n"}, "file.txt: names 1 image ('a.jpg') more than once"),
        (
            {"images": "\n"},
            "images in file.txt of corpus 'small': it names no image; write one name on each line",
        ),
        ({"images": b"\xff\xfe\x00"}, "file.txt, line 1: is not UTF-16, as its byte order mark says"),
    ],
)
def test_originals_that_cannot_be_frozen_are_refused_in_one_line(ada, provided, says):
    if "images" in provided:
        provided = {**provided, "images": uploaded(provided["images"])}
    assert error_text(ada.post(FREEZE, {**PROTOCOL, **provided})).startswith(says)
    assert not Job.objects.exists() and not QrelsSnapshot.objects.exists()


@pytest.mark.parametrize(
    ("provided", "says"),
    [
        ({"judgments": "none"}, "There is no set of judgments “none” here; known: flickr8k-crowd."),
        ({"rule": "x"}, "Expected one of: 'half', 'majority', 'two_thirds', 'mean_grade'"),
        ({"rule": "mean_grade"}, "judgments 'flickr8k-crowd' are votes; rule 'mean_grade' does not apply"),
        ({"relevant_from": "3"}, "judgments 'flickr8k-crowd' are votes, which have a rule"),
        ({"relevant_from": "much"}, "'much' is not a score; expected a number such as 3 or 2.66"),
        ({"relevant_from": "1e99999999999"}, "'1e99999999999' is not a score"),
        ({"name": "own"}, "qrels 'own' already exist and are from a protocol, not from judgments"),
        ({"name": "theirs"}, "qrels 'theirs' already exist for another corpus; choose another name"),
    ],
)
def test_judgments_that_cannot_be_frozen_are_refused_in_one_line(ada, tmp_path, provided, says):
    little.qrels(tmp_path)
    freeze_protocol(name="own", corpus="small", protocol="any of five")
    a_corpus("other", some_images(1))
    freeze_protocol(name="theirs", corpus="other", protocol="first caption")
    assert error_text(ada.post(FREEZE, {**JUDGMENTS, **provided})).startswith(says)
    assert not Job.objects.exists() and QrelsSnapshot.objects.count() == 3


def test_what_was_given_stays_on_the_form(ada, tmp_path):
    little.qrels(tmp_path)
    page = ada.post(FREEZE, {**JUDGMENTS, "rule": "half", "split": "7/3"}).content.decode()
    assert (
        'value="votes"' in page
        and '<option value="half" selected>half</option>' in page
        and 'value="7/3"' in page
    )


# Import and export

QRELS = {"act": "import_qrels", "name": "theirs", "corpus": "small", "format": "trec"}
SITS = {"act": "import_judgments", "name": "sits", "corpus": "small", "format": "table", "scale": "0-5"}


def test_qrels_come_in_and_go_out_by_page_as_they_were(ada):
    page = ada.post(IMPORT, {**QRELS, "file": uploaded(TREC, "theirs.qrels")}, follow=True)
    assert messages_on(page) == ["pairs: 4 found, 4 taken", "Qrels “theirs” imported, version 1."]
    created = snapshot_named("theirs")
    assert (created.source, created.asks, created.row_count) == ("theirs.qrels", "image", 4)
    text = words(page)
    assert "file theirs.qrels" in text and "2 relevant, 1 unjudged" in text and created.digest in text
    answer = ada.get(f"{EXPORT}?qrels=theirs:1&format=trec")
    assert answer["Content-Disposition"] == 'attachment; filename="theirs-1.qrels"'
    assert b"".join(answer) == TREC
    again = ada.post(IMPORT, {**QRELS, "file": uploaded(TREC, "theirs.qrels")}, follow=True)
    assert messages_on(again) == [
        "pairs: 4 found, 4 taken",
        "Qrels “theirs” already exist, nothing changed.",
    ]


def test_exports_follow_what_the_form_asks(ada):
    Image.objects.filter(corpus__name="small", key="a").update(external_id="42")
    ada.post(IMPORT, {**QRELS, "file": uploaded(TREC)})
    table = press(ada, "/evaluation/qrels/theirs/", "Download", format="csv", ids="external", asks="caption")
    assert b"".join(table).decode().splitlines() == [
        "caption,image,relevance",
        "a.jpg#1,b.jpg,1",
        "a.jpg#2,42,2",
        "b.jpg#0,42,0",
        "b.jpg#2,c.jpg,-1",
    ]
    response = press(ada, "/evaluation/qrels/theirs/", "Download", format="json", only_relevant="on")
    assert json.loads(b"".join(response)) == {"a.jpg": ["a.jpg#2"], "b.jpg": ["a.jpg#1"]}


@pytest.mark.parametrize(
    "requested", ["qrels=theirs&format=xml", "qrels=theirs:9", "qrels=theirs:x", "ids=own"]
)
def test_an_export_that_cannot_be_is_not_there(ada, requested):
    ada.post(IMPORT, {**QRELS, "file": uploaded(TREC)})
    assert ada.get(f"{EXPORT}?{requested}").status_code == 404


def test_a_table_and_a_packed_file_are_read_and_pairs_of_others_left_out_and_counted(ada):
    table = "query,document,relevance\na.jpg,a.jpg#0,3\na.jpg,z.jpg#0,3\n"
    provided = {**QRELS, "format": "csv", "level": "3", "leave_unused": "1", "asks": "both"}
    page = ada.post(
        IMPORT, {**provided, "file": uploaded(gzip.compress(table.encode()), "t.csv.gz")}, follow=True
    )
    assert messages_on(page) == [
        (
            "columns: 3 found, 3 taken · "
            "pairs: 2 found, 1 taken, left: 1 without a match in the corpus (z.jpg#0)"
        ),
        "Qrels “theirs” imported, version 1.",
    ]
    created = snapshot_named("theirs")
    assert (created.asks, created.rule, counts_of([created])[created.pk]) == (
        "",
        "given from 3",
        QrelsCounts({"image": 1, "caption": 1}, 1, 1, 0, False),
    )


@pytest.mark.parametrize(
    ("provided", "content", "says"),
    [
        ({}, None, "This is required."),
        ({"name": "a b"}, TREC, "This is no valid name"),
        ({"corpus": "nowhere"}, TREC, "There is no corpus “nowhere” here"),
        ({"format": "xml"}, TREC, "Expected one of: "),
        ({"asks": "x"}, TREC, "Expected one of: 'image', 'caption' or 'both'."),
        ({"level": "0"}, TREC, "Expected 1 or more."),
        ({}, b"a.jpg 0\n", "file.txt, line 1: "),
        ({}, b"a.jpg 0 a.jpg#0 1\na.jpg 0 a.jpg#0 1\n", "file.txt, line 2: "),
        ({"format": "json"}, b"{", "file.txt: is not JSON"),
        ({"format": "csv"}, b"a,b\n1,2\n", "file.txt, line 1: has the columns a, b"),
        ({}, b"PK\x03\x04\xff\xfe", "file.txt, line 1: "),
        (
            {},
            b"q.jpg 0 q.jpg#0 1\n",
            "file.txt: its queries match neither images nor captions of corpus 'small'",
        ),
        (
            {},
            b"a.jpg 0 a.jpg#0 1\na.jpg 0 z#0 1\na.jpg 0 y#0 1\na.jpg 0 x#0 1\na.jpg 0 w#0 1\n",
            "Found and not used: pairs: 4 without a match in the corpus (z#0, y#0, x#0, w#0).",
        ),
    ],
)
def test_qrels_that_cannot_be_read_are_refused_in_one_line(ada, data_dir: Path, provided, content, says):
    files = {} if content is None else {"file": uploaded(content)}
    reported = error_text(ada.post(IMPORT, {**QRELS, **provided, **files}))
    assert reported.startswith(says) and "(--" not in reported and str(data_dir) not in reported
    assert not QrelsSnapshot.objects.exists()
    assert not list((data_dir / "uploads").glob("*"))


def test_a_packed_file_that_is_cut_short_or_swells_is_refused(ada, data_dir: Path):
    packed = gzip.compress(b"".join(b"a.jpg 0 %d 1\n" % n for n in range(9000)))
    reported = error_text(
        ada.post(IMPORT, {**QRELS, "file": uploaded(packed[: len(packed) // 2], "t.qrels.gz")})
    )
    assert reported.startswith("t.qrels.gz: cannot be unpacked (")
    bomb = gzip.compress(b"\n" * (MOST_READ + 1), mtime=0)
    reported = error_text(ada.post(IMPORT, {**QRELS, "file": uploaded(bomb, "t.qrels.gz")}))
    assert reported.startswith("This unpacks to 16.0") and "expected at most 16.0" in reported
    assert not QrelsSnapshot.objects.exists() and not list((data_dir / "uploads").glob("*"))


def test_judgments_on_a_scale_are_imported_and_listed(ada):
    page = ada.post(
        IMPORT, {**SITS, "leave_unused": "1", "file": uploaded(TABLE + "z.jpg,a.jpg#0,1\n", "sits.csv")}
    )
    assert page.status_code == 302
    judgment_set = JudgmentSet.objects.get(name="sits")
    assert (judgment_set.source, judgment_set.scale, judgment_set.skipped, judgment_set.pair_count) == (
        "sits.csv",
        "0-5",
        1,
        3,
    )
    page = ada.get(LIST)
    assert messages_on(page) == [
        (
            "pairs: 4 found, 3 taken, left: 1 without a match in the corpus (z.jpg) · "
            "columns: 3 found, 3 taken"
        ),
        "Judgments “sits” imported: 3 pairs on the scale 0-5.",
    ]
    assert "sits small A table of judgments" in words(page) and "0-5 3 3 1 Freeze" in words(page)
    assert 'href="/evaluation/freeze/?corpus=small&amp;judgments=sits"' in page.content.decode()


def test_a_page_measures_the_agreement_of_a_set_in_the_list(ada):
    answers = "a.jpg,a.jpg#0,4\na.jpg,a.jpg#0,5\nb.jpg,a.jpg#0,1\nb.jpg,a.jpg#0,0\n"
    ada.post(
        IMPORT, {**SITS, "repeats": "1", "file": uploaded("image,caption,grade\n" + answers, "sits.csv")}
    )
    assert 'href="/operations/agreement/?judgments=small:sits"' in ada.get(LIST).content.decode()
    page = ada.post("/operations/agreement/", {"judgments": "small:sits", "resamples": "20"})
    assert page.status_code == 200
    assert "Krippendorff's alpha, ordinal" in words(page) and "Fleiss' kappa" in words(page)


def test_counts_of_keywords_come_with_their_list(ada):
    table = "utt_key,transcription,counts\na.jpg#0,a dog,dog=4\n"
    files = {"file": uploaded(table, "counts.csv"), "keywords": uploaded("dog\ncat\n", "keywords.txt")}
    provided = {**SITS, "name": "words", "format": "keyword-counts", "scale": ""}
    assert ada.post(IMPORT, {**provided, **files}).status_code == 302
    freeze_qrels(name="words", corpus="small", judgments="words", relevance=AS_JUDGED)
    page = ada.get("/evaluation/qrels/words/")
    assert "The queries of these qrels are keywords" in words(page) and "2 keywords" in words(page)
    answer = ada.get(f"{EXPORT}?qrels=words")
    assert answer.status_code == 409 and "have keywords as queries" in words(answer)


@pytest.mark.parametrize(
    ("provided", "content", "says"),
    [
        ({}, None, "This is required."),
        ({"format": "trec"}, TABLE, "Expected one of: "),
        ({"scale": "wide"}, TABLE, "'wide' is not a scale; expected votes, 1-4, or the least"),
        ({"scale": "1-4"}, TABLE, "file.txt: pair 1, 'a.jpg' and 'a.jpg#0', has the answer 4.5, which is"),
        ({"scale": ""}, TABLE, "file.txt: answers reach from 1 to 4.5, which fits no known scale; name it"),
        ({"name": "a b"}, TABLE, "This is no valid name"),
        ({}, TABLE + "a.jpg,a.jpg#0,4\n", "file.txt, line 5: judges a pair for the second time"),
        ({}, TABLE + "z.jpg,a.jpg#0,4\n", "Found and not used: pairs: 1 without a match in the corpus"),
        ({"format": "flickr8k-crowd", "scale": ""}, TABLE, "file.txt, line 1: "),
        ({"format": "flickr8k-crowd"}, TABLE, "format 'flickr8k-crowd' has answers on the scale votes"),
    ],
)
def test_judgments_that_cannot_be_read_are_refused_in_one_line(ada, data_dir: Path, provided, content, says):
    files = {} if content is None else {"file": uploaded(content)}
    reported = error_text(ada.post(IMPORT, {**SITS, **provided, **files}))
    assert reported.startswith(says) and "(--" not in reported
    assert not JudgmentSet.objects.exists() and not list((data_dir / "uploads").glob("*"))


def test_a_pair_that_comes_twice_may_have_been_answered_twice(ada):
    provided = {**SITS, "repeats": "1", "file": uploaded(TABLE + "a.jpg,a.jpg#0,4\n")}
    assert ada.post(IMPORT, provided).status_code == 302
    assert JudgmentSet.objects.get().answer_count == 4


# A page of qrels


def test_a_page_shows_each_version_and_leads_to_comparisons_and_reports(ada, tmp_path):
    little.qrels(tmp_path)
    little.runs(tmp_path, "good", "bad")
    freeze_qrels(name="crowd", corpus="small", judgments="flickr8k-crowd", relevance=AS_JUDGED)
    first = snapshot_named("crowd", 1)
    Report.objects.create(corpus=first.corpus, name="spring", qrels=first, inputs={}, files={})
    page = ada.get("/evaluation/qrels/crowd/")
    assert page.context["line"].row.version == 2 and "as judged" in words(page)
    assert 'href="/evaluation/qrels/crowd:1/"' in page.content.decode() and "spring" not in words(page)
    page = ada.get("/evaluation/qrels/crowd:1/")
    assert "majority mean > 1/2" in words(page) and "relevant, judged or not" in words(page)
    assert 'href="/evaluation/reports/spring/"' in page.content.decode()
    compared = press(
        ada, "/evaluation/qrels/crowd/", "Compare the selected runs", run=["good-search", "bad-search"]
    )
    assert compared.context["sides"][0].report["version"] == 2
    for nothing in ("crowd:9", "crowd:x", "crowd:"):
        assert ada.get(f"/evaluation/qrels/{nothing}/").status_code == 404


def test_qrels_of_one_side_offer_runs_of_that_side_alone(ada, tmp_path):
    little.runs(tmp_path, "good")
    ada.post(IMPORT, {**QRELS, "file": uploaded(TREC)})
    assert [run.name for run in ada.get("/evaluation/qrels/theirs/").context["runs"]] == ["good-annotation"]


def test_counts_are_those_of_the_rows(tmp_path):
    little.qrels(tmp_path)
    held = qrels_of(snapshot_named("crowd"), names_of("small"))
    crowd = snapshot_named("crowd")
    assert counts_of([crowd])[crowd.pk] == QrelsCounts(
        {},
        len({row.query for row in held.rows}),
        sum(len(items) for items in held.relevant.values()),
        sum(not row.judged for row in held.rows),
        False,
    )


def test_a_version_is_removed_unless_a_report_was_made_from_it(ada, tmp_path):
    little.qrels(tmp_path)
    freeze_qrels(name="crowd", corpus="small", judgments="flickr8k-crowd", relevance=AS_JUDGED)
    first = snapshot_named("crowd", 1)
    Report.objects.create(corpus=first.corpus, name="spring", qrels=first, inputs={}, files={})
    digest = snapshot_named("crowd").digest
    page = press(ada, "/evaluation/qrels/crowd/", "Remove this version")
    assert messages_on(page) == ["The version is removed."]
    (entry,) = AuditEntry.objects.filter(act="remove_qrels")
    assert (entry.actor_name, entry.about) == ("ada", {"qrels": "crowd:2", "digest": digest})
    page = press(ada, "/evaluation/qrels/crowd/", "Remove this version")
    assert page.status_code == 409
    assert "qrels 'crowd version 1' cannot be removed: report spring uses it" in words(page)
    assert AuditEntry.objects.filter(act="remove_qrels").count() == 1
    assert list(QrelsSnapshot.objects.values_list("version", flat=True)) == [1]
    assert QrelsRow.objects.filter(snapshot=first).exists()
    Report.objects.all().delete()
    page = press(ada, "/evaluation/qrels/crowd/", "Remove this version")
    assert page.request["PATH_INFO"] == LIST and not QrelsRow.objects.exists()


def test_judgments_are_removed_unless_qrels_were_frozen_from_them(ada, tmp_path):
    ada.post(IMPORT, {**SITS, "file": uploaded(TABLE, "sits.csv")})
    little.qrels(tmp_path)
    remove = "/operations/remove_judgments/"
    page = ada.post(remove, {"judgments": "small:flickr8k-crowd", "next": LIST})
    assert page.status_code == 409 and "cannot be removed: qrels snapshot crowd version 1" in words(page)
    assert 'name="judgments" value="small:sits"' in ada.get(LIST).content.decode()
    page = ada.post(remove, {"judgments": "small:sits", "next": LIST}, follow=True)
    assert messages_on(page) == ["Judgments removed."]
    (entry,) = AuditEntry.objects.filter(act="remove_judgments")
    assert (entry.actor_name, entry.about["judgments"]) == ("ada", "sits")
    assert list(JudgmentSet.objects.values_list("name", flat=True)) == ["flickr8k-crowd"]


def test_qrels_are_listed_a_page_at_a_time(ada, monkeypatch):
    monkeypatch.setattr(qrels, "QRELS_PER_PAGE", 1)
    for name in ("one", "two"):
        freeze_protocol(name=name, corpus="small", protocol="any of five")
    freeze_protocol(name="one", corpus="small", protocol="first caption")
    page = ada.get(LIST)
    assert [line.row.name for line in page.context["lines"]] == ["one"]
    page = ada.get(f"{LIST}{page.context['page'].later}")
    assert [(line.row.name, line.row.version) for line in page.context["lines"]] == [("two", 1)]
