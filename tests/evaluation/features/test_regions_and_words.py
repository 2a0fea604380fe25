"""Sets of regions with their boxes, and of word vectors from files of word2vec, GloVe and fastText."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError
from gensim.models import FastText  # type: ignore[import-untyped]
from gensim.models.fasttext import save_facebook_model  # type: ignore[import-untyped]
from safetensors.numpy import save_file

from annotation.datasets.importing import import_records
from annotation.models import Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.formats import fasttext_models, feature_files, word_vectors
from evaluation.formats.feature_files import open_features
from evaluation.selectors import words_of
from evaluation.services.common import InputError
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set
from evaluation.services.features.word_training import WordTraining, train_word_vectors
from phrasebox.text_files import FormatError
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.models_core.systems.worlds import examples

pytestmark = pytest.mark.django_db
NAMES = [example.name for example in examples(IMAGES)]
OF = [NAMES[0], NAMES[0], NAMES[3], NAMES[1]]
BOXES = np.array([[1, 1, 20, 10], [5, 5, 64, 48], [2.5, 3, 9, 9], [1, 1, 64, 48]])
ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)


def npz(folder: Path, ids: list[str] = OF, boxes: Any = BOXES) -> Path:
    np.savez(folder / "r.npz", vectors=ROWS[: len(ids)], ids=np.array(ids), boxes=boxes)
    return folder / "r.npz"


def safetensors(folder: Path) -> Path:
    save_file({"vectors": ROWS, "boxes": BOXES}, folder / "r.safetensors", {"ids": json.dumps(OF)})
    return folder / "r.safetensors"


def parquet(folder: Path) -> Path:
    pq.write_table(pa.table({"id": OF, "vector": ROWS.tolist(), "box": BOXES.tolist()}), folder / "r.parquet")
    return folder / "r.parquet"


def hdf5(folder: Path) -> Path:
    with h5py.File(folder / "r.h5", "w") as file:
        file["vectors"], file["ids"], file["boxes"] = ROWS, OF, BOXES
    return folder / "r.h5"


def imported(corpus: str, file: Path, kind: str) -> Any:
    return import_features(FeatureImport(corpus=corpus, name="s", path=file, kind=kind))  # type: ignore[arg-type]


@pytest.fixture
def sized(corpus: str) -> str:
    Image.objects.update(width=64, height=48)
    return corpus


@pytest.mark.parametrize("write", [npz, safetensors, parquet, hdf5])
def test_regions_of_every_format_have_images_vectors_and_boxes(sized: str, tmp_path: Path, write):
    result = imported(sized, write(tmp_path), "region").set
    assert (result.kind, result.rows, result.dimensions) == ("region", 4, 2)
    assert list(result.ids()) == OF
    np.testing.assert_array_equal(result.vectors(), ROWS)
    np.testing.assert_array_equal(result.boxes(), BOXES.astype(np.float32))
    assert isinstance(result.boxes(), np.memmap)
    assert (result.origin["excluded"], result.origin["missing"]) == (0, IMAGES - 3)


def test_other_boxes_are_another_version_and_regions_of_unknown_images_are_left_out(
    sized: str, tmp_path: Path
):
    assert imported(sized, npz(tmp_path), "region").set.version == 1
    assert imported(sized, npz(tmp_path), "region").unchanged
    moved = BOXES + [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    result = imported(sized, npz(tmp_path, ["gone.png", *OF[1:]], moved), "region")
    assert result.set.version == 2
    np.testing.assert_array_equal(result.set.boxes(), moved[1:].astype(np.float32))
    assert list(result.set.ids()) == OF[1:]
    assert result.remarks[0].startswith(f"{IMAGES - 3} ids (")


@pytest.mark.parametrize("write", [npz, hdf5])
@pytest.mark.parametrize("block", [1, 2, 4])
def test_regions_in_any_order_keep_their_image_vector_and_box(
    sized: str, tmp_path: Path, monkeypatch, write, block: int
):
    """Whatever is read at a time: images alternate, so that their regions are moved together."""
    monkeypatch.setattr(feature_files, "FEATURE_BLOCK_ROWS", block)
    monkeypatch.setitem(globals(), "OF", [NAMES[0], NAMES[3], NAMES[0], NAMES[3]])
    result = imported(sized, npz(tmp_path, OF) if write is npz else write(tmp_path), "region").set
    order = [0, 2, 1, 3]
    assert list(result.ids()) == [OF[index] for index in order]
    np.testing.assert_array_equal(result.vectors(), ROWS[order])
    np.testing.assert_array_equal(result.boxes(), BOXES[order].astype(np.float32))


@pytest.mark.parametrize(
    ("boxes", "says"),
    [
        (BOXES[:3], r"boxes have shape \(3, 4\) of float64, and there are 4 ids"),
        (BOXES[:, [2, 1, 0, 3]], r"box 0 \(counted from 0\), of .*, is \[20.0, 1.0, 1.0, 10.0\]"),
        (BOXES * [[1, np.nan, 1, 1]], r"box 0 \(counted from 0\), .* nan"),
        (BOXES + 70, r"all 4 boxes lie outside their pictures, first \[71.0, 71.0, 90.0, 80.0\] of .*from 1"),
    ],
)
def test_boxes_that_cannot_be_are_named_and_leave_nothing(
    sized: str, tmp_path: Path, data_dir: Path, boxes: Any, says: str
):
    with pytest.raises((FormatError, InputError), match=says):
        imported(sized, npz(tmp_path, boxes=boxes), "region")
    assert not (data_dir / "features" / sized).exists()


def test_boxes_are_cut_to_their_pictures_and_regions_wholly_outside_go_with_their_vectors(
    sized: str, tmp_path: Path
):
    Image.objects.filter(filename=NAMES[1]).update(width=0, height=0)  # of unknown size
    boxes = BOXES + [[-3, 0, 0, 0], [0, 0, 1, 0.5], [0, -20, 0, -9], [0, 0, 900, 900]]
    result = imported(sized, npz(tmp_path, boxes=boxes), "region")
    assert list(result.set.ids()) == [OF[0], OF[1], OF[3]]
    np.testing.assert_array_equal(result.set.vectors(), ROWS[[0, 1, 3]])
    np.testing.assert_array_equal(result.set.boxes(), [[1, 1, 20, 10], [5, 5, 64, 48], [1, 1, 964, 948]])
    assert "2 boxes reached out of their picture and were cut" in result.remarks
    assert result.set.origin["excluded"] == 1


def test_regions_without_boxes_are_refused_and_images_may_not_come_twice(sized: str, tmp_path: Path):
    np.savez(tmp_path / "v.npz", vectors=ROWS, ids=np.array(OF))
    with pytest.raises(FormatError, match="has no boxes; expected boxes, shape"):
        imported(sized, tmp_path / "v.npz", "region")
    with pytest.raises(FormatError, match="occurs at 0 and 1"):
        imported(sized, npz(tmp_path), "image")


# Words

WORDS = {"dog": [1.0, 2.0], "the": [0.5, -3.0], "New York": [4.0, 1e-3], "zebra": [9.0, 9.0]}


def word2vec(folder: Path, *, breaks: bytes = b"") -> Path:
    packed = b"".join(
        word.replace(" ", "_").encode() + b" " + struct.pack("<2f", *row) + breaks
        for word, row in WORDS.items()
    )
    (folder / "w.bin").write_bytes(b"%d 2\n" % len(WORDS) + packed)
    return folder / "w.bin"


def with_breaks(folder: Path) -> Path:
    return word2vec(folder, breaks=b"\n")


def glove(folder: Path) -> Path:
    (folder / "w.txt").write_text("".join(f"{word} {a} {b}\n" for word, (a, b) in WORDS.items()))
    return folder / "w.txt"


def fasttext(folder: Path) -> Path:
    text = glove(folder).read_text().replace("\n", " \n")
    (folder / "w.vec").write_text(f"{len(WORDS)} 2\n{text}")
    return folder / "w.vec"


@pytest.mark.parametrize("write", [word2vec, with_breaks, glove, fasttext])
@pytest.mark.parametrize("start", [0, 1, 4])
def test_word_vectors_of_every_kind_of_file_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path], start: int
):
    monkeypatch.setattr(word_vectors, "_BLOCK_WORDS", 2)
    features = open_features(write(tmp_path), "words")
    assert [word.replace("_", " ") for word in features.ids] == list(WORDS)
    assert features.shape == (4, 2)
    rows = [*features.blocks(start)]
    assert all(len(block) <= 2 for block in rows)
    expected = np.array(list(WORDS.values()))[start:]
    np.testing.assert_allclose(np.concatenate([np.empty((0, 2)), *rows]), expected, rtol=1e-6)


#: The beginning of a fastText model with a label: settings, then a vocabulary of two words, one of them a
#: label.
LABELLING = (
    struct.pack("<2i", 793712314, 12) + struct.pack("<12id", *range(1, 13), 0.0) + struct.pack("<3i", 2, 1, 1)
)


def test_a_binary_model_of_fasttext_gives_the_vectors_that_it_writes_to_text(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fasttext_models, "_BLOCK_WORDS", 2)
    known = [*words_of(corpus)[:3], "zebra"]
    model = FastText([known] * 20, vector_size=4, min_count=1, bucket=40, epochs=2, workers=1, seed=1)
    save_facebook_model(model, str(tmp_path / "w.bin"))
    model.wv.save_word2vec_format(str(tmp_path / "w.vec"))
    result = imported(corpus, tmp_path / "w.bin", "word")
    text = imported(corpus, tmp_path / "w.vec", "word")
    assert result.set.ids() == text.set.ids() and set(result.set.ids()) == set(known[:3])
    np.testing.assert_allclose(result.set.vectors(), text.set.vectors(), atol=1e-6)
    # A word is the mean of itself and its parts, not its own row alone.
    value = model.wv.vectors_vocab[[model.wv.key_to_index[word] for word in result.set.ids()]]
    assert np.abs(result.set.vectors() - value).max() > 1e-3
    cut = (tmp_path / "w.bin").read_bytes()
    (tmp_path / "cut.bin").write_bytes(cut[: len(cut) // 2])
    with pytest.raises(FormatError, match="is a damaged model of fastText"):
        imported(corpus, tmp_path / "cut.bin", "word")


def test_words_of_the_corpus_are_kept_in_the_order_of_the_file_and_the_others_counted(
    corpus: str, tmp_path: Path
):
    words = words_of(corpus)
    assert words == [word.lower() for word in words] and len(set(words)) == len(words) > 5
    (tmp_path / "w.txt").write_text(f"zebrafish 1 1\n{words[3]} 1 2\n{words[0]} 3 4.5\n")
    result = imported(corpus, tmp_path / "w.txt", "word")
    assert result.set.ids() == (words[3], words[0])
    np.testing.assert_array_equal(result.set.vectors(), [[1, 2], [3, 4.5]])
    assert result.remarks[0].startswith(f"{len(words) - 2} ids (")
    np.savez(tmp_path / "w.npz", vectors=ROWS[:1], ids=np.array([words[1]]))
    assert imported(corpus, tmp_path / "w.npz", "word").set.version == 2
    # A file of words covers a whole language: unused words are not reported.
    path = tmp_path / "w.txt"
    strict = FeatureImport(corpus=corpus, name="strict", path=path, kind="word", leave_unused=False)
    assert import_features(strict).set.ids() == (words[3], words[0])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("w.vec", b"3 2\ndog 1 2\nthe 3 4\n", "says that it has 3 words, and has 2"),
        ("w.txt", b"dog 1 2\nthe 3\n", "line 2: has 1 numbers; expected a word and 2 numbers"),
        ("w.txt", b"dog 1 2\nthe 3 x\n", "line 2: has other than numbers after 'the'"),
        ("w.txt", b"one\n", "line 1: begins with"),
        ("w.vec", b"0 2\n", "line 1: has no words"),
        ("w.bin", b"2 2\ndog \0\0\0\0\0\0\0\0the \0\0", "is damaged at word 1 of 2"),
        ("w.bin", b"1 2\n" + 2000 * b"x", "is damaged at word 0 of 1"),
        ("w.bin", b"\xba\x16\x4f\x2f\x0c\0\0\0", "is a damaged model of fastText; expected a complete file"),
        ("w.bin", LABELLING, "is a model of fastText that labels texts; expected one"),
        ("w.json", b"{}", "ends in '.json'; expected .npy or .npz .* or .bin"),
    ],
)
def test_files_of_words_that_are_damaged_are_told_in_a_line(
    corpus: str, tmp_path: Path, name: str, content: bytes, says: str
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=says) as error:
        imported(corpus, tmp_path / name, "word")
    assert "\n" not in str(error.value)


def test_commands_and_trainings_know_the_kinds(sized: str, tmp_path: Path, own_recipe: Path):
    output_of("import_features", sized, npz(tmp_path), "--name", "parts", "--kind", "region")
    (tmp_path / "w.txt").write_text(f"{words_of(sized)[0]} 1 2\n")
    output_of("import_features", sized, tmp_path / "w.txt", "--name", "glove", "--kind", "word")
    listed = output_of("list_features", "--corpus", sized)
    assert "parts:1" in listed and "region" in listed and "glove:1" in listed and "word" in listed
    assert feature_set(sized, "parts").kind == "region"


# Trained words


def nearer(result: Any, word: str, candidate: str, *others: str) -> bool:
    """Return whether `candidate` is nearer to `word` than all others, by the cosine."""
    vectors = np.array(result.vectors())
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = dict(zip(result.ids(), vectors @ vectors[result.ids().index(word)], strict=True))
    return all(alike[candidate] > alike[another] for another in others)


@pytest.fixture
def pets(data_dir: Path) -> str:
    """A corpus in which dogs and cats do the same, and cars do something else."""
    rng = np.random.default_rng(0)

    def caption() -> str:
        who, does = (
            (("dog", "cat"), ("sleeps", "eats", "plays"))
            if rng.random() < 0.5
            else (("car", "bus"), ("drives", "stops", "honks"))
        )
        return f"The {rng.choice(who)} {rng.choice(does)} ."

    records = [
        ImageRecord(f"p{n}", f"p{n}.jpg", captions=tuple(CaptionRecord(caption()) for _ in range(5)))
        for n in range(120)
    ]
    import_records(name="pets", records=records, format="jsonl", source="memory")
    return "pets"


def test_words_in_the_same_company_come_to_lie_near_each_other(pets: str):
    word_training = WordTraining(corpus=pets, name="own", dimensions=16, window=2, epochs=60)
    heard: list[tuple[str, int, int]] = []
    result, new = train_word_vectors(word_training, progress=lambda *item: heard.append(item))
    assert new and set(result.ids()) == set(words_of(pets))
    assert nearer(result, "dog", "cat", "car", "bus") and nearer(result, "bus", "car", "dog", "cat")
    assert nearer(result, "sleeps", "eats", "drives", "stops")
    assert ("training word vectors", 60, 60) in heard
    again, new = train_word_vectors(word_training)
    assert (again, new) == (result, False)
    another, new = train_word_vectors(
        WordTraining(corpus=pets, name="own", dimensions=16, window=2, epochs=60, seed=1)
    )
    assert new and another.version == 2 and another.origin["settings"]["seed"] == 1


def split_corpus(name: str, *splits: str) -> str:
    """Import two images of each split, whose captions name it."""
    records = [
        ImageRecord(
            f"{split}{n}",
            f"{split}{n}.jpg",
            captions=(CaptionRecord(f"a scene for {split or 'none'}"),) * 2,
            split=split,
        )
        for split in splits
        for n in range(2)
    ]
    import_records(name=name, records=records, format="jsonl", source="memory")
    return name


@pytest.mark.usefixtures("data_dir")
def test_the_captions_of_the_training_images_are_read_unless_others_are_asked_for(db: None, tmp_path: Path):
    """So that what is tested on the others learned nothing from what is said of them; the set says whose."""
    corpus = split_corpus("parted", "train", "val", "test")
    (tmp_path / "names.txt").write_text("val0.jpg\n")
    every = {"train", "val", "test"}
    for name, split, seen, called, captions in (
        ("usual", "", {"train"}, "split train", 4),
        ("tested", "test", {"test"}, "split test", 4),
        ("every", "all", every, "all captions", 12),
        ("fold", "1/6", None, "fold 1/6", 2),
        ("listed", str(tmp_path / "names.txt"), {"val"}, "images in names.txt", 2),
    ):
        word_training = WordTraining(corpus=corpus, name=name, split=split, dimensions=4, epochs=1)
        result, _ = train_word_vectors(word_training)
        assert (result.origin["split"], result.origin["captions"]) == (called, captions)
        assert "split" not in result.origin["settings"]
        assert len(every & set(result.ids())) == 1 if seen is None else every & set(result.ids()) == seen
    output = output_of("train_word_vectors", corpus, "--name", "told", "--epochs", 1)
    assert "4 captions (split train) were read" in output
    with pytest.raises(CommandError, match="unknown split 'dev' of corpus 'parted'"):
        output_of("train_word_vectors", corpus, "--name", "told", "--split", "dev")
    with pytest.raises(CommandError, match="corpus 'parted', split test, comes 9 times"):
        output_of("train_word_vectors", corpus, "--name", "told", "--split", "test", "--least", 9)
    split_corpus("other", "dev", "test")
    with pytest.raises(CommandError, match="the splits 'dev', 'test' and none that is called 'train'"):
        output_of("train_word_vectors", "other", "--name", "told")
    split_corpus("bare", "")
    assert "4 captions (all captions) were read" in output_of(
        "train_word_vectors", "bare", "--name", "told", "--epochs", 1
    )


def test_rare_words_get_no_vector_and_where_all_are_rare_it_is_said(pets: str):
    output = output_of("train_word_vectors", pets, "--name", "few", "--least", 500, "--epochs", 1)
    assert "feature set few:1 of corpus 'pets' stored: 2 word vectors of 100 numbers" in output
    assert feature_set(pets, "few").ids()[0] in ("the", ".")
    with pytest.raises(CommandError, match="no word of corpus 'pets' comes 5000 times; lower that number"):
        output_of("train_word_vectors", pets, "--name", "none", "--least", 5000)
    with pytest.raises(CommandError, match="--dimensions: Expected 2 or more."):
        output_of("train_word_vectors", pets, "--name", "none", "--dimensions", 1)
