"""Mending phrases while people answer: answers to unchanged questions count, whenever the mend was made."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from annotation.protocol.boxes import BOXED
from annotation.protocol.contents import mention_from, mention_json, ruling_from, ruling_json
from annotation.protocol.gold import Truth, erring
from annotation.protocol.image import Fold
from annotation.protocol.mending import forecast_mend, likely_layer
from annotation.protocol.questions import Judgment, judgment_name
from annotation.protocol.rehearsal import SLACK, SLIPS
from annotation.protocol.rng import SeededRng
from annotation.protocol.rulings import Phrases, UnrelatedCaption, mended
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import CATEGORIES, OTHER, Mention
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.standin import stand_in
from annotation.simulation.workers import make_crowd

WORDS = "a man with two golf clubs and a hat near the old red car of a friend".split()
#: Captions of the same words in another order, so that phrases of two captions may name one thing.
CAPTIONS = [WORDS, WORDS[3:] + WORDS[:3], WORDS[7:]]
SIZE = (200, 100)


def mention(caption: int, start: int, words: str, *categories: str) -> Mention:
    tokens = tuple(words.split())
    return Mention(caption, start, start + len(tokens), tokens, categories or (OTHER,))


def phrase(random: Random) -> Mention:
    """Return a random phrase of a caption."""
    caption = random.randrange(len(CAPTIONS))
    start = random.randrange(len(CAPTIONS[caption]) - 3)
    end = start + random.randint(1, 3)
    words = tuple(CAPTIONS[caption][start:end])
    categories = tuple(random.sample(CATEGORIES, random.choice([1, 1, 2])))
    return Mention(caption, start, end, words, categories, random.choice(["", "", words[0]]))


def mend(mentions: tuple[Mention, ...], random: Random) -> Phrases | UnrelatedCaption:
    """Return a random mend: another span, other categories, another noun, one more, one less, a caption."""
    if random.random() < 0.1:
        return UnrelatedCaption(random.randrange(len(CAPTIONS)))
    chosen = random.choice(mentions) if mentions else phrase(random)
    match random.randrange(4):
        case 0:
            return Phrases((chosen.id,), (phrase(random),))
        case 1:
            return Phrases((), (replace(chosen, categories=(random.choice(CATEGORIES),)),))
        case 2:
            return Phrases((), (replace(chosen, noun=random.choice(chosen.tokens)),))
        case _:
            return Phrases((chosen.id,)) if random.random() < 0.5 else Phrases((), (phrase(random),))


def answer_one(fold: Fold, judgments: list[Judgment], truth: Truth, random: Random) -> None:
    """Answer a question that is open now, by somebody who may."""
    questions = fold(judgments).questions
    if not questions:
        return
    question = random.choice(questions)
    people = sorted({f"w{number}" for number in range(9)} - question.barred)
    if not people:
        return
    worker = random.choice(people)
    name = judgment_name("x", worker, question.key)
    if random.random() < 0.03:
        judgments.append(Judgment(name, question.key, worker, flag="chunk_wrong"))
        return
    rng = SeededRng(random.randrange(10**6), worker, question.key)
    answer, box = erring(question, truth, rng, error=0.1, jitter=0.03)
    judgments.append(Judgment(name, question.key, worker, answer, box))


def about(judgment: Judgment, judgments: dict[str, Judgment]) -> set[str]:
    """Return the mentions that a judgment's question shows; a verdict shows those of the drawing."""
    kind, first, *rest = judgment.key.split("|")
    if kind == "box_quality":
        return about(judgments[first], judgments)
    return {first, rest[0]} if kind == "coref_link" else set(first.split(" "))


def mended_while_people_answer(seed: int) -> None:
    """The state equals that of an image opened with the final mentions, to whose questions only those answers
    were given that are about them; all others are superseded."""
    random = Random(seed)
    first = mended((), [Phrases((), (m,)) for m in (phrase(random) for _ in range(random.randint(2, 9)))])
    settings = ImageSettings(
        order=random.choice(["likely_first", "as_printed"]), link_votes=random.choice([1, 3])
    )
    rulings: list[Phrases | UnrelatedCaption] = []
    judgments: list[Judgment] = []
    fold = Fold(first, settings)
    for _ in range(random.randint(5, 120)):
        if random.random() < 0.06:
            if rulings and random.random() < 0.25:
                rulings.remove(random.choice(rulings))
            else:
                rulings.append(mend(fold.mentions, random))
            fold = Fold(first, settings, rulings)
        gold = stand_in(fold.mentions, size=SIZE, seed=seed, image="x")
        answer_one(fold, judgments, Truth(gold, image="x", size=SIZE), random)

    final = mended(first, rulings)
    assert final == mended(final, rulings), "to apply mends again changes nothing"
    assert [ruling_from(ruling_json(ruling)) for ruling in rulings] == rulings
    assert tuple(mention_from(mention_json(mention)) for mention in final) == final
    state = fold(judgments)
    names, by_name = {mention.id for mention in final}, {judgment.id: judgment for judgment in judgments}
    unchanged = [judgment for judgment in judgments if about(judgment, by_name) <= names]
    opened_so = Fold(final, settings)(unchanged)
    assert state.chains == opened_so.chains
    assert state.questions == opened_so.questions
    assert state.unrelated == tuple(sorted({r.caption for r in rulings if isinstance(r, UnrelatedCaption)}))
    if opened_so.result is not None:
        assert state.result == replace(opened_so.result, unrelated=state.unrelated)
    changed = [judgment.id for judgment in judgments if judgment not in unchanged]
    assert Counter(state.superseded) == Counter((*opened_so.superseded, *changed))


@pytest.mark.parametrize("seed", range(8))
def test_answers_to_unchanged_questions_count_whenever_phrases_are_mended(seed: int) -> None:
    mended_while_people_answer(seed)


@pytest.mark.slow
def test_they_count_in_each_of_300_campaigns() -> None:
    for seed in range(1000, 1300):
        mended_while_people_answer(seed)


def finished(*mentions: Mention):
    """Return an image after the work of people who make no mistakes."""
    truth = Truth(stand_in(mentions, size=SIZE, seed=1, image="x"), image="x", size=SIZE)
    return simulate_image(mentions, truth, Crowd(make_crowd({"perfect": 9}, seed=1), seed=1))


MAN, CLUBS, HAT = mention(0, 0, "a man", "people"), mention(0, 3, "two golf clubs"), mention(0, 7, "a hat")
AGAIN = mention(1, 10, "a man", "people")


def test_another_span_asks_about_its_own_chain_again_and_about_no_other():
    done = finished(MAN, CLUBS, HAT, AGAIN)
    assert done.state.complete
    golf = mention(0, 4, "golf clubs")
    fold = Fold((MAN, CLUBS, HAT, AGAIN), None, (*done.rulings, Phrases((CLUBS.id,), (golf,))))
    state = fold(done.judgments)
    assert {name for question in state.questions for name in question.mentions} == {golf.id}
    assert {c.id: c for c in done.state.chains if c.id != CLUBS.id} == {
        c.id: c for c in state.chains if c.id != golf.id
    }


def test_another_category_asks_what_it_needs_under_the_same_answers():
    """The drawing is not asked again: the question shows the same phrase."""
    done = finished(MAN)
    drawn = [judgment for judgment in done.judgments if judgment.question == "box_drawing"]
    state = Fold((MAN,), None, [Phrases((), (replace(MAN, categories=(OTHER,)),))])(done.judgments)
    assert drawn
    assert [question.kind for question in state.questions] == ["box_requirement"]
    more = [Judgment("r", state.questions[0].key, "somebody else", "box")]
    again = Fold((MAN,), None, [Phrases((), (replace(MAN, categories=(OTHER,)),))])([*done.judgments, *more])
    assert [chain.stage for chain in again.chains] == [BOXED]
    assert not again.superseded


def test_a_noun_that_a_reviewer_names_splits_a_refused_chain():
    a, b = mention(0, 0, "men in group", "people"), mention(1, 0, "dogs in group", "people")
    votes = [
        Judgment("1", f"coref_link|{a.id}|{b.id}", "w1", "yes"),
        Judgment("2", f"chain_verification|{a.id} {b.id}|", "w2", "false"),
    ]
    assert [chain.reason for chain in Fold((a, b))(votes).chains] == ["refused"]
    named = Fold((a, b), None, [Phrases((), (replace(a, noun="men"), replace(b, noun="dogs")))])
    assert [len(chain.mentions) for chain in named(votes).chains] == [1, 1]


@pytest.mark.parametrize(
    ("removed", "added"), [((), ()), (("0:0-2", "0:0-2"), ()), ((), (MAN, replace(MAN, categories=(OTHER,))))]
)
def test_a_ruling_on_phrases_names_each_once(removed, added):
    with pytest.raises(ValueError, match="phrase"):
        Phrases(removed, added)


def test_a_noun_is_a_word_of_its_phrase():
    with pytest.raises(ValueError, match="no word of"):
        replace(MAN, noun="woman")


def test_the_likely_layer_of_a_finished_image_is_its_own():
    state = finished(MAN, CLUBS, HAT, AGAIN).state
    layer = likely_layer((MAN, CLUBS, HAT, AGAIN), state, SIZE)
    assert {chain.mentions for chain in layer.chains} == {chain.mentions for chain in state.chains}
    boxes = {chain.mentions: {drawn.box for drawn in chain.boxes} for chain in state.chains}
    assert {chain.mentions: set(layer.boxes_of(chain.id)) for chain in layer.chains} == boxes


def forecast_and_answered(seeds: range) -> tuple[float, int]:
    """Return, over random mends of images that are finished or half done, the forecast of answers, and those
    that a crowd gave with the mend less those that it gave without."""
    forecast, answered = 0.0, 0
    for seed in seeds:
        random = Random(seed)
        first = mended((), [Phrases((), (phrase(random),)) for _ in range(7)])
        ruling = mend(first, random)
        before, after = Fold(first), Fold(first, None, [ruling])
        # The truth knows the phrases before and after, and what they have to do with each other.
        both = mended((), [Phrases((), (m,)) for m in (*first, *after.mentions)])
        truth = Truth(stand_in(both, size=SIZE, seed=seed, image="x"), image="x", size=SIZE)
        judgments = simulate_image(first, truth, _careful(seed), review=False).judgments
        judgments = judgments if seed % 2 else judgments[: len(judgments) // 2]
        expected = forecast_mend(before, after, judgments, image="x", size=SIZE, seed=seed)
        opened = {question.key for question in after(judgments).questions}
        assert {question.key for question in expected.opened} <= opened
        forecast += sum(expected.answers.values())
        without, with_mend = (
            simulate_image(first, truth, _careful(seed), earlier=judgments, ruled=ruled, review=False)
            for ruled in ((), (ruling,))
        )
        answered += len(with_mend.judgments) - len(without.judgments)
    return forecast, answered


def _careful(seed: int) -> Crowd:
    """Return people who err as often as those of the rehearsal."""
    assert (SLIPS, SLACK) == (0.03, 0.03)
    return Crowd(make_crowd({"careful": 12}, seed=seed), seed=seed)


@pytest.mark.parametrize(
    ("images", "off"), [(30, 0.3), pytest.param(600, 0.12, marks=pytest.mark.slow)], ids=["30", "600"]
)
def test_the_forecast_of_mends_is_what_people_are_asked(images: int, off: float) -> None:
    forecast, answered = forecast_and_answered(range(images))
    assert answered > images
    assert abs(forecast - answered) <= off * answered, (forecast, answered)
