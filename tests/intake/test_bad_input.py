"""Bad input, through the command: one clear line, and nothing left in the database or in DATA_DIR."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Picture

from annotation.datasets import layer_rows
from tests.factories import a_corpus, some_images
from tests.house.product import manage, migrated
from tests.intake.conftest import everything
from tests.intake.test_pictures import a_bomb

REPOSITORY = Path(__file__).resolve().parents[2]

GOOD = "1.jpg#0\tA dog runs .\n2.jpg#0\tA cat sits .\n"
SENTENCE = "[/EN#1/people A man] runs .\n"


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def token(folder: Path, content: str | bytes) -> list[str]:
    return [str(put(folder / "x.token.txt", content)), "--format", "flickr8k"]


def flickr30k(folder: Path, content: str | bytes) -> list[str]:
    return [str(put(folder / "x.json", content)), "--format", "flickr30k"]


def pictured(folder: Path, spoil: Callable[[Path], object]) -> list[str]:
    """Write two good captions; image 1 has a good picture, image 2 the result of `spoil`."""
    put(folder / "pictures" / ".keep", "")
    Picture.new("RGB", (40, 30)).save(folder / "pictures" / "1.jpg")
    spoil(folder / "pictures" / "2.jpg")
    return [*token(folder, GOOD), "--images", str(folder / "pictures")]


def entities(folder: Path, xml: str, sentence: str = SENTENCE) -> list[str]:
    put(folder / "x" / "Sentences" / "1.txt", SENTENCE)
    put(folder / "x" / "Sentences" / "2.txt", sentence)
    put(folder / "x" / "Annotations" / "2.xml", xml)
    return [str(folder / "x"), "--format", "entities"]


def zipped(folder: Path, *names: str) -> list[str]:
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return [str(folder / "x.zip"), "--format", "flickr8k"]


def tarred(folder: Path, name: str, **more: object) -> list[str]:
    with tarfile.open(folder / "x.tar.gz", "w:gz") as archive:
        for entry in ("x.token.txt", name):
            member = tarfile.TarInfo(entry)
            member.size = len(GOOD)
            if entry == name:
                for key, value in more.items():
                    setattr(member, key, value)
            archive.addfile(member, io.BytesIO(GOOD.encode()))
    return [str(folder / "x.tar.gz"), "--format", "flickr8k"]


BAD: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "truncated JSON": (
        lambda f: flickr30k(f, '{"1.jpg": ["A dog .", "p/1.jpg"], "2.jpg": ["A ca'),
        r"x\.json.*: .*(end|truncat|incomplete|cut)",
    ),
    "no tab": (
        lambda f: token(f, GOOD + "3.jpg A bird .\n"),
        r"x\.token\.txt, line 3: .*holds no tab; expected name\.jpg#number<TAB>caption",
    ),
    "the same caption twice": (lambda f: token(f, GOOD + "1.jpg#0\tAgain .\n"), r"line 3: .*(second|twice)"),
    "the same image twice": (
        lambda f: flickr30k(f, '{"1.jpg": ["A dog .", "p/1.jpg"], "1.jpg": ["A cat .", "p/1.jpg"]}'),
        r"x\.json.*'1.jpg'.*second",
    ),
    "an image that is none": (lambda f: pictured(f, lambda p: put(p, "hello")), r"2\.jpg: is not a picture"),
    "a picture cut short": (
        lambda f: pictured(f, lambda p: put(p, (p.parent / "1.jpg").read_bytes()[:300])),
        r"2\.jpg: cannot be decoded",
    ),
    "a decompression bomb": (
        lambda f: pictured(f, lambda p: a_bomb(p, 60_000)),
        r"2\.jpg: has too many pixels",
    ),
    "a picture of another size": (
        lambda f: [
            *entities(
                f,
                "<annotation><filename>2.jpg</filename><size><width>99</width><height>30</height>"
                "<depth>3</depth></size></annotation>",
            ),
            *pictured(f, lambda p: Picture.new("RGB", (40, 30)).save(p))[-2:],
        ],
        r"2\.jpg: is 40 x 30 pixels; expected 99 x 30",
    ),
    "an archive path outside": (
        lambda f: zipped(f, "x.token.txt", "../../outside.txt"),
        r"x\.zip: .*'\.\./\.\./outside\.txt' leads outside",
    ),
    "an absolute path in a tar": (lambda f: tarred(f, "/outside.txt"), r"x\.tar\.gz: .*leads outside"),
    "a link in a tar": (
        lambda f: tarred(f, "link", type=tarfile.SYMTYPE, linkname="/etc/passwd", size=0),
        r"x\.tar\.gz: .*'link' is a link",
    ),
    "an archive that is none": (
        lambda f: [str(put(f / "x.zip", "PK no")), "--format", "flickr8k"],
        r"x\.zip: is damaged",
    ),
    "not UTF-8": (
        lambda f: token(f, GOOD.encode() + "3.jpg#0\tCaf\xe9 .\n".encode("latin-1")),
        r"line 3: .*0xe9.* is not UTF-8",
    ),
    "XML with entities": (
        lambda f: entities(
            f, '<!DOCTYPE a [<!ENTITY x "y">]><annotation><filename>&x;</filename></annotation>'
        ),
        r"2\.xml.*declares a DTD or an entity, which is refused",
    ),
    "a bracket that never closes": (
        lambda f: entities(f, "<annotation></annotation>", "[/EN#1/people A man runs .\n"),
        r"2\.txt, line 1: the mention of chain 1 is not closed",
    ),
    "an empty file": (lambda f: token(f, ""), r"x\.token\.txt: holds no images"),
    "an empty object": (lambda f: flickr30k(f, "{}"), r"x\.json: holds no images"),
    "an empty folder": (
        lambda f: [str(put(f / "x" / ".keep", "").parent), "--format", "entities"],
        r"holds no folder Sentences",
    ),
    "a NUL": (lambda f: token(f, GOOD + "3.jpg#0\tA \0 bird .\n"), r"U\+0000, which cannot be stored"),
    "a file name that climbs": (
        lambda f: token(f, GOOD + "../3.jpg#0\tA bird .\n"),
        r"'\.\./3(\.jpg)?' is refused",
    ),
    "an unknown format": (
        lambda f: [str(put(f / "x.txt", GOOD)), "--format", "word"],
        r"--format: Expected one of: .*coco.*entities.*flickr30k.*flickr8k.*jsonl.*karpathy",
    ),
    "no such file": (lambda f: [str(f / "none"), "--format", "flickr8k"], r"none: no such file or folder"),
    "no such folder of pictures": (
        lambda f: [*token(f, GOOD), "--images", str(f / "none")],
        r"none: no such folder; expected the folder of pictures",
    ),
    "a record without its captions": (
        lambda f: [str(put(f / "x.jsonl", '{"id": "1", "filename": "1.jpg"}\n')), "--format", "jsonl"],
        r"x\.jsonl, line 1: image '1': 'captions' is missing",
    ),
    "a record cut short": (
        lambda f: [str(put(f / "x.jsonl", '{"id": "1", "capt')), "--format", "jsonl"],
        r"x\.jsonl, line 1: ",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line_and_leaves_nothing(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, case: str
):
    # Every record is written before the next is read, so that there is something to undo.
    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 1)
    a_corpus("neighbour", some_images(1))
    make, problem = BAD[case]
    folder = tmp_path / "in"
    folder.mkdir()
    arguments = make(folder)
    before = everything(data_dir)
    with pytest.raises(CommandError, match=problem) as refusal:
        call_command("import_corpus", "bad", *arguments)
    assert "\n" not in str(refusal.value)
    assert refusal.value.returncode == 1
    assert everything(data_dir) == before
    assert not (tmp_path / "outside.txt").exists()


def test_the_shell_gets_one_line_and_status_1(tmp_path: Path):
    migrated(tmp_path)
    done = manage(tmp_path, "import_corpus", "bad", *token(tmp_path, "1.jpg A dog .\n"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "line 1: '1.jpg A dog .' holds no tab" in done.stderr
    left = [f.name for f in (tmp_path / "data").rglob("*") if f.is_file()]
    assert all(name.startswith("phrasebox.sqlite3") for name in left), left
