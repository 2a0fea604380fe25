"""All problems of a source are listed at once, and just these parts are skipped on request."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Picture

from annotation.datasets import layer_rows
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow, ImportReport
from annotation.datasets.source_problems import SourceProblem, SourceProblems
from annotation.images.pictures import PictureError
from annotation.models import Caption, Corpus, Image
from phrasebox.text_files import FormatError
from tests.intake.conftest import everything

pytestmark = pytest.mark.django_db


def draw(path: Path, colour: int = 0) -> None:
    Picture.new("RGB", (40, 30), (colour * 5 % 256, 90, 120)).save(path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Forty pictures with two captions each; two pictures are corrupt, one has no caption (not a problem), a
    caption has no picture, a line has no tab, a caption number occurs twice."""
    folder = tmp_path / "forty"
    (folder / "pictures").mkdir(parents=True)
    lines = []
    for n in range(40):
        draw(folder / "pictures" / f"p{n:02}.jpg", n)
        if n != 39:
            lines += [f"p{n:02}.jpg#{k}\tCaption {k} of picture {n} ." for k in range(2)]
    for n, cut in ((7, 200), (21, 10)):
        whole = (folder / "pictures" / f"p{n:02}.jpg").read_bytes()
        (folder / "pictures" / f"p{n:02}.jpg").write_bytes(whole[:cut])
    lines += ["nobody.jpg#0\tA caption of nothing .", "this line has no tab", "p03.jpg#1\tOnce more ."]
    (folder / "captions.token").write_text("\n".join(lines) + "\n")
    return folder


def brought(source: Path, **how: Any) -> ImportReport:
    return import_corpus(
        name="forty",
        path=source / "captions.token",
        format="flickr8k",
        images=source / "pictures",
        how=ImportHow(leave_unused=True, **how),
    )


#: Sort and the end of the file's name, with its line, of all problems of `source`.
PROBLEMS = {
    ("picture", "p07.jpg", None),
    ("picture", "p21.jpg", None),
    ("no_picture", "nobody.jpg", None),
    ("line", "captions.token", 80),
    ("repeated", "captions.token", 81),
}


def problem_rows(problems: Any) -> set[tuple[str, str, int | None]]:
    return {(problem.sort, Path(problem.file).name, problem.line) for problem in problems}


def test_everything_that_is_wrong_is_listed_at_once_and_nothing_is_stored(source: Path, data_dir: Path):
    before = everything(data_dir)
    with pytest.raises(SourceProblems) as error:
        brought(source)
    blocking = {item for item in PROBLEMS if item[0] != "no_picture"}
    assert problem_rows(error.value.problems) == blocking
    assert "4 problems, so nothing was imported" in str(error.value)
    assert not Corpus.objects.exists() and not Image.objects.exists()
    assert everything(data_dir) == before


def test_each_problem_says_what_it_is_and_what_to_do(source: Path):
    problems = {Path(problem.file).name: problem for problem in brought(source, dry_run=True).problems}
    assert all(problem.what and problem.remedy for problem in problems.values())
    assert "cannot be decoded" in problems["p07.jpg"].what
    assert "save the picture again" in problems["p07.jpg"].remedy
    assert "add the picture to" in problems["nobody.jpg"].remedy


def test_a_dry_run_lists_the_same_and_stores_nothing(source: Path, data_dir: Path):
    before = everything(data_dir)
    report = brought(source, dry_run=True)
    assert problem_rows(report.problems) == PROBLEMS
    assert report.dry_run and not report.unchanged and report.pictures == 37
    assert not Corpus.objects.exists() and everything(data_dir) == before


def test_just_what_is_listed_is_left_out(source: Path):
    report = brought(source, skip_problems=True)
    assert problem_rows(report.problems) == PROBLEMS
    keys = set(Image.objects.values_list("key", flat=True))
    assert keys == {f"p{n:02}" for n in range(39)} - {"p07", "p21"}
    assert Caption.objects.count() == 2 * 37 == report.captions
    assert list(Image.objects.order_by("position").values_list("position", flat=True)) == list(range(37))
    assert Corpus.objects.get().published
    again = brought(source, skip_problems=True)
    assert again.unchanged and problem_rows(again.problems) == PROBLEMS


def test_problems_in_later_portions_end_an_import_whose_first_portions_were_written(
    source: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 5)
    before = everything(data_dir)
    (source / "captions.token").write_text(
        "\n".join(
            line for line in (source / "captions.token").read_text().splitlines() if "\t" in line
        ).replace("p03.jpg#1\tOnce more .", "")
    )
    with pytest.raises(SourceProblems) as error:
        brought(source)
    assert problem_rows(error.value.problems) == {("picture", "p07.jpg", None), ("picture", "p21.jpg", None)}
    assert not Corpus.objects.exists() and everything(data_dir) == before
    assert brought(source, skip_problems=True).images == 37


def test_one_problem_alone_is_told_as_it_ever_was(tmp_path: Path):
    (tmp_path / "c.token").write_text("a.jpg#0\tA dog .\nno tab here\n")
    with pytest.raises(FormatError, match=r"c\.token, line 2: 'no tab here' holds no tab; expected name"):
        import_corpus(name="one", path=tmp_path / "c.token", format="flickr8k")
    (tmp_path / "c.token").write_text("a.jpg#0\tA dog .\n")
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    with pytest.raises(PictureError, match=r"a\.jpg: is not a picture; expected a JPEG"):
        import_corpus(name="one", path=tmp_path / "c.token", format="flickr8k", images=tmp_path)


def test_an_archive_holds_its_pictures_beside_its_captions_and_problems_name_its_entries(source: Path):
    packed = source.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(source.rglob("*.*")):
            archive.write(file, file.relative_to(source).as_posix())
    how = ImportHow(skip_problems=True, leave_unused=True)
    report = import_corpus(name="packed", path=packed, format="flickr8k", how=how)
    assert {(problem.sort, problem.file, problem.line) for problem in report.problems} == {
        (
            sort,
            name if "." not in name or sort in ("line", "repeated", "no_picture") else f"pictures/{name}",
            at,
        )
        for sort, name, at in PROBLEMS
    }
    assert report.pictures == 37


@pytest.mark.parametrize(
    ("format", "name", "content", "lines"),
    [
        (
            "jsonl",
            "corpus.jsonl",
            (
                '{"id": "a", "filename": "a.jpg", "captions": [{"text": "A dog ."}]}\n'
                '{"id": "b", "filename": "b.jpg"\n'
                '{"id": "a", "filename": "a.jpg", "captions": [{"text": "A dog ."}]}\n'
                '{"id": "c", "filename": "c.jpg", "captions": [{"text": "  "}]}\n'
                '{"id": "d", "filename": "d.jpg", "captions": [{"text": "A cat ."}]}\n'
            ),
            [2, 3, 4],
        ),
        (
            "csv",
            "captions.csv",
            "image,caption\r\na.jpg,A dog .\r\nb.jpg\r\nc.jpg,\r\nd.jpg,A cat .\r\n",
            [3, 4],
        ),
        (
            "flickr30k",
            "captions.json",
            json.dumps({"a.jpg": ["A dog ."], "b.jpg": 7, "c.jpg": [3], "d.jpg": ["A cat ."]}),
            [None, None],
        ),
        (
            "karpathy",
            "dataset.json",
            json.dumps(
                {
                    "images": [
                        {"filename": "a.jpg", "sentences": [{"raw": "A dog ."}]},
                        {"filename": 5, "sentences": []},
                        {"filename": "b.jpg", "sentences": "none"},
                        {"filename": "d.jpg", "sentences": [{"raw": "A cat ."}]},
                    ]
                }
            ),
            [None, None],
        ),
        (
            "coco",
            "captions.json",
            json.dumps(
                {
                    "images": [
                        {"id": 1, "file_name": "a.jpg"},
                        {"id": 1, "file_name": "b.jpg"},
                        {"id": 2, "file_name": "d.jpg"},
                    ],
                    "annotations": [
                        {"id": 1, "image_id": 1, "caption": "A dog ."},
                        {"id": 2, "image_id": 2, "caption": ""},
                        {"id": 3, "image_id": 9, "caption": "A stray ."},
                        {"id": 4, "image_id": 2, "caption": "A cat ."},
                    ],
                }
            ),
            [None, None, None],
        ),
    ],
)
def test_every_format_tells_all_that_is_wrong_and_goes_on(
    tmp_path: Path, format: str, name: str, content: str, lines: list[int | None]
):
    (tmp_path / name).write_bytes(content.encode())
    whole: Any = {"name": "some", "path": tmp_path / name, "format": format}
    with pytest.raises(SourceProblems) as error:
        import_corpus(**whole)
    assert [problem.line for problem in error.value.problems] == lines
    report = import_corpus(**whole, how=ImportHow(skip_problems=True))
    assert [problem.line for problem in report.problems] == lines
    assert set(Image.objects.values_list("key", flat=True)) == {"a", "d"}


def test_what_cannot_be_read_at_all_is_no_problem_to_be_left_out(tmp_path: Path):
    (tmp_path / "captions.json").write_text('{"annotations": []}\n')
    with pytest.raises(FormatError, match='has no list "images"'):
        import_corpus(
            name="x", path=tmp_path / "captions.json", format="coco", how=ImportHow(skip_problems=True)
        )


def command(source: Path, *more: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(
        "import_corpus",
        "forty",
        str(source / "captions.token"),
        "--format=flickr8k",
        f"--images={source / 'pictures'}",
        "--leave-unused",
        *more,
        stdout=out,
        stderr=err,
    )
    return out.getvalue(), err.getvalue()


def test_the_command_lists_all_problems_and_says_how_to_leave_them_out(source: Path):
    with pytest.raises(CommandError, match="4 problems.*leave out just these") as error:
        call_command(
            "import_corpus",
            "forty",
            str(source / "captions.token"),
            "--format=flickr8k",
            f"--images={source / 'pictures'}",
        )
    assert len(str(error.value).splitlines()) == 5
    out, _ = command(source, "--dry-run")
    assert "5 problems, of which 4 end an import that skips none" in out
    assert "nothing was stored" in out and not Corpus.objects.exists()
    out, _ = command(source, "--skip-problems", "--json")
    report = json.loads(out.splitlines()[-1])
    assert problem_rows(SourceProblem(**problem) for problem in report["problems"]) == PROBLEMS
    assert (report["skipped"], report["images"]) == (True, 37)
    out, _ = command(source, "--skip-problems")
    assert "left out 5 problems: those listed, nothing else" in out
