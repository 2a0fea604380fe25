"""Standings: who is admitted, who stays on probation, who is trusted, who is suspended."""

from __future__ import annotations

from dataclasses import fields
from itertools import permutations, product
from math import sqrt
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.controls import Control, choose, due
from annotation.protocol.questions import KINDS
from annotation.protocol.trust import (
    PROBATION,
    QUALIFICATION,
    SUSPENDED,
    TRUSTED,
    BoxJudged,
    ControlGraded,
    Entered,
    Event,
    Examined,
    ItemDone,
    OutOfTurn,
    Standing,
    after,
    ahead,
    replay,
    why_not,
)
from annotation.protocol.trust_settings import TrustSettings, kinds_tested
from benchmarks.trust import drawers_markdown, fate, markdown

SETTINGS = TrustSettings()
ADMITTED = (Entered(), Examined(10, 10))
WORK = st.lists(st.one_of(st.just(ItemDone()), st.builds(ControlGraded, st.booleans())), max_size=90)


def on_probation(kind: str = "coref_link") -> Standing:
    return replay(kind, ADMITTED, SETTINGS)


def answered(kind: str, answers: list[bool]) -> Standing:
    return replay(kind, [*ADMITTED, *map(ControlGraded, answers)], SETTINGS)


# Admission


def test_who_entered_and_passed_the_test_is_on_probation():
    assert on_probation().state == PROBATION


@pytest.mark.parametrize("order", list(permutations([Entered(500, 0.95), Examined(8, 10)])))
def test_reputation_and_test_admit_in_either_order_and_exactly_at_the_bar(order):
    assert replay("coref_link", order, SETTINGS).state == PROBATION


@pytest.mark.parametrize(
    ("kind", "events", "code", "text"),
    [
        (
            "coref_link",
            [],
            "not_entered",
            "You have not joined this task yet: join it from your list of tasks.",
        ),
        (
            "coref_link",
            [Entered(tasks=120, approved=0.99), Examined(10, 10)],
            "too_few_tasks",
            (
                "This task needs 500 finished tasks on your platform and you have 120: "
                "come back when you have 500."
            ),
        ),
        (
            "coref_link",
            [Entered(tasks=700, approved=0.9496)],
            "too_few_approved",
            (
                "This task needs 95 % of your work on your platform approved and 94.96 % is: "
                "come back when more is approved."
            ),
        ),
        (
            "coref_link",
            [Entered()],
            "no_test",
            "This task begins with a short test, which you have not taken yet: take the test.",
        ),
        (
            "coref_link",
            [Entered(), Examined(7, 10)],
            "test_failed",
            (
                "You had 7 of 10 right in the test and 8 are needed: "
                "read the instructions again, then retake the test."
            ),
        ),
        (
            "relevance",
            [Entered(), Examined(4, 6)],
            "test_failed",
            (
                "You had 4 of 6 right in the test and 5 are needed: "
                "read the instructions again, then retake the test."
            ),
        ),
        (
            "coref_link",
            [*ADMITTED, *[ControlGraded(False)] * 12],
            "suspended",
            (
                "Fewer than 80 % of your checked answers were right, so this task is suspended for you: "
                "choose another task, or ask the researcher to look at your answers."
            ),
        ),
    ],
)
def test_a_refusal_is_one_sentence_that_says_what_is_missing_and_what_to_do(kind, events, code, text):
    refusal = why_not(replay(kind, events, SETTINGS), SETTINGS)
    assert refusal is not None
    assert (refusal.code, refusal.text) == (code, text)


@pytest.mark.parametrize("answers", [[], [True] * 30])
def test_nothing_is_refused_on_probation_or_when_trusted(answers):
    assert why_not(answered("coref_link", answers), SETTINGS) is None


def test_a_test_failed_can_be_retaken_and_a_test_passed_is_never_lost():
    waiting = replay(
        "coref_link", [Entered(10, 0.99), Examined(2, 10), Examined(9, 10), Examined(2, 10)], SETTINGS
    )
    assert waiting.state == QUALIFICATION
    assert after(waiting, Entered(600, 0.99), SETTINGS).state == PROBATION


def test_a_better_reputation_admits_and_a_worse_one_later_changes_nothing():
    events: list[Event] = [Entered(499, 0.99), Examined(9, 10), Entered(500, 0.99)]
    assert replay("coref_link", events, SETTINGS).state == PROBATION
    assert replay("coref_link", [*events, Entered(500, 0.5)], SETTINGS).state == PROBATION


def test_without_a_qualification_entering_is_enough():
    assert replay("coref_link", [Entered()], TrustSettings(qualification=False)).state == PROBATION


def test_settings_relaxed_later_admit_at_the_next_event():
    waiting = replay("coref_link", [Entered()], SETTINGS)
    relaxed = TrustSettings(qualification=False)
    assert why_not(waiting, relaxed) is None
    assert after(waiting, ItemDone(), relaxed).state == PROBATION


def test_writers_have_no_known_answers_and_so_no_probation():
    assert on_probation("caption_writing").state == TRUSTED
    assert replay("region_description", [Entered()], SETTINGS).state == TRUSTED


def test_what_nobody_can_grade_has_no_test():
    assert kinds_tested(KINDS, SETTINGS) == tuple(kind for kind in KINDS if kind != "region_description")
    assert kinds_tested(KINDS, TrustSettings(qualification=False)) == ()


# Events out of turn


@pytest.mark.parametrize(
    ("standing", "event", "words"),
    [
        (Standing("coref_link"), ItemDone(), "nobody works before they are admitted"),
        (Standing("coref_link"), ControlGraded(True), "nobody works before they are admitted"),
        (on_probation(), Examined(5, 5), "the test is behind them"),
        (on_probation(), BoxJudged(True), "measured on controls"),
        (on_probation("box_drawing"), ControlGraded(True), "measured on box quality verdicts"),
        (on_probation("caption_writing"), ControlGraded(True), "measured on nothing"),
    ],
)
def test_an_event_out_of_turn_raises_and_names_kind_state_and_event(standing, event, words):
    with pytest.raises(OutOfTurn, match=words) as raised:
        after(standing, event, SETTINGS)
    for name in (standing.kind, standing.state, type(event).__name__):
        assert name in str(raised.value)


# Probation and suspension


@given(WORK)
def test_suspended_exactly_when_of_the_last_twenty_known_answers_too_many_are_wrong_for_the_bar(work):
    known: list[bool] = []
    fell = False
    standing = on_probation()
    for event in work:
        standing = after(standing, event, SETTINGS)
        if isinstance(event, ControlGraded):
            known.append(event.right)
            # Five wrong of twenty are below 0.8, and of fewer too many for it whatever comes.
            fell = fell or (len(known) >= 12 and known[-20:].count(False) > 4)
        assert (standing.state == SUSPENDED) == fell
        assert (standing.state == TRUSTED) <= (standing.items >= 30 and standing.known >= 12)
    assert (standing.items, standing.known, standing.right) == (len(work), len(known), sum(known))


@given(WORK, st.randoms(use_true_random=False))
def test_where_ordinary_items_fall_among_the_known_ones_suspends_nobody(work, random):
    known = [event for event in work if isinstance(event, ControlGraded)]
    places = sorted(random.sample(range(len(work)), len(known)))
    moved: list[ItemDone | ControlGraded] = [ItemDone()] * len(work)
    for place, event in zip(places, known, strict=True):
        moved[place] = event
    assert replay("coref_link", [*ADMITTED, *moved], SETTINGS) == replay(
        "coref_link", [*ADMITTED, *work], SETTINGS
    )


def test_there_is_no_verdict_on_eleven_known_answers_however_wrong_and_however_many_items():
    standing = replay("coref_link", [*ADMITTED, *[ControlGraded(False)] * 11, *[ItemDone()] * 500], SETTINGS)
    assert standing.state == PROBATION


@pytest.mark.parametrize(
    ("items", "known", "state"),
    [(17, 12, PROBATION), (18, 12, TRUSTED), (100, 11, PROBATION), (0, 30, TRUSTED)],
)
def test_trust_takes_thirty_items_and_twelve_known_answers(items, known, state):
    events: list[Event] = [*ADMITTED, *[ControlGraded(True)] * known, *[ItemDone()] * items]
    assert replay("coref_link", events, SETTINGS).state == state


def test_three_wrong_of_the_first_twelve_prolong_the_probation_until_it_is_clear():
    unlucky = answered("coref_link", [False] * 3 + [True] * 9)
    unlucky = replay(
        "coref_link", [*ADMITTED, *map(ControlGraded, unlucky.last), *[ItemDone()] * 18], SETTINGS
    )
    assert (unlucky.items, unlucky.state) == (30, PROBATION)
    for _ in range(3):
        assert unlucky.state == PROBATION
        unlucky = after(unlucky, ControlGraded(True), SETTINGS)
    assert (unlucky.accuracy, unlucky.state) == (0.8, TRUSTED)
    assert answered("coref_link", [False] * 4 + [True] * 14 + [False]).state == SUSPENDED


def test_nobody_is_below_the_bar_without_verdict_once_the_window_is_full():
    for wrong in range(21):
        answers = [ControlGraded(answer) for answer in [True] * (20 - wrong) + [False] * wrong]
        standing = replay("coref_link", [*ADMITTED, *answers, *[ItemDone()] * 10], SETTINGS)
        assert standing.state == (TRUSTED if wrong <= 4 else SUSPENDED)


def test_nothing_leads_out_of_suspension_though_late_answers_count():
    standing = answered("coref_link", [False] * 12 + [True] * 40)
    assert standing.state == SUSPENDED
    assert (standing.known, standing.right, standing.accuracy) == (52, 40, 1.0)


def test_only_the_last_twenty_known_answers_are_judged():
    assert answered("coref_link", [True] * 100 + [False] * 4).state == TRUSTED
    assert answered("coref_link", [True] * 100 + [False] * 5).state == SUSPENDED
    assert answered("coref_link", [True] * 100 + [False] * 4 + [True] * 16 + [False]).state == TRUSTED


def test_relevance_has_the_lower_bar():
    answers = [True] * 14 + [False] * 6
    assert answered("relevance", answers).state == PROBATION
    assert answered("coref_link", answers).state == SUSPENDED


def test_drawers_are_judged_by_the_boxes_that_pass_quality_whenever_the_verdicts_come():
    drew = replay("box_drawing", [*ADMITTED, *[ItemDone()] * 40], SETTINGS)
    assert drew.state == PROBATION
    good, bad = [BoxJudged(True)] * 20, [BoxJudged(False)] * 10

    def later(verdicts):
        standing = drew
        for verdict in verdicts:
            standing = after(standing, verdict, SETTINGS)
        return standing

    assert later([*bad, *good]).state == SUSPENDED
    assert later([*bad[:9], *good, BoxJudged(True)]).state == TRUSTED
    assert later(good).items == 40


# Chances


def test_of_all_ways_to_click_through_twelve_known_answers_79_in_4096_are_trusted_at_once():
    passing = sum(
        replay("coref_link", [*ADMITTED, *map(ControlGraded, answers), *[ItemDone()] * 18], SETTINGS).state
        == TRUSTED
        for answers in product([True, False], repeat=12)
    )
    assert passing == 79


def test_the_simulated_chances_equal_a_sum_over_every_course_of_answers():
    settings = TrustSettings(
        probation_items=3, probation_known=3, verdict_known=3, window=4, bar=0.6, control_share=1.0
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
            standing = replay("coref_link", ADMITTED, settings)
            for number, answer in enumerate(answers, 1):
                standing = after(standing, ControlGraded(answer), settings)
                if number in suspended:
                    suspended[number] += weight * (standing.state == SUSPENDED)
                if number == 3:
                    trusted += weight * (standing.state == TRUSTED)
    found = fate(rights, kind="coref_link", settings=settings, horizons=(3, 6), workers=100_000)
    assert found.trusted == pytest.approx(trusted, abs=0.006)
    assert found.suspended == pytest.approx(tuple(suspended.values()), abs=0.006)
    assert 0.01 < suspended[3] < suspended[6] < 0.99


def test_clickers_are_suspended_within_sixty_items_as_often_as_the_table_says():
    pool = [Control(f"{answer} {n}", answer) for n in range(15) for answer in ("yes", "no")]
    out = {"random": 0, "always yes": 0}
    workers = 400
    coins = Random(4)
    for number in range(workers):
        for habit in out:
            worker, standing = f"{habit} {number}", on_probation()
            seen: set[str] = set()
            for item in range(1, 61):
                if standing.state == SUSPENDED:
                    break
                if not due(
                    SETTINGS, seed="s", worker=worker, kind="coref_link", state=standing.state, number=item
                ):
                    standing = after(standing, ItemDone(), SETTINGS)
                    continue
                control = choose(pool, seed="s", worker=worker, kind="coref_link", seen=seen).control
                assert control is not None
                seen.add(control.id)
                answer = "yes" if habit == "always yes" else coins.choice(["yes", "no"])
                standing = after(standing, ControlGraded(answer == control.stratum), SETTINGS)
            out[habit] += standing.state == SUSPENDED
    chance = fate((0.5, 0.5), kind="coref_link", settings=SETTINGS, horizons=(60,)).suspended[0]
    assert abs(out["random"] / workers - chance) < 4 * sqrt(chance * (1 - chance) / workers)
    assert out["always yes"] == workers


@pytest.mark.parametrize("table", [markdown, drawers_markdown])
def test_the_tables_in_the_docs_are_what_the_benchmark_prints(table):
    page = Path(__file__).parents[2] / "docs" / "trust.md"
    assert table() in page.read_text(encoding="utf-8")


# Settings


def test_every_setting_says_where_its_default_comes_from():
    assert all(field.metadata["source"] for field in fields(TrustSettings))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bar", 1.2),
        ("relevance_bar", -0.1),
        ("control_share", 2.0),
        ("double_check_share", 5.0),
        ("drawing_iou", 50.0),
        ("entry_tasks", -1),
        ("page_slips", -1),
        ("drawing_unjudged", -1),
        ("drawing_wait_minutes", -1),
        ("verdict_known", 21),
        ("verdict_known", 0),
        ("probation_known", 31),
        ("probation_known", 0),
    ],
)
def test_a_setting_that_would_void_its_rule_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name} is {value}"):
        TrustSettings(**{name: value})


@pytest.mark.parametrize(("right", "asked"), [(0, 0), (3, 2), (-1, 2)])
def test_a_test_that_cannot_be_is_refused(right, asked):
    with pytest.raises(ValueError, match=f"{right} right of {asked}"):
        Examined(right, asked)


def test_a_drawer_is_judged_later_over_a_longer_window_and_at_a_lower_bar_than_others():
    settings = TrustSettings()
    unlucky = [True] * 12 + [False] * 6 + [True] * 82
    standing = replay("box_drawing", ADMITTED, settings)
    for good in unlucky:
        standing = after(standing, BoxJudged(good), settings)
    assert standing.state != SUSPENDED and len(standing.last) == 100
    assert answered("coref_link", unlucky).state == SUSPENDED
    thirty = replay("box_drawing", ADMITTED, settings)
    for good in [True] * 20 + [False] * 10:
        assert thirty.state != SUSPENDED
        thirty = after(thirty, BoxJudged(good), settings)
    assert thirty.state == SUSPENDED


@pytest.mark.parametrize(("good", "bad", "verdicts"), [(0, 10, 12), (5, 10, 15), (20, 10, 30)])
def test_a_drawer_who_cannot_reach_the_bar_by_the_thirtieth_verdict_is_suspended_before_it(
    good, bad, verdicts
):
    standing = replay("box_drawing", ADMITTED, SETTINGS)
    given = 0
    for passed in [*[True] * good, *[False] * (bad + 2)]:
        if standing.state == SUSPENDED:
            break
        standing = after(standing, BoxJudged(passed), SETTINGS)
        given += 1
    assert (standing.state, given) == (SUSPENDED, verdicts)


def test_a_drawer_on_probation_stops_at_twelve_boxes_that_nobody_has_looked_at():
    assert ahead(on_probation("box_drawing"), 11, SETTINGS) is None
    stopped = ahead(on_probation("box_drawing"), 12, SETTINGS)
    assert stopped is not None and stopped.code == "unjudged"
    assert "12 of your boxes: choose another task" in stopped.text and "60 min at the latest" in stopped.text


def test_nobody_but_a_drawer_on_probation_is_stopped_for_boxes():
    assert ahead(on_probation("box_quality"), 100, SETTINGS) is None
    drawn: list[Event] = [ItemDone(), BoxJudged(True)]
    done = [*ADMITTED, *drawn * 30]
    assert ahead(replay("box_drawing", done, SETTINGS), 100, SETTINGS) is None
    assert ahead(on_probation("box_drawing"), 100, TrustSettings(drawing_unjudged=0)) is None


@given(st.lists(st.booleans(), min_size=30, max_size=30))
def test_waiting_for_thirty_verdicts_would_suspend_the_same_drawers(verdicts):
    standing = replay("box_drawing", [*ADMITTED, *map(BoxJudged, verdicts)], SETTINGS)
    assert (standing.state == SUSPENDED) == (sum(verdicts) / 30 < 0.7)
