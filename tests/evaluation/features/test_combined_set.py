"""The standard combined features of a corpus, by command and job: what is learned, from which pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.management.base import CommandError

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.models import Job
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.services.features.extraction import ExtractRequest, extract_set
from evaluation.services.features.store import feature_set, feature_sets
from tests.evaluation.database.conftest import output_of
from tests.models_core.features.image.conftest import draw

pytestmark = pytest.mark.django_db
SMALL = ("longer_side=64", "gist_side=32", "words=4", "word_numbers=8", "codebook_points=20")


def imported(name: str, folder: Path, splits: list[str], first: int = 0) -> str:
    """Import a corpus of pictures, of these splits, and an image without one."""
    records = [
        ImageRecord(
            id=f"{n}",
            filename=f"{n}.png",
            captions=(CaptionRecord("a dog"),),
            split=split,
            picture=draw(
                folder / f"{name}{n}.png", ("stripes", "noise")[(first + n) % 2], first + n, (64, 48)
            ),
        )
        for n, split in enumerate(splits)
    ]
    records.append(ImageRecord(id="none", filename="none.png", captions=(CaptionRecord("a dog"),)))
    import_records(name=name, records=records, format="jsonl", source="memory")
    return name


@pytest.fixture
def drawn(db: None, data_dir: Path, tmp_path: Path) -> str:
    return imported("drawn", tmp_path, ["train"] * 5 + ["test"] * 2)


def extracted(corpus: str, name: str, *more: str) -> str:
    options = ("--name", name, "--extractor", "combined")
    return output_of("extract_features", corpus, *options, *more)


def test_a_corpus_is_described_by_what_its_training_pictures_teach(drawn):
    text = extracted(drawn, "standard", "--extractor-settings", *SMALL)
    assert "feature set standard:1 of corpus 'drawn' stored: 7 image vectors of 20 numbers" in text
    assert "1 images have no picture" in text
    result = feature_set(drawn, "standard")
    assert result.ids() == tuple(f"{n}.png" for n in range(7))
    assert result.origin["extractor"] == "combined"
    assert result.origin["learned_from"] == {"corpus": "drawn", "pictures": 5}
    assert result.origin["numbers"] == dict.fromkeys(("gist", "rgb", "csift", "rgbsift", "hog"), 4)
    np.testing.assert_allclose(np.linalg.norm(result.vectors(), axis=1), np.sqrt(5), atol=1e-5)
    again = extracted(drawn, "standard", "--extractor-settings", *SMALL)
    assert "feature set standard:1 of corpus 'drawn' already exists, nothing changed" in again
    other_features = extracted(
        drawn, "standard", "--extractor-settings", "seed=3", *SMALL, "learn_from=all", 'parts=["rgb"]'
    )
    assert "standard:2 of corpus 'drawn' stored: 7 image vectors of 6 numbers" in other_features
    assert feature_set(drawn, "standard").origin["settings"]["seed"] == 3


def test_another_corpus_is_described_by_the_same_axes(drawn, tmp_path):
    new = imported("new", tmp_path, ["", ""], first=5)
    small = (*SMALL, 'parts=["gist","hog"]')
    extracted(drawn, "own", "--extractor-settings", *small)
    extracted(new, "theirs", "--learn-corpus", drawn, "--extractor-settings", *small)
    own_feature_set, theirs = feature_set(drawn, "own"), feature_set(new, "theirs")
    assert own_feature_set.origin["sha256"] == theirs.origin["sha256"]
    assert theirs.origin["learned_from"]["corpus"] == drawn
    # The two are drawn like pictures 5 and 6 there.
    np.testing.assert_allclose(theirs.vectors(), own_feature_set.vectors()[5:], atol=1e-6)
    job = jobs.enqueue(
        kind="extract_features",
        arguments={
            "corpus": new,
            "name": "job",
            "extractor": "combined",
            "learn_corpus": drawn,
            "extractor_settings": theirs.origin["settings"],
        },
    )
    assert jobs.run_queued_job(job.pk) == Job.DONE
    np.testing.assert_array_equal(feature_set(new, "job").vectors(), theirs.vectors())


def test_what_was_stopped_goes_on_where_it_ended(drawn, monkeypatch):
    monkeypatch.setattr("evaluation.services.features.extraction.PICTURES_PER_BLOCK", 2)
    pairs = (text.split("=") for text in SMALL)
    settings = {key: int(value) for key, value in pairs} | {"parts": ["rgb", "hog"]}
    extract_request = ExtractRequest(corpus=drawn, name="s", extractor="combined", settings=settings)
    first: list[int] = []

    def stop(phase, done, of):
        if phase == "writing features":
            first.append(done)
            if done == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_set(extract_request, progress=stop)
    second: list[int] = []
    result, created, _ = extract_set(
        extract_request,
        progress=lambda phase, done, of: second.append(done) if phase == "writing features" else None,
    )
    assert created and (first, second[0]) == ([0, 2, 4], 4)
    extracted(drawn, "whole", "--extractor-settings", *SMALL, 'parts=["rgb","hog"]')
    np.testing.assert_array_equal(result.vectors(), feature_set(drawn, "whole").vectors())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--extractor-settings", "words=0"), "words is 0; expected a whole number, 1 or more"),
        (("--extractor-settings", 'parts=["gits"]'), r"parts is \['gits'\]; expected a list"),
        (("--extractor-settings", "crops=10"), "unknown setting 'crops'; known: parts, longer_side"),
        (("--weights", "x.onnx"), "extractor combined takes no network; leave the weights out"),
        (("--learn-corpus", "nowhere"), "There is no corpus “nowhere” here"),
        (
            ("--extractor-settings", *SMALL[:2], *SMALL[3:], "words=500"),
            "codebook of csift: 500 clusters were requested",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(drawn, options, says):
    with pytest.raises(CommandError, match=says) as error:
        extracted(drawn, "standard", *options)
    assert "\n" not in str(error.value) and feature_sets() == []


def test_a_corpus_without_training_pictures_says_what_to_do(data_dir, tmp_path, db):
    bare = imported("bare", tmp_path, ["", "test"])
    with pytest.raises(CommandError, match="corpus 'bare' has no picture in split 'train' .* learn_from=all"):
        extracted(bare, "standard")
    with pytest.raises(CommandError, match="extractor cnn learns nothing"):
        output_of(
            *("extract_features", bare, "--name", "n", "--extractor", "cnn", "--weights", "x.onnx"),
            *("--learn-corpus", bare),
        )
    with pytest.raises(CommandError, match="the following arguments are required: --name"):
        output_of("extract_features", bare, "--extractor", "combined")
