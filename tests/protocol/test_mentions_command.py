"""`manage.py evaluate_mentions` on test folders and on the real sample."""

import json

import pytest
from django.core.management import CommandError, call_command


def evaluate(folder, capsys, **options):
    call_command("evaluate_mentions", str(folder), **options)
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path):
    sentences = tmp_path / "Sentences"
    sentences.mkdir()
    (sentences / "1.txt").write_text(
        "[/EN#1/people A nun] feeds [/EN#2/animals two geese] in [/EN#0/notvisual the background] .\n"
        "[/EN#1/people A tall] nun waits near [/EN#3/scene a pond] .\n"
    )
    (sentences / "2.txt").write_text(
        "[/EN#7/other Two sailors] row .\n[/EN#7/people Men] row [/EN#8/vehicles it] .\n"
    )
    return tmp_path


def test_the_report_counts_spans_categories_and_errors(folder, capsys):
    report = json.loads(evaluate(folder, capsys, json=True))
    assert report["images"] == 2 and report["captions"] == 4
    assert (report["gold"], report["predicted"], report["matched"]) == (7, 6, 5)
    assert report["precision"] == 5 / 6 and report["recall"] == 5 / 7
    assert report["f1"] == pytest.approx(10 / 13)
    assert report["interval"][0] <= report["f1"] <= report["interval"][1]
    assert report["interval_remark"] == "a bootstrap of 2 images, fewer than 10: may be too narrow"
    assert f"; {report['interval_remark']})" in evaluate(folder, capsys)
    assert report["category_agreement"] == 4 / 5
    assert report["errors"]["boundary"]["examples"] == [{"phrase": "a tall nun -> a tall", "times": 1}]
    assert report["errors"]["missed"] == {"count": 1, "examples": [{"phrase": "it", "times": 1}]}
    assert report["errors"]["spurious"] == {"count": 0, "examples": []}


def test_the_interval_follows_the_seed(folder, capsys):
    first, again, another = (
        json.loads(evaluate(folder, capsys, json=True, seed=seed, resamples=resamples))["interval"]
        for seed, resamples in ((1, 50), (1, 50), (2, 1))
    )
    assert first == again
    assert another[0] == another[1]


def test_the_text_names_the_figures_and_the_commonest_errors(folder, capsys):
    text = evaluate(folder, capsys)
    assert "precision 0.833, recall 0.714" in text
    assert "F1 0.769" in text
    assert "a tall nun -> a tall" in text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (None, "no folder Sentences"),
        ("A nun waits .\n", "mark no mention"),
        ("[/EN#1/people A nun", "not closed"),
    ],
)
def test_a_folder_that_cannot_be_evaluated_is_refused_in_one_line(tmp_path, line, problem):
    if line:
        (tmp_path / "Sentences").mkdir()
        (tmp_path / "Sentences" / "1.txt").write_text(line)
    with pytest.raises(CommandError, match=problem) as refusal:
        call_command("evaluate_mentions", str(tmp_path))
    assert str(tmp_path) in str(refusal.value) and "\n" not in str(refusal.value)


def test_no_resample_is_no_bootstrap(folder):
    with pytest.raises(CommandError, match="--resamples is 0; expected at least 1"):
        call_command("evaluate_mentions", str(folder), resamples=0)


def test_mentions_of_the_real_sample_are_found(real_data, capsys):
    report = json.loads(evaluate(real_data / "entities_sample", capsys, json=True))
    assert (report["images"], report["captions"], report["gold"]) == (5, 25, 80)
    assert report["f1"] >= 0.88
    assert report["category_agreement"] >= 0.9
