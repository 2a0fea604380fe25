"""A reader of a campaign's layer gets what its answers make now; nobody has to bring it up first."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.campaigns.model_annotators import model_annotator_add
from annotation.datasets import layers
from annotation.datasets.exporting import ExportError, export_dataset
from annotation.models import Image, Layer, LayerImage, OpenImage
from annotation.moderation import rulings
from annotation.moderation.worker_status import withdraw_worker_answers
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.rulings import Boxes, Closure
from annotation.queue import image_state
from annotation.queue.image_rows import open_images
from annotation.selectors import browse
from annotation.selectors.layer_cost import answers_cost
from annotation.selectors.records import layer_of
from tests import worlds
from tests.factories import some_images
from tests.queue.models_at_work import WITH_MODEL, a_model, work
from tests.queue.world import World
from tests.web import world as people

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """Three images that four workers have finished."""

    def build() -> World:
        created = World(some_images(3))
        created.work()
        return created

    return worlds.again("three images that four workers have finished", build)


def out(world: World, folder: Path, **how: Any) -> dict[str, Any]:
    """The campaign's layer exported to `folder`: key -> the record of each image."""
    corpus, name = world.corpus.name, world.campaign.name
    written = export_dataset(corpus=corpus, layer=name, format="jsonl", out=folder, **how)
    (file,) = [file for file in written.files if file.suffix == ".jsonl"]
    return {record["id"]: record for record in map(json.loads, file.read_text().splitlines())}


def boxes(record: dict[str, Any]) -> list[Any]:
    return [thing["box"] for thing in record["layer"]["objects"] if thing.get("box")]


def stats(world: World) -> dict[str, Any]:
    output = StringIO()
    call_command("dataset_stats", world.corpus.name, "--layer", world.campaign.name, "--json", stdout=output)
    return dict(json.loads(output.getvalue()))


def test_an_export_right_after_a_withdrawal_is_without_what_was_withdrawn(world: World, tmp_path: Path):
    before = out(world, tmp_path / "before")
    assert all(boxes(record) for record in before.values())
    withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    undone = OpenImage.objects.filter(complete=False).count()
    assert undone
    with pytest.raises(ExportError, match=f"{undone} images? (is|are) not done"):
        out(world, tmp_path / "refused")
    after = out(world, tmp_path / "after", include_unfinished=True)
    for row in world.images():
        state = image_state.state_of(row)
        drawn = sum(thing.box is not None for thing in state.layer.objects)
        assert len(boxes(after[row.image.key])) == drawn
    assert sum(map(len, map(boxes, after.values()))) < sum(map(len, map(boxes, before.values())))


def test_images_that_nobody_has_begun_do_not_pass_as_finished(tmp_path: Path):
    world = World(some_images(5))
    world.submit(0, world.held(0, q.BOX_DRAWING), then=False)
    others = OpenImage.objects.exclude(version__gt=0)
    OpenImage.objects.filter(pk=others[0].pk).update(complete=True, layer_behind=True)
    with pytest.raises(ExportError, match="4 images are not done, and nobody has begun 3 of these"):
        out(world, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    stored = out(world, tmp_path / "finished", only_finished=True)
    assert list(stored) == [others.get(complete=True).image.key]
    notes = (tmp_path / "finished" / "NOTES.md").read_text()
    assert "Left out: 4 of 5 images, which are not finished." in notes
    assert len(out(world, tmp_path / "all", include_unfinished=True)) == 5
    assert "Unfinished: 4 of 5 images" in (tmp_path / "all" / "NOTES.md").read_text()
    with pytest.raises(ExportError, match="choose one of the two"):
        out(world, tmp_path / "both", include_unfinished=True, only_finished=True)


def test_export_statistics_and_page_count_the_same_at_once(world: World, tmp_path: Path):
    reader = people.signed_in("ada", "researcher")
    address = f"{reverse('corpus', args=[world.corpus.name])}?layer={world.campaign.name}"
    layer = None
    for act in (
        lambda: None,
        lambda: withdraw_worker_answers(campaign=world.campaign, worker=world.workers[1]),
    ):
        act()
        page = reader.get(address)
        layer = layer or Layer.objects.get(name=world.campaign.name)
        figures = page.context["figures"]
        reported = stats(world)
        written = out(world, tmp_path / str(figures.boxes), include_unfinished=True)
        folds = [image_state.state_of(row).layer for row in world.images()]
        counted = sum(thing.box is not None for fold in folds for thing in fold.objects)
        assert figures.boxes == counted == sum(map(len, map(boxes, written.values())))
        assert figures.images == reported["images"] == len(folds)
        assert figures.chains == reported["total"]["chains"] == sum(len(fold.chains) for fold in folds)
        assert figures.mentions == sum(len(chain.mentions) for fold in folds for chain in fold.chains)


def test_an_image_page_shows_what_was_answered_a_moment_ago():
    world = World(some_images(2))
    reader = people.signed_in("ada", "researcher")
    lease = world.held(0, q.BOX_DRAWING)
    world.submit(0, lease, then=False)
    world.submit(1, world.held(1, q.BOX_QUALITY), then=False)
    image = Image.objects.get(pk=lease.image)
    page = reader.get(f"{reverse('image', args=[world.corpus.name, image.key])}?layer={world.campaign.name}")
    assert len(browse.layer_rows(image, page.context["layer"]).boxes) == 1


def test_a_page_does_not_wait_for_many_images_and_says_how_many_are_behind(monkeypatch):
    world = World(some_images(3))
    world.submit(0, world.held(0), then=False)
    layers.layer_to_read(world.corpus, world.campaign.name)
    world.submit(1, world.held(1), then=False)
    monkeypatch.setattr(layers.update_layers, "__kwdefaults__", {"most": 0})
    reader = people.signed_in("ada", "researcher")
    page = reader.get(reverse("corpus", args=[world.corpus.name])).content.decode()
    assert f"Layer {world.campaign.name} is out of date for 1 image." in page
    assert "Update it now" in page
    with pytest.raises(layers.LayerBehind, match="is out of date for 1 image: update it"):
        layers.layer_to_read(world.corpus, world.campaign.name, most=0)


def test_cost_and_number_of_images_are_counted_when_they_are_read():
    world = World(some_images(4, layered=True))
    late = world.images()[2:]
    OpenImage.objects.filter(pk__in=[row.pk for row in late]).delete()
    world.work()
    first = stats(world)
    assert first["campaign"] == {"images": 2, "begun": 2, "complete": 2}
    images = [(row.image, [m for c in _layer(world, row).chains for m in c.mentions]) for row in late]
    settings = world.campaign.settings
    open_images(campaign=world.campaign, images=images, settings=_protocol(settings))
    opened = stats(world)
    assert opened["campaign"] == {"images": 4, "begun": 2, "complete": 2}
    assert opened["cost"] == first["cost"]  # nobody has answered about the new ones
    world.work()
    done = stats(world)
    assert done["campaign"] == {"images": 4, "begun": 4, "complete": 4}
    assert done["cost"]["total"]["judgments"] == 2 * first["cost"]["total"]["judgments"]
    assert done["cost"]["total"]["per_image"] == first["cost"]["total"]["per_image"]
    withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    assert stats(world)["cost"] == done["cost"]  # what was withdrawn was paid
    assert answers_cost(world.campaign)["images"] == 4


def test_a_share_says_of_which_version_of_its_image_it_is(world: World):
    layer = layers.layer_to_read(world.corpus, world.campaign.name)
    assert layer is not None and layer.version > 0
    for row in world.images():
        assert LayerImage.objects.get(layer=layer, image=row.image_id).version == row.version
    version = layer.version
    withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    assert layers.count_images_behind(world.campaign) > 0
    again = layers.layer_to_read(world.corpus, world.campaign.name)
    assert again is not None and again.version > version and layers.count_images_behind(world.campaign) == 0


def test_a_layer_that_only_bears_the_name_of_a_campaign_is_left_alone(world: World):
    Layer.objects.filter(name="import").update(name=world.campaign.name)
    assert not layers.campaigns_growing_layers(world.corpus).exists()
    layer = layers.layer_to_read(world.corpus, world.campaign.name)
    assert layer is not None and layer.source == "import"


def test_an_export_is_refused_whose_images_are_taken_back_while_it_is_written(world: World, tmp_path: Path):
    def withdrawing(records: Any) -> Any:
        for record in records:
            withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
            yield record

    with pytest.raises(ExportError, match="became unfinished while the export was written"):
        export_dataset(
            corpus=world.corpus.name,
            layer=world.campaign.name,
            format="jsonl",
            out=tmp_path / "out",
            progress=withdrawing,
        )
    assert not (tmp_path / "out").exists()


def test_an_export_counts_the_chains_that_a_reviewer_excluded(world: World, tmp_path: Path):
    row = world.images()[0]
    chain = tuple(row.state["chains"][0]["m"])
    rulings.make_ruling(image=row.pk, ruling=Closure(chain, "excluded"))
    written = export_dataset(
        corpus=world.corpus.name, layer=world.campaign.name, format="jsonl", out=tmp_path / "out"
    )
    assert written.excluded["excluded_chains"] == 1


def test_an_export_says_that_a_model_drew_a_box_which_a_reviewer_kept(tmp_path: Path):
    world = World(some_images(1), settings=WITH_MODEL)
    a_model(world)
    work(world)
    (row,) = world.images()
    state = image_state.state_of(row)
    drawn = next(chain for chain in state.chains if any(box.by_model for box in chain.boxes))
    (before,) = out(world, tmp_path / "before").values()
    mentions, stored = tuple(m.id for m in drawn.mentions), tuple(box.box for box in drawn.boxes)
    rulings.make_ruling(image=row.pk, ruling=Boxes(mentions, stored))
    model_annotator_add(campaign=world.campaign, name="idle")
    (after,) = out(world, tmp_path / "after").values()
    assert any(thing.get("by_model") for thing in before["layer"]["objects"])
    # The datasheet names the model annotators that drew, and no other one.
    payload = json.loads((tmp_path / "after" / "datasheet.json").read_text())
    assert [item["name"] for item in payload["campaign"]["model_annotators"]] == ["drawer"]
    assert "answered too. Source of its boxes: " in (tmp_path / "after" / "README.md").read_text()
    assert after["layer"] == before["layer"]


def test_what_is_finished_while_an_export_is_written_stays_out_of_it(world: World, tmp_path: Path):
    """As in a live campaign: its figures are those of the images that it holds."""
    withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    world.work(enough=OpenImage.objects.filter(complete=True).exists)
    undone = set(OpenImage.objects.filter(complete=False).values_list("image__key", flat=True))
    keys = [row.image.key for row in world.images()]
    assert 0 < len(undone) < len(keys)

    def finishing(records: Any) -> Any:
        world.work()
        return iter(records)

    folder = tmp_path / "out"
    stored = out(world, folder, only_finished=True, progress=finishing)
    assert not OpenImage.objects.filter(complete=False).exists()
    assert set(stored) == set(keys) - undone
    notes = (folder / "NOTES.md").read_text()
    assert f"Left out: {len(undone)} of {len(keys)} images" in notes
    figures = json.loads((folder / "datasheet.json").read_text())
    assert figures["corpus"]["exported_images"] == figures["layer"]["images"] == len(stored)


def test_the_refusal_of_an_export_names_the_only_layer_where_none_was_named(tmp_path: Path):
    world = World(some_images(2))
    world.submit(0, world.held(0, q.BOX_DRAWING), then=False)
    world.corpus.layers.get(name="import").delete()
    with pytest.raises(ExportError, match=f"No image of layer “{world.campaign.name}” is finished"):
        export_dataset(corpus=world.corpus.name, format="jsonl", out=tmp_path / "out", only_finished=True)


def _layer(world: World, row: OpenImage) -> Any:
    return layer_of(row.image, world.corpus.layers.get(name="import"))


def _protocol(settings: Any) -> Any:
    return settings_of(settings).protocol
