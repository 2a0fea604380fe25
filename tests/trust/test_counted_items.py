"""Control items of questions whose votes are only counted: graded pairs, images of pages, sentences of the
test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from statistics import mean

import pytest

from annotation import campaigns
from annotation.models import Campaign, Caption, Control
from annotation.protocol import kinds
from annotation.protocol.paging import Pair
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import ImageRecord
from annotation.quality import controls
from annotation.quality.controls import BadItems, CountedControlItem
from annotation.quality.controls import captions as from_corpus
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


def from_file(created: Campaign, folder: Path, *lines: str) -> controls.Added:
    file = folder / "items.csv"
    file.write_text("\n".join(("kind,purpose,image,captions,sentence,known,explanation", *lines)) + "\n")
    return controls.from_csv(campaign=created, file=file)


def test_a_file_names_captions_and_what_is_true_of_them(tmp_path: Path):
    created = campaign("relevance")
    done = from_file(created, tmp_path, "relevance,control,i0,i0#1 i1#0 i2#3,,i0#1,its own")
    assert done.added == 1
    item = Control.objects.get()
    keys = {image.key: image.pk for image in created.corpus.images.all()}
    assert item.content == {
        "blocks": [{"image": keys["i0"], "captions": [[keys["i0"], 1], [keys["i1"], 0], [keys["i2"], 3]]}]
    }
    assert (item.known, item.stratum, item.explanation) == ([True, False, False], "1", "its own")


def test_a_graded_pair_is_known_to_be_4_or_1(tmp_path: Path):
    created = campaign("graded")
    from_file(
        created, tmp_path, "graded_relevance,control,i0,i0#1,,4,", "graded_relevance,control,i0,i1#1,,1,"
    )
    assert list(Control.objects.order_by("pk").values_list("stratum", flat=True)) == ["4", "1"]
    with pytest.raises(BadItems, match="line 2: gold grade 2: expected 1 or 4"):
        from_file(created, tmp_path, "graded_relevance,control,i0,i2#1,,2,")


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
        ("graded_relevance,control,i0,i0#1 i0#2,,4,", "2 captions for one question; expected one"),
        ("caption_writing,qualification,i0,,,correct,", "asks about a sentence"),
        ("caption_writing,control,i0,,A dog run.,incorrect,", "has no control items"),
        ("region_description,qualification,i0,,,x,", "'region_description' cannot be graded"),
    ],
)
def test_what_cannot_be_an_item_is_named_with_its_line(tmp_path: Path, line: str, problem: str):
    of_kind = {kinds.kinds_of_tasks(tasks)[0]: tasks for tasks in kinds.all_tasks()}
    created = campaign(of_kind[line.split(",")[0]])
    if not problem:
        assert from_file(created, tmp_path, line).added == 1
        return
    with pytest.raises(BadItems, match=f"line 2: .*{problem}"):
        from_file(created, tmp_path, line)
    assert not Control.objects.exists()


def test_items_of_what_the_campaign_does_not_ask_are_refused(tmp_path: Path):
    with pytest.raises(BadItems, match="campaign 'work' asks graded_relevance; not relevance"):
        from_file(campaign("graded"), tmp_path, "relevance,control,i0,i0#1 i1#0,,i0#1,")


def test_the_same_captions_in_another_order_are_the_same_item():
    created = campaign("relevance")
    for captions, known in (
        ((("i0", 1), ("i1", 0)), (True, False)),
        ((("i1", 0), ("i0", 1)), (False, True)),
    ):
        item = CountedControlItem(RELEVANCE, Control.CONTROL, "i0", known, captions)
        try:
            controls.add_control_items(campaign=created, items=[(1, item)], source="page")
        except BadItems:
            continue
    assert Control.objects.count() == 1


def test_sentences_of_the_test_are_balanced_and_each_wrong_one_says_why():
    assert len(CORRECT) == len(INCORRECT) >= 18
    assert len({*CORRECT, *(sentence for sentence, _ in INCORRECT)}) == 2 * len(CORRECT)
    assert all(why for _, why in INCORRECT)


def test_installing_the_test_twice_adds_nothing():
    created = campaign("captions")
    first = controls.install_sentences(campaign=created, kind=CAPTION_WRITING)
    again = controls.install_sentences(campaign=created, kind=CAPTION_WRITING)
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
    created = campaigns.create_campaign(name="work", corpus="quay", tasks="graded")
    items = controls.from_captions(
        campaign=created, images=["dog", "dogs", "boat"], seed=1, per_page=1, purposes={Control.CONTROL: 3}
    )
    invalid = {item.image: item.captions[0][0] for item in items if item.known == "1"}
    assert invalid["dog"] == invalid["dogs"] == "boat"


def test_wrong_captions_are_as_long_as_those_of_the_campaign():
    """The longest of a page would otherwise tell control items apart: short captions share fewest words."""
    rng = SeededRng(1)
    words = [f"word{n}" for n in range(40)]

    def caption(number: int) -> from_corpus._CaptionWords:
        says = frozenset(rng.choice(words) for _ in range(1 + rng.below(12)))
        length = 10 * len(says) + rng.below(10)
        return from_corpus._CaptionWords((f"i{number // 5}", number % 5), str(number), says, length, False)

    captions = sorted(map(caption, range(2000)), key=attrgetter("length"))
    length_of = {caption.name: caption.length for caption in captions}
    true = {name: list(group) for name, group in groupby(sorted(captions), lambda caption: caption.name[0])}
    lengths = [
        [length_of[name] for name in islice(chosen, 8)]
        for seed in range(3)
        for image in range(400)
        for chosen in [from_corpus._unrelated_captions(f"i{image}", true[f"i{image}"], captions, seed)]
    ]
    drawn = [[rng.choice(captions).length for _ in range(8)] for _ in range(4000)]
    summaries: tuple[Callable[[list[int]], float], ...] = (min, mean, max)
    for of_page in summaries:
        assert mean(map(of_page, lengths)) == pytest.approx(mean(map(of_page, drawn)), rel=0.02), of_page


def test_a_text_comes_twice_among_wrong_captions_if_it_does_beside_images_of_the_campaign():
    """Pages on which no text came twice were those of control images."""
    texts = ("A man runs .", "A dog runs .", "A boat sails .")
    for repeated in (False, True):
        a_corpus(
            f"quay{repeated}",
            [an_image(f"i{n}", *(text if repeated else f"{n} {text}" for text in texts)) for n in range(4)]
            + [an_image("known", "Snow .", "Ice .", split="val", layered=False)],
        )
        created = campaigns.create_campaign(
            name=f"work{repeated}", corpus=f"quay{repeated}", tasks="relevance"
        )
        pairs = [Pair(f"i{n}", f"i{k}#{number}") for n in range(4) for k in range(4) for number in range(3)]
        campaigns.open_pairs(campaign=created, pairs=pairs)
        item, *_ = controls.from_captions(
            campaign=created, images=["known"], seed=1, per_page=8, purposes={Control.CONTROL: 1}
        )
        displayed = {text_in(f"quay{repeated}", *name) for name in item.captions}
        assert len(displayed) == (4 if repeated else 8)


def test_where_most_images_have_marked_captions_no_other_is_a_wrong_one():
    """Never true ones, never one of another image, and each text once."""
    a_corpus("quay", [_marked(n, 17) for n in range(6)])
    items = control_pages("tags", [f"i{n}" for n in range(6)])
    assert Counter(item.image for item in items) == {f"i{n}": 2 for n in range(6)}, "17 are enough for two"
    seen: set[tuple[str, object]] = set()
    for item in items:
        assert isinstance(item.known, tuple) and 1 <= sum(item.known) <= 4
        assert [index < 4 for _, index in item.captions] == list(item.known)
        assert all(key == item.image for key, _ in item.captions)
        texts = [("fits", index) if index < 4 else text_of(item.image, index) for _, index in item.captions]
        assert len(set(texts)) == 8
        assert not seen & {(item.image, text) for text in texts}
        seen |= {(item.image, text) for text in texts}


def test_where_too_few_are_marked_for_a_second_page_there_is_one():
    a_corpus("quay", [_marked(n, 9) for n in range(6)])
    items = control_pages("tags", [f"i{n}" for n in range(6)])
    assert Counter(item.image for item in items) == {f"i{n}": 1 for n in range(6)}


def test_a_marked_caption_of_a_few_images_comes_first_and_others_are_drawn():
    """Flickr30k Entities marks a caption here and there, and no more of its image."""
    records = [_marked(n, 1 if n < 2 else 0) for n in range(6)]
    a_corpus("quay", records)
    items = control_pages("tags", [f"i{n}" for n in range(6)])
    assert {item.image for item in items} == {f"i{n}" for n in range(6)}
    for number in range(2):
        assert any((f"i{number}", 4) in item.captions for item in items)


def test_no_text_comes_twice_on_a_page_nor_as_a_wrong_one_where_it_fits():
    """Everything that is said of several images is told apart by its text, however it is written."""
    texts = ("A man .", "a  man .", "A dog .", "A boat .", "A kite .")
    a_corpus(
        "quay",
        [
            an_image(f"i{n}", *(*texts[n % 5 :], *texts[: n % 5], f"thing{n} ."), layered=False)
            for n in range(12)
        ],
    )
    items = control_pages("relevance", [f"i{n}" for n in range(12)])
    assert items
    for item in items:
        assert isinstance(item.known, tuple)
        texts_of = [
            " ".join(Caption.objects.filter(image__key=key).order_by("number")[index].text.lower().split())
            for key, index in item.captions
        ]
        assert len(set(texts_of)) == 8
        values = {row for row, fits in zip(texts_of, item.known, strict=True) if fits}
        assert not values & {row for row, fits in zip(texts_of, item.known, strict=True) if not fits}
        assert all(
            row.startswith("thing") for row, fits in zip(texts_of, item.known, strict=True) if not fits
        )


def control_pages(tasks: str, images: list[str]) -> list[CountedControlItem]:
    """Return two pages of eight of each image, if it has enough captions: the campaign's questions about
    it."""
    created = campaigns.create_campaign(name="work", corpus="quay", tasks=tasks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_corpus, "_captions_of_campaign", lambda campaign: ([], 16, False))
        purposes = {Control.CONTROL: len(images)}
        return list(
            controls.from_captions(campaign=created, images=images, seed=3, per_page=8, purposes=purposes)
        )


def text_in(corpus: str, image: str, index: int) -> str:
    return Caption.objects.get(image__corpus__name=corpus, image__key=image, number=index).text


def text_of(image: str, index: int) -> str:
    return Caption.objects.filter(image__key=image).order_by("number")[index].text


def _marked(number: int, marked: int) -> ImageRecord:
    """Return an image with four captions, then `marked` ones, two of them paraphrases."""
    others = [f"other{number}x{k}" for k in range(marked - 2)]
    repeated = [f"Other{number}x0", f"thing{number}x0"] if marked > 2 else ["other"] * marked
    image = an_image(
        f"i{number}", *(f"thing{number}x{k}" for k in range(4)), *others, *repeated, layered=False
    )
    records = (replace(caption, unrelated=index >= 4) for index, caption in enumerate(image.captions))
    return replace(image, captions=tuple(records))
