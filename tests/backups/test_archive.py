"""The file of a backup: complete or not written, and refused if it is anything else."""

from __future__ import annotations

import shutil
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from annotation.backups import BackupError, archive
from tests.backups.forging import Member, forged, room_for, special

FILES = {
    "pictures/ab/a.jpg": b"a picture",
    "pictures/cd/b.jpg": b"",
    "systems/s/weights.bin": bytes(range(256)) * 9,
}
ABOUT = {"format": archive.FORMAT, "version": archive.VERSION}


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return written_archive(tmp_path / "b.tar", tmp_path / "source")


def written_archive(target: Path, source: Path) -> Path:
    """Write a backup of FILES."""
    with archive.write_backup(target, {"made_at": "now"}) as writer:
        for name, content in FILES.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(content)
            writer.add(name, source / name)
    return target


def unpacked(backup: Path, into: Path) -> dict[str, bytes]:
    """Return the content of a backup, by name."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    with archive.open_backup(backup) as reader:
        reader.unpack(into, expected=archive.in_folders)
    return {f.relative_to(into).as_posix(): f.read_bytes() for f in into.rglob("*") if f.is_file()}


def test_what_is_written_reads_back_and_is_its_owners_alone(backup: Path, tmp_path: Path):
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert unpacked(backup, tmp_path / "out") == FILES
    assert [f.name for f in tmp_path.glob("*b.tar*")] == ["b.tar"]


def test_a_file_keeps_its_mode_and_time_and_nothing_else_of_what_it_was(tmp_path: Path):
    source = tmp_path / "a.jpg"
    source.write_bytes(b"x")
    source.chmod(0o4444)
    with archive.write_backup(tmp_path / "b.tar", {}) as writer:
        writer.add("pictures/ab/a.jpg", source)
    unpacked(tmp_path / "b.tar", tmp_path / "out")
    result = (tmp_path / "out" / "pictures/ab/a.jpg").stat()
    assert stat.S_IMODE(result.st_mode) == 0o400 and result.st_mtime == int(source.stat().st_mtime)


def test_a_byte_that_changed_anywhere_is_refused_in_one_line_or_changes_nothing(backup: Path, tmp_path: Path):
    whole = backup.read_bytes()
    with tarfile.open(backup) as tar:
        members = tar.getmembers()
    used = [range(m.offset, m.offset_data + m.size) for m in members]
    response = 0
    for at in range(0, members[-1].offset_data + members[-1].size, 47):
        backup.write_bytes(whole[:at] + bytes([whole[at] ^ 0x21]) + whole[at + 1 :])
        try:
            # Only zeros that fill a block are between members.
            assert unpacked(backup, tmp_path / "out") == FILES and not any(at in part for part in used), at
        except BackupError as error:
            assert str(error).startswith(f"{backup}: ") and "\n" not in str(error)
            response += 1
    assert response > 50


def test_a_backup_that_was_cut_short_is_refused_wherever_that_was(backup: Path, tmp_path: Path):
    whole = backup.read_bytes()
    with tarfile.open(backup) as tar:
        last = tar.getmembers()[-1]
    for size in range(0, last.offset_data + last.size, 211):
        backup.write_bytes(whole[:size])
        with pytest.raises(BackupError, match="no backup|damaged|cut short"):
            unpacked(backup, tmp_path / "out")


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (("pictures/../../outside", b"x"), "does not belong in a backup"),
        (("/etc/cron.d/outside", b"x"), "does not belong in a backup"),
        (("pictures//a.jpg", b"x"), "does not belong in a backup"),
        (("work/a.jpg", b"x"), "does not belong in a backup"),
        (("pictures", b"x"), "does not belong in a backup"),
        ((special("pictures/link", tarfile.SYMTYPE, "/etc/passwd"), b""), "not a plain file"),
        ((special("pictures/link", tarfile.LNKTYPE, "about.json"), b""), "not a plain file"),
        ((special("pictures/fifo", tarfile.FIFOTYPE), b""), "not a plain file"),
        ((special("pictures/holes", tarfile.GNUTYPE_SPARSE), b""), "not a plain file|damaged"),
        (("pictures/twice", b"x"), "appears in it twice"),
    ],
)
def test_names_that_lead_outside_and_what_is_no_file_are_refused(member: Member, why: str, tmp_path: Path):
    backup = forged(tmp_path / "b.tar", ABOUT, [("pictures/twice", b"x"), member])
    with pytest.raises(BackupError, match=why):
        unpacked(backup, tmp_path / "out")
    assert {p.name for p in tmp_path.iterdir()} <= {"b.tar", "out", "data"}


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"format": "another"}, "it is not a backup"),
        ([1], "it is not a backup"),
        (ABOUT | {"version": archive.VERSION + 1}, "its layout is 2, and this version reads 1"),
        (ABOUT | {"version": archive.VERSION - 1}, "its layout is 0, and this version reads 1"),
        (ABOUT | {"version": "1"}, "its layout is '1', and this version reads 1"),
    ],
)
def test_another_tar_and_another_layout_are_refused(about: Any, why: str, tmp_path: Path):
    with pytest.raises(BackupError, match=why):
        unpacked(forged(tmp_path / "b.tar", about), tmp_path / "out")


def test_what_goes_on_behind_the_checksums_is_refused(backup: Path, tmp_path: Path):
    with tarfile.open(backup, "a") as tar:
        tar.addfile(tarfile.TarInfo("pictures/late"))
    with pytest.raises(BackupError, match="continues after its list"):
        unpacked(backup, tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"no tar at all", bytes(10240)])
def test_what_is_no_tar_is_refused(content: bytes, tmp_path: Path):
    (tmp_path / "b.tar").write_bytes(content)
    with pytest.raises(BackupError, match="it is not a backup"):
        unpacked(tmp_path / "b.tar", tmp_path / "out")


def test_a_file_that_stands_is_not_overwritten(backup: Path, tmp_path: Path):
    before = backup.read_bytes()
    with pytest.raises(BackupError, match="already exists; choose another name"):
        written_archive(backup, tmp_path / "source")
    assert backup.read_bytes() == before


def test_what_a_killed_backup_left_is_named(tmp_path: Path):
    (tmp_path / ".b.tar.partial").touch()
    with pytest.raises(BackupError, match=r"\.b\.tar\.partial .* left by one that was killed; delete it"):
        written_archive(tmp_path / "b.tar", tmp_path / "source")
    with pytest.raises(BackupError, match="nowhere/b.tar cannot be written: No such file or directory"):
        written_archive(tmp_path / "nowhere" / "b.tar", tmp_path / "source")


def test_a_full_disk_leaves_nothing_and_is_one_line(backup: Path, tmp_path: Path):
    with room_for(backup.stat().st_size - 1), pytest.raises(BackupError, match="File too large") as error:
        written_archive(tmp_path / "full.tar", tmp_path / "source")
    assert str(error.value).endswith("nothing is left of it") and not list(tmp_path.glob("*full*"))


def test_a_file_that_shrinks_meanwhile_is_named_and_one_that_went_is_passed_over(tmp_path: Path):
    source = tmp_path / "grown"
    source.write_bytes(b"12")
    with pytest.raises(BackupError, match="sources/grown became shorter"):
        with archive.write_backup(tmp_path / "b.tar", {}) as writer, source.open("rb") as file:
            writer.put("sources/grown", file, 3)
    assert not list(tmp_path.glob("*.tar*"))
    with archive.write_backup(tmp_path / "b.tar", {}) as writer:
        writer.add("sources/gone", tmp_path / "gone")
    assert unpacked(tmp_path / "b.tar", tmp_path / "out") == {}
