"""The images of a localization set: those of a split, a fold or a file, whether the set has rows about them
or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError

from annotation.models import Chain
from evaluation.models import LocalizationSet
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import (
    api_client,
    give_words,
    layer_name,
    localized,
    scored,
    some_regions,
    train,
)
from tests.web import world
from tests.web.staff import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def fewer(scenes: str, tmp_path: Path) -> str:
    """Regions of all images except the first."""
    return some_regions(tmp_path, "fewer", lambda image, _: image != 0)


def test_a_fold_among_other_images_is_not_the_one_left_out_at_the_training(fewer, tmp_path):
    give_words(tmp_path)
    train("left", "--fold", "1/6")
    assert localized("left", "--split", "1/6")["images"] == 15
    assert scored("left")["images"] == 15 and scored("left")["whole"]
    for another in (("1/6", "--regions", fewer), ("1/6", "--seed", 1), ("3/6",)):
        with pytest.raises(CommandError, match=r"system 'left' learned from \d+ of the 1\d images of fold"):
            localized("left", "--name", "seen", "--split", *another)
    assert LocalizationSet.objects.count() == 1


def test_a_set_is_scored_on_the_images_it_is_of(grounded, fewer, tmp_path):
    another = ("--regions", fewer)
    listed = tmp_path / "some.txt"
    names = [f"{number}.png" for number in range(70, 90)]
    listed.write_text("\n".join(names[:8]))
    localized(grounded, "--name", "some", "--split", listed, *another)
    first = scored("some")
    assert (first["images"], first["mentions"], first["subset"]) == (
        8,
        32,
        "images in some.txt, as localized",
    )
    listed.write_text("\n".join(names))
    assert scored("some") == first
    with pytest.raises(CommandError, match=r"'some' already exists, made otherwise \(images or mentions\)"):
        localized(grounded, "--name", "some", "--split", listed, *another)
    listed.unlink()
    assert scored("some") == first


def test_a_fold_is_scored_on_the_images_that_it_was_dealt_among(fewer, tmp_path):
    give_words(tmp_path)
    train("left", "--fold", "1/6", "--regions", fewer)
    created = localized("left", "--split", "1/6")
    report = scored("left")
    assert (report["images"], report["predicted"]) == (created["images"], report["mentions"])


def test_a_layer_that_has_grown_is_not_localized_already(grounded):
    localized(grounded)
    assert localized(grounded)["unchanged"]
    word = Chain.objects.filter(image__split="test").first()
    assert word is not None
    word.delete()
    with pytest.raises(CommandError, match=r"'grounded' already exists, made otherwise .* or remove"):
        localized(grounded)


def test_images_of_a_file_of_names_without_proposals_are_missing(grounded, fewer, tmp_path):
    listed = tmp_path / "some.txt"
    listed.write_text("0.png\n70.png\n71.png")
    created = localized(grounded, "--name", "some", "--split", listed, "--regions", fewer)
    assert created["images"] == 2, "nothing is proposed in the first"
    with pytest.raises(
        CommandError, match=r"1 of 3 images \('0.png'\) have no regions in set 'some': supply"
    ):
        scored("some")
    report = scored("some", "--missing", "worst")
    assert (report["images"], report["mentions"], report["predicted"]) == (3, 12, 8)


@pytest.fixture
def lacking(scenes: str, tmp_path: Path) -> str:
    """Regions of all images except the first one of the test split."""
    return some_regions(tmp_path, "lacking", lambda image, _: image != 75)


def test_images_of_a_split_without_proposals_count_in_differences_too(grounded: str, lacking: str) -> None:
    created = localized(grounded, "--name", "some", "--regions", lacking)
    localized(grounded, "--name", "whole")
    assert created["images"] == 14
    report = scored("some", "--against", "whole", "--missing", "worst")
    assert (report["images"], report["predicted"], report["differences_images"]) == (15, 56, 15)
    assert report["everywhere"] and report["differences_everywhere"]
    page = world.signed_in("ada", "researcher").get("/evaluation/localizations/some/?from=12")
    assert "75.png" in page.content.decode(), "its mentions are missed"


def test_a_split_of_which_nothing_has_regions_is_not_called_unknown(grounded: str, tmp_path: Path) -> None:
    some_regions(tmp_path, "early", lambda image, _: image < 75)
    with pytest.raises(CommandError, match=r"test names no image with a picture \(or features\) of corpus"):
        localized(grounded, "--name", "none", "--regions", "early")
    with pytest.raises(CommandError, match=r"unknown split 'tests' .*; known: 'test', 'train', 'val',"):
        localized(grounded, "--name", "none", "--split", "tests")


def test_precision_of_a_part_of_the_images_is_of_each_phrases_own(grounded: str, tmp_path: Path) -> None:
    """Of the best detections of all images few are in the part."""
    localized(grounded)
    listed = tmp_path / "some.txt"
    listed.write_text("76.png\n77.png")
    part = scored(grounded, "--split", listed)
    assert (part["everywhere"], part["part"], part["images"]) == (False, True, 2)
    output = output_of("score_localization", grounded, "--split", listed, "--resamples", 0, "--store")
    assert "only a part of the set's images is scored, and the best detections in all of them were" in output
    page = words(world.signed_in("ada", "researcher").get(f"/evaluation/localizations/{grounded}/"))
    assert (
        "Only a part of the set’s images is scored, and the best detections in all of them were kept." in page
    )
    assert "AP and mAP are of the kept regions" not in page
    whole = scored(grounded)
    assert (whole["everywhere"], whole["part"]) == (True, False)


def test_precision_among_own_images_says_where_it_is_of_the_kept_regions(
    grounded: str, tmp_path: Path
) -> None:
    localized(grounded, "--name", "one", "--limit", 1)
    localized(grounded, "--name", "all", "--limit", 100)
    listed = tmp_path / "some.txt"
    listed.write_text("76.png\n77.png")
    for name, another, value in (("one", "all", True), ("all", "one", False)):
        report = scored(name, "--split", listed, "--against", another)
        for rows, cut in ((report["measures"], value), (report["differences"], True)):
            remarks = {row["measure"]: row["remark"] for row in rows if "AP" in row["measure"]}
            assert {key: "of the kept regions" in row for key, row in remarks.items()} == {
                "AP": cut,
                "mAP": cut,
            }
    assert not any(row["remark"] for row in scored("one")["measures"] if "AP" in row["measure"])
    scored("one", "--split", listed, "--store")
    page = words(world.signed_in("ada", "researcher").get("/evaluation/localizations/one/"))
    assert "AP and mAP are of the kept regions: others were dropped, or may have been." in page


def of_images(*numbers: int) -> str:
    """Return a file of predictions for the first word of images, the same for each."""
    lines = (
        {
            "image": f"{number}.png",
            "caption": 0,
            "start": 0,
            "end": 1,
            "phrase": "a",
            "regions": [[1, 1, 40, 30, 0.5]],
        }
        for number in numbers
    )
    return "\n".join(map(json.dumps, lines))


def test_what_a_file_lacks_of_the_images_that_it_is_of_is_missing(scenes: str, tmp_path: Path) -> None:
    """The test images are 75 to 89, with four boxed mentions each."""
    file = tmp_path / "theirs.jsonl"
    file.write_text(of_images(0, 75, 76))
    ask = ("import_localizations", "theirs", file, "--corpus", "scenes")
    for invalid in ("tests", "9/3"):
        with pytest.raises(CommandError, match=r"unknown split 'tests'|fold 9/3: unknown fold"):
            output_of(*ask, "--split", invalid)
    with pytest.raises(CommandError, match="--seed: Expected 0 or more."):
        output_of(*ask, "--split", "test", "--seed", -1)
    assert not LocalizationSet.objects.exists()
    output = output_of(*ask, "--split", "test")
    assert "1 mentions are of other images than 'test': they are stored, but count only where" in output
    worst = ("--layer", layer_name(), "--missing", "worst")
    with pytest.raises(
        CommandError, match=r"13 of 15 images \('77.png', .*\) have no regions in set 'theirs'"
    ):
        scored("theirs", *worst[:2])
    report = scored("theirs", *worst)
    assert (report["images"], report["subset"], report["whole"]) == (15, "split test", True)
    # If no images are specified, the same file is about all images.
    output_of("import_localizations", "unsaid", file, "--corpus", "scenes")
    unsaid = scored("unsaid", *worst)
    assert (unsaid["images"], unsaid["subset"], unsaid["without_output"]) == (90, "", 87)
    assert scored("unsaid", *worst[:3], "leave-out")["images"] == 3
    listed = tmp_path / "some.txt"
    listed.write_text("75.png\n77.png")
    output_of("import_localizations", "listed", file, "--corpus", "scenes", "--split", listed)
    listed.write_text("75.png")
    result = scored("listed", *worst)
    assert (result["images"], result["subset"]) == (2, "images in some.txt, as localized")
    against = scored("theirs", *worst, "--against", "listed", "--split", "test")
    assert against["differences_images"] == 15
    against = scored("theirs", *worst[:3], "leave-out", "--against", "listed", "--split", "test")
    assert against["differences_images"] == 2, "the second file has nothing of the other images"
    with pytest.raises(CommandError, match=r"'listed' already exists, made otherwise \(images or mentions\)"):
        output_of("import_localizations", "listed", file, "--corpus", "scenes", "--split", listed)


def test_page_and_api_take_the_images_that_a_file_is_of(
    scenes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.signed_in("ada", "researcher")
    monkeypatch.chdir(tmp_path)
    listed = Path("some.txt")
    listed.write_text("75.png")

    def send(name: str, split: str) -> Any:
        file = SimpleUploadedFile("found.jsonl", of_images(0, 75).encode())
        provided = {
            "act": "import_localizations",
            "name": name,
            "corpus": "scenes",
            "split": split,
            "file": file,
        }
        return ada.post("/evaluation/add-system/", provided, follow=True)

    for invalid in ("tests", str(listed)):
        error = send("theirs", invalid)
        assert error.status_code == 400 and f"There is no split “{invalid}” here" in words(error)
    page_text = words(send("theirs", "test"))
    assert "1 mention is of an image that you did not name; it is kept, but not counted." in page_text
    worst = ("--layer", layer_name(), "--missing", "worst")
    assert scored("theirs", *worst)["images"] == 15
    file = SimpleUploadedFile("found.jsonl", of_images(0, 75).encode())
    payload = {"name": "sent", "corpus": "scenes", "split": "1/6", "file": file}
    response = api_client("ada").post("/api/v1/localization-sets", payload)
    assert response.status_code == 201, response.content
    report = scored("sent", *worst)
    assert (report["images"], report["subset"]) == (15, "fold 1/6, as localized")
