"""Freezing qrels: from judgments with a rule, or by a protocol; in versions, and never incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction

from annotation.common.operations import OperationContext
from annotation.models import Image
from evaluation.models import QrelsRow, QrelsSnapshot
from evaluation.selectors import names_of, qrels_of, snapshot_named
from evaluation.services.common import InputError
from evaluation.services.judgments.freezing import freeze_protocol, freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.judgments.relevance import RelevanceChoice
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.registry import UnknownName
from phrasebox.relevance.qrels import freeze_pairs
from tests.evaluation.database.conftest import output_of

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db


def test_frozen_qrels_are_those_of_the_file(corpus: str, crowd: Path) -> None:
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    report = json.loads(
        output_of("freeze_qrels", "small", "--corpus", corpus, "--judgments", "flickr8k-crowd", "--json")
    )
    pairs = JUDGMENT_FORMATS.get("flickr8k-crowd").read(crowd)
    direct = freeze_pairs(pairs, name="small", originals=[(f"{key}.jpg", f"{key}.jpg#2") for key in "abc"])
    assert report["queries_by_kind"] == {}
    assert report["digest"] == direct.digest
    assert (report["queries"], report["rows"], report["relevant"], report["unjudged"]) == (3, 7, 5, 1)
    stored = qrels_of(snapshot_named("small"), names_of(corpus))
    assert stored.rows == direct.rows
    assert stored.digest == QrelsSnapshot.objects.get().digest


def test_a_new_version_follows_another_rule_and_nothing_else(corpus: str, crowd: Path) -> None:
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    first = freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    again = freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    other_qrels = freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd", relevance=AS_JUDGED)
    assert [(r.version, r.unchanged) for r in (first, again, other_qrels)] == [
        (1, False),
        (1, True),
        (2, False),
    ]
    assert snapshot_named("q").version == 2
    assert snapshot_named("q:1").digest == first.digest
    with pytest.raises(UnknownName, match="unknown qrels 'q:3'"):
        snapshot_named("q:3")


def test_a_version_tells_the_judgments_that_it_was_made_of(corpus: str, crowd: Path) -> None:
    """Other answers may lead to the same rows; the same answers under another name are no news."""
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    first = freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd", name="copy"), OperationContext()
    )
    assert freeze_qrels(name="q", corpus=corpus, judgments="copy").unchanged
    more = crowd.read_text().replace("c.jpg\ta.jpg#2\t0.6666666666666666\t2\t1", "c.jpg\ta.jpg#2\t1.0\t4\t0")
    assert more != crowd.read_text()
    crowd.write_text(more)
    import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd", name="more"), OperationContext()
    )
    second = freeze_qrels(name="q", corpus=corpus, judgments="more")
    assert (second.version, second.unchanged, second.digest) == (2, False, first.digest)
    row = snapshot_named("q").judgments
    assert row is not None and row.name == "more"
    assert freeze_qrels(name="q", corpus=corpus, judgments="more").unchanged


def test_a_freeze_that_fails_leaves_nothing(
    corpus: str, crowd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())

    def broken(*_: object) -> Iterator[list[object]]:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("evaluation.services.judgments.freezing.chunks", broken)
        with pytest.raises(CommandError, match="disk full"):
            output_of("freeze_qrels", "q", "--corpus", corpus, "--judgments", "flickr8k-crowd")
    assert not QrelsSnapshot.objects.exists()
    assert not QrelsRow.objects.exists()


def test_captions_of_several_numbers_are_all_originals(corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("image,caption,grade\na.jpg,a.jpg#0,0\na.jpg,b.jpg#1,1\n")
    import_judgments(JudgmentsImport(corpus=corpus, file=file, format="table"), OperationContext())
    freeze_qrels(name="q", corpus=corpus, judgments="table")
    rows = qrels_of(snapshot_named("q"), names_of(corpus)).rows
    assert [(row.query, row.document, row.judged) for row in rows] == [
        ("a.jpg", "a.jpg#0", True),
        ("a.jpg", "a.jpg#1", False),
        ("a.jpg", "b.jpg#1", True),
        ("b.jpg", "b.jpg#0", False),
        ("b.jpg", "b.jpg#1", False),
    ]
    assert all(row.relevance for row in rows)


def test_freezing_says_how_many_pairs_each_rule_makes_relevant(corpus: str, crowd: Path) -> None:
    """Three pairs have two yeses of three or more; of the originals one was refused and one not judged."""
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    qrels = freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    assert qrels.by_rule == {"half": 5, "majority": 5, "two_thirds": 5}
    tied = crowd.read_text().replace("a.jpg\tb.jpg#2\t0.3333333333333333\t1\t2", "a.jpg\tb.jpg#2\t0.5\t2\t2")
    crowd.write_text(tied)
    import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd", name="tied"), OperationContext()
    )
    text = output_of("freeze_qrels", "tied", "--corpus", corpus, "--judgments", "tied")
    assert "relevant by rule: half 6, majority 5, two_thirds 5" in text


@pytest.mark.parametrize(
    ("arguments", "rows", "pool"),
    [
        (["any of five"], 9, "any of five"),
        (["first caption"], 3, "first caption, number 0"),
        (["one caption"], 3, "one caption, number 2"),
        (["one caption", "--caption", "1"], 3, "one caption, number 1"),
        (["any of five", "--split", "test"], 3, "any of five, split test"),
    ],
)
def test_a_protocol_freezes_originals_without_judgments(
    corpus: str, arguments: list[str], rows: int, pool: str
) -> None:
    Image.objects.filter(key="c").update(split="test")
    command = ["freeze_qrels", "own", "--corpus", corpus, "--protocol", *arguments]
    report = json.loads(output_of(*command, "--json"))
    assert (report["rows"], report["relevant"], report["unjudged"]) == (rows, rows, rows)
    assert (report["pool"], report["version"], report["unchanged"]) == (pool, 1, False)
    stored = QrelsSnapshot.objects.get()
    assert (stored.judgments, stored.pool) == (None, pool)
    assert f"{rows} original pairs" in output_of(*command)
    assert json.loads(output_of(*command, "--json"))["unchanged"]


def test_a_protocol_takes_the_caption_asked_for(corpus: str) -> None:
    freeze_protocol(name="own", corpus=corpus, protocol="one caption", number=1)
    rows = qrels_of(snapshot_named("own"), names_of(corpus)).rows
    assert [(row.query, row.document) for row in rows] == [(f"{k}.jpg", f"{k}.jpg#1") for k in "abc"]


def test_qrels_are_of_judgments_or_of_a_protocol(corpus: str, crowd: Path) -> None:
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    with pytest.raises(
        InputError, match="qrels 'q' already exist and are from judgments, not from a protocol"
    ):
        freeze_protocol(name="q", corpus=corpus, protocol="any of five")
    with pytest.raises(IntegrityError, match="qrels_from_judgments_protocol_or_file"), transaction.atomic():
        QrelsSnapshot.objects.update(pool="any of five")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--protocol", "all"],
            "--protocol: Expected one of: 'one caption', 'first caption' or 'any of five'",
        ),
        (["--protocol", "one caption", "--caption", "3"], "image a.jpg has no caption number 3"),
        (
            ["--protocol", "any of five", "--caption", "1"],
            "--caption: This cannot be combined with “any of five”",
        ),
        (["--protocol", "any of five", "--split", "dev"], "unknown split 'dev' of corpus 'small'; known: ''"),
        (["--protocol", "any of five", "--rule", "half"], "--rule: This cannot be combined with protocol"),
        (["--judgments", "j"], "--judgments: There is no set of judgments “j” here"),
        ([], "--judgments: Expected this or protocol"),
    ],
)
def test_bad_arguments_of_a_freeze_are_one_line(corpus: str, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as error:
        output_of("freeze_qrels", "own", "--corpus", corpus, *arguments)
    assert "\n" not in str(error.value)
    assert not QrelsSnapshot.objects.exists()
