"""Captions and tags from files made elsewhere: stored, scored, mixed for judges, downloaded and removed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError

from evaluation.models import CaptionSet, Run, System, TagSet
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.test_score_captions import WRITTEN, scenes, written
from tests.evaluation.systems.localizing import api_client
from tests.evaluation.tags.test_rank_tags import pets
from tests.web import world

__all__ = ["pets", "scenes"]
pytestmark = pytest.mark.django_db
FIGURES = ("--measures", "BLEU-4,CIDEr-D", "--resamples", 0, "--json")
TAGS = {"1.jpg": [["Dog", 0.9], ["cat", 0.5], ["dog", 0.4]], "2.jpg": [["boy", 0.2], ["dog", 0.6]]}


def imported(kind: str, name: str, file: Path, corpus: str, *options: Any) -> dict[str, Any]:
    output = output_of(f"import_{kind}", name, file, "--corpus", corpus, *options, "--json")
    result: dict[str, Any] = json.loads(output)
    return result


def line_of(result: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the line of a kind of things on the balance sheet."""
    (line,) = [line for line in result["sheet"]["lines"] if line["kind"] == kind]
    return dict(line)


def captions_scored(corpus: str, name: Any) -> list[dict[str, Any]]:
    report = json.loads(output_of("score_captions", corpus, name, *FIGURES))["report"]
    measures: list[dict[str, Any]] = report["sets"][0]["measures"]
    return measures


def test_imported_captions_are_stored_with_their_origin_and_score_like_their_file(
    scenes: str, tmp_path: Path
) -> None:
    file = written(tmp_path, WRITTEN, name="theirs.json", coco=True)
    result = imported(
        "captions", "theirs", file, scenes, "--licence", "CC  BY 4.0", "--trained-on", "nothing"
    )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert (result["source"], result["source_digest"], result["licence"]) == (
        "theirs.json",
        digest,
        "CC BY 4.0",
    )
    assert (result["captions"], result["distinct"], result["in_training"]) == (3, 3, None)
    assert line_of(result, "captions") == {"kind": "captions", "found": 3, "taken": 3, "left": []}
    assert System.objects.get(name="theirs").trained_on == "nothing"
    assert captions_scored(scenes, "theirs") == captions_scored(scenes, file)
    again = imported("captions", "theirs", file, scenes, "--licence", "CC BY 4.0", "--trained-on", "nothing")
    assert again["unchanged"] and CaptionSet.objects.count() == 1
    other = written(tmp_path, {**WRITTEN, "100": "A cat."}, name="other.jsonl")
    with pytest.raises(CommandError, match=r"'theirs' already exists, made otherwise \(file, licence\)"):
        imported("captions", "theirs", other, scenes)

    back = tmp_path / "back.json"
    output_of("download_caption_set", "theirs", "--out", back)
    assert {str(entry["image_id"]): entry["caption"] for entry in json.loads(back.read_text())} == {
        f"COCO_val2014_{int(key):012}.jpg": text for key, text in WRITTEN.items()
    }
    assert imported("captions", "back", back, scenes)["digest"] == result["digest"]
    output_of("remove_caption_set", "theirs")
    output_of("remove_system", "theirs")
    assert not CaptionSet.objects.filter(name="theirs").exists()


def test_captions_of_the_requested_images_are_stored_and_the_others_counted(
    scenes: str, tmp_path: Path
) -> None:
    file = written(tmp_path, {"100": "A dog.", "300": "A man.", "900": "A ship."})
    with pytest.raises(
        CommandError, match=r"leave-unused: .*captions: 1 without a match in the corpus \(900\)"
    ):
        imported("captions", "test", file, scenes, "--split", "test")
    result = imported("captions", "test", file, scenes, "--split", "test", "--leave-unused")
    assert list(CaptionSet.objects.get().captions.values_list("image__key", "text")) == [("100", "A dog.")]
    assert {rest["reason"]: rest["count"] for rest in line_of(result, "captions")["left"]} == {
        "unknown": 1,
        "not_requested": 1,
    }
    with pytest.raises(
        CommandError, match=r"1 of 2 images \('COCO_val2014_000000000200.jpg'\) have no caption"
    ):
        output_of("score_captions", scenes, "test", "--split", "test")
    twice = written(
        tmp_path, {"100": "A dog.", "COCO_val2014_000000000100.jpg": "A cat."}, name="twice.jsonl"
    )
    with pytest.raises(CommandError, match="line 2 and line 1 are of one image"):
        imported("captions", "twice", twice, scenes)
    with pytest.raises(CommandError, match="has nothing of split train of corpus"):
        imported("captions", "none", written(tmp_path, {"100": "A."}, name="n"), scenes, "--split", "train")


def test_imported_captions_are_mixed_blindly_with_those_of_people(scenes: str, tmp_path: Path) -> None:
    imported("captions", "mine", written(tmp_path, WRITTEN), scenes)
    imported("captions", "theirs", written(tmp_path, {**WRITTEN, "100": "A cat."}, name="t"), scenes)
    mixed = json.loads(output_of("judge_captions", "mixed", "mine", "theirs", "--people", 1, "--json"))
    assert mixed["runs"] == ["mixed-mine", "mixed-theirs", "mixed-people-1"] and mixed["images"] == 3
    assert Run.objects.get(name="mixed-theirs").query_count == 3


def tags_file(folder: Path, tags: dict[str, Any], name: str = "tags.jsonl") -> Path:
    lines = [json.dumps({"image": image, "tags": of_image}) for image, of_image in tags.items()]
    (folder / name).write_text("\n".join(lines))
    return folder / name


def test_imported_tags_are_lower_cased_ordered_by_score_and_score_like_their_file(
    pets: str, tmp_path: Path
) -> None:
    file = tags_file(tmp_path, TAGS)
    result = imported("tags", "theirs", file, pets, "--licence", "CC0")
    rows = dict(TagSet.objects.get().images.values_list("image__key", "tags"))
    assert rows == {"1": [["dog", 0.9], ["cat", 0.5]], "2": [["dog", 0.6], ["boy", 0.2]]}
    tags = line_of(result, "tags")
    assert (tags["found"], tags["taken"], result["reordered"]) == (5, 4, 1)
    assert tags["left"][0]["reason"] == "repeated"
    options = ("--missing", "leave-out", "--split", "all", "--resamples", 0, "--json")
    stored = json.loads(output_of("score_tags", "theirs", *options))
    read = json.loads(output_of("score_tags", "--file", file, "--corpus", pets, *options))
    assert stored["stored"] and not read["stored"] and read["tag_set"] == "tags.jsonl"
    assert read["report"]["measures"] == stored["report"]["measures"]
    assert TagSet.objects.get().name == "theirs", "nothing of the file is stored"
    with pytest.raises(CommandError, match=r"2 of 4 images .* have no tags in set 'theirs'"):
        output_of("score_tags", "theirs", "--split", "all")
    refused: list[tuple[list[Any], str]] = [
        ([], "tag_set: This is required"),
        (["theirs", "--file", file], "--file: This cannot be combined with tag_set"),
        (["--file", file], "--corpus: This is required"),
        (["theirs", "--trained-on", "nothing"], "--trained-on: This is only possible together with file"),
    ]
    for arguments, reported in refused:
        with pytest.raises(CommandError, match=reported):
            output_of("score_tags", *arguments)


@pytest.mark.parametrize("layout", ["jsonl", "csv"])
def test_the_file_of_a_tag_set_is_read_again(pets: str, tmp_path: Path, layout: str) -> None:
    first = imported("tags", "first", tags_file(tmp_path, TAGS), pets)
    out = tmp_path / f"out.{layout}"
    output_of("download_tag_set", "first", "--layout", layout, "--out", out)
    assert imported("tags", "second", out, pets)["digest"] == first["digest"]
    output_of("export_ranked_tags", pets, "--out", tmp_path / "people.jsonl")
    people = imported("tags", "people", tmp_path / "people.jsonl", pets)
    assert people["images"] == 5 and line_of(people, "tags")["left"] == []


def test_a_page_and_the_api_import_both(pets: str, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    ada = world.signed_in("ada", "researcher")
    caption = SimpleUploadedFile("c.csv", b"image,caption\n1.jpg,a dog\n")
    form = {"act": "import_captions", "name": "theirs", "corpus": pets, "file": caption}
    page = ada.post("/evaluation/add-system/", form, follow=True).content.decode()
    assert "Caption set “theirs” was added." in page and "a dog" in page and "c.csv" in page
    assert "Mix the captions" in page and "State of the system" not in page
    tags = SimpleUploadedFile(
        "t.jsonl", json.dumps({"image": "1.jpg", "tags": [["a", 1], ["b", 2]]}).encode()
    )
    form = {"act": "import_tags", "name": "theirs", "corpus": pets, "licence": "CC0", "file": tags}
    page = ada.post("/evaluation/add-system/", form, follow=True).content.decode()
    assert "Tag set “theirs” was added." in page and "The tags of 1 image were not in the order" in page
    assert "CC0" in page
    listed = ada.get("/evaluation/").content.decode()
    assert listed.count(">theirs</a>") == 2 and "Sets from files" in listed
    client = api_client("ada")
    sent = SimpleUploadedFile("s.json", json.dumps([{"image_id": "1.jpg", "caption": "a dog"}]).encode())
    response = client.post("/api/v1/caption-sets", {"name": "sent", "corpus": pets, "file": sent})
    assert response.status_code == 201 and response["Location"].endswith("/caption-sets/sent")
    assert response.json()["sheet"]["lines"][0]["taken"] == 2
    wrong = SimpleUploadedFile("s.json", b"[3]")
    refused = client.post("/api/v1/caption-sets", {"name": "wrong", "corpus": pets, "file": wrong})
    assert refused.status_code == 409 and "s.json: entry 1 is 3" in refused.json()["detail"]
