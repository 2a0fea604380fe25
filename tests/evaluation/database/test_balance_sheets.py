"""Every import of files reports what it found, imported and skipped; every skipped row of random tables has a
reason."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

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
    *("cross_validate", "evaluate", "extract_features", "freeze_qrels", "rank", "tag", "train_system"),
    # The sheet is that of import_tags, which it uses.
    *("score_tags", "send_upload_part"),
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
        "arrays": (3, 3, {}),
        "queries": (3, 3, {}),
        "captions": (9, 4, {"below_depth": 5}),
        "pairs": (27, 12, {"below_depth": 15}),
    }
    assert Ranking.objects.count() == 3
    text = output_of("import_run", "r", file, "--corpus", corpus, "--format", "scores", "--depth", 4)
    assert "captions: 9 found, 4 taken, left: 5 below the depth that is stored (a.jpg#0, " in text
    added = output_of("add_system", "s", file, "--corpus", corpus, "--format", "scores")
    assert "images: 3 found, 3 taken\ncaptions: 9 found, 9 taken\narrays: 3 found, 3 taken\n" in added


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


def saved(path: Path, arrays: dict[str, Any]) -> Path:
    """Write arrays as the format that the name says; texts of safetensors are metadata."""
    if path.suffix == ".npz":
        np.savez(path, **{name: np.array(value) for name, value in arrays.items()})  # type: ignore[arg-type]
    elif path.suffix == ".safetensors":
        texts = {name: json.dumps(value) for name, value in arrays.items() if isinstance(value, list)}
        numbers = {name: value for name, value in arrays.items() if name not in texts}
        save_file(numbers, path, texts)
    elif path.suffix == ".parquet":
        columns = {"ids": "id", "vectors": "vector", "boxes": "box"}
        table = {columns.get(name, name): list(value) for name, value in arrays.items()}
        pq.write_table(pa.table(table), path)
    else:
        with h5py.File(path, "w") as file:
            for name, value in arrays.items():
                file.create_dataset(name, data=value)
    return path


@pytest.mark.parametrize("ending", [".npz", ".safetensors", ".parquet", ".h5"])
def test_of_random_arrays_each_is_read_or_is_confirmed_to_be_left(ending: str, corpus: str, tmp_path: Path):
    rng = random.Random(ending)
    used = {"vectors", "ids", "boxes"}
    for number in range(3):
        arrays: dict[str, Any] = {"vectors": np.eye(3, dtype=np.float32), "ids": [f"{n}.jpg" for n in IMAGES]}
        kind = rng.choice(["image", "region"])
        more = {"boxes": np.ones((3, 4), np.float32), "logits": np.ones(3), "b": np.ones(3, np.int32)}
        for name, value in more.items():
            if rng.random() < 0.5 or (name, kind) == ("boxes", "region"):
                arrays[name] = value
        file = saved(tmp_path / f"f{number}{ending}", arrays)
        ask = ("import_features", corpus, file, "--name", f"s{number}", "--kind", kind)
        unread = sorted(set(arrays) - used | ({"boxes"} & set(arrays) if kind == "image" else set()))
        if unread:
            with pytest.raises(Exception, match=rf"--leave-unused: .*: {len(unread)} not read by"):
                output_of(*ask)
        confirmed = ["--leave-unused"] if unread else []
        sheet = json.loads(output_of(*ask, *confirmed, "--json"))["sheet"]
        (line,) = (line for line in sheet["lines"] if line["kind"] in ("arrays", "columns"))
        # The ids of safetensors are metadata.
        assert line["found"] == len(arrays) - (ending == ".safetensors")
        assert line["found"] == line["taken"] + len(unread)
        names = [name for rest in line["left"] for name in rest["examples"]]
        assert sorted(names) == sorted("box" if n == "boxes" and ending == ".parquet" else n for n in unread)


def test_a_run_and_a_system_say_which_arrays_nobody_reads(corpus: str, tmp_path: Path):
    images, captions = [f"{name}.jpg" for name in IMAGES], [f"{n}.jpg#{i}" for n in IMAGES for i in range(3)]
    scores = saved(
        tmp_path / "s.npz",
        {"scores": np.eye(3, 9), "images": images, "captions": captions, "temperature": np.ones(1)},
    )
    sides = {"images": np.eye(3), "image_ids": images, "captions": np.ones((9, 3)), "caption_ids": captions}
    both = saved(tmp_path / "e.npz", {**sides, "logits": np.ones(3)})
    for command in ("import_run", "add_system"):
        for file, format, unread in ((scores, "scores", "temperature"), (both, "embeddings", "logits")):
            ask = (command, f"{command}-{format}", file, "--corpus", corpus, "--format", format)
            with pytest.raises(Exception, match=rf"--leave-unused: .*arrays: 1 not read .*{unread}"):
                output_of(*ask)
            assert not Ranking.objects.filter(run__name=ask[1]).exists()
            assert f"{len(sides) + (format == 'embeddings') - (format == 'scores')} found" in output_of(
                *ask, "--leave-unused"
            )
    text = output_of("import_features", corpus, both, "--name", "one", "--leave-unused")
    assert (
        "arrays: 5 found, 2 taken, left: 2 that other imports read (captions, caption_ids); "
        "1 not read by this format (logits)" in text
    )


def test_files_of_ids_that_nobody_needs_are_confirmed(corpus: str, tmp_path: Path):
    names = [f"{name}.jpg" for name in IMAGES]
    needed, spare = tmp_path / "f.ids.txt", tmp_path / "spare.txt"
    for file in (needed, spare):
        file.write_text("\n".join(names))
    bare = saved(tmp_path / "f.npz", {"vectors": np.eye(3)})
    whole = saved(tmp_path / "w.npz", {"vectors": np.eye(3), "ids": names})
    ask = ("import_features", corpus)
    assert "files: 1 found, 1 taken\n" in output_of(*ask, bare, "--name", "bare", "--ids", needed)
    with pytest.raises(Exception, match=r"--leave-unused: .*files: 1 not read by this format .*spare\.txt"):
        output_of(*ask, bare, "--name", "two", "--ids", needed, spare)
    with pytest.raises(Exception, match=r"--leave-unused: .*arrays: 1 not read by this format \(ids\)"):
        output_of(*ask, whole, "--name", "listed", "--ids", needed)
    table = saved(tmp_path / "t.parquet", {"ids": names, "vectors": np.eye(3)})
    with pytest.raises(Exception, match=r"--leave-unused: .*files: 1 not read by this format .*f\.ids\.txt"):
        output_of(*ask, table, "--name", "table", "--ids", needed)


def test_agreement_says_which_columns_of_its_files_nobody_reads(db: None, tmp_path: Path):
    rows = [
        f"{image}.jpg,a#0,{grade},{judge},x\n" for image in IMAGES for grade, judge in ((1, "Ann"), (2, "Bo"))
    ]
    (tmp_path / "t.csv").write_text("image,caption,grade,judge,photographer\n" + "".join(rows))
    text = output_of("agreement", tmp_path / "t.csv", "--resamples", 0)
    assert "columns: 5 found, 4 taken, left: 1 not read by this format (photographer)\n" in text
    assert "pairs: 3 found, 3 taken" in text
