"""All files use the same names of images: a name is one image, or an error with both names."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from annotation.campaigns.pairs import pairs_from_csv
from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.formats.layers.proposals import read_proposals
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.selectors.corpora import corpus_named, names_of_images
from evaluation.comparison.query_sets import queries_named
from evaluation.comparison.subsets import subset_from_file
from evaluation.models import PairAnswers, QrelsRow, Ranking
from evaluation.selectors import CorpusNames, names_of
from evaluation.services.captions.figures import CaptionScoring
from evaluation.services.captions.scores import caption_sources, score_caption_sources
from evaluation.services.common import InputError
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.judgments.qrels_files import QrelsImport, import_qrels
from evaluation.services.runs.files import RunImport, import_run
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.upload import AddSystemRequest, add_system
from models_core import storage
from phrasebox.agreement.summary import Resampling
from phrasebox.formats.trec import write_run
from phrasebox.names import AmbiguousName, escaped
from phrasebox.text_files import FormatError

pytestmark = pytest.mark.django_db

#: Returns the file name of an image, or None if the file is refused for its name.
Reader = Callable[[str, Path, CorpusNames], str | None]
STEMS = ("1", "2", "3", "10", "a b", "a%20b", "café")


@pytest.fixture
def names(db: None) -> CorpusNames:
    """Images whose stems are source ids of others, in two folders, with two extensions, in two cases."""
    rng = random.Random(58)
    files = [
        "1.jpg",
        "2.jpg",
        "2.png",
        "3.JPG",
        "10.jpg",
        "train/a b.jpg",
        "val/a b.jpg",
        "a%20b.png",
        "café.jpg",
    ]
    sources = rng.sample(range(1, 12), len(files))
    records = [
        ImageRecord(
            f"key{number}" if rng.random() < 0.3 else file.replace("/", "_"),
            file,
            (CaptionRecord(f"thing {number}", id=str(100 + number)),),
            external_id=str(source),
        )
        for number, (file, source) in enumerate(zip(files, sources, strict=True))
    ]
    import_records(name="clash", records=records, format="jsonl", source="memory")
    return names_of("clash")


def spelled(name: str, number: int) -> str:
    return [
        name,
        unicodedata.normalize("NFD", name),
        name.replace(" ", "\u202f"),
        name.replace(".jpg", ".JPG"),
        name.replace("/", "\\"),
    ][number % 5]


def image_of(row: Ranking | QrelsRow | PairAnswers, names: CorpusNames) -> str:
    assert row.image_id is not None
    return names.image_name[row.image_id]


def of_run(name: str, folder: Path, names: CorpusNames) -> str | None:
    write_run(folder / "run", "tag", [(name, ["100"], [1.0])])
    import_run(RunImport(name=f"run{folder.name}", file=folder / "run", corpus="clash"), OperationContext())
    return image_of(Ranking.objects.get(run__name=f"run{folder.name}"), names)


def of_scores(name: str, folder: Path, names: CorpusNames) -> str | None:
    np.savez(folder / "s.npz", scores=np.ones((1, 1)), images=np.array([name]), captions=np.array(["100"]))
    request = RunImport(name=f"scores{folder.name}", file=folder / "s.npz", corpus="clash", format="scores")
    import_run(request, OperationContext())
    return image_of(Ranking.objects.get(run__name=f"scores{folder.name}"), names)


def of_system(name: str, folder: Path, names: CorpusNames) -> str | None:
    np.savez(folder / "s.npz", scores=np.ones((1, 1)), images=np.array([name]), captions=np.array(["100"]))
    request = AddSystemRequest(
        name=f"kept{folder.name}", file=folder / "s.npz", corpus="clash", format="scores"
    )
    add_system(request, OperationContext())
    ids = storage.read_manifest(system_folder(f"kept{folder.name}"))["settings"]["images_ids"]
    return str(ids[0])


def of_features(name: str, folder: Path, names: CorpusNames) -> str | None:
    np.savez(folder / "f.npz", vectors=np.ones((1, 2)), ids=np.array([name]))
    return import_features(
        FeatureImport(corpus="clash", name=f"f{folder.name}", path=folder / "f.npz")
    ).set.ids()[0]


def of_qrels(name: str, folder: Path, names: CorpusNames) -> str | None:
    (folder / "q").write_text(f"{escaped(name)} 0 100 1\n")
    import_qrels(
        QrelsImport(name=f"q{folder.name}", file=folder / "q", corpus="clash", asks="image"),
        OperationContext(),
    )
    return image_of(QrelsRow.objects.get(snapshot__name=f"q{folder.name}"), names)


def of_judgments(name: str, folder: Path, names: CorpusNames) -> str | None:
    (folder / "j.csv").write_text(f"Image Name;caption;grade\n{name};100;1\n")
    request = JudgmentsImport(
        corpus="clash", file=folder / "j.csv", format="table", name=f"j{folder.name}", scale="votes"
    )
    import_judgments(request, OperationContext())
    return image_of(PairAnswers.objects.get(judgments__name=f"j{folder.name}"), names)


def of_captions(name: str, folder: Path, names: CorpusNames) -> str | None:
    (folder / "c.jsonl").write_text(json.dumps({"image": name, "caption": "a thing"}) + "\n")
    how = CaptionScoring(measures=("BLEU-1",), resampling=Resampling(0))
    report = score_caption_sources(
        corpus="clash", sources=caption_sources([folder / "c.jsonl"]), how=how, missing="leave-out"
    )
    missing = set(report["sets"][0]["not_scored"]["missing"])
    return next(known for known in names.image if known not in missing)


def of_subset(name: str, folder: Path, names: CorpusNames) -> str | None:
    (folder / "list").write_text(f"{name}\n")
    (image,) = subset_from_file("clash", folder / "list").images
    return names.image_name[image]


def of_queries(name: str, folder: Path, names: CorpusNames) -> str | None:
    (folder / "list").write_text(f"{name}\n")
    queries = queries_named("clash", str(folder / "list")) or {}
    return names.image_name[queries["image"][0]]


READERS: list[Reader] = [
    of_run,
    of_scores,
    of_system,
    of_features,
    of_qrels,
    of_judgments,
    of_captions,
    of_subset,
    of_queries,
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_name_in_any_file_is_of_one_image_or_refused_with_both(
    reader: Reader, names: CorpusNames, tmp_path: Path
) -> None:
    files = [
        *names.image,
        *(image.source for image in names.images.images.values()),
        *STEMS,
        "a b.jpg",
        "none.jpg",
    ]
    rng = random.Random(reader.__name__)
    for number, name in enumerate(rng.sample(sorted(set(files)), 6)):
        folder = tmp_path / str(number)
        folder.mkdir()
        written = spelled(name, number)
        try:
            expected = names.images.find(written)
        except AmbiguousName as error:
            with pytest.raises((FormatError, InputError)) as refused:
                reader(written, folder, names)
            assert str(error) in str(refused.value)
            continue
        if expected is None:
            with pytest.raises((FormatError, InputError, ValueError)):
                reader(written, folder, names)
        else:
            assert reader(written, folder, names) == names.image_name[expected]


def test_files_that_name_images_by_key_or_file_name_say_so(names: CorpusNames, tmp_path: Path) -> None:
    images = names_of_images(corpus_named("clash"))
    for image in images.images.values():
        for name in (image.key, image.filename):
            assert images.key(name) == image.key
    file = tmp_path / "pairs.csv"
    file.write_text("image|caption\n1.JPG|3.jpg#0\n")
    (pair,) = pairs_from_csv(file, corpus_named("clash")).pairs
    assert (pair.image, pair.caption) == (images.key("1.jpg"), f"{images.key('3.JPG')}#0")
    (tmp_path / "boxes.jsonl").write_text('{"image": "cafe\\u0301.jpg", "boxes": {}}\n')
    assert [image for image, _ in read_proposals(tmp_path / "boxes.jsonl", key_of=images.key)] == [
        images.key("café.jpg")
    ]


def test_a_choice_says_which_names_a_file_has(names: CorpusNames, tmp_path: Path) -> None:
    sources = [image.source for image in names.images.images.values()]
    captions = [str(100 + number) for number in range(len(sources))]
    np.savez(
        tmp_path / "s.npz", scores=np.eye(len(sources)), images=np.array(sources), captions=np.array(captions)
    )
    request = RunImport(name="r", file=tmp_path / "s.npz", corpus="clash", format="scores", named_by="source")
    import_run(request, OperationContext())
    first = Ranking.objects.filter(run__name="r").order_by("position")
    assert [image_of(row, names) for row in first] == list(names.image)
