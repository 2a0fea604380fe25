"""Localizations in files: exported and imported again, refused with their line, uploaded on a page and by
API."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError

from annotation.models import Caption, Corpus
from evaluation.models import LocalizationSet, System
from evaluation.services.localizations.sets import detections_of, localized_mentions
from evaluation.services.localizations.stored_scores import stored_reports
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import (
    api_client,
    layer_name,
    localized,
    scored,
    values,
)
from tests.web import world
from tests.web.staff import words

pytestmark = pytest.mark.django_db


GOOD = {"image": "0.png", "caption": 0, "start": 0, "end": 1, "phrase": "a", "regions": [[1, 1, 2, 2, 0.5]]}


TWO_WORDS = {"end": 2, "phrase": "a horse"}
BAD_LINES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"image": "x.png"}, "image 'x.png' is not of corpus 'scenes'"),
    ({"start": 2, "end": 2}, "words 2 to 2 of caption 0 are no mention"),
    ({**TWO_WORDS, "regions": [[1, 1, 2, 2]]}, "is not xmin, ymin, xmax, ymax and a score"),
    ({**TWO_WORDS, "regions": [[3, 1, 2, 2, 1]]}, "corners in the wrong order"),
    ({**TWO_WORDS, "regions": 5}, "regions 5 is no list; expected an object of image, caption"),
    ({**TWO_WORDS, "regions": [5]}, "region 5 is no list"),
    ({"image": ["0.png"]}, "is not of corpus 'scenes'"),
    ({}, "the mention 0:0-1 of '0.png' comes twice: in line 1 too"),
    ({"caption": 10**12}, "image '0.png' has no caption 1000000000000: it has 2, counted from 0"),
    ({"start": 1.5, "end": 3}, "start 1.5 is no whole number"),
    ({"end": 7}, "words 0 to 7 are beyond caption 0 of '0.png', which has 6"),
    ({**TWO_WORDS, "regions": [[1, 1, 2, 2, 1e39]]}, "has a number beyond single precision"),
    (
        {"end": 2, "phrase": "a dog"},
        "words 0 to 2 of caption 0 of '0.png' are 'A horse', not 'a dog'; count the words as",
    ),
    ({"end": 2, "phrase": "\x00"}, "is no text"),
    ({"end": 2, "phrase": "\ud800"}, "surrogates not allowed"),
)


def test_what_is_exported_is_read_again_and_scores_alike(grounded, tmp_path):
    out = tmp_path / "found.jsonl"
    localized(grounded)
    output_of("download_localization_set", grounded, "--out", out)
    ask = ("import_localizations", "theirs", out, "--corpus", "scenes", "--split", "test", "--json")
    payload = json.loads(output_of(*ask))
    assert (payload["images"], payload["mentions"], payload["phrases"], payload["clipped"]) == (15, 60, 13, 0)
    assert json.loads(output_of(*ask))["unchanged"]
    ours, theirs = scored(grounded), scored("theirs", "--layer", layer_name(), "--against", grounded)
    assert values(ours) == values(theirs) and ours["everywhere"] and theirs["everywhere"]
    assert {difference["difference"] for difference in theirs["differences"]} == {0}
    assert [difference["measure"] for difference in theirs["differences"]] == [
        "R@1",
        "R@10",
        "R@100",
        "AP",
        "mAP",
    ]
    lines = [line for line in out.read_text().splitlines() if "detections" not in line]
    (tmp_path / "mentions.jsonl").write_text("\n".join(lines[:40]))
    output_of("import_localizations", "some", tmp_path / "mentions.jsonl", "--corpus", "scenes")
    of_test = ("--layer", layer_name(), "--split", "test", "--missing", "worst")
    some = scored("some", *of_test, "--against", grounded)
    assert (some["mentions"], some["predicted"], some["everywhere"]) == (60, 40, False)
    worse = some["differences"][2]
    assert worse["measure"] == "R@100" and worse["difference"] == pytest.approx(-1 / 3) and worse["high"] < 0
    of_categories = some["differences"][4]
    # Without detections, AP uses each phrase's own images only, which is easier: for both.
    assert not some["differences_everywhere"] and theirs["differences_everywhere"]
    assert of_categories["first"] == values(some)["mAP"] and of_categories["second"] > values(ours)["mAP"]
    assert of_categories["difference"] == pytest.approx(of_categories["first"] - of_categories["second"])
    assert of_categories["low"] <= of_categories["difference"] <= of_categories["high"] and of_categories["p"]
    assert not LocalizationSet.objects.get(name="some").scores
    text = output_of("score_localization", "some", *of_test, "--store")
    (report,) = stored_reports(LocalizationSet.objects.get(name="some"))
    assert (report["mentions"], report["subset"], report["whole"]) == (60, "split test", False)
    assert "20 mentions have no prediction and count as missed." in text
    assert "AP is of the images of each phrase's mentions alone" in text
    assert "The most frequent phrases" in text
    with pytest.raises(
        CommandError, match=r"localization set 'theirs' already exists, made otherwise \(file\)"
    ):
        output_of("import_localizations", "theirs", tmp_path / "mentions.jsonl", *ask[3:-1])


def test_a_line_that_cannot_be_is_named(scenes, tmp_path):
    file = tmp_path / "bad.jsonl"
    lines = [(json.dumps({**GOOD, **change}), says) for change, says in BAD_LINES]
    others = (
        ("[1]", "is no object"),
        (json.dumps({**GOOD, "detections": []}), "has regions and detections; put them into lines of their"),
        ('{"image": "0.png"}', "lacks 'caption'"),
        ("{", ""),
        ("[" * 100_000, "recursion"),
        (
            '{"phrase": "dog", "detections": 5}',
            "detections 5 is no list; expected an object of phrase, detections",
        ),
        ('{"phrase": "dog", "detections": [5]}', "detection 5 is no list"),
    )
    for line, says in (*lines, *others):
        file.write_text(json.dumps(GOOD) + "\n\n" + line + "\n")
        with pytest.raises(CommandError) as error:
            output_of("import_localizations", "bad", file, "--corpus", "scenes")
        reported = str(error.value)
        assert "bad.jsonl" in reported and "line 3" in reported and says in reported and "\n" not in reported
    assert not LocalizationSet.objects.exists()
    seen = [json.dumps({"phrase": phrase, "detections": []}) for phrase in ("A man", "a dog", "the Man")]
    file.write_text("\n".join([json.dumps(GOOD), *seen]))
    with pytest.raises(CommandError, match="line 4: the phrase 'man', .* has detections in line 2 too"):
        output_of("import_localizations", "bad", file, "--corpus", "scenes")
    file.write_text("\n")
    with pytest.raises(CommandError, match="has no mention"):
        output_of("import_localizations", "bad", file, "--corpus", "scenes")


def test_case_spaces_and_punctuation_of_a_phrase_do_not_count(scenes, tmp_path):
    """What is kept is the corpus's spelling, by which phrases are counted."""
    file = tmp_path / "spelled.jsonl"
    seen = {"phrase": "The h-o-r-s-e", "detections": [["0.png", 1, 1, 2, 2, 0.5]]}
    spelled = {**GOOD, "end": 2, "phrase": "“a  HORSE”,"}
    file.write_text("\n".join([json.dumps(seen), json.dumps(spelled)]))
    output_of("import_localizations", "spelled", file, "--corpus", "scenes")
    localization_set = LocalizationSet.objects.get()
    (localized_mention,) = localized_mentions(localization_set)
    assert localized_mention.phrase == "A horse"
    assert list(localization_set.detections.values_list("phrase", flat=True)) == ["horse"]


def test_two_spellings_that_the_corpus_has_are_two_phrases(scenes, tmp_path):
    """As "t-shirt" and "tshirt" are in real captions."""
    caption = Caption.objects.get(image__key="1", number=0)
    caption.text = " ".join(["A", "hor-se", *caption.text.split()[2:]])
    caption.save()
    mentions: list[dict[str, Any]] = [
        {**GOOD, "end": 2, "phrase": "A horse"},
        {**GOOD, "image": "1.png", "end": 2, "phrase": "A hor-se"},
    ]
    seen: list[dict[str, Any]] = [
        {"phrase": phrase, "detections": [["0.png", 1, 1, 2, 2, score]]}
        for phrase, score in (("hor-se", 0.5), ("horse", 0.25), ("HO RSE", 0.75))
    ]
    file = tmp_path / "both.jsonl"
    file.write_text("\n".join(map(json.dumps, mentions + seen[:2])))
    output_of("import_localizations", "both", file, "--corpus", "scenes")
    regions = {
        detection.phrase: detection.regions[0, 4]
        for detection in detections_of(LocalizationSet.objects.get())
    }
    assert regions == {"hor-se": 0.5, "horse": 0.25}
    # Another spelling is assigned to the first mention.
    file.write_text("\n".join(map(json.dumps, [*mentions, seen[0], seen[2]])))
    output_of("import_localizations", "third", file, "--corpus", "scenes")
    third = LocalizationSet.objects.get(name="third")
    assert {detection.phrase: detection.regions[0, 4] for detection in detections_of(third)} == {
        "hor-se": 0.5,
        "horse": 0.75,
    }


def test_detections_of_a_file_are_suppressed_before_they_are_scored(grounded, tmp_path):
    """As those of a set made here are: a second box of the same thing is no mistake of its own."""
    out = tmp_path / "found.jsonl"
    localized(grounded)
    output_of("download_localization_set", grounded, "--out", out)
    twice = []
    for line in map(json.loads, out.read_text().splitlines()):
        if "detections" in line:
            again = [[*detection[:5], detection[5] - 1e-4] for detection in line["detections"]]
            line["detections"] += again
        twice.append(json.dumps(line))
    (tmp_path / "twice.jsonl").write_text("\n".join(twice))
    output_of("import_localizations", "twice", tmp_path / "twice.jsonl", "--corpus", "scenes")
    ask = ("--layer", layer_name(), "--split", "test", "--store")
    assert values(scored("twice", *ask)) == values(scored(grounded))
    (report,) = stored_reports(LocalizationSet.objects.get(name="twice"))
    assert report["everywhere"]


def test_the_digest_says_of_which_image_each_prediction_is(scenes, tmp_path):
    detected = {"phrase": "a dog", "detections": [["0.png", 1, 1, 2, 2, 0.5]]}
    of_image = {"mention": {**GOOD, "image": "1.png"}, "detected": GOOD, "again": GOOD, "neither": GOOD}
    of_phrase = {"detected": [["1.png", 1, 1, 2, 2, 0.5]]}
    digests = {}
    for name, mention in of_image.items():
        lines = [mention, {**detected, "detections": of_phrase.get(name, detected["detections"])}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
        output_of("import_localizations", name, tmp_path / f"{name}.jsonl", "--corpus", "scenes")
        digests[name] = LocalizationSet.objects.get(name=name).digest
    assert digests["again"] == digests["neither"]
    assert len(set(digests.values())) == 3


def test_regions_outside_of_their_picture_are_cut_and_counted(scenes, tmp_path):
    file = tmp_path / "out.jsonl"
    regions = [[-3, 1, 50, 90, 0.9], [101, 1, 120, 20, 0.8], [1, 1, 20, 20, 0.7]]
    line = {**GOOD, **TWO_WORDS, "regions": regions}
    file.write_text(json.dumps(line))
    text = output_of("import_localizations", "out", file, "--corpus", "scenes")
    assert (
        "1 regions reached out of their picture and were cut, 1 lay wholly outside and were left out" in text
    )
    (localized_mention,) = localized_mentions(LocalizationSet.objects.get())
    np.testing.assert_allclose(localized_mention.regions, [[1, 1, 50, 60, 0.9], [1, 1, 20, 20, 0.7]])


def test_what_counts_in_a_file_is_the_score_and_other_orders_are_told(scenes, tmp_path):
    regions = [[1, 1, 20, 20, 0.2], [1, 1, 30, 30, 0.9], [1, 1, 40, 40, 0.2], [1, 1, 50, 50, 0.9 + 1e-12]]
    detected = {"phrase": "a dog", "detections": [["0.png", *region] for region in regions]}
    tied = {**GOOD, "image": "1.png", "regions": [regions[1], regions[3], regions[0]]}
    file = tmp_path / "unordered.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in ({**GOOD, "regions": regions}, tied, detected)))
    output = output_of("import_localizations", "unordered", file, "--corpus", "scenes")
    assert "2 lines were not in the order of their scores, and were put in it" in output
    localization_set = LocalizationSet.objects.get()
    first, second = localized_mentions(localization_set)
    (phrase,) = detections_of(localization_set)
    in_order = np.asarray(regions)[[1, 3, 0, 2]]
    np.testing.assert_allclose(first.regions, in_order)
    np.testing.assert_allclose(phrase.regions, in_order)
    np.testing.assert_allclose(second.regions, in_order[:3])
    again = json.loads(output_of("import_localizations", "unordered", file, "--corpus", "scenes", "--json"))
    assert (again["reordered"], again["unchanged"]) == (0, True)


def test_predictions_from_a_file_are_imported_by_page_and_api(scenes, tmp_path, data_dir):
    """All of a file, or nothing with the line that is wrong; a system of another corpus is not there."""
    ada, page = world.signed_in("ada", "researcher"), "/evaluation/add-system/"
    other_corpus = Corpus.objects.create(name="other", format="f", source="s", published=True)
    System.objects.create(name="elsewhere", origin="recipe", corpus=other_corpus)
    System.objects.create(name="here", origin="recipe", corpus=Corpus.objects.get(name="scenes"))

    def send(*lines: Any, **fields: str) -> Any:
        held = "\n".join(json.dumps(line) for line in lines).encode()
        about = {"act": "import_localizations", "name": "theirs", "corpus": "scenes", **fields}
        return ada.post(page, {**about, "file": SimpleUploadedFile("found.jsonl", held)}, follow=True)

    unordered = {**GOOD, "regions": [[1, 1, 2, 2, 0.1], [-1, 1, 2, 2, 0.5], [500, 1, 501, 2, 0.5]]}
    for lines, fields, says in (
        ((GOOD, {**GOOD, "end": 99}), {}, "found.jsonl, line 2: words 0 to 99 are beyond caption 0"),
        ((GOOD,), {"system": "elsewhere"}, "system 'elsewhere' is of corpus 'other'; name one of corpus"),
        ((GOOD,), {"corpus": "nowhere"}, "There is no corpus “nowhere” here"),
        ((GOOD,), {"name": "a b"}, "This is no valid name"),
    ):
        error = send(*lines, **fields)
        assert error.status_code in (400, 409) and says in words(error), words(error)
    assert not LocalizationSet.objects.exists() and not list((data_dir / "uploads").glob("*"))
    with pytest.raises(CommandError, match="system 'elsewhere' is of corpus 'other'; name one of corpus"):
        (tmp_path / "good.jsonl").write_text(json.dumps(GOOD))
        output_of(
            "import_localizations",
            "x",
            tmp_path / "good.jsonl",
            "--corpus",
            "scenes",
            "--system",
            "elsewhere",
        )
    page_text = words(send(unordered, system="here"))
    for reported in (
        "Localization set “theirs” was added.",
        "1 region reached out of its picture and was cut.",
        "1 region lay wholly outside its picture and was left out.",
        "1 line was not in the order of its scores, and was put in it.",
        "Split not stated",
    ):
        assert reported in page_text, reported
    localization_set = LocalizationSet.objects.get()
    assert localization_set.made_by is not None and localization_set.made_by.name == "here"
    assert (localization_set.source, localization_set.clipped) == ("found.jsonl", 1)
    assert "of this file already exists: nothing has changed" in words(send(unordered, system="here"))
    payload = {
        "name": "sent",
        "corpus": "scenes",
        "file": SimpleUploadedFile("x.jsonl", json.dumps(GOOD).encode()),
    }
    response = api_client("ada").post("/api/v1/localization-sets", payload)
    assert response.status_code == 201 and response["Location"].endswith("/localization-sets/sent")
    assert {key: response.json()[key] for key in ("mentions", "images", "reordered")} == {
        "mentions": 1,
        "images": 1,
        "reordered": 0,
    }
    payload["file"] = SimpleUploadedFile("x.jsonl", b"[]")
    invalid = api_client("ada").post("/api/v1/localization-sets", {**payload, "name": "wrong"})
    assert invalid.status_code == 409 and "x.jsonl, line 1: is no object" in invalid.json()["detail"]
    bob = world.signed_in("bob", "annotator")
    assert bob.post(page, {"act": "import_localizations"}).status_code == 403
    assert LocalizationSet.objects.count() == 2
