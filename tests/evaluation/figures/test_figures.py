"""Figures: reproducible bytes, allowed by a page's content policy, and drawn for any data."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from annotation.figures.style import COLOURED, short, system_look
from evaluation.figures import agreement, curves, judgments, ranks, sweeps, systems
from evaluation.figures.base import FIGURE_DRAWERS, Plot
from evaluation.figures.files import as_pdf, as_svg
from evaluation.report_data.directions import DirectionTable
from evaluation.report_data.judging import judging_of
from evaluation.report_data.orders import orders_of
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import FigureBasis
from phrasebox.relevance.grades import JudgedPair
from tests.evaluation.reporting.made_up_findings import a_direction
from tests.sizes import THOROUGH
from tests.web.test_colours import contrast, rgb, tokens

#: The kinds whose PDFs are drawn twice, which is slow: all kinds use the same function.
PDF_OF = FIGURE_DRAWERS.keys() if THOROUGH else {"curves", "agreement"}

FEW = a_direction({"sharp": (0.8, 0.6), "blunt": (0.4, 0.5)})


def swept() -> list[sweeps.SweptFigure]:
    """Return a share of two series at three settings, by two measures."""
    return [
        sweeps.SweptFigure(series, measure, top, hits, hits - 0.1, hits + 0.1)
        for series, hits in (("nouns", 0.5), ("compounds", 0.75))
        for measure in ("p@1", "p@5")
        for top in (1, 2, 3)
    ]


def plots(direction: DirectionTable) -> list[Plot]:
    """Return every kind of figure."""
    grades = [(1, 1, 0), (1, 1, 1), (0, 0, 0), (0, 0)]
    pairs = [JudgedPair(f"i{n}", "c", tuple(map(float, grade))) for n, grade in enumerate(grades)]
    judged = judging_of(pairs, Resampling(50), name="crowd")
    result = [
        curves.plot(direction),
        ranks.plot(direction),
        systems.plot([direction], orders_of([direction])),
        judgments.plot(judged),
        agreement.plot(judged.sweeps[0], 1),
        sweeps.plot("tag-tops", "Precision by K_top", "K_top", swept(), basis=FigureBasis()),
    ]
    return [plot for plot in result if plot is not None]


@pytest.fixture(scope="module")
def svgs() -> dict[str, str]:
    """Every kind of figure, drawn once, by its kind."""
    return {plot.kind: as_svg(plot) for plot in plots(FEW)}


def test_every_kind_is_drawn_here() -> None:
    assert {plot.kind for plot in plots(FEW)} == set(FIGURE_DRAWERS.keys())


@pytest.mark.slow  # the default run has those of a report, in `database/reports/test_builds`
def test_a_figure_is_the_same_bytes_again(svgs: dict[str, str]) -> None:
    for plot in plots(FEW):
        assert as_svg(plot) == svgs[plot.kind]
        if plot.kind not in PDF_OF:
            continue
        pdf = as_pdf(plot)
        assert pdf == as_pdf(plot)
        assert pdf.startswith(b"%PDF-") and b"CreationDate" not in pdf


def test_an_svg_has_no_style_no_script_and_ids_of_its_own(svgs: dict[str, str]) -> None:
    seen: set[str] = set()
    for plot in plots(FEW):
        text = svgs[plot.kind]
        root = ElementTree.fromstring(text)
        assert root.get("role") == "img" and root.get("aria-label") == plot.title
        assert not {"style", "script", "metadata"} & {row.tag.rpartition("}")[2] for row in root.iter()}
        assert " style=" not in text and "#000000" not in text and "date" not in text.lower()
        values = {row.get("id") for row in root.iter() if row.get("id")}
        assert all(name.startswith(f"{plot.key}-") for name in values if name)
        assert {name[1:] for name in re.findall(r'href="([^"]+)"', text)} <= values
        assert not values & seen
        seen |= {name for name in values if name}


@pytest.mark.parametrize(
    "created",
    [
        {"alone": (0.5, 0.5)},
        {f"system-{n}": (n / 40, n / 35) for n in range(30)},
        {f"{'a-very-long-name-' * 5}{n}": (n / 40, 0.1) for n in range(9)},
        {"$x_1$ & <b>": (0.0, 0.0), "_50 % \\alpha": (1.0, 1.0)},
    ],
    ids=["one", "thirty", "long names", "signs"],
)
def test_whatever_systems_there_are_a_figure_comes_out_without_a_warning(
    created: dict[str, tuple[float, float]],
) -> None:
    direction = a_direction(created)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for plot in (
            curves.plot(direction),
            ranks.plot(direction),
            systems.plot([direction], []),
        ):
            assert plot is not None
            ElementTree.fromstring(as_svg(plot))


def test_names_are_set_as_they_are_and_not_as_formulas() -> None:
    plot = curves.plot(a_direction({"$x_1$ & <b>": (0.2, 0.2), "_beneath": (0.1, 0.1)}))
    assert plot is not None
    texts = [row.text for row in ElementTree.fromstring(as_svg(plot)).iter() if row.tag.endswith("}text")]
    assert {"$x_1$ & <b>", "_beneath"} <= set(texts)


def test_where_nothing_was_measured_there_is_no_figure() -> None:
    empty = a_direction({"a": (0.5, 0.5)}, curves=False)
    assert curves.plot(empty) is None and ranks.plot(empty) is None


def test_sentences_say_what_the_numbers_say() -> None:
    sentences = {plot.kind: plot.sentence for plot in plots(FEW)}
    assert sentences["curves"].startswith(
        "sharp has an original in the top 10 for 80.0% of the queries, the most, and blunt for 40.0%, the "
        "fewest."
    )
    assert sentences["ranks"] == (
        "sharp ranks the original first for 80.0% of the queries, the most; blunt for 40.0%, the fewest; "
        "2 runs miss some originals, at most 60.0% of them."
    )
    assert sentences["systems"] == (
        "In annotation, R@10 and R-precision rank 2 systems with Kendall's tau 1.00 and Spearman's rho 1.00."
    )
    assert sentences["judgments"] == (
        "3 of 4 pairs (75.0%) have 3 judgments; of the pairs with more than one, all judgments agree for "
        "75.0%."
    )


def test_systems_that_only_have_numbers_in_the_figure_are_told_to_be_in_its_data() -> None:
    """Five systems in each direction are ten where their names differ: too many for colours."""
    numbers = "Numbers refer to the data below"
    result = {f"one{n}": (0.1 * n, 0.1 * n) for n in range(1, 6)}
    here = a_direction(result)
    there = replace(
        a_direction({f"other{n}": at for n, at in enumerate(result.values())}), direction="search"
    )
    same = replace(here, direction="search")
    for directions, numbered in (([here, there], True), ([here, same], False)):
        orders = orders_of(directions)
        plot = systems.plot(directions, orders)
        assert plot is not None and orders and (numbers in plot.sentence) == numbered
        texts = {row.text for row in ElementTree.fromstring(as_svg(plot)).iter() if row.tag.endswith("}text")}
        assert ("one1" in texts) != numbered


def test_curves_are_compared_where_all_of_them_reach() -> None:
    """A list of five has at its end no fewer than one of ten has there."""
    deep, shallow = FEW.systems
    shallow = replace(shallow, curves={"R": [0.5] * 5})
    deep = replace(deep, curves={"R": [0.1 * k for k in range(1, 11)]})
    assert curves.curves_sentence(replace(FEW, systems=[deep, shallow])) == (
        "sharp has an original in the top 5 for 50.0% of the queries."
    )


def test_a_ninth_line_of_thresholds_is_drawn() -> None:
    grades = [JudgedPair(f"i{n}", "c", (float(n % 10),)) for n in range(40)]
    (swept,) = judging_of(grades, Resampling(0), name="a", others=("b", grades)).sweeps
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = as_svg(agreement.plot(swept, 1))
    assert len(swept.rows) == COLOURED + 1 and "b at least 9" in text


def test_every_colour_can_be_seen_on_every_page() -> None:
    looks = [system_look(number) for number in range(COLOURED + 1)]
    grounds = ["#ffffff", *(tokens(scheme)["page"] for scheme in ("light", "dark"))]
    for ground in grounds:
        for item in looks:
            assert contrast(rgb(item.colour), rgb(ground)) >= 3, (item.colour, ground)
    assert (
        len({(item.colour, item.marker) for item in looks})
        == len({item.marker for item in looks})
        == len(looks)
    )


def test_where_points_crowd_the_best_keeps_its_number() -> None:
    created = {f"s{n}": (0.1 + 0.001 * n, 0.2 + 0.001 * n) for n in range(9)} | {"far": (0.9, 0.9)}
    plot = systems.plot([a_direction(created)], [])
    assert plot is not None
    texts = {row.text for row in ElementTree.fromstring(as_svg(plot)).iter() if row.tag.endswith("}text")}
    assert {"9", "10"} <= texts and not {"1", "5", "8"} & texts


def test_a_long_name_keeps_both_its_ends_in_two_lines() -> None:
    first, last = short("the-beginning-of-it-" * 8 + "the-very-end").split("\n")
    assert first.startswith("the-beginning") and last.endswith("the-very-end")
    assert short("plain") == "plain"


def test_a_sweep_says_of_each_measure_what_is_best_and_refuses_nothing_at_all() -> None:
    message = sweeps.sweeps_sentence("K_top", swept())
    assert message == "p@1: 75.0% at best, compounds at K_top 1. p@5: 75.0% at best, compounds at K_top 1."
    with pytest.raises(ValueError, match="nothing was swept"):
        sweeps.plot("none", "None", "K_top", [], basis=FigureBasis())
