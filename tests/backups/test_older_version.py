"""A backup that an older version made is restored, migrated and served, and gives what it gave.

`older/make_backup.py` made the two backups, one a database, with the version before the packages
were laid out anew (d21d8e5). Whoever changes tables keeps them: they are migrated here.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import global_settings
from django.db import connection
from django.test import Client
from django.urls import resolve, reverse

from annotation import jobs
from annotation.backups import restoring
from annotation.models import Image as ImageRow
from annotation.models import Job, OpenImage
from evaluation.models import QrelsSnapshot
from tests.backups.older.make_backup import PASSWORD, printed, taken_away, write_features
from tests.sizes import THOROUGH

pytestmark = pytest.mark.django_db(transaction=True)

OLDER = Path(__file__).parent / "older"
#: Of the addresses of one page, with one corpus or another, so many are opened.
OF_EACH_PAGE = 2


def restored(folder: Path) -> restoring.RestoredBackup:
    file = folder / "older.tar"
    file.write_bytes(lzma.decompress((OLDER / f"{connection.vendor}.backup.xz").read_bytes()))
    return restoring.restore_backup(file, replace=True)


def rounded(text: str) -> Any:
    """JSON without the last digits of its numbers: a database may add them up in another order."""
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


def is_prose(name: str) -> bool:
    """Whether a file tells people about the others: newer versions may say more, and say it better."""
    return name.endswith(("NOTES.md", "DATASHEET.md", "datasheet.json"))


def answers_of_older_columns(file: Path) -> str:
    """SHA-256 of the file of answers as the older version wrote it: it did not say who answered."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {row.pop("by") for row in rows} == {"simulated"}
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


def links(html: str, page: str) -> set[str]:
    """The pages of ours that `html` at the address `page` leads to, without their queries."""
    found = (urlsplit(urljoin(page, unescape(link))) for link in re.findall(r'<a [^>]*?href="([^"]+)"', html))
    return {link.path for link in found if not link.netloc and link.path.startswith("/")}


def opened(client: Client, start: str) -> dict[str, int]:
    """Every page that links lead to from `start`, with its status."""
    statuses: dict[str, int] = {}
    routes: dict[str, int] = {}
    waiting = [start]
    while waiting:
        page = waiting.pop()
        route = resolve(page).route
        if page in statuses or routes.get(route, 0) == OF_EACH_PAGE:
            continue
        routes[route] = routes.get(route, 0) + 1
        answer = client.get(page)
        statuses[page] = answer.status_code
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            waiting += sorted(links(answer.content.decode(), page) - set(statuses), reverse=True)
    return statuses


def what_people_take_away_is_what_the_older_version_gave(folder: Path) -> None:
    given = rounded((OLDER / f"{connection.vendor}.json").read_text())
    found = rounded(json.dumps(taken_away(folder / "away")))
    found["files"]["answers.jsonl"] = answers_of_older_columns(folder / "away" / "answers.jsonl")
    for taken in (given, found):
        taken["files"] = {name: digest for name, digest in taken["files"].items() if not is_prose(name)}
    assert found == given


def its_pages_open() -> None:
    client = Client()
    signed_in = client.post(reverse("sign_in"), {"username": "owner", "password": PASSWORD})
    assert signed_in.status_code == 302
    statuses = opened(client, "/")
    assert {page: status for page, status in statuses.items() if status not in (200, 302)} == {}
    assert len(statuses) > 50


def test_what_people_take_away_is_what_it_gave_its_pages_open_its_job_runs_and_its_work_goes_on(
    tmp_path: Path, settings
) -> None:
    """Dearer than a test may be: one restoring with all migrations since. What the database holds is
    compared on both; the pages read it by the same queries, and are opened on one."""
    assert not restored(tmp_path).missing
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    what_people_take_away_is_what_the_older_version_gave(tmp_path)
    if connection.vendor == "sqlite" or THOROUGH:
        its_pages_open()

    waiting = Job.objects.get(kind="freeze_qrels", state="queued")
    jobs.run_queued_job(waiting.pk)
    assert QrelsSnapshot.objects.filter(name="later").exists()

    images = list(ImageRow.objects.order_by("position").values_list("filename", flat=True))
    split, features = tmp_path / "split.txt", tmp_path / "features.npz"
    split.write_text("\n".join(images[10:]))
    write_features(features, images)
    ranked = ["--split", split, "--features", features, "--protocol", "any of five", "--name", "again"]
    printed("rank", "near", *ranked)
    runs = {}
    for name in ("near", "again"):
        printed("export_run", f"{name}-search", "--out", tmp_path / name)
        runs[name] = (tmp_path / name).read_text()
    assert runs["again"] == runs["near"] and runs["near"]

    crowd = ["--workers", 4, "--mix", "careful=1", "--seed", 4, "--through", "queue"]
    printed("simulate_crowd", "people", *crowd)
    assert not OpenImage.objects.filter(campaign__name="people", complete=False).exists()
