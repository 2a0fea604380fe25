"""Randomly damaged files, sent to every operation that takes files: accepted, or refused with a message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from annotation import jobs
from annotation.common.readers import read, stream
from annotation.datasets import uploads
from annotation.datasets.importing import IntakeError
from annotation.datasets.source_problems import SourceProblems
from annotation.datasets.uploaded_source import check_upload
from annotation.formats.files.archive import DEFAULT_LIMITS, unpack_archive
from annotation.formats.source_records import read_records, readable_format
from annotation.images.pictures import PictureError, StoredPicture, check_pictures
from annotation.models import Account, Job
from phrasebox.text_files import FormatError
from tests import mutants
from tests.api.v1.conftest import Caller, operation
from tests.api.v1.valid import VALID, ValidCall
from tests.hostile.world import IMAGES
from tests.intake.uploading import a_picture, uploaded, zipped
from tests.mutants import Seed
from tests.sizes import sized

SEEDS = mutants.seeds(IMAGES)
_PLACES: dict[str, dict[str, Any]] = {
    "import_controls": {"campaign": "review"},
    "import_layer": {"corpus": "quay"},
    "import_proposals": {"campaign": "quay", "model_annotator": "drawer"},
}
#: The message of a job that failed because of a bug: it begins with the exception's class.
_MISTAKE = re.compile(r"[A-Z]\w*(Error|Exception): ")


def test_every_operation_that_takes_files_has_seeds():
    taking = {endpoint for endpoint in VALID if operation(endpoint).uploads} - {"send_upload_part"}
    taking -= {"evaluate", "score_tags"}  # by the readers of add_system and import_tags
    assert {seed.operation for seed in SEEDS} == taking


def send(caller: Caller, seed: Seed, name: str, content: bytes, number: int) -> Any:
    """Send a file, and run its job; fail if there is a bug."""
    call = ValidCall(
        _PLACES.get(seed.operation, {}), body=dict(seed.fields), files={seed.field_name: (name, content)}
    )
    if seed.operation not in ("agreement", "import_controls", "import_proposals"):
        field = "layer" if seed.operation == "import_layer" else "name"
        call.body = {**(call.body or {}), field: f"{re.sub('[.]', '-', seed.name)}-{number}"}
    response = caller.perform(operation(seed.operation), call)
    assert response.status_code < 500, (name, response.content)
    if response.status_code == 202:
        job = Job.objects.get(pk=response.json()["number"])
        jobs.run_queued_job(job.pk)
        job.refresh_from_db()
        assert not _MISTAKE.match(job.error), (name, job.error)
        return job.state == Job.DONE, job.error
    return response.status_code < 300, response.content


def attack(caller: Caller, seed: Seed, number: int) -> None:
    """Send a valid file, then `number` mutants of it."""
    if seed.operation == "import_proposals":
        VALID["import_proposals"]()  # adds the model annotator
    done, answer = send(caller, seed, seed.name, seed.content, 0)
    assert done, answer
    for index, (name, content) in enumerate(mutants.mutants(seed, number), 1):
        send(caller, seed, name, content, index)


def test_spoilt_files_are_refused_in_words(researcher: Caller):
    for seed in SEEDS:
        attack(researcher, seed, sized(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.operation}-{seed.name}")
def test_many_spoilt_files_are_refused_in_words(researcher: Caller, seed: Seed):
    attack(researcher, seed, 200)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.operation}-{seed.name}")
def test_readers_refuse_spoilt_files_in_words(tmp_path: Path, seed: Seed):
    for number, (name, content) in enumerate([(seed.name, seed.content), *mutants.mutants(seed, 20)]):
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        path.write_bytes(content)
        try:
            mutants.read_seed(seed, path)
        except FormatError:
            assert number, "the valid file is refused"


CORPORA = {
    "captions.token.txt": b"p0.jpg#0\tA man is here .\np0.jpg#1\tA man is there .\n",
    "captions.jsonl": b'{"filename": "p0.jpg", "sentences": [{"raw": "A man."}]}\n',
    "dataset.json": b'{"dataset": "x", "images": [{"filename": "p0.jpg", "imgid": 0, "split": "train", '
    b'"sentids": [0], "sentences": [{"raw": "A man.", "tokens": ["a", "man"], "imgid": 0, "sentid": 0}]}]}',
    "captions.csv": b"image,caption\np0.jpg,A man is here.\n",
    "all.zip": zipped({"photos/p0.jpg": a_picture(0), "captions.token.txt": b"p0.jpg#0\tA man is here .\n"}),
}


@pytest.mark.parametrize("name", CORPORA)
def test_readers_refuse_spoilt_corpora_in_words(tmp_path: Path, name: str):
    for number, (called, content) in enumerate(mutants.mutants(Seed("", name, CORPORA[name]), 20)):
        source = tmp_path / str(number)
        source.mkdir()
        (source / called).write_bytes(content)
        try:
            if name.endswith(".zip"):
                list(stream(unpack_archive, source / called, source / "unpacked", DEFAULT_LIMITS))
            elif format := read(readable_format, source, ()):
                list(stream(read_records, format, source, None, (), ""))
        except FormatError:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_many_spoilt_corpora_are_refused_in_words(data: Path, name: str):
    account = Account.objects.create_user(username="sender")
    for called, content in mutants.mutants(Seed("", name, CORPORA[name]), 200):
        upload = uploaded(account, {called: content, "p0.jpg": a_picture(1)}, part=10**7)
        try:
            check_upload(upload, report_progress=lambda step, share: None)
        except (IntakeError, FormatError, SourceProblems):
            pass
        uploads.remove_upload(upload)


@pytest.mark.parametrize("name", mutants.pictures())
def test_spoilt_pictures_are_refused_in_words(db: None, tmp_path: Path, name: str):
    paths = []
    for number, (called, content) in enumerate(mutants.mutants(Seed("", name, mutants.pictures()[name]), 20)):
        paths.append(tmp_path / f"{number}-{called}")
        paths[-1].write_bytes(content)
    stored = list(check_pictures(paths))
    assert len(stored) == 20
    assert all(isinstance(picture, StoredPicture | PictureError) for picture in stored)
