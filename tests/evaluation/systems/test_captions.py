"""Captions written by systems: made, stored, scored and judged; of images, and of regions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError

from annotation import campaigns, jobs
from annotation.common.operations import OperationContext
from annotation.models import Assignment, Caption, Corpus, Image, Job, Worker
from annotation.moderation.worker_status import withdraw_worker_answers
from annotation.protocol.contents import corners
from annotation.protocol.questions import Answer
from annotation.queue.leases import Lease, take_lease
from annotation.queue.submission import submit
from annotation.selectors.records import stream_records
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.visits import ORDERLY
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from evaluation.models import Batch, CaptionSet, Run, System, WrittenCaption
from evaluation.services.captions import writing
from evaluation.services.captions.writing import CaptionsRequest, generate_captions
from evaluation.services.common import InputError
from evaluation.services.runs.ranking import RankRunsRequest, check_ranking
from evaluation.web.systems import captions as pages
from phrasebox.formats.candidate_captions import read_candidates
from tests import worlds
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.scenes import BOXES, THINGS, make_scenes, train_alignment
from tests.queue.world import TRUSTING
from tests.web import world
from tests.web.staff import press

pytest.importorskip("torch", exc_type=ImportError)
pytestmark = pytest.mark.django_db
SMALL = """
extends = "{}"
[text]
least_count = 2
[settings]
size = 32
word_size = 12
rates = [0.005]
epochs = 12
batch = 24
dropout = 0.1
"""
MEASURES = ("--measures", "BLEU-1,CIDEr-D", "--resamples", 50, "--json")


def trained(folder: Path, name: str, recipe: str, *features: str) -> None:
    value = folder / f"small-{recipe}.toml"
    value.write_text(SMALL.format(recipe))
    output_of("train_system", name, "--recipe", value, "--corpus", "scenes", *features)


@pytest.fixture
def captioner(db: None, data_dir: Path, tmp_path: Path) -> str:
    def build() -> str:
        make_scenes(tmp_path)
        trained(tmp_path, "writes", "mRNN", "--features", "whole")
        return "writes"

    return worlds.again("scenes with a captioner", build, folder=tmp_path)


def generated(system: str, *options: Any) -> dict[str, Any]:
    output = output_of("generate_captions", system, "--split", "test", *options, "--json")
    payload: dict[str, Any] = json.loads(output)
    return payload


def figures(name: Any) -> dict[str, float]:
    report = json.loads(output_of("score_captions", "scenes", name, "--split", "test", *MEASURES))["report"]
    return {measure["measure"]: measure["value"] for measure in report["sets"][0]["measures"]}


def named(text: str) -> set[str]:
    """Return the things that a caption names."""
    return set(text.split()) & set(THINGS)


def test_captions_are_kept_written_scored_and_better_than_those_of_other_images(captioner, tmp_path):
    out = tmp_path / "captions.json"
    created = generated(captioner)
    output_of("download_caption_set", captioner, "--out", out)
    assert (created["images"], created["captions"], created["unchanged"]) == (15, 15, False)
    assert 0 <= created["in_training"] <= 15
    caption_set = CaptionSet.objects.get()
    rows = list(caption_set.captions.order_by("position"))
    read = list(read_candidates(out))
    assert [item.caption for item in read] == [row.text for row in rows]
    assert {item.image for item in read} == set(
        Image.objects.filter(split="test").values_list("filename", flat=True)
    )
    assert all(row.log_probability < 0 and not row.box for row in rows)
    assert generated(captioner)["unchanged"] and WrittenCaption.objects.count() == 15
    with pytest.raises(CommandError, match=r"caption set 'writes' already exists, made otherwise"):
        output_of("generate_captions", captioner, "--beam", 1)
    listed = tmp_path / "some.txt"
    listed.write_text("76.png\n77.png\n")
    some = ("--split", listed, "--name", "some")
    assert generated(captioner, *some)["images"] == 2 and generated(captioner, *some)["unchanged"]
    listed.write_text("76.png\n78.png\n")
    with pytest.raises(CommandError, match=r"'some' already exists, made otherwise \(images or mentions\)"):
        output_of("generate_captions", captioner, *some)
    CaptionSet.objects.filter(name="some").delete()

    own_figures = figures("writes")
    assert own_figures == figures(out)
    others = [{"image": item.image, "caption": read[n - 1].caption} for n, item in enumerate(read)]
    constant = [{"image": item.image, "caption": "a dog beside a man"} for item in read]
    for name, entries in (("others", others), ("constant", constant)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, entries)))
        worse = figures(tmp_path / name)
        assert own_figures["CIDEr-D"] > worse["CIDEr-D"] and own_figures["BLEU-1"] > worse["BLEU-1"], name
    greedy = generated(captioner, "--name", "greedy", "--beam", 1, "--limit", 3)
    assert greedy["words"] <= 3
    drawn = [generated(captioner, "--name", name, "--draw", "--seed", 3)["distinct"] for name in ("a", "b")]
    texts = [list(CaptionSet.objects.get(name=n).captions.values_list("text", flat=True)) for n in "ab"]
    assert drawn[0] == drawn[1] and texts[0] == texts[1]

    with pytest.raises(CommandError, match="cannot be removed: caption set a, caption set b"):
        output_of("remove_system", captioner)
    for item in ("a", "b", "greedy", "writes"):
        output_of("remove_caption_set", item)
    assert not WrittenCaption.objects.exists()


def test_the_nearest_caption_is_one_of_the_training_captions(scenes):
    output_of("train_system", "near", "--recipe", "NN-caption", "--corpus", "scenes", "--features", "whole")
    created = generated("near")
    assert created["in_training"] == created["captions"] == 15
    request, context = RankRunsRequest(system="near", split="test"), OperationContext()
    with pytest.raises(InputError, match="predicts captions, not rankings"):  # before there is a job
        check_ranking(request, context)


def test_regions_are_described_by_what_a_layer_says_of_them_and_by_parts_of_captions(scenes, tmp_path):
    """The boxes of people are those of the regions, so that what belongs to each is known."""
    gold = Corpus.objects.get(name=scenes).layers.get().name
    trained(tmp_path, "regional", "mRNN-regions", "--regions", "parts", "--layer", gold)
    metadata = System.objects.get(name="regional").settings
    assert metadata["layer"] == gold and metadata["regions"] == "parts:1"
    created = generated("regional")
    output_of("download_caption_set", "regional", "--out", tmp_path / "regions.json")
    assert (created["images"], created["captions"]) == (15, 15 * len(BOXES))
    entries = json.loads((tmp_path / "regions.json").read_text())
    left, top, far, low = BOXES[1]
    assert entries[1]["bbox"] == [left, top, far - left, low - top]
    assert created["words"] < 4, "mentions are short"

    train_alignment(tmp_path)
    generated("aligned", "--regions", "parts", "--limit", 3)
    people = descriptions_of_boxes(Corpus.objects.get(name=scenes))
    for name in ("regional", "aligned"):
        right = []
        for caption in CaptionSet.objects.get(name=name).captions.select_related("image"):
            words = people.get((caption.image.filename, *caption.box))
            right += [bool(named(caption.text) & words)] if words else []
        assert len(right) == 30 and np.mean(right) > 0.7, (name, np.mean(right))
    assert generated("aligned", "--regions", "parts", "--limit", 3)["unchanged"]
    with pytest.raises(CommandError, match="caption set 'regional' describes regions; name the layer"):
        figures("regional")
    report = json.loads(output_of("score_captions", "scenes", "regional", "--layer", gold, *MEASURES))[
        "report"
    ]
    # Two of the five regions show a thing, each with two references.
    assert (report["regions"], report["without"], report["references"]) == (30, 45, 60)
    assert report["people_regions"] == 30 and {measure["measure"] for measure in report["people"]} == {
        "BLEU-1",
        "CIDEr-D",
    }
    basis = report["basis"]
    assert (basis["cases"], basis["counted"], basis["out_of"], basis["tokens"]) == ("regions", 30, 75, "ptb")
    assert basis["references"].startswith(f"layer {gold} (30 documents, sha256 ")
    scored = {measure["measure"]: measure for measure in report["sets"][0]["measures"]}
    assert scored["BLEU-1"]["low"] <= scored["BLEU-1"]["value"] <= scored["BLEU-1"]["high"]
    assert scored["BLEU-1"]["value"] > 0.5
    both = json.loads(
        output_of("score_captions", "scenes", "regional", "aligned", "--layer", gold, *MEASURES)
    )["report"]
    assert both["sets"][0] == report["sets"][0] and both["people"] == report["people"]
    values = [
        {measure["measure"]: measure["value"] for measure in own_set["measures"]} for own_set in both["sets"]
    ]
    assert {measure["measure"]: measure["difference"] for measure in both["differences"]} == pytest.approx(
        {name: values[1][name] - values[0][name] for name in values[0]}
    )
    described = describe_parts("scenes", CaptionSet.objects.get(name="regional"))
    report = json.loads(
        output_of("score_captions", "scenes", "regional", "--campaign", described, *MEASURES)
    )["report"]
    # All five parts of three images were described like the system's captions; withdrawn answers differ.
    assert (report["regions"], report["without"], report["references"]) == (15, 60, 15)
    assert {measure["measure"]: measure["value"] for measure in report["sets"][0]["measures"]}[
        "BLEU-1"
    ] == 1.0
    assert report["people_regions"] == 0 and report["people"] == []
    output = output_of("score_captions", "scenes", "regional", "--campaign", described)
    assert "regional against campaign described of corpus scenes: 15 regions, 15 references" in output
    aligned = CaptionSet.objects.get(name="aligned").captions
    aligned.filter(image=aligned.all()[0].image).delete()
    requested: tuple[tuple[tuple[str, ...], str], ...] = (
        (("regional", "aligned", "--layer", gold), "'aligned' are of different regions; compare sets of one"),
        (("regional", "--campaign", "no"), "there is no campaign 'no'"),
        (
            ("regional", "--campaign", described, "--layer", gold),
            "--campaign: This cannot be combined with layer.",
        ),
        (("regional", "--layer", "no"), "unknown layer 'no' of corpus 'scenes'"),
        (("regional", "--layer", gold, "--split", "test"), "--split: This cannot be combined with layer."),
        (
            ("regional", "--layer", gold, "--missing", "worst"),
            "--missing: This cannot be combined with layer.",
        ),
        (
            ("regional", "--layer", gold, "--trained-on", "COCO"),
            "--trained-on: This cannot be combined with layer.",
        ),
        (("nothing", "--layer", gold), "unknown caption set 'nothing'"),
    )
    for ask, refusal in requested:
        with pytest.raises(CommandError, match=refusal):
            output_of("score_captions", "scenes", *ask)


def describe_parts(corpus: str, written: CaptionSet) -> str:
    """Make a campaign in which two people describe the parts of three images like the set; a third differs,
    and their answers are withdrawn."""
    plan = campaigns.CampaignPlan(
        name="described", corpus=corpus, tasks="regions", settings=TRUSTING, split="test", images=3
    )
    campaign = campaigns.open_campaign(plan)
    people = [Worker.objects.create(pseudonym=name).pk for name in ("eve", "mallory")]
    (kind,) = campaign.kinds
    for worker in people:
        while isinstance(
            lease := take_lease(worker=worker, campaign=campaign, kind=campaign.kinds[0]), Lease
        ):
            task = Assignment.objects.get(pk=lease.id).task
            assert task is not None
            image = task.image.image_id
            own_texts = {tuple(row.box): row.text for row in written.captions.filter(image=image)}
            texts = [own_texts[tuple(map(float, box))] if worker == people[0] else "nothing" for box in BOXES]
            regions = [{"box": list(b), "text": t, "way": ""} for b, t in zip(BOXES, texts, strict=True)]
            answer = Answer("described", content={"regions": regions})
            submit(worker=worker, assignment=lease.id, answer=answer, token=f"{worker} {lease.id}")
    withdraw_worker_answers(campaign=campaign, worker=people[1], actor=None)
    return campaign.name


def descriptions_of_boxes(corpus: Corpus) -> dict[tuple[Any, ...], set[str]]:
    """Return people's descriptions of the thing in each box of each image."""
    result: dict[tuple[Any, ...], set[str]] = {}
    for record in stream_records(corpus=corpus, layer=corpus.layers.get()):
        assert record.layer is not None
        for chain in record.layer.chains:
            for box in record.layer.boxes_of(chain.id):
                key = (record.filename, *map(float, corners(box)))
                result[key] = {word for mention in chain.mentions for word in named(mention.text.lower())}
    return result


def test_what_cannot_be_written_is_refused_in_one_line(captioner, tmp_path):
    train_alignment(tmp_path)
    errors: tuple[tuple[tuple[Any, ...], str], ...] = (
        (("aligned", "--features", "whole"), "it finds captions of regions alone; name a feature set"),
        ((captioner, "--split", "tset"), "unknown split 'tset' of corpus 'scenes'"),
        ((captioner, "--regions", "whole"), "--regions: There is no feature set “whole” here"),
        ((captioner, "--beam", "0"), "--beam: Expected 1 or more."),
        (("nobody",), "There is no system “nobody” here"),
        ((captioner, "--name", "a b"), "--name: This is no valid name"),
    )
    for options, reported in errors:
        with pytest.raises(CommandError, match=reported) as error:
            output_of("generate_captions", *options)
        assert "\n" not in str(error.value)
    assert not CaptionSet.objects.exists()
    for recipe, provided, reported in (
        ("mRNN-regions", ("--features", "whole"), "--layer: Recipe mRNN-regions needs this."),
        ("mRNN", ("--features", "whole", "--layer", "people"), "--layer: Recipe mRNN does not use this."),
        (
            "mRNN-regions",
            ("--regions", "parts", "--layer", "none"),
            "--layer: There is no layer “none” here",
        ),
    ):
        with pytest.raises(CommandError, match=reported):
            output_of("train_system", "no", "--recipe", recipe, "--corpus", "scenes", *provided)


def test_a_set_that_was_half_written_is_written_again(captioner, monkeypatch):
    """A stopped process leaves nothing, a killed one rows that nobody sees; the next one begins again."""
    monkeypatch.setattr(writing, "_TOGETHER", 4)
    seen = []

    def stop(phase: str, share: float) -> None:
        seen.append(phase)
        if len(seen) == 3:
            raise KeyboardInterrupt

    captions_request = CaptionsRequest(system=captioner, split="test")
    with pytest.raises(KeyboardInterrupt):
        generate_captions(captions_request, OperationContext(listener=stop))
    assert not CaptionSet.objects.exists()
    row = System.objects.get(name=captioner)
    CaptionSet.objects.create(name=captioner, corpus=row.corpus, made_by=row)  # left by a killed process
    created = generate_captions(captions_request, OperationContext())
    assert (created.captions, created.unchanged) == (15, False)
    whole = generate_captions(replace(captions_request, name="whole"), OperationContext())
    digests = CaptionSet.objects.values_list("digest", flat=True)
    assert whole.captions == 15 and len(set(digests)) == 1


def test_judges_put_people_above_the_system_above_captions_of_other_images(captioner):
    """The circle: captions are written, mixed with people's, judged by a simulated crowd, and scored."""
    generated(captioner)
    shuffled = CaptionSet.objects.get(name="writes")
    texts = list(shuffled.captions.order_by("position").values_list("image_id", "text"))
    shuffled.pk, shuffled.name = None, "shuffled"
    shuffled.save()
    WrittenCaption.objects.bulk_create(
        WrittenCaption(caption_set=shuffled, position=n, image_id=image, text=texts[n - 4][1])
        for n, (image, _) in enumerate(texts)
    )
    mixed = json.loads(
        output_of("judge_captions", "judged", "writes", "shuffled", "--images", 13, "--controls", 6, "--json")
    )
    assert mixed["images"] == 13 and mixed["controls"] == 6
    assert mixed["runs"] == ["judged-writes", "judged-shuffled", "judged-people-1"]
    assert (
        json.loads(
            output_of(
                "judge_captions", "judged", "writes", "shuffled", "--images", 13, "--controls", 6, "--json"
            )
        )
        == mixed
    )
    corpus = Corpus.objects.get(name="judged")
    captions = Caption.objects.filter(image__corpus=corpus, image__split="judged")
    assert captions.count() == mixed["captions"]
    assert all(
        text == text.lower() and "." not in text and "," not in text
        for text in captions.values_list("text", flat=True)
    )
    output_of(
        *("open_batch", "first", "--corpus", "judged", "--tasks", "graded", "--depth", 1, "--judges", 3),
        *("--known-from", "controls", "--runs", *mixed["runs"]),
    )
    batch = Batch.objects.get(name="first")
    assert batch.numbers["originals"] == 0 and batch.numbers["selected"] == mixed["captions"]
    recorded = {}
    for caption in captions.select_related("image"):
        people = [
            named(text.lower())
            for text in Caption.objects.filter(
                image__corpus__name="scenes", image__key=caption.image.key
            ).values_list("text", flat=True)
        ]
        right = len(named(caption.text) & people[0]), len(named(caption.text) - people[0])
        recorded[caption.image.key, caption.text] = [max(1.0, 1.0 + 1.5 * right[0] - right[1])] * 3
    controls = Caption.objects.filter(image__corpus=corpus, image__split="controls").select_related("image")
    images_of: dict[str, set[str]] = {}
    for caption in controls:
        images_of.setdefault(caption.text, set()).add(caption.image.key)
    done = run_campaign_crowd(
        campaign=batch.campaign,
        plan=CrowdPlan(mix={"careful": 8}, seed=2, through="queue", url="", conduct=ORDERLY, patience=60.0),
        known=CrowdKnowledge(images_of, recorded=recorded),
    )
    assert not done.open_tasks
    output_of("collect_judgments", "first")
    output_of("freeze_qrels", "scale", "--corpus", "judged", "--judgments", "first")
    with pytest.raises(CommandError, match="'judged' has captions that are to be judged, and no originals"):
        output_of("freeze_qrels", "own", "--corpus", "judged", "--protocol", "any of five")
    value = {}
    for run in mixed["runs"]:
        report = json.loads(
            output_of("score_run", run, "--qrels", "scale", "--measures", "S@1,nDCG@1", "--json")
        )
        value[run] = [measure["value"] for measure in report["measures"]]
    people, writes, others = (value[f"judged-{name}"] for name in ("people-1", "writes", "shuffled"))
    assert people[0] >= writes[0] > others[0] and people[1] >= writes[1] > others[1], value
    assert Run.objects.get(name="judged-writes").depth == 1


def test_captions_that_cannot_be_mixed_are_refused(captioner, tmp_path):
    generated(captioner)
    for options, reported in (
        (("x", "nothing"), "There is no caption set “nothing” here; known: writes."),
        (("x", "writes", "writes"), "caption set 'writes' is named twice"),
        (("x", "writes", "--images", 99), "the sets describe 15 images in common; expected 99"),
        (("x", "writes", "--controls", 99), "are left for control items; expected 99"),
        (("x", "writes", "--images", "-1"), "--images: Expected 0 or more."),
    ):
        with pytest.raises(CommandError, match=reported):
            output_of("judge_captions", *options)
    assert not Corpus.objects.filter(name="x").exists()


def test_captions_are_written_looked_at_and_mixed_by_page(captioner, tmp_path):
    """A researcher asks for captions, looks at them, has a corpus of candidates made, and removes the set."""
    ada = world.signed_in("ada", "researcher")
    detail = ada.get("/evaluation/systems/writes/").content.decode()
    assert "Held-out perplexity" in detail and 'action="/evaluation/systems/writes/rank/"' not in detail
    press(ada, "/evaluation/systems/writes/", "Write captions", name="told", split="test", beam="2")
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    caption_set = CaptionSet.objects.get()
    assert (caption_set.name, caption_set.settings["beam"], caption_set.caption_count) == ("told", 2, 15)
    page = ada.get("/evaluation/captions/told/").content.decode()
    for text in caption_set.captions.values_list("text", flat=True):
        assert text in page
    assert "beside a" in page, "people's captions stand beside the system's"
    assert "/evaluation/captions/told/" in ada.get("/evaluation/systems/writes/").content.decode()
    file: Any = ada.get("/operations/download_caption_set/file?caption_set=told")
    assert len(json.loads(b"".join(file.streaming_content))) == 15
    generated(captioner, "--name", "second")
    press(
        *(ada, "/evaluation/captions/told/", "Mix the captions"),
        name="mixed",
        sets=["told", "second"],
        images="9",
        controls="4",
        people="2",
    )
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    runs = Run.objects.filter(corpus__name="mixed").values_list("name", flat=True)
    assert set(runs) == {f"mixed-{name}" for name in ("told", "second", "people-1", "people-2")}
    press(ada, "/evaluation/captions/told/", "Remove this caption set")
    assert not CaptionSet.objects.filter(name="told").exists()


def test_a_long_set_is_shown_a_page_at_a_time(captioner, monkeypatch):
    monkeypatch.setattr(pages, "PICTURES_PER_PAGE", 6)
    generated(captioner)
    ada = world.signed_in("ada", "researcher")
    texts, address = [], "/evaluation/captions/writes/"
    while address:
        page = ada.get(address).content.decode()
        texts += re.findall(r'<p class="wrote">(.*?)</p>', page)
        match = re.search(r'rel="next" href="(\?from=\d+)"', page)
        address = f"/evaluation/captions/writes/{match[1]}" if match else ""
    assert texts == list(
        CaptionSet.objects.get().captions.order_by("position").values_list("text", flat=True)
    )


def test_regions_are_described_by_page(scenes, tmp_path):
    ada = world.signed_in("ada", "researcher")
    gold = Corpus.objects.get(name=scenes).layers.get().name
    sources = Path(settings.DATA_DIR) / "sources" / "recipes"
    sources.mkdir(parents=True)
    (sources / "small.toml").write_text(SMALL.format("mRNN-regions"))
    ask = {"name": "regional", "recipe": "small.toml", "corpus": scenes, "regions": "parts:1"}
    response = press(ada, "/evaluation/train/", "Train", **ask)
    assert "Recipe small needs this." in response.content.decode()
    press(ada, "/evaluation/train/", "Train", **ask, layer=gold)
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    press(ada, "/evaluation/systems/regional/", "Write captions", split="test", regions="parts:1")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    page = ada.get("/evaluation/captions/regional/").content.decode()
    assert page.count('class="wrote"') == 15 * len(BOXES) and "Have people judge them" not in page
