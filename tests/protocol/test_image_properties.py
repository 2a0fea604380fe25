"""Properties of the fold for any image, any crowd and any order of answers."""

from collections import Counter, defaultdict
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol import boxes as loop
from annotation.protocol.image import Fold
from annotation.protocol.questions import ANSWERS, Judgment, withdraw_judgments
from annotation.protocol.state import LINKING, VERIFICATION
from annotation.protocol.terms import Box
from tests.protocol.strategies import images, played, settings_of_images


def folding_twice_gives_the_same_state(play):
    mentions, settings, simulated, _ = play
    fold = Fold(mentions, settings, simulated.rulings)
    assert fold(simulated.judgments) == fold(simulated.judgments) == simulated.state


def the_order_in_which_different_keys_were_answered_does_not_matter(play, random):
    mentions, settings, simulated, _ = play
    queues = defaultdict(list)
    for judgment in simulated.judgments:
        queues[judgment.key].append(judgment)
    shuffled = []
    while queues:
        key = random.choice(sorted(queues))
        shuffled.append(queues[key].pop(0))
        if not queues[key]:
            del queues[key]
    state = Fold(mentions, settings, simulated.rulings)(shuffled)
    assert replace(state, superseded=()) == replace(simulated.state, superseded=())
    assert Counter(state.superseded) == Counter(simulated.state.superseded)


def no_worker_answers_a_key_twice_nor_judges_their_own_box(play):
    _, _, simulated, _ = play
    assert max(Counter((j.key, j.worker) for j in simulated.judgments).values(), default=0) <= 1
    drawer = {j.id: j.worker for j in simulated.judgments if j.answer == "drawn"}
    for judgment in simulated.judgments:
        if judgment.question == "box_quality":
            assert drawer[judgment.key.split("|")[1]] != judgment.worker


def removing_a_workers_judgments_equals_their_never_having_been_given(play, data):
    mentions, settings, simulated, _ = play
    workers = sorted({j.worker for j in simulated.judgments})
    if not workers:
        return
    gone = data.draw(st.sampled_from(workers))
    question = data.draw(st.sampled_from(sorted(ANSWERS)))
    fold = Fold(mentions, settings, simulated.rulings)
    never = [j for j in simulated.judgments if not (j.worker == gone and j.question == question)]
    assert fold(withdraw_judgments(simulated.judgments, worker=gone, question=question)) == fold(never)


def the_crowd_reaches_an_end_and_a_knowing_reviewer_completes_every_image(play):
    mentions, _, simulated, _ = play
    if simulated.rulings:
        assert simulated.state.complete
    if simulated.state.complete:
        printed = [m for c in simulated.state.layer.chains for m in c.mentions]
        assert sorted(m.id for m in printed) == sorted(m.id for m in mentions)
    else:
        assert simulated.state.questions or any(c.stage == loop.REVIEW for c in simulated.state.chains)


def votes_are_either_consumed_or_superseded_and_the_rest_changes_nothing(play):
    mentions, settings, simulated, _ = play
    superseded = set(simulated.state.superseded)
    assert superseded <= {j.id for j in simulated.judgments}
    used = [j for j in simulated.judgments if j.id not in superseded]
    state = Fold(mentions, settings, simulated.rulings)(used)
    strip = replace(simulated.state, superseded=(), questions=())
    assert replace(state, superseded=(), questions=()) == strip


@given(played(), st.integers(0, 10**6).map(Random), st.data())
def test_what_holds_of_the_fold_whatever_a_crowd_answered(play, random, data):
    """One crowd for all of it: to let one work is what takes the time."""
    folding_twice_gives_the_same_state(play)
    the_order_in_which_different_keys_were_answered_does_not_matter(play, random)
    no_worker_answers_a_key_twice_nor_judges_their_own_box(play)
    removing_a_workers_judgments_equals_their_never_having_been_given(play, data)
    the_crowd_reaches_an_end_and_a_knowing_reviewer_completes_every_image(play)
    votes_are_either_consumed_or_superseded_and_the_rest_changes_nothing(play)


@given(
    images(),
    settings_of_images,
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5), st.integers(0, 9), st.booleans()), max_size=60),
)
def test_any_legal_answers_whatsoever_fold_to_a_legal_state(mentions, settings, script):
    fold = Fold(mentions, settings)
    judgments: list[Judgment] = []
    for number, (which, worker, answer, flagged) in enumerate(script):
        questions = fold(judgments).questions
        if not questions:
            break
        question = questions[which % len(questions)]
        name = f"w{worker}"
        if name in question.barred:
            continue
        if flagged and answer == 0:
            judgments.append(Judgment(str(number), question.key, name, flag="offensive"))
            continue
        answers = ANSWERS[question.kind]
        message = answers[answer % len(answers)]
        box = Box(1 + answer, 1 + worker, 20 + answer, 30) if message == "drawn" else None
        judgments.append(Judgment(str(number), question.key, name, message, box))
    state = fold(judgments)
    assert {c.stage for c in state.chains} <= {LINKING, VERIFICATION, *loop.BOX_STAGES}
    assert sorted(m.id for c in state.chains for m in c.mentions) == sorted(m.id for m in mentions)
    for question in state.questions:
        assert question.needed >= 1
    keys = [question.key for question in state.questions]
    assert len(keys) == len(set(keys))


@given(images())
def test_no_two_mentions_of_one_caption_are_ever_put_together_by_workers(mentions):
    state = Fold(mentions)([])
    for question in state.questions:
        if question.kind == "coref_link":
            a, b = question.mentions
            assert a.split(":")[0] != b.split(":")[0]
