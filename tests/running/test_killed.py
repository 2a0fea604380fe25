"""`open_campaign` killed with kill -9, as a process in a database of its own."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from annotation.campaigns.opening import IMAGES_PER_TRANSACTION
from annotation.formats import FORMATS
from tests import launcher
from tests.factories import some_images
from tests.house.product import REPOSITORY, environment, manage, migrated

IMAGES = 12 * IMAGES_PER_TRANSACTION
OPENING = ("open_campaign", "c", "--corpus", "photos", "--tasks", "entities", "--unpaid")


def done(folder: Path, *arguments: str) -> None:
    result = manage(folder, *arguments)
    assert result.returncode == 0, result.stderr


def rows(folder: Path, query: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(folder / "data" / "phrasebox.sqlite3", timeout=20)) as reading:
        return reading.execute(query).fetchall()


def test_an_opening_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    FORMATS.get("jsonl").write(some_images(IMAGES), source)
    migrated(tmp_path)
    done(tmp_path, "import_corpus", "photos", str(source), "--format", "jsonl")
    child = launcher.start(
        [sys.executable, str(REPOSITORY / "manage.py"), *OPENING],
        env=environment(tmp_path, {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not rows(tmp_path, "SELECT 1 FROM annotation_openimage LIMIT 1"):
            assert child.poll() is None, "it ended before it had begun"
            time.sleep(0.005)
    finally:
        child.kill()
        child.wait(30)
    ((there,),) = rows(tmp_path, "SELECT count(*) FROM annotation_openimage")
    assert 0 < there < IMAGES and there % IMAGES_PER_TRANSACTION == 0
    assert rows(tmp_path, "SELECT state FROM annotation_campaign") == [("draft",)]
    done(tmp_path, *OPENING)
    assert rows(tmp_path, "SELECT state FROM annotation_campaign") == [("open",)]
    opened = "SELECT count(*), count(DISTINCT image_id) FROM annotation_openimage"
    assert rows(tmp_path, opened) == [(IMAGES, IMAGES)]
    ((tasks, images),) = rows(tmp_path, "SELECT count(*), count(DISTINCT image_id) FROM annotation_task")
    assert images == IMAGES
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT task_id) FROM annotation_item") == [(tasks, tasks)]
