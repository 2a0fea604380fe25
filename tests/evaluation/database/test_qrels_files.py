"""Qrels imported from files and exported: published formats, any scale of grades, identical bytes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison.scoring import score
from evaluation.models import JudgmentSet, QrelsRow, QrelsSnapshot, Run
from evaluation.selectors import run_named, snapshot_named
from evaluation.services.judgments.freezing import freeze_protocol, remove_qrels
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file, output_of
from tests.sizes import sized

pytestmark = pytest.mark.django_db

#: COCO's numbers of images, and of each one's captions. A number may name both an image and a caption.
NUMBERS = {391895: (770337, 771687), 42201: (79200, 534849), 770337: (5, 6), 487450: (26277, 26305)}


def file_of(number: int) -> str:
    return f"COCO_val2014_{number:012d}.jpg"


@pytest.fixture(autouse=True)
def corpus(db: None) -> str:
    """Images of COCO, as in Karpathy's split."""
    records = [
        ImageRecord(
            id=file_of(image).removesuffix(".jpg"),
            filename=file_of(image),
            external_id=str(image),
            captions=tuple(CaptionRecord(f"caption {caption}", id=str(caption)) for caption in captions),
        )
        for image, captions in NUMBERS.items()
    ]
    import_records(name="coco", records=records, format="jsonl", source="memory")
    return "coco"


def a_run(folder: Path, name: str, scores: np.ndarray, direction: str = Run.ANNOTATION) -> str:
    """Import a run; scores have shape (images, captions)."""
    captions = [str(caption) for captions in NUMBERS.values() for caption in captions]
    file = matrix_file(folder, name, scores, [file_of(image) for image in NUMBERS], captions)
    import_run(
        RunImport(name=name, corpus="coco", file=file, format="scores", direction=direction),
        OperationContext(),
    )
    return name


# ECCV Caption ---------------------------------------------------------------------------------------


def test_positives_as_eccv_caption_has_them_come_out_byte_for_byte(tmp_path: Path) -> None:
    """A made file of its form: numbers alone, no spaces, in no order. One for either direction."""
    of_images = '{"42201":[534849,79200,5],"391895":[771687,770337,6]}'
    of_captions = '{"26305":[487450,42201],"5":[770337],"771687":[391895,770337,487450]}'
    for name, text, asks in (("i2t", of_images, "image"), ("t2i", of_captions, "caption")):
        (tmp_path / f"{name}.json").write_text(text)
        output = output_of(
            "import_qrels", name, tmp_path / f"{name}.json", "--corpus", "coco", "--format", "json"
        )
        assert f"are relevant, for {asks}s" in output
        out = tmp_path / f"{name}.again.json"
        output_of("export_qrels", name, "--out", out, "--format", "json", "--ids", "external")
        assert out.read_bytes() == text.encode()
        for format in ("trec", "csv"):
            again, third = tmp_path / f"{name}.{format}", f"{name}-{format}"
            output_of("export_qrels", name, "--out", again, "--format", format)
            output_of("import_qrels", third, again, "--corpus", "coco", "--format", format)
            assert snapshot_named(third).digest == snapshot_named(name).digest
            assert snapshot_named(third).asks == asks
    a_run(tmp_path, "r", np.random.default_rng(1).random((4, 8)))
    assert len(score(run_named("r"), snapshot_named("i2t"), ["R-precision"]).queries) == 2
    with pytest.raises(CommandError, match="have captions as queries, but run 'r' has images"):
        output_of("score_run", "r", "--qrels", "t2i")
    output_of(
        "import_qrels",
        "both",
        tmp_path / "t2i.json",
        "--corpus",
        "coco",
        "--format",
        "json",
        "--asks",
        "both",
    )
    # Queries 42201, 391895, 770337 and 487450 are ranked.
    assert len(score(run_named("r"), snapshot_named("both"), ["R-precision"]).queries) == 4


def test_imported_qrels_stand_where_nothing_changed_and_follow_where_it_did(tmp_path: Path) -> None:
    file = tmp_path / "q.trec"
    file.write_text("391895 0 770337 2\n391895 0 5 0\n42201 0 79200 1\n42201 0 534849 -1\n")
    command = ("import_qrels", "q", file, "--corpus", "coco")
    output_of(*command)
    assert json.loads(output_of(*command, "--json"))["unchanged"] and QrelsSnapshot.objects.count() == 1
    assert list(QrelsRow.objects.order_by("pk").values_list("relevance", "judged")) == [
        (2, True),
        (0, True),
        (1, True),
        (0, False),
    ]
    out = tmp_path / "out.trec"
    output_of("export_qrels", "q", "--out", out, "--ids", "external")
    assert out.read_text() == file.read_text()
    output_of("export_qrels", "q", "--out", tmp_path / "own.trec")
    assert (tmp_path / "own.trec").read_text().startswith(f"{file_of(391895)} 0 770337 2\n")
    assert "2 of 4 pairs" in output_of(*command, "--json").replace('"relevant": 2', "2 of 4 pairs")
    stricter = json.loads(output_of(*command, "--level", 2, "--json"))
    assert (stricter["version"], stricter["relevant"]) == (2, 1)
    # The cited name q:2 is never reused.
    remove_qrels(name="q:2")
    assert json.loads(output_of(*command, "--level", 2, "--json"))["version"] == 3
    remove_qrels(name="q:3")
    assert json.loads(output_of("import_qrels", "Q", *command[2:], "--json"))["version"] == 1
    remove_qrels(name="Q")
    with pytest.raises(CommandError, match="qrels 'q' already exist and are from a file"):
        output_of("freeze_qrels", "q", "--corpus", "coco", "--protocol", "any of five")


def test_a_graded_file_gives_the_figures_of_pytrec_eval_both_ways_round(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    captions = [str(own_caption) for captions in NUMBERS.values() for own_caption in captions]
    lines: list[str] = []
    qrels: dict[str, dict[str, int]] = {}
    for image in NUMBERS:
        for caption in rng.choice(captions, 5, replace=False):
            grade = int(rng.integers(0, 4))
            lines.append(f"{image} 0 {caption} {grade}")
            qrels.setdefault(str(image), {})[str(caption)] = grade
    (tmp_path / "q.trec").write_text("\n".join(lines))
    output_of("import_qrels", "q", tmp_path / "q.trec", "--corpus", "coco", "--asks", "image", "--level", 2)
    scores = rng.permutation(32).reshape(4, 8).astype(float)
    run = {
        str(i): dict(zip(captions, row.tolist(), strict=True)) for i, row in zip(NUMBERS, scores, strict=True)
    }
    a_run(tmp_path, "r", scores)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "Rprec", "ndcg_cut_10"}, relevance_level=2)
    theirs = evaluator.evaluate(run)
    scored = score(run_named("r"), snapshot_named("q"), ["MAP", "R-precision", "nDCG@10"])
    with_relevant = [item for name, item in theirs.items() if max(qrels[name].values()) >= 2]
    for ours, name in (("MAP", "map"), ("R-precision", "Rprec")):
        assert scored.scores[ours].value == pytest.approx(np.mean([item[name] for item in with_relevant]))
    ndcg = [item["ndcg_cut_10"] for item in theirs.values()]
    assert scored.scores["nDCG@10"].value == pytest.approx(np.mean(ndcg))


# Crisscrossed Captions ------------------------------------------------------------------------------

#: A made-up file with its columns, ratings with two decimals, and an image that the corpus lacks.
SITS = """caption,image,agg_score,sampling_method
COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg,4.96,c2i_original
COCO_val2014:sentid:79200,COCO_val2014_000000391895.jpg,2.34,c2i_intrasim
COCO_val2014:sentid:5,COCO_val2014_000000391895.jpg,0.00,c2i_intrasim
COCO_val2014:sentid:534849,COCO_val2014_000000042201.jpg,5.00,c2i_original
COCO_val2014:sentid:26277,COCO_val2014_000000042201.jpg,3.00,c2i_intrasim
COCO_val2014:sentid:26277,COCO_val2014_000000999999.jpg,3.10,c2i_intrasim
"""


def test_crisscrossed_captions_go_from_file_to_ndcg_in_two_commands(tmp_path: Path) -> None:
    file = tmp_path / "sits_test.csv"
    file.write_text(SITS)
    scores = np.arange(32).reshape(4, 8)[:, ::-1] * 1.0
    a_run(tmp_path, "r", scores)
    output = output_of(
        "import_qrels", "sits", file, "--corpus", "coco", "--format", "cxc-sits", "--leave-unused"
    )
    assert "pairs: 6 found, 5 taken, left: 1 without a match in the corpus (999999)" in output
    assert (
        "3 of 5 pairs are relevant\nqueries: 2 judged queries" in output
        and "mean on the scale 0 to 5, relevant from 3" in output
    )
    figures = json.loads(output_of("score_run", "r", "--qrels", "sits", "--measures", "nDCG@10", "--json"))
    captions = [str(caption) for captions in NUMBERS.values() for caption in captions]
    grades = {"391895": {"770337": 496, "79200": 234, "5": 0}, "42201": {"534849": 500, "26277": 300}}
    run = {
        str(i): dict(zip(captions, row.tolist(), strict=True)) for i, row in zip(NUMBERS, scores, strict=True)
    }
    theirs = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut_10"}).evaluate({k: run[k] for k in grades})
    expected = np.mean([item["ndcg_cut_10"] for item in theirs.values()])
    assert figures["measures"][0]["value"] == pytest.approx(expected)
    judgment_set = JudgmentSet.objects.get()
    assert (judgment_set.name, judgment_set.scale, judgment_set.pair_count, judgment_set.skipped) == (
        "sits",
        "0-5",
        5,
        1,
    )


def test_gains_thresholds_and_scales_are_named_at_freezing(tmp_path: Path) -> None:
    (tmp_path / "sits.csv").write_text(SITS)
    with pytest.raises(CommandError, match="pairs: 1 without a match in the corpus"):
        output_of("import_judgments", "coco", tmp_path / "sits.csv", "--format", "cxc-sits")
    assert not JudgmentSet.objects.exists()
    with gzip.open(tmp_path / "raw.csv.gz", "wt") as out:
        out.write(SITS.replace("3.10", "3") + SITS.splitlines()[1] + "\n")
    output = output_of(
        "import_judgments", "coco", tmp_path / "raw.csv.gz", "--format", "cxc-sits", "--leave-unused"
    )
    assert "6 answers to 5 pairs, scale 0-5" in output
    freeze = (
        "freeze_qrels",
        "q",
        "--corpus",
        "coco",
        "--judgments",
        "cxc-sits",
        "--no-originals",
        "--json",
    )
    payload = json.loads(output_of(*freeze))
    assert payload["settings"].startswith("mean on the scale 0 to 5, relevant from 3, linear gains in 1/300")
    assert payload["relevant"] == 3
    high = json.loads(
        output_of(*freeze, "--relevant-from", "4.9", "--gains", "exponential", "--summary", "median")
    )
    assert (high["relevant"], high["version"]) == (2, 2) and "exponential gains" in high["settings"]
    row = QrelsRow.objects.filter(snapshot__version=2).order_by("-relevance").first()
    assert row is not None and row.relevance == 31 * 300
    for options, invalid in (
        (["--relevant-from", "0"], "relevant from 0: expected more than 0, the lowest grade, and at most 5"),
        (["--relevant-from", "soon"], "'soon' is not a score; expected a number"),
        (["--rule", "majority"], "are grades from 0 to 5; rule 'majority' does not apply to them"),
    ):
        with pytest.raises(CommandError, match=invalid):
            output_of(*freeze, *options)


@pytest.mark.parametrize(
    ("grades", "options", "message"),
    [
        (["1", "1"], [], "every answer is 1, which does not determine the scale; name it: votes, 1-4"),
        (["0", "5"], [], "answers reach from 0 to 5, which fits no known scale"),
        (["1", "4.5"], ["--scale", "1-4"], "has the answer 4.5, which is not on the scale 1-4"),
        (["1", "0.5"], ["--scale", "votes"], "has the answer 0.5, which is not on the scale votes"),
        (["1", "2"], ["--scale", "4-1"], "'4-1' is not a scale; expected votes, 1-4"),
    ],
)
def test_answers_off_their_scale_are_refused(
    tmp_path: Path, grades: list[str], options: list[Any], message: str
) -> None:
    lines = [f"391895,{caption},{grade}" for caption, grade in zip(("5", "6"), grades, strict=True)]
    (tmp_path / "j.csv").write_text("\n".join(["image,caption,grade", *lines]))
    with pytest.raises(CommandError, match=message) as error:
        output_of("import_judgments", "coco", tmp_path / "j.csv", "--format", "table", *options)
    assert "\n" not in str(error.value) and not JudgmentSet.objects.exists()


def test_the_same_answers_on_another_scale_are_other_judgments(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("image,caption,grade\n391895,5,1\n391895,6,1\n")
    command = ("import_judgments", "coco", tmp_path / "j.csv", "--format", "table")
    output_of(*command, "--scale", "votes")
    with pytest.raises(CommandError, match="already exist with the scale votes; choose another name"):
        output_of(*command, "--scale", "0-5")


def test_packed_positives_and_repeated_ratings_are_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "q.json.gz", "wt") as out:
        out.write('{"42201":[5]}')
    output_of("import_qrels", "q", tmp_path / "q.json.gz", "--corpus", "coco", "--format", "json")
    (tmp_path / "t.csv").write_text("image,caption,grade\n391895,5,4\n391895,5,2\n")
    command = ("import_qrels", "t", tmp_path / "t.csv", "--corpus", "coco", "--format", "table")
    assert "1 of 1 pairs" in output_of(*command, "--repeats")


def test_a_column_of_ones_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("image,caption,grade\n391895,5,1\n391895,6,1\n")
    for scale, relevant in (("votes", 2), ("1-4", 0)):
        output_of(
            *("import_judgments", "coco", tmp_path / "j.csv", "--format", "table"),
            *("--scale", scale, "--name", f"of-{scale}"),
        )
        command = ("freeze_qrels", scale, "--corpus", "coco", "--judgments", f"of-{scale}", "--json")
        assert json.loads(output_of(*command, "--no-originals"))["relevant"] == relevant


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        (
            "q.trec",
            "1 0 2 1\n",
            [],
            "its queries match neither images nor captions of corpus 'coco' .*'1' and '2'",
        ),
        (
            "q.trec",
            "391895 0 5 1\n391895 0 9 1\n",
            [],
            r"--leave-unused: Found and not used: pairs: 1 without a match in the corpus \(9\)",
        ),
        ("q.trec", "391895 0 5 1\n391895 0 5 0\n", [], "were judged before"),
        ("q.trec", "391895 0 5 99999\n", [], "have the relevance 99999; expected 32767 at most"),
        ("q.trec", "391895 0 5 1\n", ["--level", "0"], "--level: Expected 1 or more."),
        (
            "q.trec",
            "391895 0 5 1\n",
            ["--asks", "both", "--scale", "1-4"],
            "--scale: This cannot be combined with “trec”",
        ),
        (
            "q.trec",
            "391895 0 5 1\n",
            ["--format", "xml"],
            "--format: Expected one of: 'csv', 'json', 'trec', 'cxc-sits'",
        ),
        ("q.json", "[1]", ["--format", "json"], "expected an object of queries"),
        ("q.json", '{"391895": [5, 5]}', ["--format", "json"], "names '?5'? for '391895' twice"),
        ("q.json", '{"391895": {"5": 1.5}}', ["--format", "json"], "has the relevance 1.5"),
        ("q.json", '{"391895": [5]', ["--format", "json"], "is not JSON"),
        ("q.json", '{"391895": []}', ["--format", "json"], "expected an object of queries"),
        ("q.json.gz", b"\x1f\x8b\x08\x00cut", ["--format", "json"], "cannot be decompressed"),
        (
            "t.csv",
            "image,caption,grade\n391895,5,4\n",
            ["--format", "table", "--scale", "0-5"],
            "give the lowest relevant score",
        ),
        (
            "t.csv",
            "image,caption,grade\n391895,5,4\n391895,5,4\n",
            ["--format", "table"],
            "the choice to count each row as an answer",
        ),
        (
            "t.csv",
            "image,caption,grade\n391895,5,4\n",
            ["--format", "table", "--scale", "0-2000", "--relevant-from", "3", "--gains", "exponential"],
            "exponential gains of the scale 0 to 2000 are over 32767",
        ),
        ("q.csv", "image,relevance\n1,1\n", ["--format", "csv"], "has the columns image, relevance"),
        ("q.csv", "image,caption,relevance\n391895,5,x\n", ["--format", "csv"], "has the relevance 'x'"),
        ("gone.trec", None, [], "no such file or folder"),
        (
            "q.trec.gz",
            b"\x1f\x8b\x08\x00cut",
            [],
            "cannot be unpacked .*; expected a whole file packed by gzip",
        ),
    ],
)
def test_bad_qrels_are_refused_in_one_line_and_leave_nothing(
    tmp_path: Path, name: str, content: str | bytes | None, options: list[str], message: str
) -> None:
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    elif content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(CommandError, match=message) as error:
        output_of("import_qrels", "q", tmp_path / name, "--corpus", "coco", *options)
    assert "\n" not in str(error.value)
    assert not QrelsSnapshot.objects.exists() and not JudgmentSet.objects.exists()


def test_numbers_that_name_images_and_captions_alike_have_to_be_told_apart(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"770337":[770337]}')
    command = ("import_qrels", "q", tmp_path / "q.json", "--corpus", "coco", "--format", "json")
    with pytest.raises(CommandError, match="match as many images as captions .* say what its queries are"):
        output_of(*command)
    assert json.loads(output_of(*command, "--asks", "caption", "--json"))["asks"] == "caption"


# Ties -----------------------------------------------------------------------------------------------


def test_runs_with_ties_come_back_the_same_and_the_command_counts_who_else_would_see_others(
    tmp_path: Path,
) -> None:
    """Some runs: read back, every figure is equal; pytrec_eval's differ for as many queries as is said."""
    freeze_protocol(name="own", corpus="coco", protocol="any of five")
    measures = ["R@1", "R@5", "MAP", "R-precision"]
    names = {"R@1": "success_1", "R@5": "success_5", "MAP": "map", "R-precision": "Rprec"}
    counted, runs = 0, sized(6, 20)
    for seed in range(runs):
        direction = (Run.ANNOTATION, Run.SEARCH)[seed % 2]
        scores = np.random.default_rng(seed).integers(0, 2 + seed % 5, (4, 8)).astype(float)
        run = a_run(tmp_path, f"r{seed}", scores, direction)
        ours = score(run_named(run), snapshot_named("own"), measures)
        qrels: dict[str, dict[str, int]] = {}
        for image, captions in NUMBERS.items():
            for caption in map(str, captions):
                pair = (file_of(image), caption) if direction == Run.ANNOTATION else (caption, file_of(image))
                qrels.setdefault(pair[0], {})[pair[1]] = 1
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names.values()))
        for ties in ("keep", "break"):
            file = tmp_path / f"{run}.{ties}"
            command = ("export_run", run, "--out", file, "--ties", ties, "--qrels", "own", "--json")
            payload = json.loads(output_of(*command))
            output_of("import_run", f"{run}-{ties}", file, "--corpus", "coco", "--direction", direction)
            again = score(run_named(f"{run}-{ties}"), snapshot_named("own"), measures)
            with file.open() as lines:
                theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
            differ = set()
            for measure, name in names.items():
                figures = dict(
                    zip(sorted_queries(ours, direction), ours.scores[measure].per_query, strict=True)
                )
                differ |= {q for q, item in theirs.items() if abs(item[name] - figures[q]) > 1e-6}
                if ties == "keep":
                    assert again.scores[measure].per_query == pytest.approx(ours.scores[measure].per_query)
                else:
                    read = dict(
                        zip(sorted_queries(again, direction), again.scores[measure].per_query, strict=True)
                    )
                    assert read == pytest.approx({q: item[name] for q, item in theirs.items()})
            tied = sum(
                len(set(row)) < len(row) for row in (scores if direction == Run.ANNOTATION else scores.T)
            )
            assert payload["tied"] == tied
            # The command compares all measures, so it may count more than these four show.
            assert len(differ) <= payload["differ"] <= tied
            counted += len(differ)
    assert counted > 2 * runs


@pytest.mark.parametrize("ranked_queries", [4, 3])
def test_by_trec_evals_convention_every_figure_is_the_one_of_pytrec_eval(
    tmp_path: Path, ranked_queries: int
) -> None:
    """Graded qrels, runs with ties, and a query that the run does not rank: left out as by trec_eval, or
    counted as 0 as by its option -c."""
    rng = np.random.default_rng(ranked_queries)
    images = list(NUMBERS)
    captions = [caption for of_image in NUMBERS.values() for caption in of_image]
    grades = {
        file_of(image): {str(c): int(g) for c, g in zip(captions, rng.integers(0, 4, 8), strict=True)}
        for image in images
    }
    rows = [f"{image} 0 {caption} {grade}" for image, row in grades.items() for caption, grade in row.items()]
    (tmp_path / "g.trec").write_text("\n".join(rows))
    output_of("import_qrels", "g", tmp_path / "g.trec", "--corpus", "coco", "--format", "trec")
    lines = [
        f"{file_of(image)} Q0 {caption} 1 {rng.integers(0, 3)} run"
        for image in images[:ranked_queries]
        for caption in captions
    ]
    (tmp_path / "r.trec").write_text("\n".join(lines))
    output_of("import_run", "r", tmp_path / "r.trec", "--corpus", "coco", "--direction", "annotation")
    names = {
        "map": "AP",
        "recip_rank": "RR",
        "ndcg_cut_3": "nDCG@3",
        "P_3": "P@3",
        "success_1": "S@1",
        "Rprec": "Rprec",
        "bpref": "bpref",
        "infAP": "infAP",
        "set_F": "SetF",
        "11pt_avg": "11pt",
        "iprec_at_recall_0.00": "IPrec@0",
        "iprec_at_recall_0.50": "IPrec@0.5",
        "recall_5": "recall@5",
    }
    asked = {
        name.rpartition("_")[0] + "." + name.rpartition("_")[2] if name[-1].isdigit() else name
        for name in names
    }
    theirs = pytrec_eval.RelevanceEvaluator(grades, asked).evaluate(pytrec_eval.parse_run(lines))
    assert len(theirs) == ranked_queries
    for missing, number in (("leave-out", ranked_queries), ("worst", len(images))):
        command = (
            "score_run",
            "r",
            "--qrels",
            "g",
            "--missing",
            missing,
            "--measures",
            ",".join(names.values()),
        )
        result = json.loads(output_of(*command, "--convention", "trec_eval", "--json"))
        figures = {figure["measure"]: figure["value"] for figure in result["measures"]}
        expected = [sum(query[name] for query in theirs.values()) / number for name in names]
        assert list(figures.values()) == pytest.approx(expected)
        assert result["convention"] == "trec_eval"
        assert result["basis"]["ties"] == "in falling order of ids (trec_eval)"
        shared = json.loads(output_of(*command, "--json"))
        assert [figure["value"] for figure in shared["measures"]] != pytest.approx(expected)
        assert shared["basis"]["ties"] == ""


def sorted_queries(scored: Any, direction: str) -> list[str]:
    from evaluation.selectors import names_of

    names = names_of("coco")
    called = names.image_name if direction == Run.ANNOTATION else names.caption_name
    return [called[query] for query in scored.queries.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["original", "cxc", "eccv"])
def test_the_published_positives_of_coco_come_out_byte_for_byte(
    real_data: Path, tmp_path: Path, whose: str
) -> None:
    """ECCV Caption's files, over a corpus of COCO's numbers with captions made up."""
    folder = real_data / "eccv_caption"
    captions_of = json.loads((folder / "original_image_to_caption.json").read_text())
    # Two captions of ECCV belong to no image of the test split: they get one.
    known = {caption for captions in captions_of.values() for caption in captions}
    eccv = json.loads((folder / "eccv_image_to_caption.json").read_text())
    captions_of["1"] = sorted({caption for captions in eccv.values() for caption in captions} - known)
    records = [
        ImageRecord(
            id=f"COCO_val2014_{int(image):012d}",
            filename=file_of(int(image)),
            external_id=image,
            captions=tuple(CaptionRecord(f"a caption, {caption}", id=str(caption)) for caption in captions),
        )
        for image, captions in captions_of.items()
    ]
    import_records(name="test", records=records, format="jsonl", source="memory")
    for side in ("image_to_caption", "caption_to_image"):
        file, out = folder / f"{whose}_{side}.json", tmp_path / f"{side}.json"
        name = f"{whose}-{side.replace('_', '-')}"
        output = output_of("import_qrels", name, file, "--corpus", "test", "--format", "json", "--json")
        assert json.loads(output)["asks"] == side.partition("_")[0]
        output_of("export_qrels", name, "--out", out, "--format", "json", "--ids", "external")
        assert out.read_bytes() == file.read_bytes()
