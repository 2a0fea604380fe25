"""`score_captions`: a file of captions against those of a corpus, and what is left out or refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.formats.figure_basis import basis_from_dict, differences
from evaluation.metrics.captioning import bleu, cider_d, rouge_l
from evaluation.metrics.overlap import words
from evaluation.metrics.ptb import ptb_words
from tests.evaluation.database.conftest import said
from tests.evaluation.metrics.conftest import stand_in  # noqa: F401

pytestmark = pytest.mark.django_db

#: Two images of the test split, one to train on; the last has no caption that describes it.
REFERENCES = {
    "100": ["A brown dog runs through the snow.", "The dog is in the snow."],
    "200": ["Boys play ball.", "Two children play with a red ball."],
    "300": ["A man sits.", "A man on a bench."],
    "400": [],
}
WRITTEN = {"100": "The dog is in the deep snow.", "200": "Two boys are playing with a ball.", "300": "A man."}
NAMES = ["BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr-D"]


@pytest.fixture
def scenes(db: None) -> str:
    records = [
        ImageRecord(
            id=key,
            filename=f"COCO_val2014_{int(key):012}.jpg",
            split="train" if key == "300" else "test",
            captions=(*map(CaptionRecord, own), CaptionRecord("Nothing of the kind.", unrelated=True)),
        )
        for key, own in REFERENCES.items()
    ]
    import_records(name="scenes", records=records, format="jsonl", source="memory")
    return "scenes"


def written(folder: Path, captions: dict[str, str], *, name: str = "mine.jsonl", coco: bool = False) -> Path:
    rows = [
        {"image_id" if coco else "image": int(key) if coco else key, "caption": text}
        for key, text in captions.items()
    ]
    file = folder / name
    file.write_text(json.dumps(rows) if coco else "\n".join(map(json.dumps, rows)))
    return file


def report(*arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said("score_captions", *arguments, "--json"))
    return found


def expected(
    keys: list[str], documents: list[str], cut: Callable[[str], list[str]] = ptb_words
) -> list[float]:
    """The figures of some images, by the measures' own functions."""
    candidates = [cut(WRITTEN[key]) for key in keys]
    texts = {key: [cut(text) for text in own] for key, own in REFERENCES.items()}
    references = [texts[key] for key in keys]
    of_bleu = bleu(candidates, references).corpus()
    of_cider = cider_d(candidates, references, documents=[texts[key] for key in documents])
    return [of_bleu[0], of_bleu[3], float(rouge_l(candidates, references).mean()), float(of_cider.mean())]


def figures(*arguments: Any) -> list[float]:
    """The values of NAMES that the command gives."""
    found = report(*arguments, "--measures", ",".join(NAMES), "--resamples", 0)
    return [one["value"] for one in found["measures"]]


ALL = ["100", "200", "300"]


@pytest.mark.parametrize("coco", [False, True])
def test_figures_are_those_of_the_measures_with_all_captions_as_references(
    scenes: str, tmp_path: Path, coco: bool
) -> None:
    file = written(tmp_path, WRITTEN, coco=coco)
    found = report(scenes, file, "--measures", ",".join(NAMES), "--resamples", 50)
    assert [one["measure"] for one in found["measures"]] == NAMES
    assert [one["value"] for one in found["measures"]] == pytest.approx(expected(ALL, ALL))
    assert (found["images"], found["references"], found["unrelated"]) == (3, 6, 3)
    for one in found["measures"]:
        assert one["low"] <= one["value"] <= one["high"] and one["resamples"] == 50
        assert "3 images, fewer than 10" in one["reason"]


def test_a_split_leaves_out_the_others_and_says_which(scenes: str, tmp_path: Path) -> None:
    captions = {
        "COCO_val2014_000000000100.jpg": WRITTEN["100"],
        "300": WRITTEN["300"],
        "harbour.jpg": "A ship.",
    }
    file = written(tmp_path, captions)
    part = scenes, file, "--split", "test", "--missing", "leave-out"
    found = report(*part, "--measures", ",".join(NAMES), "--resamples", 0)
    assert [one["value"] for one in found["measures"]] == pytest.approx(expected(["100"], ["100", "200"]))
    assert all(one["low"] is None and one["reason"] == "" for one in found["measures"])
    names = {key: f"COCO_val2014_{int(key):012}.jpg" for key in REFERENCES}
    assert found["left_out"] == {
        "missing": [names["200"]],
        "unknown": ["harbour.jpg"],
        "outside": [names["300"]],
        "bare": [],
    }
    text = said("score_captions", *part, "--measures", "BLEU-1")
    assert "mine.jsonl against corpus scenes (split test): 1 image, 2 references." in text
    assert f"1 image of the corpus without a caption in the file ('{names['200']}')" in text
    assert "Images: 1 of 2.\nMissing output: 1, left out.\n" in text
    assert "tokens: ptb; references: corpus scenes, split test (2 documents, sha256 " in text
    assert "1 image of the file unknown to the corpus ('harbour.jpg')" in text
    assert f"1 image of the file not among those asked for ('{names['300']}')" in text
    assert "No references: 1 caption whose authors say that they are unrelated." in text
    assert "Intervals of 95%: 1,000 resamples of whole images, seed 0." in text


def test_missing_captions_are_refused_unless_they_are_to_be_the_worst_or_left_out(
    scenes: str, tmp_path: Path
) -> None:
    file = written(tmp_path, {key: WRITTEN[key] for key in ("100", "300")})
    with pytest.raises(CommandError, match="1 of 3 images .'COCO_val2014_000000000200.jpg'. have no caption"):
        said("score_captions", scenes, file)
    left_out = report(scenes, file, "--missing", "leave-out", "--measures", "CIDEr-D")
    assert (left_out["basis"]["counted"], left_out["basis"]["out_of"]) == (2, 3)
    assert figures(scenes, file, "--missing", "leave-out") == pytest.approx(expected(["100", "300"], ALL))
    worst = report(scenes, file, "--missing", "worst", "--measures", "CIDEr-D")
    assert (worst["basis"]["counted"], worst["basis"]["without_output"]) == (3, 1)
    empty = written(tmp_path, {**WRITTEN, "200": "."}, name="empty.jsonl")
    assert figures(scenes, file, "--missing", "worst") == pytest.approx(figures(scenes, empty))


@pytest.mark.parametrize(
    ("arguments", "documents"),
    [((), ALL), (("--documents", "test"), ["100", "200"]), (("--documents", "train"), ["300"])],
)
def test_a_part_that_is_no_split_has_the_documents_of_the_corpus_or_those_that_are_named(
    scenes: str, tmp_path: Path, arguments: tuple[str, ...], documents: list[str]
) -> None:
    names = tmp_path / "names.txt"
    names.write_text("100\n")
    file = written(tmp_path, WRITTEN)
    part = scenes, file, "--split", names, *arguments
    assert figures(*part) == pytest.approx(expected(["100"], documents))
    label = report(*part, "--measures", "CIDEr-D")["basis"]["references"]
    assert f"({len(documents)} documents, sha256 " in label


def test_figures_say_how_texts_were_cut(scenes: str, tmp_path: Path) -> None:
    file = written(tmp_path, {**WRITTEN, "100": "The dog's in the T-shirt."})
    ptb, own = (report(scenes, file, "--tokens", tokens)["basis"] for tokens in ("ptb", "own"))
    assert differences([basis_from_dict(ptb), basis_from_dict(own)]) == ["tokens: 'ptb' and 'own'"]
    assert figures(scenes, file) != figures(scenes, file, "--tokens", "own")
    file = written(tmp_path, WRITTEN)
    assert figures(scenes, file, "--tokens", "own") == pytest.approx(expected(ALL, ALL, words))


def test_an_image_without_a_caption_to_compare_with_is_left_out(scenes: str, tmp_path: Path) -> None:
    found = report(scenes, written(tmp_path, {**WRITTEN, "400": "A cat."}), "--measures", "BLEU-1")
    assert found["images"] == 3 and len(found["left_out"]["bare"]) == 1


def test_the_table_is_printed_as_csv_and_latex(scenes: str, tmp_path: Path) -> None:
    file = written(tmp_path, WRITTEN)
    rows = list(csv.reader(io.StringIO(said("score_captions", scenes, file, "--csv"))))
    assert rows[0] == ["measure", "value", "low", "high", "images", "remark", "basis"]
    assert [row[0] for row in rows[1:]] == [
        *("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-1", "BLEU_pre", "ROUGE-L", "CIDEr", "CIDEr-D")
    ]
    latex = said("score_captions", scenes, file, "--latex")
    assert f"% {file.name}: Not known which images it learned from.\n" in latex
    assert r"\begin{tabular}" in latex


def test_the_same_seed_draws_the_same_and_another_does_not(scenes: str, tmp_path: Path) -> None:
    file = written(tmp_path, WRITTEN)
    first, again, other = (
        report(scenes, file, "--measures=ROUGE-L", "--resamples=9", "--level=0.5", "--seed", seed)["measures"]
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_meteor_is_scored_where_it_is_asked_for(
    scenes: str,
    tmp_path: Path,
    stand_in: Path,  # noqa: F811
) -> None:
    (found,) = report(scenes, written(tmp_path, WRITTEN), "--measures", "METEOR")["measures"]
    assert 0 < found["value"] <= 1 and found["low"] is None and "no interval" in found["reason"]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["nowhere", "FILE"], "unknown corpus 'nowhere'; known: scenes"),
        (["scenes", "/no/such.jsonl"], r"/no/such.jsonl: cannot be opened \(No such file"),
        (["scenes", "FILE", "--measures", "SPICE"], "unknown measure 'SPICE'.*; known: BLEU-1"),
        (["scenes", "FILE", "--measures", ","], "no measures; known: BLEU-1"),
        (
            ["scenes", "FILE", "--split", "val"],
            "unknown split 'val' of corpus 'scenes'; known: 'test', 'train'",
        ),
        (["scenes", "FILE", "--resamples", "-1"], "-1 resamples; use at least 1"),
        (["scenes", "FILE", "--level", "2"], "level 2.0 is not a confidence level"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_line(
    scenes: str, tmp_path: Path, arguments: list[str], wrong: str
) -> None:
    file = str(written(tmp_path, WRITTEN))
    with pytest.raises(CommandError, match=wrong) as caught:
        said("score_captions", *[file if each == "FILE" else each for each in arguments])
    assert "\n" not in str(caught.value)


def test_a_file_of_another_corpus_and_one_that_names_an_image_twice_are_refused(
    scenes: str, tmp_path: Path
) -> None:
    with pytest.raises(
        CommandError, match="has no caption of corpus 'scenes' that can be scored: 1 image of the file unk"
    ):
        said("score_captions", scenes, written(tmp_path, {"harbour": "A ship."}))
    twice = {"100": "A dog.", "COCO_val2014_000000000100.jpg": "A dog."}
    with pytest.raises(
        CommandError, match="line 2 and line 1 are of one image, 'COCO_val2014_000000000100.jpg'"
    ):
        said("score_captions", scenes, written(tmp_path, twice))
