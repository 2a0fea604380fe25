"""Regions found in pictures, and their features: by method, interrupted, from people's boxes, and bad
input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from PIL import Image

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.jobs import JobError
from annotation.models import Job
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from evaluation.formats.box_files import read_boxes
from evaluation.services.features import regions
from evaluation.services.features.regions import REGION_METHODS, RegionsRequest, extract_regions
from evaluation.services.features.store import feature_set, feature_sets
from models_core.features.image.proposals import grid
from phrasebox.text_files import FormatError
from tests.evaluation.database.conftest import output_of
from tests.factories import put_on_server
from tests.models_core.features.image.networks import colours
from tests.web import world
from tests.web.staff import words

pytestmark = pytest.mark.django_db
SETTINGS: dict[str, Any] = {"shorter": 8, "output": "means", "mean": [0, 0, 0], "deviation": [1, 1, 1]}
PICTURES, WIDTH, HEIGHT = 5, 80, 60
#: The bright area of the pictures: left, top, right, bottom.
BRIGHT = (41, 21, 70, 50)


@pytest.fixture
def drawn(db: None, data_dir: Path, tmp_path: Path) -> str:
    """Five black pictures with a bright thing, and an image without one."""
    for n in range(PICTURES):
        picture = Image.new("RGB", (WIDTH, HEIGHT))
        picture.paste((50 * n, 10, 200), (BRIGHT[0] - 1, BRIGHT[1] - 1, *BRIGHT[2:]))
        picture.save(tmp_path / f"{n}.png")
    records = [
        ImageRecord(
            id=f"{n}",
            filename=f"{n}.png",
            captions=(CaptionRecord("a dog"),),
            picture=tmp_path / f"{n}.png" if n < PICTURES else None,
        )
        for n in range(PICTURES + 1)
    ]
    import_records(name="drawn", records=records, format="jsonl", source="memory")
    return "drawn"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return colours(tmp_path / "colours.onnx")


def request(drawn: str, network: Path, **more: Any) -> RegionsRequest:
    return RegionsRequest(
        **{"corpus": drawn, "name": "boxes", "weights": network, "settings": SETTINGS, **more}
    )


def boxes_of(label: str) -> np.ndarray:
    boxes = feature_set("drawn", label).boxes()
    assert boxes is not None
    return np.asarray(boxes)


def test_regions_of_a_grid_are_described_and_what_was_stopped_goes_on(drawn, network, monkeypatch):
    monkeypatch.setattr(regions, "PICTURES_PER_PHASE", 2)
    seen = []

    def stop(phase: str, done: int, total: int) -> None:
        seen.append((phase, done))
        if phase == "writing features" and done:
            raise KeyboardInterrupt

    target = request(drawn, network, method="grid", limit=6)
    with pytest.raises(KeyboardInterrupt):
        extract_regions(target, progress=stop)
    assert [done for phase, done in seen if phase == "finding regions"] == [0, 2, 4, 5]
    result = extract_regions(target)
    assert (result.created, result.excluded, result.without, result.stored.rows) == (True, 1, 0, PICTURES * 7)
    assert result.stored.ids() == tuple(f"{n}.png" for n in range(PICTURES) for _ in range(7))
    expected = np.concatenate([[[1, 1, WIDTH, HEIGHT]], grid(WIDTH, HEIGHT, 6)])
    np.testing.assert_array_equal(boxes_of("boxes"), np.tile(expected, (PICTURES, 1)))
    whole = result.stored.vectors()[::7]
    assert (np.diff(whole[:, 0]) > 0).all() and (whole[:, 2] < 0.5).all()
    assert result.stored.origin["regions"] == "grid" and result.stored.origin["missing"] == 1
    assert not extract_regions(target).created

    provided = [f"{key}={json.dumps(value)}" for key, value in SETTINGS.items()]
    ask = ("--weights", network, "--method", "grid", "--limit", 6, "--extractor-settings", *provided)
    text = output_of("extract_regions", drawn, "--name", "boxes", *ask)
    assert "feature set boxes:1 of corpus 'drawn' already exists" in text
    assert "1 images have no picture" in text
    of_job = {"corpus": drawn, "name": "job", "weights": put_on_server("networks", network)}
    of_job["extractor_settings"] = SETTINGS
    job = jobs.enqueue(kind="extract_regions", arguments={**of_job, "method": "grid", "limit": 6})
    assert jobs.run_queued_job(job.pk) == Job.DONE
    np.testing.assert_array_equal(feature_set(drawn, "job").vectors(), result.stored.vectors())


@pytest.mark.parametrize("method", ["edgeboxes", "selective-search", "edges-and-segments"])
def test_what_is_proposed_is_described_where_it_lies(drawn, network, method):
    stored = extract_regions(request(drawn, network, method=method)).stored
    near = np.abs(boxes_of("boxes") - BRIGHT).max(axis=1) <= 4
    assert near.sum() >= PICTURES, "the bright thing is a region of each picture"
    assert (stored.vectors()[near, 2] > 0.6 * 200 / 255).all()


def test_the_method_that_finds_the_most_is_taken_unless_another_is_asked_for(drawn):
    output_of("extract_regions", drawn, "--name", "command", "--extractor", "layout", "--limit", 3)
    arguments = {"corpus": drawn, "name": "job", "extractor": "layout", "limit": 3}
    assert jobs.run_queued_job(jobs.enqueue(kind="extract_regions", arguments=arguments).pk) == Job.DONE
    result = {feature_set(drawn, name).origin["regions"] for name in ("command", "job")}
    assert result == {"edges-and-segments"} == {REGION_METHODS[0]}


def test_of_a_csv_with_scores_the_best_boxes_are_taken(drawn, tmp_path):
    file = tmp_path / "boxes.csv"
    rows = ["image,xmin,ymin,xmax,ymax,score", "1.png,41,21,70,50,0.1", "1.png,1,1,20,20,0.9"]
    file.write_text("\n".join(rows) + "\n")
    arguments = ("--name", "best", "--method", "file", "--boxes", file, "--extractor", "layout", "--no-whole")
    output_of("extract_regions", drawn, *arguments, "--limit", 1)
    np.testing.assert_array_equal(boxes_of("best"), [[1, 1, 20, 20]])
    file.write_text("\n".join([*rows, "1.png,1,1,30,30,best"]) + "\n")
    with pytest.raises(FormatError, match=r"line 4: has the score 'best'; expected a finite number"):
        list(read_boxes(file))


def test_boxes_of_people_and_of_files_are_taken(drawn, network, tmp_path):
    rows = ["image,xmin,ymin,xmax,ymax", "1.png,41,21,70,50", "3,1,1,40,60", "1.png,1,1,20,20"]
    (tmp_path / "boxes.csv").write_text("\n".join(rows) + "\n")
    result = extract_regions(request(drawn, network, method="file", file=tmp_path / "boxes.csv", whole=False))
    assert (result.stored.ids(), result.without) == (("1.png", "1.png", "3.png"), 3)
    np.testing.assert_array_equal(boxes_of("boxes"), [BRIGHT, [1, 1, 20, 20], [1, 1, 40, 60]])
    np.testing.assert_allclose(result.stored.vectors()[:, 0] * 255, [50, 0, 0], atol=0.5)
    with pytest.raises(CommandError, match="corpus 'drawn' has no layer"):
        output_of("extract_regions", drawn, "--name", "gold", "--weights", network, "--method", "gold")


def test_all_boxes_of_people_are_taken_and_those_around_several_whatever_the_limit(db, data_dir, tmp_path):
    Image.new("RGB", (WIDTH, HEIGHT)).save(tmp_path / "0.png")
    drawn = [LayerObject(("1",), Box(1, 1, 20, 20)), LayerObject(("1",), Box(30, 1, 50, 20))]
    drawn += [LayerObject(("2",), Box(left, 30, left + 9, 50)) for left in range(1, 23)]
    chains = tuple(
        Chain(f"{n}", (Mention(0, n - 1, n, (word,), ("other",)),)) for n, word in ((1, "dogs"), (2, "cats"))
    )
    record = ImageRecord(
        id="0",
        filename="0.png",
        captions=(CaptionRecord("dogs cats"),),
        width=WIDTH,
        height=HEIGHT,
        picture=tmp_path / "0.png",
        layer=LayerRecord(chains, tuple(drawn)),
    )
    import_records(name="drawn", records=[record], format="jsonl", source="memory")
    ask = ("--name", "gold", "--extractor", "layout", "--method", "gold", "--no-whole")
    output_of("extract_regions", "drawn", *ask)
    boxes = boxes_of("gold").tolist()
    assert len(boxes) == 24 + 2
    assert boxes[-2:] == [[1, 1, 50, 20], [1, 30, 31, 50]], "each chain's boxes have one around them"
    assert feature_set("drawn", "gold").origin["limit"] == 0
    assert "already exists" in output_of("extract_regions", "drawn", *ask, "--limit", 2)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["image,x,y", "1,1,1"], "expected the columns image, xmin, ymin, xmax, ymax"),
        (
            ["9.png,1,1,2,2", "8.png,1,1,2,2", "9.png,1,1,3,3"],
            r"boxes.csv: proposals of another corpus: none .* of corpus 'drawn': 2 ids \('9.png', '8.png'\)",
        ),
        (["1,1,1,2"], "line 2: holds 4 cells; expected 5, as in the header"),
        (["1,1,1,2,2", "1,1,1,2,two"], "line 3: has the box '1,1,2,two'; expected four whole numbers"),
        (["1,5,1,4,2"], r"line 2: box \(5, 1, 4, 2\) has its corners in the wrong order"),
        (["1,1,9,4,2"], r"line 2: box \(1, 9, 4, 2\) has its corners in the wrong order"),
    ],
)
def test_files_of_boxes_that_cannot_be_are_refused_with_their_line(drawn, network, tmp_path, lines, says):
    file = tmp_path / "boxes.csv"
    head = [] if lines[0].startswith("image") else ["image,xmin,ymin,xmax,ymax"]
    file.write_text("\n".join([*head, *lines]) + "\n")
    ask = ("--name", "b", "--weights", network, "--method", "file", "--boxes", file)
    with pytest.raises(CommandError, match=says):
        output_of("extract_regions", drawn, *ask)
    assert feature_sets() == []


def test_boxes_that_reach_out_of_a_picture_are_cut_and_counted_and_no_network_is_needed(drawn, tmp_path):
    rows = ["image,xmin,ymin,xmax,ymax", "1.png,-4,21,70,99", "1.png,81,1,90,9", "3,1,0,40,60", "3,2,2,9,9"]
    (tmp_path / "boxes.csv").write_text("\n".join(rows) + "\n")
    ask = ("--name", "cheap", "--extractor", "layout", "--method", "file", "--boxes", tmp_path / "boxes.csv")
    text = output_of("extract_regions", drawn, *ask, "--no-whole")
    assert "2 boxes reached out of their picture and were cut\n1 boxes lay wholly outside and were " in text
    np.testing.assert_array_equal(boxes_of("cheap"), [[1, 21, 70, 60], [1, 1, 40, 60], [2, 2, 9, 9]])
    assert feature_set(drawn, "cheap").origin["extractor"] == "layout"
    with pytest.raises(CommandError, match="extractor layout takes no network; leave the weights out"):
        output_of("extract_regions", drawn, *ask, "--weights", tmp_path / "boxes.csv")
    with pytest.raises(CommandError, match="unknown setting 'shorter'; known: cells, bins, orientations"):
        output_of("extract_regions", drawn, *ask, "--extractor-settings", "shorter=9")


def test_boxes_of_a_file_without_the_whole_picture_are_asked_for_by_page(drawn, data_dir):
    """Sent or of the server, with counts; a file that is wrong, or gone, is told of by its name alone."""
    ada = world.signed_in("ada", "researcher")
    form = {"name": "sent", "corpus": drawn, "extractor": "layout", "method": "file", "whole": "false"}
    text = b"image,xmin,ymin,xmax,ymax\n1.png,-4,21,70,99\n1.png,81,1,90,9\n9.png,1,1,2,2\n"

    def ask(**more: Any) -> str:
        answer = ada.post("/operations/extract_regions/", {**form, **more})
        if answer.status_code != 302:
            return words(answer)
        job = Job.objects.latest("pk")
        if job.state == Job.QUEUED:
            jobs.run_queued_job(job.pk)
        return words(ada.get("/evaluation/features/"))

    response = ask(boxes=SimpleUploadedFile("mine.csv", text), leave_unused="on")
    assert "1 boxes reached out of their picture and were cut 1 boxes lay wholly outside and were" in response
    assert "1 ids ('9.png') left out: the corpus has no such image" in response
    np.testing.assert_array_equal(boxes_of("sent"), [[1, 21, 70, 60]])
    assert "4 images have no region besides the whole" in Job.objects.get().result["remarks"]
    assert "There is no file “b.json” here." in ask(server_boxes="b.json")
    assert "This is required." in ask()
    payload = {"boxes": SimpleUploadedFile("mine.csv", text), "method": "grid"}
    assert "This is only possible together with method file." in ask(**payload)
    assert Job.objects.count() == 1
    (data_dir / "sources" / "boxes").mkdir(parents=True)
    results = [{"image_id": n, "bbox": [0, 0, 5, 5], "score": n / 9} for n in range(3)]
    (data_dir / "sources" / "boxes" / "b.json").write_text(json.dumps(results))
    ask(server_boxes="b.json", name="served", whole="true")
    assert feature_set(drawn, "served").rows == PICTURES + 3
    invalid = ask(boxes=SimpleUploadedFile("bad.csv", text + b"1.png,1,1\n"))
    assert (
        "bad.csv, line 5: holds 3 cells; expected 5, as in the header" in invalid
        and str(data_dir) not in invalid
    )
    for folder in (data_dir / "uploads").iterdir():
        shutil.rmtree(folder)
    last = Job.objects.latest("pk")
    jobs.resume_job(job_id=last.pk)
    jobs.run_queued_job(last.pk)
    response = words(ada.get("/evaluation/features/"))
    assert "bad.csv is no longer there: files that are sent are stored for a day; send it again" in response


@pytest.mark.parametrize("form", ["csv", "json", "npz"])
def test_boxes_of_each_form_are_the_same_regions(drawn, tmp_path, form):
    """Of images by any of their names; of equal or no scores the first, else the best ones."""
    ids = ["1.png", "3", "1", "1.png", "nobody.png", "5.png", "3.png"]
    boxes = [(41, 21, 70, 50), (81, 1, 90, 9), (-3, 2, 9, 99), (5, 5, 6, 6), (1, 1, 2, 2), (1, 1, 2, 2)]
    boxes.append((1, 1, 40, 60))
    scores, file = [0.5, 0.9, 0.5, 0.25, 1, 1, 0], tmp_path / f"boxes.{form}"
    if form == "csv":
        rows = [",".join(map(str, (item, *box))) for item, box in zip(ids, boxes, strict=True)]
        file.write_text("\ufeff" + "\n".join(["image,xmin,ymin,xmax,ymax", *rows]))
    elif form == "json":
        numbers = [3 if item == "3" else item for item in ids]
        # Fractions of a pixel are rounded to the nearest.
        provided = [[a - 0.75, b - 1.25, c - a + 1, d - b + 1] for a, b, c, d in boxes]
        results = zip(numbers, provided, scores, strict=True)
        file.write_text(
            json.dumps([{"image_id": n, "bbox": b, "score": s, "category_id": 1} for n, b, s in results])
        )
    else:
        np.savez(file, boxes=np.asarray(boxes, np.float32), ids=np.asarray(ids), scores=scores)
    ask = ("--extractor", "layout", "--method", "file", "--boxes", file, "--no-whole", "--limit", 2)
    with pytest.raises(CommandError, match=r"--leave-unused: .*boxes: 1 without a match .*nobody\.png"):
        output_of("extract_regions", drawn, "--name", "given", *ask)
    leaving = (*ask, "--leave-unused")
    payload = json.loads(output_of("extract_regions", drawn, "--name", "given", *leaving, "--json"))
    assert [remark.split()[0] for remark in payload["remarks"]][-4:] == ["1"] * 4
    assert payload["remarks"][-1] == "1 ids ('nobody.png') left out: the corpus has no such image"
    assert feature_set(drawn, "given").ids() == ("1.png", "1.png", "3.png")
    np.testing.assert_array_equal(boxes_of("given"), [BRIGHT, [1, 2, 9, 60], [1, 1, 40, 60]])


def _result(**change: Any) -> dict[str, Any]:
    return {"image_id": 1, "bbox": [0, 0, 5, 5], "score": 0.5, **change}


@pytest.mark.parametrize(
    ("provided", "says"),
    [
        ({"images": []}, "holds no list of boxes; expected COCO results"),
        ([_result(), 7], "entry 2: is 7; expected an object"),
        ([_result(), _result(bbox=[0, 0, 5])], r"entry 2: 'bbox' is \[0, 0, 5\]; expected x, y, width"),
        ([_result(bbox=[0, 0, 5, 0])], "entry 1: 'bbox' is"),
        ([_result(bbox=[0, 0, 5, True])], "entry 1: 'bbox' is"),
        ([_result(bbox=[10**12, 0, 5, 5])], "entry 1: 'bbox' is"),
        ([_result(score=None)], "entry 1: 'score' is None; expected a finite number"),
        ([{"bbox": [0, 0, 5, 5], "score": 1}], "entry 1: 'image_id' is missing"),
        ('[{"image_id": 1,', "the JSON ends in the middle"),
        ({"boxes": np.ones((2, 3))}, r"boxes have shape \(2, 3\) of float64; expected numbers of shape"),
        ({"boxes": np.ones((2, 4))}, "has no ids 'ids'"),
        ({"boxes": np.ones((1, 4)), "ids": ["1", "2"]}, "2 ids 'ids' for 1 rows"),
        ({"boxes": [[1, 1, 2, 2], [3, 1, 2, 2]], "ids": ["1", "2"]}, r"box 1 \(counted from 0\), of '2', is"),
        ({"boxes": [[1, 1, np.nan, 2]], "ids": ["1"]}, r"box 0 \(counted from 0\), of '1', is"),
        ({"boxes": [[1, 1, 2, 2]], "ids": ["1"], "scores": [np.inf]}, "its score inf"),
        ({"boxes": [[1, 1, 2, 2]], "ids": ["1"], "scores": [1, 2]}, "expected a number for each box"),
        ({"vectors": np.ones((2, 3)), "ids": ["1", "2"]}, "contains no array 'boxes'"),
    ],
)
def test_results_and_arrays_that_are_no_boxes_are_refused_by_their_entry(tmp_path, provided, says):
    """One line, which names what is wrong."""
    if isinstance(provided, dict) and "images" not in provided:
        file = tmp_path / "boxes.npz"
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in provided.items()}
        np.savez(file, **arrays)
    else:
        file = tmp_path / "boxes.json"
        file.write_text(provided if isinstance(provided, str) else json.dumps(provided))
    with pytest.raises(FormatError, match=says) as caught:
        list(read_boxes(file))
    assert str(caught.value).startswith(str(file)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--limit", 0), "--limit: Expected 1 or more"),
        (("--method", "file"), "--boxes: This is required"),
        (("--method", "file", "--boxes", "/nowhere.csv"), "/nowhere.csv: no such file"),
        (("--weights", "/nowhere.onnx"), "/nowhere.onnx: no such file"),
        (("--extractor-settings", "croops=1"), "unknown setting 'croops'"),
    ],
)
def test_what_cannot_be_asked_for_is_named(drawn, network, options, says):
    with pytest.raises(CommandError, match=says):
        output_of("extract_regions", drawn, "--name", "b", "--weights", network, *options)


def test_a_corpus_without_pictures_and_an_unknown_method_are_refused(drawn, network, corpus):
    with pytest.raises(CommandError, match="no image of corpus 'world' has a picture"):
        output_of("extract_regions", corpus, "--name", "b", "--weights", network)
    arguments = {"corpus": drawn, "name": "b", "weights": network.name, "method": "guess"}
    with pytest.raises(JobError, match="method: Expected one of: 'edges-and-segments'"):
        jobs.enqueue(kind="extract_regions", arguments=arguments)
    with pytest.raises(JobError):
        jobs.enqueue(kind="extract_regions", arguments={"corpus": drawn, "beyond": 1})
