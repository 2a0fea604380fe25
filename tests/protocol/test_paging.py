"""Pairs on relevance pages."""

from __future__ import annotations

from collections import Counter
from math import ceil
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.grading import is_right, stratum
from annotation.protocol.paging import (
    ROLE_CONTROL,
    ROLE_FILLER,
    ROLE_WANTED,
    Block,
    ControlImage,
    Entry,
    Filling,
    PageBatch,
    PagingSettings,
    Pair,
    controls_on_page,
    displayed_positions,
    for_worker,
    paginate,
)
from annotation.protocol.trust import TRUSTED, WARM_UP
from annotation.protocol.trust_settings import TrustSettings

TRUST = TrustSettings()
SEEDS = st.text(max_size=4)
SMALL = st.sampled_from([PagingSettings(), PagingSettings(images=3, captions=2), PagingSettings(4, 3, 2)])


def pair_sets(images=8, captions=30):
    pair = st.builds(
        Pair, st.integers(0, images - 1).map("im{}".format), st.integers(0, captions - 1).map(str)
    )
    return st.sets(pair, max_size=90)


def entries_of(batch: PageBatch) -> list[Entry]:
    return [entry for page in batch.pages for block in page for entry in block.entries]


def plenty(images=12, captions=60) -> dict[str, list[str]]:
    return {f"im{i}": [f"f{c}" for c in range(captions)] for i in range(images)}


def control(name="dev", true=2) -> ControlImage:
    values = frozenset(f"{name} own {n}" for n in range(true))
    return ControlImage(name, name, values, frozenset(f"{name} foreign {n}" for n in range(10 - true)))


# Batches


@given(pair_sets(), pair_sets(captions=60), SEEDS, SMALL)
def test_every_wanted_pair_is_on_exactly_one_page_and_no_pair_comes_twice(
    pairs_wanted, filtered, seed, settings
):
    fillers: dict[str, set[str]] = {}
    for image, caption in filtered:
        fillers.setdefault(image, set()).add(caption)
    batch = paginate(pairs_wanted, fillers, seed=seed, settings=settings)
    entries = entries_of(batch)
    assert Counter(Pair(e.image, e.caption) for e in entries if e.role == ROLE_WANTED) == Counter(
        pairs_wanted
    )
    assert {Pair(e.image, e.caption) for e in entries if e.role == ROLE_FILLER} <= filtered - pairs_wanted
    assert max(Counter((e.image, e.caption) for e in entries).values(), default=1) == 1
    assert batch.count(ROLE_WANTED) == len(pairs_wanted)
    assert batch.count(ROLE_WANTED) + batch.count(ROLE_FILLER) == len(entries)
    room = settings.images - settings.controls
    filling = batch.filling
    assert (filling.pages, filling.blocks) == (len(batch.pages), room * len(batch.pages))
    assert filling.fillers == batch.count(ROLE_FILLER)
    assert filling.missing == len(batch.pages) * room * settings.captions - len(entries)
    sizes = [len(block.entries) for page in batch.pages for block in page]
    assert filling.short_blocks == filling.blocks - sizes.count(settings.captions)
    assert (filling.missing == 0) == (filling.short_blocks == 0)
    for page in batch.pages:
        assert 1 <= len(page) <= settings.images - settings.controls
        for block in page:
            assert 1 <= len(block.entries) <= settings.captions
            assert {entry.image for entry in block.entries} == {block.image}


@given(pair_sets(), SEEDS)
def test_with_fillers_enough_every_page_is_full_of_five_images_with_ten_captions(pairs_wanted, seed):
    batch = paginate(pairs_wanted, plenty(), seed=seed)
    assert (batch.filling.missing, batch.filling.short_blocks) == (0, 0)
    assert all(len(page) == 5 and all(len(block.entries) == 10 for block in page) for page in batch.pages)
    blocks = sum(ceil(count / 10) for count in Counter(pair.image for pair in pairs_wanted).values())
    assert len(batch.pages) == ceil(blocks / 5)


@given(pair_sets(), SEEDS, st.integers(0, 10**6).map(Random))
def test_order_and_repetition_of_the_pairs_change_nothing(pairs_wanted, seed, random):
    pairs = sorted(pairs_wanted) * 2
    random.shuffle(pairs)
    fillers = plenty()
    mixed = {image: random.sample(fillers[image], len(fillers[image])) for image in reversed(fillers)}
    assert paginate(pairs, mixed, seed=seed) == paginate(pairs_wanted, fillers, seed=seed)


def test_another_seed_makes_other_pages_and_draws_other_fillers():
    pairs = [Pair(f"im{i}", str(c)) for i in range(10) for c in range(7)]
    first, second = (paginate(pairs, plenty(), seed=seed) for seed in ("a", "b"))
    assert first != second
    assert {e for e in entries_of(first) if e.role == ROLE_FILLER} != {
        e for e in entries_of(second) if e.role == ROLE_FILLER
    }


@given(pair_sets(), SEEDS)
def test_an_image_is_twice_on_a_page_only_if_it_has_more_blocks_than_there_are_pages(pairs_wanted, seed):
    batch = paginate(pairs_wanted, plenty(), seed=seed)
    blocks = {image: ceil(n / 10) for image, n in Counter(pair.image for pair in pairs_wanted).items()}
    for page in batch.pages:
        for image, times in Counter(block.image for block in page).items():
            assert times <= max(1, ceil(blocks.get(image, 0) / len(batch.pages)))


def test_the_blocks_of_one_image_are_dealt_to_different_pages():
    pairs = [Pair(f"im{i}", str(c)) for i in range(5) for c in range(30)]
    batch = paginate(pairs, plenty(), seed="s")
    assert [sorted(block.image for block in page) for page in batch.pages] == [
        [f"im{i}" for i in range(5)]
    ] * 3


def test_nothing_wanted_makes_no_page():
    assert paginate([], plenty(), seed="s") == PageBatch(())


def test_where_fillers_run_out_pages_are_short_and_the_batch_says_by_how_much():
    pairs = [Pair("a", str(n)) for n in range(13)]
    assert paginate(pairs, {}, seed="s").filling == Filling(1, 5, 4, 0, 50 - 13)
    batch = paginate(pairs, {"a": ["x", "y", "3"], "b": ["x"]}, seed="s")
    assert (batch.count(ROLE_WANTED), batch.count(ROLE_FILLER)) == (13, 3)
    assert batch.filling == Filling(pages=1, blocks=5, short_blocks=4, fillers=3, missing=50 - 16)
    assert [len(block.entries) for page in batch.pages for block in page] == [10, 5, 1]


def test_a_page_short_of_an_image_is_filled_from_one_that_can_fill_it():
    (page,) = paginate(
        [Pair(f"im{i}", "c") for i in range(4)],
        {**{f"im{i}": list("123456789") for i in range(4)}, "poor": list("12"), "rich": list("1234567890ab")},
        seed="s",
    ).pages
    assert [block.image for block in page if {e.role for e in block.entries} == {ROLE_FILLER}] == ["rich"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ((1, 10, 1), "controls is 1: expected fewer than the page's images, of which there are 1"),
        ((6, 10, 7), "controls is 7: expected fewer than the page's images, of which there are 6"),
        ((6, 0, 1), "captions is 0: expected a whole number, 1 to"),
        ((6, 10, -1), "controls is -1: expected a whole number, 0 to"),
    ],
)
def test_a_page_without_room_for_pairs_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        PagingSettings(*settings)


# Pages as workers see them


@given(pair_sets().filter(bool), SEEDS, st.text(max_size=4))
def test_a_page_has_six_images_sixty_answers_and_one_control_image(pairs_wanted, seed, worker):
    page = paginate(pairs_wanted, plenty(), seed=seed).pages[0]
    displayed = for_worker(page, [control()], seed=seed, worker=worker)
    assert len(displayed) == 6 and sum(len(block.entries) for block in displayed) == 60
    assert sum(entry.role == ROLE_CONTROL for block in displayed for entry in block.entries) == 10
    assert sorted(sorted(block.entries) for block in displayed) == sorted(
        sorted(block.entries) for block in (*page, control().block)
    )


def test_the_place_of_the_control_image_tells_nothing():
    page = paginate([Pair(f"im{i}", "c") for i in range(5)], plenty(), seed="s").pages[0]
    places = Counter(
        [block.image for block in for_worker(page, [control()], seed="s", worker=f"w{n}")].index("dev")
        for n in range(600)
    )
    assert set(places) == set(range(6))
    assert all(60 < times < 140 for times in places.values())  # 100 expected, standard deviation 9


def test_the_place_of_a_caption_tells_nothing_of_its_role():
    page = paginate([Pair(f"im{i}", "c") for i in range(5)], plenty(), seed="s").pages[0]
    places = Counter(
        [entry.role for entry in block.entries].index(ROLE_WANTED)
        for n in range(120)
        for block in for_worker(page, [], seed="s", worker=f"w{n}")
    )
    assert set(places) == set(range(10))
    assert all(30 < times < 90 for times in places.values())  # 60 expected, standard deviation 7


def test_a_worker_sees_the_same_page_again_whatever_order_it_was_kept_in():
    page = paginate([Pair(f"im{i}", "c") for i in range(5)], plenty(), seed="s").pages[0]
    blocks = [Block(block.image, block.entries[::-1]) for block in reversed(page)]
    displayed = for_worker(page, [control("d"), control("e")], seed="s", worker="w")
    assert for_worker(blocks, [control("e"), control("d")], seed="s", worker="w") == displayed


@pytest.mark.parametrize("true", [1, 2, 3])
def test_the_gold_answers_follow_the_captions_as_they_are_shown(true):
    image = control(true=true)
    (block,) = for_worker([], [image], seed="s", worker="w")
    known = image.known(block)
    assert stratum("relevance", known) == str(true)
    ticked = [entry.caption.startswith("dev own") for entry in block.entries]
    assert is_right("relevance", ticked, known, TRUST)


def test_a_control_image_that_would_stand_out_is_refused():
    page = [Block("dev", (Entry("dev", "c", ROLE_WANTED),))]
    with pytest.raises(ValueError, match="shows dev, which the page has already"):
        for_worker(page, [control()], seed="s", worker="w")
    with pytest.raises(ValueError, match="shows dev, which the page has already"):
        for_worker([], [control(), control()], seed="s", worker="w")


@given(st.lists(st.booleans(), min_size=2, max_size=12), st.integers(1, 12), SEEDS)
def test_a_control_image_shown_with_fewer_captions_can_still_be_judged_wrongly(known, size, worker):
    stored = displayed_positions(known, size, seed="s", worker=worker, control=7)
    assert stored == sorted(set(stored)) and len(stored) == min(size, len(known))
    displayed = [known[index] for index in stored]
    assert any(displayed) == any(known) and all(displayed) == all(known) or len(stored) == 1
    if any(known) and not all(known):
        right = [is_right("relevance", [tick] * len(stored), displayed, TRUST) for tick in (False, True)]
        assert right in ([[False, False]] if len(stored) > 1 else [[True, False], [False, True]])


def test_of_a_control_image_with_one_caption_half_of_the_workers_see_a_true_one():
    known = [True] * 2 + [False] * 8
    seen = [known[displayed_positions(known, 1, seed="s", worker=f"w{n}", control=7)[0]] for n in range(200)]
    assert 70 < sum(seen) < 130


@pytest.mark.parametrize(("true", "invalid"), [("", ""), ("ab", "bc")])
def test_a_control_image_that_cannot_grade_is_refused(true, invalid):
    with pytest.raises(ValueError, match="control image c1"):
        ControlImage("c1", "dev", frozenset(true), frozenset(invalid))


# Controls by page


@given(SEEDS, SEEDS, st.integers(0, 3))
def test_in_warm_up_two_pages_in_five_are_tests_and_fifteen_of_thirty_images_are_known(seed, worker, block):
    pages = range(1 + 5 * block, 6 + 5 * block)
    counts = [
        controls_on_page(TRUST, seed=seed, worker=worker, state=WARM_UP, page=page, kind="relevance")
        for page in pages
    ]
    assert sorted(counts) == [1, 1, 1, 6, 6]
    assert sum(counts) >= TRUST.warm_up_known


@given(SEEDS, st.integers(1, 500))
def test_a_trusted_worker_has_one_control_image_on_every_page(worker, page):
    assert controls_on_page(TRUST, seed="s", worker=worker, state=TRUSTED, page=page, kind="relevance") == 1


@given(SEEDS, SEEDS)
def test_of_pages_with_one_image_as_many_are_controls_as_of_questions_asked_alone(seed, worker):
    paging_settings = PagingSettings(images=1, controls=0)
    counts = {
        state: [
            controls_on_page(
                TRUST,
                seed=seed,
                worker=worker,
                state=state,
                page=page,
                kind="tag_relevance",
                settings=paging_settings,
            )
            for page in pages
        ]
        for state, pages in ((WARM_UP, range(1, 31)), (TRUSTED, range(31, 1031)))
    }
    assert sum(counts[WARM_UP]) == TRUST.warm_up_known
    assert sum(counts[TRUSTED]) == 1000 * TRUST.control_share == 20
    assert {*counts[WARM_UP], *counts[TRUSTED]} == {0, 1}


@given(st.integers(1, 60), st.data(), SMALL)
def test_warm_up_pages_know_as_many_images_as_the_settings_ask(items, data, settings):
    known = data.draw(st.integers(1, items))
    trust = TrustSettings(warm_up_items=items, warm_up_known=known)
    pages = range(1, ceil(items / settings.images) + 1)
    counts = [
        controls_on_page(
            trust, seed="s", worker="w", state=WARM_UP, page=page, kind="relevance", settings=settings
        )
        for page in pages
    ]
    assert sum(counts) >= known
    assert set(counts) <= {settings.controls, settings.images}


def test_pages_are_counted_from_one():
    with pytest.raises(ValueError, match="page number 0"):
        controls_on_page(TRUST, seed="s", worker="w", state=WARM_UP, page=0, kind="relevance")
