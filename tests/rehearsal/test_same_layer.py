"""The pure driver and the queue give the same result for the same answers, whatever happens in between."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Assignment, Control, Item, Judgment, Move, OpenImage, Ruling, Task
from annotation.moderation.control_items.from_layer import from_gold
from annotation.protocol import questions as q
from annotation.protocol.gold import Truth
from annotation.protocol.image import Fold
from annotation.protocol.state import ImageSettings
from annotation.simulation.driver import rulings_of, simulate_image
from tests.rehearsal.play import Play, by_first_mention, check_database
from tests.rehearsal.script import Script, Scripted, pictured
from tests.sizes import sized

pytestmark = pytest.mark.django_db

#: Number of plays; more of them find rarer errors, and the slow run has time for them.
EXAMPLES = int(os.environ.get("PHRASEBOX_PLAYS") or sized(3, 64))
ACTS = (
    "answer",
    "answer",
    "answer",
    "answer",
    "take",
    "reload",
    "click_again",
    "answer_again",
    "give_back",
    "renew",
    "wait",
    "sweep",
)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Draw actions of six workers, in any order: (action, worker, a number that the action may use)."""
    return draw(
        st.lists(
            st.tuples(st.sampled_from(ACTS), st.integers(0, 5), st.integers(0, 40)),
            min_size=draw(st.sampled_from([0, 60, 120])),
            max_size=160,
        )
    )


def trust(double_checks: float, controls: float = 0.0) -> dict[str, Any]:
    return {"qualification": False, "control_share": controls, "double_check_share": double_checks}


def played(
    script: Script,
    images: int,
    given_settings: dict[str, Any],
    acts: list[tuple[str, int, int]],
    *,
    controls: bool = False,
) -> Play:
    """Run a play through all of `acts` to its end, with checks after some steps; in the slow run on SQLite
    after each step. Nearly all violations persist, so that later checks find them.

    There, all plays are one transaction, whose rows are not counted for the planner unless requested: plans
    would be those for empty tables, and get slower and slower.
    """
    postgres = connection.vendor == "postgresql"
    records = [pictured(script.seed % 50 + i) for i in range(images)]
    play = Play(records, script, given_settings)
    if controls:
        from_gold(campaign=play.campaign, layer=play.world.corpus.layers.get(name="import"))
    with play.time():
        for step, (act, worker, number) in enumerate(acts):
            getattr(play, act)(worker, number)
            if postgres and step % 10 == 0:
                counted()
            if step % (10 if postgres else sized(5, 1)) == 0:
                check_database()
        check_database()
        play.check_fold()
        play.finish()
    return play


def counted() -> None:
    """Update PostgreSQL's statistics of the tables."""
    tables = [model._meta.db_table for model in (OpenImage, Task, Item, Assignment, Judgment, Move, Control)]
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(tables)}")


@given(
    seed=st.integers(0, 10_000),
    acts=steps(),
    images=st.integers(1, 2),
    votes=st.sampled_from([1, 1, 3]),
    double_checks=st.sampled_from([0.0, 0.5]),
    controls=st.booleans(),
)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
def test_the_queue_and_the_pure_driver_make_the_same_layer_of_the_same_answers(
    seed: int,
    acts: list[tuple[str, int, int]],
    images: int,
    votes: int,
    double_checks: float,
    controls: bool,
) -> None:
    script = Script(seed)
    provided = {"link_votes": votes, "trust": trust(double_checks, 0.3 if controls else 0.0)}
    play = played(script, images, provided, acts, controls=controls)
    states = play.check_fold()
    assert all(state.complete for state in states)
    crowd = Scripted(script)
    expected = []
    for record in (pictured(seed % 50 + i) for i in range(images)):
        assert record.layer is not None
        truth = Truth(record.layer, image=record.id, size=(record.width, record.height))
        mentions = tuple(truth.mentions.values())
        done = simulate_image(mentions, truth, crowd, ImageSettings(link_votes=votes))
        expected.append(by_first_mention(done.state.layer))
    assert play.layer() == expected


@given(seed=st.integers(0, 10_000), acts=steps(), enough=st.integers(1, 2))
@settings(max_examples=EXAMPLES // 2, suppress_health_check=[HealthCheck.too_slow])
def test_flags_lead_to_the_same_layer_too(seed: int, acts: list[tuple[str, int, int]], enough: int) -> None:
    script = Script(seed, flagged=4)
    play = played(script, 1, {"flags_to_review": enough, "trust": trust(0.0)}, acts)
    assert all(state.complete for state in play.check_fold())
    record = pictured(seed % 50)
    assert record.layer is not None
    truth = Truth(record.layer, image=record.id, size=(record.width, record.height))
    rulings: list[Any] = []
    judgments: list[q.Judgment] = []
    while True:
        state = Fold(tuple(truth.mentions.values()), ImageSettings(flags_to_review=enough), rulings)(
            judgments
        )
        if state.complete:
            break
        for question in state.questions:
            votes = sum(judgment.key == question.key for judgment in judgments)
            answer, box, flag = script.reply(question, truth, votes)
            number = str(len(judgments))
            judgments.append(q.Judgment(number, question.key, f"w{number}", answer, box, flag))
        if not state.questions:
            rulings.extend(rulings_of(state, truth))
    assert play.layer() == [by_first_mention(state.layer)]


@pytest.mark.slow  # tests the plays, not the product
@pytest.mark.only_on("sqlite")  # the drawn plays do not depend on the database
def test_plays_meet_all_that_can_happen_to_an_answer() -> None:
    """What the properties above say of any play would say nothing if plays were tame."""
    met: Counter[str] = Counter()
    for seed in range(3, 6):
        chance = Random(seed)
        acts = [(chance.choice(ACTS), chance.randrange(6), chance.randrange(40)) for _ in range(110)]
        play = played(Script(seed), 2, {"trust": trust(0.5, 0.1)}, acts, controls=True)
        judgments = Judgment.objects.filter(campaign=play.campaign)
        met.update(judgments.values_list("role", flat=True))
        met.update(Assignment.objects.filter(campaign=play.campaign).values_list("state", flat=True))
        met["late"] += judgments.filter(created_at__gt=F("assignment__expires_at")).count()
        met["ruled"] += Ruling.objects.filter(image__campaign=play.campaign).count()
        met["fruitless"] += Move.objects.filter(image__campaign=play.campaign, outcome="BAD").count()
        met["merged"] += sum(len(row.state["merged"]) for row in play.world.images())
        met["refused"] += Move.objects.filter(image__campaign=play.campaign, outcome="REFUSED").count()
    expected = "vote double_check control extra returned expired late ruled fruitless merged refused"
    assert [what for what in expected.split() if not met[what]] == []
