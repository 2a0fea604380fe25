"""The rules of model annotators: on which images, which box, the effect of verdicts, and links."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from annotation.protocol.boxes import BoxLimits
from annotation.protocol.controls import draw_number
from annotation.protocol.image import Fold
from annotation.protocol.kinds import all_kinds, model_kinds
from annotation.protocol.model_annotators import (
    MOST_PROPOSALS,
    ModelAnnotatorSettings,
    ProposedBox,
    best_first,
    boxes_of_others,
    categories_left,
    learns_now,
    model_tries,
    model_trust,
    next_proposal,
)
from annotation.protocol.questions import BOX_DRAWING, COREF_LINK, Judgment, set_key
from annotation.protocol.rulings import Boxes, Partition, Ruling
from annotation.protocol.terms import Box
from annotation.protocol.trust_settings import TrustSettings
from tests.protocol.build import Play, mentions

LEFT, RIGHT = Box(1, 1, 40, 40), Box(60, 1, 99, 40)


def test_a_model_gives_only_answers_that_people_check() -> None:
    assert {kind.key: kind.model_answers for kind in all_kinds() if kind.model_answers} == {
        COREF_LINK: ("yes",),
        BOX_DRAWING: ("drawn",),
    }
    assert model_kinds(["box_quality", BOX_DRAWING, "no such kind"]) == (BOX_DRAWING,)


def test_a_larger_share_has_the_images_of_a_smaller_one() -> None:
    names = [f"image-{n}" for n in range(400)]
    shares = [0.0, 0.1, 0.5, 1.0]
    taken = [{n for n in names if ModelAnnotatorSettings(share=share).takes(n, seed=3)} for share in shares]
    assert taken[0] == set() and taken[-1] == set(names)
    assert all(a <= b for a, b in zip(taken, taken[1:], strict=False))
    assert 0.05 < len(taken[1]) / 400 < 0.16 and 0.43 < len(taken[2]) / 400 < 0.57
    assert taken[1] == {n for n in names if draw_number(3, n, "machine") < 0.1}
    assert taken[2] != {n for n in names if ModelAnnotatorSettings(share=0.5).takes(n, seed=4)}


def test_the_box_is_of_the_phrase_that_people_are_shown() -> None:
    image = mentions("a man/people", "the tall man/people")
    proposals = {image[0].id: [ProposedBox(LEFT, 0.9)], image[1].id: [ProposedBox(RIGHT, 0.8)]}
    assert next_proposal(proposals, image, (), least_chance=0.5) == ProposedBox(RIGHT, 0.8)
    assert next_proposal(proposals, image[:1], (), least_chance=0.5) == ProposedBox(LEFT, 0.9)
    assert next_proposal({}, image, (), least_chance=0.0) is None


def test_what_is_covered_is_passed_over_and_what_it_is_not_sure_of_is_left_to_people() -> None:
    (man,) = mentions("men/people")
    near = Box(3, 2, 41, 40)
    boxes = [ProposedBox(LEFT, 0.9), ProposedBox(near, 0.8), ProposedBox(RIGHT, 0.6)]
    result = [next_proposal({man.id: boxes}, [man], [LEFT], least_chance=least) for least in (0.5, 0.61)]
    assert result == [ProposedBox(RIGHT, 0.6), None]
    assert next_proposal({man.id: boxes}, [man], [LEFT, RIGHT], least_chance=0.0) is None


def test_what_people_refused_is_passed_over() -> None:
    (man,) = mentions("men/people")
    near, apart = Box(3, 2, 41, 40), Box(1, 1, 40, 25)
    assert near.iou(LEFT) >= 0.7 > apart.iou(LEFT) >= 0.5
    proposals = {man.id: [ProposedBox(LEFT, 0.9), ProposedBox(near, 0.8), ProposedBox(apart, 0.7)]}
    result = next_proposal(proposals, [man], [RIGHT], least_chance=0.2, rejected=[LEFT])
    assert result == ProposedBox(apart, 0.7)
    assert next_proposal(proposals, [man], [], least_chance=0.2, rejected=[LEFT, apart]) is None


def test_a_box_that_a_group_and_its_member_have_in_common_is_proposed_as_people_drew_it() -> None:
    (man,) = mentions("men/people")
    drawn, loose = Box(1, 1, 50, 50), Box(1, 1, 40, 40)
    assert 0.5 < loose.iou(drawn) < 0.7
    proposals = {man.id: [ProposedBox(loose, 0.9), ProposedBox(RIGHT, 0.8)]}
    choose = partial(next_proposal, proposals, [man], least_chance=0.2, of_others=[RIGHT, drawn])
    assert choose([]) == ProposedBox(drawn, 0.9)
    # Refused as this chain's box: it is another thing, so the proposal may be right.
    assert choose([], rejected=[drawn]) == ProposedBox(loose, 0.9)
    assert choose([], rejected=[drawn, loose]) == ProposedBox(RIGHT, 0.8)
    # One of the chain's own boxes: the next thing is searched.
    assert choose([drawn]) == ProposedBox(RIGHT, 0.8)
    far = Box(1, 1, 20, 20)
    assert next_proposal(
        {man.id: [ProposedBox(far, 0.9)]}, [man], [], least_chance=0.2, of_others=[drawn]
    ) == (ProposedBox(far, 0.9))


def test_a_group_and_its_members_may_have_boxes_in_common() -> None:
    men, man, another, coat, team = mentions(
        "two men/people", "a man/people", "the man/people", "a coat/clothing", "five fans/people/other"
    )
    named = {mention.id: mention for mention in (men, man, another, coat, team)}
    accepted = [((man.id,), LEFT), ((coat.id,), RIGHT), ((team.id,), LEFT), ((team.id,), RIGHT)]
    assert boxes_of_others(accepted, [men], [], named) == (LEFT, RIGHT)
    assert boxes_of_others(accepted[:2], [men], [], named) == (LEFT,)
    assert boxes_of_others(accepted, [coat], [], named) == ()
    assert boxes_of_others(accepted, [man, team], [], named) == ()
    # Two single things are different, unless one of them turns out to be several.
    assert boxes_of_others(accepted[:1], [another], [], named) == ()
    assert boxes_of_others(accepted[:1], [another], [RIGHT], named) == (LEFT,)
    twice = [((man.id,), LEFT), ((man.id,), RIGHT)]
    assert boxes_of_others(twice, [another], [], named) == (LEFT, RIGHT)
    # A box of one single thing is not proposed for another one, even if it is also a group's.
    of_group = [((man.id,), LEFT), ((men.id,), LEFT), ((men.id,), RIGHT)]
    assert boxes_of_others(of_group, [another], [], named) == (RIGHT,)
    near = Box(LEFT.xmin, LEFT.ymin, LEFT.xmax, LEFT.ymax - (LEFT.ymax - LEFT.ymin) // 10)
    assert boxes_of_others([*of_group, ((men.id,), near)], [another], [], named) == (RIGHT,)


def test_sharing_boxes_makes_no_two_things_one() -> None:
    """A plate and the food on it look alike: drawn apart they stay two chains, and no box joins them."""
    food, plate = mentions("some food/other", "a plate/other")
    of_food, of_plate = Box(1, 1, 100, 100), Box(1, 9, 100, 100)
    assert 0.8 <= of_food.iou(of_plate) < 0.95
    named = {mention.id: mention for mention in (food, plate)}
    others = boxes_of_others([((food.id,), of_food)], [plate], [], named)
    proposals = {plate.id: [ProposedBox(of_plate, 0.9)]}
    result = next_proposal(proposals, [plate], [], least_chance=0.2, of_others=others)
    assert result == ProposedBox(of_plate, 0.9)


def test_proposals_are_kept_best_first() -> None:
    boxes = [ProposedBox(Box(1, 1, n, n), n / 100) for n in range(1, 60)]
    stored = best_first(boxes)
    assert (
        len(stored) == MOST_PROPOSALS
        and stored == sorted(boxes, key=lambda box: -box.chance)[:MOST_PROPOSALS]
    )


def test_people_draw_again_for_a_category_below_the_bar() -> None:
    trust = model_trust(TrustSettings(), ModelAnnotatorSettings())
    people, clothes = ("people",), ("clothing", "people")

    def left(*verdicts: tuple[tuple[str, ...], bool]) -> frozenset[str]:
        return categories_left(verdicts, kind=BOX_DRAWING, settings=trust)

    assert left() == left(*[(people, False)] * 21) == frozenset()
    # Of 30 boxes 21 may be bad: with the next, the limit of 0.3 cannot be reached.
    assert left(*[(people, False)] * 22) == {"people"}
    assert left(*[(people, True)] * 9, *[(people, False)] * 21) == frozenset()
    assert left(*[(people, True)] * 8, *[(people, False)] * 22) == {"people"}
    # A chain of two categories counts for both.
    assert left(*[(people, True)] * 30, *[(clothes, False)] * 22) == {"clothing"}
    assert left(*[(clothes, False)] * 22, *[(people, True)] * 100) == {"clothing"}


def test_a_model_has_a_bar_of_its_own_and_no_test() -> None:
    settings = ModelAnnotatorSettings(bar=0.5)
    assert model_trust(TrustSettings(), settings) == replace(
        TrustSettings(), qualification=False, drawing_bar=0.5
    )


@pytest.mark.parametrize(
    ("settings", "finished", "learned", "now"),
    [
        (ModelAnnotatorSettings(), 100, None, False),
        (ModelAnnotatorSettings(share=1.0), 14, None, False),
        (ModelAnnotatorSettings(share=1.0), 15, None, True),
        (ModelAnnotatorSettings(share=1.0), 29, 15, False),
        (ModelAnnotatorSettings(share=1.0), 30, 15, True),
        (ModelAnnotatorSettings(share=1.0), 124, 100, False),
        (ModelAnnotatorSettings(share=1.0), 125, 100, True),
        (ModelAnnotatorSettings(share=1.0, retrain_every=0), 400, 40, False),
        (ModelAnnotatorSettings(share=1.0, system="trained"), 0, None, True),
        (ModelAnnotatorSettings(share=1.0, system="trained"), 14, 0, False),
        (ModelAnnotatorSettings(share=1.0, system="trained"), 15, 0, True),
        # Never from fewer images than for the first training, whatever the setting was then.
        (ModelAnnotatorSettings(share=1.0, from_images=100), 75, 60, False),
        (ModelAnnotatorSettings(share=1.0, from_images=100), 100, 60, True),
        (ModelAnnotatorSettings(share=1.0, from_images=50, retrain_every=5, system="trained"), 49, 0, False),
    ],
)
def test_when_a_model_learns(
    settings: ModelAnnotatorSettings, finished: int, learned: int | None, now: bool
) -> None:
    assert learns_now(settings, finished=finished, learned=learned) is now


class Links(Play):
    """A play in which a model annotator answers links too."""

    def link(self, worker: str, answer: str = "yes") -> Links:
        key = self.question(COREF_LINK).key
        model_annotator = worker == "model_annotator"
        self.judgments.append(
            Judgment(f"j{len(self.judgments)}", key, worker, answer, by_model=model_annotator)
        )
        return self

    def verify(self, worker: str, answer: str) -> Links:
        self.say(worker, answer, kind="chain_verification")
        return self

    @property
    def verifications(self) -> list[tuple[str, ...]]:
        return [
            question.mentions for question in self.state.questions if question.kind == "chain_verification"
        ]


IMAGE = ("a man/people", "a man/people", "a guitarist/people")


def test_what_people_linked_is_not_verified_again_once_it_was_refused() -> None:
    play = Links(mentions(*IMAGE)).link("ann").link("bob").verify("cid", "false")
    assert play.verifications == []
    assert [len(chain.mentions) for chain in play.state.chains] == [2, 1]


def test_what_a_model_linked_is_verified_until_a_person_has_said_that_it_is_one() -> None:
    play = Links(mentions(*IMAGE)).link("model_annotator").link("bob").verify("cid", "false")
    assert play.verifications == [("0:0-2", "1:0-2")]
    assert {chain.stage for chain in play.state.chains if len(chain.mentions) == 2} == {"VERIFICATION"}
    play.verify("dan", "true")
    assert play.verifications == [] and [len(chain.mentions) for chain in play.state.chains] == [2, 1]


def test_what_a_model_linked_and_people_refuse_twice_goes_to_review() -> None:
    play = (
        Links(mentions(*IMAGE))
        .link("model_annotator")
        .link("bob")
        .verify("cid", "false")
        .verify("dan", "false")
    )
    held = [chain for chain in play.state.chains if len(chain.mentions) == 2]
    assert [(chain.stage, chain.reason) for chain in held] == [("REVIEW", "refused")]


def test_the_fold_says_who_drew_what() -> None:
    play = Play(mentions("a man/people"))
    key = play.question(BOX_DRAWING).key
    play.judgments.append(Judgment("m", key, "model_annotator", "drawn", LEFT, by_model=True))
    play.say("ann", "good").say("bob", "more").say("cid", "drawn", RIGHT).say("bob", "good")
    play.say("ann", "complete").say("dan", "complete")
    assert play.state.complete
    assert [(thing.box, thing.by_model) for thing in play.state.layer.objects] == [
        (LEFT, True),
        (RIGHT, False),
    ]


def test_a_box_that_a_reviewer_keeps_as_it_is_remains_its_drawers() -> None:
    changed = Box(60, 1, 99, 41)
    for boxes, model_annotators in (((LEFT, RIGHT), [True, False]), ((LEFT, changed), [True, False])):
        play = Play(mentions("a man/people"), rulings=[Boxes(("0:0-2",), boxes)])
        key = Play(mentions("a man/people")).question(BOX_DRAWING).key
        beside = f"{key}1,1,40,40"
        play.judgments.append(Judgment("a", key, "ann", "none"))
        play.judgments.append(Judgment("m", key, "model_annotator", "drawn", LEFT, by_model=True))
        play.judgments.append(Judgment("b", beside, "bob", "drawn", RIGHT))
        for judgments in (play.judgments, play.judgments[::-1]):
            (chain,) = play.fold(judgments).chains
            stored = [(box.judgment, box.worker) for box in chain.boxes]
            assert stored == [("m", "model_annotator"), ("b", "bob") if RIGHT in boxes else ("", "")]
        assert [thing.by_model for thing in play.state.layer.objects] == model_annotators
        # Its drawing counts, although no question consumed it: without the superseded votes the result is the
        # same.
        assert play.state.superseded == (("a",) if RIGHT in boxes else ("a", "b"))
        used = [box for box in play.judgments if box.id not in play.state.superseded]
        assert play.fold(used).chains == play.state.chains
    # What is withdrawn counts for nobody: the box is the reviewer's only.
    gone = [replace(judgment, withdrawn=True) for judgment in play.judgments]
    assert not any(thing.by_model for thing in play.fold(gone).layer.objects)


def test_a_box_remains_its_drawers_where_a_reviewer_changes_the_phrases_of_its_chain() -> None:
    both = ("0:0-2", "1:0-2")
    image = ("a man/people", "a guy/people")
    drawn = Links(mentions(*image), rulings=[Partition(((both[0],), (both[1],)))])
    first, second = (question.key for question in drawn.state.questions if question.kind == BOX_DRAWING)
    drawn.judgments.append(Judgment("m", first, "model_annotator", "drawn", LEFT, by_model=True))
    drawn.judgments.append(Judgment("a", second, "ann", "drawn", RIGHT))
    together: list[Ruling] = [Partition((both,)), Boxes(both, (LEFT, RIGHT))]
    apart: list[Ruling] = [
        Partition(((both[0],), (both[1],))),
        Boxes((both[0],), (RIGHT,)),
        Boxes((both[1],), (LEFT,)),
    ]
    for ruled, drawers in ((together, ["m", "a"]), (apart, ["", ""])):
        for judgments in (drawn.judgments, drawn.judgments[::-1]):
            state = Fold(mentions(*image), rulings=ruled)(judgments)
            assert [question.judgment for chain in state.chains for question in chain.boxes] == drawers
    # Of equal boxes the one for exactly these phrases counts, even if a person drew the other.
    same = [*drawn.judgments, Judgment("b", set_key(BOX_DRAWING, " ".join(both)), "bob", "drawn", LEFT)]
    state = Fold(mentions(*image), rulings=[apart[0], Boxes((both[0],), (LEFT,))])(same)
    assert [question.judgment for question in state.chains[0].boxes] == ["m"]


def test_of_equal_boxes_that_a_reviewer_keeps_a_persons_counts() -> None:
    """People refused the model annotator's, and accepted the person's."""
    play = Play(mentions("a man/people"))
    key = play.question(BOX_DRAWING).key
    play.judgments.append(Judgment("m", key, "model_annotator", "drawn", LEFT, by_model=True))
    play.say("bob", "bad")
    play.judgments.append(Judgment("a", key, "ann", "drawn", LEFT))
    play.say("bob", "good").say("bob", "complete").say("cid", "complete")
    before = play.state
    stored = Fold(mentions("a man/people"), rulings=[Boxes(("0:0-2",), (LEFT,))])(play.judgments)
    for state in (before, stored):
        assert [box.judgment for chain in state.chains for box in chain.boxes] == ["a"]


def test_a_model_leaves_people_a_round_before_review() -> None:
    tries = {
        (tries, fruitless): model_tries(ModelAnnotatorSettings(tries=tries), BoxLimits(fruitless=fruitless))
        for tries, fruitless in ((1, 3), (2, 3), (4, 3), (2, 1), (2, 0))
    }
    assert tries == {(1, 3): 1, (2, 3): 2, (4, 3): 3, (2, 1): 1, (2, 0): 0}


def test_a_models_further_box_counts_once_its_first_is_refused() -> None:
    play = Play(mentions("a man/people"))
    key = play.question(BOX_DRAWING).key
    boxes = (LEFT, RIGHT)
    play.judgments += [
        Judgment(f"m{index}", key, "model_annotator", "drawn", box, by_model=True)
        for index, box in enumerate(boxes)
    ]
    play.judgments.append(Judgment("again", key, "ann", "drawn", LEFT))
    play.judgments.append(Judgment("twice", key, "ann", "drawn", RIGHT))
    # A person's second answer to a question is ignored; a model annotator's is read, in its turn.
    for answer, pending in (("bad", "m1"), ("bad", "again")):
        play.say("bob", answer)
        (chain,) = play.state.chains
        assert chain.pending is not None and chain.pending.judgment == pending
    assert "twice" in play.state.superseded
    links = [
        Judgment(f"l{n}", "coref_link|0:0-2|1:0-2", "model_annotator", "yes", by_model=True) for n in (1, 2)
    ]
    assert Play(mentions("a man/people", "the man/people")).fold(links).superseded == ("l2",)
