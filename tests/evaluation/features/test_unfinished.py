"""Feature sets and parses that are incomplete, or belong to a deleted corpus; and sets that are deleted while
others read them."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from annotation import jobs
from annotation.common.locks import Busy
from annotation.datasets.deleting import delete_corpus
from annotation.datasets.importing import import_records
from annotation.models import AuditEntry, Corpus, Job
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.formats import feature_files
from evaluation.services.common import work_lock
from evaluation.services.features import extraction
from evaluation.services.features.extraction import ExtractRequest, extract_set
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.parses import import_parses, stored_parses
from evaluation.services.features.store import feature_set, remove_set, unfinished_sets
from evaluation.services.stale_work import STALE_AFTER_SECONDS, remove_stale_work
from evaluation.services.systems import training
from evaluation.services.systems.feature_use import remove_unused
from evaluation.services.systems.folders import training_folder
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName
from tests.evaluation.database.conftest import output_of
from tests.evaluation.features.test_parses import sentence
from tests.evaluation.features.test_parses import written as parses_written

pytestmark = pytest.mark.django_db
PICTURES = 5


def drawn(folder: Path, *, blue: int) -> Corpus:
    """Import a corpus of five pictures; another `blue` gives other pictures with the same names."""
    records = []
    for number in range(PICTURES):
        file = folder / f"{number}.png"
        Image.new("RGB", (20, 10), (50 * number, 10, blue)).save(file)
        caption = CaptionRecord("a dog")
        records.append(ImageRecord(id=f"{number}", filename=file.name, captions=(caption,), picture=file))
    import_records(name="drawn", records=records, format="jsonl", source="memory")
    return Corpus.objects.get(name="drawn")


def stopped(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave an incomplete set of the corpus; return its folder."""
    monkeypatch.setattr(extraction, "PICTURES_PER_BLOCK", 2)

    def stop(phase: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_set(ExtractRequest(corpus="drawn", name="look", extractor="layout"), progress=stop)
    (part,) = unfinished_sets("drawn")
    return part


def test_what_was_stopped_does_not_go_on_with_other_pictures(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(tmp_path, blue=200)
    part, retained = stopped(monkeypatch), tmp_path / "kept"
    shutil.copytree(part, retained)
    delete_corpus(corpus=Corpus.objects.get(name="drawn"))
    assert not part.exists()
    drawn(tmp_path, blue=20)
    shutil.copytree(retained, part)  # As after a restore.
    result, new, _ = extract_set(ExtractRequest(corpus="drawn", name="look", extractor="layout"))
    fresh, _, _ = extract_set(ExtractRequest(corpus="drawn", name="fresh", extractor="layout"))
    assert new
    np.testing.assert_array_equal(result.vectors(), fresh.vectors())


def test_a_corpus_whose_set_is_being_written_stays(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = drawn(tmp_path, blue=200)
    part = stopped(monkeypatch)
    with work_lock("features.drawn.look", "feature set", "look"):
        with pytest.raises(PhraseboxError, match="another process is writing under this name"):
            delete_corpus(corpus=corpus)
    assert part.is_dir()


def test_the_parses_of_a_deleted_corpus_are_not_those_of_the_next_one(data_dir: Path, tmp_path: Path) -> None:
    corpus = drawn(tmp_path, blue=200)
    import_parses("drawn", parses_written(tmp_path, sentence("0.png#0", ["a", "dog"])))
    assert stored_parses("drawn") is not None
    delete_corpus(corpus=corpus)
    drawn(tmp_path, blue=200)
    assert stored_parses("drawn") is None and not list((data_dir / "parses").iterdir())


def test_what_nobody_has_resumed_is_removed_after_a_while(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(tmp_path, blue=200)
    part, training = stopped(monkeypatch), training_folder("some")
    (training / "kernels").mkdir(parents=True)
    (training / "kernels" / "text.npy").write_bytes(b"x")
    gone = data_dir / "features" / "drawn" / "old" / ".2.gone"
    gone.mkdir(parents=True)
    assert remove_stale_work() == 0
    old = time.time() - STALE_AFTER_SECONDS - 60
    for folder in (part, training, gone):
        for file in (*folder.rglob("*"), folder):
            os.utime(file, (old, old))
    os.utime(training / "kernels" / "text.npy")  # This training was resumed since.
    with work_lock("features.drawn.look", "feature set", "look"):
        assert remove_stale_work() == 1 and not gone.exists() and part.is_dir()
    assert remove_stale_work() == 1 and not part.exists() and training.is_dir()
    os.utime(training / "kernels" / "text.npy", (old, old))
    assert remove_stale_work() == 1 and not training.exists()


def test_a_set_is_not_removed_while_a_system_is_trained_on_it(
    corpus: str, features: Path, own_recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_features(FeatureImport(corpus=corpus, name="cnn", path=features))
    result, row = feature_set(corpus, "cnn"), Corpus.objects.get(name=corpus)
    job = jobs.enqueue(
        kind="train_system",
        arguments={"name": "mine", "recipe": str(own_recipe), "corpus": corpus, "features": "cnn:1"},
        corpus=row,
    )
    with pytest.raises(PhraseboxError, match="used by the training of mine; wait for its end, or cancel it"):
        remove_unused(result)
    Job.objects.filter(pk=job.pk).update(state=Job.DONE)
    with work_lock(f"features.{corpus}.cnn", "feature set", "cnn"), pytest.raises(Busy):
        remove_unused(result)
    assert result.folder.is_dir() and not AuditEntry.objects.filter(act="remove_features").exists()

    # A command does not check: the training reports the problem at its end, not at the first ranking.
    fit = training.fit

    def removing(*arguments: Any, **more: Any) -> Any:
        model = fit(*arguments, **more)
        remove_unused(result)
        return model

    monkeypatch.setattr(training, "fit", removing)
    with pytest.raises(Exception, match="unknown feature set 'cnn:1'"):
        output_of("train_system", "mine", "--recipe", own_recipe, "--corpus", corpus, "--features", "cnn")
    assert AuditEntry.objects.filter(act="remove_features").count() == 1
    with pytest.raises(UnknownName, match="'cnn:1' of corpus 'world' is removed already"):
        remove_set(result)


def test_a_file_says_how_much_it_comes_to_before_it_is_read(tmp_path: Path) -> None:
    rows = 3_000_000
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_dataset("ids", (rows,), h5py.string_dtype(), chunks=(4096,))
        file.create_dataset("vectors", (rows, 4), "f4", chunks=(4096, 4))
    assert (tmp_path / "empty.h5").stat().st_size < 10_000
    assert feature_files.unpacked_bytes(tmp_path / "empty.h5") >= rows * (4 * 4 + 100)
    ids = pa.array(np.zeros(rows, np.int32))
    table = pa.table({"id": pa.DictionaryArray.from_arrays(ids, ["0.png"])})
    pq.write_table(table, tmp_path / "same.parquet")
    assert (tmp_path / "same.parquet").stat().st_size < 10_000
    assert feature_files.unpacked_bytes(tmp_path / "same.parquet") >= rows * 100
    for name in ("none.h5", "none.parquet", "none.npz"):
        (tmp_path / name).write_bytes(b"nothing")
        assert feature_files.unpacked_bytes(tmp_path / name) == 0
