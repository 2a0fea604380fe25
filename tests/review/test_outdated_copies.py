"""Copies that still hold a withdrawn picture or an erased person's work are one list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation import jobs
from annotation.common.operations import OperationContext
from annotation.common.roles import RESEARCHER
from annotation.datasets.archives import remove_archive
from annotation.jobs.outdated_copies import (
    OutdatedCopiesRequest,
    OutdatedCopy,
    list_outdated_copies,
)
from annotation.models import Account, Campaign, Corpus, Image, Job, RoleGrant, Worker
from annotation.moderation.withdrawn_pictures import withdraw_picture
from annotation.workers import pseudonyms
from tests.derived.test_written_captions import published, write, writing
from tests.factories import a_corpus, an_image
from tests.queue.test_counted import workers
from tests.web import world
from tests.web.staff import words
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db(transaction=True)


def exported(kind: str, **arguments: Any) -> Job:
    job = jobs.enqueue(
        kind=kind,
        arguments=arguments,
        campaign=Campaign.objects.filter(name=arguments.get("campaign")).first(),
        corpus=Corpus.objects.filter(name=arguments.get("corpus")).first(),
    )
    assert jobs.run_queued_job(job.pk) == Job.DONE, Job.objects.get(pk=job.pk).error
    return Job.objects.get(pk=job.pk)


def copies(account: Any = None) -> tuple[OutdatedCopy, ...]:
    return list_outdated_copies(OutdatedCopiesRequest(), OperationContext(account)).copies


def test_copies_with_the_work_of_an_erased_person(capsys: pytest.CaptureFixture[str]) -> None:
    a_corpus("bare", [an_image("i0", layered=False)])
    ann, bob = workers(2)
    campaign = writing("bare")
    write(campaign, ann, "A dog runs home.")
    write(campaign, bob, "A cat sits still.")
    before = exported("export_bundle", campaign="writing")
    published(capsys, "writing", "described")
    # A second round on the captions of the first, without ann, and an export of it.
    again = writing("described", "again")
    write(again, bob, "A boat lies there.")
    published(capsys, "again", "more")
    assert copies() == ()
    pseudonyms.erase_worker(worker=Worker.objects.get(pk=ann), texts=True)
    exported("export_bundle", campaign="writing")
    of_corpus = exported("export_dataset", corpus="more", format="jsonl")
    listed = {(copy.kind, copy.corpus, copy.campaign, copy.job, copy.people) for copy in copies()}
    assert listed == {
        ("bundle", "bare", "writing", before.pk, 1),
        ("corpus", "described", "writing", None, 1),
        ("corpus", "more", "again", None, 1),
        ("export", "more", None, of_corpus.pk, 1),
    }
    assert all(copy.stored and not copy.pictures for copy in copies())
    remove_archive(before.result["path"])
    assert [copy.stored for copy in copies() if copy.job == before.pk] == [False]
    call_command("list_outdated_copies", json=True)
    assert len(json.loads(capsys.readouterr().out)["copies"]) == 4
    call_command("list_outdated_copies", csv=True)
    assert before.result["sha256"] in capsys.readouterr().out


def test_copies_with_a_withdrawn_picture(tmp_path: Path) -> None:
    corpus = world.corpus(tmp_path)
    with_pictures = exported("export_dataset", corpus=corpus.name, format="jsonl", pictures=True)
    exported("export_dataset", corpus=corpus.name, format="jsonl")
    client = signed_in("rita", RESEARCHER)
    address = reverse("operation", args=["list_outdated_copies"])
    for image in Image.objects.filter(corpus=corpus).order_by("pk")[:2]:
        withdraw_picture(image=image)
    exported("export_dataset", corpus=corpus.name, format="jsonl", pictures=True)
    (copy,) = copies()
    assert (copy.job, copy.pictures, copy.people, copy.stored) == (with_pictures.pk, 2, 0, False)
    assert copy.campaign is None
    page = words(client.get(address))
    assert with_pictures.result["sha256"] in page and "scenes" in page
    # Only of the corpora that one runs.
    other = signed_in("eve")
    grant = {"role": RESEARCHER, "corpus": a_corpus("other", [an_image("i0")])}
    RoleGrant.objects.create(account=Account.objects.get(username="eve"), **grant)
    assert "scenes" not in words(other.get(address))
    table = reverse("operation_tables", args=["list_outdated_copies", "csv"])
    assert (
        "scenes" in client.get(table).content.decode() and "scenes" not in other.get(table).content.decode()
    )
