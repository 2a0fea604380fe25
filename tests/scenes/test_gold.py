"""Properties of every gold layer of the sample corpus."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from annotation.protocol.merging import merge_layer
from annotation.protocol.terms import (
    BODYPARTS,
    CATEGORIES,
    CLOTHING,
    OTHER,
    PEOPLE,
    SCENE,
    Box,
    ImageRecord,
    LayerObject,
    LayerRecord,
)
from scenes.gold import LEAST_AREA, LEAST_SIDE
from tests.scenes.conftest import PER_SEED


def layers(scenes: list[ImageRecord]) -> list[LayerRecord]:
    return [scene.layer for scene in scenes if scene.layer is not None]


def rebuilt(layer: LayerRecord) -> tuple[LayerObject, ...]:
    """Return the objects rebuilt from each chain's boxes only, in the canonical order."""
    boxes = layer.depicted()
    flags = {obj.chains[0]: (obj.scene, obj.nobndbox) for obj in layer.objects if obj.box is None}
    objects: list[LayerObject] = []
    listed: set[Box] = set()
    for chain in layer.chains:
        for box in sorted(boxes.get(chain.id, ())):
            if box not in listed:
                listed.add(box)
                named = tuple(
                    other_chain.id for other_chain in layer.chains if box in boxes.get(other_chain.id, ())
                )
                objects.append(LayerObject(named, box))
        if chain.id not in boxes:
            scene, nothing = flags[chain.id]
            objects.append(LayerObject((chain.id,), scene=scene, nobndbox=nothing))
    return tuple(objects)


def test_every_image_has_a_gold_layer(scenes):
    assert len(layers(scenes)) == len(scenes)


def test_mentions_are_the_words_at_their_place_and_never_overlap(scenes):
    for scene in scenes:
        ends: dict[int, int] = {}
        for mention in scene.layer.mentions:
            assert mention.tokens == scene.captions[mention.caption].words[mention.start : mention.end]
            assert mention.start >= ends.get(mention.caption, 0)
            ends[mention.caption] = mention.end


def test_no_chain_is_mentioned_twice_in_a_caption(scenes):
    for layer in layers(scenes):
        for chain in layer.chains:
            captions = [mention.caption for mention in chain.mentions]
            assert len(captions) == len(set(captions))


def test_a_chain_has_one_category_in_all_its_mentions(scenes):
    for layer in layers(scenes):
        for chain in layer.chains:
            assert len({mention.categories for mention in chain.mentions}) == 1
            assert len(chain.categories) == 1
            assert chain.categories[0] in CATEGORIES


def test_chain_ids_are_unique_in_the_whole_corpus_and_never_zero(scenes):
    for start in range(0, len(scenes), PER_SEED):
        ids = [chain.id for layer in layers(scenes[start : start + PER_SEED]) for chain in layer.chains]
        assert len(ids) == len(set(ids))
        assert all(int(name) > 0 for name in ids)


def test_chains_stand_in_the_order_of_their_first_mention(scenes):
    for layer in layers(scenes):
        first = [chain.mentions[0].span for chain in layer.chains]
        assert first == sorted(first)
        assert all(list(c.mentions) == sorted(c.mentions, key=lambda m: m.span) for c in layer.chains)


def test_objects_stand_in_the_canonical_order(scenes):
    for layer in layers(scenes):
        assert layer.objects == rebuilt(layer)


def test_a_chain_has_one_to_twelve_boxes_or_one_object_that_says_why_not(scenes):
    for layer in layers(scenes):
        boxes = layer.depicted()
        boxless = [obj for obj in layer.objects if obj.box is None]
        assert all(len(obj.chains) == 1 and obj.scene != obj.nobndbox for obj in boxless)
        for chain in layer.chains:
            bare = sum(obj.chains == (chain.id,) for obj in boxless)
            assert (chain.id in boxes) != (bare == 1)
            assert len(boxes.get(chain.id, ())) <= 12


def test_people_clothing_and_bodyparts_always_have_a_box(scenes):
    for layer in layers(scenes):
        boxes = layer.depicted()
        for chain in layer.chains:
            if chain.categories[0] in (PEOPLE, CLOTHING, BODYPARTS):
                assert chain.id in boxes


def test_only_scenes_and_other_things_go_without_a_box(scenes):
    for layer in layers(scenes):
        category = {chain.id: chain.categories[0] for chain in layer.chains}
        for obj in layer.objects:
            if obj.box is None:
                assert category[obj.chains[0]] == (SCENE if obj.scene else OTHER)


def test_boxes_lie_inside_the_picture_and_are_not_tiny(scenes):
    for scene in scenes:
        for obj in scene.layer.objects:
            if obj.box is not None:
                assert obj.box.xmax <= scene.width
                assert obj.box.ymax <= scene.height
                assert min(obj.box.width, obj.box.height) >= LEAST_SIDE
                assert obj.box.area >= LEAST_AREA


def test_the_boxes_of_a_chain_are_apart_and_go_from_left_to_right(scenes):
    for layer in layers(scenes):
        for boxes in layer.depicted().values():
            assert all(first.iou(two) < 0.5 for first, two in combinations(boxes, 2))
        for chain in layer.chains:
            own_boxes = layer.boxes_of(chain.id)
            assert {box.xmin for box in own_boxes} == {box.xmin for box in sorted(own_boxes)}
            unshared = [o.box for o in layer.objects if o.box is not None and o.chains == (chain.id,)]
            assert unshared == sorted(unshared)


def test_no_two_chains_point_to_the_same_boxes(scenes):
    for layer in layers(scenes):
        sets = [frozenset(boxes) for boxes in layer.depicted().values()]
        assert len(sets) == len(set(sets))


def test_gold_is_a_fixed_point_of_merging(scenes):
    for layer in layers(scenes):
        assert merge_layer(layer) == (layer, ())


def test_some_couple_shares_its_boxes_with_members_who_are_mentioned_apart(scenes):
    shared = [obj for layer in layers(scenes) for obj in layer.objects if len(obj.chains) > 1]
    assert len(shared) > len(scenes) / 4


def test_hard_cases_of_figure_1_are_there(scenes):
    seen: Counter[str] = Counter()
    for scene in scenes:
        boxes = scene.layer.depicted()
        for chain in scene.layer.chains:
            many, texts = len(boxes.get(chain.id, ())), {m.text.lower() for m in chain.mentions}
            seen["flags in plural"] += many > 1 and any(text.endswith("flags") for text in texts)
            seen["people in plural"] += many > 1 and chain.categories == (PEOPLE,)
            seen["clothes in plural"] += many > 1 and chain.categories == (CLOTHING,)
            seen["a crowd in one box"] += many == 1 and bool(texts & {"a crowd", "a large crowd"})
            seen["outside"] += not many and bool(texts & {"outside", "outdoors"})
            seen["glasses"] += many == 1 and "glasses" in texts
            seen["a trick"] += not many and "a trick" in texts
            seen["a colour alone"] += chain.categories == (CLOTHING,) and bool(
                texts & {"red", "blue", "white"}
            )
            seen["one mention only"] += len(chain.mentions) == 1
    missing = [case for case in seen if not seen[case]]
    assert not missing


def test_figures_lie_in_the_neighbourhood_of_table_1(scenes):
    """Plummer et al. 2015, section 2.4: 3.2 mentions a caption, 7.7 chains and 8.7 boxes an image."""
    images = len(scenes)
    chains = [chain for layer in layers(scenes) for chain in layer.chains]
    mentions = sum(len(chain.mentions) for chain in chains)
    boxes = sum(obj.box is not None for layer in layers(scenes) for obj in layer.objects)
    assert 14 <= mentions / images <= 18
    assert 6 <= len(chains) / images <= 9
    assert 6 <= boxes / images <= 10
    assert 0.40 <= sum(len(chain.mentions) > 1 for chain in chains) / len(chains) <= 0.60
    assert {chain.categories[0] for chain in chains} == set(CATEGORIES)
