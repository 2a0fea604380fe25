"""Figures of localizations: their images, the basis of AP, and comparisons of two sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from django.utils import timezone, translation

from annotation.datasets.importing import import_records
from annotation.datasets.layer_rows import write_layer
from annotation.models import Campaign, Layer, OpenImage
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from annotation.selectors.records import stream_records
from evaluation.models import LocalizationSet
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set
from evaluation.services.localizations.stored_scores import stored_reports
from evaluation.web.tags.figures import subset_in_words
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import localized, scored, values
from tests.web import world
from tests.web.staff import words

pytestmark = pytest.mark.django_db


def exported(system: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the lines of a set's mentions, and those of its detections."""
    output_of("download_localization_set", system, "--out", folder / "out.jsonl")
    lines = (folder / "out.jsonl").read_text().splitlines()
    detections = [line for line in lines if '"detections"' in line]
    return [line for line in lines if '"detections"' not in line], detections


def imported(name: str, lines: Sequence[str], folder: Path, corpus: str = "scenes") -> None:
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    output_of("import_localizations", name, folder / f"{name}.jsonl", "--corpus", corpus, "--split", "test")


def test_average_precision_is_compared_as_of_the_same_images(grounded: str, tmp_path: Path) -> None:
    localized(grounded)
    mentions, _ = exported(grounded, tmp_path)
    imported("mentions", mentions, tmp_path)
    ours, theirs = scored(grounded, "--against", "mentions"), scored("mentions")
    assert values(ours)["AP"] != values(theirs)["AP"]  # Over all images, and over the phrases' own images.
    assert {difference["difference"] for difference in ours["differences"]} == {0}
    assert ours["everywhere"] and not ours["differences_everywhere"]
    assert ours["differences"][3]["second"] == values(theirs)["AP"]
    small = ("--resamples", 50, "--rounds", 50, "--json")
    report = json.loads(output_of("compare_localizations", "mentions", grounded, *small))["report"]
    for one in report["sets"]:  # AP of both is over the phrases' own images
        figures = {figure["measure"]: figure["value"] for figure in one["measures"]}
        assert figures == {name: values(theirs)[name] for name in figures}
    assert report["baseline"] == "mentions" and "phrase's mentions alone" in report["basis"]["notes"][0]
    tests = {row["measure"]: (row["difference"], row["p"], row["over"]) for row in report["differences"]}
    assert tests["R@1"] == (0, 1, "images") and tests["AP"] == tests["mAP"] == (0, 1, "phrases")
    text = output_of("score_localization", grounded, "--against", "mentions", "--store")
    assert "Differences in AP are of the images of each phrase's mentions alone: the two sets" in text
    page = words(world.signed_in("ada", "researcher").get(f"/evaluation/localizations/{grounded}/"))
    assert "Differences in AP and mAP are of the images of each phrase’s mentions alone" in page


def test_sets_are_compared_in_the_images_that_both_looked_at(grounded: str, tmp_path: Path) -> None:
    localized(grounded)
    for name, split in (("all", ""), ("val", "val")):
        localized(grounded, "--name", name, "--split", split)
    alone = ("--missing", "leave-out")
    with pytest.raises(CommandError, match=r"15 of 15 images \(.*\) have no regions in set 'val'"):
        scored(grounded, "--against", "val")
    with pytest.raises(CommandError, match="looked at no image with one of the 60 boxed mentions in common"):
        scored(grounded, "--against", "val", *alone)
    result = scored("all", "--against", grounded, *alone)
    assert result["mentions"] > result["differences_mentions"] == 60 and result["differences_images"] == 15
    assert {difference["difference"] for difference in result["differences"]} == {0} and not result[
        "differences_everywhere"
    ]
    # In either order, and if images are specified that one set does not cover.
    another = scored(grounded, "--split", "", "--against", "all", *alone)
    assert another["mentions"] == another["differences_mentions"] == 60
    assert {difference["difference"] for difference in another["differences"]} == {0}
    text = output_of("score_localization", "all", "--against", grounded, "--store", *alone)
    assert "Differences are of 60 boxed mentions of 15 images: the two sets did not both look at the" in text
    page = words(world.signed_in("ada", "researcher").get("/evaluation/localizations/all/"))
    assert "60 boxed mentions in 15 images: the two sets did not both look at the others" in page


def test_of_all_images_those_without_regions_are_missing(grounded: str, tmp_path: Path) -> None:
    parts = feature_set("scenes", "parts")
    of_test = np.array([int(name[:-4]) >= 75 for name in parts.ids()])
    file = tmp_path / "some.npz"
    of_regions = {"vectors": parts.vectors(), "ids": parts.ids(), "boxes": parts.boxes()}
    np.savez(file, **{key: np.array(of_region)[of_test] for key, of_region in of_regions.items()})
    import_features(FeatureImport(corpus="scenes", name="some", path=file, kind="region"))
    localized(grounded, "--regions", "some", "--split", "")
    with pytest.raises(CommandError, match="75 of 90 images .* have no regions in set 'grounded'"):
        scored(grounded)
    result = scored(grounded, "--missing", "leave-out")
    assert (result["mentions"], result["predicted"], result["without_output"]) == (60, 60, 75)
    assert values(result)["proposals"] == 1


def test_a_file_with_some_detections_has_precision_among_the_phrases_own_images(
    grounded: str, tmp_path: Path
) -> None:
    localized(grounded)
    mentions, detections = exported(grounded, tmp_path)
    files = {
        "none": [],
        "all": detections,
        "one": detections[:1],
        "others": ['{"phrase": "x", "detections": []}'],
    }
    for name, lines in files.items():
        imported(name, [*mentions, *lines], tmp_path)
    none, every, item, others = (scored(name) for name in files)
    assert every["everywhere"] and every["undetected"] == 0
    for result, undetected in ((none, 0), (item, 12), (others, 13)):
        assert (result["everywhere"], result["undetected"]) == (False, undetected)
        assert values(result)["AP"] == values(none)["AP"] > values(every)["AP"]
    assert "13 phrases with regions have no line of detections" in output_of("score_localization", "others")


def test_a_phrase_that_an_image_has_twice_is_found_by_the_regions_of_both(
    tmp_path: Path, data_dir: Path
) -> None:
    captions = (CaptionRecord("A man"), CaptionRecord("The man"))
    chains = tuple(
        Chain(str(n + 1), (Mention(n, 0, 2, tuple(captions[n].text.split()), ("people",)),)) for n in (0, 1)
    )
    first, second = (1, 1, 20, 20), (51, 1, 70, 20)
    layer = LayerRecord(chains, (LayerObject(("1",), Box(*first)), LayerObject(("2",), Box(*second))))
    record = ImageRecord("0", "0.png", captions, "test", 100, 60, layer=layer)
    import_records(name="two", records=[record], format="jsonl", source="memory")

    def precision(name: str, *regions: list[Any]) -> float:
        lines = [
            json.dumps(
                {
                    "image": "0.png",
                    "caption": n,
                    "start": 0,
                    "end": 2,
                    "phrase": captions[n].text,
                    "regions": region,
                }
            )
            for n, region in enumerate(regions)
        ]
        imported(name, lines, tmp_path, "two")
        return values(scored(name))["AP"]

    assert precision("both", [[*first, 0.9]], [[*second, 0.8]]) == 1
    assert precision("one", [], [[*second, 0.9]]) == precision("other", [[*first, 0.9]], []) == 0.5
    assert precision("alike", [[*first, 0.9]], [[*first, 0.9]]) == 0.5


def test_figures_are_older_than_answers_that_the_layer_lacks(grounded: str) -> None:
    localized(grounded)
    scored(grounded, "--store")
    row = LocalizationSet.objects.get()
    (report,) = stored_reports(row)
    assert not report["outdated"]
    layer = Layer.objects.get()
    Layer.objects.update(source="campaign")
    campaign = Campaign.objects.create(
        name=layer.name, corpus=layer.corpus, tasks="entities", state=Campaign.CLOSED
    )
    now = timezone.now()
    OpenImage.objects.create(
        campaign=campaign,
        image=layer.corpus.images.filter(split="test")[0],
        position=1,
        version=3,
        layer_behind=True,
        opened_at=now,
        changed_at=now,
    )
    (report,) = stored_reports(row)
    assert report["outdated"]


def test_a_page_opens_on_the_layer_that_has_figures(grounded: str) -> None:
    layer = Layer.objects.get()
    records = [
        (record.id, LayerRecord(record.layer.chains, ()))
        for record in stream_records(corpus=layer.corpus, layer=layer)
        if record.layer is not None
    ]
    write_layer(corpus=layer.corpus, name="chunks", source="chunker", records=records)
    localized(grounded, "--layer", "chunks")
    scored(grounded, "--layer", layer.name, "--store")
    ada = world.signed_in("ada", "researcher")
    assert f"Against people’s boxes, layer {layer.name}" in words(
        ada.get(f"/evaluation/localizations/{grounded}/")
    )
    page_text = words(ada.get(f"/evaluation/localizations/{grounded}/?layer=chunks"))
    assert "There are no figures against this layer yet." in page_text


def test_two_layers_need_a_name_in_one_line(grounded: str, tmp_path: Path) -> None:
    localized(grounded)
    mentions, _ = exported(grounded, tmp_path)
    imported("theirs", mentions, tmp_path)
    Layer.objects.create(corpus=Layer.objects.get().corpus, name="aaa", source="import", published=True)
    with pytest.raises(CommandError, match="aaa"):
        output_of("score_localization", "theirs")
    with pytest.raises(CommandError, match="--seed: Expected 0 or more."):
        output_of("score_localization", grounded, "--seed", -1)


def test_which_images_is_said_in_the_readers_language() -> None:
    with translation.override("de"):
        assert subset_in_words("fold 1/5, as tagged") == "Faltung 1/5, wie verschlagwortet"
        assert subset_in_words("images in some.txt, as localized") == "Bilder in some.txt, wie lokalisiert"
        assert subset_in_words("images of run a") == "Bilder des Laufs a"
        assert subset_in_words("split test") == "Teil test"
        as_localized = subset_in_words("fold 1/5 (seed 3), as localized")
        assert as_localized == "Faltung 1/5 (Startwert 3), wie lokalisiert"
        assert subset_in_words("") == ""
