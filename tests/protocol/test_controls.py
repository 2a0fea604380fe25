"""When a control item is shown, which one, and which tasks are repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.controls import (
    ControlCounts,
    PooledControl,
    choose_control,
    draw_number,
    draw_sample,
    is_control_due,
)
from annotation.protocol.trust import QUALIFICATION, SUSPENDED, TRUSTED, WARM_UP
from annotation.protocol.trust_settings import TrustSettings

SETTINGS = TrustSettings()
NAMES = st.text(max_size=8)
ANSWERS = st.sampled_from([("yes", "no"), ("box", "scene", "none"), ("1", "2", "3"), ("1", "4")])


def due_at(numbers, *, seed="s", worker="w", kind="coref_link", state=WARM_UP, settings=SETTINGS):
    return [
        n
        for n in numbers
        if is_control_due(settings, seed=seed, worker=worker, kind=kind, state=state, number=n)
    ]


def pool_of(answers, item):
    return [PooledControl(f"{answer}-{n}", answer) for answer in answers for n in range(item)]


def met(pool, count, *, seed="s", worker="w", kind="k"):
    """Return the choices of `count` injections; each chosen control counts as seen afterwards."""
    seen: set[str] = set()
    choices = []
    for _ in range(count):
        choice = choose_control(pool, seed=seed, worker=worker, kind=kind, seen=seen)
        choices.append(choice)
        if choice.control:
            seen.add(choice.control.id)
    return choices


# When


@given(NAMES, NAMES)
def test_exactly_twelve_of_the_first_thirty_items_are_known(seed, worker):
    assert len(due_at(range(1, 31), seed=seed, worker=worker)) == 12


@given(NAMES, NAMES, st.integers(1, 4), st.integers(1, 40))
def test_a_warm_up_that_lasts_catches_up_at_the_same_rate(seed, worker, block, of):
    settings = TrustSettings(warm_up_items=of, warm_up_known=(of + 1) // 2)
    numbers = range(1 + block * of, 1 + (block + 1) * of)
    assert len(due_at(numbers, seed=seed, worker=worker, settings=settings)) == (of + 1) // 2


@given(NAMES, NAMES, st.integers(0, 30))
def test_a_trusted_worker_has_one_control_in_every_fifty_items(seed, worker, stretch):
    first = 31 + 50 * stretch
    assert len(due_at(range(first, first + 50), seed=seed, worker=worker, state=TRUSTED)) == 1


@given(st.integers(0, 1000), NAMES)
def test_any_share_of_control_items_is_kept_to_within_one_over_any_length(thousandths, seed):
    share = thousandths / 1000
    settings = TrustSettings(control_share=share)
    count = 0
    for number in range(31, 331):
        count += is_control_due(
            settings, seed=seed, worker="w", kind="coref_link", state=TRUSTED, number=number
        )
        assert abs(count - share * (number - 30)) <= 1 + 1e-9


def test_where_the_control_falls_differs_from_worker_to_worker_kind_to_kind_and_seed_to_seed():
    def places(**names):
        return due_at(range(31, 1031), state=TRUSTED, **names)

    plans = [places(), places(worker="v"), places(kind="box_quality"), places(seed="t")]
    assert len({tuple(plan) for plan in plans}) == 4
    assert len({(n - 31) % 50 for n in plans[0]}) > 10


def test_the_draw_for_a_number_does_not_depend_on_what_was_asked_before():
    forwards = due_at(range(1, 200))
    backwards = due_at(range(199, 0, -1))
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("kind", ["box_drawing", "caption_writing", "region_description"])
@pytest.mark.parametrize("state", [WARM_UP, TRUSTED])
def test_kinds_without_control_items_have_none(kind, state):
    assert due_at(range(1, 200), kind=kind, state=state) == []


@pytest.mark.parametrize("state", [QUALIFICATION, SUSPENDED])
def test_who_gets_no_items_gets_no_controls(state):
    assert due_at(range(1, 200), state=state) == []


def test_items_are_counted_from_one():
    with pytest.raises(ValueError, match="item number 0"):
        due_at([0])


# Which


@given(ANSWERS, NAMES, NAMES)
def test_twelve_control_items_are_balanced_over_the_possible_answers(answers, seed, worker):
    choices = met(pool_of(answers, 12), 12, seed=seed, worker=worker)
    assert Counter(choice.control.stratum for choice in choices) == {a: 12 // len(answers) for a in answers}
    assert all(choice.warning is None for choice in choices)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), NAMES)
def test_every_control_comes_once_then_none_with_a_warning(sizes, seed):
    pool = [
        PooledControl(f"{stratum}-{n}", str(stratum))
        for stratum, size in enumerate(sizes)
        for n in range(size)
    ]
    choices = met(pool, len(pool) + 1, seed=seed)
    chosen = [choice.control for choice in choices[:-1]]
    assert set(chosen) == set(pool) and len(chosen) == len(pool)
    assert choices[-1].control is None and choices[-1].warning is not None


class Desk:
    """A worker who takes control items, and answers, omits or answers late at random; and staff who retire
    items and add others. Stored in the same way as by the queue."""

    def __init__(self, pool: list[PooledControl], seed: str) -> None:
        self.pool, self.seed = pool, seed
        self.seen: set[str] = set()
        self.in_hand: list[PooledControl] = []
        self.excluded: list[PooledControl] = []
        #: Answered so late that it measured nothing: equivalent to omitted.
        self.wasted: list[PooledControl] = []
        self.known: Counter[str] = Counter()
        #: Answers whose items were all seen once: the promise no longer holds for them.
        self.ran_out: set[str] = set()

    def measured(self) -> ControlCounts:
        def active(items: list[PooledControl]) -> Counter[str]:
            return Counter(item.stratum for item in items if item in self.pool)

        return ControlCounts(self.known, active(self.in_hand), active(self.excluded + self.wasted))

    def take(self) -> PooledControl | None:
        chosen = choose_control(
            self.pool, seed=self.seed, worker="w", kind="k", seen=self.seen, measured=self.measured()
        ).control
        if chosen is not None:
            self.seen.add(chosen.id)
            self.in_hand.append(chosen)
        return chosen

    def answer(self, item: PooledControl, *, late: bool = False) -> None:
        (self.excluded if late else self.in_hand).remove(item)
        strata = {another.stratum for another in self.pool}
        if item in self.pool and not (late and self.measured().ahead(item.stratum, strata)):
            self.known[item.stratum] += 1
        else:
            self.wasted.append(item)

    def note(self, strata: Iterable[str]) -> None:
        """Check which answers have no new items left; the others differ by one at most."""
        fresh = {item.stratum for item in self.pool if item.id not in self.seen}
        self.ran_out.update(set(strata) - fresh)
        counts = [self.known[s] for s in strata if s not in self.ran_out]
        assert max(counts, default=0) - min(counts, default=0) <= 1, (self.known, self.ran_out)


@given(st.data(), ANSWERS, NAMES)
def test_gold_answers_stay_balanced_whatever_is_left_out_answered_late_retired_or_added(data, answers, seed):
    desk = Desk(pool_of(answers, 8), seed)
    acts = ["take", "take", "answer", "answer", "give back", "late", "retire", "add"]
    for index, act in enumerate(data.draw(st.lists(st.sampled_from(acts), max_size=60))):
        if act == "take" and len(desk.in_hand) < 3:
            desk.take()
        elif act == "answer" and desk.in_hand:
            desk.answer(data.draw(st.sampled_from(desk.in_hand)))
        elif act == "give back" and desk.in_hand:
            item = data.draw(st.sampled_from(desk.in_hand))
            desk.in_hand.remove(item)
            desk.excluded.append(item)
        elif act == "late" and desk.excluded:
            desk.answer(data.draw(st.sampled_from(desk.excluded)), late=True)
        elif act == "retire" and desk.pool:
            desk.pool.remove(data.draw(st.sampled_from(desk.pool)))
        elif act == "add":
            desk.pool.append(PooledControl(f"new {index}", data.draw(st.sampled_from(answers))))
        desk.note(answers)


@given(NAMES, st.sampled_from(["yes", "no"]))
def test_who_leaves_out_all_items_of_one_answer_is_not_measured_on_the_other(seed, shunned):
    desk = Desk(pool_of(("yes", "no"), 15), seed)
    while item := desk.take():
        if item.stratum == shunned:
            desk.in_hand.remove(item)
            desk.excluded.append(item)
        else:
            desk.answer(item)
    assert desk.known.total() <= 1 and len(desk.excluded) == 15
    control = choose_control(
        desk.pool, seed=seed, worker="w", kind="k", seen=desk.seen, measured=desk.measured()
    )
    assert control.warning is not None and f"with the gold answer {shunned!r}" in control.warning
    # After late answers they count again, equally with the others.
    for _ in range(15):
        desk.answer(desk.excluded[0], late=True)
        while item := desk.take():
            desk.answer(item)
    assert abs(desk.known["yes"] - desk.known["no"]) <= 1 and desk.known.total() > 4


def test_one_item_that_ran_out_does_not_keep_a_worker_from_being_measured():
    pool = [*pool_of(("yes",), 12), PooledControl("only", "no")]
    left = ControlCounts({"yes": 1}, {}, {"no": 1})
    chosen = choose_control(pool, seed="s", worker="w", kind="k", seen={"only", "yes-0"}, measured=left)
    assert chosen.control is not None and chosen.control.stratum == "yes"
    assert (
        chosen.warning is not None and "every control item of k with the gold answer 'no'" in chosen.warning
    )


def test_with_one_item_in_hand_there_is_always_another():
    """Pages hold the next item while one is answered: the rate must not suffer."""
    for answers in (("yes", "no"), ("box", "scene", "none")):
        desk = Desk(pool_of(answers, 12), "s")
        assert desk.take() is not None
        for _ in range(20):
            assert desk.take() is not None
            desk.answer(desk.in_hand[0])


@given(st.data(), NAMES)
def test_the_choice_is_blind_to_the_order_of_the_pool_and_of_what_was_seen(data, seed):
    pool = pool_of(("yes", "no"), 5)
    seen = data.draw(st.lists(st.sampled_from([control.id for control in pool]), unique=True))
    shuffled = data.draw(st.permutations(pool))
    item = choose_control(pool, seed=seed, worker="w", kind="k", seen=seen)
    assert choose_control(shuffled, seed=seed, worker="w", kind="k", seen=set(seen)) == item
    assert item.control is None or item.control.id not in seen


def test_controls_of_another_kind_seen_before_do_not_matter():
    pool = pool_of(("yes", "no"), 3)
    assert choose_control(pool, seed="s", worker="w", kind="k", seen={"other"}) == choose_control(
        pool, seed="s", worker="w", kind="k"
    )


def test_two_controls_with_one_id_are_refused():
    with pytest.raises(ValueError, match="two control items of k have the id 'c1'"):
        met([PooledControl("c1", "yes"), PooledControl("c2", "yes"), PooledControl("c1", "no")], 1)


def test_workers_meet_controls_in_different_orders():
    pool = pool_of(("yes", "no"), 6)
    orders = {tuple(choice.control.id for choice in met(pool, 12, worker=f"w{n}")) for n in range(20)}
    assert len(orders) == 20


def test_the_warnings_say_what_ran_out_and_what_it_leads_to():
    (nothing,) = met([], 1, kind="coref_link")
    assert nothing.warning == "coref_link has no control items: none is injected until some are added."
    pool = [
        PooledControl("a", "yes"),
        PooledControl("b", "yes"),
        PooledControl("c", "yes"),
        PooledControl("d", "no"),
    ]
    *_, unbalanced, last, out = met(pool, 5, worker="ann", kind="coref_link")
    for choice in (unbalanced, last):
        assert choice.control.stratum == "yes"
    assert last.warning == (
        "Worker ann has seen every control item of coref_link with the gold answer 'no': "
        "add more of these, or a worker who always answers otherwise passes."
    )
    assert out.control is None
    assert out.warning == (
        "Worker ann has seen all 4 control items of coref_link: "
        "none is injected for them until more are added."
    )


# Draws


@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=4))
def test_a_draw_is_in_the_unit_interval_and_differs_wherever_the_names_do(first, second):
    assert 0 <= draw_number(*first) < 1
    assert (draw_number(*first) == draw_number(*second)) == (first == second)


def test_draws_are_the_same_on_every_machine():
    assert draw_number("seed", "worker", 1) == 0.6232830015205556
    assert draw_sample("abcdef", 3, "seed") == ["f", "a", "d"]


@given(st.lists(NAMES), st.integers(0, 5), st.randoms(use_true_random=False))
def test_things_are_drawn_without_repetition_and_blind_to_their_order(things, count, random):
    chosen = draw_sample(things, count, "s")
    assert len(set(chosen)) == len(chosen) == min(count, len(set(things)))
    random.shuffle(things)
    assert draw_sample(things, count, "s") == chosen
