"""Training data of a model annotator: chains with their boxes, of complete or unfinished images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from annotation.campaigns import model_annotators
from annotation.campaigns.training import training_records
from annotation.models import Image, Judgment, OpenImage
from annotation.protocol.boxes import BOXED
from annotation.protocol.likely_count import likely_count
from annotation.protocol.questions import BOX_QUALITY
from annotation.protocol.state import ChainState, ImageState
from annotation.protocol.terms import LayerRecord
from annotation.queue.image_state import state_of
from config.sample import sample_records
from tests.factories import some_images
from tests.queue.world import World

pytestmark = pytest.mark.django_db


def share_with_boxes(state: ImageState) -> float:
    stages = [chain.stage for chain in state.chains]
    boxed = stages.count("BOXED") + stages.count("COVERAGE")
    going = sum(
        stages.count(item) for item in ("VERIFICATION", "REQUIREMENT", "DRAWING", "QUALITY", "REVIEW")
    )
    return boxed / (boxed + going + 0.48 * stages.count("LINKING")) if boxed else 0.0


def has_its_boxes(chain: ChainState) -> bool:
    return chain.stage == BOXED or len(chain.boxes) >= max(1, likely_count(chain.mentions))


def test_the_chains_with_boxes_of_images_under_way_are_learned_from(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    world = World(list(sample_records(3, seed=7, out=tmp_path / "pictures")))

    def opened() -> list[tuple[OpenImage, ImageState]]:
        rows = OpenImage.objects.filter(campaign=world.campaign).select_related("image")
        return [(row, state_of(row)) for row in rows]

    def worth() -> float:
        return sum(1.0 if row.complete else share_with_boxes(state) for row, state in opened())

    def reached(least: float) -> bool:
        return worth() >= least

    def some_boxes_of_a_chain() -> bool:
        chains = [chain for _, state in opened() for chain in state.chains]
        return any(chain.boxes and not has_its_boxes(chain) for chain in chains)

    assert training_records.count_training_images(world.campaign) == 0
    complete, under_way, excluded = [], 0, 0
    moments: list[Callable[[], bool]] = [partial(reached, least) for least in (0.2, 0.4, 0.6, 1.0, 2.0, 99.0)]
    moments.insert(1, some_boxes_of_a_chain)
    for moment in moments:
        world.work(enough=moment)
        assert training_records.count_training_images(world.campaign) == int(worth() + 1e-9)
        complete.append(model_annotators.count_finished(world.campaign))
        layers = {record.id: record.layer for record in training_records.training_records_of(world.campaign)}
        for row, state in opened():
            layer = layers.get(row.image.key) or LayerRecord()
            trained = {
                (mention.id, box)
                for chain, boxes in layer.depicted().items()
                for mention in next(item.mentions for item in layer.chains if item.id == chain)
                for box in boxes
            }
            known = {
                (mention.id, box.box)
                for chain in state.chains
                if has_its_boxes(chain)
                for mention in chain.mentions
                for box in chain.boxes
            }
            # Boxes of one thing are merged if an image is complete.
            assert trained == known or (row.complete and {m for m, _ in trained} == {m for m, _ in known})
            under_way += bool(trained) and not row.complete
            excluded += sum(bool(chain.boxes) and not has_its_boxes(chain) for chain in state.chains)
    assert complete[0] == 0 and complete[-1] == 3 and under_way and excluded


def test_images_without_a_box_or_a_picture_count_as_none(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    world = World(list(sample_records(3, seed=7, out=tmp_path / "pictures")))
    world.work()
    assert training_records.count_training_images(world.campaign) == 3
    row, another, _ = OpenImage.objects.filter(campaign=world.campaign)
    # As for captions without mentions: it was complete when it was opened.
    OpenImage.objects.filter(pk=row.pk).update(chain_stages={})
    assert training_records.count_training_images(world.campaign) == 2
    Image.objects.filter(pk=another.image_id).update(picture="")
    assert training_records.count_training_images(world.campaign) == 1


def test_images_are_in_the_order_of_their_first_verdicts(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    world = World(some_images(3))

    def judged(images: int) -> bool:
        return len(training_records.first_verdicts(world.campaign)) >= images

    orders = []
    for images in (1, 2, 3):
        world.work(enough=partial(judged, images))
        orders.append(list(training_records.first_verdicts(world.campaign)))
    verdicts = Judgment.objects.filter(campaign=world.campaign, kind=BOX_QUALITY).order_by("pk")
    assert orders[-1] == list(dict.fromkeys(verdicts.values_list("image__image__key", flat=True)))
    assert all(orders[-1][: len(order)] == order for order in orders)
