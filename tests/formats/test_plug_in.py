"""A corpus format from one folder under tests, without other files: imported, listed and exported.

`tests/plugged_in/caption_blocks` contains all of it, as described in CONTRIBUTING ("Add a corpus format").
`test_checks.py` tests that `manage.py check` names each missing part.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation import jobs
from annotation.checks import corpus_formats
from annotation.datasets import layer_rows
from annotation.formats import FORMATS
from annotation.models import Corpus, Job
from tests.formats.reading import error_of
from tests.plug_ins import FOLDER, FORMAT_FOLDERS, forget_choices, plugged
from tests.web import world as people
from tests.web.staff import answered, messages_on, press

KEY = "caption_blocks"
SAMPLE = FOLDER / KEY / "sample"


@pytest.fixture(autouse=True)
def plugged_in(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.DATA_DIR = tmp_path / "data"
    with plugged(FORMAT_FOLDERS):
        yield


@pytest.fixture
def corpus(db: None) -> Corpus:
    call_command("import_corpus", "sampled", SAMPLE, format=KEY, verbosity=0)
    return Corpus.objects.get(name="sampled")


def test_a_format_of_one_folder_lacks_nothing() -> None:
    assert KEY in FORMATS and corpus_formats(None) == []


def test_it_is_imported_and_exported_by_command_as_it_was(corpus: Corpus, tmp_path: Path) -> None:
    assert corpus.image_count == 2
    names = corpus.images.order_by("position").values_list("filename", flat=True)
    assert list(names) == ["stage.jpg", "frisbee.png"]
    call_command("export_dataset", "sampled", out=tmp_path / "out", format=KEY, verbosity=0)
    file = tmp_path / "out" / "captions.blocks"
    assert file.read_bytes() == (SAMPLE / "captions.blocks").read_bytes()


def test_it_is_offered_and_made_by_page(db: None, tmp_path: Path) -> None:
    layer_rows.refresh_layer_rows(answered().campaign)
    ada = people.signed_in("ada", "researcher")
    page = press(ada, "/campaigns/quay/jobs/", "Export", format=KEY)
    assert messages_on(page) == ["Building the export. It will appear here."]
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    answer = ada.get(reverse("operation_file", args=["download_export"]), {"job": job.pk})
    with zipfile.ZipFile(BytesIO(b"".join(answer))) as archive:
        archive.extract("captions.blocks", tmp_path)
    call_command("import_corpus", "again", tmp_path / "captions.blocks", format=KEY, verbosity=0)
    assert Corpus.objects.get(name="again").image_count == 2


def test_what_it_cannot_say_is_counted(db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "corpus.csv"
    file.write_text("image,caption,split\na.jpg,A dog runs.,train\n")
    call_command("import_corpus", "split", file, format="csv", verbosity=0)
    capsys.readouterr()
    call_command("export_dataset", "split", out=tmp_path / "out", format=KEY, json=True)
    assert json.loads(capsys.readouterr().out)["excluded"] == {"splits": 1}


def test_a_wrong_line_a_repeated_image_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "captions.blocks"
    file.write_text("a.jpg\n  A dog.\n\n  A cat without a picture.\n")
    assert error_of(KEY, file).line == 4
    file.write_text("a.jpg\n  A dog.\n\na.jpg\n  A cat.\n")
    assert error_of(KEY, file).line == 4
    file.unlink()
    error_of(KEY, tmp_path)


def test_without_its_package_nobody_knows_it(db: None) -> None:
    FORMATS._entries.pop(KEY)
    forget_choices()
    with pytest.raises(CommandError, match="--format: Expected one of: 'coco', 'csv'"):
        call_command("import_corpus", "sampled", SAMPLE, format=KEY, verbosity=0)
