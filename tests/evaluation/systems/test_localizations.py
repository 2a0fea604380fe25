"""Phrases localized in pictures: trained, predicted, stored, exported and imported again, scored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.models import Corpus, Job, Layer
from annotation.protocol.terms import ImageRecord
from evaluation.comparison.subsets import subset_named
from evaluation.models import LocalizationSet, PhraseLocalization, Run, System
from evaluation.services.common import InputError
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set
from evaluation.services.localizations.gold import boxed_mentions_of
from evaluation.services.localizations.sets import (
    LocalizedMention,
    localized_mentions,
    write_rows,
)
from evaluation.services.localizations.stored_scores import stored_reports
from evaluation.services.stored import get_or_publish
from evaluation.services.systems.examples import examples_from
from evaluation.services.systems.parts import parts_of
from evaluation.services.systems.sources import Sources
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import (
    by_api,
    layer_name,
    localized,
    scored,
    values,
)
from tests.evaluation.systems.scenes import BOXES
from tests.web import world
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db


def test_phrases_are_localized_kept_and_better_than_by_chance(grounded):
    created = localized(grounded)
    assert (created["images"], created["mentions"], created["unchanged"]) == (15, 60, False)
    assert created["phrases"] == 13, "six things, each also small, and what is near"
    assert created["unknown"] == 0
    assert localized(grounded)["unchanged"]
    localization_set = LocalizationSet.objects.get()
    assert PhraseLocalization.objects.count() == 60
    rows = list(localized_mentions(localization_set))
    assert all(len(row.regions) == len(BOXES) for row in rows)
    assert all((np.diff(row.regions[:, 4]) <= 0).all() for row in rows)
    # A thing lies in one of four parts or cannot be distinguished: five regions, one of them correct.
    report = scored(grounded)
    assert (report["mentions"], report["predicted"], report["images"]) == (60, 60, 15)
    result = values(report)
    assert result["R@1"] > 0.6 > 0.3 > result["R@1, random"] == pytest.approx(0.2)
    assert result["R@10"] == result["R@100"] == result["proposals"] == 1
    assert result["R@1, largest"] == 0, "the whole picture is no thing"
    assert 0 < result["mAP"] == pytest.approx(result["AP"]), "there is one category"
    first = report["measures"][0]
    assert first["low"] < first["value"] < first["high"]
    assert [row["category"] for row in report["categories"]] == ["other"]
    assert report["frequent"][0]["phrase"] == "near"
    assert sum(row["mentions"] for row in report["frequent"]) == 60


def test_what_cannot_be_learned_localized_or_scored_is_named(grounded, tmp_path):
    train_as = ("train_system", "x", "--recipe", "Region-phrase-CCA", "--corpus", "scenes")
    layer = layer_name()
    for command, says in (
        (
            (*train_as, "--regions", "parts", "--layer", layer),
            "--words: Recipe Region-phrase-CCA needs this.",
        ),
        (
            (*train_as, "--words", "words", "--layer", layer),
            "--regions: Recipe Region-phrase-CCA needs this.",
        ),
        (
            (*train_as, "--words", "words", "--regions", "parts"),
            "--layer: Recipe Region-phrase-CCA needs this.",
        ),
        (("localize", grounded, "--regions", "nowhere"), "--regions: There is no feature set “nowhere” here"),
        (("localize", grounded, "--layer", "nobody"), "--layer: There is no layer “nobody” here"),
        (("localize", grounded, "--limit", 0), "--limit: Expected 1 or more."),
        (("localize", grounded, "--seed", -1), "--seed: Expected 0 or more."),
        (("rank", grounded), "predicts localizations, not rankings"),
        (("score_localization", "nothing"), "There is no localization set “nothing” here"),
    ):
        with pytest.raises(CommandError, match=says):
            output_of(*command)
    assert not LocalizationSet.objects.exists()
    np.savez(tmp_path / "none.npz", vectors=np.ones((1, 8), np.float32), ids=np.array(["beside"]))
    import_features(
        FeatureImport(corpus="scenes", name="prepositions", path=tmp_path / "none.npz", kind="word")
    )
    with pytest.raises(CommandError, match="no word of the training phrases has a vector"):
        output_of(*train_as, "--regions", "parts", "--layer", layer, "--words", "prepositions")
    localized(grounded)
    corpus = Layer.objects.get().corpus
    Layer.objects.create(corpus=corpus, name="bare", source="import", published=True)
    with pytest.raises(CommandError, match="layer 'bare' has no boxed mention of the split test"):
        output_of("score_localization", grounded, "--layer", "bare")
    with pytest.raises(CommandError, match="layer 'bare' says nothing of a region of these images"):
        output_of(*train_as, "--regions", "parts", "--layer", "bare", "--words", "words")
    with pytest.raises(CommandError, match="layer 'bare' has no mention in these images"):
        output_of("localize", grounded, "--name", "other", "--layer", "bare")
    with pytest.raises(CommandError, match="cannot be removed: localization set grounded"):
        output_of("remove_system", grounded)
    output_of("remove_localization_set", grounded)
    assert not PhraseLocalization.objects.exists()


def test_phrases_are_localized_looked_at_scored_and_removed_by_page(grounded, tmp_path):
    """A researcher asks for localizations, has them scored, looks at what is wrong, and removes the set."""
    ada = world.signed_in("ada", "researcher")
    system = "/evaluation/systems/grounded/"
    detail = words(ada.get(system))
    assert "has not localized any phrases yet" in detail and "This system has no runs" not in detail
    requested = {"system": "grounded", "regions": "nowhere", "split": "test"}
    assert "There is no feature set “nowhere” here" in words(ada.post("/operations/localize/", requested))
    press(ada, system, "Localize phrases", name="found", regions="parts:1", split="test", layer=layer_name())
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    localization_set = LocalizationSet.objects.get()
    assert "found test" in words(ada.get(system))
    page = "/evaluation/localizations/found/"
    displayed = ada.get(page).content.decode()
    assert displayed.count("<mark>") == 12 * 4 and "There are no figures against this layer yet" in displayed
    assert f"/evaluation/localizations/found/?show=all&amp;layer={localization_set.layer}&amp;from=12" in (
        f"/evaluation/localizations/found/{next_page(displayed)}"
    )
    assert ada.get(page + next_page(displayed).replace("&amp;", "&")).content.decode().count("<mark>") == 12
    localized(grounded, "--name", "second", "--limit", 1)
    press(ada, page, "Score", layer=layer_name(), against="second")
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    text = words(ada.get(page))
    value = values(scored("found"))
    assert f"R@1 {100 * value['R@1']:.1f}" in text and "R@10 100.0" in text
    assert "Difference from second" in text and "By category" in text
    invalid = ada.get(page, {"show": "wrong"}).content.decode()
    assert 0 < invalid.count("<mark>") == round(60 * (1 - value["R@1"]))
    far = ada.get(page, {"show": "far"}).content.decode()
    assert 0 < far.count("<mark>") <= invalid.count("<mark>"), (
        "the parts hardly overlap; the whole picture does"
    )
    # An image without rows in the set counts as all wrong, and as covered.
    of_one = list(
        localization_set.mentions.filter(image=localization_set.mentions.latest("position").image_id)
    )
    localization_set.mentions.filter(pk__in=[row.pk for row in of_one]).delete()
    lacking = ada.get(page, {"show": "far"}).content.decode()
    assert lacking.count("<mark>") >= 4 and of_one[0].image.key in lacking
    type(of_one[0]).objects.bulk_create(of_one)
    file: Any = ada.get("/operations/download_localization_set/file?localization_set=found")
    assert len(b"".join(file.streaming_content).splitlines()) == 60 + 13
    press(ada, page, "Remove this localization set")
    assert not LocalizationSet.objects.filter(name="found").exists()
    output_of("download_localization_set", "second", "--out", tmp_path / "second.jsonl")
    output_of("import_localizations", "theirs", tmp_path / "second.jsonl", "--corpus", "scenes")
    assert "theirs localizations scenes 15" in words(ada.get("/evaluation/"))
    assert "second.jsonl" in words(ada.get("/evaluation/localizations/theirs/"))


def test_figures_of_other_images_stand_beside_and_the_page_says_of_which_they_are(grounded, tmp_path):
    """A split, two files of one name, and the set's own images: none stands for another, and each has its
    level."""
    localized(grounded)
    layer = layer_name()
    scored(grounded, "--level", 0.8, "--store")
    ada, page = world.signed_in("ada", "researcher"), f"/evaluation/localizations/{grounded}/"
    text = words(ada.get(page))
    assert "Images: split test" in text and "60 boxed mentions" in text and "Interval of 80 %" in text
    assert "Figures of" not in text
    for folder, image in (("one", "80.png"), ("other", "81.png")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "some.txt").write_text(image)
        scored(grounded, "--split", tmp_path / folder / "some.txt", "--level", 0.999, "--store")
    output = output_of("score_localization", grounded, "--level", 0.999, "--store", "--resamples", 20)
    assert "Intervals of 99.9 %" in output
    reports = stored_reports(LocalizationSet.objects.get())
    assert [(report["subset"], report["mentions"], report["whole"]) for report in reports] == [
        ("split test", 60, True),
        ("images in some.txt", 4, False),
        ("images in some.txt", 4, False),
    ]
    whole = ada.get(page)
    assert "Images: split test" in words(whole) and "Interval of 99.9 %" in words(whole)
    keys = re.findall(r'<option value="(\w{16})"', whole.content.decode())
    assert len(set(keys)) == 3
    part = ada.get(page, {"of": keys[1]})
    assert "Images: images in some.txt" in words(part) and "4 boxed mentions in 1 images" in words(part)
    assert f"from=12&amp;of={keys[1]}" in part.content.decode()
    scored(grounded, "--split", "test", "--store", "--resamples", 0)
    assert [report["resamples"] for report in stored_reports(LocalizationSet.objects.get())] == [0, 50, 50]
    bare = words(ada.get(page))
    assert "Interval of" not in bare and "Images: split test" in bare
    scores_by_api = by_api("ada", f"localization-sets/{grounded}")["scores"]
    assert [
        (report["layer"], report["subset"], report["whole"], report["level"]) for report in scores_by_api
    ] == [
        (layer, "split test", True, 0.95),
        (layer, "images in some.txt", False, 0.999),
        (layer, "images in some.txt", False, 0.999),
    ]


def test_what_proposals_allow_is_of_all_of_them_however_few_are_kept(grounded, tmp_path):
    localized(grounded)
    localized(grounded, "--name", "one", "--limit", 1)
    every, item = scored(grounded), scored("one")
    result = values(item)
    assert result["R@1"] < 1 == result["proposals"] and not {"R@10", "R@100"} & set(result)
    assert result["R@1, random"] == pytest.approx(0.2) and result["R@1, largest"] == 0
    of_regions = ("proposals", "R@1, random", "R@1, largest")
    assert {name: result[name] for name in of_regions} == {name: values(every)[name] for name in of_regions}
    assert [row["proposals"] for row in item["categories"] + item["frequent"]] == [1] * 14
    output_of("download_localization_set", "one", "--out", tmp_path / "one.jsonl")
    output_of(
        *("import_localizations", "theirs", tmp_path / "one.jsonl", "--corpus", "scenes"),
        *("--split", "test"),
    )
    theirs = scored("theirs", "--layer", layer_name())
    stored = values(theirs)
    assert stored["proposals"] == stored["R@1, random"] == stored["R@1"] == stored["R@100"] == result["R@1"]
    assert (item["proposed"], theirs["proposed"]) == (True, False)
    for report, remark in ((item, False), (theirs, True)):
        measures = {row["measure"] for row in report["measures"] if "of the kept regions" in row["remark"]}
        assert measures == ({*of_regions, "R@10", "R@100"} if remark else set())
    assert "are of the kept regions" in output_of("score_localization", "theirs", "--layer", layer_name())


@pytest.fixture
def late(scenes: str, tmp_path: Path) -> str:
    """Make regions of the images, 105 of each."""
    names = dict.fromkeys(feature_set(scenes, "parts").ids())
    boxes = np.tile(np.concatenate([[[1, 1, 2, 2]] * 100, BOXES]), (len(names), 1))
    np.savez(
        tmp_path / "many.npz",
        vectors=np.zeros((len(boxes), 1)),
        ids=np.repeat(list(names), 105),
        boxes=boxes,
    )
    output_of("import_features", scenes, tmp_path / "many.npz", "--name", "many", "--kind", "region")
    return "many:1"


def make_set(name: str, regions: str, limit: int, first_right: Mapping[int, int], **metadata: Any) -> None:
    """Make a set of the boxed mentions of the test images. The first correct region has the rank that
    `first_right` contains for the mention's number modulo 3, or is missing; `limit` regions are stored."""
    corpus = Layer.objects.get().corpus
    mentions = boxed_mentions_of(corpus.name, layer_name(), subset_named(corpus.name, "test"))

    def fill(row: LocalizationSet) -> None:
        localized = []
        for number, mention in enumerate(mentions):
            boxes = np.tile(np.array([1, 1, 2, 2, 0.0], np.float32), (105, 1))
            boxes[:, 4] = -np.arange(105)
            if number % 3 in first_right:
                boxes[first_right[number % 3] - 1, :4] = mention.box
            index = (mention.image, mention.caption, mention.start, mention.end, mention.text)
            localized.append(LocalizedMention(*index, boxes[:limit]))
        write_rows(row, localized, ())

    created = {"corpus": corpus, "split": "test", "layer": layer_name(), "regions": regions, "limit": limit}
    get_or_publish(LocalizationSet, name, {**created, **metadata}, fill)


def test_recall_beyond_the_kept_regions_is_left_out_and_not_tested(late: str) -> None:
    """The right region of a third of the mentions stands at rank 50, of a third at 1. Where all were kept, or
    no more were there, every figure stands."""
    ranks = {0: 1, 1: 50}
    expected = {"R@1": 1 / 3, "R@10": 1 / 3, "R@100": 2 / 3}
    for name, regions, limit, reported in (
        ("all", late, 105, 3),
        ("hundred", late, 100, 3),
        ("fifty", late, 60, 2),
        ("ten", late, 10, 2),
        ("nine", late, 9, 1),
        ("gone", "gone:1", 10, 2),
        ("enough", "gone:1", 100, 3),
    ):
        make_set(name, regions, limit, ranks)
        report = scored(name)
        result = {key: value for key, value in values(report).items() if re.fullmatch(r"R@\d+", key)}
        assert result == pytest.approx(dict(list(expected.items())[:reported])), name
        for row in report["categories"] + report["frequent"]:
            assert {key for key in row if key.startswith("R@")} == set(result)
        text = output_of("score_localization", name, "--resamples", 50)
        assert (f"R@k beyond {limit} is left out: the set kept {limit} regions at most" in text) == (
            reported < 3
        )
        assert ("R@100" in text) == (reported == 3)
    assert scored("all")["cut_at"] is None and scored("hundred")["cut_at"] == 100
    compared = ("all", "ten", 2), ("ten", "all", 2), ("all", "hundred", 3), ("nine", "ten", 1)
    for ours, theirs, reported in compared:
        report = scored(ours, "--against", theirs)
        differences = {difference["measure"]: difference for difference in report["differences"]}
        assert set(differences) == {*list(expected)[:reported], "AP", "mAP"}
        assert all(differences[name]["difference"] == 0 for name in list(expected)[:reported])
    text = output_of("score_localization", "all", "--resamples", 0, "--against", "ten")
    assert "Differences in R@k beyond 10 are left out: ten kept 10 regions at most of each mention." in text


def test_recall_of_a_file_says_where_it_is_of_the_kept_regions(late: str, tmp_path: Path) -> None:
    make_set("ten", late, 10, {0: 1, 1: 50})
    make_set("hundred", late, 100, {0: 1, 1: 50})
    for name, least in (("ten", 10), ("hundred", 100)):
        output_of("download_localization_set", name, "--out", tmp_path / f"{name}.jsonl")
        file = tmp_path / f"{name}.jsonl"
        output_of("import_localizations", f"their-{name}", file, "--corpus", "scenes", "--split", "test")
        ask = (f"their-{name}", "--layer", layer_name())
        report = scored(*ask)
        assert (report["cut_at"], report["fewest_stored"]) == (None, least)
        remarks = {measure["measure"]: measure["remark"] for measure in report["measures"]}
        of_kept = [f"R@{k}" for k in (1, 10, 100) if "of the kept regions" in remarks[f"R@{k}"]]
        assert of_kept == (["R@100"] if name == "ten" else [])
        assert ("R@k beyond 10 is of the kept regions" in output_of("score_localization", *ask)) == (
            name == "ten"
        )
    for resamples in (0, 50):
        report = scored(
            *("their-hundred", "--layer", layer_name(), "--against", "their-ten", "--resamples", resamples)
        )
        remarks = {
            measure["measure"]: measure["remark"]
            for measure in report["differences"]
            if "R@" in measure["measure"]
        }
        assert "of the kept regions" in remarks["R@100"] and "kept" not in remarks["R@10"]


def test_pages_and_api_say_what_is_left_out(late: str) -> None:
    make_set("all", late, 105, {0: 1, 1: 50})
    make_set("ten", late, 10, {0: 1, 1: 50})
    scored("ten", "--store", "--against", "all")
    scored("all", "--store", "--against", "ten")
    ada = world.signed_in("ada", "researcher")
    left = "R@k beyond 10 is left out, since {} kept 10 regions of each mention at most."
    for name, another in (("ten", "the set"), ("all", "ten")):
        text = ada.get(f"/evaluation/localizations/{name}/").content.decode()
        assert left.format(another) in words_of(text)
        # The tables of all mentions, of categories, and of phrases.
        assert text.count(">R@100<") == (0 if name == "ten" else 3), name
    (reported,) = by_api("ada", "localization-sets/ten")["scores"]
    assert reported["cut_at"] == reported["differences_cut_at"] == 10
    assert "R@100" not in json.dumps(reported) and "R@10" in json.dumps(reported)
    output_of("remove_localization_set", "all")
    (reported,) = by_api("ada", "localization-sets/ten")["scores"]
    assert "differences" not in reported and reported["against_gone"] == "all"


def test_figures_against_a_layer_whose_boxes_change_say_so_until_they_are_made_again(late: str) -> None:
    make_set("all", late, 105, {0: 1, 1: 50})
    scored("all", "--store")
    ada = world.signed_in("ada", "researcher")
    reported = "The boxes of this layer have changed since these figures were computed"

    def outdated() -> bool:
        (report,) = by_api("ada", "localization-sets/all")["scores"]
        page = words_of(ada.get("/evaluation/localizations/all/").content.decode())
        assert (reported in page) == report["outdated"]
        return bool(report["outdated"])

    assert not outdated()
    layer = Layer.objects.get(name=layer_name())
    Layer.objects.filter(pk=layer.pk).update(version=layer.version + 1)
    assert outdated()
    scored("all", "--store")
    assert not outdated()


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def next_page(page: str) -> str:
    match = re.search(r'rel="next" href="([^"]+)"', page)
    assert match is not None
    return match[1]


def test_regions_and_phrases_help_to_rank(grounded):
    """Whole-image CCA, stacked CCA and the weighted distance are trained and rank both ways."""
    layer = layer_name()
    wholes = (
        "--corpus",
        "scenes",
        "--features",
        "whole",
        "--words",
        "words",
        "--changes",
        "text.vectors=mean",
    )
    parts = ("--regions", "parts", "--layer", layer)
    output_of("train_system", "wholes", "--recipe", "HGLMM-CCA", *wholes)
    output_of("train_system", "stacked", "--recipe", "SAE-phrases", *wholes, "settings.features=40", *parts)
    output_of("train_system", "weighted", "--recipe", "Weighted-distance", *wholes, *parts)
    settings = System.objects.get(name="weighted").settings
    assert (settings["features"], settings["regions"], settings["layer"]) == ("whole:1", "parts:1", layer)
    output_of("freeze_qrels", "own", "--corpus", "scenes", "--protocol", "any of five")
    result = {}
    for name in ("wholes", "stacked", "weighted"):
        output_of("rank", name, "--split", "test", "--protocol", "any of five")
        for direction in ("annotation", "search"):
            ask = ("--qrels", "own", "--measures", "S@5", "--split", "test", "--json")
            report = json.loads(output_of("score_run", f"{name}-{direction}", *ask))
            result[name, direction] = report["measures"][0]["value"]
    assert all(value > 0.6 for value in result.values()), result  # a third by chance
    sources = Sources(regions="parts", layer=layer)
    item, *_ = examples_from("scenes", sources).examples
    for images, captions, says in (
        ([replace(item, name="another")], [], "none of the 1 images to rank has a region in 'parts:1'"),
        ([item], ["another"], "none of the 1 captions to rank has a phrase in the layer"),
    ):
        with pytest.raises(InputError, match=says):
            parts_of("scenes", sources, images, captions)
    ada = world.signed_in("ada", "researcher")
    page = "/evaluation/systems/weighted/"
    press(ada, page, "Rank", name="again", split="test", regions="parts:1", protocol="any of five")
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    digests = Run.objects.filter(direction="search", made_by__name="weighted").values_list(
        "digest", flat=True
    )
    assert len(digests) == 2 and len(set(digests)) == 1, "the page ranks as the command does"
    for options, says in (
        (
            ("--recipe", "SAE-phrases", *wholes),
            "--layer: Recipe SAE-phrases .changed. needs this.",
        ),
        (
            ("--recipe", "HGLMM-CCA", *wholes, *parts[:2]),
            "--regions: Recipe HGLMM-CCA .changed. does not use this.",
        ),
    ):
        with pytest.raises(CommandError, match=says):
            output_of("train_system", "x", *options)


def test_systems_of_images_and_regions_are_trained_by_page_and_api(grounded, data_dir):
    layer, ada = layer_name(), world.signed_in("ada", "researcher")
    (data_dir / "sources" / "recipes").mkdir(parents=True)
    for name, more in (("SAE-phrases", "[settings]\nfeatures = 40\n"), ("Weighted-distance", "")):
        file = data_dir / "sources" / "recipes" / f"own-{name}.toml"
        file.write_text(f'extends = "{name}"\n[text]\nvectors = "mean"\n{more}')
        every = {
            "corpus": "scenes",
            "recipe": file.name,
            "features": "whole:1",
            "regions": "parts:1",
            "layer": layer,
            "words": "words:1",
            "train": "train",
            "held_out": "val",
        }
        for lacking in ("features", "regions", "layer"):
            provided = {**every, "name": "none", lacking: ""}
            page_text = words(ada.post("/evaluation/train/", provided))
            assert "needs this." in page_text
        press(ada, "/evaluation/train/", "Train", name=f"{name}-page", **every)
        response = ada.post(
            "/api/v1/systems", {**every, "name": f"{name}-api"}, content_type="application/json"
        )
        assert response.status_code == 202, response.content
        for job in Job.objects.order_by("-pk")[:2]:
            assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
        digests = System.objects.filter(name__startswith=name).values_list("digest", flat=True)
        assert len(digests) == 2 and len(set(digests)) == 1


def test_a_job_does_not_act_on_what_now_bears_its_names_in_another_corpus(grounded, tmp_path):
    """Somebody without a role in that corpus may resume the job."""
    output_of("localize", "grounded")
    import_records(name="other", records=[ImageRecord("1", "1.png", ())], format="jsonl", source="x")
    other_corpus = Corpus.objects.get(name="other")
    for kind, provided in (
        ("localize", {"system": "grounded"}),
        ("score_localization", {"localization_set": "grounded"}),
        ("rank", {"system": "grounded", "split": "test"}),
        ("tag", {"system": "grounded"}),
        ("generate_captions", {"system": "grounded"}),
    ):
        job = jobs.enqueue(kind=kind, arguments=provided, corpus=other_corpus)
        assert jobs.run_queued_job(job.pk) == Job.FAILED
        job.refresh_from_db()
        assert "is not of corpus 'other' any more; ask for a new job" in job.error, kind
        assert "scenes" not in job.error


def test_pages_take_as_many_regions_as_the_api_does(scenes):
    ada = world.signed_in("ada", "researcher")
    for limit, expected in ((0, "1 or more"), (10_001, "10000 or less"), (999_999_999, "10000 or less")):
        payload = {"corpus": "scenes", "name": "r", "extractor": "layout", "method": "grid", "limit": limit}
        page = ada.post("/operations/extract_regions/", payload)
        assert page.status_code == 400 and f"Expected {expected}." in words(page)
        answer = ada.post("/api/v1/regions", payload, content_type="application/json")
        assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "limit"
    assert not Job.objects.exists()


def test_what_regions_allow_is_told_by_category_and_needs_no_localizer(scenes, tmp_path):
    ask = ("score_proposals", scenes, "parts", "--split", "test")
    report = json.loads(output_of(*ask, "--json"))["report"]
    assert [(row["category"], row["mentions"]) for row in report["rows"]] == [("all", 60), ("other", 60)]
    assert report["rows"][0]["R@10"] == report["rows"][0]["all"] == 1 and report["regions_an_image"] == 5
    assert "R@1000" not in report["rows"][0]
    assert "5.0 regions an image, 15 images with boxed mentions" in output_of(*ask)
    with pytest.raises(CommandError, match="feature set 'whole:1' is of images; give one of regions"):
        output_of("score_proposals", scenes, "whole")
    parts = feature_set(scenes, "parts")
    names = dict.fromkeys(parts.ids())
    boxes = np.concatenate([[[1, 1, 2, 2]] * 100, BOXES])
    arrays: dict[str, Any] = {"ids": np.repeat(list(names), 105), "boxes": np.tile(boxes, (len(names), 1))}
    np.savez(tmp_path / "late.npz", vectors=np.zeros((len(arrays["ids"]), 1)), **arrays)
    output_of("import_features", scenes, tmp_path / "late.npz", "--name", "late", "--kind", "region")
    row = json.loads(output_of("score_proposals", scenes, "late", "--split", "test", "--json"))["report"][
        "rows"
    ][0]
    assert [row[f"R@{k}"] for k in (10, 50, 100, 1000)] == [0, 0, 0, row["all"]] == [0, 0, 0, 1]
    assert "R@1000" in output_of("score_proposals", scenes, "late", "--split", "test")
    with pytest.raises(CommandError, match="unknown feature set 'none' of corpus 'scenes'"):
        output_of("score_proposals", scenes, "none")
