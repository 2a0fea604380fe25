"""DATA_DIR belongs to the server's user only, even if it was created otherwise."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation.common.locks import at_work
from annotation.common.private_files import open_to_others
from tests.house.product import NO_BROKER, migrated, serving


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user of this machine may enter; pytest's folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="phrasebox-private-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def opened(folder: Path) -> Path:
    """Make a DATA_DIR with the umask 022: a database, a picture, a link to a folder elsewhere."""
    data = folder / "data"
    (data / "pictures" / "ab").mkdir(parents=True)
    (data / "pictures" / "ab" / "ab.png").write_bytes(b"picture")
    (folder / "elsewhere").mkdir()
    (data / "systems").symlink_to(folder / "elsewhere")
    with sqlite3.connect(data / "phrasebox.sqlite3") as database:
        database.execute("CREATE TABLE secrets (name text)")
    for path in (folder / "elsewhere", data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return data


def test_all_in_an_open_folder_is_closed_and_what_is_not_ours_to_close_is_named(
    reachable: Path, settings: Any
) -> None:
    settings.DATA_DIR = data = opened(reachable)
    assert list(open_to_others()) == [data, data / "systems"]
    with at_work():
        pass
    assert list(open_to_others()) == [data / "systems"]
    assert not [
        path for path in (data, *data.rglob("*")) if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]
    assert (reachable / "elsewhere").stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_reads_the_database_of_no_server_that_has_started(reachable: Path) -> None:
    data = opened(reachable)
    migrated(reachable)
    database = data / "phrasebox.sqlite3"
    database.chmod(0o644)
    copy = ["sh", "-c", f"cat {database} | wc -c; ls {data} {data}/pictures"]

    def read() -> str:
        return subprocess.run(
            copy, user="nobody", group="nogroup", extra_groups=[], capture_output=True, text=True
        ).stdout

    assert "ab" in read() and not read().startswith("0")
    with serving(reachable, REDIS_URL=NO_BROKER) as server:
        assert read() == "0\n"
        assert not [
            path for path in data.rglob("*") if path.lstat().st_mode & 0o077 and not path.is_symlink()
        ]
        assert f"other users of this machine can read {data / 'systems'}" in server.stop()
