"""Home and the page of a corpus: rows, figures, filter, paging, and their number of queries."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Box, BoxChain, Chain, Corpus, Mention
from annotation.selectors import browse
from annotation.selectors.browse import Filter
from annotation.selectors.campaign.progress import CHAIN_STAGES
from tests.web import world


def keys(page: str) -> list[str]:
    """Return the images of a page, in its order."""
    return re.findall(r'class="tile" href="/corpora/[^/]+/images/([^/?]+)/', page)


def show(client: Client, query: str = "", name: str = "scenes") -> str:
    return client.get(reverse("corpus", args=[name]) + query).content.decode()


def test_without_a_corpus_home_leads_to_the_page_that_adds_one_and_tells_others_the_commands(reader: Client):
    page = reader.get(reverse("home")).content.decode()
    assert f'href="{reverse("uploads")}"' in page and "import_corpus" not in page
    page = world.signed_in("rev", "reviewer").get(reverse("home")).content.decode()
    assert "make demo" in page
    assert "import_corpus" in page


def test_home_shows_each_corpus_with_its_counts_and_pictures(scenes: Corpus, reader: Client):
    page = reader.get(reverse("home")).content.decode()
    assert "3 images" in page
    assert "9 captions" in page
    assert page.count("/pictures/small-") == 3
    assert 'href="/corpora/scenes/?layer=import"' in page


@pytest.mark.parametrize("count", [1, 4])
def test_home_takes_as_many_queries_whatever_it_shows(
    reader: Client, tmp_path: Path, count: int, django_assert_num_queries
):
    for i in range(count):
        world.corpus(tmp_path / str(i), images=3 + i, name=f"corpus-{i}")
    # Session, account, roles; corpora, their number, layers, images, captions; three first steps.
    with django_assert_num_queries(11):
        reader.get(reverse("home"))


@pytest.mark.parametrize("images", [2, 9])
def test_a_corpus_takes_as_many_queries_whatever_it_holds(
    reader: Client, tmp_path: Path, images: int, django_assert_num_queries
):
    world.unfinished_layer(world.corpus(tmp_path, images=images))
    # session, account, roles; corpus, layers, images, captions, three for tiles, six figures, splits, tags
    with django_assert_num_queries(19):
        show(reader)
    with django_assert_num_queries(13):  # the figures are cached
        show(reader)
    with django_assert_num_queries(14):  # and the number of matching images
        show(reader, "?text=dogs&category=people&layer=campaign")


def test_a_layer_is_told_in_figures_that_add_up(scenes: Corpus, reader: Client):
    world.unfinished_layer(scenes)
    first, second = browse.layer_figures(browse.layers_of(scenes)).values()
    assert (first.images, first.mentions, first.chains, first.boxes) == (3, 21, 15, 12)
    assert (first.boxed, first.without_box, first.unfinished) == (12, 3, 0)
    assert (second.boxed, second.without_box, second.unfinished) == (11, 3, 1)
    assert "Layer import is complete" in show(reader)
    page = show(reader, "?layer=campaign")
    assert "1 chain of layer" in page
    assert 'href="?layer=campaign&amp;unfinished=1"' in page


def test_chains_are_counted_as_the_filter_finds_them_whatever_stands_of_them(scenes: Corpus):
    image, layer = scenes.images.order_by("pk")[0], browse.layers_of(scenes)[0]
    created = 0
    for stage, bare, linked in product(["", *CHAIN_STAGES], [True, False], [True, False]):
        chain = Chain.objects.create(
            layer=layer,
            image=image,
            key=f"of all kinds {created}",
            position=100 + created,
            stage=stage,
            object_position=None if bare else 100 + created,
        )
        if linked:
            for box in Box.objects.filter(layer=layer, image=image)[: 1 + created % 2]:
                BoxChain.objects.create(box=box, chain=chain, position=100 + created)
        created += 1
    layer.version += 1
    result = browse.layer_figures([layer])[layer.pk]
    chains = Chain.objects.filter(layer=layer)
    unfinished = set(chains.filter(browse.unfinished_chains()).values_list("pk", flat=True))
    with_box = set(chains.filter(links__isnull=False).values_list("pk", flat=True))
    assert (result.chains, result.unfinished) == (chains.count(), len(unfinished))
    assert result.boxed == len(with_box - unfinished) and with_box & unfinished


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["scene-0", "scene-1", "scene-2"]),
        ("?split=val", ["scene-1"]),
        ("?text=NUMBER+2", ["scene-2"]),
        ("?text=100%25", []),
        ("?text=number_1", []),
        ("?category=animals", ["scene-0", "scene-1", "scene-2"]),
        ("?category=vehicles", []),
        ("?layer=campaign&unfinished=1", ["scene-0"]),
        ("?layer=import&unfinished=1", []),
        ("?layer=campaign&unfinished=1&split=val", []),
        ("?text=%00", ["scene-0", "scene-1", "scene-2"]),
    ],
)
def test_the_address_filters(scenes: Corpus, reader: Client, query: str, expected: list[str]):
    world.unfinished_layer(scenes)
    assert keys(show(reader, query)) == expected


def test_a_category_is_found_wherever_it_stands_in_a_mention(scenes: Corpus, reader: Client):
    Mention.objects.update(categories="clothing/people/other")
    for category in ("clothing", "people", "other"):
        assert len(keys(show(reader, f"?category={category}"))) == 3
    assert keys(show(reader, "?category=cloth")) == []


def test_a_search_shows_the_caption_it_found(scenes: Corpus, reader: Client):
    assert '<span class="says">Picture number 1</span>' in show(reader, "?text=number+1")


def test_what_is_filtered_by_can_be_dropped_one_by_one(scenes: Corpus, reader: Client):
    page = show(reader, "?split=val&text=dogs&layer=import")
    assert "<strong>1</strong> of 3 images" in page
    assert 'class="drop" href="?layer=import&amp;text=dogs"' in page
    assert 'class="drop" href="?split=val&amp;layer=import"' in page


def test_an_empty_result_says_so_and_leads_back(scenes: Corpus, reader: Client):
    page = show(reader, "?text=zeppelin")
    assert "No image matches" in page
    assert "Show all images" in page


def test_pages_follow_each_other_by_key_without_gap_or_overlap(scenes: Corpus, tmp_path: Path):
    corpus = world.corpus(tmp_path / "more", images=7, name="seven")
    seen, after = [], None
    while True:
        page = browse.page_of(corpus, None, Filter(), after=after, size=3)
        seen.append([tile.image.key for tile in page.tiles])
        if page.after is None:
            break
        after = page.after
    assert seen == [[f"scene-{i}" for i in batch] for batch in ((0, 1, 2), (3, 4, 5), (6,))]

    back = browse.page_of(corpus, None, Filter(), before=page.before, size=3)
    assert [tile.image.key for tile in back.tiles] == seen[1]
    start = browse.page_of(corpus, None, Filter(), before=back.before, size=3)
    assert [tile.image.key for tile in start.tiles] == seen[0]
    assert start.before is None
    assert browse.page_of(corpus, None, Filter(), size=3).before is None


@pytest.mark.parametrize("nonsense", ["after=x", "after=-1", "before=", "after=%00", "after=²"])
def test_a_position_that_is_none_is_passed_over(scenes: Corpus, reader: Client, nonsense: str):
    assert keys(show(reader, f"?{nonsense}")) == ["scene-0", "scene-1", "scene-2"]


def test_a_position_past_every_image_shows_none(scenes: Corpus, reader: Client):
    assert keys(show(reader, "?after=999999999")) == []


def test_an_unknown_layer_is_not_found_and_the_known_ones_are_named(scenes: Corpus, reader: Client):
    answer = reader.get(reverse("corpus", args=["scenes"]) + "?layer=nope")
    assert answer.status_code == 404
    assert "known: import" in answer.content.decode()


def test_images_without_a_picture_show_their_captions(reader: Client, tmp_path: Path):
    world.corpus(tmp_path, name="bare", pictures=False)
    page = show(reader, name="bare")
    assert "No picture." in page
    assert page.count("A woman and a man with dogs") == 3
    assert "/pictures/" not in page
