"""Feature sets: imported once, looked up by name, memory-mapped; errors are one line, and leave nothing."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError
from PIL import Image

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.models import Job
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import System
from evaluation.services.common import InputError
from evaluation.services.features import extraction, store
from evaluation.services.features.extraction import ExtractRequest, extract_set
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set, feature_sets
from evaluation.services.systems.training import system_named
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.factories import put_on_server
from tests.models_core.features.image.networks import colours
from tests.models_core.systems.worlds import examples, vectors

pytestmark = pytest.mark.django_db
NAMES = [example.name for example in examples(IMAGES)]


def written(folder: Path, rows: np.ndarray, ids: list[str] = NAMES) -> Path:
    np.savez(folder / "f.npz", vectors=rows, ids=np.array(ids))
    return folder / "f.npz"


def imported(corpus: str, file: Path, **more):
    return import_features(FeatureImport(**{"corpus": corpus, "name": "cnn", "path": file, **more}))


def test_a_set_has_the_files_rows_and_is_the_same_when_imported_again(corpus, features, data_dir):
    result = imported(corpus, features)
    assert not result.unchanged and result.remarks == []
    assert (result.set.label, result.set.rows, result.set.dtype) == ("cnn:1", IMAGES, "float32")
    assert result.set.ids() == tuple(NAMES)
    mapped = result.set.vectors()
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, vectors(IMAGES).astype(np.float32))
    again = imported(corpus, features)
    assert again.unchanged and again.set == result.set
    assert [path.name for path in (data_dir / "features" / corpus).iterdir()] == ["cnn"]


def test_other_vectors_are_the_next_version_and_the_name_means_the_newest(corpus, features, tmp_path):
    first = imported(corpus, features).set
    second = imported(corpus, written(tmp_path, vectors(IMAGES) * 2)).set
    assert second.label == "cnn:2"
    assert feature_set(corpus, "cnn") == second and feature_set(corpus, "cnn:1") == first
    assert feature_sets(corpus) == [first, second] == feature_sets()
    with pytest.raises(UnknownName, match=r"unknown feature set 'cnn:3' .* known: cnn:1, cnn:2"):
        feature_set(corpus, "cnn:3")


def test_ids_are_compared_both_ways(corpus, tmp_path):
    names = [*NAMES[:50], *(f"elsewhere{n}.png" for n in range(10))]
    result = imported(corpus, written(tmp_path, vectors(IMAGES), names))
    assert result.set.rows == 50 and result.set.ids() == tuple(NAMES[:50])
    np.testing.assert_array_equal(result.set.vectors(), vectors(IMAGES)[:50].astype(np.float32))
    (missing,) = result.remarks
    assert missing.startswith(f"10 ids ({NAMES[50]!r}, ") and missing.endswith(
        "of the corpus have no features"
    )
    assert (result.set.origin["excluded"], result.set.origin["missing"]) == (10, 10)


@pytest.mark.parametrize(
    ("rows", "ids", "more", "says"),
    [
        (None, [NAMES[0], *NAMES[:-1]], {}, f"id {NAMES[0]!r} occurs at 0 and 1"),
        (None, [f"x{n}" for n in range(60)], {}, "none of its 60 ids is of corpus 'world': 60 ids"),
        (None, [NAMES[0].removesuffix(".png"), *NAMES[:-1]], {}, "name images that other rows name too"),
        ((7, 2, np.nan), NAMES, {}, f"feature 2 of {NAMES[7]!r} is not finite"),
        ((8, 1, 1e6), NAMES, {"dtype": "float16"}, f"feature 1 of {NAMES[8]!r} does not fit float16"),
        (None, NAMES, {"dtype": "int8"}, "type 'int8': expected float32 or float16"),
        (None, NAMES, {"kind": "sound"}, "kind 'sound': expected one of image, caption, region, word"),
        (None, NAMES, {"name": "a b"}, "feature set name 'a b': expected letters"),
    ],
)
def test_what_is_wrong_is_named_and_leaves_nothing(corpus, tmp_path, data_dir, rows, ids, more, says):
    provided = vectors(IMAGES).astype(np.float64)
    if rows is not None:
        provided[rows[0], rows[1]] = rows[2]
    with pytest.raises((InputError, FormatError), match=says):
        imported(corpus, written(tmp_path, provided, ids), **more)
    assert feature_sets() == []
    assert [path for path in (data_dir / "features").rglob("*") if path.is_file()] == []


def test_an_id_that_comes_twice_in_a_table_is_named(corpus, tmp_path):
    table = pa.table({"id": [NAMES[0], NAMES[1], NAMES[0]], "vector": [[1.0], [2.0], [3.0]]})
    pq.write_table(table, tmp_path / "f.parquet")
    with pytest.raises(InputError, match=f"1 ids \\({NAMES[0]!r}\\) come more than once"):
        imported(corpus, tmp_path / "f.parquet")


def test_constant_columns_are_named(corpus, tmp_path):
    rows = vectors(IMAGES)
    rows[:, [1, 3, 4, 5]] = 2.5
    (remark,) = imported(corpus, written(tmp_path, rows)).remarks
    assert remark.startswith(f"4 of {rows.shape[1]} columns are constant (1, 3, 4, ...)")


def test_what_was_stopped_goes_on_after_its_last_block(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("evaluation.formats.feature_files.FEATURE_BLOCK_ROWS", 16)
    file = written(tmp_path, vectors(IMAGES))
    feature_import = FeatureImport(corpus=corpus, name="cnn", path=file)
    seen = []

    def stop(phase, done, total):
        seen.append(done)
        if done == 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_features(feature_import, progress=stop)
    assert feature_sets() == []
    seen.clear()
    features = import_features(feature_import, progress=lambda phase, done, total: seen.append(done))
    assert seen == [32, 48, 60]
    np.testing.assert_array_equal(features.set.vectors(), vectors(IMAGES).astype(np.float32))
    # Nothing of another file is reused.
    with pytest.raises(KeyboardInterrupt):
        import_features(FeatureImport(corpus=corpus, name="two", path=file), progress=stop)
    another = written(tmp_path, vectors(IMAGES) + 1)
    features = import_features(FeatureImport(corpus=corpus, name="two", path=another))
    np.testing.assert_array_equal(features.set.vectors(), (vectors(IMAGES) + 1).astype(np.float32))


def test_a_full_disk_is_told_before_anything_is_written(corpus, features, data_dir, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(CommandError, match="No space left on device"):
        output_of("import_features", corpus, features, "--name", "cnn")
    assert [path for path in (data_dir / "features").rglob("*") if path.is_file()] == []


def test_sets_of_captions_go_by_the_ids_of_captions(corpus, tmp_path):
    ids = [f"{name}#{number}" for name in NAMES[:3] for number in range(2)]
    result = imported(corpus, written(tmp_path, np.eye(6), ids), kind="caption").set
    assert (result.kind, result.ids()) == ("caption", tuple(ids))


def test_a_system_is_trained_on_a_set_ranks_by_it_and_keeps_it(corpus, features, own_recipe):
    output_of("import_features", corpus, features, "--name", "cnn")
    by_file = json.loads(
        output_of(
            "train_system",
            "file",
            "--recipe",
            own_recipe,
            "--corpus",
            corpus,
            "--features",
            features,
            "--json",
        )
    )
    output_of("train_system", "set", "--recipe", own_recipe, "--corpus", corpus, "--features", "cnn")
    row = System.objects.get(name="set")
    stored = feature_set(corpus, "cnn")
    assert (row.settings["features"], row.sources) == ("cnn:1", {"cnn:1": stored.digest})
    # The same vectors, so that the trained models are the same.
    ours, theirs = (system_named(name).model.state()[0] for name in ("set", "file"))
    assert by_file["training"] == 36 and all(np.array_equal(ours[key], theirs[key]) for key in ours)
    assert "run 'set-search': 12 queries" in output_of("rank", "set", "--split", "test")
    assert "cnn:1" in output_of("list_features", "--corpus", corpus) and "cnn:1" in output_of("list_features")
    with pytest.raises(CommandError, match="feature set 'cnn:1' is used by set; remove the systems first"):
        output_of("remove_features", corpus, "cnn")
    output_of("import_features", corpus, features, "--name", "spare")
    output_of("remove_features", corpus, "spare:1")
    assert [item.label for item in feature_sets()] == ["cnn:1"]


def test_a_set_that_is_not_there_or_not_of_images_is_refused(corpus, tmp_path, own_recipe):
    with pytest.raises(CommandError, match="unknown feature set 'cnn' of corpus 'world'; known: none"):
        output_of("train_system", "mine", "--recipe", own_recipe, "--corpus", corpus, "--features", "cnn")
    ids = [f"{name}#0" for name in NAMES]
    imported(corpus, written(tmp_path, vectors(IMAGES), ids), kind="caption")
    with pytest.raises(CommandError, match="feature set 'cnn:1' is of captions; give one of images"):
        output_of("train_system", "mine", "--recipe", own_recipe, "--corpus", corpus, "--features", "cnn")


def test_a_job_imports_and_says_what_it_found(corpus, features):
    arguments = {"corpus": corpus, "name": "cnn", "server_file": put_on_server("features", features)}
    job = jobs.enqueue(kind="import_features", arguments=arguments)
    assert jobs.run_queued_job(job.pk) == Job.DONE
    result = Job.objects.get(pk=job.pk).result
    assert (result["name"], result["version"], result["rows"]) == ("cnn", 1, IMAGES)
    invalid = jobs.enqueue(kind="import_features", arguments={**arguments, "server_file": "nowhere.npz"})
    assert jobs.run_queued_job(invalid.pk) == Job.FAILED
    assert "nowhere.npz is no longer there" in Job.objects.get(pk=invalid.pk).error


def test_a_folder_that_is_no_set_is_passed_over(corpus, features, data_dir):
    result = imported(corpus, features).set
    broken = data_dir / "features" / corpus / "torn" / "1"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text("{}")
    assert store.feature_sets() == [result]


@pytest.fixture
def drawn(db: None, data_dir: Path, tmp_path: Path) -> str:
    """A corpus of five pictures and an image without one."""
    for n in range(5):
        Image.new("RGB", (20, 10), (50 * n, 10, 200)).save(tmp_path / f"{n}.png")
    records = [
        ImageRecord(
            id=f"{n}",
            filename=f"{n}.png",
            captions=(CaptionRecord("a dog"),),
            picture=tmp_path / f"{n}.png" if n < 5 else None,
        )
        for n in range(6)
    ]
    import_records(name="drawn", records=records, format="jsonl", source="memory")
    return "drawn"


def test_a_network_computes_a_set_which_goes_on_where_it_was_stopped(drawn, tmp_path, monkeypatch):
    monkeypatch.setattr(extraction, "PICTURES_PER_BLOCK", 2)
    weights = colours(tmp_path / "colours.onnx")
    provided: dict[str, Any] = {"shorter": 8, "output": "means", "mean": [0, 0, 0], "deviation": [1, 1, 1]}
    extract_request = ExtractRequest(corpus=drawn, name="net", weights=weights, settings=provided)
    seen = []

    def stop(phase, done, total):
        seen.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_set(extract_request, progress=stop)
    result, new, absent = extract_set(extract_request)
    assert (new, absent, result.rows, result.dimensions) == (True, 1, 5, 3)
    np.testing.assert_allclose(result.vectors()[:, 0], np.arange(5) * 50 / 255, atol=1e-6)
    assert result.origin["extractor"] == "cnn" and result.origin["settings"]["output"] == "means"
    ask = ("--name", "net", "--extractor", "cnn", "--weights", weights, "--extractor-settings")
    text = output_of(
        "extract_features", drawn, *ask, *(f"{key}={json.dumps(value)}" for key, value in provided.items())
    )
    assert "feature set net:1 of corpus 'drawn' already exists" in text and "1 images have no picture" in text
    job = jobs.enqueue(
        kind="extract_features",
        arguments={
            "corpus": drawn,
            "name": "job",
            "weights": put_on_server("networks", weights),
            "extractor_settings": provided,
        },
    )
    assert jobs.run_queued_job(job.pk) == Job.DONE
    np.testing.assert_array_equal(feature_set(drawn, "job").vectors(), result.vectors())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "extractor cnn needs a network"),
        (("--extractor-settings", "crops=3"), "crops is 3; expected"),
        (("--extractor-settings", "croops=10"), "unknown setting 'croops'; known: shorter, crops"),
        (("--extractor-settings", "crops"), "crops"),
        (("--extractor-settings", "output=fc7"), "has no output 'fc7'; it has maps, means"),
    ],
)
def test_settings_of_a_network_that_cannot_be_are_refused(drawn, tmp_path, options, says):
    weights = colours(tmp_path / "colours.onnx")
    provided = ("--extractor", "cnn", "--weights", weights) if options else ()
    with pytest.raises(CommandError, match=says):
        output_of("extract_features", drawn, "--name", "net", *provided, *options)
    assert feature_sets() == []
