"""`manage.py check` names each missing part of a corpus format, and how to add it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.checks import CheckMessage

from annotation.checks import corpus_formats
from annotation.formats import FORMATS
from tests.conftest import REPOSITORY
from tests.plug_ins import FORMAT_FOLDERS, copied

KEY = "caption_blocks"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A copy of the format's folder, not loaded yet."""
    with copied(FORMAT_FOLDERS, KEY, tmp_path) as folder:
        yield folder


def checked() -> list[CheckMessage]:
    """Return the messages of the check, with formats loaded as by FORMATS."""
    FORMAT_FOLDERS.load()
    return corpus_formats(None)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_our_own_formats_lack_nothing_and_are_in_the_docs() -> None:
    assert corpus_formats(None) == []
    docs = (REPOSITORY / "docs" / "formats.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", docs, re.M)) >= set(FORMATS.keys())
    assert set(re.findall(r"^## (\w+)$", docs, re.M)) >= set(FORMATS.keys())


def test_a_whole_format_of_another_package_lacks_nothing(folder: Path) -> None:
    assert checked() == [] and KEY in FORMATS


@pytest.mark.parametrize(
    ("part", "id"),
    [
        ("format.py", "annotation.E010"),
        ("README.md", "annotation.E012"),
        ("sample", "annotation.E013"),
        ("sample/captions.blocks", "annotation.E013"),
    ],
)
def test_a_missing_part_is_the_one_error_and_says_what_to_write(folder: Path, part: str, id: str) -> None:
    gone = folder / part
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    (error,) = checked()
    assert error.id == id
    assert f"'{KEY}'" in error.msg and str(folder / part.partition("/")[0]) in str(error.hint)


def test_a_module_that_registers_nothing_or_another_name_is_named(folder: Path) -> None:
    change(folder / "format.py", "FORMATS.register(CaptionBlocks.key, CaptionBlocks())", "")
    (error,) = checked()
    assert error.id == "annotation.E011" and str(folder / "format.py") in str(error.hint)


def test_a_folder_is_called_as_its_format(folder: Path) -> None:
    folder.rename(folder.with_name("blocks"))
    (error,) = checked()
    assert error.id == "annotation.E011" and "'blocks'" in error.msg


@pytest.mark.parametrize(
    ("text", "message"),
    [("  A caption of nothing.\n", "FormatError: .*line 1: holds"), ("", "FormatError: .*holds no images")],
)
def test_a_sample_that_cannot_be_read_is_named_with_its_fault(folder: Path, text: str, message: str) -> None:
    (folder / "sample" / "captions.blocks").write_text(text)
    (error,) = checked()
    assert error.id == "annotation.E014" and re.search(message, error.msg)


def test_a_reader_that_breaks_on_its_sample_is_named(folder: Path) -> None:
    change(folder / "format.py", "block, first = [line.strip()], number", "raise KeyError('oops')")
    (error,) = checked()
    assert error.id == "annotation.E014" and "KeyError: 'oops'" in error.msg


@pytest.mark.parametrize(
    ("old", "new", "id", "message"),
    [
        ('key = "caption_blocks"', 'key = "blocks"', "E015", "calls itself 'blocks'"),
        ('title = "Blocks of captions (a picture\'s name, then its captions)"', "", "E016", "has no title"),
        ('"""Captions alone, a block for each image."""', "", "E016", "has no docstring"),
        ("reads = True", "reads = False", "E017", "says reads = False, and has a method read"),
        ("writes = True", "", "E017", "says writes = False, and has a method write"),
        ("def write(", "def writes_not(", "E017", "says writes = True, and has no method write"),
        ("writes = True", 'writes = True\n    says = frozenset({"smells"})', "E018", "says smells"),
    ],
)
def test_what_a_format_says_wrongly_of_itself_is_named(
    folder: Path, old: str, new: str, id: str, message: str
) -> None:
    change(folder / "format.py", old, new)
    if old.startswith("key"):
        change(
            folder / "format.py", "FORMATS.register(CaptionBlocks.key,", 'FORMATS.register("caption_blocks",'
        )
    (error,) = checked()
    assert error.id == f"annotation.{id}" and message in error.msg
    assert str(folder / "format.py") in str(error.hint)


def test_a_format_that_neither_reads_nor_writes_is_named(folder: Path) -> None:
    file = folder / "format.py"
    file.write_text(
        "from annotation.formats.base import FORMATS, Format\n\n\n"
        "class Idle(Format):\n"
        '    """Nothing."""\n\n'
        '    key = "caption_blocks"\n'
        '    title = "Nothing"\n\n\n'
        "FORMATS.register(Idle.key, Idle())\n"
    )
    (error,) = checked()
    assert error.id == "annotation.E017" and "neither reads nor writes" in error.msg


def test_all_that_is_missing_is_named_at_once(folder: Path) -> None:
    (folder / "README.md").write_text(" \n")
    shutil.rmtree(folder / "sample")
    assert [error.id for error in checked()] == ["annotation.E012", "annotation.E013"]
