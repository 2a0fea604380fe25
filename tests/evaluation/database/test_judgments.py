"""External judgments in the database: exports equal the file, and nothing is incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction
from django.db.models import CharField
from django.db.models.functions import Cast

from annotation.common.locks import locked_folder
from annotation.common.operations import Invalid, OperationContext
from annotation.datasets.importing import import_corpus, import_records
from annotation.datasets.intake import ImportHow
from annotation.models import Caption, Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import JudgmentSet, PairAnswers, QrelsRow
from evaluation.selectors import judged_pairs, judgment_set, names_of, qrels_of, snapshot_named
from evaluation.services.common import InputError
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import (
    JudgmentsImport,
    JudgmentsTarget,
    import_judgments,
    store_judgments,
)
from evaluation.services.judgments.relevance import RelevanceChoice
from phrasebox.agreement.summary import Resampling, agreement_within
from phrasebox.formats import JUDGMENT_FORMATS, JudgedPair
from phrasebox.registry import UnknownName
from phrasebox.relevance.qrels import freeze_pairs
from phrasebox.relevance.scales import VOTE_SCALE
from phrasebox.text_files import FormatError
from studies.hodosh.conventions import CHOSEN_CONVENTIONS
from studies.hodosh.evidence import Evidence
from studies.hodosh.report import cells_of
from tests.evaluation.database.conftest import output_of
from tests.evaluation.flickr8k_part import part_of_flickr8k

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db


def read_back(corpus: str, name: str) -> list[JudgedPair]:
    return list(judged_pairs(judgment_set(corpus, name), names_of(corpus)))


def test_judgments_come_back_as_the_file_has_them(corpus: str, crowd: Path) -> None:
    report = import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext()
    )
    assert (report.judgments, report.pairs, report.answers, report.unchanged) == (
        "flickr8k-crowd",
        6,
        18,
        False,
    )
    assert read_back(corpus, "flickr8k-crowd") == list(JUDGMENT_FORMATS.get("flickr8k-crowd").read(crowd))


def test_named_judges_and_grades_come_back(corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("image,caption,judge,grade\na.jpg,b.jpg#0,ann,1.5\na.jpg,b.jpg#0,bob,-2\n")
    import_judgments(
        JudgmentsImport(corpus=corpus, file=file, format="table", name="experts", scale="-2-2"),
        OperationContext(),
    )
    assert read_back(corpus, "experts") == [JudgedPair("a.jpg", "b.jpg#0", (1.5, -2.0), ("ann", "bob"))]


def test_judges_of_nearly_one_name_are_asked_about(corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("image,caption,judge,grade\na.jpg,b.jpg#0,Ann,1\na.jpg,b.jpg#0,ann,0\n")
    request = JudgmentsImport(corpus=corpus, file=file, format="table", name="two", scale="votes")
    with pytest.raises(InputError, match="'Ann' and 'ann' differ in capitals or spaces alone"):
        import_judgments(request, OperationContext())
    import_judgments(replace(request, distinct_judges=True), OperationContext())
    assert read_back(corpus, "two")[0].judges == ("Ann", "ann")


def test_ids_that_two_captions_or_two_images_have_name_neither(corpus: str, tmp_path: Path) -> None:
    """Corpora may number the captions of each image from 0."""
    captions = Caption.objects.filter(image__corpus__name=corpus)
    captions.update(external_id=Cast("number", CharField()))
    captions.filter(image__key="a", number=0).update(external_id="the first")
    Image.objects.filter(corpus__name=corpus).update(external_id="42")
    names = names_of(corpus)
    assert "the first" in names.caption and "1" not in names.caption and "42" not in names.image
    file = tmp_path / "table.csv"
    file.write_text("image,caption,grade\na.jpg,b.jpg#1,1\nb.jpg,the first,1\n")
    import_judgments(
        JudgmentsImport(corpus=corpus, file=file, format="table", scale=VOTE_SCALE.name), OperationContext()
    )
    assert [(pair.query, pair.document) for pair in read_back(corpus, "table")] == [
        ("a.jpg", "b.jpg#1"),
        ("b.jpg", "the first"),
    ]
    file.write_text("image,caption,grade\na.jpg,1,1\n")
    with pytest.raises(FormatError, match="'1' is the name of both caption 1 of 'a.jpg' and"):
        import_judgments(
            JudgmentsImport(corpus=corpus, file=file, format="table", name="other", scale=VOTE_SCALE.name),
            OperationContext(),
        )


def test_keys_are_understood_and_written_as_file_names(corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("image,caption,grade\na,b#1,1\n")
    import_judgments(
        JudgmentsImport(corpus=corpus, file=file, format="table", scale=VOTE_SCALE.name), OperationContext()
    )
    assert read_back(corpus, "table") == [JudgedPair("a.jpg", "b.jpg#1", (1.0,))]


def test_keywords_ask_without_an_image(corpus: str, tmp_path: Path) -> None:
    """Even where the keyword is spelt as an image's key."""
    (tmp_path / "keywords.txt").write_text("dog\na\n")
    file = tmp_path / "counts.csv"
    file.write_text("utt_key,transcription,counts\na_1,a dog,dog=4\n")
    import_judgments(JudgmentsImport(corpus=corpus, file=file, format="keyword-counts"), OperationContext())
    payload = json.loads(output_of("agreement", "--judgments", "keyword-counts", "--json"))
    direct = json.loads(output_of("agreement", file, "--format", "keyword-counts", "--json"))
    payload, direct = payload["within"], direct["within"]
    assert payload["alpha"] == direct["alpha"] and payload["fleiss"] == direct["fleiss"]
    remarks = [row["reason"] for row in (*payload["alpha"].values(), payload["fleiss"])]
    assert any("keyword" in remark for remark in remarks) and not any("image" in remark for remark in remarks)
    answers = [(pair.query, pair.document, sum(pair.grades)) for pair in read_back(corpus, "keyword-counts")]
    assert answers == [("dog", "a.jpg#1", 4), ("a", "a.jpg#1", 0)]
    with pytest.raises(InputError, match="keywords have no originals"):
        freeze_qrels(name="words", corpus=corpus, judgments="keyword-counts")
    frozen = freeze_qrels(name="words", corpus=corpus, judgments="keyword-counts", relevance=AS_JUDGED)
    assert (frozen.rows, frozen.relevant) == (2, 1)
    asking = QrelsRow.objects.filter(image__isnull=True).values_list("keyword", flat=True)
    assert set(asking) == {"dog", "a"}


def test_a_keyword_has_two_hundred_characters_at_most(corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("utt_key,transcription,counts\na_1,a dog,dog=4\n")
    (tmp_path / "keywords.txt").write_text(f"dog\n{'x' * 201}\n")
    with pytest.raises(InputError, match="a keyword of 201 characters"):
        import_judgments(
            JudgmentsImport(corpus=corpus, file=file, format="keyword-counts"), OperationContext()
        )
    (tmp_path / "keywords.txt").write_text(f"dog\n{'x' * 200}\n")
    import_judgments(JudgmentsImport(corpus=corpus, file=file, format="keyword-counts"), OperationContext())
    assert [pair.query for pair in read_back(corpus, "keyword-counts")] == ["dog", "x" * 200]


def test_a_caption_number_that_its_source_skips_is_unknown(db: None, tmp_path: Path) -> None:
    captions = (CaptionRecord("one", id="a.jpg#0"), CaptionRecord("three", id="a.jpg#2"))
    records = [ImageRecord(id="a", filename="a.jpg", captions=captions)]
    import_records(name="gap", records=records, format="jsonl", source="memory")
    file = tmp_path / "table.csv"
    file.write_text("image,caption,grade\na.jpg,a.jpg#2,1\n")
    import_judgments(
        JudgmentsImport(corpus="gap", file=file, format="table", scale=VOTE_SCALE.name), OperationContext()
    )
    assert PairAnswers.objects.get().caption.text == "three"
    file.write_text("image,caption,grade\na.jpg,a.jpg#1,1\na.jpg,a.jpg#2,1\n")
    with pytest.raises(Invalid, match=r"pairs: 1 without a match in the corpus \(a.jpg#1\)"):
        import_judgments(
            JudgmentsImport(corpus="gap", file=file, format="table", name="other"), OperationContext()
        )


def test_the_same_file_again_changes_nothing(corpus: str, crowd: Path) -> None:
    first = import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext()
    )
    rows = set(PairAnswers.objects.values_list("pk", flat=True))
    again = import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext()
    )
    assert (first.unchanged, again.unchanged, again.digest) == (False, True, first.digest)
    assert set(PairAnswers.objects.values_list("pk", flat=True)) == rows


def test_other_content_under_a_name_is_refused(corpus: str, crowd: Path) -> None:
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    crowd.write_text("a.jpg\ta.jpg#2\t1.0\t3\t0\n")
    with pytest.raises(InputError, match="already exist with other content.*choose another name"):
        import_judgments(
            JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext()
        )
    assert PairAnswers.objects.count() == 6


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "z.jpg\ta.jpg#2\t1.0\t3\t0",
            r"--leave-unused: Found and not used: pairs: 1 without a match in the corpus \(z.jpg\)",
        ),
        ("a.jpg\ta.jpg#9\t1.0\t3\t0", r"pairs: 1 without a match in the corpus \(a.jpg#9\)"),
        ("a\tb.jpg#2\t1.0\t3\t0", "pair 7, 'a' and 'b.jpg#2', was already judged under another spelling"),
        ("a.jpg\ta.jpg#2\t1.0\t3\t0", "line 7: .* were already judged on line 1"),
        ("a.jpg\ta.jpg#2\t0.9\t3\t0", "line 7: .* are not answers"),
    ],
)
def test_a_bad_line_is_named_and_leaves_nothing(
    corpus: str, crowd: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setattr("evaluation.services.judgments.importing.ROWS_PER_INSERT", 2)
    crowd.write_text(crowd.read_text() + line + "\n")
    with pytest.raises(CommandError, match=message) as error:
        output_of("import_judgments", corpus, crowd, "--format", "flickr8k-crowd")
    assert "\n" not in str(error.value)
    assert not JudgmentSet.objects.exists()
    assert not PairAnswers.objects.exists()


def test_a_killed_import_is_unseen_and_swept_by_the_next(
    corpus: str, crowd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.services.judgments.importing.ROWS_PER_INSERT", 2)
    with monkeypatch.context() as killed:
        # A killed process cleans up nothing.
        killed.setattr("evaluation.services.judgments.importing._sweep", lambda created: None)

        def cut(pairs: Iterable[JudgedPair]) -> Iterator[JudgedPair]:
            for number, pair in enumerate(pairs):
                if number == 3:
                    raise KeyboardInterrupt
                yield pair

        with pytest.raises(KeyboardInterrupt):
            reader = JUDGMENT_FORMATS.get("flickr8k-crowd")
            index = JudgmentsTarget(
                corpus=corpus, name=reader.key, format=reader.key, source="crowd.txt", scale=reader.scale
            )
            store_judgments(cut(reader.read(crowd)), index)
    assert PairAnswers.objects.count() == 2
    with pytest.raises(UnknownName, match="known: none"):
        judgment_set(corpus, "flickr8k-crowd")
    assert not import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext()
    ).unchanged
    assert PairAnswers.objects.count() == 6


def test_a_pair_asks_of_an_image_or_of_a_keyword(corpus: str, crowd: Path) -> None:
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    pair = PairAnswers.objects.first()
    assert pair is not None
    with pytest.raises(IntegrityError, match="pair_asks_of_image_or_keyword"), transaction.atomic():
        PairAnswers.objects.filter(pk=pair.pk).update(keyword="dog")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["large", "--format", "flickr8k-crowd"], "corpus: There is no corpus “large” here; known: small"),
        (["small", "--format", "xml"], "--format: Expected one of: 'cxc-sits', 'flickr8k-crowd'"),
        (["small", "--format", "flickr8k-crowd", "--name", "my set"], "--name: This is no valid name"),
    ],
)
def test_bad_arguments_are_one_line(corpus: str, crowd: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as error:
        output_of("import_judgments", arguments[0], crowd, *arguments[1:])
    assert "\n" not in str(error.value)


def test_two_imports_of_one_name_do_not_mix(corpus: str, crowd: Path) -> None:
    with locked_folder(f"judgments.{corpus}.j", busy=""), pytest.raises(CommandError) as error:
        output_of("import_judgments", corpus, crowd, "--format", "flickr8k-crowd", "--name", "j")
    assert "judgments 'j': another process is writing under this name" in str(error.value)
    assert not JudgmentSet.objects.exists()


def test_a_missing_file_is_one_line(corpus: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="absent.txt: no such file or folder"):
        output_of("import_judgments", corpus, tmp_path / "absent.txt", "--format", "flickr8k-crowd")


def test_agreement_of_imported_judgments_is_that_of_the_files(
    corpus: str, crowd: Path, tmp_path: Path
) -> None:
    graded = tmp_path / "graded.csv"
    graded.write_text(
        "image,caption,judge,grade\na.jpg,a.jpg#2,ann,4\na.jpg,a.jpg#2,bob,3\n"
        "a.jpg,b.jpg#2,ann,1\na.jpg,b.jpg#2,bob,2\nb.jpg,b.jpg#2,ann,1\nb.jpg,b.jpg#2,bob,1\n"
    )
    import_judgments(
        JudgmentsImport(corpus=corpus, file=graded, format="table", name="graded"), OperationContext()
    )
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    files = [graded, "--against", crowd, "--against-format", "flickr8k-crowd"]
    names = ["--judgments", f"{corpus}:graded", "--against-judgments", "flickr8k-crowd"]
    more = ["--resamples", 20, "--json"]

    def figures(*options: Any) -> dict[str, Any]:
        return {**json.loads(output_of("agreement", *options, *more)), "basis": None, "sheet": None}

    assert figures(*names[:2]) == figures(graded)
    between_sets = figures(*names)
    assert between_sets == figures(*files)
    assert between_sets == figures(graded, *names[2:])
    assert between_sets["between"]["common"] == 3
    with pytest.raises(CommandError, match="There is no set of judgments “x” here; known: small:flickr8k-cr"):
        output_of("agreement", "--judgments", "x")


def test_a_truncated_file_names_its_line(corpus: str, crowd: Path) -> None:
    crowd.write_text(crowd.read_text()[:-8])
    with pytest.raises(FormatError, match="line 6"):
        import_judgments(
            JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext()
        )


@pytest.mark.parametrize(
    ("images", "pairs", "rows", "relevant"),
    [
        pytest.param(200, (246, 2048), 2109, 269, id="of 200 images"),
        pytest.param(None, (5822, 47830), 48109, 3004, id="whole", marks=pytest.mark.slow),
    ],
)
def test_flickr8k_from_the_database_is_flickr8k_from_the_files(
    real_data: Path, tmp_path: Path, images: int | None, pairs: tuple[int, int], rows: int, relevant: int
) -> None:
    folder = real_data / "flickr8k"
    if images is not None:
        folder = part_of_flickr8k(folder, tmp_path, images=images)
    import_corpus(name="f8k", path=folder, format="flickr8k", how=ImportHow(leave_unused=True))
    expert, crowd = (
        import_judgments(
            JudgmentsImport(corpus="f8k", file=folder, format=f"flickr8k-{who}"), OperationContext()
        )
        for who in ("expert", "crowd")
    )
    assert (expert.pairs, crowd.pairs) == pairs
    names = (folder / "Flickr_8k.testImages.txt").read_text().split()
    for who in ("expert", "crowd"):
        straight = list(JUDGMENT_FORMATS.get(f"flickr8k-{who}").read(folder))
        stored = read_back("f8k", f"flickr8k-{who}")
        assert stored == straight
        assert agreement_within(stored, Resampling(resamples=20)) == agreement_within(
            straight, Resampling(resamples=20)
        )
    qrels = freeze_qrels(name="hodosh", corpus="f8k", judgments="flickr8k-crowd")
    direct = freeze_pairs(straight, name="hodosh", originals=[(image, f"{image}#2") for image in names])
    assert (qrels.digest, qrels.rows, qrels.relevant) == (direct.digest, rows, relevant)
    assert qrels_of(snapshot_named("hodosh"), names_of("f8k")).digest == direct.digest
    imported = Evidence.read(
        folder, experts=read_back("f8k", "flickr8k-expert"), crowd=read_back("f8k", "flickr8k-crowd")
    )
    assert cells_of(imported, CHOSEN_CONVENTIONS) == cells_of(Evidence.read(folder), CHOSEN_CONVENTIONS)


@pytest.mark.slow
def test_semantic_flickraudio_imports(real_data: Path) -> None:
    how = ImportHow(leave_unused=True)
    import_corpus(name="f8k", path=real_data / "flickr8k", format="flickr8k", how=how)
    source = real_data / "semantic_flickraudio"
    report = import_judgments(
        JudgmentsImport(corpus="f8k", file=source, format="keyword-counts", name="audio"),
        OperationContext(),
    )
    assert report.pairs == 67_000
    frozen = freeze_qrels(name="audio", corpus="f8k", judgments="audio", relevance=AS_JUDGED)
    assert (frozen.queries, frozen.rows) == (67, 67_000)
    stored = [(pair.query, pair.grades) for pair in read_back("f8k", "audio")]
    assert stored == [
        (pair.query, pair.grades) for pair in JUDGMENT_FORMATS.get("keyword-counts").read(source)
    ]
