"""TrustStates: who is admitted, who stays in warm-up, who is trusted, who is suspended."""

from __future__ import annotations

from itertools import permutations, product
from math import sqrt
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.controls import PooledControl, choose_control, is_control_due
from annotation.protocol.trust import (
    SUSPENDED,
    TRUSTED,
    WARM_UP,
    BoxJudged,
    ControlGraded,
    Event,
    InvalidEvent,
    QualificationTaken,
    TaskAnswered,
    WorkerTrust,
    replay,
    trust_after,
)
from annotation.protocol.trust_settings import TrustSettings
from studies.trust import drawers_markdown, fate, markdown, rows
from tests.protocol.trust_states import ADMITTED, SETTINGS, answered, in_warm_up
from tests.sizes import sized

WORK = st.lists(st.one_of(st.just(TaskAnswered()), st.builds(ControlGraded, st.booleans())), max_size=90)


# Events in another order


@pytest.mark.parametrize(
    ("trust_state", "event", "words"),
    [
        (WorkerTrust("coref_link"), TaskAnswered(), "nobody works before they are admitted"),
        (WorkerTrust("coref_link"), ControlGraded(True), "nobody works before they are admitted"),
        (in_warm_up(), QualificationTaken(5, 5), "the test is behind them"),
        (in_warm_up(), BoxJudged(True), "measured on controls"),
        (in_warm_up("box_drawing"), ControlGraded(True), "measured on box quality verdicts"),
        (in_warm_up("caption_writing"), ControlGraded(True), "measured on nothing"),
    ],
)
def test_an_event_out_of_turn_raises_and_names_kind_state_and_event(trust_state, event, words):
    with pytest.raises(InvalidEvent, match=words) as raised:
        trust_after(trust_state, event, SETTINGS)
    for name in (trust_state.kind, trust_state.state, type(event).__name__):
        assert name in str(raised.value)


# Warm-up and suspension


@given(WORK)
def test_suspended_exactly_when_of_the_last_twenty_gold_answers_too_many_are_wrong_for_the_bar(work):
    known: list[bool] = []
    fell = False
    trust_state = in_warm_up()
    for event in work:
        trust_state = trust_after(trust_state, event, SETTINGS)
        if isinstance(event, ControlGraded):
            known.append(event.right)
            # Five wrong of twenty are below 0.8, and of fewer already too many, whatever follows.
            fell = fell or (len(known) >= 12 and known[-20:].count(False) > 4)
        assert (trust_state.state == SUSPENDED) == fell
        assert (trust_state.state == TRUSTED) <= (trust_state.items >= 30 and trust_state.known >= 12)
    assert (trust_state.items, trust_state.known, trust_state.right) == (len(work), len(known), sum(known))


@given(WORK, st.randoms(use_true_random=False))
def test_where_ordinary_items_fall_among_the_known_ones_suspends_nobody(work, random):
    known = [event for event in work if isinstance(event, ControlGraded)]
    places = sorted(random.sample(range(len(work)), len(known)))
    moved: list[TaskAnswered | ControlGraded] = [TaskAnswered()] * len(work)
    for index, event in zip(places, known, strict=True):
        moved[index] = event
    assert replay("coref_link", [*ADMITTED, *moved], SETTINGS) == replay(
        "coref_link", [*ADMITTED, *work], SETTINGS
    )


def test_there_is_no_verdict_on_eleven_gold_answers_however_wrong_and_however_many_items():
    trust_state = replay(
        "coref_link", [*ADMITTED, *[ControlGraded(False)] * 11, *[TaskAnswered()] * 500], SETTINGS
    )
    assert trust_state.state == WARM_UP


@pytest.mark.parametrize(
    ("items", "known", "state"),
    [(17, 12, WARM_UP), (18, 12, TRUSTED), (100, 11, WARM_UP), (0, 30, TRUSTED)],
)
def test_trust_takes_thirty_items_and_twelve_gold_answers(items, known, state):
    events: list[Event] = [*ADMITTED, *[ControlGraded(True)] * known, *[TaskAnswered()] * items]
    assert replay("coref_link", events, SETTINGS).state == state


def test_three_wrong_of_the_first_twelve_prolong_the_warm_up_until_it_is_clear():
    unlucky = answered("coref_link", [False] * 3 + [True] * 9)
    unlucky = replay(
        "coref_link", [*ADMITTED, *map(ControlGraded, unlucky.last), *[TaskAnswered()] * 18], SETTINGS
    )
    assert (unlucky.items, unlucky.state) == (30, WARM_UP)
    for _ in range(3):
        assert unlucky.state == WARM_UP
        unlucky = trust_after(unlucky, ControlGraded(True), SETTINGS)
    assert (unlucky.accuracy, unlucky.state) == (0.8, TRUSTED)
    assert answered("coref_link", [False] * 4 + [True] * 14 + [False]).state == SUSPENDED


def test_nobody_is_below_the_bar_without_verdict_once_the_window_is_full():
    for index in range(21):
        answers = [ControlGraded(answer) for answer in [True] * (20 - index) + [False] * index]
        trust_state = replay("coref_link", [*ADMITTED, *answers, *[TaskAnswered()] * 10], SETTINGS)
        assert trust_state.state == (TRUSTED if index <= 4 else SUSPENDED)


def test_nothing_leads_out_of_suspension_though_late_answers_count():
    trust_state = answered("coref_link", [False] * 12 + [True] * 40)
    assert trust_state.state == SUSPENDED
    assert (trust_state.known, trust_state.right, trust_state.accuracy) == (52, 40, 1.0)


def test_only_the_last_twenty_gold_answers_are_judged():
    assert answered("coref_link", [True] * 100 + [False] * 4).state == TRUSTED
    assert answered("coref_link", [True] * 100 + [False] * 5).state == SUSPENDED
    assert answered("coref_link", [True] * 100 + [False] * 4 + [True] * 16 + [False]).state == TRUSTED


def test_relevance_has_the_lower_bar():
    answers = [True] * 14 + [False] * 6
    assert answered("relevance", answers).state == WARM_UP
    assert answered("coref_link", answers).state == SUSPENDED


# Probabilities


def test_of_all_ways_to_click_through_twelve_gold_answers_79_in_4096_are_trusted_at_once():
    ways = [replay("coref_link", [*ADMITTED, *[TaskAnswered()] * 18], SETTINGS)]
    for _ in range(12):
        ways = [trust_after(way, ControlGraded(answer), SETTINGS) for way in ways for answer in (True, False)]
    assert (len(ways), sum(way.state == TRUSTED for way in ways)) == (4096, 79)


def test_the_simulated_chances_equal_a_sum_over_every_course_of_answers():
    settings = TrustSettings(
        warm_up_items=3, warm_up_known=3, verdict_known=3, window=4, bar=0.6, control_share=1.0
    )
    rights = (0.9, 0.4)
    known = 6
    trusted, suspended = 0.0, {3: 0.0, 6: 0.0}
    rounds = list(permutations(rights))
    for orders in product(rounds, repeat=known // 2):
        chances = [chance for order in orders for chance in order]
        for answers in product([True, False], repeat=known):
            weight = 1 / len(rounds) ** len(orders)
            for chance, answer in zip(chances, answers, strict=True):
                weight *= chance if answer else 1 - chance
            trust_state = replay("coref_link", ADMITTED, settings)
            for number, answer in enumerate(answers, 1):
                trust_state = trust_after(trust_state, ControlGraded(answer), settings)
                if number in suspended:
                    suspended[number] += weight * (trust_state.state == SUSPENDED)
                if number == 3:
                    trusted += weight * (trust_state.state == TRUSTED)
    result = fate(rights, kind="coref_link", settings=settings, horizons=(3, 6), workers=100_000)
    assert result.trusted == pytest.approx(trusted, abs=0.006)
    assert result.suspended == pytest.approx(tuple(suspended.values()), abs=0.006)
    assert 0.01 < suspended[3] < suspended[6] < 0.99


def test_clickers_are_suspended_within_sixty_items_as_often_as_the_table_says():
    pool = [PooledControl(f"{answer} {n}", answer) for n in range(15) for answer in ("yes", "no")]
    out = {"random": 0, "always yes": 0}
    workers = sized(150, 400)
    coins = Random(4)
    for number in range(workers):
        for habit in out:
            worker, trust_state = f"{habit} {number}", in_warm_up()
            seen: set[str] = set()
            for item in range(1, 61):
                if trust_state.state == SUSPENDED:
                    break
                if not is_control_due(
                    SETTINGS, seed="s", worker=worker, kind="coref_link", state=trust_state.state, number=item
                ):
                    trust_state = trust_after(trust_state, TaskAnswered(), SETTINGS)
                    continue
                control = choose_control(pool, seed="s", worker=worker, kind="coref_link", seen=seen).control
                assert control is not None
                seen.add(control.id)
                answer = "yes" if habit == "always yes" else coins.choice(["yes", "no"])
                trust_state = trust_after(trust_state, ControlGraded(answer == control.stratum), SETTINGS)
            out[habit] += trust_state.state == SUSPENDED
    chance = fate((0.5, 0.5), kind="coref_link", settings=SETTINGS, horizons=(60,)).suspended[0]
    assert abs(out["random"] / workers - chance) < 4 * sqrt(chance * (1 - chance) / workers)
    assert out["always yes"] == workers


PAGE = Path(__file__).parents[2] / "studies" / "RESULTS.md"


def test_the_table_of_drawers_of_the_results_is_what_the_benchmark_prints():
    assert drawers_markdown() in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_of_workers_of_the_results_is_what_the_benchmark_prints():
    assert markdown() in PAGE.read_text(encoding="utf-8")


def test_the_table_of_workers_of_the_results_begins_as_the_benchmark_prints():
    page = PAGE.read_text(encoding="utf-8")
    short = list(rows(TrustSettings(), horizons=(60,)))
    assert len(short) == 20
    for row in short:
        assert f"| {' | '.join(row)} |" in page
    result = fate((0.8, 0.8), kind="coref_link", settings=TrustSettings(), horizons=(60, 1000))
    shares = " | ".join(f"{share:.4f}" for share in (result.trusted, *result.suspended))
    assert f"| yes or no | sloppy | 0.800 | {shares} |" in page
