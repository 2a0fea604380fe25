"""Archives: everything is unpacked below one folder, or nothing is."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from annotation.formats import FORMATS
from annotation.formats.files.archive import DEFAULT_LIMITS, ArchiveLimits, unpacked_source
from phrasebox.text_files import FormatError
from tests.formats.reading import one_line, put

SENTENCE = b"[/EN#1/people A man] .\n"


def make_zip(path: Path, entries: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def make_tar(
    path: Path, entries: Mapping[str, bytes | tarfile.TarInfo], pack: Callable[[bytes], bytes] = bytes
) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in entries.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(pack(buffer.getvalue()))
    return path


PACKS: dict[str, Callable[[bytes], bytes]] = {
    "x.tar": bytes,
    "x.tar.gz": gzip.compress,
    "x.tgz": gzip.compress,
    "x.tar.bz2": bz2.compress,
    "x.TAR.XZ": lzma.compress,
}


def make(path: Path, entries: Mapping[str, bytes]) -> Path:
    """Make an archive of the kind that its name says."""
    return make_zip(path, entries) if path.suffix == ".zip" else make_tar(path, entries, PACKS[path.name])


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def error_text(path: Path, workdir: Path, limits: ArchiveLimits = DEFAULT_LIMITS) -> str:
    """Return why `path` is refused; check that nothing of it is left."""
    before = sorted(workdir.parent.rglob("*"))
    with pytest.raises(FormatError) as caught:
        with unpacked_source(path, workdir=workdir, limits=limits):
            raise AssertionError("it was opened")
    left = [file for file in sorted(workdir.parent.rglob("*")) if file not in before and file != workdir]
    assert left == []
    return one_line(caught.value).problem


@pytest.mark.parametrize("name", ["x.zip", *PACKS])
def test_a_corpus_in_an_archive_is_read_and_the_folder_is_gone_afterwards(tmp_path, name):
    entries = {f"top/Sentences/{n}.txt": SENTENCE for n in range(30)}
    entries["top/Sentences/many.txt"] = SENTENCE * 300
    entries["top/large"] = SENTENCE * 30_000
    path = make(tmp_path / name, entries)
    with unpacked_source(path, workdir=tmp_path / "work") as folder:
        counts = {record.id: len(record.captions) for record in FORMATS.get("entities").read(folder)}
        assert len(counts) == 31
        assert counts["many"] == 300
        (large,) = folder.rglob("large")
        assert large.read_bytes() == entries["top/large"]
    assert list((tmp_path / "work").iterdir()) == []


def test_a_folder_or_a_plain_file_is_handed_on_as_it_is(tmp_path):
    file = put(tmp_path / "captions.json", "{}")
    for path in (tmp_path, file):
        with unpacked_source(path) as source:
            assert source == path


@pytest.mark.parametrize(
    "name",
    ["../x.txt", "a/../../x.txt", "/etc/x.txt", "..\\x.txt", "C:\\x.txt", "C:/x.txt", "a/..", "\\x.txt"],
)
def test_an_entry_that_leads_outside_is_refused(tmp_path, name):
    good = {"a.txt": b"good"}
    for path in (
        make_zip(tmp_path / "x.zip", {**good, name: b"bad"}),
        make_tar(tmp_path / "x.tar", {**good, name: b"bad"}),
    ):
        assert "leads outside its folder" in error_text(path, tmp_path / "work")
    assert not (tmp_path / "x.txt").exists()


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        (special("l", tarfile.SYMTYPE, "/etc/passwd"), "a link"),
        (special("l", tarfile.SYMTYPE, "../.."), "a link"),
        (special("l", tarfile.LNKTYPE, "../x"), "a link"),
        (special("d", tarfile.CHRTYPE), "a device"),
        (special("d", tarfile.BLKTYPE), "a device"),
        (special("d", tarfile.FIFOTYPE), "a device"),
    ],
)
def test_a_link_or_a_device_is_refused(tmp_path, entry, what):
    path = make_tar(tmp_path / "x.tar", {"a.txt": b"good", entry.name: entry})
    assert f"'{entry.name}' is {what}" in error_text(path, tmp_path / "work")


def test_a_link_in_a_zip_is_refused(tmp_path):
    entry = zipfile.ZipInfo("l")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert "'l' is a link" in error_text(tmp_path / "x.zip", tmp_path / "work")


SMALL = ArchiveLimits(size=100_000, entries=5, ratio=20, ratio_from=50_000)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"a": b"\0" * 90_000}, "grows more than 20-fold"),
        ({str(n): b"\0" * 20_000 for n in range(4)}, "grows more than 20-fold"),
        ({str(n): b"" for n in range(6)}, "holds too many entries"),
        ({f"{n}/": b"" for n in range(6)}, "holds too many entries"),
    ],
)
def test_a_bomb_is_refused_before_it_goes_off(tmp_path, entries, problem):
    for path in (make_zip(tmp_path / "x.zip", entries), make(tmp_path / "x.tar.gz", entries)):
        assert problem in error_text(path, tmp_path / "work", SMALL)


def test_more_bytes_than_allowed_are_refused(tmp_path):
    path = make_zip(tmp_path / "x.zip", {"a": bytes(range(256)) * 600})
    assert "holds more than 100000 bytes" in error_text(path, tmp_path / "work", ArchiveLimits(size=100_000))


def test_a_directory_that_lies_about_sizes_is_found_out(tmp_path):
    content = bytes(range(256)) * 600
    path = make_zip(tmp_path / "x.zip", {"a": content})
    lying = path.read_bytes().replace(len(content).to_bytes(4, "little"), (1).to_bytes(4, "little"))
    assert "is damaged" in error_text(put(path, lying), tmp_path / "work")


@pytest.mark.parametrize("name", [name for name in PACKS if name != "x.tar"])
def test_a_header_that_claims_gigabytes_is_not_read(tmp_path, name):
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 4 * 1024**3
    bomb = PACKS[name](long_name.tobuf(tarfile.GNU_FORMAT) + b"\0" * 10**7)
    assert "has a header of" in error_text(put(tmp_path / name, bomb), tmp_path / "work")


@pytest.mark.parametrize("name", ["x.zip", *PACKS])
def test_a_damaged_archive_is_refused(tmp_path, name):
    whole = make(
        tmp_path / name, {str(n): bytes(n * m % 251 for m in range(5000)) for n in range(20)}
    ).read_bytes()
    for part in (whole[: len(whole) // 2], whole[:100], b"not an archive", b""):
        problem = error_text(put(tmp_path / name, part), tmp_path / "work")
        assert "is damaged" in problem or "cannot be unpacked" in problem


def test_an_encrypted_entry_is_refused(tmp_path):
    path = make_zip(tmp_path / "x.zip", {"a.txt": b"good"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert "'a.txt' is encrypted" in error_text(put(path, bytes(content)), tmp_path / "work")


def test_an_entry_that_comes_twice_is_refused(tmp_path):
    path = make_tar(tmp_path / "x.tar", {"a.txt": b"1", "./a.txt": b"2"})
    assert "'./a.txt' appears twice" in error_text(path, tmp_path / "work")


def test_the_folder_is_gone_when_its_reader_fails(tmp_path):
    path = make_zip(tmp_path / "x.zip", {"a.txt": b"good"})
    with pytest.raises(RuntimeError), unpacked_source(path, workdir=tmp_path / "work"):
        raise RuntimeError
    assert list((tmp_path / "work").iterdir()) == []


def test_an_archive_that_is_not_there_is_refused(tmp_path):
    assert "cannot be opened" in error_text(tmp_path / "x.zip", tmp_path / "work")
