"""The commands `agreement` and `reproduce_hodosh`: text, JSON, and errors of one line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

TABLE = """image,caption,judge,grade
a.jpg,1,ann,1
a.jpg,1,bob,1
a.jpg,2,ann,0
a.jpg,2,bob,1
b.jpg,1,ann,0
b.jpg,1,bob,0
"""


def said(*arguments: Any) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    file = tmp_path / "judgments.csv"
    file.write_text(TABLE)
    return file


def test_agreement_within_a_file(judgments: Path) -> None:
    text = said("agreement", judgments, "--resamples", 50)
    assert "6 answers to 3 pairs of 2 queries, 2 a pair; 1 pairs have no majority answer." in text
    assert "Cohen's kappa, ann and bob" in text
    report = json.loads(said("agreement", judgments, "--resamples", 50, "--json"))
    assert set(report["alpha"]) == {"nominal", "ordinal", "interval", "ratio"}
    assert report["cohen"][0]["value"] == pytest.approx(0.4)
    assert report["cohen"][0]["resamples"] == 50
    assert report["answers_per_pair"] == [2, 2]


def test_agreement_over_few_images_says_so_in_every_layout(judgments: Path) -> None:
    few = "a bootstrap of 2 images, fewer than 10: may be too narrow"
    for layout in ("--json", "--csv", "--latex", "--resamples=50"):
        shown = said("agreement", judgments, layout)
        assert shown.count(few) == 6, layout  # four levels of alpha, Fleiss' and Cohen's kappa


def test_agreement_says_why_a_figure_is_undefined(tmp_path: Path) -> None:
    file = tmp_path / "judgments.csv"
    file.write_text("query,document,grade\na,1,2\na,1,2\nb,1,2\nb,1,2\n")
    assert "undefined" in said("agreement", file, "--repeats", "answers")
    assert "every answer is 2" in said("agreement", file, "--repeats", "answers")


def test_agreement_between_files(judgments: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("query,document,yes,no\na.jpg,1,3,0\na.jpg,2,1,2\nb.jpg,1,0,3\n")
    arguments = ["agreement", judgments, "--against", other, "--resamples", 0]
    assert "3 of 3 pairs are in both sets." in said(*arguments)
    report = json.loads(said(*arguments, "--json"))
    assert report["best"]["threshold"] == 1
    assert report["best"]["against_threshold"] == 1
    assert report["best"]["f1"]["value"] == 1
    named = json.loads(said(*arguments, "--thresholds", "0.5,1", "--against-thresholds", "0.6", "--json"))
    assert [(cell["threshold"], cell["against_threshold"]) for cell in named["kappa"]] == [
        (0.5, 0.6),
        (1, 0.6),
    ]


def test_agreement_is_a_table_for_papers_too(judgments: Path, tmp_path: Path) -> None:
    report = json.loads(said("agreement", judgments, "--resamples", 50, "--json"))
    rows = list(csv.reader(io.StringIO(said("agreement", judgments, "--resamples", 50, "--csv"))))
    assert rows[0] == ["coefficient", "value", "low", "high", "pairs", "reason", "basis"]
    assert report["basis"]["counted"] == report["pairs"]
    assert [float(row[1]) for row in rows[1:5]] == [one["value"] for one in report["alpha"].values()]
    assert rows[-1][:2] == ["Cohen's kappa, ann and bob", str(report["cohen"][0]["value"])]
    assert r"\begin{tabular}{lrrrrl}" in said("agreement", judgments, "--latex")
    other = tmp_path / "other.csv"
    other.write_text("query,document,yes,no\na.jpg,1,3,0\na.jpg,2,1,2\nb.jpg,1,0,3\n")
    cuts = said("agreement", judgments, "--against", other, "--resamples", 0, "--csv").splitlines()
    basis = f"Pairs: 3 of 3. Pool: judgments {judgments.name} and judgments other.csv."
    assert cuts[:2] == ["kappa,>= 1,>= 0.333,basis", f">= 1,1.0,0.4,{basis}"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--csv", "--latex"], "--csv and --latex: use only one"),
        (["--format", "xml"], "unknown judgment format 'xml'; known: cxc-sits, flickr8k-crowd"),
        (["--format", "flickr8k-expert"], "line 1: .* is not a judgment"),
        (["--thresholds", "1"], "give the second with --against"),
        (["--thresholds", "a,b"], "'a,b' is not a list of numbers; write them as 4,3.6,3"),
        (["--level", "95"], "level 95.0 is not a confidence level"),
        (["--judgments", "crowd"], "FILE and --judgments: use only one"),
        (["--against", "x.csv", "--against-judgments", "crowd"], "--against FILE and --against-judgments"),
        (["--against-judgments", "crowd"], "--against-judgments crowd: give its --corpus"),
        (["--against-format", "table"], "--against-format needs --against FILE; give it too"),
        (["--corpus", "small"], "--corpus needs --judgments or --against-judgments; give one"),
    ],
)
def test_bad_arguments_are_one_line(judgments: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as error:
        said("agreement", judgments, *arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no judgments are named; give a file, or --corpus and --judgments"),
        (["--format", "table"], "--format needs FILE; give it too"),
        (["--judgments", "crowd"], "--judgments crowd: give its --corpus"),
    ],
)
def test_judgments_must_be_named(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        said("agreement", *arguments)


def test_reproduce_hodosh_refuses_a_folder_without_data(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as error:
        said("reproduce_hodosh", tmp_path)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)
