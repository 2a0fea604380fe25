"""Qrels from judgments: rules at their limits, originals, and a digest that depends on the content only."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.formats import JUDGMENT_FORMATS, JudgedPair
from phrasebox.registry import UnknownName
from phrasebox.relevance.qrels import (
    HALF,
    MAJORITY,
    RELEVANCE_RULES,
    TWO_THIRDS,
    Qrels,
    QrelsSettings,
    freeze_pairs,
    relevant_by_rule,
)

BARE = QrelsSettings(originals=False)


def votes(yes: int, no: int) -> JudgedPair:
    return JudgedPair("q", "d", (1.0,) * yes + (0.0,) * no)


@given(st.integers(0, 60), st.integers(0, 60))
def test_rules_compare_whole_numbers(yes: int, no: int) -> None:
    if yes + no:
        assert MAJORITY.holds(votes(yes, no)) == (yes > no)
        assert HALF.holds(votes(yes, no)) == (yes >= no)
        assert TWO_THIRDS.holds(votes(yes, no)) == (yes >= 2 * no)


def test_rules_are_found_by_name() -> None:
    assert RELEVANCE_RULES.get("two_thirds") is TWO_THIRDS
    with pytest.raises(UnknownName, match="known: half, majority, two_thirds"):
        RELEVANCE_RULES.get("most")


def test_an_original_is_relevant_though_nobody_judged_it() -> None:
    pairs = freeze_pairs(
        [JudgedPair("a", "b#2", (1.0,)), JudgedPair("b", "b#2", (0.0,))],
        name="test",
        originals=[("a", "a#2"), ("b", "b#2")],
    )
    assert pairs.relevant == {"a": {"a#2", "b#2"}, "b": {"b#2"}}
    assert pairs.judged == {"a": {"b#2"}, "b": {"b#2"}}


def test_a_query_may_have_several_originals() -> None:
    pairs = freeze_pairs([], name="test", originals=[("a", "a#0"), ("a", "a#1"), ("b", "b#0")])
    assert pairs.relevant == {"a": {"a#0", "a#1"}, "b": {"b#0"}}
    assert pairs.judged == {}


def test_every_rule_counts_originals_once() -> None:
    pairs = [JudgedPair("a", "a#2", (1.0, 0.0)), JudgedPair("a", "b#2", (1.0, 0.0))]
    assert relevant_by_rule(pairs) == {"half": 2, "majority": 0, "two_thirds": 0}
    assert relevant_by_rule(pairs, [("a", "a#2")]) == {"half": 2, "majority": 1, "two_thirds": 1}


def test_without_originals_judgments_alone_decide() -> None:
    pairs = freeze_pairs(
        [JudgedPair("b", "b#2", (0.0,))], name="test", settings=BARE, originals=[("b", "b#2")]
    )
    assert pairs.relevant == {}


def test_turned_qrels_ask_the_other_way() -> None:
    pairs = freeze_pairs(
        [JudgedPair("a", "x", (1.0,)), JudgedPair("b", "x", (1.0,)), JudgedPair("a", "y", (0.0,))],
        name="test",
        settings=BARE,
    )
    assert pairs.turned().relevant == {"x": {"a", "b"}}
    assert pairs.turned().turned() == pairs


def sample(seed: int = 0) -> list[JudgedPair]:
    rng = random.Random(seed)
    return [
        JudgedPair(f"q{k % 7}", f"d{k}", tuple(float(rng.randint(0, 1)) for _ in range(3))) for k in range(40)
    ]


def test_the_digest_is_of_the_content() -> None:
    pairs = sample()
    result = freeze_pairs(pairs, name="one", settings=BARE)
    shuffled = random.Random(1).sample(pairs, len(pairs))
    assert freeze_pairs(shuffled, name="two", settings=BARE).digest == result.digest
    assert freeze_pairs(pairs[1:], name="one", settings=BARE).digest != result.digest
    assert freeze_pairs(pairs, name="one", settings=replace(BARE, rule=HALF)).digest != result.digest


def test_the_digest_stays_from_release_to_release() -> None:
    """Other people's records hold it: changing it takes a new DEFINITION."""
    pairs = [JudgedPair("q", "d", (1.0, 1.0, 0.0)), JudgedPair("q", "e", (0.0,))]
    assert freeze_pairs(pairs, name="any", settings=BARE).digest == (
        "3cd8035ffb086843fddf197d1f1bc9bcec28bc21423eac0d6f9eff67313920e3"
    )


def test_a_new_version_follows_a_change_and_only_a_change() -> None:
    first = freeze_pairs(sample(), name="test", settings=BARE)
    assert first.version == 1
    assert freeze_pairs(sample(), name="test", settings=BARE, previous=first) is first
    second = freeze_pairs(sample(seed=1), name="test", settings=BARE, previous=first)
    assert second.version == 2


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="the pair 'q', 'd' occurs twice"):
        freeze_pairs([votes(1, 0), votes(0, 1)], name="test", settings=BARE)
    with pytest.raises(ValueError, match="give each query's original"):
        freeze_pairs([votes(1, 0)], name="test")


@pytest.fixture(scope="module")
def crowd(real_data: Path) -> tuple[list[JudgedPair], list[tuple[str, str]]]:
    images = (real_data / "flickr8k" / "Flickr_8k.testImages.txt").read_text().split()
    pairs = list(JUDGMENT_FORMATS.get("flickr8k-crowd").read(real_data / "flickr8k"))
    return pairs, [(image, f"{image}#2") for image in images]


@pytest.mark.parametrize(("rule", "relevant"), [("half", 3031), ("majority", 3004), ("two_thirds", 2996)])
def test_the_published_votes_give_these_many_relevant_pairs(
    crowd: tuple[list[JudgedPair], list[tuple[str, str]]], rule: str, relevant: int
) -> None:
    """Hodosh et al. 2013 print 2,031 besides the 1,000 originals: as many yes as no is enough."""
    pairs, originals = crowd
    qrels: Qrels = freeze_pairs(
        pairs, name="flickr8k", settings=QrelsSettings(RELEVANCE_RULES.get(rule)), originals=originals
    )
    assert sum(row.relevance for row in qrels.rows) == relevant_by_rule(pairs, originals)[rule] == relevant
    assert len(qrels.rows) == 47830 + 1000 - 721
    assert sum(row.judged for row in qrels.rows) == 47830
