"""The product's own kinds of jobs."""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from annotation import jobs
from annotation.datasets import archives
from annotation.datasets.exporting import export_dataset
from annotation.models import Account, AuditEntry, Campaign, Job, Judgment, OpenImage
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)


def done(kind: str, *, campaign: Campaign | None = None, actor: Account | None = None, **arguments) -> Job:
    """Run a job of that kind to its end; fail unless it succeeds."""
    return done_with(kind, arguments, campaign, actor)


def done_with(
    kind: str,
    arguments: dict[str, Any],
    campaign: Campaign | None = None,
    actor: Account | None = None,
) -> Job:
    job = jobs.enqueue(kind=kind, arguments=arguments, campaign=campaign, actor=actor)
    jobs.run_queued_job(job.pk)
    job.refresh_from_db()
    assert job.state == Job.DONE, job.error
    return job


def failed(kind: str, *, campaign: Campaign | None = None, **arguments) -> str:
    """Return the message of a failed job of that kind."""
    job = jobs.enqueue(kind=kind, arguments=arguments, campaign=campaign)
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    return Job.objects.get(pk=job.pk).error


# Exports


def test_an_export_is_an_archive_of_what_the_command_writes(tmp_path):
    a_corpus("small", some_images(5))
    job = done("export_dataset", corpus="small", format="entities")
    file = archives.file_of(job.result["path"])
    assert file == tmp_path / "exports" / f"small-entities-{job.pk}.zip"
    assert job.result["size"] == file.stat().st_size
    assert job.result["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert job.result["counts"]["images"] == 5
    assert job.result["excluded"] == {"order": 2}
    export_dataset(corpus="small", format="entities", out=tmp_path / "plain")
    expected = {
        path.relative_to(tmp_path / "plain").as_posix(): path.read_bytes()
        for path in (tmp_path / "plain").rglob("*")
        if path.is_file()
    }
    with zipfile.ZipFile(file) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
    assert not (tmp_path / "work").exists()


def test_the_same_dataset_has_the_same_checksum():
    a_corpus("small", some_images(5))
    first = done("export_dataset", corpus="small", format="entities")
    second = done("export_dataset", corpus="small", format="entities")
    assert first.result["sha256"] == second.result["sha256"]
    assert first.result["path"] != second.result["path"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"corpus": "none", "format": "entities"}, "unknown corpus 'none'"),
        (
            {"corpus": "small", "format": "entities", "layer": "none"},
            "unknown layer 'none' of corpus 'small'",
        ),
    ],
)
def test_an_export_of_what_is_not_there_says_so(arguments, says):
    a_corpus("small", some_images(1))
    assert says in failed("export_dataset", **arguments)


def test_an_export_that_is_cancelled_leaves_nothing(tmp_path, monkeypatch):
    a_corpus("small", some_images(5))
    job = jobs.enqueue(kind="export_dataset", arguments={"corpus": "small", "format": "entities"})
    packing = archives.zipfile.ZipFile.open

    def cancelled(*args, **also):
        Job.objects.filter(pk=job.pk).update(cancel=True)
        monkeypatch.setattr(jobs.progress, "_PAUSE", 0)
        return packing(*args, **also)

    monkeypatch.setattr(archives.zipfile.ZipFile, "open", cancelled)
    assert jobs.run_queued_job(job.pk) == Job.CANCELLED
    assert list((tmp_path / "exports").iterdir()) == []
    assert not (tmp_path / "work").exists()


def test_exports_are_removed_when_their_time_is_over():
    a_corpus("small", some_images(1))
    old, new = (done("export_dataset", corpus="small", format=form) for form in ("entities", "jsonl"))
    file = archives.file_of(old.result["path"])
    before = time.time() - archives.ARCHIVE_LIFETIME - 60
    os.utime(file, (before, before))
    with pytest.raises(archives.DownloadExpired, match="no longer exists; export it again"):
        archives.file_of(old.result["path"])
    assert archives.remove_expired() == 1
    assert not file.exists() and archives.file_of(new.result["path"]).exists()


@pytest.mark.parametrize(
    "path", ["../secret.txt", "exports/../secret.txt", "secret.txt", "exports", "/etc/passwd"]
)
def test_nothing_but_exports_can_be_fetched(tmp_path, path):
    (tmp_path / "exports").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    with pytest.raises(archives.DownloadExpired):
        archives.file_of(path)


# Campaigns


def test_opening_images_lets_people_in_at_the_end():
    corpus = a_corpus("small", some_images(5))
    campaign = Campaign.objects.create(name="small", corpus=corpus, tasks="entities", settings=TRUSTING)
    account = Account.objects.create(username="researcher")
    job = done("open_images", campaign=campaign, actor=account, images=3)
    campaign.refresh_from_db()
    assert job.result["opened"] == OpenImage.objects.filter(campaign=campaign).count() == 3
    assert campaign.state == Campaign.OPEN
    assert AuditEntry.objects.filter(act="open_images", actor=account).exists()
    more = done("open_images", campaign=campaign, begin=False)
    assert (more.result["opened"], more.result["there"]) == (2, 3)


def test_a_layer_is_refreshed_wholly():
    world = World(some_images(45))
    OpenImage.objects.update(version=1, layer_behind=True)
    job = done_with("refresh_layer", {"campaign": "quay"}, world.campaign)
    assert job.result == {"images": 45}
    assert world.corpus.layers.get(name=world.campaign.name).covers.count() == 45
    assert done_with("refresh_layer", {"campaign": "quay"}, world.campaign).result == {"images": 0}


def test_a_workers_judgments_are_withdrawn_and_restored():
    world = World(some_images(4))
    world.work()
    worker = world.workers[0]
    mine = Judgment.objects.filter(worker=worker, image__isnull=False)
    about = {"campaign": "quay", "workers": ["quay-w0"]}
    job = done_with("withdraw_answers", {**about, "reason": "answers at random"})
    assert job.result["judgments"] == mine.filter(withdrawn=True).count() == mine.count() > 0
    assert job.phase == "recomputing images"
    done_with("restore_answers", about)
    assert not mine.filter(withdrawn=True).exists()


def test_withdrawing_goes_on_where_it_was_cancelled(monkeypatch):
    world = World(some_images(4))
    world.work()
    worker = world.workers[0]
    mine = Judgment.objects.filter(worker=worker, image__isnull=False)
    arguments = {"campaign": "quay", "workers": ["quay-w0"]}
    job = jobs.enqueue(kind="withdraw_answers", arguments=arguments, campaign=world.campaign)
    monkeypatch.setattr(jobs.progress, "_PAUSE", 0)
    message = iter([False, False])
    assert jobs.run_queued_job(job.pk, stopping=lambda: next(message, True)) == Job.QUEUED
    part = mine.filter(withdrawn=True).count()
    assert 0 < part < mine.count()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert Job.objects.get().result["judgments"] == mine.count() - part


def test_what_is_of_a_campaign_says_so_where_none_is_given():
    assert "and none was given" in failed("open_images")
