"""Tags stored for a corpus: images filtered by them, an image's tags with their scores, lists and files."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.datasets.tags import StoredTagCounts, save_tags
from annotation.models import Corpus, CorpusTag, Image, ImageTag, TagList
from annotation.selectors.browse import Filter, images_matching
from annotation.selectors.tags import stored as selectors
from annotation.selectors.tags.queries import BadTagQuery, read_tag_query
from evaluation.selectors import image_names
from tests.web import world
from tests.web.test_corpora import keys, show

TAGS: dict[str, list[tuple[str, float]]] = {
    "scene-0": [("dog", 0.9), ("frisbee", 0.5), ("soccer field", 0.25)],
    "scene-1": [("dog", 0.8), ("grass", 0.4)],
    "scene-2": [("cat", 0.7), ("soccer field", 0.3), ("frisbee", 0.125)],
}


def store_tags(corpus: Corpus, tags: dict[str, list[tuple[str, float]]], **also: Any) -> StoredTagCounts:
    return save_tags(corpus=corpus, images=tags.items(), unit="compounds", alpha=0.5, **also)


@pytest.fixture
def tagged(scenes: Corpus) -> Corpus:
    store_tags(scenes, TAGS)
    return scenes


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("dog", "01"),
        ("frisbee and dog", "0"),
        ("frisbee dog", "0"),
        ("DOG AND Frisbee", "0"),
        ("cat or grass", "12"),
        ('"soccer field"', "02"),
        ('"soccer  field" and cat or grass', "12"),
        ("dog and dog", "01"),
        ("cat and grass", ""),
        ("soccer", ""),
        ("cat or zebra", "2"),
        ("cat and zebra", ""),
        ("", "012"),
    ],
)
def test_images_are_found_by_their_tags(tagged: Corpus, reader: Client, query: str, expected: str) -> None:
    page = reader.get(reverse("corpus", args=["scenes"]), {"tags": query}).content.decode()
    assert keys(page) == [f"scene-{number}" for number in expected]


def test_tags_join_the_other_filters_and_the_way_through_the_images(tagged: Corpus, reader: Client) -> None:
    assert images_matching(tagged, None, Filter(tags="dog", text="no such words")).count() == 0
    page = show(reader, "?tags=%22soccer+field%22")
    links = re.findall(r'class="tile" href="([^"]+)"', page)
    first = reader.get(links[0].replace("&amp;", "&")).content.decode()
    assert "scene-2" in re.findall(r'rel="next" href="([^"]+)"', first)[0], "not the image without the tag"


def test_unknown_tags_are_named_with_some_that_are_written_alike(tagged: Corpus, reader: Client) -> None:
    page = show(reader, "?tags=dogs+and+frisbe")
    assert "No image has the tag “dogs”." in page and "No image has the tag “frisbe”." in page
    hints = re.findall(r'<a href="(\?[^"]+)">(dog|frisbee)</a>', page)
    assert [word for _, word in hints] == ["dog", "frisbee"]
    assert "tags=dog+and+frisbe" in hints[0][0] and keys(page) == []
    assert "Did you mean" not in show(reader, "?tags=xyz")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("dog and", "“and” must stand between two tags."),
        ("or dog", "“or” must stand between two tags."),
        ("dog and or cat", "“or” must stand between two tags."),
        ('dog "soccer', "A quotation mark is missing"),
        ('""', "There is nothing between two quotation marks"),
        (" ".join(f"t{n}" for n in range(21)), "Name at most 20 tags."),
    ],
)
def test_a_query_that_cannot_be_read_says_why(
    tagged: Corpus, reader: Client, query: str, message: str
) -> None:
    with pytest.raises(BadTagQuery):
        read_tag_query(query)
    page = reader.get(reverse("corpus", args=["scenes"]), {"tags": query}).content.decode()
    assert message in page and keys(page) == []


@pytest.mark.parametrize("images", [3, 9])
def test_the_filter_takes_as_many_queries_whatever_the_corpus_holds(
    reader: Client, tmp_path: Path, images: int, django_assert_num_queries: Any
) -> None:
    corpus = world.corpus(tmp_path, images=images)
    store_tags(corpus, {f"scene-{n}": [("dog", 0.5), (f"t{n}", 0.25)] for n in range(images)})
    show(reader)  # figures are cached
    # As without a filter 13, and the number; the list and its tags for page, number, and unknown ones.
    with django_assert_num_queries(14 + 6):
        show(reader, "?tags=dog+or+t1")
    address = reverse("image", args=["scenes", "scene-1"])
    with django_assert_num_queries(16):
        reader.get(address)


def test_an_image_shows_its_tags_with_their_scores(tagged: Corpus, reader: Client) -> None:
    page = reader.get(reverse("image", args=["scenes", "scene-2"])).content.decode()
    section = page[page.index('class="scored"') :]
    assert re.findall(r">([^<]+)</a> <span[^>]*>([^<]+)</span>", section)[:3] == [
        ("cat", "0.700"),
        ("soccer field", "0.300"),
        ("frisbee", "0.125"),
    ]
    assert "?tags=%22soccer+field%22" in section
    store_tags(tagged, {"scene-0": [("dog", 1.0)]})
    assert 'class="scored"' not in reader.get(reverse("image", args=["scenes", "scene-2"])).content.decode()


def test_the_tags_of_a_corpus_are_listed_by_frequency(
    tagged: Corpus, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reverse("tags", args=["scenes"]) in show(reader)
    address = reverse("tags", args=["scenes"])

    def listed(query: str = "") -> list[tuple[str, str]]:
        page = reader.get(address + query).content.decode()
        return re.findall(r'<a href="[^"]*">([^<]+)</a> <span class="figures">(\d+)</span>', page)

    assert listed() == [("dog", "2"), ("frisbee", "2"), ("soccer field", "2"), ("cat", "1"), ("grass", "1")]
    assert listed("?contains=SOC") == [("soccer field", "2")]
    assert "No tag matches." in reader.get(f"{address}?contains=zz").content.decode()
    for module in ("annotation.selectors.tags.stored", "annotation.web.corpus.tagged"):
        monkeypatch.setattr(f"{module}.TAGS_PER_PAGE", 2)
    names, query = [], ""
    for _ in range(3):
        page = reader.get(address + query).content.decode()
        names += re.findall(r'<a href="[^"]*">([^<]+)</a> <span class="figures">', page)
        query = next(iter(re.findall(r'rel="next" href="([^"]+)"', page)), "")
    assert names == ["dog", "frisbee", "soccer field", "cat", "grass"] and not query


def test_the_tags_of_all_images_are_exported_as_rank_tags_writes_them(tagged: Corpus, reader: Client) -> None:
    def got(form: str) -> str:
        answer: Any = reader.get(reverse("export_tags", args=["scenes", form]))
        assert f"scenes-tags.{form}" in answer["Content-Disposition"]
        return b"".join(answer.streaming_content).decode()

    lines = [json.loads(line) for line in got("jsonl").splitlines()]
    names = dict(tagged.images.values_list("filename", "key"))
    assert {names[line["image"]]: [tuple(tag) for tag in line["tags"]] for line in lines} == TAGS
    rows = list(csv.DictReader(StringIO(got("csv"))))
    assert len(rows) == sum(map(len, TAGS.values())) and set(rows[0]) == {"image", "tag", "score"}


def test_an_image_whose_file_is_another_s_too_is_exported_by_its_key(tagged: Corpus) -> None:
    tagged.images.filter(key__in=("scene-0", "scene-1")).update(filename="same.jpg")
    named = [name for name, _ in selectors.tagged_images(tagged)]
    assert named == list(image_names("scenes")) and named[:2] == ["scene-0", "scene-1"]
    tagged.images.filter(key="scene-0").update(filename="scene-2")
    named = [name for name, _ in selectors.tagged_images(tagged)]
    assert named == list(image_names("scenes")) and named[0] == "scene-0"


def test_without_kept_tags_nothing_is_offered(scenes: Corpus, reader: Client) -> None:
    page = show(reader)
    assert 'name="tags"' not in page and reverse("tags", args=["scenes"]) not in page
    assert "No tags are kept for this corpus yet." in reader.get("/corpora/scenes/tags/").content.decode()
    assert reader.get(reverse("export_tags", args=["scenes", "csv"])).status_code == 404
    assert "No image has the tag “dog”." in show(reader, "?tags=dog")


def test_tags_take_the_place_of_others_at_once_or_not_at_all(tagged: Corpus) -> None:
    def broken() -> Any:
        yield "scene-0", [("zebra", 1.0)]
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        save_tags(corpus=tagged, images=broken(), unit="nouns", alpha=0.75)
    assert {row.text for row in CorpusTag.objects.all()} == {tag for tags in TAGS.values() for tag, _ in tags}
    TagList.objects.create(corpus=tagged, unit="nouns", alpha=1.0)  # left by a killed process
    long = "x" * 201
    stored = store_tags(tagged, {"scene-1": [("Zebra", 0.9), ("zebra", 0.5), (long, 0.1)], "scene-2": []})
    assert stored == StoredTagCounts(images=2, tags=1, distinct=1, excluded=1)
    (image_tag,) = ImageTag.objects.all()
    assert (image_tag.tag.text, image_tag.score, image_tag.position, image_tag.tag.images) == (
        "zebra",
        0.9,
        0,
        1,
    )
    assert TagList.objects.get().published
    with pytest.raises(KeyError):
        store_tags(tagged, {"nobody": []})
    image = Image.objects.get(corpus=tagged, key="scene-1")
    assert [tag.text for tag in selectors.tags_of_image(image)] == ["zebra"]
