"""Figures of subsets equal those of trec_eval (pytrec_eval) on the same queries and candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.models import Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison import ranked_runs
from evaluation.comparison.inspection import values_of
from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.scoring import score, score_against_first
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.models import QrelsRow, QrelsSnapshot, Report, Run
from evaluation.selectors import names_of, run_named, snapshot_named, stored_queries
from evaluation.services.judgments.freezing import freeze_protocol, freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.reports import building
from evaluation.services.reports.building import outdated
from evaluation.services.runs.files import BREAK_TIES, RunImport, import_run, write_run_file
from phrasebox.formats.trec import read_run
from phrasebox.registry import UnknownName
from tests.evaluation.database.conftest import matrix_file, output_of
from tests.sizes import sized

pytestmark = pytest.mark.django_db

NUMBER = 24
IMAGES = [f"i{n}.jpg" for n in range(NUMBER)]
CUTS = (1, 5, 10)
MEASURES = [f"R@{k}" for k in CUTS]
PROTOCOLS = (("one caption", 2), ("first caption", None), ("any of five", None))


@pytest.fixture(autouse=True)
def corpus(db: None) -> str:
    records = [
        ImageRecord(
            id=f"i{n}",
            filename=IMAGES[n],
            split="test" if n % 3 else "val",
            captions=tuple(CaptionRecord(f"caption {k} of {n}") for k in range(5)),
        )
        for n in range(NUMBER)
    ]
    import_records(name="many", records=records, format="jsonl", source="memory")
    return "many"


def a_run(folder: Path, name: str, direction: str, scores: np.ndarray, images: list[int]) -> str:
    """Import a run over some of the images with all their captions; `scores` has shape (images, 5 *
    images)."""
    captions = [f"{IMAGES[n]}#{k}" for n in images for k in range(5)]
    file = matrix_file(folder, name, scores, [IMAGES[n] for n in images], captions)
    import_run(
        RunImport(name=name, corpus="many", file=file, format="scores", direction=direction, depth=0),
        OperationContext(),
    )
    return name


def trec(
    folder: Path, run: str, snapshot: QrelsSnapshot, subset: Subset | None
) -> Mapping[str, Mapping[str, float]]:
    """Return pytrec_eval's values of each query that both have, among the candidates of the subset."""
    names, direction = names_of("many"), run_named(run).direction
    qrels: dict[str, dict[str, int]] = {}
    items = set()
    for image, caption, relevance in QrelsRow.objects.filter(snapshot=snapshot).values_list(
        "image_id", "caption_id", "relevance"
    ):
        if subset is None or (image in subset.images and names.owner[caption] in subset.images):
            pair = names.image_name[image], names.caption_name[caption]
            query, item = pair if direction == Run.ANNOTATION else pair[::-1]
            qrels.setdefault(query, {})[item] = relevance
            items.add(item)
    file = folder / f"{run}.trec"
    write_run_file(run, file)
    rankings = {
        query: {item: float(value) for item, value in zip(ranked, scores, strict=True) if item in items}
        for query, (ranked, scores) in read_run(file).rankings.items()
        if query in qrels
    }
    expected = {f"success_{k}" for k in CUTS} | {"recip_rank"}
    return pytrec_eval.RelevanceEvaluator(qrels, expected).evaluate(rankings)


def a_case(folder: Path, seed: int) -> None:
    """Check a random run, protocol, direction and subset: every figure equals pytrec_eval's."""
    rng = np.random.default_rng(seed)
    protocol, number = PROTOCOLS[seed % 3]
    direction = (Run.ANNOTATION, Run.SEARCH)[seed // 3 % 2]
    # Every other run contains only some of the images, as if the others had no picture.
    images = sorted(rng.choice(NUMBER, 15, replace=False).tolist()) if seed // 6 % 2 else [*range(NUMBER)]
    shape = (len(images), 5 * len(images))
    tied = seed // 12 % 2
    scores = rng.integers(0, 6, shape) if tied else rng.permutation(np.arange(np.prod(shape))).reshape(shape)
    run = a_run(folder, f"run-{seed}", direction, scores.astype(float), images)
    if tied:
        # trec_eval supports no ties: its input is written separately, and so is the run that we score.
        write_run_file(run, folder / f"apart-{seed}.txt", ties=BREAK_TIES)
        run = f"apart-{seed}"
        import_run(
            RunImport(name=run, corpus="many", file=folder / f"apart-{seed}.txt", direction=direction),
            OperationContext(),
        )
    (folder / "te.txt").write_text("\n".join(IMAGES[n] for n in rng.choice(NUMBER, 12, replace=False)))
    what = ("", "test", f"{1 + seed % 4}/4", str(folder / "te.txt"), f"run:{run}")[seed % 5]
    subset = subset_named("many", what, seed=seed)
    name = f"q{seed}"
    if seed % 2:  # the qrels are of the subset, or of all images with the subset requested
        freeze_protocol(name=name, corpus="many", protocol=protocol, number=number, subset=subset)
    else:
        freeze_protocol(name=name, corpus="many", protocol=protocol, number=number)
    snapshot = snapshot_named(name)
    scored = score(run_named(run), snapshot, [*MEASURES, "median rank"], subset=subset, missing=LEAVE_OUT)
    theirs = trec(folder, run, snapshot, subset)
    assert len(scored.queries) == len(theirs) > 0
    assert scored.query_count == len(scored.queries) + scored.missing
    for k in CUTS:
        expected = np.mean([query[f"success_{k}"] for query in theirs.values()])
        assert scored.scores[f"R@{k}"].value == pytest.approx(expected)
    ranks = [1 / query["recip_rank"] if query["recip_rank"] else np.inf for query in theirs.values()]
    assert scored.scores["median rank"].value == pytest.approx(np.median(ranks))


def test_subsets_are_scored_as_by_pytrec_eval(tmp_path: Path) -> None:
    for seed in range(sized(8, 24)):
        a_case(tmp_path, seed)


@pytest.mark.slow
def test_a_hundred_subsets_are_scored_as_by_pytrec_eval(tmp_path: Path) -> None:
    for seed in range(24, 124):
        a_case(tmp_path, seed)


def test_ties_count_half_among_the_candidates_of_a_subset(tmp_path: Path) -> None:
    """Brute force: the rank is 1, and the better ones, and half of the others that are equal."""
    scores = np.random.default_rng(5).integers(0, 4, (NUMBER, 5 * NUMBER)).astype(float)
    a_run(tmp_path, "tied", Run.ANNOTATION, scores, [*range(NUMBER)])
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    scored = score(
        run_named("tied"), snapshot_named("own"), ["median rank"], subset=subset_named("many", "val")
    )
    there = [n for n in range(NUMBER) if not n % 3]
    columns = [5 * n + k for n in there for k in range(5)]
    ranks = []
    for n in there:
        row, own_max = scores[n, columns], scores[n, 5 * n : 5 * n + 5].max()
        others = (row == own_max).sum() - (scores[n, 5 * n : 5 * n + 5] == own_max).sum()
        ranks.append((row > own_max).sum() + 1 + others / 2)
    best = scored.scores["median rank"].per_query
    assert len(best) == len(there)
    # Of several tied own captions, the first counts: at most half of the other tied items stand before it.
    assert (best <= np.array(ranks)).all() and (best >= np.array(ranks) - NUMBER).all()


def test_rankings_taken_a_few_at_a_time_stand_as_those_taken_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = np.random.default_rng(6).integers(0, 4, (NUMBER, 5 * NUMBER)).astype(float)
    a_run(tmp_path, "some", Run.SEARCH, scores[:, : 5 * 15][:15], [*range(15)])
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    freeze_protocol(name="part", corpus="many", protocol="first caption", subset=subset_named("many", "test"))

    def result(name: str, what: str) -> tuple[object, ...]:
        scored = score(
            run_named("some"),
            snapshot_named(name),
            ["median rank"],
            subset=subset_named("many", what),
            missing=LEAVE_OUT,
        )
        per_query = scored.scores["median rank"].per_query.tolist()
        return (
            per_query,
            scored.missing,
            scored.candidates.items.tolist(),
            scored.candidates.whole,
            dict(scored.judged),
        )

    requested = [("own", ""), ("own", "val"), ("part", ""), ("part", "run:some")]
    at_once = [result(*item) for item in requested]
    for name, most in (("_BLOCK", 1), ("_BLOCK", 7), ("_ITEMS", 40)):
        with monkeypatch.context() as patched:
            patched.setattr(ranked_runs, name, most)
            assert [result(*item) for item in requested] == at_once


def test_judgments_frozen_for_a_subset_hold_its_pairs_alone(tmp_path: Path) -> None:
    rows = [
        f"{IMAGES[n]},{IMAGES[m]}#{k},{(n + m + k) % 2}" for n in range(8) for m in range(8) for k in (0, 1)
    ]
    (tmp_path / "j.csv").write_text("image,caption,grade\n" + "\n".join(rows))
    import_judgments(
        JudgmentsImport(corpus="many", file=tmp_path / "j.csv", format="table", name="j"), OperationContext()
    )
    subset = subset_named("many", "val")
    qrels = freeze_qrels(name="part", corpus="many", judgments="j", subset=subset)
    whole = freeze_qrels(
        name="whole", corpus="many", judgments="j", queries=stored_queries(snapshot_named("part"))
    )
    assert (qrels.subset, qrels.version) == ("split val", 1)
    inside = [row for row in rows if all(not int(part.split(".")[0][1:]) % 3 for part in row.split(",")[:2])]
    assert qrels.excluded == len(rows) - len(inside) > 0
    a_run(
        tmp_path,
        "r",
        Run.ANNOTATION,
        np.random.default_rng(1).permutation(NUMBER * 5 * NUMBER).reshape(NUMBER, -1).astype(float),
        [*range(NUMBER)],
    )
    frozen = score(run_named("r"), snapshot_named("part"))
    scored = score(run_named("r"), snapshot_named("whole"), subset=subset)
    for name, figure in frozen.scores.items():
        assert figure.value == pytest.approx(scored.scores[name].value, nan_ok=True)
    assert whole.rows > qrels.rows and set(frozen.queries) == set(scored.queries)
    # Frozen again for all, it is the next version.
    assert freeze_qrels(name="part", corpus="many", judgments="j").version == 2


@pytest.mark.parametrize("direction", [Run.ANNOTATION, Run.SEARCH])
@pytest.mark.parametrize("what", ["test", "2/3", "run:r"])
def test_what_nobody_judged_of_a_subset_stands_in_the_way_too(
    tmp_path: Path, direction: str, what: str
) -> None:
    """Votes are on caption 0 alone; the others of the subset's images are candidates all the same."""
    rng = np.random.default_rng(11)
    rows = [
        f"{IMAGES[n]},{IMAGES[m]}#0,{int(n == m or (n + m) % 7 == 0)}"
        for n in range(NUMBER)
        for m in range(NUMBER)
    ]
    (tmp_path / "j.csv").write_text("image,caption,grade\n" + "\n".join(rows))
    import_judgments(
        JudgmentsImport(corpus="many", file=tmp_path / "j.csv", format="table", name="j"), OperationContext()
    )
    images = sorted(rng.choice(NUMBER, 18, replace=False).tolist())
    a_run(tmp_path, "r", direction, rng.permutation(18 * 90).reshape(18, 90).astype(float), images)
    subset = subset_named("many", what)
    assert subset is not None
    freeze_qrels(name="whole", corpus="many", judgments="j")
    frozen = freeze_qrels(name="part", corpus="many", judgments="j", subset=subset)
    names = names_of("many")
    inside = {names.image_name[image] for image in subset.images}
    qrels: dict[str, dict[str, int]] = {}
    for row in rows:
        image, caption, grade = row.split(",")
        if image in inside and caption.split("#")[0] in inside:
            query, item = (image, caption) if direction == Run.ANNOTATION else (caption, image)
            qrels.setdefault(query, {})[item] = int(grade)
    write_run_file("r", tmp_path / "r.trec")
    rankings = {
        query: {i: float(s) for i, s in zip(items, scores, strict=True) if i.split("#")[0] in inside}
        for query, (items, scores) in read_run(tmp_path / "r.trec").rankings.items()
        if query in qrels
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "success_5", "Rprec"}).evaluate(rankings)
    for name in ("whole", "part"):
        scored = score(
            run_named("r"),
            snapshot_named(name),
            ["MAP", "S@5", "R-precision"],
            subset=subset,
            missing=LEAVE_OUT,
        )
        for measure, value in (("MAP", "map"), ("S@5", "success_5"), ("R-precision", "Rprec")):
            relevant = [
                figures_of_query[value]
                for query, figures_of_query in theirs.items()
                if any(qrels[query].values())
            ]
            assert scored.scores[measure].value == pytest.approx(np.mean(relevant)), (name, measure)
    alone = score(run_named("r"), snapshot_named("part"), ["MAP"], missing=LEAVE_OUT)
    assert alone.scores["MAP"].value == pytest.approx(scored.scores["MAP"].value)
    assert frozen.digest != freeze_qrels(name="other", corpus="many", judgments="j").digest


def test_a_comparison_is_of_the_queries_that_all_runs_rank_and_says_what_they_lack(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    shapes = {"first": [*range(16)], "second": [*range(8, 24)], "third": [*range(20, 24)]}
    for name, images in shapes.items():
        a_run(tmp_path, name, Run.ANNOTATION, rng.random((len(images), 5 * len(images))), images)
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    scored, tests = score_against_first(
        [run_named("first"), run_named("second")],
        snapshot_named("own"),
        MEASURES,
        rounds=100,
        missing=LEAVE_OUT,
    )
    names = names_of("many").image_name
    assert all({names[q] for q in row.queries.tolist()} == set(IMAGES[8:16]) for row in scored)
    assert [(row.query_count, row.missing) for row in scored] == [(24, 8), (24, 8)] and len(tests) == 3
    command = (
        *("compare_runs", "first", "second", "--qrels", "own", "--measures", "R@10", "--rounds", 10),
        *("--missing", "leave-out"),
    )
    apart = (
        "The runs chose from different items: first from 80, second from 80; results on different candidate "
        "pools cannot be compared."
    )
    messages = [
        "first does not rank 8 of the 24 queries; they are left out.",
        "Results cover the 8 of 24 queries that all runs rank.",
        apart,
    ]
    text, latex = output_of(*command), output_of(*command, "--latex")
    assert all(line in text for line in messages) and all(f"% {line}" in latex for line in messages)
    report = json.loads(output_of(*command, "--json"))
    assert (report["queries"], report["total_queries"]) == (8, 24) and set(messages) <= set(report["remarks"])
    head, first, *_ = output_of(*command, "--csv").split("\n")
    assert head.endswith("not ranked,candidates,basis") and ",8,80," in first
    worst = json.loads(output_of(*command, "--missing", "worst", "--json"))
    assert worst["queries"] == 24 and "they count as the worst result" in worst["remarks"][0]
    with pytest.raises(
        CommandError, match="run 'third' ranks no query of qrels 'own version 1' that the runs before it rank"
    ):
        output_of("compare_runs", "first", "third", "--qrels", "own", "--missing", "leave-out")


def test_the_queries_of_a_run_that_lacks_some_have_values(tmp_path: Path) -> None:
    a_run(tmp_path, "r", Run.ANNOTATION, np.eye(3, 15), [4, 5, 6])
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    values = values_of(run_named("r"), snapshot_named("own"), "R@5")
    names = names_of("many").image_name
    assert {names[query] for query in values} == {"i4.jpg", "i5.jpg", "i6.jpg"}


def test_a_report_of_images_in_a_file_keeps_to_them_and_tells_no_folder(tmp_path: Path) -> None:
    a_run(
        tmp_path, "r", Run.ANNOTATION, np.random.default_rng(3).random((NUMBER, 5 * NUMBER)), [*range(NUMBER)]
    )
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    (tmp_path / "te.txt").write_text("\n".join(IMAGES[:12]))
    output_of(
        "build_report",
        "rep",
        "--qrels",
        "own",
        "--runs",
        "r",
        "--split",
        tmp_path / "te.txt",
        "--resamples",
        50,
    )
    row = Report.objects.get()
    assert row.inputs["settings"]["split"] == "images in te.txt" and not outdated(row)
    (tmp_path / "te.txt").write_text("nobody.jpg")
    assert not outdated(row)
    text = (building.report_folder("rep") / "report.json").read_text()
    assert (
        str(tmp_path) not in text and json.loads(text)["findings"]["directions"][0]["basis"]["counted"] == 12
    )
    output_of("build_report", "val", "--qrels", "own", "--runs", "r", "--split", "val", "--resamples", 50)
    assert not outdated(Report.objects.get(name="val"))


def test_each_querys_values_come_out_and_their_means_are_the_figures(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    scores = np.random.default_rng(2).random((NUMBER, 5 * NUMBER))
    a_run(tmp_path, "r", Run.ANNOTATION, scores, [*range(NUMBER)])
    a_run(tmp_path, "s", Run.ANNOTATION, -scores, [*range(NUMBER)])
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    base = ("--qrels", "own", "--measures", "R@5,median rank")
    result = {}
    for ending in ("csv", "json", "parquet"):
        file = tmp_path / f"values.{ending}"
        output_of("export_values", "r", *base, "--out", file)
        if ending == "parquet":
            result[ending] = parquet.read_table(file).to_pylist()
        elif ending == "json":
            result[ending] = json.loads(file.read_text())
    assert result["json"] == result["parquet"] and len(result["json"]) == NUMBER
    lines = (tmp_path / "values.csv").read_text().splitlines()
    assert lines[0] == "query,run,R@5,median rank,basis" and lines[1].startswith("i0.jpg,r,")
    report = json.loads(output_of("score_run", "r", *base, "--json"))
    value = {m["measure"]: m["value"] for m in report["measures"]}
    assert np.mean([row["R@5"] for row in result["json"]]) == pytest.approx(value["R@5"])
    assert np.median([row["median rank"] for row in result["json"]]) == pytest.approx(value["median rank"])
    output_of("export_values", "r", "s", *base, "--out", tmp_path / "both.csv")
    assert len((tmp_path / "both.csv").read_text().splitlines()) == 1 + 2 * NUMBER
    output_of("export_values", "r", *base, "--folds", 4, "--out", tmp_path / "folds.csv")
    assert (tmp_path / "folds.csv").read_text().splitlines()[-1].startswith("4,i23.jpg,r,")
    for named, invalid in (
        ("values.csv", "already exists"),
        ("values.txt", "ends in '.txt'; expected one of .csv"),
    ):
        with pytest.raises(CommandError, match=invalid):
            output_of("export_values", "r", *base, "--out", tmp_path / named)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("9/5", "fold 9/5: unknown fold; expected 1/5 to 5/5"),
        ("1/2", "fold 1/2: 24 images in 2 folds; expected at least 3 folds"),
        ("dev", "unknown split 'dev' of corpus 'many'; known: 'test', 'val', a file of image names, a fold"),
        ("run:nobody", "corpus 'many' has no run 'nobody'"),
        ("FILE a b c d i1.jpg", "names 4 images \\('a', 'b', 'c', ...\\) that corpus 'many' lacks"),
        ("FILE i1.jpg i2 i1 i2.jpg", "names 2 images \\('i1.jpg', 'i2.jpg'\\) more than once"),
        ("FILE ", "it names no image"),
    ],
)
def test_images_that_cannot_be_meant_are_refused_in_one_line(tmp_path: Path, what: str, message: str) -> None:
    a_run(tmp_path, "r", Run.ANNOTATION, np.ones((2, 10)), [0, 1])
    freeze_protocol(name="own", corpus="many", protocol="any of five")
    if what.startswith("FILE"):
        (tmp_path / "te.txt").write_text("\n".join(what.split()[1:]))
        what = str(tmp_path / "te.txt")
    for command in (
        ("score_run", "r", "--qrels", "own"),
        ("freeze_qrels", "new", "--corpus", "many", "--protocol", "any of five"),
    ):
        with pytest.raises(CommandError, match=message) as error:
            output_of(*command, "--split", what)
        assert "\n" not in str(error.value)
    assert QrelsSnapshot.objects.count() == 1


def test_over_the_web_no_file_is_meant(tmp_path: Path) -> None:
    (tmp_path / "te.txt").write_text("i1.jpg\n")
    with pytest.raises(UnknownName, match="unknown split .* known: 'test', 'val', a fold such as 1/5"):
        subset_named("many", str(tmp_path / "te.txt"), files=False)


def test_folds_are_dealt_among_images_with_pictures_where_some_have_any(tmp_path: Path) -> None:
    with_picture = list(Image.objects.order_by("position").values_list("pk", flat=True)[:6])
    Image.objects.filter(pk__in=with_picture).update(picture="pictures/some.jpg")
    folds = [subset_named("many", f"{n}/3") for n in (1, 2, 3)]
    assert sorted(image for fold in folds if fold for image in fold.images) == with_picture
