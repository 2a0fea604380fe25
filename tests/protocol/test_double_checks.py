"""Which questions are double-checked does not depend on answers; the agreement covers all questions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol import questions as q
from annotation.protocol.agreement import AnswerPair, measure_agreement
from annotation.protocol.double_checks import DoubleChecks, answers_of_people, wait_for_second
from annotation.protocol.kinds import all_kinds
from annotation.protocol.questions import Judgment
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.gate import NO_QUALIFICATION, Gate
from annotation.simulation.workers import make_crowd
from tests.simulation.test_driver import world

BOTH = ("ann", "bob")
TWICE = replace(NO_QUALIFICATION, double_check_share=1.0)
PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=5)


@given(st.integers(0, 10**6), st.sampled_from(["careful", "average", "sloppy", "random", "always_yes"]))
def test_whatever_is_answered_two_people_answer_what_is_drawn(seed: int, preset: str) -> None:
    mentions, truth, _ = next(iter(world(1)))
    crowd = Crowd(make_crowd({preset: 9}, seed=seed), seed=seed, gate=Gate({}, seed=seed, settings=TWICE))
    run = simulate_image(mentions, truth, crowd, review=False)
    people = defaultdict(set)
    for judgment in run.judgments:
        people[judgment.key].add(judgment.worker)
    assert {key for key, workers in people.items() if len(workers) < 2} == {
        question.key for question in run.state.questions if len(people[question.key]) == 1
    }


@pytest.mark.parametrize("kind", [kind.key for kind in all_kinds() if kind.comparable])
def test_a_question_of_every_kind_has_its_chance_by_its_key_alone(kind: str) -> None:
    draw = DoubleChecks(7, "image", lambda kind: 0.05)
    keys = [f"{kind}|{n}" for n in range(4000)]
    drawn = [key for key in keys if draw.share(kind, key, 1) == 0.05]
    assert 150 < len(drawn) < 250  # 200 expected, standard deviation 14
    assert drawn != [key for key in keys if DoubleChecks(8, "image", lambda kind: 0.05).share(kind, key, 1)]
    assert [draw.share(kind, key, 2) for key in keys] == 4000 * [1.0]
    assert not any(DoubleChecks(7, "image", lambda kind: 0.0).share(kind, key, 1) for key in keys)


@given(PAIRS, st.lists(st.floats(0.05, 1.0), min_size=5, max_size=5))
def test_over_all_draws_the_weighted_pairs_are_those_of_all_questions(
    pairs: list[tuple[str, str]], shares: list[float]
) -> None:
    """The exhaustive expectation of what agreement and each share of answers are made of."""
    equal = of_a = weight = 0.0
    for taken in product((False, True), repeat=len(pairs)):
        chance = 1.0
        for share, drawn in zip(shares, taken, strict=False):
            chance *= share if drawn else 1 - share
        chosen = [
            AnswerPair(*pair, share, BOTH)
            for pair, share, drawn in zip(pairs, shares, taken, strict=False)
            if drawn
        ]
        agreement = measure_agreement(chosen, drawn=len(chosen), draws=2)
        if not chosen:
            continue
        assert agreement.equal is not None
        worth = chance * sum(1 / pair.share for pair in chosen)
        weight += worth
        equal += worth * agreement.equal.value
        of_a += worth * sum(item.share.value for item in agreement.answers if item.answer == "a")
    assert weight == pytest.approx(len(pairs))
    assert equal == pytest.approx(sum(first == second for first, second in pairs))
    assert of_a == pytest.approx(sum(pair.count("a") for pair in pairs) / 2)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9)), min_size=3, max_size=5))
def test_every_worker_counts_alike_no_matter_who_answers_more(crowd: list[tuple[str, int]]) -> None:
    """A pair for all questions that two workers answer, if each always says the same: the first is drawn by
    how much they work, the second among the others."""
    total = sum(load for _, load in crowd)
    often: dict[tuple[int, int], float] = defaultdict(float)
    for item, two in permutations(range(len(crowd)), 2):
        often[min(item, two), max(item, two)] += (
            crowd[item][1] / total * crowd[two][1] / (total - crowd[item][1])
        )
    pairs = [
        AnswerPair(crowd[item][0], crowd[two][0], 1e-4 / share, (item, two))
        for (item, two), share in often.items()
    ]
    agreement = measure_agreement(pairs, drawn=len(pairs), draws=2)
    answers = [answer for answer, _ in crowd]
    assert {item.answer: item.share.value for item in agreement.answers} == {
        answer: pytest.approx(answers.count(answer) / len(answers), abs=1e-3) for answer in answers
    }
    same = [answers[item] == answers[two] for item, two in often]
    assert agreement.equal is not None and agreement.equal.value == pytest.approx(
        sum(same) / len(same), abs=0.05
    )


def test_the_first_answers_of_somebody_new_do_not_outweigh_all_others() -> None:
    usual = [AnswerPair("yes", "yes", 0.2, two) for two in combinations(range(5), 2)] * 100
    agreement = measure_agreement([*usual, AnswerPair("yes", "no", 0.2, (0, "new"))], drawn=1001, draws=2)
    assert agreement.equal is not None and 0.98 < agreement.equal.value < 1


def test_kappa_is_that_of_the_worked_example() -> None:
    # Two people, in either order, on 50 proposals: both yes 20, both no 15, different 15. The shares of yes
    # and no are 0.55 and 0.45: expected 0.505, kappa (0.7 - 0.505) / 0.495.
    cells = 20 * [("yes", "yes")] + 15 * [("no", "no")] + 5 * [("yes", "no")] + 10 * [("no", "yes")]
    agreement = measure_agreement([AnswerPair(*cell, 0.2, BOTH) for cell in cells], drawn=60, waiting=4)
    assert agreement.equal is not None and agreement.kappa is not None
    assert (agreement.pairs, agreement.lacking) == (50, 6) and agreement.equal.value == pytest.approx(0.7)
    assert agreement.kappa.value == pytest.approx(0.195 / 0.495)
    assert agreement.kappa.low < 0.2 < 0.55 < agreement.kappa.high
    assert [(item.answer, round(item.share.value, 2)) for item in agreement.answers] == [
        ("yes", 0.55),
        ("no", 0.45),
    ]
    again = measure_agreement([AnswerPair(*cell, 0.2, BOTH) for cell in cells], drawn=60, waiting=4)
    assert agreement == again


def test_where_all_agree_there_is_an_interval_and_no_kappa() -> None:
    agreement = measure_agreement([AnswerPair("yes", "yes", 0.5, BOTH)] * 30, drawn=30)
    assert agreement.kappa is None and agreement.equal is not None
    assert (agreement.equal.value, agreement.equal.high) == (1.0, 1.0) and 0.85 < agreement.equal.low < 0.98
    assert measure_agreement([], drawn=3).equal is None


def test_models_withdrawn_and_extra_answers_are_neither_first_nor_second() -> None:
    key = "box_drawing|0.0-1|"
    provided = [
        Judgment("1", key, "m", "none", by_model=True),
        Judgment("2", key, "ann", "none", withdrawn=True),
        Judgment("3", key, "bob", "none", role=q.EXTRA),
        Judgment("4", key, "cid", flag="offensive"),
    ]
    assert [row.id for row in answers_of_people(provided)[key]] == ["4"]
    assert wait_for_second([key], provided, ()) == [key]
    assert wait_for_second([key], provided, {key}) == wait_for_second([], provided, ()) == []
    provided.append(Judgment("5", key, "dan", "none", role=q.DOUBLE_CHECK))
    assert wait_for_second([key], provided, ()) == []
