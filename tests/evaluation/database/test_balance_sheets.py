"""Every import of files reports what it found, imported and skipped; every skipped row of random tables has a
reason."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.common.operations import Invalid, OperationContext, all_operations, request_fields
from annotation.models import Campaign, Image
from evaluation.models import PairAnswers, QrelsRow, Ranking
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.judgments.qrels_files import QrelsImport, import_qrels
from evaluation.services.runs.files import RunImport, import_run
from phrasebox.balance import BalanceSheet
from phrasebox.names import escaped
from tests.evaluation.database.conftest import IMAGES, matrix_file, output_of

pytestmark = pytest.mark.django_db

#: Operations whose files contain no names of a corpus, or must fit it completely, such as lists of names.
_NO_IMPORT = {
    *("agreement", "cross_validate", "extract_features", "freeze_qrels", "rank", "tag", "train_system"),
    "send_upload_part",
}
Pairs = dict[tuple[str, str], int]


def counted(sheet: BalanceSheet) -> dict[str, tuple[int, int, dict[str, int]]]:
    """Return kind -> found, imported, and the number skipped for each reason."""
    assert sheet.balanced, sheet
    return {
        line.kind: (line.found, line.taken, {rest.reason: rest.count for rest in line.left})
        for line in sheet.lines
    }


def test_every_import_has_a_balance_sheet():
    for operation in all_operations():
        fields = request_fields(operation.request).values()
        reads = any(field.upload is not None or field.server_file is not None for field in fields)
        if reads and operation.name not in _NO_IMPORT:
            assert "sheet" in getattr(operation.result, "__dataclass_fields__", {}), operation.name
            assert hasattr(operation.run, "__wrapped__"), operation.name


def as_trec(pairs: Pairs, column: bool) -> str:
    return "".join(f"{escaped(image)} 0 {escaped(caption)} {n}\n" for (image, caption), n in pairs.items())


def as_table(pairs: Pairs, column: bool, answer: str = "relevance") -> str:
    rows = [f"{image};{caption};{n};Ann\n" for (image, caption), n in pairs.items()]
    return f"image;caption;{answer};{'photographer' if column else 'id'}\n" + "".join(rows)


def as_grades(pairs: Pairs, column: bool) -> str:
    return as_table(pairs, column, "grade")


def as_json(pairs: Pairs, column: bool) -> str:
    grades: dict[str, dict[str, int]] = {}
    for (image, caption), n in pairs.items():
        grades.setdefault(image, {})[caption] = n
    return json.dumps(grades)


def as_votes(pairs: Pairs, column: bool) -> str:
    rows = (f"{image}\t{caption}\t{n}\t{3 * n}\t{3 - 3 * n}\n" for (image, caption), n in pairs.items())
    return "".join(rows)


def as_expert(pairs: Pairs, column: bool) -> str:
    return "".join(f"{image}\t{caption}\t{1 + n}\t2\t3\n" for (image, caption), n in pairs.items())


WRITERS: dict[str, Callable[[Pairs, bool], str]] = {
    "trec": as_trec,
    "csv": as_table,
    "json": as_json,
    "table": as_grades,
    "flickr8k-crowd": as_votes,
    "flickr8k-expert": as_expert,
}


def imported(format: str, file: Path, corpus: str, *, leave_unused: bool) -> tuple[BalanceSheet, int]:
    """Return the balance sheet of an import, and the number of stored pairs."""
    about: dict[str, Any] = {"name": file.stem, "file": file, "corpus": corpus, "format": format}
    if format in ("trec", "csv", "json"):
        qrels = QrelsImport(**about, asks="image", leave_unused=leave_unused)
        sheet = import_qrels(qrels, OperationContext()).sheet
        return sheet, QrelsRow.objects.filter(snapshot__name=file.stem).count()
    scale = "votes" if format == "table" else None
    judgments = JudgmentsImport(**about, scale=scale, leave_unused=leave_unused)
    sheet = import_judgments(judgments, OperationContext()).sheet
    return sheet, PairAnswers.objects.filter(judgments__name=file.stem).count()


@pytest.mark.parametrize("format", WRITERS)
def test_of_random_judgments_each_pair_is_stored_or_has_a_reason(format: str, corpus: str, tmp_path: Path):
    rng = random.Random(format)
    images = [f"{name}{ending}" for name in (*IMAGES, "none", "a b") for ending in (".jpg", ".JPG")]
    for number in range(4):
        spelled = [rng.choice(images[at : at + 2]) for at in range(0, len(images), 2)]
        names = [f"{rng.choice(spelled)}#{rng.randint(0, 4)}" for _ in range(6)]
        pairs = {("a.jpg", "a.jpg#0"): 1}
        pairs |= {(rng.choice(spelled), caption): rng.randint(0, 1) for caption in dict.fromkeys(names)}
        pairs = {
            pair: grade
            for pair, grade in pairs.items()
            if pair == ("a.jpg", "a.jpg#0")
            or (pair[0].casefold(), pair[1].casefold()) != ("a.jpg", "a.jpg#0")
        }
        column = rng.random() < 0.5
        file = tmp_path / f"t{number}.txt"
        file.write_text(WRITERS[format](pairs, column))
        unknown = sum(
            not all("abc".count(name[0]) and name[1] == "." for name in pair) or pair[1][-1] in "34"
            for pair in pairs
        )
        unread = column and format in ("csv", "table")
        if unknown or unread:
            with pytest.raises(Invalid, match=r"^leave_unused: "):
                imported(format, file, corpus, leave_unused=False)
        sheet, stored = imported(format, file, corpus, leave_unused=True)
        lines = counted(sheet)
        assert lines["pairs"] == (len(pairs), stored, {"unknown": unknown} if unknown else {}), number
        assert stored == len(pairs) - unknown
        if format in ("csv", "table"):
            assert lines["columns"] == (4, 3, {"not_read" if column else "clutter": 1})


def test_a_run_says_what_ranks_below_its_depth(corpus: str, tmp_path: Path):
    captions = [f"{name}.jpg#{number}" for name in IMAGES for number in range(3)]
    scores = np.tile(np.arange(9.0), (3, 1))
    file = matrix_file(tmp_path, "s", scores, [f"{name}.jpg" for name in IMAGES], captions)
    request = RunImport(name="r", file=file, corpus=corpus, format="scores", depth=4)
    sheet = import_run(request, OperationContext()).sheet
    assert counted(sheet) == {
        "queries": (3, 3, {}),
        "captions": (9, 4, {"below_depth": 5}),
        "pairs": (27, 12, {"below_depth": 15}),
    }
    assert Ranking.objects.count() == 3
    text = output_of("import_run", "r", file, "--corpus", corpus, "--format", "scores", "--depth", 4)
    assert "captions: 9 found, 4 taken, left: 5 below the depth that is stored (a.jpg#0, " in text
    added = output_of("add_system", "s", file, "--corpus", corpus, "--format", "scores")
    assert "images: 3 found, 3 taken\ncaptions: 9 found, 9 taken\n" in added


def test_captions_that_are_not_scored_have_a_reason_and_unknown_ones_are_confirmed(
    corpus: str, tmp_path: Path
):
    Image.objects.filter(filename="c.jpg").update(split="test")
    lines = [json.dumps({"image": f"{name}.jpg", "caption": "one"}) for name in (*IMAGES, "none")]
    (tmp_path / "full.jsonl").write_text("\n".join(lines))
    (tmp_path / "part.jsonl").write_text(lines[0])
    files = (tmp_path / "full.jsonl", tmp_path / "part.jsonl")
    ask = (
        "score_captions",
        corpus,
        *files,
        "--measures",
        "BLEU-1",
        "--missing",
        "leave-out",
        "--resamples",
        0,
    )
    with pytest.raises(Exception, match=r"--leave-unused: .*captions: 1 without a match .*none\.jpg"):
        output_of(*ask)
    text = output_of(*ask, "--leave-unused")
    assert (
        "captions: 5 found, 2 taken, left: 1 without a match in the corpus (none.jpg); "
        "2 of images that were left (b.jpg, c.jpg)" in text
    )
    of_split = output_of(*ask[:2], files[0], *ask[4:], "--split", "test", "--leave-unused")
    assert (
        "4 found, 1 taken, left: 1 without a match in the corpus (none.jpg); 2 of images that were not"
        in of_split
    )


def test_users_tags_say_which_images_the_corpus_lacks(corpus: str, tmp_path: Path):
    (tmp_path / "tags.csv").write_text("id,tags\na.jpg,sea\nz.jpg,sky\n")
    output_of("import_weak_collection", "w", tmp_path / "tags.csv")
    ask = ("import_user_tags", "u", "--collection", "w", "--corpus", corpus)
    with pytest.raises(Exception, match=r"--leave-unused: .*images: 1 without a match .*z\.jpg"):
        output_of(*ask)
    sheet = json.loads(output_of(*ask, "--leave-unused", "--json"))["sheet"]
    assert [(line["kind"], line["found"], line["taken"]) for line in sheet["lines"]] == [("images", 2, 1)]
    (tmp_path / "tags.csv").write_text("id,tags\na.jpg,sea\na.JPG,sky\n")
    output_of("import_weak_collection", "twice", tmp_path / "tags.csv")
    with pytest.raises(Exception, match=r"'a\.jpg' and 'a\.JPG' of collection 'twice' are one image"):
        output_of("import_user_tags", "v", "--collection", "twice", "--corpus", corpus)


def test_pairs_of_a_campaign_have_a_balance_sheet_and_bad_files_open_nothing(corpus: str, tmp_path: Path):
    file = tmp_path / "pairs.csv"
    Image.objects.filter(filename="c.jpg").update(width=3, height=900)
    rows = ("a.jpg,a#0,", "a.jpg,b#1,", "a.JPG,a#0,", "c.jpg,a#0,", "a.jpg,b#2,filler")
    file.write_text("\n".join(["image,caption,role,photographer", *(f"{row},Ann" for row in rows)]))
    ask = ("open_campaign", "work", "--corpus", corpus, "--tasks", "graded", "--unpaid", "--pairs", file)
    with pytest.raises(Exception, match=r"--leave-unused: .*columns: 1 not read .*photographer"):
        output_of(*ask)
    assert not Campaign.objects.exists()
    for _ in range(2):  # repeating it changes nothing
        text = output_of(*ask, "--leave-unused")
        assert (
            "pairs: 5 found, 2 taken, left: 1 of images that were left (c); 1 that repeat another (a#0); "
            "1 only to fill up pages (b#2)\npictures too small to be asked about: 1 (c)" in text
        )
    file.write_text("image,caption\nc.jpg,a#0\n")
    with pytest.raises(Exception, match="has no pair to judge, only 1 of images that are too small"):
        output_of("open_campaign", "none", *ask[2:])
    with pytest.raises(Exception, match="--leave-unused: .* pairs"):
        output_of("open_campaign", "none", *ask[2:-2], "--leave-unused")


def test_boxes_without_a_size_of_pictures_that_exif_turned_are_said_to_be_upright(
    corpus: str, tmp_path: Path
):
    Image.objects.update(width=40, height=30)
    Image.objects.filter(filename="b.jpg").update(orientation=6)
    row = {
        "image": "b.jpg",
        "caption": 0,
        "start": 0,
        "end": 1,
        "phrase": "caption",
        "regions": [[1, 1, 5, 5, 1]],
    }
    (tmp_path / "l.jsonl").write_text(json.dumps(row))
    text = output_of("import_localizations", "l", tmp_path / "l.jsonl", "--corpus", corpus)
    note = "images that EXIF turned, whose boxes were taken as those of the upright picture: 1 (b.jpg)"
    assert note in text
    ids, boxes = np.array(["a.jpg", "b.jpg"]), np.array([[1, 1, 5, 5]] * 2)
    np.savez(tmp_path / "f.npz", vectors=np.ones((2, 3)), boxes=boxes, ids=ids)
    regions = ("import_features", corpus, tmp_path / "f.npz", "--name", "r", "--kind", "region")
    assert note in output_of(*regions)
