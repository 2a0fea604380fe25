"""The basis of figures, as shown on pages."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from evaluation.web.tags.figures import CASES
from phrasebox.figure_basis import FigureBasis
from tests.house.product import REPOSITORY

BASIS = FigureBasis(
    cases="queries",
    counted=1391,
    out_of=2000,
    without_relevant=1,
    without_output=609,
    missing="leave-out",
    pool="harbour version 2",
    provenance={"kcca": "not known"},
)


def _text(basis: Any) -> list[str]:
    page = render_to_string("evaluation/_basis.html", {"basis": basis})
    return [" ".join(re.sub("<[^>]*>", " ", line).split()) for line in page.split("</li>") if "<li>" in line]


@pytest.mark.parametrize("basis", [BASIS, BASIS.as_dict()], ids=["record", "plain data"])
def test_a_page_says_what_figures_are_of_in_the_language_of_its_reader(basis: Any) -> None:
    cases, *others = _text(basis)
    assert cases == (
        "Queries: 1,391 of 2,000. 1 of them has no relevant item and counts as 0. "
        "609 without output are left out."
    )
    assert others == [
        "Pool: harbour version 2",
        "kcca: not known",
    ]
    with translation.override("de"):
        assert _text(basis)[0].startswith("Anfragen: 1.391 von 2.000. 1 davon hat kein relevantes Element")


def test_a_page_without_a_basis_says_nothing_about_it() -> None:
    assert render_to_string("evaluation/_basis.html", {}).strip() == ""
    assert _text(FigureBasis(cases="images", counted=3, missing="worst")) == [
        "Images: 3, out of an unknown number. Missing output counts as the worst result."
    ]


def test_pages_have_a_word_for_all_cases_of_figures() -> None:
    named = {
        keyword.value.value
        for path in (REPOSITORY / "evaluation").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "FigureBasis"
        for keyword in node.keywords
        if keyword.arg == "cases" and isinstance(keyword.value, ast.Constant)
    }
    assert named <= set(CASES)
