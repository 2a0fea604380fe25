"""Phrases found in pictures: learned, predicted, kept, written as files and read again, scored."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.test import Client

from annotation import jobs
from annotation.models import Account, Corpus, Job, Layer
from annotation.selectors.records import stream_records
from annotation.workers.api_tokens import make_api_token
from evaluation.models import LocalizationSet, PhraseLocalization, Run, System
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set
from evaluation.services.localizations.kept_scores import kept_reports
from evaluation.services.localizations.sets import detections_of, localized_mentions, remove_localization_set
from evaluation.services.systems.training import system_named
from evaluation.web.systems import localizations as localization_pages
from models_core.estimators.region_phrase import RegionPhraseCCA
from models_core.features.text.phrases import phrase_text
from tests.evaluation.database.conftest import said
from tests.evaluation.systems.scenes import BOXES, THINGS
from tests.web import world
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def grounded(scenes: str, tmp_path: Path) -> str:
    """A system that learned which phrase means which region; word vectors tell the things apart."""
    give_words(tmp_path)
    train("grounded")
    return "grounded"


def give_words(folder: Path, without: tuple[str, ...] = ()) -> None:
    words = [word for word in (*THINGS, "small", "near", "unseen") if word not in without]
    vectors = np.random.default_rng(3).standard_normal((len(words), 8)).astype(np.float32)
    np.savez(folder / "words.npz", vectors=vectors, ids=np.array(words))
    import_features(FeatureImport(corpus="scenes", name="words", path=folder / "words.npz", kind="word"))


def train(name: str, *options: Any, recipe: str = "Region-phrase-CCA") -> None:
    said(
        *("train_system", name, "--recipe", recipe, "--corpus", "scenes", "--regions", "parts"),
        *("--words", "words", "--layer", layer_name(), *options),
    )


def layer_name() -> str:
    return Layer.objects.get().name


def localized(system: str, *options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said("localize", system, *options, "--json"))
    return found


def scored(name: str, *options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        said("score_localization", name, "--resamples", 50, *options, "--json")
    )
    return found


def values(report: dict[str, Any]) -> dict[str, float]:
    return {one["measure"]: one["value"] for one in report["measures"]}


def test_phrases_are_localized_kept_and_better_than_by_chance(grounded):
    made = localized(grounded)
    assert (made["images"], made["mentions"], made["unchanged"]) == (15, 60, False)
    assert made["phrases"] == 13, "six things, each also small, and what is near"
    assert made["unknown"] == 0
    assert localized(grounded)["unchanged"]
    kept = LocalizationSet.objects.get()
    assert PhraseLocalization.objects.count() == 60
    rows = list(localized_mentions(kept))
    assert all(len(one.regions) == len(BOXES) for one in rows)
    assert all((np.diff(one.regions[:, 4]) <= 0).all() for one in rows)
    # A thing lies in one of four parts or is not told apart: five regions, of which one is right.
    report = scored(grounded)
    assert (report["mentions"], report["predicted"], report["images"]) == (60, 60, 15)
    found = values(report)
    assert found["R@1"] > 0.6 > 0.3 > found["R@1, random"] == pytest.approx(0.2)
    assert found["R@10"] == found["R@100"] == found["proposals"] == 1
    assert found["R@1, largest"] == 0, "the whole picture is no thing"
    assert 0 < found["mAP"] == pytest.approx(found["AP"]), "there is one category"
    first = report["measures"][0]
    assert first["low"] < first["value"] < first["high"]
    assert [one["category"] for one in report["categories"]] == ["other"]
    assert report["frequent"][0]["phrase"] == "near"
    assert sum(one["mentions"] for one in report["frequent"]) == 60


def test_what_is_exported_is_read_again_and_scores_alike(grounded, tmp_path):
    out = tmp_path / "found.jsonl"
    assert localized(grounded, "--out", out)["file"] == str(out)
    said("export_localizations", grounded, "--out", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == out.read_text()
    ask = ("import_localizations", "theirs", out, "--corpus", "scenes", "--json")
    made = json.loads(said(*ask))
    assert (made["images"], made["mentions"], made["phrases"], made["clipped"]) == (15, 60, 13, 0)
    assert json.loads(said(*ask))["unchanged"]
    ours, theirs = scored(grounded), scored("theirs", "--layer", layer_name(), "--against", grounded)
    assert values(ours) == values(theirs) and ours["everywhere"] and theirs["everywhere"]
    assert {one["difference"] for one in theirs["differences"]} == {0}
    assert [one["measure"] for one in theirs["differences"]] == ["R@1", "R@10", "R@100", "AP", "mAP"]
    lines = [line for line in out.read_text().splitlines() if "detections" not in line]
    (tmp_path / "mentions.jsonl").write_text("\n".join(lines[:40]))
    said("import_localizations", "some", tmp_path / "mentions.jsonl", "--corpus", "scenes")
    some = scored("some", "--layer", layer_name(), "--split", "test", "--against", grounded)
    assert (some["mentions"], some["predicted"], some["everywhere"]) == (60, 40, False)
    worse = some["differences"][2]
    assert worse["measure"] == "R@100" and worse["difference"] == pytest.approx(-1 / 3) and worse["high"] < 0
    of_categories = some["differences"][4]
    assert of_categories["first"] == values(some)["mAP"] and of_categories["second"] == values(ours)["mAP"]
    assert of_categories["difference"] == pytest.approx(of_categories["first"] - of_categories["second"])
    assert of_categories["low"] <= of_categories["difference"] <= of_categories["high"] and of_categories["p"]
    assert not LocalizationSet.objects.get(name="some").scores
    text = said("score_localization", "some", "--layer", layer_name(), "--split", "test", "--keep")
    (report,) = kept_reports(LocalizationSet.objects.get(name="some"))
    assert (report["mentions"], report["subset"], report["whole"]) == (60, "split test", False)
    assert "20 mentions have no prediction and count as missed." in text
    assert "AP is of the images of each phrase's mentions alone" in text
    assert "The most frequent phrases" in text
    with pytest.raises(CommandError, match="localization set 'theirs' already exists with another system"):
        said("import_localizations", "theirs", tmp_path / "mentions.jsonl", "--corpus", "scenes")


GOOD = {"image": "0.png", "caption": 0, "start": 0, "end": 1, "phrase": "a", "regions": [[1, 1, 2, 2, 0.5]]}
BAD_LINES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"image": "x.png"}, "image 'x.png' is not of corpus 'scenes'"),
    ({"start": 2, "end": 2}, "words 2 to 2 of caption 0 are no mention"),
    ({"end": 2, "regions": [[1, 1, 2, 2]]}, "is not xmin, ymin, xmax, ymax and a score"),
    ({"end": 2, "regions": [[3, 1, 2, 2, 1]]}, "corners in the wrong order"),
    ({"end": 2, "regions": 5}, "not iterable"),
    ({}, "the mention 0:0-1 of '0.png' comes twice: in line 1 too"),
    ({"caption": 10**12}, "image '0.png' has no caption 1000000000000: it has 2, counted from 0"),
    ({"start": 1.5, "end": 3}, "start 1.5 is no whole number"),
    ({"end": 7}, "words 0 to 7 are beyond caption 0 of '0.png', which has 6"),
    ({"end": 2, "regions": [[1, 1, 2, 2, 1e39]]}, "has a number beyond single precision"),
    ({"end": 2, "phrase": "\x00"}, "is no text"),
    ({"end": 2, "phrase": "\ud800"}, "surrogates not allowed"),
)


def test_a_line_that_cannot_be_is_named(scenes, tmp_path):
    file = tmp_path / "bad.jsonl"
    lines = [(json.dumps({**GOOD, **change}), says) for change, says in BAD_LINES]
    others = (
        ("[1]", "is no object"),
        ('{"image": "0.png"}', "lacks 'caption'"),
        ("{", ""),
        ("[" * 100_000, "recursion"),
    )
    for line, says in (*lines, *others):
        file.write_text(json.dumps(GOOD) + "\n\n" + line + "\n")
        with pytest.raises(CommandError) as refused:
            said("import_localizations", "bad", file, "--corpus", "scenes")
        told = str(refused.value)
        assert "bad.jsonl" in told and "line 3" in told and says in told and "\n" not in told
    assert not LocalizationSet.objects.exists()
    seen = [json.dumps({"phrase": phrase, "detections": []}) for phrase in ("A man", "a dog", "the Man")]
    file.write_text("\n".join([json.dumps(GOOD), *seen]))
    with pytest.raises(CommandError, match="line 4: the phrase 'man', .* has detections in line 2 too"):
        said("import_localizations", "bad", file, "--corpus", "scenes")
    file.write_text("\n")
    with pytest.raises(CommandError, match="has no mention"):
        said("import_localizations", "bad", file, "--corpus", "scenes")


def test_the_digest_says_of_which_image_each_prediction_is(scenes, tmp_path):
    detected = {"phrase": "a dog", "detections": [["0.png", 1, 1, 2, 2, 0.5]]}
    of_image = {"mention": {**GOOD, "image": "1.png"}, "detected": GOOD, "again": GOOD, "neither": GOOD}
    of_phrase = {"detected": [["1.png", 1, 1, 2, 2, 0.5]]}
    digests = {}
    for name, mention in of_image.items():
        lines = [mention, {**detected, "detections": of_phrase.get(name, detected["detections"])}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
        said("import_localizations", name, tmp_path / f"{name}.jsonl", "--corpus", "scenes")
        digests[name] = LocalizationSet.objects.get(name=name).digest
    assert digests["again"] == digests["neither"]
    assert len(set(digests.values())) == 3


def test_regions_outside_of_their_picture_are_cut_and_counted(scenes, tmp_path):
    file = tmp_path / "out.jsonl"
    regions = [[-3, 1, 50, 90, 0.9], [101, 1, 120, 20, 0.8], [1, 1, 20, 20, 0.7]]
    line = {"image": "0.png", "caption": 0, "start": 0, "end": 2, "phrase": "A dog", "regions": regions}
    file.write_text(json.dumps(line))
    text = said("import_localizations", "out", file, "--corpus", "scenes")
    assert (
        "1 regions reached out of their picture and were cut, 1 lay wholly outside and were left out" in text
    )
    (one,) = localized_mentions(LocalizationSet.objects.get())
    np.testing.assert_allclose(one.regions, [[1, 1, 50, 60, 0.9], [1, 1, 20, 20, 0.7]])


def test_what_cannot_be_learned_localized_or_scored_is_named(grounded, tmp_path):
    train_as = ("train_system", "x", "--recipe", "Region-phrase-CCA", "--corpus", "scenes")
    layer = layer_name()
    for command, says in (
        ((*train_as, "--regions", "parts", "--layer", layer), "give --words SET"),
        ((*train_as, "--words", "words", "--layer", layer), "give --regions"),
        ((*train_as, "--words", "words", "--regions", "parts"), "and --layer with mentions"),
        (("localize", grounded, "--regions", "nowhere"), "unknown feature set 'nowhere' of corpus 'scenes'"),
        (("localize", grounded, "--layer", "nobody"), "unknown layer 'nobody' of corpus 'scenes'"),
        (("localize", grounded, "--limit", 0), "a limit of 0 regions; expected 1 or more"),
        (("rank", grounded), "does not predict rankings: it localizes phrases; use localize"),
        (("score_localization", "nothing"), "unknown localization set 'nothing'; known: none"),
    ):
        with pytest.raises(CommandError, match=says):
            said(*command)
    assert not LocalizationSet.objects.exists()
    np.savez(tmp_path / "none.npz", vectors=np.ones((1, 8), np.float32), ids=np.array(["beside"]))
    import_features(
        FeatureImport(corpus="scenes", name="prepositions", path=tmp_path / "none.npz", kind="word")
    )
    with pytest.raises(CommandError, match="no word of the training phrases has a vector"):
        said(*train_as, "--regions", "parts", "--layer", layer, "--words", "prepositions")
    localized(grounded)
    corpus = Layer.objects.get().corpus
    Layer.objects.create(corpus=corpus, name="bare", source="import", published=True)
    with pytest.raises(CommandError, match="layer 'bare' has no boxed mention of the split test"):
        said("score_localization", grounded, "--layer", "bare")
    with pytest.raises(CommandError, match="layer 'bare' says nothing of a region of these images"):
        said(*train_as, "--regions", "parts", "--layer", "bare", "--words", "words")
    with pytest.raises(CommandError, match="layer 'bare' has no mention in these images"):
        said("localize", grounded, "--name", "other", "--layer", "bare")
    with pytest.raises(CommandError, match="cannot be removed: localization set grounded"):
        said("systems", "--remove", grounded)
    remove_localization_set(name=grounded)
    assert not PhraseLocalization.objects.exists()


def test_phrases_are_localized_looked_at_scored_and_removed_by_page(grounded, tmp_path):
    """A researcher asks for localizations, has them scored, looks at what is wrong, and removes the set."""
    ada = world.signed_in("ada", "researcher")
    system = "/evaluation/systems/grounded/"
    detail = words(ada.get(system))
    assert "has not localized any phrases yet" in detail and "This system has no runs" not in detail
    refused = ada.post(f"{system}localize/", {"regions": "nowhere", "split": "test"}, follow=True)
    assert "There are no such regions" in words(refused)
    press(ada, system, "Localize phrases", name="found", regions="parts:1", split="test", layer=layer_name())
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    kept = LocalizationSet.objects.get()
    assert "found test" in words(ada.get(system))
    page = "/evaluation/localizations/found/"
    shown = ada.get(page).content.decode()
    assert shown.count("<mark>") == 12 * 4 and "There are no figures against this layer yet" in shown
    assert f"/evaluation/localizations/found/?show=all&amp;layer={kept.layer}&amp;from=12" in (
        f"/evaluation/localizations/found/{next_page(shown)}"
    )
    assert ada.get(page + next_page(shown).replace("&amp;", "&")).content.decode().count("<mark>") == 12
    localized(grounded, "--name", "second", "--limit", 1)
    press(ada, page, "Score", layer=layer_name(), against="second")
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    text = words(ada.get(page))
    value = values(scored("found"))
    assert f"R@1 {100 * value['R@1']:.1f}" in text and "R@10 100.0" in text
    assert "Less second" in text and "By category" in text
    wrong = ada.get(page, {"show": "wrong"}).content.decode()
    assert 0 < wrong.count("<mark>") == round(60 * (1 - value["R@1"]))
    far = ada.get(page, {"show": "far"}).content.decode()
    assert 0 < far.count("<mark>") <= wrong.count("<mark>"), (
        "the parts hardly overlap; the whole picture does"
    )
    file: Any = ada.get(page + "export")
    assert len(b"".join(file.streaming_content).splitlines()) == 60 + 13
    press(ada, page, "Remove this localization set")
    assert not LocalizationSet.objects.filter(name="found").exists()
    said("export_localizations", "second", "--out", tmp_path / "second.jsonl")
    said("import_localizations", "theirs", tmp_path / "second.jsonl", "--corpus", "scenes")
    assert "theirs scenes 60" in words(ada.get("/evaluation/"))
    assert "second.jsonl" in words(ada.get("/evaluation/localizations/theirs/"))


def test_figures_of_other_images_stand_beside_and_the_page_says_of_which_they_are(grounded, tmp_path):
    """A split, two files of one name, and the set's own images: none stands for another, and each has its
    level; an older report, which stood alone, stays until the same images are scored again."""
    localized(grounded)
    of_old = {**scored(grounded, "--level", 0.8), "mentions": 59}
    for new in ("images_digest", "whole"):
        del of_old[new]
    layer = layer_name()
    LocalizationSet.objects.update(scores={layer: of_old})
    ada, page = world.signed_in("ada", "researcher"), f"/evaluation/localizations/{grounded}/"
    text = words(ada.get(page))
    assert "Images: split test" in text and "59 boxed mentions" in text and "Interval of 80 %" in text
    assert "Figures of" not in text
    for folder, image in (("one", "80.png"), ("other", "81.png")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "some.txt").write_text(image)
        scored(grounded, "--split", tmp_path / folder / "some.txt", "--level", 0.999, "--keep")
    told = said("score_localization", grounded, "--level", 0.999, "--keep", "--resamples", 20)
    assert "Intervals of 99.9 %" in told
    reports = kept_reports(LocalizationSet.objects.get())
    assert [(one["subset"], one["mentions"], one["whole"]) for one in reports] == [
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
    scored(grounded, "--split", "test", "--keep", "--resamples", 0)
    assert [one["resamples"] for one in kept_reports(LocalizationSet.objects.get())] == [0, 50, 50]
    bare = words(ada.get(page))
    assert "Interval of" not in bare and "Images: split test" in bare
    told_by_api = by_api("ada", f"localization-sets/{grounded}")["scores"]
    assert [(one["layer"], one["subset"], one["whole"], one["level"]) for one in told_by_api] == [
        (layer, "split test", True, 0.95),
        (layer, "images in some.txt", False, 0.999),
        (layer, "images in some.txt", False, 0.999),
    ]


def test_what_proposals_allow_is_of_all_of_them_however_few_are_kept(grounded, tmp_path):
    localized(grounded)
    localized(grounded, "--name", "one", "--limit", 1)
    every, one = scored(grounded), scored("one")
    found = values(one)
    assert found["R@1"] == found["R@100"] < 1 == found["proposals"]
    assert found["R@1, random"] == pytest.approx(0.2) and found["R@1, largest"] == 0
    of_regions = ("proposals", "R@1, random", "R@1, largest")
    assert {name: found[name] for name in of_regions} == {name: values(every)[name] for name in of_regions}
    assert [row["proposals"] for row in one["categories"] + one["frequent"]] == [1] * 14
    said("export_localizations", "one", "--out", tmp_path / "one.jsonl")
    said("import_localizations", "theirs", tmp_path / "one.jsonl", "--corpus", "scenes")
    theirs = scored("theirs", "--layer", layer_name())
    kept = values(theirs)
    assert kept["proposals"] == kept["R@1, random"] == kept["R@1"] == found["R@1"]
    assert (one["proposed"], theirs["proposed"]) == (True, False)
    for report, remark in ((one, False), (theirs, True)):
        told = {row["measure"] for row in report["measures"] if "of the kept regions" in row["remark"]}
        assert told == (set(of_regions) if remark else set())
    assert "are of the kept regions" in said("score_localization", "theirs", "--layer", layer_name())


def test_what_counts_in_a_file_is_the_score_and_other_orders_are_told(scenes, tmp_path):
    regions = [[1, 1, 20, 20, 0.2], [1, 1, 30, 30, 0.9], [1, 1, 40, 40, 0.2], [1, 1, 50, 50, 0.9 + 1e-12]]
    detected = {"phrase": "a dog", "detections": [["0.png", *region] for region in regions]}
    tied = {**GOOD, "image": "1.png", "regions": [regions[1], regions[3], regions[0]]}
    file = tmp_path / "unordered.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in ({**GOOD, "regions": regions}, tied, detected)))
    told = said("import_localizations", "unordered", file, "--corpus", "scenes")
    assert "2 lines did not stand in the order of their scores, and were put in it" in told
    kept = LocalizationSet.objects.get()
    one, other = localized_mentions(kept)
    (phrase,) = detections_of(kept)
    in_order = np.asarray(regions)[[1, 3, 0, 2]]
    np.testing.assert_allclose(one.regions, in_order)
    np.testing.assert_allclose(phrase.regions, in_order)
    np.testing.assert_allclose(other.regions, in_order[:3])
    again = json.loads(said("import_localizations", "unordered", file, "--corpus", "scenes", "--json"))
    assert (again["reordered"], again["unchanged"]) == (0, True)


def test_predictions_from_a_file_are_imported_by_page_and_api(scenes, tmp_path, data_dir, monkeypatch):
    """All of a file, or nothing with the line that is wrong; a system of another corpus is not there."""
    ada, page = world.signed_in("ada", "researcher"), "/evaluation/add-system/"
    other = Corpus.objects.create(name="other", format="f", source="s", published=True)
    System.objects.create(name="elsewhere", origin="recipe", corpus=other)
    System.objects.create(name="here", origin="recipe", corpus=Corpus.objects.get(name="scenes"))

    def send(*lines: Any, **fields: str) -> Any:
        held = "\n".join(json.dumps(line) for line in lines).encode()
        about = {"act": "localizations", "name": "theirs", "corpus": "scenes", **fields}
        return ada.post(page, {**about, "file": SimpleUploadedFile("found.jsonl", held)}, follow=True)

    unordered = {**GOOD, "regions": [[1, 1, 2, 2, 0.1], [-1, 1, 2, 2, 0.5], [500, 1, 501, 2, 0.5]]}
    for lines, fields, says in (
        ((GOOD, {**GOOD, "end": 99}), {}, "found.jsonl, line 2: words 0 to 99 are beyond caption 0"),
        ((GOOD,), {"system": "elsewhere"}, "There is no system “elsewhere” of scenes."),
        ((GOOD,), {"corpus": "nowhere"}, "There is no corpus “nowhere” here."),
        ((GOOD,), {"name": "a b"}, "localization set name 'a b': expected letters"),
    ):
        refused = send(*lines, **fields)
        assert refused.status_code == 409 and says in words(refused), words(refused)
    assert not LocalizationSet.objects.exists() and not list((data_dir / "uploads").glob("*"))
    with pytest.raises(CommandError, match="system 'elsewhere' is of corpus 'other'; name one of corpus"):
        (tmp_path / "good.jsonl").write_text(json.dumps(GOOD))
        said(
            "import_localizations",
            "x",
            tmp_path / "good.jsonl",
            "--corpus",
            "scenes",
            "--system",
            "elsewhere",
        )
    shown = words(send(unordered, system="here"))
    for told in (
        "Localization set “theirs” was added.",
        "1 region reached out of its picture and was cut.",
        "1 region lay wholly outside its picture and was left out.",
        "1 line was not in the order of its scores, and was put in it.",
        "Split not stated",
    ):
        assert told in shown, told
    kept = LocalizationSet.objects.get()
    assert kept.made_by is not None and kept.made_by.name == "here"
    assert (kept.source, kept.clipped) == ("found.jsonl", 1)
    assert "of this file already exists: nothing has changed" in words(send(unordered, system="here"))
    monkeypatch.setattr(localization_pages, "READ_AT_ONCE", 100)
    assert "Use the command import_localizations." in words(send(unordered, name="large"))
    monkeypatch.undo()
    sent = {
        "name": "sent",
        "corpus": "scenes",
        "file": SimpleUploadedFile("x.jsonl", json.dumps(GOOD).encode()),
    }
    made = api_client("ada").post("/api/v1/localization-sets", sent)
    assert made.status_code == 201 and made["Location"].endswith("/localization-sets/sent")
    assert {key: made.json()[key] for key in ("mentions", "images", "reordered")} == {
        "mentions": 1,
        "images": 1,
        "reordered": 0,
    }
    sent["file"] = SimpleUploadedFile("x.jsonl", b"[]")
    wrong = api_client("ada").post("/api/v1/localization-sets", {**sent, "name": "wrong"})
    assert wrong.status_code == 409 and "x.jsonl, line 1: is no object" in wrong.json()["detail"]
    bob = world.signed_in("bob", "annotator")
    assert bob.post(page, {"act": "localizations"}).status_code == 403
    assert LocalizationSet.objects.count() == 2


def api_client(who: str) -> Client:
    """A program of this account."""
    account = Account.objects.get(username=who)
    _, secret = make_api_token(account=account, name="test", days=1, writes=True)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def by_api(who: str, path: str) -> Any:
    """What the API answers a program of this account."""
    return api_client(who).get(f"/api/v1/{path}").json()


def next_page(page: str) -> str:
    found = re.search(r'rel="next" href="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_a_phrase_without_a_word_that_has_a_vector_is_counted_and_finds_nothing(scenes, tmp_path):
    give_words(tmp_path, without=("boat", "near"))
    train("few")
    made = localized("few")
    rows = list(localized_mentions(LocalizationSet.objects.get()))
    unknown = [one for one in rows if phrase_text(one.phrase) in ("boat", "near")]
    assert made["unknown"] == len(unknown) > 0
    for one in rows:
        assert len(one.regions) == (0 if any(one is other for other in unknown) else len(BOXES))
    detected = {one.phrase for one in detections_of(LocalizationSet.objects.get())}
    assert made["phrases"] == len(detected) > 0 and not detected & {"boat", "near"}
    report = scored("few")
    assert (report["mentions"], report["predicted"]) == (60, 60 - len(unknown))
    precisions = {one["phrase"]: (one["R@100"], one["AP"]) for one in report["frequent"]}
    assert precisions["near"] == precisions["boat"] == (0, 0), "what is not predicted is missed"
    told = f"{len(unknown)} mentions have no word that the system knows"
    assert told in said("localize", "few")


def test_so_many_pairs_are_learned_from_as_resampling_leaves(grounded):
    """As Table 4 counts them: all phrases of the training images, and at most N exemplars of each."""
    records = stream_records(corpus=Layer.objects.get().corpus, layer=Layer.objects.get(), split="train")
    said_of: Counter[str] = Counter()
    for record in records:
        assert record.layer is not None
        said_of.update(phrase_text(mention.text) for mention in record.layer.mentions)
    assert said_of.total() == 60 * 4
    for exemplars, pairs in ((0, 240), (1, len(said_of)), (10, sum(min(10, n) for n in said_of.values()))):
        train(f"n{exemplars}", "--set", f"settings.exemplars={exemplars}")
        model = system_named(f"n{exemplars}").model
        assert isinstance(model, RegionPhraseCCA) and model.pairs_ == pairs


def test_regions_and_phrases_help_to_rank(grounded):
    """Whole-image CCA, stacked CCA and the weighted distance are trained and rank both ways."""
    layer = layer_name()
    wholes = ("--corpus", "scenes", "--features", "whole", "--words", "words", "--set", "text.vectors=mean")
    parts = ("--regions", "parts", "--layer", layer)
    said("train_system", "wholes", "--recipe", "HGLMM-CCA", *wholes)
    said("train_system", "stacked", "--recipe", "SAE-phrases", *wholes, "settings.features=40", *parts)
    said("train_system", "weighted", "--recipe", "Weighted-distance", *wholes, *parts)
    facts = System.objects.get(name="weighted").settings
    assert (facts["features"], facts["regions"], facts["layer"]) == ("whole:1", "parts:1", layer)
    said("freeze_qrels", "own", "--corpus", "scenes", "--protocol", "any of five")
    found = {}
    for name in ("wholes", "stacked", "weighted"):
        said("rank", name, "--split", "test", "--protocol", "any of five")
        for direction in ("annotation", "search"):
            ask = ("--qrels", "own", "--measures", "S@5", "--split", "test", "--json")
            report = json.loads(said("score_run", f"{name}-{direction}", *ask))
            found[name, direction] = report["measures"][0]["value"]
    assert all(value > 0.6 for value in found.values()), found  # a third by chance
    ada = world.signed_in("ada", "researcher")
    page = "/evaluation/systems/weighted/"
    refused = ada.post(f"{page}rank/", {"split": "test", "regions": "nowhere"}, follow=True)
    assert "There are no such regions" in words(refused)
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
            "learns from whole images, and from regions with phrases; give",
        ),
        (("--recipe", "HGLMM-CCA", *wholes, *parts[:2]), "does not look at regions; give none"),
    ):
        with pytest.raises(CommandError, match=says):
            said("train_system", "x", *options)


def test_what_regions_allow_is_told_by_category_and_needs_no_localizer(scenes, tmp_path):
    ask = ("score_proposals", scenes, "parts", "--split", "test")
    report = json.loads(said(*ask, "--json"))
    assert [(row["category"], row["mentions"]) for row in report["rows"]] == [("all", 60), ("other", 60)]
    assert report["rows"][0]["R@10"] == report["rows"][0]["all"] == 1 and report["regions_an_image"] == 5
    assert "R@1000" not in report["rows"][0]
    assert "5.0 regions an image, 15 images with boxed mentions" in said(*ask)
    with pytest.raises(CommandError, match="feature set 'whole:1' is of images; give one of regions"):
        said("score_proposals", scenes, "whole")
    parts = feature_set(scenes, "parts")
    names = dict.fromkeys(parts.ids())
    boxes = np.concatenate([[[1, 1, 2, 2]] * 100, BOXES])
    arrays: dict[str, Any] = {"ids": np.repeat(list(names), 105), "boxes": np.tile(boxes, (len(names), 1))}
    np.savez(tmp_path / "late.npz", vectors=np.zeros((len(arrays["ids"]), 1)), **arrays)
    said("import_features", scenes, tmp_path / "late.npz", "--name", "late", "--kind", "region")
    row = json.loads(said("score_proposals", scenes, "late", "--split", "test", "--json"))["rows"][0]
    assert [row[f"R@{k}"] for k in (10, 50, 100, 1000)] == [0, 0, 0, row["all"]] == [0, 0, 0, 1]
    assert "R@1000" in said("score_proposals", scenes, "late", "--split", "test")
    with pytest.raises(CommandError, match="unknown feature set 'none' of corpus 'scenes'"):
        said("score_proposals", scenes, "none")
