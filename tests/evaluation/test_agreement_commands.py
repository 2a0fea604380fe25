"""The command `agreement`: text, JSON, and errors of one line."""

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


def output_of(*arguments: Any) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    file = tmp_path / "judgments.csv"
    file.write_text(TABLE)
    return file


def test_agreement_within_a_file(judgments: Path) -> None:
    text = output_of("agreement", judgments, "--resamples", 50)
    assert "6 answers to 3 pairs of 2 queries, 2 a pair; 1 pairs have no majority answer." in text
    assert "Cohen's kappa, ann and bob" in text
    result = json.loads(output_of("agreement", judgments, "--resamples", 50, "--json"))["within"]
    assert set(result["alpha"]) == {"nominal", "ordinal", "interval", "ratio"}
    assert result["cohen"]["ann and bob"]["value"] == pytest.approx(0.4)
    assert result["cohen"]["ann and bob"]["resamples"] == 50
    assert (result["fewest"], result["most"]) == (2, 2)


def test_files_are_compared_by_a_reader(judgments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("agreement_within", "agreement_between"):
        monkeypatch.delattr(f"evaluation.formats.sent_files.{name}")
    for more in ([], ["--against", judgments, "--thresholds", 0.5, "--against-thresholds", 0.5]):
        result = json.loads(output_of("agreement", judgments, "--resamples", 0, "--json", *more))
        assert result["between" if more else "within"]["pairs"] == 3


def test_agreement_over_few_images_says_so_in_every_layout(judgments: Path) -> None:
    few = "a bootstrap of 2 images, fewer than 10: may be too narrow"
    for layout in ("--json", "--csv", "--latex", "--resamples=50"):
        output = output_of("agreement", judgments, layout)
        assert output.count(few) == 6, layout  # four levels of alpha, Fleiss' and Cohen's kappa


def test_agreement_says_why_a_figure_is_undefined(tmp_path: Path) -> None:
    file = tmp_path / "judgments.csv"
    file.write_text("query,document,grade\na,1,2\na,1,2\nb,1,2\nb,1,2\n")
    assert "undefined" in output_of("agreement", file, "--repeats")
    assert "every answer is 2" in output_of("agreement", file, "--repeats")


def test_agreement_between_files(judgments: Path, tmp_path: Path) -> None:
    another = tmp_path / "other.csv"
    another.write_text("query,document,yes,no\na.jpg,1,3,0\na.jpg,2,1,2\nb.jpg,1,0,3\n")
    arguments = ["agreement", judgments, "--against", another, "--resamples", 0]
    assert "3 of 3 pairs are in both sets." in output_of(*arguments)
    result = json.loads(output_of(*arguments, "--json"))["between"]
    assert result["best_at"] == [1, 1]
    assert result["best"]["f1"]["value"] == 1
    named = json.loads(
        output_of(*arguments, "--thresholds", "0.5,1", "--against-thresholds", "0.6", "--json")
    )
    sweep = named["between"]["sweep"]
    assert (sweep["rows"], sweep["columns"], len(sweep["kappa"])) == ([0.5, 1], [0.6], 2)


def test_agreement_is_a_table_for_papers_too(judgments: Path, tmp_path: Path) -> None:
    report = json.loads(output_of("agreement", judgments, "--resamples", 50, "--json"))
    rows = list(csv.reader(io.StringIO(output_of("agreement", judgments, "--resamples", 50, "--csv"))))
    assert rows[0] == ["coefficient", "value", "low", "high", "pairs", "reason", "basis"]
    result = report["within"]
    assert report["basis"]["counted"] == result["pairs"]
    assert [float(row[1]) for row in rows[1:5]] == [item["value"] for item in result["alpha"].values()]
    assert rows[-1][:2] == ["Cohen's kappa, ann and bob", str(result["cohen"]["ann and bob"]["value"])]
    assert r"\begin{tabular}{lrrrrl}" in output_of("agreement", judgments, "--latex")
    another = tmp_path / "other.csv"
    another.write_text("query,document,yes,no\na.jpg,1,3,0\na.jpg,2,1,2\nb.jpg,1,0,3\n")
    cuts = output_of("agreement", judgments, "--against", another, "--resamples", 0, "--csv").splitlines()
    basis = f"Pairs: 3 of 3. Pool: judgments {judgments.name} and judgments other.csv."
    assert cuts[:2] == ["kappa,>= 1,>= 0.333,basis", f">= 1,1.0,0.4,{basis}"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--csv", "--latex"], "--csv and --latex: use only one"),
        (["--format", "xml"], "--format: Expected one of: 'cxc-sits', 'flickr8k-crowd'"),
        (["--format", "flickr8k-expert"], "line 1: .* is not a judgment"),
        (["--thresholds", "1"], "--thresholds: This is only possible together with against."),
        (["--thresholds", "a"], r"--thresholds \(1.\): Expected a number."),
        (["--level", "95"], "--level: Expected less than 1"),
        (["--judgments", "crowd"], "--judgments: This cannot be combined with file."),
        (
            ["--against", "x.csv", "--against-judgments", "crowd"],
            "--against-judgments: This cannot be combined",
        ),
    ],
)
def test_bad_arguments_are_one_line(judgments: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as error:
        output_of("agreement", judgments, *arguments)
    assert "\n" not in str(error.value)


def test_judgments_must_be_named() -> None:
    with pytest.raises(CommandError, match="--judgments: Expected this or file."):
        output_of("agreement")
