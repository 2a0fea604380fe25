"""Tags found by trained systems: by command, scored by hand, stored completely, and what is refused."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.common.operations import OperationContext
from annotation.models import Image, Job
from evaluation.models import System, TagSet
from evaluation.report_data.tag_scores import interval_remarks
from evaluation.services.common import InputError
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.stored import get_or_publish
from evaluation.services.systems import registry
from evaluation.services.tagging import writing
from evaluation.services.tagging.scores import store_figures, tag_figures
from evaluation.services.tagging.sets import tag_scores_of, tag_set_named
from evaluation.services.tagging.true_tags import TagScoring, TrueTags
from evaluation.services.tagging.writing import TagRequest, tag_images
from evaluation.web.systems import tagging as pages
from phrasebox.agreement.shares import share_interval
from phrasebox.agreement.summary import Resampling
from phrasebox.errors import PhraseboxError
from phrasebox.metrics.scoring import evaluate
from phrasebox.metrics.tagging import by_tag_and_image
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import by_api
from tests.evaluation.systems.scenes import THINGS, make_scenes
from tests.web import world
from tests.web.staff import press

pytestmark = pytest.mark.django_db
#: Minimum MiAP of taggers that learn the content of a picture. SJE learns an order of tags, which these
#: captions lack.
LEAST = {"Tag-neighbours": 0.7, "Tag-SVM": 0.7}
#: Only the images of a set.
ALONE = ("--missing", "leave-out")
FEW = ("--changes", "settings.rates=[0.03]", "settings.epochs=3")


@pytest.fixture
def scenes(db: None, tmp_path: Path, settings: Any) -> str:
    """The corpus with features of whole images, and vectors of some words."""
    settings.DATA_DIR = tmp_path / "data"
    corpus = make_scenes(tmp_path)
    Image.objects.get(position=80).captions.create(number=2, text="A cat.")
    rng = np.random.default_rng(0)
    words = [*THINGS[1:], "cat"]
    np.savez(tmp_path / "words.npz", vectors=rng.standard_normal((len(words), 8)), ids=np.array(words))
    import_features(FeatureImport(corpus=corpus, name="w", path=tmp_path / "words.npz", kind="word"))
    return corpus


def train(name: str = "map", recipe: str = "ListSJE", *options: str) -> None:
    words = ("--words", "w") if recipe in ("SJE-I", "SJE-II", "ListSJE") else ()
    output_of(
        "train_system",
        name,
        "--recipe",
        recipe,
        "--corpus",
        "scenes",
        "--features",
        "whole",
        *words,
        *options,
    )


def tagged(*options: Any) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(output_of("tag", "--split", "test", *options, "--json"))
    return payload


def scored(*options: Any) -> dict[str, Any]:
    payload = json.loads(output_of("score_tags", "--no-store", "--resamples", 50, *options, "--json"))
    report: dict[str, Any] = payload["report"]
    return report


def test_a_trained_system_tags_images_and_is_scored_against_peoples_captions(
    scenes: str, tmp_path: Path
) -> None:
    train("map", "ListSJE", "--changes", "settings.epochs=20")
    report = tagged("map", "--top", 3)
    output_of("download_tag_set", "map", "--out", tmp_path / "tags.jsonl")
    # The word "dog" has no vector, so the system does not know this tag.
    assert (report["images"], report["vocabulary"], report["unseen"]) == (15, len(THINGS) - 1, 0)
    lines = [json.loads(line) for line in (tmp_path / "tags.jsonl").read_text().splitlines()]
    assert [line["image"] for line in lines] == [f"{n}.png" for n in range(75, 90)]
    for line in lines:
        scores = [score for _, score in line["tags"]]
        assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    scored("map")
    assert not TagSet.objects.get().figures, "nothing is kept that nobody asked to keep"
    result = scored("map", "--store")
    assert TagSet.objects.get().figures == result
    of = {(measure["measure"], measure["distractors"]): measure for measure in result["measures"]}
    assert set(of) == {
        *((f"p@{k}", number) for k in (1, 5) for number in (0, 5, 10, 20)),
        *((name, None) for name in ("P@1", "P@5", "MAP", "MiAP")),
    }
    assert result["unknown"] == sum("dog" in text for text in texts(75)) // 2 + 1, "and the cat"
    for measure in of.values():
        assert 0 <= measure["low"] <= measure["value"] <= measure["high"] <= 1
    assert of["p@1", 5]["gain"] == pytest.approx(of["p@1", 5]["value"] / of["p@1", 5]["chance"] - 1)


def test_intervals_of_hits_are_wilsons_and_those_of_few_images_say_so() -> None:
    """Eight images whose one true tag comes first: no bootstrap could tell how sure that is."""
    right = TrueTags(np.tile([3.0, 2.0, 1.0], (8, 1)), [[0]] * 8, 0, 0)
    result = tag_figures(right, TagScoring(distractors=(0,), resampling=Resampling(200, 0.95, 0)))
    of = {row["measure"]: row for row in result}
    low, high = share_interval(np.ones(8), np.ones(8), 0.95)
    for name in ("p@1", "P@1"):
        assert (of[name]["value"], of[name]["low"], of[name]["high"]) == (1, low, high) and low < 0.7
        assert (of[name]["interval"], of[name]["remark"]) == ("Wilson", "")
    assert of["MiAP"]["interval"] == "bootstrap" and "8 images, fewer than 10" in of["MiAP"]["remark"]
    remarks = interval_remarks({"measures": result})
    few, alike = "fewer than 10: may be too narrow", "every resample gives the same"
    assert remarks == [
        f"P@5: a bootstrap of 8 images, {few}",
        f"MAP: a bootstrap of 1 tag, {few}; {alike}",
        f"MiAP: a bootstrap of 8 images, {few}; {alike}",
    ]


def texts(start: int) -> list[str]:
    """Return the captions of images from `start` on."""
    rows = Image.objects.filter(position__gte=start, captions__isnull=False)
    return list(rows.values_list("captions__text", flat=True))


def test_scores_are_those_computed_by_hand(scenes: str) -> None:
    """A set of two images whose scores are known, of "A dog beside a man" and the like."""
    first, second = Image.objects.order_by("position")[:2]
    for image, (measure, another) in ((first, ("dog", "man")), (second, ("boat", "dog"))):
        image.captions.all().delete()
        image.captions.create(number=0, text=f"The {measure} sees a {another}.")
    rows = iter(
        [
            (first.pk, [["man", 0.9]], np.array([0.5, 0.9, 0.7], np.float32).tobytes()),
            (second.pk, [["dog", 0.9]], np.array([0.9, 0.1, 0.2], np.float32).tobytes()),
        ]
    )
    metadata = {
        "corpus": first.corpus,
        "vocabulary": ["dog", "man", "boat"],
        "settings": {"unit": "nouns", "alpha": 0.0},
    }
    get_or_publish(TagSet, "known", metadata, partial(writing.fill_tag_set, tags_of_images=iter(rows)))
    result = scored("known", "--distractors", 0, 5, *ALONE)
    of = {(measure["measure"], measure["distractors"]): measure["value"] for measure in result["measures"]}
    # The first image's tags are dog, man: man is before dog. The second's are boat, dog: dog is before boat.
    assert of["p@1", 0] == 0 and of["p@5", 0] == 1
    # One distractor each: boat comes between man and dog; man comes last.
    assert of["p@1", 5] == 0 and of["p@5", 5] == pytest.approx((1 / 2 + 1) / 2)
    # Ranked by image: man, boat, dog is (1 + 2/3) / 2; dog, boat, man is 1.
    assert of["MiAP", None] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    # By tag: dog fits both images; man the first, which is first; boat the second, which is second.
    assert of["MAP", None] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert of["P@1", None] == 1 and of["P@5", None] == pytest.approx(2 / 5)
    chance = next(
        measure
        for measure in result["measures"]
        if measure["measure"] == "p@1" and measure["distractors"] == 5
    )
    assert chance["chance"] == pytest.approx(1 / 3) and chance["gain"] == -1
    assert [result[key] for key in ("images", "tags", "unknown", "without")] == [2, 4, 0, 0]


def test_tags_that_were_never_learned_from_are_found_by_their_word_vectors(
    scenes: str, tmp_path: Path
) -> None:
    train("map", "SJE-II", *FEW)
    file = tmp_path / "tags.txt"
    file.write_text("man\ncat\ncat ball\n")
    report = tagged("map", "--vocabulary", file, "--name", "others", "--split", "")
    assert (report["vocabulary"], report["unseen"], report["images"]) == (3, 2, 90)
    images, scores = tag_scores_of(tag_set_named("others"))
    assert len(images) == 90 and len(np.unique(scores)) > 200
    whole = tagged("map", "--vocabulary", "corpus", "--name", "whole")
    assert (whole["vocabulary"], whole["unseen"]) == (len(THINGS), 1), "the cat"
    file.write_text("dog\n")
    with pytest.raises(CommandError, match="tag 'dog' is none of the training's, and has no word vector"):
        output_of("tag", "map", "--vocabulary", file, "--name", "dogs")


@pytest.mark.parametrize("recipe", ["SJE-I", "Tag-frequency", "Tag-random", "Tag-neighbours", "Tag-SVM"])
def test_every_recipe_tags_and_is_scored(scenes: str, recipe: str) -> None:
    train("own", recipe, *(FEW if recipe == "SJE-I" else ()))
    report = tagged("own")
    assert report["vocabulary"] == len(THINGS) - (recipe == "SJE-I")
    values = {
        (measure["measure"], measure["distractors"]): measure["value"]
        for measure in scored("own")["measures"]
    }
    assert values["MiAP", None] > LEAST.get(recipe, 0)


def test_what_was_asked_for_alike_stands_unchanged_and_another_is_refused(
    scenes: str, tmp_path: Path
) -> None:
    train("often", "Tag-frequency")
    assert not tagged("often")["unchanged"]
    digest = TagSet.objects.get().digest
    assert tagged("often")["unchanged"] and TagSet.objects.get().digest == digest
    with pytest.raises(CommandError, match=r"tag set 'often' already exists, made otherwise"):
        output_of("tag", "often", "--split", "val")
    listed = tmp_path / "some.txt"
    listed.write_text("76.png\n77.png\n")
    some = ("--split", listed, "--name", "some")
    assert tagged("often", *some)["images"] == 2 and tagged("often", *some)["unchanged"]
    listed.write_text("76.png\n78.png\n")
    with pytest.raises(CommandError, match=r"tag set 'some' already exists, made otherwise"):
        output_of("tag", "often", *some)
    output_of("remove_tag_set", "some")
    with pytest.raises(PhraseboxError, match="tag set often uses it"):
        registry.remove_system(name="often")
    output_of("remove_tag_set", "often")
    registry.remove_system(name="often")
    assert not TagSet.objects.exists() and not System.objects.exists()


def test_a_set_that_fails_half_way_is_not_there(scenes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    train("often", "Tag-frequency")
    monkeypatch.setattr(writing, "_TOGETHER", 4)

    seen = []

    def stop(phase: str, share: float) -> None:
        seen.append(phase)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tag_images(TagRequest(system="often"), OperationContext(listener=stop))
    assert not TagSet.objects.exists()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("often", "--score", "s1"), "--score: Expected one of: own."),
        (("often", "--top", "0"), "--top: Expected 1 or more."),
        (("often", "--split", "tset"), "unknown split 'tset'"),
        (("nobody",), "system: There is no system “nobody” here; known: often."),
    ],
)
def test_what_cannot_be_tagged_is_said_in_a_line(scenes: str, options: tuple[str, ...], match: str) -> None:
    train("often", "Tag-frequency")
    with pytest.raises(CommandError, match=match):
        output_of("tag", *options)


def test_what_cannot_be_trained_is_said_in_a_line(scenes: str, tmp_path: Path) -> None:
    ask = ("--corpus", "scenes", "--features", "whole")
    with pytest.raises(CommandError, match="--words: Recipe ListSJE needs this."):
        output_of("train_system", "map", "--recipe", "ListSJE", *ask)
    np.savez(tmp_path / "none.npz", vectors=np.ones((1, 3)), ids=np.array(["beside"]))
    import_features(FeatureImport(corpus="scenes", name="none", path=tmp_path / "none.npz", kind="word"))
    with pytest.raises(CommandError, match="none of the 6 tags of the training captions has a word vector"):
        output_of("train_system", "map", "--recipe", "ListSJE", *ask, "--words", "none")
    with pytest.raises(CommandError, match="no tag stands in the captions of 99 training images"):
        output_of("train_system", "map", "--recipe", "Tag-SVM", *ask, "--changes", "text.least_count=99")


def test_systems_that_rank_or_write_do_not_tag_and_taggers_do_not_rank(scenes: str) -> None:
    train("often", "Tag-frequency")
    with pytest.raises(CommandError, match="predicts tags, not rankings"):
        output_of("rank", "often", "--split", "test")
    output_of("train_system", "near", "--recipe", "NN-caption", "--corpus", "scenes", "--features", "whole")
    with pytest.raises(CommandError, match="system 'near' does not tag images; choose one that does"):
        output_of("tag", "near")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("nothing",), "There is no tag set “nothing” here; known: often."),
        (("often", "--alpha", "2"), "--alpha: Expected 1.0 or less."),
        (("often", "--depths", 0), "--depths .1..: Expected 1 or more."),
        (("often", "--distractors", "some"), "--distractors .1..: Expected a whole number."),
        (
            ("often", "--split", "train"),
            r"60 of 60 images \('0.png', .*\) have no tags in set 'often': supply",
        ),
        (
            ("often", "--split", "train", *ALONE),
            "no image of tag set 'often' has a tag in its captions that the set could have chosen; choose",
        ),
    ],
)
def test_what_cannot_be_scored_is_said_in_a_line(scenes: str, options: tuple[str, ...], match: str) -> None:
    train("often", "Tag-frequency")
    output_of("tag", "often", "--split", "test")
    with pytest.raises(CommandError, match=match):
        output_of("score_tags", *options)


def test_users_tags_of_a_collection_are_scored_as_lists(scenes: str, tmp_path: Path) -> None:
    file = tmp_path / "users.csv"
    rows = "".join(f"{n}.png,nikon {' '.join(texts_of(n))}\n" for n in range(75, 90))
    file.write_text(f"id,tags\n{rows}")
    output_of("import_weak_collection", "flickr", file)
    output_of("import_user_tags", "users", "--collection", "flickr", "--corpus", "scenes")
    result = scored("users", "--split", "test")
    of = {(measure["measure"], measure["distractors"]): measure["value"] for measure in result["measures"]}
    assert result["source"].startswith("collection flickr, ") and result["images"] == 15
    # Each list begins with the maker of the camera, which fits no image; no user names the cat.
    assert of["p@5", 0] == 1 and 0 < of["MiAP", None] < 0.65 and of["P@1", None] == 0
    output_of("import_user_tags", "users", "--collection", "flickr", "--corpus", "scenes")  # no effect
    file.write_text("id,tags\n75.png,dog\n")
    output_of("import_weak_collection", "other", file)
    with pytest.raises(CommandError, match="tag set 'users' already exists"):
        output_of("import_user_tags", "users", "--collection", "other", "--corpus", "scenes")


def test_wrong_tags_of_lists_count_though_no_caption_names_them(scenes: str) -> None:
    """By hand: "zebra" stands before the dog of the first image. Then by brute force, on all tags as columns.
    What does not rank all tags stays."""
    first, second = Image.objects.order_by("position")[:2]
    for image, values in ((first, "dog"), (second, "boat")):
        image.captions.all().delete()
        image.captions.create(number=0, text=f"A {values}.")
    metadata = {"corpus": first.corpus, "source": "by hand"}
    lists: dict[str, list[list[list[Any]]]] = {
        "wrong": [[["zebra", 1.0], ["dog", 0.5]], [["boat", 1.0]]],
        "right": [[["dog", 0.5]], [["boat", 1.0]]],
    }
    for name, provided in lists.items():
        rows = [(image.pk, tags, b"") for image, tags in zip((first, second), provided, strict=True)]
        get_or_publish(TagSet, name, metadata, partial(writing.fill_tag_set, tags_of_images=iter(rows)))
    of: dict[str, dict[tuple[str, int | None], float]] = {}
    for name, vocabulary in (("wrong", 3), ("right", 2)):
        result = scored(name, "--distractors", 0, 5, "--store", *ALONE)
        assert (result["vocabulary"], result["listed"], result["tags"]) == (vocabulary, True, 2)
        of[name] = {
            (measure["measure"], measure["distractors"]): measure["value"] for measure in result["measures"]
        }
    assert of["right"]["P@1", None] == of["right"]["MiAP", None] == 1
    assert (of["wrong"]["P@1", None], of["wrong"]["MiAP", None]) == (0.5, 0.75)
    changed = {key for key, value in of["right"].items() if of["wrong"][key] != value}
    assert changed == {("P@1", None), ("MiAP", None)}, "both have P@5 of one tag of five"
    assert "2 true tags among 3 that captions or lists name." in output_of(
        *("score_tags", "wrong", "--resamples", 50, *ALONE)
    )
    ada, page = world.signed_in("ada", "researcher"), "/evaluation/tags/wrong/"
    text = ada.get(page).content.decode()
    assert "P@k and MiAP rank 3 tags" in text and ">P@1<" in text
    names = [measure["measure"] for measure in by_api("ada", "tag-sets/wrong")["figures"]["measures"]]
    assert {"p@1", "MAP", "P@1", "P@5", "MiAP"} <= set(names)


def test_figures_of_lists_are_those_of_a_table_of_all_tags(scenes: str) -> None:
    rng = np.random.default_rng(2)
    images = list(Image.objects.order_by("position")[:40])
    words = [*THINGS, *(f"wrong{n}" for n in range(9))]
    listed = [[str(word) for word in rng.permutation(words)[: rng.integers(0, 7)]] for _ in images]
    rows = [
        (image.pk, [[tag, 1 - index / 9] for index, tag in enumerate(own_tags)], b"")
        for image, own_tags in zip(images, listed, strict=True)
    ]
    get_or_publish(
        TagSet,
        "lists",
        {"corpus": images[0].corpus, "source": "made"},
        partial(writing.fill_tag_set, tags_of_images=iter(rows)),
    )
    result = scored("lists", *ALONE)
    true = [{word for word in THINGS if any(word in text for text in of_image(image))} for image in images]
    tags = sorted(set().union(*true, *listed))
    assert result["vocabulary"] == len(tags) > len(THINGS)
    table = np.full((len(images), len(tags)), -np.inf)
    for row, own_tags in zip(table, listed, strict=True):
        row[[tags.index(tag) for tag in own_tags]] = 1 - np.arange(len(own_tags)) / 9
    relevant = np.array([[tag in own_tags for tag in tags] for own_tags in true])
    by_tag, by_image = by_tag_and_image(table, relevant)
    expected = {
        name: measure.value for name, measure in evaluate(by_image, ["P@1", "P@5", "MiAP"]).items()
    } | {"MAP": evaluate(by_tag, ["MAP"])["MAP"].per_query[relevant.any(axis=0)].mean()}
    values = {
        measure["measure"]: measure["value"]
        for measure in result["measures"]
        if measure["distractors"] is None
    }
    assert values == pytest.approx(expected)


def of_image(image: Image) -> list[str]:
    """Return the captions of an image."""
    return list(image.captions.values_list("text", flat=True))


def texts_of(number: int) -> list[str]:
    """Return the things that an image's first caption names."""
    text = Image.objects.get(position=number).captions.order_by("number")[0].text
    return [word for word in text.lower().split() if word in THINGS]


def test_jobs_tag_and_score(scenes: str) -> None:
    train("often", "Tag-frequency")
    corpus = System.objects.get().corpus
    for kind, arguments in (
        ("tag", {"system": "often", "split": "test"}),
        ("score_tags", {"tag_set": "often"}),
    ):
        job = jobs.enqueue(kind=kind, arguments=arguments, corpus=corpus, actor=None)
        assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    row = TagSet.objects.get()
    assert {measure["measure"] for measure in row.figures["measures"]} >= {"p@1", "p@5", "MAP", "MiAP"}


def test_images_are_tagged_looked_at_and_scored_by_page(scenes: str) -> None:
    """A researcher asks for tags, looks at them, has them scored, takes them along, and removes the set."""
    train("map", "ListSJE", *FEW)
    ada = world.signed_in("ada", "researcher")
    detail = ada.get("/evaluation/systems/map/").content.decode()
    assert "Held-out precision" in detail and 'action="/evaluation/systems/map/rank/"' not in detail
    press(ada, "/evaluation/systems/map/", "Tag images", name="told", split="test", score="mean", top="4")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    tag_set = TagSet.objects.get()
    assert (tag_set.name, tag_set.settings["score"], tag_set.image_count) == ("told", "mean", 15)
    page = ada.get("/evaluation/tags/told/").content.decode()
    assert "These tags have not been scored yet." in page and page.count('class="tags"') == 15
    press(ada, "/evaluation/tags/told/", "Score", split="test")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    page = ada.get("/evaluation/tags/told/").content.decode()
    value = next(
        measure for measure in TagSet.objects.get().figures["measures"] if measure["measure"] == "MiAP"
    )["value"]
    assert f"{value:.3f}" in page and "Score again" in page and "Intervals of 95 %." in page
    tag_set = TagSet.objects.get()
    store_figures("told", {**tag_set.figures, "level": 0.8})
    assert "Intervals of 80 %." in ada.get("/evaluation/tags/told/").content.decode()
    store_figures("told", {**tag_set.figures, "resamples": 0})
    assert "Intervals of" not in ada.get("/evaluation/tags/told/").content.decode()
    with pytest.raises(InputError, match="'told' was removed or replaced while it was scored; score it"):
        store_figures("told", {**tag_set.figures, "digest": "of another set"})
    assert TagSet.objects.get().figures["resamples"] == 0
    assert "/evaluation/tags/told/" in ada.get("/evaluation/systems/map/").content.decode()
    file: Any = ada.get("/operations/download_tag_set/file?tag_set=told")
    lines = b"".join(file.streaming_content).decode().splitlines()
    assert [len(json.loads(line)["tags"]) for line in lines] == [4] * 15
    table: Any = ada.get("/operations/download_tag_set/file?tag_set=told&layout=csv")
    assert len(b"".join(table.streaming_content).decode().splitlines()) == 1 + 4 * 15
    press(ada, "/evaluation/tags/told/", "Remove this tag set")
    assert not TagSet.objects.exists()


def test_a_long_set_is_shown_a_page_at_a_time(scenes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "TAGGED_PER_PAGE", 6)
    train("often", "Tag-frequency")
    tagged("often")
    ada = world.signed_in("ada", "researcher")
    displayed, address = 0, "/evaluation/tags/often/"
    while address:
        page = ada.get(address).content.decode()
        displayed += page.count('class="tags"')
        match = re.search(r'rel="next" href="(\?from=\d+)"', page)
        address = f"/evaluation/tags/often/{match[1]}" if match else ""
    assert displayed == 15


def test_a_form_that_asks_for_what_is_not_offered_is_refused_by_page(scenes: str) -> None:
    train("often", "Tag-frequency")
    ada = world.signed_in("ada", "researcher")
    response: Any = ada.post("/operations/tag/", {"system": "often", "score": "s1"}, follow=True)
    assert "Expected one of: own." in response.content.decode()
    assert not Job.objects.exists()


def test_a_tagger_is_trained_by_page_and_what_it_lacks_is_said(scenes: str) -> None:
    ada = world.signed_in("ada", "researcher")
    page = ada.get("/evaluation/train/").content.decode()
    assert "SJE-I – Bilinear map of images and tags; SJE, Delta I" in page
    ask = {"name": "map", "recipe": "SJE-I", "corpus": scenes, "features": "whole:1"}
    response: Any = press(ada, "/evaluation/train/", "Train", **ask)
    assert "Recipe SJE-I needs this." in response.content.decode()
    press(ada, "/evaluation/train/", "Train", **ask, words="w:1")
    assert Job.objects.latest("pk").arguments["words"] == "w:1"
