"""Merging: which boxes are merged, which never are, and the effect on chains."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.merging import canonical_layer, merge_layer
from annotation.protocol.terms import CATEGORIES, Box, Chain, LayerObject, LayerRecord, Mention

SQUARE = Box(1, 1, 100, 100)


def shifted(pixels: int) -> Box:
    return Box(1, 1 + pixels, 100, 100 + pixels)


def chain(name: str, category: str, count: int = 1, caption: int = 0) -> Chain:
    index = int(name) * 3
    return Chain(
        name, tuple(Mention(caption + i, index, index + 1, (f"w{name}",), (category,)) for i in range(count))
    )


def layer(*parts) -> LayerRecord:
    return canonical_layer((c, boxes, "") for c, boxes in parts)


def test_boxes_of_two_chains_merge_from_an_iou_of_four_fifths_on_and_the_better_mentioned_survives():
    assert SQUARE.iou(shifted(11)) == pytest.approx(89 / 111)
    record = layer(
        (chain("1", "animals"), (SQUARE,)), (chain("2", "animals", 3), (shifted(11), Box(200, 1, 220, 9)))
    )
    merged, log = merge_layer(record)
    assert merged.objects == (LayerObject(("1", "2"), shifted(11)), LayerObject(("2",), Box(200, 1, 220, 9)))
    assert [(entry.what, entry.chains) for entry in log] == [("boxes", ("2", "1"))]


def test_a_persons_box_survives_a_models_of_a_chain_with_more_mentions():
    record = layer((chain("1", "animals"), (SQUARE,)), (chain("2", "animals", 3), (shifted(11),)))
    drawn, proposed = record.objects
    record = replace(record, objects=(drawn, replace(proposed, by_model=True)))
    merged, _ = merge_layer(record)
    assert [(own_object.box, own_object.by_model) for own_object in merged.objects] == [(SQUARE, False)]
    assert [c.id for c in merged.chains] == ["2"]


@pytest.mark.parametrize(
    ("category", "shift", "merges"),
    [("animals", 12, False), ("animals", 11, True), ("other", 11, False), ("other", 5, True)],
)
def test_thresholds_are_those_of_print(category, shift, merges):
    record = layer(
        (chain("1", "animals"), (SQUARE,)), (chain("2", category), (shifted(shift), Box(300, 1, 310, 9)))
    )
    assert bool(merge_layer(record)[1]) is merges


@pytest.mark.parametrize(
    ("item", "two", "merges"),
    [("people", "clothing", False), ("bodyparts", "people", False), ("clothing", "bodyparts", True)],
)
def test_people_never_merge_with_clothing_nor_bodyparts(item, two, merges):
    record = layer((chain("1", item), (SQUARE,)), (chain("2", two), (SQUARE,)))
    merged, log = merge_layer(record)
    assert bool(log) is merges
    assert len(merged.chains) == (1 if merges else 2)


def test_chains_with_the_same_boxes_become_one_under_the_longer_ones_name():
    record = layer((chain("1", "people"), (SQUARE,)), (chain("2", "people", 2), (shifted(1),)))
    merged, log = merge_layer(record)
    assert [c.id for c in merged.chains] == ["2"] and len(merged.chains[0].mentions) == 3
    assert merged.objects == (LayerObject(("2",), shifted(1)),)
    assert [entry.what for entry in log] == ["boxes", "chains"]


def test_the_log_names_the_pair_that_overlapped_and_the_boxes_that_chains_share():
    tall, middle, short = Box(1, 1, 100, 100), Box(1, 1, 100, 90), Box(1, 1, 100, 75)
    record = layer(
        (chain("1", "animals", 3), (tall,)),
        (chain("2", "animals"), (middle,)),
        (chain("3", "animals"), (short,)),
    )
    _, log = merge_layer(record)
    for entry in log[:2]:
        assert entry.iou == pytest.approx(entry.boxes[0].iou(entry.boxes[1]))
    assert [entry.boxes for entry in log] == [(tall, middle), (middle, short), (tall,)]


def test_a_couple_keeps_its_members_apart():
    bride, groom = SQUARE, Box(200, 1, 300, 100)
    record = layer(
        (chain("1", "people", 2), (bride,)),
        (chain("2", "people", 2), (groom,)),
        (chain("3", "people"), (bride, groom)),
    )
    merged, _ = merge_layer(record)
    assert [c.id for c in merged.chains] == ["1", "2", "3"]
    assert merged.objects == (LayerObject(("1", "3"), bride), LayerObject(("2", "3"), groom))


def test_two_boxes_of_one_chain_never_become_one_even_through_a_third():
    record = layer((chain("1", "animals"), (SQUARE, shifted(12))), (chain("2", "animals"), (shifted(6),)))
    merged, log = merge_layer(record)
    assert len(log) == 1 and sum("1" in o.chains for o in merged.objects) == 2


def test_a_forbidden_pair_is_kept_apart_through_a_third_as_well():
    record = layer(
        (chain("1", "people"), (SQUARE,)),
        (chain("2", "animals", 2), (SQUARE, Box(300, 1, 310, 9))),
        (chain("3", "clothing"), (SQUARE,)),
    )
    merged, _ = merge_layer(record)
    for obj in merged.objects:
        assert not {"1", "3"} <= set(obj.chains)


def test_pairs_kept_apart_do_not_merge_and_distinct_chains_share_boxes():
    record = layer((chain("1", "people"), (SQUARE,)), (chain("2", "people"), (SQUARE,)))
    pair = frozenset([frozenset(("1", "2"))])
    assert merge_layer(record, apart=pair) == (record, ())
    shared, log = merge_layer(record, distinct=pair)
    assert shared.objects == (LayerObject(("1", "2"), SQUARE),) and len(shared.chains) == 2 and len(log) == 1


@st.composite
def layers(draw):
    parts = []
    for name in range(1, draw(st.integers(1, 6))):
        corners = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=3, unique=True))
        boxes = tuple(Box(1 + 150 * far + near, 1, 100 + 150 * far + near, 50) for near, far in corners)
        count = draw(st.integers(1, 4))
        parts.append((chain(str(name), draw(st.sampled_from(CATEGORIES)), count), boxes))
    return layer(*parts)


@given(layers())
def test_merging_keeps_mentions_depiction_and_its_promises(record):
    merged, log = merge_layer(record)
    assert merged.mentions == record.mentions
    assert len(merged.objects) <= len(record.objects)
    assert bool(log) is (merged != record)
    boxes = {obj.box for obj in record.objects}
    by_id = {c.id: c for c in merged.chains}
    for obj in merged.objects:
        assert obj.box in boxes and len(set(obj.chains)) == len(obj.chains)
        for a in obj.chains:
            for b in obj.chains:
                if "people" in by_id[a].categories and a != b:
                    assert not {"clothing", "bodyparts"} & set(by_id[b].categories)
    before, after = record.depicted(), merged.depicted()
    for old in record.chains:
        new = next(c for c in merged.chains if set(old.mentions) <= set(c.mentions))
        assert len(before.get(old.id, ())) == len(after.get(new.id, ()))


def test_a_record_with_nothing_to_merge_comes_back_as_it_was():
    record = LayerRecord(
        (chain("1", "scene"), Chain("0", (Mention(0, 0, 1, ("it",), ("notvisual",)),))),
        (LayerObject(("9",), SQUARE), LayerObject(("1",), None, scene=True)),
    )
    assert merge_layer(record) == (record, ())
