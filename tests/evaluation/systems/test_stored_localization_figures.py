"""Figures of localizations whose set, regions or other set is deleted or replaced; incomplete sets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from evaluation.models import LocalizationSet, System
from evaluation.selectors import captions_as_counted, names_of
from evaluation.services.common import InputError, work_lock
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import feature_set, remove_set
from evaluation.services.localizations.scores import LocalizationScoring, localization_report
from evaluation.services.localizations.stored_scores import store_localization_scores, stored_reports
from evaluation.services.systems.registry import remove_system
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import layer_name
from tests.evaluation.systems.scenes import BOXES
from tests.web import world
from tests.web.staff import words

pytestmark = pytest.mark.django_db


def imported(name: str, file: Path, box: Iterable[int], *, start: int = 0) -> None:
    """Import a set of one box for the first phrase of ten images."""
    captions, images = captions_as_counted("scenes"), names_of("scenes").image
    mentions = (
        {
            "image": f"{n}.png",
            "caption": 0,
            "start": start,
            "end": 2,
            "phrase": " ".join(captions[images[f"{n}.png"]][0].split()[start:2]),
            "regions": [[*box, 1.0]],
        }
        for n in range(75, 85)
    )
    file.write_text("".join(json.dumps(mention) + "\n" for mention in mentions))
    output_of("import_localizations", name, file, "--corpus", "scenes")


def test_figures_of_a_set_that_was_replaced_meanwhile_are_not_kept(scenes: str, tmp_path: Path) -> None:
    file = tmp_path / "theirs.jsonl"
    imported("theirs", file, BOXES[1])
    report = localization_report(
        LocalizationScoring(localization_set="theirs", layer=layer_name(), missing="leave-out")
    )
    output_of("remove_localization_set", "theirs")
    with pytest.raises(InputError, match="'theirs' was removed or replaced while it was scored"):
        store_localization_scores("theirs", report)
    imported("theirs", file, BOXES[2])
    with pytest.raises(InputError, match="score it again"):
        store_localization_scores("theirs", report)
    assert not LocalizationSet.objects.get().scores


def test_differences_from_a_set_that_is_gone_are_left_out(scenes: str, tmp_path: Path) -> None:
    imported("theirs", tmp_path / "theirs.jsonl", BOXES[1])
    imported("other", tmp_path / "other.jsonl", BOXES[2])
    ask = ("--layer", layer_name(), "--against", "other", "--missing", "leave-out", "--store")
    output_of("score_localization", "theirs", *ask)
    (before,) = stored_reports(LocalizationSet.objects.get(name="theirs"))
    assert before["differences"] and before["against"] == "other"
    output_of("remove_localization_set", "other")
    ada = world.signed_in("ada", "researcher")
    for again in (False, True):
        if again:
            imported("other", tmp_path / "other.jsonl", BOXES[3])
        (after,) = stored_reports(LocalizationSet.objects.get(name="theirs"))
        assert "differences" not in after and after["against_gone"] == "other" and not after["outdated"]
        page = words(ada.get("/evaluation/localizations/theirs/"))
        assert "The differences from other are left out" in page and "Difference from other" not in page


def test_figures_without_a_named_layer_are_of_the_one_that_was_read(scenes: str, tmp_path: Path) -> None:
    imported("theirs", tmp_path / "theirs.jsonl", BOXES[1], start=1)
    output_of("score_localization", "theirs", "--missing", "leave-out", "--store")
    (report,) = stored_reports(LocalizationSet.objects.get())
    assert (report["layer"], report["outdated"]) == (layer_name(), False)
    page = words(world.signed_in("ada", "researcher").get("/evaluation/localizations/theirs/"))
    missing = report["mentions"] - report["predicted"]
    assert missing and f"{missing} boxed mentions have no prediction, and count as missed." in page


def test_the_same_file_under_another_name_changes_nothing(scenes: str, tmp_path: Path) -> None:
    file, copied = tmp_path / "theirs.jsonl", tmp_path / "copy.jsonl"
    imported("theirs", file, BOXES[1])
    copied.write_bytes(file.read_bytes())
    assert json.loads(output_of("import_localizations", "theirs", copied, "--corpus", "scenes", "--json"))[
        "unchanged"
    ]
    with pytest.raises(CommandError, match=r"made otherwise \(split, images or mentions\); choose another"):
        output_of("import_localizations", "theirs", file, "--corpus", "scenes", "--split", "test")


def test_the_number_of_a_removed_feature_set_is_not_given_again(scenes: str, tmp_path: Path) -> None:
    result = feature_set("scenes", "parts")
    remove_set(result)
    with np.load(tmp_path / "parts.npz") as held:
        arrays = dict(held)
    np.savez(tmp_path / "other.npz", **{**arrays, "boxes": arrays["boxes"][::-1]})
    feature_import = FeatureImport(corpus="scenes", name="parts", path=tmp_path / "other.npz", kind="region")
    import_features(feature_import)
    assert feature_set("scenes", "parts").version == result.version + 1


def test_a_set_that_was_left_half_written_does_not_keep_its_system(scenes: str, tmp_path: Path) -> None:
    imported("theirs", tmp_path / "theirs.jsonl", BOXES[1])
    whole = LocalizationSet.objects.get()
    system = System.objects.create(name="killed", corpus=whole.corpus, origin="runs")
    half = LocalizationSet.objects.create(name="half", corpus=whole.corpus, made_by=system)
    with (
        work_lock("localizations.half", "localization set", "half"),
        pytest.raises(Exception, match="half"),
    ):
        remove_system(name="killed")
    assert LocalizationSet.objects.filter(pk=half.pk).exists()
    remove_system(name="killed")
    assert list(LocalizationSet.objects.all()) == [whole] and not System.objects.exists()
