"""The simulated crowd: an errorless one finds the gold, others err as configured."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.image import Fold
from annotation.protocol.kinds import is_counted, names
from annotation.protocol.questions import ANSWERS, check_judgment
from annotation.protocol.rng import SeededRng
from annotation.protocol.scores import compare_layers
from annotation.protocol.state import ImageSettings
from annotation.simulation.driver import Crowd, SimulationCost, numbered, simulate_image
from annotation.simulation.gate import NO_QUALIFICATION, Gate, control_items_from_gold
from annotation.simulation.kinds import SIMULATED
from annotation.simulation.standin import stand_in
from annotation.simulation.workers import PERFECT, PRESETS, SimulatedWorker, make_crowd, with_error
from phrasebox.registry import UnknownName
from tests.protocol.strategies import played
from tests.simulation.build import photograph, world
from tests.sizes import sized


def test_chance_depends_on_the_words_and_not_on_what_was_drawn_before():
    seeded_rng, two = SeededRng("seed", 1, "ann"), SeededRng("seed", 1, "ann")
    first = [seeded_rng.uniform() for _ in range(20)]
    assert first == [two.uniform() for _ in range(20)] and len(set(first)) == 20
    assert SeededRng("seed", 11, "nn").uniform() != SeededRng("seed", 1, "ann").uniform()
    many = [SeededRng("mean", i).normal() for i in range(4000)]
    assert abs(sum(many) / 4000) < 0.05 and abs(sum(x * x for x in many) / 4000 - 1) < 0.08


def test_an_errorless_crowd_of_five_finds_every_chain_box_and_kind():
    people = Crowd(make_crowd({"perfect": 5}, seed=1), seed=1)
    for mentions, truth, gold in world(sized(15, 40)):
        scores = compare_layers(simulate_image(mentions, truth, people, review=False).state.layer, gold)
        assert (scores.f1, scores.iou, scores.kind_accuracy) == (1.0, 1.0, 1.0)


@given(played())
def test_whatever_workers_answer_is_legal_and_inside_the_picture(play):
    _, _, simulated, truth = play
    for judgment in simulated.judgments:
        check_judgment(judgment)
        if judgment.box:
            assert judgment.box.xmax <= truth.width and judgment.box.ymax <= truth.height


@pytest.mark.parametrize("rate", [0.03, 0.08, 0.2])
def test_workers_err_as_often_as_their_preset_says(rate):
    (worker,) = with_error(rate, 1, seed=3)
    invalid = requested = 0
    for mentions, truth, _ in world(300):
        for question in Fold(mentions)([]).questions:
            if question.kind != "box_drawing":
                requested += 1
                invalid += worker.answer(question, truth) != truth.answer(question)
    assert requested > 400
    assert abs(invalid / requested - rate) < 4 * (rate * (1 - rate) / requested) ** 0.5


def test_the_same_worker_answers_a_question_alike_no_matter_who_asks_and_whenever():
    mentions, truth, _ = next(iter(world(1)))
    for habits in PRESETS.values():
        worker = SimulatedWorker("ann", habits, 5)
        questions = Fold(mentions)([]).questions
        forwards = [worker.answer(question, truth) for question in questions]
        assert forwards == [worker.answer(question, truth) for question in reversed(questions)][::-1]


def test_always_yes_never_says_no_and_random_says_everything():
    message: dict[str, set[str]] = {"always_yes": set(), "random": set()}
    for mentions, truth, _ in world(60):
        for question in Fold(mentions)([]).questions:
            for name in message:
                message[name].add(SimulatedWorker("w", PRESETS[name], 1).answer(question, truth)[0])
    assert message["always_yes"] <= {"yes", "true", "box", "drawn", "good", "complete"}
    assert message["random"] >= {"yes", "no", "box", "scene", "none", "drawn"}


def test_leavers_leave_and_their_images_stay_open_without_a_reviewer():
    people = Crowd(make_crowd({"leaver": 4}, seed=2), seed=2)
    runs = [simulate_image(m, t, people, review=False) for m, t, _ in world(12)]
    assert sum(people.answered.values()) <= sum(people.left.values()) < float("inf")
    assert runs[-1].cost.unfinished and runs[-1].state.questions


def test_a_crowd_of_three_cannot_settle_everything_and_says_so_by_leaving_questions_open():
    people = Crowd(make_crowd({"sloppy": 2}, seed=2), seed=2)
    assert any(simulate_image(m, t, people, review=False).cost.unfinished for m, t, _ in world(10))
    with pytest.raises(ValueError, match="one worker or more"):
        Crowd([], seed=1)


def test_an_unknown_kind_of_worker_lists_the_known_ones():
    with pytest.raises(ValueError, match="careful, average, sloppy"):
        make_crowd({"lazy": 1}, seed=1)


def test_what_was_spent_adds_up_to_the_judgments_given():
    total = SimulationCost()
    counts: Counter[str] = Counter()
    people = Crowd(make_crowd({"average": 8}, seed=1), seed=1)
    for mentions, truth, _ in world(20):
        run = simulate_image(mentions, truth, people)
        total.add(run.cost)
        counts.update(j.question for j in run.judgments)
    assert total.judgments == counts and total.total == sum(counts.values())
    assert total.images == 20 and set(total.as_dict()["judgments"]) <= set(ANSWERS)
    assert total.seconds["box_drawing"] == 35 * counts["box_drawing"]


def test_the_better_the_crowd_the_better_the_chains():
    def f1(kind: str) -> float:
        people = Crowd(make_crowd({kind: 8}, seed=4), seed=4)
        images = world(sized(30, 60))
        runs = [compare_layers(simulate_image(m, t, people).state.layer, gold) for m, t, gold in images]
        return sum(run.f1 for run in runs) / len(runs)

    assert f1("perfect") == 1.0 > f1("careful") > f1("sloppy") > f1("random")


@pytest.mark.slow  # the default run has suspensions by the queue, in `trust`
def test_control_items_suspend_random_and_always_yes_workers_and_hardly_any_careful_one():
    golds = [(str(i), (500, 400), gold) for i, (_, _, gold) in enumerate(world(40))]
    gate = Gate(control_items_from_gold(golds, seed=1), seed=1)
    people = Crowd(make_crowd({"careful": 8, "random": 2, "always_yes": 2}, seed=1), seed=1, gate=gate)
    cost = SimulationCost()
    for mentions, truth, _ in world(150):
        cost.add(simulate_image(mentions, truth, people).cost)
    suspended = gate.suspended()["coref_link"]
    assert {"random-01", "random-02", "always_yes-01", "always_yes-02"} <= set(suspended)
    assert not any(name.startswith("careful") for name in suspended)
    assert cost.controls["coref_link"] >= 12 * 12 and cost.double_checks["coref_link"] > 0
    assert cost.controls["box_drawing"] == 0 < cost.double_checks["box_coverage"]


def test_no_worker_answers_a_key_twice_not_even_for_a_double_check():
    golds = [(str(i), (500, 400), gold) for i, (_, _, gold) in enumerate(world(5))]
    gate = Gate(
        control_items_from_gold(golds, seed=1),
        seed=1,
        settings=replace(NO_QUALIFICATION, double_check_share=0.5),
    )
    people = Crowd(make_crowd({"average": 5, "sloppy": 2}, seed=1), seed=1, gate=gate)
    for mentions, truth, _ in world(sized(12, 30)):
        counts = Counter((j.key, j.worker) for j in simulate_image(mentions, truth, people).judgments)
        assert set(counts.values()) == {1}


def test_no_third_person_is_asked_where_the_fold_asks_two():
    golds = [(str(i), (500, 400), gold) for i, (_, _, gold) in enumerate(world(5))]
    gate = Gate(
        control_items_from_gold(golds, seed=1),
        seed=1,
        settings=replace(NO_QUALIFICATION, double_check_share=1.0),
    )
    people = Crowd(make_crowd({"sloppy": 9}, seed=1), seed=1, gate=gate)
    checks: Counter[str] = Counter()
    for mentions, truth, _ in world(8):
        checks += simulate_image(mentions, truth, people, ImageSettings(link_votes=3)).cost.double_checks
    assert checks["coref_link"] == 0 < min(checks["chain_verification"], checks["box_requirement"])


def test_double_checks_stay_outside_the_fold():
    golds = [(str(i), (500, 400), gold) for i, (_, _, gold) in enumerate(world(5))]
    items = control_items_from_gold(golds, seed=1)
    for mentions, truth, _ in world(sized(12, 30)):
        gate = Gate(items, seed=1)
        run = simulate_image(mentions, truth, Crowd(make_crowd({"average": 9}, seed=1), seed=1, gate=gate))
        votes = [j for j in run.judgments if j.role == "vote"]
        assert Fold(mentions, ImageSettings(), run.rulings)(votes) == run.state


def test_chains_are_printed_under_consecutive_numbers():
    mentions, _, gold = next(iter(world(1)))
    layer, following = numbered(gold, 100)
    assert [c.id for c in layer.chains] == [str(n) for n in range(100, following)]
    assert {n for o in layer.objects for n in o.chains} <= {c.id for c in layer.chains}
    assert layer.mentions == tuple(sorted(mentions, key=lambda m: m.span))
    assert PERFECT is PRESETS["perfect"]


@given(st.integers(0, 10**6))
def test_a_stand_in_covers_every_mention_once_and_depends_on_its_seed_alone(seed):
    mentions = photograph(seed)
    gold = stand_in(mentions, size=(0, 0), seed=seed, image="x")
    assert gold == stand_in(mentions, size=(0, 0), seed=seed, image="x")
    assert sorted(m.id for c in gold.chains for m in c.mentions) == sorted(m.id for m in mentions)
    for chain in gold.chains:
        if "people" in chain.categories or "clothing" in chain.categories:
            assert gold.boxes_of(chain.id)


def test_a_kind_that_was_not_loaded_is_refused_with_what_to_load():
    with pytest.raises(UnknownName, match=r"nonsense.*discovery\.load_kind_modules\('simulate'\)"):
        SIMULATED.get("nonsense")


def test_the_simulator_knows_every_kind_and_judges_those_that_are_only_counted():
    assert set(SIMULATED.keys()) == set(names())
    assert {kind.key for kind in SIMULATED if kind.judge} == {name for name in names() if is_counted(name)}
