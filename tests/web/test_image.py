"""The image inspector: what it draws, names and marks, and its links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.datasets.importing import import_records
from annotation.models import Chain, Corpus, Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from tests.web import world


def show(client: Client, key: str = "scene-1", query: str = "", name: str = "scenes") -> str:
    return client.get(reverse("image", args=[name, key]) + query).content.decode()


def row(page: str, number: int) -> str:
    """Return the text of chain `number` in the list, without tags."""
    match = re.search(rf'<a class="chain[^>]*data-chains="{number}".*?</a>', page, re.S)
    assert match, f"no chain {number}"
    return " ".join(re.sub(r"<[^>]+>", " ", match[0]).split())


def test_boxes_stand_where_their_pixels_are(scenes: Corpus, reader: Client):
    page = show(reader)
    # Pixels 60..130 of 480 and 80..330 of 360, both ends inclusive.
    assert 'x="12.292%" y="21.944%" width="14.792%" height="69.722%"' in page


def test_a_box_of_two_chains_bears_both_names_and_both_colours(scenes: Corpus, reader: Client):
    page = show(reader)
    shared = re.search(r'<g class="box" data-chains="1 4">.*?</g>', page, re.S)
    assert shared
    assert re.findall(r"outline hue-(\d)", shared[0]) == ["1", "4"]
    assert re.findall(r"<text[^>]*>(\w+)</text>", page) == ["1a", "4", "1b", "5", "2a", "2b"]


def test_chains_are_listed_with_what_became_of_them(scenes: Corpus, reader: Client):
    page = show(reader)
    assert row(page, 1) == "1 A couple 2 boxes people · 1 mention · id 1"
    assert row(page, 2) == "2 two dogs 2 boxes animals · 2 mentions · id 4"
    assert row(page, 3) == "3 the park scene, no box scene · 1 mention · id 5"


@pytest.mark.parametrize(
    ("stage", "flags", "text"),
    [
        ("REQUIREMENT", {}, "open: requirement"),
        ("REVIEW", {}, "open: review"),
        ("EXCLUDED", {}, "excluded by a reviewer"),
        ("NON_VISUAL", {"object_position": 9, "scene": True}, "scene, no box"),
        ("NON_VISUAL", {"object_position": 9, "nobndbox": True}, "nothing to box"),
        ("", {}, "no box yet"),
        ("", {"object_position": 9, "nobndbox": True}, "nothing to box"),
    ],
)
def test_a_chain_without_box_says_why(scenes: Corpus, reader: Client, stage: str, flags: dict, text: str):
    cleared = {"scene": False, "nobndbox": False, "object_position": None}
    Chain.objects.filter(key="5").update(stage=stage, **cleared | flags)
    assert row(show(reader), 3).startswith(f"3 the park {text} scene")


def test_an_open_chain_with_boxes_tells_both(scenes: Corpus, reader: Client):
    Chain.objects.filter(key="4").update(stage="COVERAGE")
    assert "open: coverage, 2 boxes" in row(show(reader), 2)


def test_mentions_are_marked_with_number_and_category(scenes: Corpus, reader: Client):
    page = show(reader)
    marks = re.findall(r'<mark class="mention hue-(\d)[^>]*>(.*?)</mark>', page)
    values = [(hue, re.sub(r"<[^>]+>", "|", text)) for hue, text in marks]
    assert values[:2] == [("1", "||1|A couple||people|"), ("2", "||2|two dogs||animals|")]
    assert values[-1] == ("0", "|the background||not visual|")


def test_the_lit_chain_comes_from_the_address_without_a_script(scenes: Corpus, reader: Client):
    page = show(reader, query="?chain=2")
    assert 'data-lit="2"' in page
    assert page.count('class="box is-lit" data-chains="2"') == 2
    assert page.count("hue-2 is-lit") == 2 + 2 + 1  # mentions, tags, the row
    assert re.search(r'href="\?"\s*aria-current="true"', page)
    assert "is-lit" not in show(reader)


@pytest.mark.parametrize("nonsense", ["chain=0", "chain=99", "chain=x", "chain="])
def test_a_chain_that_is_not_there_lights_nothing(scenes: Corpus, reader: Client, nonsense: str):
    page = show(reader, query=f"?{nonsense}")
    assert "is-lit" not in page
    assert "data-lit" not in page


def test_the_ways_to_other_images_keep_the_filter(scenes: Corpus, reader: Client):
    page = show(reader, query="?text=picture&layer=import")
    assert 'rel="prev" href="/corpora/scenes/images/scene-0/?layer=import&amp;text=picture"' in page
    assert 'rel="next" href="/corpora/scenes/images/scene-2/?layer=import&amp;text=picture"' in page
    filtered = show(reader, query="?split=val")
    assert 'rel="prev"' not in filtered
    assert 'rel="next"' not in filtered


def test_layers_can_be_switched(scenes: Corpus, reader: Client):
    world.unfinished_layer(scenes)
    page = show(reader, "scene-0", "?layer=campaign")
    assert '<a href="?layer=campaign" aria-current="true">campaign</a>' in page
    assert '<a href="?layer=import">import</a>' in page
    assert "open: drawing, 2 boxes" in row(page, 2)


def test_a_layer_that_does_not_cover_the_image_says_so(scenes: Corpus, reader: Client):
    image = Image.objects.get(key="scene-1")
    for rows in ("covers", "mentions", "chains", "boxes"):
        getattr(scenes.layers.get(), rows).filter(image=image).delete()
    assert "does not cover this image" in show(reader)


def test_a_picture_whose_row_has_no_size_is_measured(scenes: Corpus, reader: Client):
    Image.objects.update(width=0, height=0)
    page = show(reader)
    assert "size unknown" in page
    assert 'x="12.292%" y="21.944%"' in page


def test_without_a_picture_boxes_are_laid_over_a_blank(reader: Client, tmp_path: Path):
    world.corpus(tmp_path, name="bare", pictures=False)
    assert "boxes are drawn where they would be" in show(reader, name="bare")
    Image.objects.update(width=0, height=0)
    page = show(reader, name="bare")
    # The blank just contains the boxes: the rightmost ends at 430, the lowest at 330.
    assert 'x="13.721%" y="23.939%"' in page


def test_an_image_with_nothing_but_captions_is_shown(reader: Client):
    record = ImageRecord(id="only words", filename="only words.jpg", captions=(CaptionRecord("A fox ."),))
    import_records(name="words", records=[record], format="jsonl", source="tests")
    page = show(reader, "only words", name="words")
    assert "A fox ." in page
    assert "was imported without this picture" in page
    assert "No layer yet" in page


HOSTILE = "<script>alert(1)</script> & \"quotes\" 'single' {{ 7 }} </mark>"


def test_hostile_words_are_shown_and_nothing_more(reader: Client, tmp_path: Path):
    record = world.scene(0, tmp_path, extra=HOSTILE)
    import_records(name="scenes", records=[record], format="jsonl", source="tests")
    Chain.objects.filter(key="5").update(key="<b>5</b>")
    for page in (
        show(reader, "scene-0"),
        reader.get(reverse("corpus", args=["scenes"]), {"text": HOSTILE}).content.decode(),
        reader.get(reverse("home")).content.decode(),
    ):
        assert "<script>alert" not in page
        assert "<b>5</b>" not in page
        assert '"quotes"' not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;" in show(reader, "scene-0")


@pytest.mark.parametrize("key", ["with space", "ключ", "50%", "what?#now", "2258277193.jpg.1"])
def test_an_image_is_found_by_whatever_its_source_calls_it(reader: Client, key: str):
    record = ImageRecord(id=key, filename="x.jpg", captions=(CaptionRecord("A fox ."),))
    import_records(name="odd", records=[record], format="jsonl", source="tests")
    [address] = re.findall(r'class="tile" href="([^"]+)"', reader.get("/corpora/odd/").content.decode())
    assert reader.get(address).status_code == 200


@pytest.mark.parametrize("key", ["nope", "%00", "scene-1%00"])
def test_an_image_that_is_not_there_is_not_found(scenes: Corpus, reader: Client, key: str):
    assert reader.get(f"/corpora/scenes/images/{key}/").status_code == 404


@pytest.mark.parametrize("images", [3, 8])
def test_an_image_takes_as_many_queries_whatever_surrounds_it(
    reader: Client, tmp_path: Path, images: int, django_assert_num_queries
):
    world.corpus(tmp_path, images=images)
    # session, account, roles; corpus, image, layers, captions, five for the layer, two neighbours, tags
    with django_assert_num_queries(16):
        show(reader)
