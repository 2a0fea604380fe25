"""The fold of an image, in examples."""

import pytest

from annotation.protocol.boxes import BoxLimits
from annotation.protocol.image import Fold, fold, may_be_asked_again
from annotation.protocol.merging import MergeRules
from annotation.protocol.questions import BadJudgment, Judgment, withdraw_judgments
from annotation.protocol.rulings import Boxes, Closure, KeepApart, Partition, Resume, Ruling
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import Box
from tests.protocol.build import Play, mentions

BALL, DOG, MAN = Box(1, 1, 10, 10), Box(30, 30, 60, 60), Box(100, 5, 150, 200)


def test_one_mention_per_lane_is_open_and_lanes_go_on_side_by_side():
    state = fold(mentions("a man/people, a dog/animals", "a guy/people, a puppy/animals", "one/people"), [])
    assert [(q.kind, q.mentions) for q in state.questions] == [
        ("coref_link", ("0:0-2", "1:0-2")),
        ("coref_link", ("0:3-5", "1:3-5")),
    ]
    assert {c.stage for c in state.chains} == {"LINKING"}


def test_mentions_of_one_caption_and_of_different_categories_are_never_compared():
    state = fold(mentions("a man/people, a boy/people", "a tree/other"), [])
    assert {q.kind for q in state.questions} == {"box_drawing", "box_requirement"}


def test_a_yes_spares_the_other_candidates():
    play = Play(mentions("a man/people, a boy/people", "the man/people"))
    assert play.question("coref_link").mentions == ("0:0-2", "1:0-2")
    play.say("ann", "yes", kind="coref_link")
    assert [q.kind for q in play.state.questions] == ["chain_verification", "box_drawing"]


def test_no_to_all_candidates_starts_a_chain():
    play = Play(mentions("a man/people, a boy/people", "a child/people"))
    play.say("ann", "no", kind="coref_link").say("bob", "no", kind="coref_link")
    assert [len(c.mentions) for c in play.state.chains] == [1, 1, 1]


def test_likely_first_asks_about_the_same_head_noun_where_print_asks_by_age():
    image = mentions("a man/people, a red dog/people", "the dog/people")
    assert Fold(image)([]).questions[0].mentions == ("0:3-6", "1:0-2")
    assert Fold(image, ImageSettings(order="as_printed"))([]).questions[0].mentions == ("0:0-2", "1:0-2")


def test_best_of_three_asks_a_third_only_to_break_a_tie():
    play = Play(mentions("a man/people", "a guy/people"), ImageSettings(link_votes=3))
    assert play.question().needed == 2
    play.say("ann", "yes").say("bob", "no")
    assert play.question().needed == 1 and play.question().barred == {"ann", "bob"}
    play.say("cyd", "no")
    assert [len(c.mentions) for c in play.state.chains] == [1, 1]


def test_a_refused_chain_falls_into_sets_of_one_head_noun_and_they_are_not_verified_again():
    play = Play(mentions("a man/people", "a guy/people", "the man/people"))
    play.say("ann", "yes").say("ann", "yes").say("bob", "false")
    assert [[m.text for m in c.mentions] for c in play.state.chains] == [["a man", "the man"], ["a guy"]]
    assert {q.kind for q in play.state.questions} == {"box_drawing"}


def test_a_refused_chain_with_a_single_head_noun_goes_to_review():
    play = Play(mentions("a man/people", "the Man/people")).say("ann", "yes").say("bob", "false")
    (chain,) = play.state.chains
    assert (chain.stage, chain.reason, play.state.questions, play.state.complete) == (
        "REVIEW",
        "refused",
        (),
        False,
    )


def boxed(play: Play, box: Box, drawer: str = "ann") -> Play:
    return play.say(drawer, "drawn", box).say("bob", "good").say("bob", "complete").say("cyd", "complete")


def test_a_chain_is_boxed_when_two_workers_find_it_complete():
    state = boxed(Play(mentions("a man/people")), MAN).state
    assert state.complete and state.chains[0].stage == "BOXED" and state.layer.boxes_of("0:0-2") == (MAN,)


def test_a_drawer_never_judges_their_own_box():
    play = Play(mentions("a man/people")).say("ann", "drawn", MAN)
    assert "ann" in play.question("box_quality").barred
    play.say("ann", "good")
    assert play.question("box_quality").needed == 1  # the drawer's answer is ignored
    play.say("bob", "good")
    assert play.question("box_coverage").barred == {"ann"}
    assert "j1" in play.state.superseded


def test_the_quality_of_a_redrawn_box_is_a_new_question():
    play = Play(mentions("a man/people")).say("ann", "drawn", MAN).say("bob", "bad").say("cyd", "drawn", MAN)
    assert play.question("box_quality").barred == {"cyd"}


def test_a_first_box_vote_settles_and_a_first_no_wants_agreement():
    image = mentions("a ball/other")
    assert Play(image).say("ann", "box").question().kind == "box_drawing"
    play = Play(image).say("ann", "none").say("bob", "box")
    assert play.question().kind == "box_requirement"
    assert play.say("cyd", "scene").state.chains[0].kind == "scene"


def test_nothing_drawn_returns_to_requirement_which_one_more_no_settles():
    play = Play(mentions("a ball/other")).say("ann", "box").say("bob", "none")
    assert play.question().kind == "box_requirement" and play.question().barred == {"ann"}
    state = play.say("cyd", "none").state
    assert (state.chains[0].stage, state.chains[0].kind) == ("NON_VISUAL", "none")
    (obj,) = state.layer.objects
    assert (obj.box, obj.scene, obj.nobndbox) == (None, False, True)


def test_no_box_left_to_draw_goes_to_coverage_and_is_no_vote_there():
    play = Play(mentions("dogs/animals")).say("ann", "box").say("ann", "drawn", DOG).say("bob", "good")
    play.say("bob", "more").say("cyd", "none")
    assert (play.question().kind, play.question().needed) == ("box_coverage", 1)
    assert play.say("cyd", "complete").say("dan", "complete").state.complete


def test_the_second_flag_sends_a_chain_to_review_and_the_first_hides_it():
    play = Play(mentions("a man/people")).say("ann", flag="chunk_wrong")
    assert play.question().barred == {"ann"} and play.question().kind == "box_drawing"
    state = play.say("bob", flag="offensive").state
    assert (state.chains[0].stage, state.chains[0].reason) == ("REVIEW", "flagged")


def test_flags_at_different_stages_add_up():
    play = Play(mentions("a man/people")).say("ann", flag="chunk_wrong").say("bob", "drawn", MAN)
    assert play.say("cyd", flag="chunk_wrong").state.chains[0].stage == "REVIEW"


def test_a_mention_flagged_twice_while_linking_is_held_and_its_lane_goes_on():
    play = Play(mentions("a man/people", "the if/people", "the man/people"))
    play.say("ann", flag="chunk_wrong").say("bob", flag="chunk_wrong")
    assert play.question("coref_link").mentions == ("0:0-2", "2:0-2")
    play.say("ann", "yes", kind="coref_link")
    held = next(c for c in play.state.chains if c.id == "1:0-2")
    assert (held.stage, held.reason) == ("REVIEW", "flagged")


def test_a_reviewer_resumes_a_chain_where_it_was():
    image = mentions("a man/people")
    play = Play(image).say("ann", "drawn", MAN).say("bob", flag="offensive").say("cyd", flag="offensive")
    resumed = Fold(image, rulings=[Resume(("0:0-2",))])(play.judgments)
    assert resumed.questions[0].kind == "box_quality" and resumed.questions[0].pending == MAN


def test_resuming_lifts_what_was_closed_before():
    image = mentions("a ball/other")
    closed = Closure(("0:0-2",), "none")
    assert fold(image, [], rulings=[closed]).complete
    assert not fold(image, [], rulings=[closed, Resume(("0:0-2",))]).complete


def test_nothing_that_a_ruling_covers_is_asked():
    image = mentions("a man/people, a ball/other", "the guy/people, the ball/other")
    rulings: list[Ruling] = [
        Partition((("0:0-2", "1:0-2"), ("0:3-5", "1:3-5"))),
        Boxes(("0:0-2", "1:0-2"), (MAN,)),
        Closure(("0:3-5", "1:3-5"), "none"),
    ]
    state = fold(image, [], rulings=rulings)
    assert state.questions == () and state.complete
    assert [c.stage for c in state.chains] == ["BOXED", "NON_VISUAL"]


def test_of_two_rulings_the_later_holds():
    image = mentions("a man/people", "the guy/people")
    together, apart = Partition((("0:0-2", "1:0-2"),)), Partition((("0:0-2",), ("1:0-2",)))
    assert len(fold(image, [], rulings=[together, apart]).chains) == 2
    assert len(fold(image, [], rulings=[apart, together]).chains) == 1


def test_rulings_hold_together_and_apart_what_follows_from_them():
    image = mentions("a man/people", "a guy/people", "a boy/people")
    a, b, c = (m.id for m in image)
    for rulings in (
        [Partition(((a, b),)), Partition(((b, c),))],
        [Partition(((a, c),)), Partition(((b, c),))],
    ):
        state = fold(image, [], rulings=rulings)
        assert [q.kind for q in state.questions] == ["box_drawing"] and len(state.chains) == 1
    state = fold(image, [], rulings=[Partition(((a, c),)), KeepApart(b, c)])
    assert [[m.id for m in chain.mentions] for chain in state.chains] == [[a, c], [b]]
    assert {q.kind for q in state.questions} == {"box_drawing"}


def test_a_later_ruling_lifts_an_older_one_only_where_they_contradict():
    image = mentions("a man/people", "a guy/people", "a boy/people")
    a, b, c = (m.id for m in image)
    state = fold(image, [], rulings=[Partition(((a, b, c),)), KeepApart(a, c)])
    assert {frozenset(m.id for m in chain.mentions) for chain in state.chains} == {
        frozenset((a, b)),
        frozenset((c,)),
    }


def test_a_held_mention_is_joined_by_what_a_reviewer_puts_to_it():
    image = mentions("a man/people", "a guy/people", "a boy/people")
    a, b, c = (m.id for m in image)
    play = Play(image).say("ann", flag="chunk_wrong").say("bob", flag="chunk_wrong")
    chains = Fold(image, rulings=[Partition(((b, c),))])(play.judgments).chains
    assert [(c.stage, len(c.mentions)) for c in chains] == [("DRAWING", 1), ("REVIEW", 2)]


def test_a_partition_that_agrees_does_not_weaken_keep_apart():
    image = mentions("a dog/animals", "a beast/animals")
    a, b = (m.id for m in image)
    rulings: list[Ruling] = [KeepApart(a, b), Boxes((a,), (DOG,)), Boxes((b,), (DOG,))]
    assert len(fold(image, [], rulings=rulings).layer.objects) == 2
    assert len(fold(image, [], rulings=[*rulings, Partition(((a,), (b,)))]).layer.objects) == 2
    distinct = fold(image, [], rulings=[*rulings[1:], Partition(((a,), (b,)))]).layer
    assert len(distinct.objects) == 1 and len(distinct.chains) == 2


def test_a_ruling_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="0:0-2 is named twice"):
        Partition((("0:0-2", "1:0-2"), ("0:0-2",)))
    with pytest.raises(ValueError, match="one box or more"):
        Boxes(("0:0-2",), ())
    with pytest.raises(ValueError, match="'maybe'"):
        Closure(("0:0-2",), "maybe")


def test_a_ruling_is_logged_as_such_and_overrides_what_workers_drew():
    play = boxed(Play(mentions("a man/people")), MAN)
    (chain,) = Fold(mentions("a man/people"), rulings=[Closure(("0:0-2",), "none")])(play.judgments).chains
    assert (chain.stage, chain.boxes) == ("NON_VISUAL", ())
    assert [(m.stage, m.outcome, m.next) for m in chain.moves] == [("DRAWING", "RULED", "NON_VISUAL")]


def test_a_ruling_on_a_mention_that_is_no_more_falls_silent():
    image = mentions("a man/people", "the guy/people")
    ruled = fold(image, [], rulings=[Partition((("0:0-3", "1:0-2"),)), Boxes(("0:0-3",), (MAN,))])
    assert ruled == fold(image, [])


def test_a_partition_may_join_what_categories_keep_apart():
    image = mentions("a man/people, acrobatics/other")
    (chain,) = fold(image, [], rulings=[Partition((("0:0-2", "0:3-4"),))]).chains
    assert len(chain.mentions) == 2


def test_closed_images_merge_and_keep_apart_undoes_it():
    image = mentions("a dog/animals", "a beast/animals")
    play = Play(image).say("ann", "no")
    for worker in ("ann", "bob"):
        play.say(worker, "box", kind="box_requirement")
    for chain_box in (DOG, Box(30, 30, 60, 61)):
        boxed(play, chain_box, "dan")
    state = play.state
    assert [c.id for c in state.layer.chains] == ["0:0-2"] and len(state.layer.objects) == 1
    assert [m.what for m in state.merged] == ["boxes", "chains"]
    undone = Fold(image, rulings=[KeepApart("0:0-2", "1:0-2")])(
        [j for j in play.judgments if j.answer != "no"]
    )
    assert len(undone.layer.chains) == 2 and len(undone.layer.objects) == 2 and undone.merged == ()


def test_controls_double_checks_withdrawn_and_repeated_answers_never_enter():
    image = mentions("a man/people", "the man/people")
    key = fold(image, []).questions[0].key
    beside = [
        Judgment("a", key, "ann", "yes", role="control"),
        Judgment("b", key, "bob", "yes", role="double_check"),
        Judgment("c", key, "cyd", "yes", withdrawn=True),
    ]
    state = fold(image, beside)
    assert state.chains == fold(image, []).chains and state.superseded == ()
    # Who answered a double check is not asked the same again; others may be.
    assert state.questions[0].needed == 1 and state.questions[0].barred == {"bob"}
    doubled = fold(image, [Judgment("d", key, "dan", "no"), Judgment("e", key, "dan", "yes")])
    assert len(doubled.chains) == 2 and doubled.superseded == ("e",)


def test_discarding_a_worker_reopens_what_they_settled():
    play = Play(mentions("a man/people", "the man/people")).say("bad", "no")
    assert len(play.state.chains) == 2
    play.judgments = withdraw_judgments(play.judgments, worker="bad", question="coref_link")
    assert play.question().kind == "coref_link" and play.question().barred == frozenset()


@pytest.mark.parametrize(
    "judgment",
    [
        Judgment("x", "coref_link|0:0-2|1:0-2", "ann", "maybe"),
        Judgment("x", "nonsense|0:0-2", "ann", "yes"),
        Judgment("x", "box_drawing|0:0-2|", "ann", "drawn"),
        Judgment("x", "box_drawing|0:0-2|", "ann", "none", MAN),
        Judgment("x", "coref_link|0:0-2|1:0-2", "ann", "", flag="bored"),
        Judgment("x", "coref_link|0:0-2|1:0-2", "ann", "yes", flag="offensive"),
    ],
)
def test_an_answer_its_question_does_not_know_is_refused_by_name(judgment):
    with pytest.raises(BadJudgment, match="judgment x"):
        fold(mentions("a man/people"), [judgment])


def test_two_mentions_on_one_span_are_refused():
    with pytest.raises(ValueError, match="same span"):
        Fold([*mentions("a man/people"), *mentions("a man/animals")])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ImageSettings, {"order": "random"}),
        (ImageSettings, {"link_votes": 2}),
        (ImageSettings, {"verification_votes": 0}),
        (ImageSettings, {"link_votes": 3.0}),
        (ImageSettings, {"flags_to_review": -2}),
        (BoxLimits, {"fruitless": "three"}),
        (BoxLimits, {"boxes": 0}),
        (MergeRules, {"iou": "a"}),
        (MergeRules, {"iou_other": 1.5}),
        (MergeRules, {"never": (("people",),)}),
    ],
)
def test_settings_that_cannot_work_are_refused(kind, values):
    with pytest.raises(ValueError, match="expected|odd number|is none of"):
        kind(**values)


def test_a_question_of_the_box_loop_may_be_asked_again_until_the_chain_is_closed() -> None:
    play = Play(mentions("a man/people"))
    play.say("ann", "drawn", MAN).say("bob", "good")
    key = play.question("box_coverage").key
    play.say("cyd", "more")
    assert play.question().kind == "box_drawing" and may_be_asked_again(key, play.state)
    # Its drawer finds no other: the same question is asked once more, and settled differently.
    play.say("eve", "none")
    assert play.question().key == key and may_be_asked_again(key, play.state)
    play.say("fay", "complete").say("gus", "complete")
    assert play.state.complete and not may_be_asked_again(key, play.state)
