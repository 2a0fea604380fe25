"""Known items of questions that are only counted: graded pairs, images of pages, sentences of the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from annotation import campaigns
from annotation.models import Campaign, Control
from annotation.protocol import kinds
from annotation.protocol.terms import ImageRecord
from annotation.quality import controls
from annotation.quality.controls import BadItems, CountedControlItem
from annotation.task_types.caption_writing.rules import CAPTION_WRITING, CORRECT, INCORRECT
from annotation.task_types.relevance.rules import RELEVANCE
from tests.factories import a_corpus, an_image

pytestmark = pytest.mark.django_db


def campaign(tasks: str) -> Campaign:
    a_corpus(
        "quay",
        [an_image(f"i{n}", *(f"thing{n} act{k} ." for k in range(5)), layered=False) for n in range(4)],
    )
    return campaigns.create_campaign(name="work", corpus="quay", tasks=tasks)


def from_file(made: Campaign, folder: Path, *lines: str) -> controls.Added:
    file = folder / "items.csv"
    file.write_text("\n".join(("kind,purpose,image,captions,sentence,known,explanation", *lines)) + "\n")
    return controls.from_csv(campaign=made, file=file)


def test_a_file_names_captions_and_what_is_true_of_them(tmp_path: Path):
    made = campaign("relevance")
    done = from_file(made, tmp_path, "relevance,control,i0,i0#1 i1#0 i2#3,,i0#1,its own")
    assert done.added == 1
    item = Control.objects.get()
    keys = {image.key: image.pk for image in made.corpus.images.all()}
    assert item.content == {
        "blocks": [{"image": keys["i0"], "captions": [[keys["i0"], 1], [keys["i1"], 0], [keys["i2"], 3]]}]
    }
    assert (item.known, item.stratum, item.explanation) == ([True, False, False], "1", "its own")


def test_a_graded_pair_is_known_to_be_4_or_1(tmp_path: Path):
    made = campaign("graded")
    from_file(made, tmp_path, "graded_relevance,control,i0,i0#1,,4,", "graded_relevance,control,i0,i1#1,,1,")
    assert list(Control.objects.order_by("pk").values_list("stratum", flat=True)) == ["4", "1"]
    with pytest.raises(BadItems, match="line 2: gold grade 2: expected 1 or 4"):
        from_file(made, tmp_path, "graded_relevance,control,i0,i2#1,,2,")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("relevance,control,i0,i0#1 i1#0,,i2#0,", "known names i2#0, which is not among the captions"),
        ("relevance,control,i0,i0#1 i0#1,,i0#1,", "a caption is named twice"),
        ("relevance,control,i0,i0#7 i1#0,,i0#7,", "image 'i0' has 5 captions and no number 7"),
        ("relevance,control,i9,i0#1 i1#0,,i0#1,", "there is no image 'i9'"),
        ("relevance,control,i0,i9#1 i0#1,,i0#1,", "there is no image 'i9'"),
        ("relevance,control,i0,i0,,i0,", "expected IMAGE#NUMBER"),
        ("relevance,control,i0,i0#1 i1#0,,i0#1 i1#0,", ""),
        ("graded_relevance,control,i0,i0#1 i0#2,,4,", "2 captions to be graded; expected one"),
        ("caption_writing,qualification,i0,,,correct,", "asks about a sentence"),
        ("caption_writing,control,i0,,A dog run.,incorrect,", "has no control items"),
        ("region_description,qualification,i0,,,x,", "'region_description' cannot be graded"),
    ],
)
def test_what_cannot_be_an_item_is_named_with_its_line(tmp_path: Path, line: str, problem: str):
    of_kind = {kinds.kinds_of_tasks(tasks)[0]: tasks for tasks in kinds.all_tasks()}
    made = campaign(of_kind[line.split(",")[0]])
    if not problem:
        assert from_file(made, tmp_path, line).added == 1
        return
    with pytest.raises(BadItems, match=f"line 2: .*{problem}"):
        from_file(made, tmp_path, line)
    assert not Control.objects.exists()


def test_items_of_what_the_campaign_does_not_ask_are_refused(tmp_path: Path):
    with pytest.raises(BadItems, match="campaign 'work' asks graded_relevance; not relevance"):
        from_file(campaign("graded"), tmp_path, "relevance,control,i0,i0#1 i1#0,,i0#1,")


def test_the_same_captions_in_another_order_are_the_same_item():
    made = campaign("relevance")
    for captions, known in (
        ((("i0", 1), ("i1", 0)), (True, False)),
        ((("i1", 0), ("i0", 1)), (False, True)),
    ):
        item = CountedControlItem(RELEVANCE, Control.CONTROL, "i0", known, captions)
        try:
            controls.add_control_items(campaign=made, items=[(1, item)], source="page")
        except BadItems:
            continue
    assert Control.objects.count() == 1


def test_sentences_of_the_test_are_balanced_and_each_wrong_one_says_why():
    assert len(CORRECT) == len(INCORRECT) >= 18
    assert len({*CORRECT, *(sentence for sentence, _ in INCORRECT)}) == 2 * len(CORRECT)
    assert all(why for _, why in INCORRECT)


def test_installing_the_test_twice_adds_nothing():
    made = campaign("captions")
    first = controls.install_sentences(campaign=made, kind=CAPTION_WRITING)
    again = controls.install_sentences(campaign=made, kind=CAPTION_WRITING)
    assert first is not None and again is not None
    assert (first.added, again.added, again.there) == (36, 0, 36)


def test_wrong_captions_are_those_with_the_fewest_words_in_common():
    a_corpus(
        "quay",
        [
            an_image("dog", "A dog runs on grass .", layered=False),
            an_image("dogs", "Two dogs run on the grass .", layered=False),
            an_image("boat", "Sailors mend nets .", layered=False),
        ],
    )
    made = campaigns.create_campaign(name="work", corpus="quay", tasks="graded")
    items = controls.from_captions(
        campaign=made, images=["dog", "dogs", "boat"], seed=1, per_page=1, purposes={Control.CONTROL: 3}
    )
    wrong = {item.image: item.captions[0][0] for item in items if item.known == "1"}
    assert wrong["dog"] == wrong["dogs"] == "boat"


def test_captions_marked_as_unrelated_are_the_wrong_ones_of_their_image():
    """Never true ones; those that somebody marked come before any that are drawn."""
    a_corpus("quay", [_half_unrelated(n) for n in range(6)])
    made = campaigns.create_campaign(name="work", corpus="quay", tasks="tags")
    items = list(
        controls.from_captions(
            campaign=made,
            images=[f"i{n}" for n in range(6)],
            seed=3,
            per_page=8,
            purposes={Control.CONTROL: 6},
        )
    )
    assert {item.image for item in items} == {f"i{n}" for n in range(6)}
    for item in items:
        assert isinstance(item.known, tuple) and 1 <= sum(item.known) <= 4
        for (key, place), fits in zip(item.captions, item.known, strict=True):
            assert fits == (key == item.image and place < 4)
        own = {place for key, place in item.captions if key == item.image and place >= 4}
        assert len(own) == min(4, 8 - sum(item.known)), "all four that are marked, as far as there is room"


def _half_unrelated(number: int) -> ImageRecord:
    image = an_image(f"i{number}", *(f"thing{number}x{k}" for k in range(8)), layered=False)
    marked = (replace(one, unrelated=place >= 4) for place, one in enumerate(image.captions))
    return replace(image, captions=tuple(marked))
