"""The basis of figures: its sentences, its plain data, and which figures must not be compared."""

from __future__ import annotations

import json

import pytest

from phrasebox.figure_basis import FigureBasis, basis_from_dict, basis_of_several, differences

BASIS = FigureBasis(
    cases="queries",
    counted=935,
    out_of=1000,
    without_relevant=12,
    without_output=65,
    missing="leave-out",
    pool="flickr8k version 2",
    protocol="original",
    provenance={"kcca": "learned from 12 of 1,000 images"},
    notes=("Simulated judgments.",),
)


def test_the_sentences_say_of_how_many_cases_and_under_which_conditions() -> None:
    assert BASIS.lines() == [
        "Queries: 935 of 1,000.",
        "Without a relevant item, counted as 0: 12.",
        "Missing output: 65, left out.",
        "Pool: flickr8k version 2; protocol: original.",
        "kcca: learned from 12 of 1,000 images",
        "Simulated judgments.",
    ]
    assert FigureBasis(cases="images", counted=1, missing="worst").lines() == [
        "Images: 1, out of an unknown number.",
        "Missing output: counted as the worst result.",
    ]
    assert FigureBasis(cases="images", counted=5, out_of=5, missing="refuse").lines() == ["Images: 5 of 5."]
    assert FigureBasis(cases="pairs", counted=5, out_of=5, missing="leave-out").lines() == ["Pairs: 5 of 5."]
    assert FigureBasis(tokens="ptb").lines() == ["Tokens: ptb."]
    assert FigureBasis().lines() == []


def test_plain_data_reads_back_as_the_same_basis() -> None:
    assert basis_from_dict(json.loads(json.dumps(BASIS.as_dict()))) == BASIS
    with pytest.raises(TypeError):
        basis_from_dict({"cases": "queries", "colour": "red"})


def test_figures_of_other_cases_or_conditions_differ_but_not_what_systems_have_seen_or_lack() -> None:
    data = BASIS.as_dict()
    same = basis_from_dict({**data, "provenance": {}, "notes": [], "without_output": 0})
    assert BASIS.differs(same) == []
    for name, value in [("counted", 3), ("out_of", None), ("pool", "other"), ("tokens", "ptb")]:
        assert len(BASIS.differs(basis_from_dict({**data, name: value}))) == 1
    other_basis = basis_from_dict({**data, "counted": 1000, "missing": "worst"})
    assert differences([BASIS, same, other_basis, other_basis]) == [
        "cases: 935 and 1000",
        "missing output: 'leave-out' and 'worst'",
    ]


def test_a_table_of_several_systems_says_of_each_what_differs() -> None:
    part = FigureBasis(cases="images", counted=60, out_of=125)
    assert basis_of_several({"a": part, "b": part}) == part
    whole = FigureBasis(cases="images", counted=125, out_of=125)
    assert basis_of_several({"a": part, "b": whole}).lines() == [
        "a: Images: 60 of 125.",
        "b: Images: 125 of 125.",
    ]
