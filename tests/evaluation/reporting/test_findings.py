"""The computations of a report: emphasis, bins of ranks, orders of systems, agreement of judges; by hand."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.figures import agreement
from evaluation.report_data import tables
from evaluation.report_data.directions import (
    BINS,
    DirectionHead,
    DirectionTable,
    MeasuredRun,
    binned,
    direction_of,
    labels_of,
    weights_of,
)
from evaluation.report_data.judging import MOST_COLUMNS, MOST_ROWS, judging_of
from evaluation.report_data.orders import orders_of
from evaluation.reporting.document import ReportDocument, changed_inputs, sections_of
from phrasebox.agreement.coefficients import cohen
from phrasebox.agreement.estimates import AgreementError, Bootstrap
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import as_csv, as_latex, as_text
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.metrics.scoring import Score
from phrasebox.relevance.grades import JudgedPair
from tests.evaluation.reporting.made_up_findings import a_direction

DRAWS = Bootstrap(range(40), 200)
NO_DRAWS = Resampling(0)


def scored(measure: str, values: list[float]) -> Score:
    per_query = np.array(values, dtype=float)
    value = np.median(per_query) if measure == "median rank" else per_query.mean()
    return Score(measure, float(value), per_query, len(values))


def test_the_best_is_bold_and_what_no_bootstrap_tells_from_it_is_near() -> None:
    best, near, far = [1.0] * 30 + [0.0] * 10, [1.0] * 29 + [0.0] * 10 + [1.0], [0.0] * 40
    assert weights_of([scored("R@1", values) for values in (far, best, near)], DRAWS) == ["", "best", "best"]
    near[0] = 0.0
    assert weights_of([scored("R@1", values) for values in (far, best, near)], DRAWS) == ["", "best", "near"]


def test_of_ranks_the_lowest_is_best_and_nothing_is_emphasised_where_all_are_equal() -> None:
    low, high, lost = [1.0] * 40, [9.0] * 40, [math.inf] * 40
    assert weights_of([scored("median rank", v) for v in (high, low, lost)], DRAWS) == ["", "best", ""]
    assert weights_of([scored("median rank", low), scored("median rank", low)], DRAWS) == ["", ""]
    assert weights_of([scored("median rank", low)], DRAWS) == [""]


def test_ranks_fall_into_bins_and_queries_without_an_original_into_none() -> None:
    result = binned([1, 1.5, 5, 6, 500, 501, math.inf, math.nan])
    assert result == [1, 2, 1, 0, 0, 0, 1, 1, 1]
    assert len(result) == len(BINS) + 2


def test_a_system_names_its_run_unless_another_run_has_that_name() -> None:
    assert labels_of([("a-1", "a"), ("b-1", "b"), ("b-2", "b"), ("plain", "")]) == [
        "a",
        "b-1",
        "b-2",
        "plain",
    ]
    assert labels_of([("x", "y"), ("y", "z")]) == ["x", "z"]


def test_orders_are_correlated_over_systems_and_a_single_system_has_none() -> None:
    direction = a_direction({"a": (0.5, 0.4), "b": (0.3, 0.5), "c": (0.1, 0.2)})
    (order,) = orders_of([direction])
    assert (order.originals, order.judged, order.systems) == ("R@10", "R-precision", 3)
    assert order.rho == pytest.approx(0.5)
    assert order.tau == pytest.approx(1 / 3)
    assert orders_of([a_direction({"a": (0.5, 0.4)})]) == []


def test_one_judge_is_held_against_the_mean_of_the_others() -> None:
    grades = [(1, 1, 1), (0, 0, 1), (0, 0, 0), (1, 1, 0)]
    pairs = [JudgedPair(f"i{n}", "c", tuple(map(float, own_grades))) for n, own_grades in enumerate(grades)]
    result = judging_of(pairs, NO_DRAWS, name="crowd")
    assert [(item.answers, item.pairs, item.unanimous) for item in result.per_pair] == [(3, 4, 2)]
    (swept,) = result.sweeps
    item = [grade for own_grades in grades for grade in own_grades]
    rest = [(sum(own_grades) - grade) / 2 for own_grades in grades for grade in own_grades]
    assert (swept.rows, swept.columns) == ([1.0], [0.5, 1.0])
    for cut, cell in zip(swept.columns, swept.kappa[0], strict=True):
        assert cell.value == pytest.approx(cohen(item, [mean >= cut for mean in rest]).value)


def test_experts_and_crowd_agree_best_where_table_10_says(real_data: Path) -> None:
    """Hodosh et al. 2013, Table 10(b): experts' mean of 10/3, two of three of the crowd."""
    crowd, experts = (
        list(JUDGMENT_FORMATS.get(f"flickr8k-{name}").read(real_data / "flickr8k"))
        for name in ("crowd", "expert")
    )
    swept = judging_of(crowd, NO_DRAWS, name="crowd", others=("experts", experts)).sweeps[-1]
    assert swept.items == 2329
    errors = {
        (row, column): cell.value
        for row, line in zip(swept.rows, swept.kappa, strict=True)
        for column, cell in zip(swept.columns, line, strict=True)
    }
    assert max(errors, key=lambda cut: errors[cut] or 0) == (10 / 3, 2 / 3)
    # Three experts' means have nine cuts, and the usual one (`mean_grade`) is among them: Table 10(a).
    assert len(swept.rows) == 9
    lenient = {row: kappa for (row, column), kappa in errors.items() if column == 1 / 3}
    assert max(lenient, key=lambda row: lenient[row] or 0) == 8 / 3
    assert lenient[8 / 3] == pytest.approx(0.698, abs=5e-4)
    assert "over 2,329 pairs." in agreement.agreement_sentence(swept)


def test_of_many_thresholds_the_best_is_shown() -> None:
    """Means of 0, 0.01, ..., 0.4; the others say yes from 0.34 on, which is none of the evenly chosen."""
    means = [number / 100 for number in range(41)]
    pairs = [JudgedPair(f"i{n}", "c", (float(mean >= 0.34),)) for n, mean in enumerate(means)]
    others = [JudgedPair(f"i{n}", "c", (mean,)) for n, mean in enumerate(means)]
    for first, second in ((pairs, others), (others, pairs)):
        (swept,) = judging_of(first, Resampling(20, 0.9), name="a", others=("b", second)).sweeps
        assert (len(swept.rows), len(swept.columns)) == (
            (MOST_ROWS, 1) if first is pairs else (1, MOST_COLUMNS)
        )
        assert max(cell.value or 0 for line in swept.kappa for cell in line) == 1
        assert agreement.agreement_sentence(swept).startswith(
            "Kappa is highest, 1.00 (90 %: 1.00 to 1.00; every resample gives the same), for b of "
        )
        assert "of at least 0.34" in agreement.agreement_sentence(swept)


def test_answers_are_counted_as_answers_and_pairs_as_pairs() -> None:
    pairs = [JudgedPair(f"i{n}", "c", (float(n > 1), float(n > 2))) for n in range(5)]
    message = [
        agreement.agreement_sentence(sweep)
        for sweep in judging_of(pairs, NO_DRAWS, name="a", others=("b", pairs)).sweeps
    ]
    assert [sentence.rpartition(", ")[2] for sentence in message] == ["over 10 answers.", "over 5 pairs."]


def test_judges_are_counted_though_some_pairs_name_nobody() -> None:
    pairs = [
        JudgedPair("i", "c", (1.0, 0.0), ("ann", "bob")),
        JudgedPair("i", "d", (1.0, 1.0), ("ann", "eve")),
        JudgedPair("i", "e", (0.0, 0.0)),
    ]
    for value, judges, words in (
        (pairs, (3, 1), "by 3 judges; answers to 1 of the pairs have no named judge."),
        (pairs[:2], (3, 0), "by 3 judges."),
        (pairs[2:], (0, 1), "the judges are not named."),
    ):
        result = judging_of(value, NO_DRAWS, name="mixed")
        assert (result.judges, result.nameless) == judges
        inputs = {"settings": {"level": 0.95}}
        (section,) = sections_of(ReportDocument("r", inputs, [], None, result, ""))
        assert f" images, {words}" in section.remarks[0]


def direction_of_few(images: int, values: dict[str, list[float]]) -> DirectionTable:
    """Return two systems with queries of `images` images, figures included."""
    queries = len(next(iter(values.values())))
    measured = [
        MeasuredRun(
            name,
            name,
            0,
            500,
            {m: scored(m, v) for m, v in values.items()},
            {},
            dict.fromkeys(values, (0, 1.0)),
            [],
        )
        for name in ("a", "b")
    ]
    draws = Bootstrap([n % images for n in range(queries)], 50)
    return direction_of(
        DirectionHead("annotation", FigureBasis(cases="queries", counted=queries), [], ""),
        measured,
        [],
        draws=draws,
        report_progress=lambda _: None,
    )


def test_a_bootstrap_of_few_images_is_marked_wherever_it_is_shown() -> None:
    values = {"R@10": [1.0, 0, 1, 1, 0] * 6, "nDCG": [0.1, 0.9, 0.5, 0.4, 0.2, 0.7] * 5}
    inputs = {"settings": {"level": 0.95, "resamples": 50}, "qrels": {"pool": "one"}}
    for images, marked in ((6, True), (10, False)):
        direction = direction_of_few(images, values)
        kinds = {name: figure.interval for name, figure in direction.systems[0].figures.items()}
        assert kinds == {"R@10": "Wilson", "nDCG": "bootstrap"}
        table = tables.intervals(direction, level=0.95, resamples=50)
        _, share, drawn = table.table.rows[0]
        assert not str(share).endswith(")")
        assert str(drawn).endswith(" (6 images)") == marked
        assert ("fewer than 10 and may be too narrow" in table.note) == marked
        assert (
            "95% Wilson intervals" in table.note
            and "95% intervals from 50 bootstrap resamples of the images: nDCG." in table.note
        )
        assert "99.5% Wilson" in tables.intervals(direction, level=0.995, resamples=50).note
        assert (" (6 images)" in as_latex(table.table)) == marked
        rows = list(csv.DictReader(as_csv(tables.tidy(direction)).splitlines()))
        assert [row["interval"] for row in rows[:2]] == ["Wilson", "bootstrap"]
        assert rows[1]["images"] == str(images)
        assert [row["remark"] for row in rows[:2]] == [
            "",
            "a bootstrap of 6 images, fewer than 10: may be too narrow" if marked else "",
        ]
        (section, *_) = sections_of(ReportDocument("r", inputs, [direction], None, None, ""))
        assert (
            any(
                "draws only 6 images for some results. With fewer than 10" in text for text in section.remarks
            )
            == marked
        )
        if marked:
            sentence = tables.figure_text("nDCG", direction.systems[0].figures["nDCG"])
            assert sentence.endswith("; a bootstrap of 6 images, fewer than 10: may be too narrow)")


def test_coefficients_of_few_images_say_so_in_sentence_and_table() -> None:
    pairs = [JudgedPair(f"i{n % 3}", f"c{n}", (float(n % 2), float(n % 3 > 0))) for n in range(12)]
    result = judging_of(pairs, Resampling(50), name="few", others=("b", pairs))
    message = "a bootstrap of 3 images, fewer than 10: may be too narrow"
    alpha = result.coefficients["Krippendorff's alpha, nominal"]
    assert tables.interval_text(alpha).endswith(f"] ({message})")
    assert message in as_text(tables.coefficients(result, level=0.95).table)
    assert message in as_csv(agreement.plot(result.sweeps[0], 1).data)


def test_figures_at_best_are_not_said_to_be_bounds() -> None:
    """Were every unjudged item relevant, R-precision could still be lower: there would be more to find."""
    (system,) = a_direction({"a": (0.4, 0.4)}).systems
    figures = {name: replace(figure, at_best=0.6) for name, figure in system.figures.items()}
    direction = replace(a_direction({"a": (0.4, 0.4)}), systems=[replace(system, figures=figures)])
    table = tables.bounds(direction)
    assert (
        table is not None and table.title == "If unjudged items within the cut-off were relevant, annotation"
    )
    assert "those beyond it do not" in table.note and "between" not in table.note


def test_a_batch_that_is_shown_otherwise_is_another_input() -> None:
    before: dict[str, Any] = {"qrels": {"name": "", "version": 0, "digest": ""}, "runs": []}
    before["batch"] = {"answers": 3, "digest": "old"}
    assert changed_inputs(before, {**before, "batch": {"answers": 3, "digest": "new"}}) == [
        "other data of the batch changed"
    ]
    assert changed_inputs(before, {**before, "batch": {"answers": 4, "digest": "new"}}) == [
        "batch answers is 4, was 3"
    ]


def test_judgments_of_others_need_a_pair_in_common() -> None:
    pairs = [JudgedPair("i", "c", (1.0, 0.0)), JudgedPair("i", "d", (1.0, 1.0))]
    others = [JudgedPair("i", "c", (2.0,)), JudgedPair("i", "d", (4.0,))]
    result = judging_of(pairs, NO_DRAWS, name="crowd", others=("experts", others))
    assert (result.sweeps[-1].first, result.sweeps[-1].items) == ("experts", 2)
    with pytest.raises(AgreementError, match="no pair in common"):
        judging_of(pairs, NO_DRAWS, name="crowd", others=("experts", [JudgedPair("x", "y", (1.0,))]))


def test_single_answers_have_no_agreement_and_say_so() -> None:
    result = judging_of([JudgedPair("i", "c", (1.0,))], NO_DRAWS, name="one")
    assert result.sweeps == []
    assert all(
        coefficient.value is None and coefficient.reason for coefficient in result.coefficients.values()
    )


def test_what_changed_is_named() -> None:
    before: dict[str, Any] = {
        "qrels": {"name": "q", "version": 1, "digest": "old"},
        "runs": [{"run": "a", "digest": "1"}, {"run": "b", "digest": "2"}],
        "settings": {"seed": 0},
        "versions": {"numpy": "1"},
    }
    now = {
        "qrels": {"name": "q", "version": 2, "digest": "new"},
        "runs": [{"run": "a", "digest": "3"}, {"run": "c", "digest": "4"}],
        "settings": {"seed": 1},
        "versions": {"numpy": "1"},
    }
    assert changed_inputs(before, before) == []
    assert changed_inputs(before, {**before, "runs": before["runs"][::-1]}) == [
        "other data of the runs, or their order, changed"
    ]
    assert changed_inputs(before, now) == [
        "qrels are q version 2, were q version 1",
        "run 'a' has other rankings",
        "run 'c' is new",
        "run 'b' was removed",
        "seed is 1, was 0",
    ]
