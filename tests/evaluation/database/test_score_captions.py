"""`score_captions`: a file of captions compared with those of a corpus, and what is skipped or refused."""

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
from phrasebox.figure_basis import basis_from_dict, differences
from phrasebox.metrics.captioning import bleu, cider_d, rouge_l
from phrasebox.metrics.overlap import words
from phrasebox.metrics.ptb import ptb_words
from tests.evaluation.database.conftest import output_of
from tests.phrasebox.metrics.conftest import stand_in  # noqa: F401

pytestmark = pytest.mark.django_db

#: Two images of the test split, one for training; the last has no caption that describes it.
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
            captions=(*map(CaptionRecord, reference), CaptionRecord("Nothing of the kind.", unrelated=True)),
        )
        for key, reference in REFERENCES.items()
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
    result: dict[str, Any] = json.loads(output_of("score_captions", *arguments, "--json"))["report"]
    return result


def measures(*arguments: Any) -> list[dict[str, Any]]:
    """Return the figures of the first set."""
    own_measures: list[dict[str, Any]] = report(*arguments)["sets"][0]["measures"]
    return own_measures


def expected(
    keys: list[str], documents: list[str], cut: Callable[[str], list[str]] = ptb_words
) -> list[float]:
    """Return the figures of some images, computed by the measures' own functions."""
    candidates = [cut(WRITTEN[key]) for key in keys]
    texts = {key: [cut(text) for text in image_texts] for key, image_texts in REFERENCES.items()}
    references = [texts[key] for key in keys]
    of_bleu = bleu(candidates, references).corpus()
    of_cider = cider_d(candidates, references, documents=[texts[key] for key in documents])
    return [of_bleu[0], of_bleu[3], float(rouge_l(candidates, references).mean()), float(of_cider.mean())]


def figures(*arguments: Any) -> list[float]:
    """Return the command's values of NAMES."""
    result = measures(*arguments, "--measures", ",".join(NAMES), "--resamples", 0)
    return [row["value"] for row in result]


ALL = ["100", "200", "300"]


@pytest.mark.parametrize("coco", [False, True])
def test_figures_are_those_of_the_measures_with_all_captions_as_references(
    scenes: str, tmp_path: Path, coco: bool
) -> None:
    file = written(tmp_path, WRITTEN, coco=coco)
    result = report(scenes, file, "--measures", ",".join(NAMES), "--resamples", 50)
    (own_set,) = result["sets"]
    assert [measure["measure"] for measure in own_set["measures"]] == NAMES
    assert [measure["value"] for measure in own_set["measures"]] == pytest.approx(expected(ALL, ALL))
    assert (result["images"], result["references"], result["unrelated"]) == (3, 6, 3)
    assert result["differences"] == []
    for measure in own_set["measures"]:
        assert measure["low"] <= measure["value"] <= measure["high"] and measure["resamples"] == 50
        assert "3 images, fewer than 10" in measure["reason"]


def test_a_split_leaves_out_the_others_and_says_which(scenes: str, tmp_path: Path) -> None:
    captions = {
        "COCO_val2014_000000000100.jpg": WRITTEN["100"],
        "300": WRITTEN["300"],
        "harbour.jpg": "A ship.",
    }
    file = written(tmp_path, captions)
    part = scenes, file, "--split", "test", "--missing", "leave-out", "--leave-unused"
    result = report(*part, "--measures", ",".join(NAMES), "--resamples", 0)
    (own_set,) = result["sets"]
    assert [measure["value"] for measure in own_set["measures"]] == pytest.approx(
        expected(["100"], ["100", "200"])
    )
    assert all(measure["low"] is None and measure["reason"] == "" for measure in own_set["measures"])
    names = {key: f"COCO_val2014_{int(key):012}.jpg" for key in REFERENCES}
    assert own_set["not_scored"] == {
        "missing": [names["200"]],
        "unknown": ["harbour.jpg"],
        "outside": [names["300"]],
        "bare": [],
    }
    text = output_of("score_captions", *part, "--measures", "BLEU-1")
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
        output_of("score_captions", scenes, file)
    excluded = report(scenes, file, "--missing", "leave-out", "--measures", "CIDEr-D")
    assert (excluded["basis"]["counted"], excluded["basis"]["out_of"]) == (2, 3)
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
    ptb, value = (report(scenes, file, "--tokens", tokens)["basis"] for tokens in ("ptb", "own"))
    assert differences([basis_from_dict(ptb), basis_from_dict(value)]) == ["tokens: 'ptb' and 'own'"]
    assert figures(scenes, file) != figures(scenes, file, "--tokens", "own")
    file = written(tmp_path, WRITTEN)
    assert figures(scenes, file, "--tokens", "own") == pytest.approx(expected(ALL, ALL, words))


def test_an_image_without_a_caption_to_compare_with_is_left_out(scenes: str, tmp_path: Path) -> None:
    result = report(scenes, written(tmp_path, {**WRITTEN, "400": "A cat."}), "--measures", "BLEU-1")
    assert result["images"] == 3 and len(result["sets"][0]["not_scored"]["bare"]) == 1


def test_the_table_is_printed_as_csv_and_latex(scenes: str, tmp_path: Path) -> None:
    file = written(tmp_path, WRITTEN)
    rows = list(csv.reader(io.StringIO(output_of("score_captions", scenes, file, "--csv"))))
    assert rows[0] == ["measure", "captions", "value", "low", "high", "images", "remark", "basis"]
    assert [row[0] for row in rows[1:]] == [
        *("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-1", "BLEU_pre", "ROUGE-L", "CIDEr", "CIDEr-D")
    ]
    latex = output_of("score_captions", scenes, file, "--latex")
    assert f"% {file.name}: Not known which images it learned from.\n" in latex
    assert r"\begin{tabular}" in latex


def test_the_same_seed_draws_the_same_and_another_does_not(scenes: str, tmp_path: Path) -> None:
    file = written(tmp_path, WRITTEN)
    first, again, another = (
        measures(scenes, file, "--measures=ROUGE-L", "--resamples=9", "--level=0.5", "--seed", seed)
        for seed in (1, 1, 2)
    )
    assert first == again != another


def test_meteor_is_scored_where_it_is_asked_for(
    scenes: str,
    tmp_path: Path,
    stand_in: Path,  # noqa: F811
) -> None:
    (measure,) = measures(scenes, written(tmp_path, WRITTEN), "--measures", "METEOR")
    assert 0 < measure["low"] <= measure["value"] <= measure["high"] <= 1


OTHERS = {"100": "A brown dog.", "200": "Boys play with a red ball.", "300": "A man on a bench."}


def test_several_sets_are_scored_together_and_compared_with_the_first(scenes: str, tmp_path: Path) -> None:
    mine, theirs = written(tmp_path, WRITTEN), written(tmp_path, OTHERS, name="theirs.jsonl")
    some = "--measures", ",".join(NAMES), "--resamples", 50
    alone = {file.name: measures(scenes, file, *some) for file in (mine, theirs)}
    result, turned = report(scenes, mine, theirs, *some), report(scenes, theirs, mine, *some)
    assert {difference["set"]: difference["measures"] for difference in result["sets"]} == alone
    assert [(difference["measure"], difference["set"]) for difference in result["differences"]] == [
        (name, "theirs.jsonl") for name in NAMES
    ]
    for index, (difference, another) in enumerate(
        zip(result["differences"], turned["differences"], strict=True)
    ):
        values = [alone[file.name][index]["value"] for file in (theirs, mine)]
        assert difference["difference"] == pytest.approx(values[0] - values[1])
        bounds = -difference["difference"], -difference["high"], -difference["low"]
        assert (another["difference"], another["low"], another["high"]) == pytest.approx(bounds)
        assert another["p"] == difference["p"] and difference["p"] <= difference["adjusted"] <= 1
    # Both use the same images, tokens and documents.
    assert result["basis"] | {"provenance": {}} == report(scenes, mine, *some)["basis"] | {"provenance": {}}
    assert set(result["provenance"]) == {"mine.jsonl", "theirs.jsonl"}
    text = output_of("score_captions", scenes, mine, theirs, *some)
    assert "mine.jsonl and theirs.jsonl against corpus scenes: 3 images, 6 references." in text
    assert "adjusted by Holm for 4 tests" in text and "Differences from mine.jsonl\n" in text
    assert "Differences" not in output_of("score_captions", scenes, mine, *some)


def test_several_sets_are_scored_on_the_same_images(scenes: str, tmp_path: Path) -> None:
    mine = written(tmp_path, {key: WRITTEN[key] for key in ("100", "300")})
    theirs = written(tmp_path, {key: OTHERS[key] for key in ("100", "200")}, name="theirs.jsonl")
    with pytest.raises(CommandError, match="1 of 3 images .* have no caption in 'mine.jsonl'"):
        output_of("score_captions", scenes, mine, theirs)
    with pytest.raises(CommandError, match="1 of 3 images .* have no caption in 'theirs.jsonl'"):
        output_of("score_captions", scenes, written(tmp_path, WRITTEN, name="whole.jsonl"), theirs)
    result = report(scenes, mine, theirs, "--missing", "leave-out", "--measures", ",".join(NAMES))
    values = [measure["value"] for measure in result["sets"][0]["measures"]]
    assert values == pytest.approx(expected(["100"], ALL))
    basis = result["basis"]
    assert (basis["counted"], basis["out_of"], basis["without_output"]) == (1, 3, 2)
    assert basis["notes"] == [f"{name}: no caption of 1 images." for name in ("mine.jsonl", "theirs.jsonl")]
    worst = report(scenes, mine, theirs, "--missing", "worst")["basis"]
    assert (worst["counted"], worst["without_output"]) == (3, 2)
    apart = written(tmp_path, {"200": "Boys."}, name="apart.jsonl")
    with pytest.raises(CommandError, match="no image has a caption in each of mine.jsonl, apart.jsonl"):
        output_of("score_captions", scenes, mine, apart, "--missing", "leave-out")


def test_files_of_one_name_go_by_their_paths_and_none_is_named_twice(scenes: str, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    files = [written(folder, WRITTEN) for folder in (tmp_path, tmp_path / "more")]
    result = report(scenes, *files, "--measures", "BLEU-1")
    assert [difference["set"] for difference in result["sets"]] == list(map(str, files))
    assert [(difference["difference"], difference["p"]) for difference in result["differences"]] == [(0, 1)]
    with pytest.raises(CommandError, match="named twice"):
        output_of("score_captions", scenes, files[0], files[0])


def test_figures_of_other_documents_are_of_another_basis(scenes: str, tmp_path: Path) -> None:
    file = written(tmp_path, WRITTEN)
    bases = [
        basis_from_dict(report(scenes, file, "--documents", split)["basis"]) for split in ("test", "train")
    ]
    (line,) = differences(bases)
    assert line.startswith("references: 'corpus scenes, split test (2 documents, sha256 ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "FILE"], "corpus: There is no corpus “nowhere” here; known: scenes."),
        (["scenes", "/no/such.jsonl"], r"/no/such.jsonl: cannot be opened \(No such file"),
        (["scenes", "FILE", "--measures", "SPICE"], "unknown measure 'SPICE'.*; known: BLEU-1"),
        (["scenes", "FILE", "--measures", ","], "--measures: Expected at least 1."),
        (
            ["scenes", "FILE", "--split", "val"],
            "unknown split 'val' of corpus 'scenes'; known: 'test', 'train'",
        ),
        (["scenes", "FILE", "--resamples", "-1"], "--resamples: Expected 0 or more."),
        (["scenes", "FILE", "--level", "2"], "--level: Expected less than 1"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_line(
    scenes: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    file = str(written(tmp_path, WRITTEN))
    with pytest.raises(CommandError, match=message) as caught:
        output_of("score_captions", *[file if argument == "FILE" else argument for argument in arguments])
    assert "\n" not in str(caught.value)


def test_a_file_of_another_corpus_and_one_that_names_an_image_twice_are_refused(
    scenes: str, tmp_path: Path
) -> None:
    with pytest.raises(
        CommandError, match="has no caption of corpus 'scenes' that can be scored: 1 image of the file unk"
    ):
        output_of("score_captions", scenes, written(tmp_path, {"harbour": "A ship."}))
    twice = {"100": "A dog.", "COCO_val2014_000000000100.jpg": "A dog."}
    with pytest.raises(
        CommandError, match="line 2 and line 1 are of one image, 'COCO_val2014_000000000100.jpg'"
    ):
        output_of("score_captions", scenes, written(tmp_path, twice))
