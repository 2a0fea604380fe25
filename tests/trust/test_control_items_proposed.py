"""Control items proposed by a campaign: from gold, and from agreement of workers."""

from __future__ import annotations

from collections import Counter

import pytest

from annotation.models import Control
from annotation.moderation import control_items
from annotation.moderation.control_items.from_layer import FAILS, FITS, gold_answer
from annotation.protocol import questions as q
from annotation.protocol.contents import question_from
from annotation.quality import controls
from annotation.queue.submission import Answer
from phrasebox.errors import PhraseboxError
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import gold, scenes

pytestmark = pytest.mark.django_db


# From gold


def test_gold_gives_both_purposes_of_every_kind_and_every_answer():
    world = scenes(20)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    counts = Counter(Control.objects.values_list("purpose", "kind", "stratum"))
    answers = {(kind, answer) for kind, known in q.ANSWERS.items() for answer in known}
    assert {(kind, a) for purpose, kind, a in counts if purpose == Control.QUALIFICATION} == answers
    assert {(kind, a) for purpose, kind, a in counts if purpose == Control.CONTROL} == {
        (kind, answer) for kind, answer in answers if kind != q.BOX_DRAWING
    }
    assert max(counts.values()) <= 18


def test_what_gold_gives_is_right_plain_and_asked_once():
    world = scenes(12)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign), seed=3)
    keys = Counter(Control.objects.values_list("image", "key"))
    assert set(keys.values()) == {1}
    for row in Control.objects.all():
        truth = world.truths[row.image_id]
        question = question_from(row.kind, row.key, row.content)
        assert controls.gold_from_json(row.kind, row.known) == gold_answer(question, truth)
        if question.boxes:
            boxes = truth.boxes[truth.chain(question.mentions)]
            assert all(max(map(box.iou, boxes)) >= FITS for box in question.boxes)
        if question.pending is not None:
            left = truth.uncovered(truth.chain(question.mentions), question.boxes)
            fit = max(map(question.pending.iou, left), default=0.0)
            assert fit >= FITS if row.known == "good" else fit < FAILS


def test_the_same_seed_takes_the_same_questions_and_only_of_the_images_named():
    world, other_scenes = scenes(8), scenes(8, name="again")
    images = [image.image.key for image in world.images()][:3]
    for row in (world, other_scenes):
        control_items.from_gold(campaign=row.campaign, layer=gold(row.campaign), images=images, seed=5)
        again = control_items.from_gold(
            campaign=row.campaign, layer=gold(row.campaign), images=images, seed=5
        )
        assert again.added == 0
    rows = [
        set(Control.objects.filter(campaign=row.campaign).values_list("purpose", "image__key", "key"))
        for row in (world, other_scenes)
    ]
    assert rows[0] == rows[1] and {image for _, image, _ in rows[0]} == set(images)


def test_scarce_answers_are_shared_between_the_purposes():
    world = scenes(8)
    control_items.from_gold(
        campaign=world.campaign, layer=gold(world.campaign), per_answer={"control": 300, "qualification": 300}
    )
    counts = Counter(Control.objects.exclude(kind=q.BOX_DRAWING).values_list("kind", "stratum", "purpose"))
    for kind, answer, _ in list(counts):
        both = counts[kind, answer, "control"], counts[kind, answer, "qualification"]
        assert abs(both[0] - both[1]) <= 1, (kind, answer)


def test_a_layer_that_covers_none_of_the_images_is_refused():
    world = scenes(1)
    with pytest.raises(PhraseboxError, match="covers none of these images"):
        control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign), images=["nowhere"])


# From agreement


def three_votes() -> World:
    """An image with one link, on which three workers of five must agree."""
    return World(some_images(1), settings={**TRUSTING, "link_votes": 5}, workers=5)


def voted(world: World, *answers: str) -> None:
    """Submit answers to the one link, worker by worker; other words are flags."""
    for worker, answer in enumerate(answers):
        provided = Answer(answer) if answer in q.ANSWERS[q.COREF_LINK] else Answer(flag=answer)
        world.submit(worker, world.held(worker), provided, then=False)


def test_what_three_workers_agreed_on_becomes_a_control_item_that_shows_the_same():
    world = three_votes()
    lease = world.held(0)
    voted(world, "no", "no", "no")
    added = control_items.promote(campaign=world.campaign, kind=q.COREF_LINK)
    assert added.added == 1
    row = Control.objects.get()
    assert (row.key, row.content, row.image_id) == (lease.key, lease.content, lease.image)
    assert (row.known, row.source, row.purpose) == ("no", "promoted", Control.CONTROL)
    assert control_items.promote(campaign=world.campaign, kind=q.COREF_LINK).added == 0


def test_disagreement_is_not_promoted():
    world = three_votes()
    voted(world, "no", "yes", "no", "no")
    assert control_items.promote(campaign=world.campaign, kind=q.COREF_LINK).added == 0


def test_a_question_that_is_open_still_is_not_promoted():
    world = three_votes()
    voted(world, "no", "no")
    assert control_items.promote(campaign=world.campaign, kind=q.COREF_LINK, at_least=2).added == 0


def test_a_question_that_somebody_flagged_is_not_promoted():
    world = three_votes()
    voted(world, "chunk_wrong", "no", "no", "no")
    assert control_items.promote(campaign=world.campaign, kind=q.COREF_LINK).added == 0


@pytest.mark.parametrize("how", [{"blocked": True}, {"state": "suspended"}])
def test_the_word_of_a_suspended_worker_promotes_nothing(how):
    world = three_votes()
    voted(world, "no", "no", "no")
    world.campaign.trust_states.filter(worker=world.workers[1]).update(**how)
    assert control_items.promote(campaign=world.campaign, kind=q.COREF_LINK).added == 0


@pytest.mark.parametrize(("kind", "at_least"), [(q.BOX_DRAWING, 3), ("relevance", 3), (q.COREF_LINK, 1)])
def test_what_cannot_agree_is_refused(kind, at_least):
    world = World()
    with pytest.raises(PhraseboxError):
        control_items.promote(campaign=world.campaign, kind=kind, at_least=at_least)
