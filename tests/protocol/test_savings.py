"""Reductions of questions: learned probabilities, the richest caption first, the count named in phrases."""

from hashlib import blake2b
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol import boxes as loop
from annotation.protocol.coreference import candidates, fullest_caption_first
from annotation.protocol.gold import Truth, erring
from annotation.protocol.image import Fold
from annotation.protocol.likely_count import likely_count
from annotation.protocol.likeness import Likeness
from annotation.protocol.link_chances import MOST_HEAD_PAIRS, LinkChances, chances_from, learn_chances
from annotation.protocol.questions import Judgment, judgment_name
from annotation.protocol.rng import SeededRng
from annotation.protocol.state import ImageSettings, SavingSettings
from annotation.protocol.terms import Box, Chain, LayerRecord
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.standin import stand_in
from annotation.simulation.workers import make_crowd
from tests.protocol.build import Play, mentions
from tests.protocol.strategies import images, settings_of_images
from tests.simulation.build import world

BY_COUNT = ImageSettings(saving=SavingSettings(coverage_by_count=True))
FIRST, SECOND = Box(1, 1, 20, 20), Box(40, 1, 60, 20)


def layer(*chains):
    """Return a layer of chains of mentions."""
    return LayerRecord(tuple(Chain(str(n), tuple(chain)) for n, chain in enumerate(chains)))


def test_chances_are_counted_by_likeness_and_where_they_depart_from_it_by_head_nouns():
    a, b, c, d = mentions("a man/people, a dog/people", "a guy/people, a man/people")
    learned = learn_chances([layer([a, c], [b], [d])] * 3)
    # Of different heads: man-guy three times the same, dog-guy and dog-man never. Of one head: man-man never.
    # Each is smoothed by one yes and one no.
    assert learned.alike == {(True, 1): 0.2, (False, 0): round(4 / 11, 2)}
    assert learned.pairs[("guy", "man")] == round((3 + 2 * 4 / 11) / 5, 2)
    assert learned.pairs[("dog", "man")] == learned.pairs[("dog", "guy")] == round(2 * 4 / 11 / 5, 2)
    assert learned.chance(a, c, (False, 0)) == learned.pairs[("guy", "man")]
    assert LinkChances(learned.alike).chance(a, c, (False, 7)) == 0.5  # two shared words were never observed
    assert chances_from(learned.as_text()) == learned
    assert learn_chances([]) == LinkChances()


def test_a_table_keeps_the_pairs_that_change_most_questions():
    chains = []
    for number in range(MOST_HEAD_PAIRS + 5):
        a, b = mentions(f"a x{number:03d}/people", f"a y{number:03d}/people")
        chains += [layer([a, b])] * (2 if number < 5 else 1) + [layer([a], [b])] * (0 if number < 5 else 1)
    learned = learn_chances(chains)
    assert len(learned.pairs) == MOST_HEAD_PAIRS
    assert {(f"x{n:03d}", f"y{n:03d}") for n in range(5)} <= set(learned.pairs)


def test_learned_order_asks_about_the_likely_chain_first_and_shows_its_likely_mention():
    image = mentions("a man/people, a young lady/people", "a guy/people", "a young guy/people")
    man, lady, guy, new = image
    chances = LinkChances({}, {("guy", "lady"): 0.01, ("guy", "man"): 0.8, ("guy", "guy"): 0.6})
    chains = [[lady], [man, guy]]
    ranked = candidates(new, chains, order="learned", likeness=Likeness(image), chances=chances)
    assert [(i, displayed.text) for i, displayed in ranked] == [(1, "a man"), (0, "a young lady")]
    with pytest.raises(ValueError, match="table of chances"):
        candidates(new, chains, order="learned", likeness=Likeness(image))
    with pytest.raises(ValueError, match=r"order is 'learned': expected a learned table"):
        ImageSettings(order="learned")


def test_the_fullest_caption_first_spares_telling_its_phrases_from_each_other():
    image = mentions("a man/people", "a boy/people, a girl/people", "a girl/people")
    assert [m.text for m in fullest_caption_first(image)] == ["a boy", "a girl", "a man", "a girl"]
    printed, fullest = (
        Play(image, ImageSettings(saving=SavingSettings(fullest_caption_first=on))) for on in (False, True)
    )
    for play in (printed, fullest):
        while play.state.questions and (question := play.question()).kind == "coref_link":
            play.say("w1", "yes" if set(question.mentions) == {"1:3-5", "2:0-2"} else "no")
    # The man is distinguished from boy and girl either way; the second girl is asked about the first one at
    # once.
    assert [len(play.judgments) for play in (printed, fullest)] == [3, 3]
    assert [c.mentions for c in printed.state.chains] == [c.mentions for c in fullest.state.chains]
    assert printed.judgments[0].key != fullest.judgments[-1].key


@pytest.mark.parametrize(
    ("phrases", "count"),
    [
        (("a man",), 1),
        (("Two men",), 2),
        (("the three young dogs", "dogs"), 3),
        (("both boys", "two kids"), 2),
        (("two men", "three men"), 0),
        (("men",), 0),
        (("a few men",), 0),
        (("a group",), 0),
        (("A man 's hands",), 0),
        (("two of the men",), 0),
        (("the two",), 2),
        (("a",), 1),
        (("a dozen people",), 12),
        (("the dozen men", "twelve men"), 12),
        (("a half dozen men",), 6),
        (("Half a dozen men",), 6),
        (("another half dozen boats",), 6),
        (("a dozen or so people",), 0),
        (("a good dozen people",), 0),
        (("two dozen people",), 0),
        (("a hundred people",), 0),
        (("one hundred people",), 0),
        (("a thousand",), 0),
        (("a million",), 0),
        (("the three thousand spectators",), 0),
        (("a hundred people", "a crowd"), 0),
        (("two or three men",), 0),
        (("a man or a boy",), 0),
        (("two couples",), 0),
        (("the two young families",), 0),
        (("two girls ' shoes",), 0),
        (("both men 's hats",), 0),
        (("two men and a woman",), 0),
        (("two men and two women",), 0),
        (("two black and white dogs",), 2),
    ],
)
def test_the_count_that_phrases_name(phrases, count):
    assert likely_count(mentions(*(f"{phrase}/people" for phrase in phrases))) == count


def test_one_worker_confirms_the_count_that_the_phrases_name():
    play = Play(mentions("a man/people"), BY_COUNT).say("w1", "drawn", FIRST).say("w2", "good")
    assert play.question().needed == 1
    (chain,) = play.say("w3", "complete").state.chains
    assert chain.stage == loop.BOXED


def test_more_than_the_phrases_name_needs_two_workers():
    play = Play(mentions("a man/people"), BY_COUNT).say("w1", "drawn", FIRST).say("w2", "good")
    assert play.say("w3", "more").question().kind == "box_coverage"
    assert play.say("w4", "complete").question().needed == 1
    assert play.say("w5", "more").question().kind == "box_drawing"


def test_with_fewer_boxes_than_the_phrases_name_coverage_goes_as_printed():
    play = Play(mentions("two men/people"), BY_COUNT).say("w1", "drawn", FIRST).say("w2", "good")
    two_agreed = Play(mentions("two men/people"), BY_COUNT)
    two_agreed.judgments = list(play.judgments)
    assert play.say("w3", "more").question().kind == "box_drawing"
    assert two_agreed.say("w3", "complete").question().kind == "box_coverage"
    assert two_agreed.say("w4", "complete").state.chains[0].stage == loop.BOXED
    play.say("w1", "drawn", SECOND).say("w2", "good").say("w3", "complete")
    (chain,) = play.state.chains
    assert (chain.stage, [drawn.box for drawn in chain.boxes]) == (loop.BOXED, [FIRST, SECOND])


def answered(mentions, settings, truth, choose):
    """Return all judgments until nothing is open; `choose` selects the open question that is answered next.
    Worker and answer depend on the question only."""
    fold = Fold(mentions, settings)
    judgments: list[Judgment] = []
    while True:
        state = fold(judgments)
        open_now = []
        for question in state.questions:
            names = sorted({f"w{i}" for i in range(12)} - question.barred)
            if names:
                open_now.append((question, SeededRng(question.key, len(question.barred)).choice(names)))
        if not open_now:
            return state, {(j.key, j.worker, j.answer, j.box) for j in judgments}
        question, worker = choose(open_now)
        answer, box = erring(question, truth, SeededRng(worker, question.key), error=0.2, jitter=0.05)
        name = judgment_name("x", worker, question.key)
        judgments.append(Judgment(name, question.key, worker, answer, box))


@given(images(), settings_of_images, st.integers(0, 10**6).map(Random))
def test_which_open_question_is_answered_next_changes_neither_the_layer_nor_what_is_asked(
    mentions, settings, random
):
    """So no order among an image's open questions can spare any."""
    truth = Truth(stand_in(mentions, size=(200, 100), seed=1, image="x"), image="x", size=(200, 100))
    first = answered(mentions, settings, truth, lambda result: result[0])
    assert answered(mentions, settings, truth, random.choice) == first


def test_with_all_savings_off_the_questions_are_pinned():
    """The questions and answers of twenty made-up images."""
    reported = blake2b(digest_size=8)
    for number, (image, truth, _) in enumerate(world(20)):
        for order in ("likely_first", "as_printed"):
            crowd = Crowd(make_crowd({"careful": 4, "sloppy": 4}, seed=number), seed=number)
            for judgment in simulate_image(image, truth, crowd, ImageSettings(order=order)).judgments:
                reported.update(repr((judgment.key, judgment.worker, judgment.answer, judgment.box)).encode())
    assert reported.hexdigest() == "19914e1c83de5560"
