"""A campaign from corpus to layer, answered by a simulated crowd and read from the database."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.campaigns import CampaignPlan, create_campaign, open_campaign
from annotation.campaigns.counted import open_pairs
from annotation.datasets.exporting import ExportError, export_dataset
from annotation.datasets.importing import import_corpus, import_records
from annotation.models import Campaign, Corpus, Layer, OpenImage
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.image import Fold
from annotation.protocol.merging import canonical_layer
from annotation.protocol.paging import Pair
from annotation.protocol.questions import Judgment
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import Box, CaptionRecord, ImageRecord, LayerRecord, is_too_small, renamed
from annotation.selectors.records import stream_records
from annotation.simulation.standin import stand_in
from annotation.simulation_driver import mix_of, simulate_campaign
from tests.factories import MAN, a_corpus, an_image
from tests.simulation.build import photograph

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


def scenes(count: int):
    """Return images whose gold is a fixed point of merging, with chains named 1, 2, ... throughout."""
    number = 1
    for i in range(count):
        mentions = photograph(i)
        gold = stand_in(mentions, size=(500, 375), seed=3, image=str(i))
        gold = renamed(gold, {chain.id: str(number + n) for n, chain in enumerate(gold.chains)})
        number += len(gold.chains)
        captions = []
        for caption in range(5):
            words = ["and"] * 40
            for mention in (m for m in mentions if m.caption == caption):
                words[mention.start : mention.end] = mention.tokens
            captions.append(CaptionRecord(" ".join(words[: max(m.end for m in mentions)])))
        yield ImageRecord(f"im{i}", f"im{i}.jpg", tuple(captions), width=500, height=375, layer=gold)


def corpus(count: int, *, layered: bool = True) -> Corpus:
    records = scenes(count) if layered else (replace(r, layer=None) for r in scenes(count))
    import_records(name="scenes", records=records, format="jsonl", source="made here")
    return Corpus.objects.get(name="scenes")


def by_content(layer: LayerRecord) -> tuple:
    """Return a layer without the names of its chains."""
    names = {chain.id: chain.mentions[0].id for chain in layer.chains}
    named = renamed(layer, names)
    chains = [(c, named.boxes_of(c.id), _kind(named, c.id)) for c in named.chains]
    return canonical_layer(chains).chains, {(frozenset(o.chains), o.box, o.scene) for o in named.objects}


def _kind(layer: LayerRecord, chain: str) -> str:
    boxless = (o for o in layer.objects if chain in o.chains and o.box is None)
    return next(("scene" if o.scene else "none" for o in boxless), "")


def test_an_errorless_crowd_writes_the_gold_back():
    result = corpus(25)
    campaign = open_campaign(CampaignPlan(name="perfect", corpus="scenes", tasks="entities"))
    report = simulate_campaign(campaign=campaign, mix={"perfect": 5}, seed=1, gated=False)
    assert report.scores is not None
    assert (report.scores.f1, report.scores.iou, report.scores.kind_accuracy) == (1.0, 1.0, 1.0)
    gold = stream_records(corpus=result, layer=result.layers.get(name="import"))
    ours = stream_records(corpus=result, layer=report.layer)
    for expected, image in zip(gold, ours, strict=True):
        assert image.layer is not None and expected.layer is not None
        assert by_content(image.layer) == by_content(expected.layer)


def test_the_same_seed_gives_the_same_layer_and_the_judgments_fold_to_it(tmp_path):
    result = corpus(6)
    campaign = open_campaign(CampaignPlan(name="twice", corpus="scenes", tasks="entities"))
    first, layers = tmp_path / "a.jsonl", []
    for log in (first, tmp_path / "b.jsonl"):
        report = simulate_campaign(campaign=campaign, mix={"average": 9}, seed=4, judgments=log)
        layers.append([r.layer for r in stream_records(corpus=result, layer=report.layer)])
    assert layers[0] == layers[1]
    assert first.read_text() == (tmp_path / "b.jsonl").read_text()
    assert Layer.objects.filter(name="twice").count() == 1
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    assert len(lines) == report.cost.total + sum(report.cost.double_checks.values())
    for record, layer in zip(scenes(6), layers[0], strict=True):
        assert layer is not None
        state = Fold(record.layer.mentions, ImageSettings())(
            judgment(j) for j in lines if j["image"] == record.id
        )
        if state.complete:
            assert by_content(layer) == by_content(state.layer)


def judgment(line: dict) -> Judgment:
    fields = {name: value for name, value in line.items() if name != "image"}
    return Judgment(**{**fields, "box": Box(**line["box"]) if "box" in line else None})


def test_captions_without_mentions_go_through_the_same_door_and_the_export_reads_back(tmp_path):
    result = corpus(8, layered=False)
    campaign = open_campaign(CampaignPlan(name="bare", corpus="scenes", tasks="entities"))
    report = simulate_campaign(campaign=campaign, mix=mix_of(10), seed=2)
    assert report.scores is None and report.cost.mentions > 50 and not report.cost.unfinished
    with pytest.raises(ExportError, match="“bare” are simulated: no person gave them"):
        export_dataset(corpus="scenes", format="entities", out=tmp_path / "out")
    export_dataset(corpus="scenes", format="entities", out=tmp_path / "out", simulated=True)
    import_corpus(name="again", path=tmp_path / "out", format="entities")
    again = Corpus.objects.get(name="again")
    here = {r.id: r.layer for r in stream_records(corpus=result, layer=report.layer)}
    there = {r.id: r.layer for r in stream_records(corpus=again, layer=again.layers.get())}
    assert here == there


def test_a_reviewer_closes_what_leavers_left_open():
    corpus(4)
    campaign = open_campaign(
        CampaignPlan(name="left", corpus="scenes", tasks="entities", settings={"link_votes": 3})
    )
    simulate_campaign(campaign=campaign, mix={"leaver": 4}, seed=2)
    layer = Layer.objects.get(name="left")
    assert layer.settings["link_votes"] == 3 and layer.cost["judgments"]["coref_link"] > 0
    assert not layer.chains.exclude(stage__in=["BOXED", "NON_VISUAL"]).exists()


def test_a_campaign_opens_once_and_its_settings_stay():
    corpus(1)
    first = open_campaign(CampaignPlan(name="c", corpus="scenes", tasks="entities"))
    assert open_campaign(CampaignPlan(name="c", corpus="scenes", tasks="entities")) == first
    with pytest.raises(CampaignError, match="already exists"):
        open_campaign(
            CampaignPlan(name="c", corpus="scenes", tasks="entities", settings={"order": "as_printed"})
        )
    assert Campaign.objects.count() == 1 and first.settings["order"] == "likely_first"
    assert settings_of(first.settings).protocol == ImageSettings()
    assert settings_of(first.settings).as_dict() == first.settings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"odrer": "likely_first"}, "unknown setting 'odrer'; known: boxes, flags_to_review"),
        ({"order": "by_luck"}, "likely_first, as_printed"),
        ({"link_votes": 2}, "odd number"),
        ({"limits": {"boxen": 3}}, "unknown setting 'boxen' of .limits.; known: boxes, fruitless"),
        ({"limits": {"fruitless": "three"}}, "limits.fruitless is 'three'"),
        ({"limits": 3}, "expected a table"),
        ({"merging": {"iou": "a"}}, "merging.iou is 'a'"),
        ({"trust": {"bar": 7}}, "bar is 7"),
        ({"trust": {"barr": 0.7}}, "unknown setting 'barr' of .trust."),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(values, message):
    with pytest.raises(CampaignError, match=message):
        settings_of(values)


def test_a_crowd_that_could_not_settle_an_image_is_refused():
    assert sum(mix_of(7).values()) == 7 and mix_of(10) == {"careful": 6, "average": 3, "sloppy": 1}
    with pytest.raises(CampaignError, match="3 workers are too few"):
        mix_of(3, least=4)


@pytest.mark.parametrize(
    ("images", "text"), [(2, " (a bootstrap of 2 images, fewer than 10: may be"), (10, "")]
)
def test_the_cost_study_says_where_its_intervals_are_of_few_images(images, text):
    out = StringIO()
    corpus(images)
    small = ["--images", str(images), "--seeds", "1", "--rates", "0", "--resamples", "5"]
    call_command("compare_question_orders", "--corpus", "scenes", *small, stdout=out)
    head = out.getvalue().splitlines()[0]
    assert head.startswith(f"{images} images, 1 seeds, 95 % bootstrap intervals over images{text}")
    assert head.endswith(text[-6:] + " too narrow)" if text else "images")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["simulate_crowd", "none"], "there is no campaign 'none'; open one first"),
        (
            ["open_campaign", "x", "--corpus", "none", "--tasks", "entities"],
            "There is no corpus “none” here; known: scenes",
        ),
        (
            ["open_campaign", "x", "--corpus", "scenes", "--tasks", "poetry"],
            "--tasks: Expected one of",
        ),
        (["simulate_crowd", "c", "--mix", "lazy=1"], "unknown kind of worker 'lazy'"),
        (["simulate_crowd", "c", "--mix", "careful"], "KIND=SHARE"),
        (["simulate_crowd", "c", "--gold", "z"], "unknown layer 'z'"),
        (["simulate_crowd", "c", "--gold", "import", "--chunked"], "one of the two"),
        (["simulate_crowd", "c", "--mix", "careful=nan"], "expected shares"),
        (["simulate_crowd", "c", "--mix", "careful=1,careful=0"], "names 'careful' twice"),
        (["simulate_crowd", "c", "--workers", "-3"], "too few"),
        (
            ["open_campaign", "import", "--corpus", "scenes", "--tasks", "entities", "--unpaid"],
            "another name",
        ),
        (
            ["open_campaign", "bad name!", "--corpus", "scenes", "--tasks", "entities"],
            "name: This is no valid",
        ),
        (["compare_question_orders", "--corpus", "scenes", "--images", "0"], "--images 0"),
        (["compare_question_orders", "--corpus", "scenes", "--rates", "abc"], "--rates 'abc'"),
        (["compare_question_orders", "--corpus", "scenes", "--seeds", "-1"], "--seeds -1"),
        (["compare_question_orders", "--corpus", "scenes", "--resamples", "0"], "--resamples 0"),
    ],
)
def test_commands_refuse_in_one_line(command, message):
    corpus(1)
    open_campaign(CampaignPlan(name="c", corpus="scenes", tasks="entities"))
    with pytest.raises(CommandError, match=message) as caught:
        call_command(*command)
    assert "\n" not in str(caught.value)


def test_the_last_line_of_a_json_report_is_one_document(tmp_path):
    corpus(3)
    config = tmp_path / "c.toml"
    config.write_text('order = "as_printed"\n[limits]\nfruitless = 2\n')
    about = {"corpus": "scenes", "tasks": "entities", "campaign_settings": config, "unpaid": True}
    call_command("open_campaign", "c", **about, stdout=StringIO())
    out = StringIO()
    call_command("simulate_crowd", "c", "--json", workers=8, stdout=out)
    report = json.loads(out.getvalue().splitlines()[-1])
    assert report["cost"]["images"] == 3 and report["quality"]["chain_f1"] > 0.5
    assert Campaign.objects.get().settings["limits"] == {"fruitless": 2, "boxes": 30}


def test_a_simulation_replaces_its_own_layers_and_no_others(tmp_path):
    result = corpus(3)
    campaign = open_campaign(CampaignPlan(name="mine", corpus="scenes", tasks="entities"))
    simulate_campaign(campaign=campaign, mix={"perfect": 5}, seed=1)
    Layer.objects.filter(name="mine").update(source="import")
    before = list(stream_records(corpus=result, layer=result.layers.get(name="mine")))
    log = tmp_path / "judgments.jsonl"
    log.write_text("an earlier run\n")
    with pytest.raises(CampaignError, match="must not be replaced"):
        simulate_campaign(campaign=campaign, mix={"perfect": 5}, seed=1, judgments=log)
    assert list(stream_records(corpus=result, layer=result.layers.get(name="mine"))) == before
    assert log.read_text() == "an earlier run\n"


def test_judgments_are_written_whole_or_not_at_all(tmp_path):
    corpus(3)
    campaign = open_campaign(CampaignPlan(name="cut", corpus="scenes", tasks="entities"))
    log = tmp_path / "judgments.jsonl"
    log.write_text("an earlier run\n")

    def breaking(records):
        yield next(iter(records))
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        simulate_campaign(campaign=campaign, mix={"perfect": 5}, seed=1, judgments=log, transform=breaking)
    assert log.read_text() == "an earlier run\n" and [p.name for p in tmp_path.glob("*.jsonl*")] == [log.name]
    assert not Layer.objects.filter(name__startswith="cut").exists()


def test_images_that_gold_does_not_cover_are_left_out_and_counted():
    records = [r if i else replace(r, layer=None) for i, r in enumerate(scenes(3))]
    import_records(name="scenes", records=records, format="jsonl", source="made here")
    campaign = open_campaign(CampaignPlan(name="part", corpus="scenes", tasks="entities"))
    report = simulate_campaign(campaign=campaign, mix={"perfect": 5}, seed=1)
    assert report.scores is not None
    assert (report.uncovered, report.cost.images, report.scores.f1) == (1, 2, 1.0)


def test_trust_is_a_setting_of_the_campaign():
    corpus(4)
    shares = []
    for name, values in (("few", {}), ("many", {"trust": {"double_check_share": 0.5}})):
        campaign = open_campaign(CampaignPlan(name=name, corpus="scenes", tasks="entities", settings=values))
        cost = simulate_campaign(campaign=campaign, mix={"average": 9}, seed=1).cost
        shares.append(sum(cost.double_checks.values()) / cost.total)
    assert shares[0] < 0.15 < 0.2 < shares[1]


def asked(campaign: Campaign) -> list[str]:
    """Return the keys of the images that a campaign has opened."""
    opened = OpenImage.objects.filter(campaign=campaign).order_by("pk")
    return list(opened.values_list("image__key", flat=True))


def test_images_too_small_to_point_at_are_not_asked_about_whoever_chooses_them():
    sizes = [(0, 0), (3, 900), (900, 3), (4, 4), (1, 1), (500, 375)]
    records = [an_image(f"i{n}", f"{MAN} runs .", size=size) for n, size in enumerate(sizes)]
    a_corpus("sizes", records)
    large = [f"i{n}" for n, size in enumerate(sizes) if not is_too_small(*size)]
    assert large == ["i0", "i3", "i5"]
    for tasks in ("entities", "regions", "relevance"):
        campaign = open_campaign(CampaignPlan(name=tasks, corpus="sizes", tasks=tasks))
        assert set(asked(campaign)) <= set(large) and asked(campaign)
    campaign = create_campaign(name="pairs", corpus="sizes", tasks="graded")
    open_pairs(campaign=campaign, pairs=[Pair("i1", "i0#0"), Pair("i3", "i0#0")])
    assert asked(campaign) == ["i3"]
