"""A corpus that nothing uses is deleted with its pictures; one in use remains, and its uses are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import jobs
from annotation.datasets.corpus_uses import why_corpus_kept
from annotation.datasets.deleting import (
    delete_corpus,
    remove_hidden_corpus,
)
from annotation.images.pictures import picture_path
from annotation.jobs.kinds.delete_corpus import begin_deleting_corpus
from annotation.models import AuditEntry, Campaign, Caption, Corpus, Image, Job, Layer, Mention
from annotation.web.common.addresses import thumbnail
from evaluation.models import CaptionSet, JudgmentSet, LocalizationSet, QrelsSnapshot, Run, System, TagSet
from evaluation.services.common import work_lock
from evaluation.services.features.store import NewSet, write_set
from phrasebox.errors import PhraseboxError
from tests.factories import a_corpus, some_images
from tests.intake.conftest import a_picture, everything, take

pytestmark = pytest.mark.django_db


def test_a_corpus_goes_with_its_rows_layers_and_pictures(data_dir: Path, tmp_path: Path):
    value, shared = (a_picture(tmp_path / f"{c}.jpg", c, size=(500, 375)) for c in ("navy", "red"))
    take([replace(some_images(1)[0], picture=shared)], name="neighbour")
    before = everything(data_dir)
    records = [replace(r, picture=p) for r, p in zip(some_images(2), (value, shared), strict=True)]
    take(records)
    corpus = Corpus.objects.get(name="corpus")
    thumbnail(picture_path(corpus.images.get(position=0).picture))
    delete_corpus(corpus=corpus)
    assert not Image.objects.filter(corpus__name="corpus").exists()
    after = everything(data_dir)
    assert after.pop("AuditEntry") == 1 and before.pop("AuditEntry") == 0
    assert after == before
    assert AuditEntry.objects.get().about["corpus"] == "corpus"


@pytest.mark.parametrize("use", ["campaign", "system", "features", "job"])
def test_a_corpus_that_something_uses_stays_and_says_what(use: str):
    corpus = a_corpus("used", some_images(2))
    assert why_corpus_kept(corpus) == ""
    if use == "campaign":
        Campaign.objects.create(name="quay", corpus=corpus, tasks="relevance")
        expected = "these depend on it: campaigns; delete them first"
    elif use == "system":
        System.objects.create(corpus=corpus, name="s", origin="runs")
        expected = "these depend on it: systems; delete them first"
    elif use == "features":
        new = NewSet(
            corpus="used",
            name="cnn",
            kind="image",
            ids=("1000", "1001"),
            dimensions=2,
            dtype="float32",
            origin={},
        )
        import numpy as np

        write_set(new, lambda first: iter([np.zeros((2, 2), np.float32)[first:]]))
        expected = "these depend on it: feature sets cnn:1; delete them first"
    else:
        Job.objects.create(kind="export_dataset", corpus=corpus)
        expected = "one of its jobs is queued or running: cancel that first"
    assert why_corpus_kept(corpus) == expected
    with pytest.raises(PhraseboxError, match="cannot be deleted"):
        delete_corpus(corpus=corpus)
    assert Corpus.objects.get().published and Caption.objects.exists() and Mention.objects.exists()


MENTION = {"position": 0, "caption": 0, "start": 0, "end": 1, "phrase": "a", "regions": b""}
PAIR = {"position": 0, "grades": [1]}
#: What can be left incomplete, the lock of its writers, and a row of it: about an image, and its caption.
HALF_WRITTEN = (
    (CaptionSet, "captions.half", "captions", {"position": 0}, ()),
    (JudgmentSet, "judgments.used.half", "pairs", PAIR, ("caption",)),
    (LocalizationSet, "localizations.half", "mentions", MENTION, ()),
    (QrelsSnapshot, "qrels.half", "rows", {"relevance": 1, "judged": True}, ("caption",)),
    (Run, "run.half", "rankings", {"position": 0, "items": b"", "scores": b""}, ()),
    (TagSet, "tags.half", "images", {"position": 0}, ()),
)


@pytest.mark.parametrize(
    ("model", "work", "rows", "fields", "about"),
    HALF_WRITTEN,
    ids=[item[0].__name__ for item in HALF_WRITTEN],
)
def test_what_was_left_half_written_keeps_no_corpus(
    model: Any, work: str, rows: str, fields: dict[str, Any], about: tuple[str, ...]
):
    """It has no page, so nobody could delete it first; while it is being written, it does."""
    corpus = a_corpus("used", some_images(2))
    maker = System.objects.create(corpus=a_corpus("other", some_images(1)), name="s", origin="runs")
    known = {field.name for field in model._meta.fields}
    values = {"made_by": maker, "version": 1, "originals": False, "row_count": 0, "source": "a file"}
    half = model.objects.create(
        name="half", corpus=corpus, **{key: value for key, value in values.items() if key in known}
    )
    image = Image.objects.filter(corpus=corpus).first()
    caption = {name: Caption.objects.filter(image=image).first() for name in about}
    getattr(half, rows).create(image=image, **caption, **fields)
    assert why_corpus_kept(corpus) == ""
    with (
        work_lock(work, "set", "half"),
        pytest.raises(PhraseboxError, match="'half': another process is writing"),
    ):
        delete_corpus(corpus=corpus)
    assert model.objects.get() == half and Corpus.objects.get(name="used").published
    delete_corpus(corpus=corpus)
    assert not Corpus.objects.filter(name="used").exists() and not model.objects.exists()
    assert System.objects.get() == maker


def test_the_command_deletes_and_refuses():
    a_corpus("gone", some_images(2))
    call_command("delete_corpus", "gone")
    assert not Corpus.objects.exists() and not Layer.objects.exists()
    with pytest.raises(CommandError, match="There is no corpus “gone” here"):
        call_command("delete_corpus", "gone")


def test_what_a_killed_deletion_left_is_removed_by_the_next_run(monkeypatch: pytest.MonkeyPatch):
    corpus = a_corpus("gone", some_images(3))
    job = begin_deleting_corpus(corpus=corpus)
    assert not Corpus.objects.get().published and Image.objects.count() == 3
    with pytest.raises(PhraseboxError, match="is deleted already"):
        begin_deleting_corpus(corpus=corpus)
    monkeypatch.setattr(Corpus, "delete", _killed)
    with pytest.raises(KeyboardInterrupt):
        remove_hidden_corpus(name="gone", number=corpus.pk)
    assert not Image.objects.exists() and Corpus.objects.exists()
    monkeypatch.undo()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert not Corpus.objects.exists()


def test_a_corpus_imported_under_the_name_of_a_deleted_one_stays():
    corpus = a_corpus("gone", some_images(2))
    job = begin_deleting_corpus(corpus=corpus)
    again = a_corpus("gone", some_images(2))
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert Corpus.objects.get() == again and again.images.count() == 2


def _killed(self: Corpus) -> None:
    raise KeyboardInterrupt
