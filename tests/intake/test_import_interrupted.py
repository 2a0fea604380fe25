"""Imports that fail, are killed, or meet another of the same name."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection

from annotation.common.locks import Busy, locked_folder
from annotation.datasets import intake, layer_rows
from annotation.images import pictures
from annotation.models import Corpus, Image
from annotation.protocol.terms import ImageRecord
from phrasebox.text_files import FormatError
from tests import launcher
from tests.factories import some_images
from tests.house.product import PATIENCE, environment, migrated
from tests.intake.conftest import a_picture, everything, take
from tests.transactions import written

pytestmark = pytest.mark.django_db
REPOSITORY = Path(__file__).resolve().parents[2]


def failing(records: list[ImageRecord], error: BaseException) -> Iterator[ImageRecord]:
    yield from records
    raise error


@pytest.mark.parametrize("after", [0, 1, 7])
@pytest.mark.parametrize(
    "error", [FormatError("is cut off", file="x.json"), OSError("disk"), KeyboardInterrupt()]
)
def test_nothing_remains_of_an_import_that_fails(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException
):
    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 2)
    take(some_images(1), name="neighbour")
    before = everything(data_dir)
    picture = a_picture(tmp_path / "a.jpg", size=(500, 375))
    with pytest.raises(type(error)):
        take(failing([replace(r, picture=picture) for r in some_images(after)], error))
    assert everything(data_dir) == before


def test_what_a_killed_import_left_is_swept_and_done_again(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 2)
    records = some_images(5)
    shared, another = (a_picture(tmp_path / f"{c}.jpg", c, size=(500, 375)) for c in ("navy", "red"))
    take([replace(records[0], picture=shared)], name="neighbour")
    publish = pictures.publish_pictures

    def publish_and_die(staged: Path) -> None:
        publish(staged)
        raise SystemExit

    with monkeypatch.context() as patch:
        # A process killed between moving its pictures and publishing cleans up nothing.
        patch.setattr(intake, "sweep_corpus", lambda corpus: None)
        patch.setattr(pictures, "publish_pictures", publish_and_die)
        with pytest.raises(SystemExit):
            take([replace(records[0], picture=shared), replace(records[1], picture=another), *records[2:]])
    assert not Corpus.objects.get(name="corpus").published
    assert Image.objects.filter(corpus__name="corpus").count() == 5
    assert len(everything(data_dir)["files"]) == 2
    assert not take(records).unchanged
    assert Corpus.objects.get(name="corpus").published
    assert Image.objects.filter(corpus__name="corpus").count() == 5
    # The picture that the other corpus uses stays, the unused one is deleted.
    assert len(everything(data_dir)["files"]) == 1


@pytest.mark.only_on("sqlite")  # its process has its own database there, in any run
def test_a_process_killed_in_the_middle_leaves_nothing_in_the_way(tmp_path: Path):
    script = textwrap.dedent(
        """
        import os, signal, sys
        import django
        django.setup()
        from annotation.datasets import layer_rows
        from annotation.datasets.importing import import_records
        from annotation.models import Corpus, Image, Mention
        from tests.factories import some_images

        layer_rows.LAYER_IMAGES_PER_TRANSACTION = 3

        def records(die):
            for n, record in enumerate(some_images(10)):
                if die and n == 7:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield record

        left = Image.objects.count()
        report = import_records(name="c", records=records(sys.argv[1] == "die"), format="test", source="x")
        print(left, report.unchanged, Image.objects.count(), Mention.objects.count(), Corpus.objects.count())
        """
    )
    migrated(tmp_path)
    provided = environment(tmp_path, {"DJANGO_SETTINGS_MODULE": "config.settings"})

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return launcher.run([sys.executable, *arguments], env=provided, timeout=PATIENCE)

    assert run("-c", script, "die").returncode == -9
    done = run("-c", script, "live")
    assert done.stdout.split() == ["6", "False", "10", "40", "1"], done.stderr
    assert not (tmp_path / "data" / "work").exists()


def test_two_imports_of_one_name_do_not_meet(data_dir: Path):
    with locked_folder("import.corpus", busy=""):
        with pytest.raises(Busy, match="'corpus' is being imported by another process; wait for its end"):
            take(some_images(1))
    assert not Corpus.objects.exists()
    take(some_images(1))


@pytest.mark.django_db(transaction=True)
def test_of_two_imports_started_at_once_one_wins_and_the_other_says_why():
    inside, go_on = threading.Event(), threading.Event()
    outcomes: list[object] = []

    def slowly() -> Iterator[ImageRecord]:
        inside.set()
        assert go_on.wait(60)
        yield from some_images(3)

    def first() -> None:
        try:
            outcomes.append(take(slowly()))
        finally:
            connection.close()

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(60)
    try:
        with pytest.raises(Busy):
            take(some_images(3))
    finally:
        go_on.set()
        thread.join()
    assert len(outcomes) == 1
    assert take(some_images(3)).unchanged


def test_machines_without_a_common_lock_are_kept_apart_by_the_name(monkeypatch: pytest.MonkeyPatch):
    create = Corpus.objects.create
    monkeypatch.setattr(Corpus.objects, "create", lambda **row: (create(**row), create(**row))[1])
    with pytest.raises(Busy, match="another process"):
        take(some_images(1))


@pytest.mark.django_db(transaction=True)
def test_a_portion_is_written_in_one_transaction_and_published_in_one(monkeypatch: pytest.MonkeyPatch):
    """Nobody sees half of it; the layer's own row, which hides what hangs on it, is written alone."""
    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 2)
    result = written(lambda: take(some_images(3)))
    corpus = Corpus.objects.get()
    shares = [(record.id, record.layer) for record in some_images(3) if record.layer is not None]

    def layer(again: bool) -> None:
        layer_rows.write_layer(corpus=corpus, name="gold", source="test", records=shares, replace=again)

    result += [*written(lambda: layer(False)), *written(lambda: layer(True))]
    alone = [statement for held, statement in result if not held]
    of_the_layer = tuple(f'{verb} "annotation_layer" ' for verb in ("INSERT INTO", "UPDATE"))
    assert len(result) > len(alone) and [item for item in alone if not item.startswith(of_the_layer)] == []
