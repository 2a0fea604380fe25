"""Dependency edges of sentences, as tokens."""

from __future__ import annotations

import pytest

from models_core.features.text.edges import ROOT_WORD, Edge, edges_of


def test_every_word_but_signs_has_an_edge():
    edges = edges_of(("A", "Dog", "barks", "."), (2, 3, 0, 3), ("det", "nsubj", "root", "punct"))
    assert edges == (
        Edge("det", "dog", "a"),
        Edge("nsubj", "barks", "dog"),
        Edge("root", ROOT_WORD, "barks"),
    )


def test_a_word_that_depends_on_a_sign_has_none():
    assert edges_of(("-", "run"), (0, 1), ("root", "dep")) == ()


def test_an_edge_comes_back_from_its_token():
    edge = Edge("nmod:poss", "bike", "her")
    assert edge.token == "nmod:poss\tbike\ther" and Edge.of_token(edge.token) == edge
    with pytest.raises(ValueError, match="not enough values"):
        Edge.of_token("dog")
