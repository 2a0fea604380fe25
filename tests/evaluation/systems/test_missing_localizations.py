"""Images without regions: refused with their number, left out, or counted as the worst, so that removing
images never improves a figure."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.models import Corpus, Job, Layer
from evaluation.comparison.missing import LEAVE_OUT, WORST, Missing, MissingOutput
from evaluation.models import LocalizationSet
from evaluation.selectors import names_of
from evaluation.services.localizations.gold import BoxedMention, boxed_mentions_of
from evaluation.services.localizations.scores import LocalizationScoring, localization_report
from evaluation.services.localizations.sets import (
    DetectedPhrase,
    LocalizedMention,
    write_rows,
)
from evaluation.services.localizations.tables import remarks_on_localization, tables_of_localization
from evaluation.services.stored import get_or_publish
from tests.evaluation.systems.localizing import api_client, by_api
from tests.evaluation.systems.scenes import BOXES, scene_record
from tests.web import world
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db

THINGS = ((0, 1), (1, 2), (0, 2), (2, 3))
IMAGES = range(len(THINGS))


@pytest.fixture
def corpus(db: None, data_dir: Path) -> Corpus:
    """Four images with two things each, which the captions name and which have boxes."""
    records = [scene_record(n, things, (1, 2), "test") for n, things in enumerate(THINGS)]
    import_records(name="four", records=records, format="jsonl", source="memory")
    return Corpus.objects.get(name="four")


def hand_in(name: str, corpus: Corpus, seed: int, *, detects: bool, of: Collection[int]) -> None:
    """Import a file of a system whose predictions do not depend on `of`: up to three regions of each mention
    and, if it `detects`, of each phrase in each image. The file covers the images `of`."""
    rng = np.random.default_rng(seed)
    images = list(names_of("four").image_name)
    there = {images[n] for n in of}
    boxes = np.array([box[:4] for box in BOXES], np.float32)

    def regions() -> Any:
        chosen = boxes[rng.permutation(len(boxes))[: rng.integers(0, 4)]]
        values = np.sort(rng.random(len(chosen)).astype(np.float32))[::-1]
        return np.column_stack([chosen, values]).astype(np.float32)

    boxed_mentions: list[BoxedMention] = boxed_mentions_of("four", "", None)
    mentions = [
        LocalizedMention(mention.image, mention.caption, mention.start, mention.end, mention.text, regions())
        for mention in boxed_mentions
    ]
    phrases: list[DetectedPhrase] = []
    for phrase in dict.fromkeys(mention.phrase for mention in boxed_mentions) if detects else ():
        seen = {image: regions() for image in images}
        rows = [(image, row) for image, own_rows in seen.items() if image in there for row in own_rows]
        rows.sort(key=lambda row: -row[1][4])
        where = np.array([image for image, _ in rows], np.int64)
        phrases.append(DetectedPhrase(phrase, where, np.array([row for _, row in rows]).reshape(-1, 5)))

    def fill(row: LocalizationSet) -> None:
        write_rows(row, [mention for mention in mentions if mention.image in there], phrases)

    get_or_publish(LocalizationSet, name, {"corpus": corpus, "source": f"{name}.jsonl"}, fill)


def scored(
    corpus: Corpus, seed: int, *, detects: bool, of: Collection[int], missing: Missing
) -> dict[str, Any]:
    LocalizationSet.objects.all().delete()
    hand_in("theirs", corpus, seed, detects=detects, of=of)
    return localization_report(LocalizationScoring(localization_set="theirs", resamples=0, missing=missing))


def figures(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Return every figure of the report: in total, of each category and of each frequent phrase."""
    values = {("all", measure["measure"]): measure["value"] for measure in report["measures"]}
    for part, name in (("categories", "category"), ("frequent", "phrase")):
        values |= {
            (row[name], key): row[key] for row in report[part] for key in row if "@" in key or key == "AP"
        }
    return values


EXAMPLES = settings().max_examples // 2
SUBSETS = st.sets(st.sampled_from(IMAGES), min_size=1)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), detects=st.booleans(), stored=SUBSETS, removed=SUBSETS)
def test_a_system_gains_nothing_by_handing_in_less(
    corpus: Corpus, seed: int, detects: bool, stored: set[int], removed: set[int]
) -> None:
    more = figures(scored(corpus, seed, detects=detects, of=stored | removed, missing=WORST))
    report = scored(corpus, seed, detects=detects, of=stored, missing=WORST)
    assert all(more[name] >= value - 1e-12 for name, value in figures(report).items())
    lacking = len(THINGS) - len(stored)
    assert (report["images"], report["without_output"]) == (4, lacking)
    if lacking:
        with pytest.raises(
            MissingOutput, match=f"^{lacking} of 4 images .* have no regions in set 'theirs':"
        ):
            localization_report(LocalizationScoring(localization_set="theirs"))


def test_images_that_are_left_out_are_counted(corpus: Corpus) -> None:
    report = scored(corpus, 0, detects=False, of=(0, 1, 3), missing=LEAVE_OUT)
    assert (report["images"], report["mentions"], report["without_output"]) == (3, 12, 1)
    layer = report["layer"]
    for table in tables_of_localization(report).values():
        assert table.remarks == [
            "Mentions: 12 of 16.",
            "Missing output: 4, left out.",
            f"Pool: layer {layer} of corpus four, all images.",
            "theirs: Not known which images it learned from.",
            "Images without output: 1 of 4.",
        ]
    assert "12 boxed mentions of 3 images" in remarks_on_localization(report)


def test_two_files_are_compared_under_the_same_choice(corpus: Corpus) -> None:
    """The second one lacks an image: refused, counted as the worst, or left out for both."""
    hand_in("ours", corpus, 0, detects=False, of=IMAGES)
    hand_in("theirs", corpus, 0, detects=False, of=(0, 1, 3))
    with pytest.raises(MissingOutput, match="1 of 4 images .'2.png'. have no regions in set 'theirs'"):
        localization_report(LocalizationScoring(localization_set="ours", against="theirs", resamples=0))
    for missing, mentions in ((WORST, 16), (LEAVE_OUT, 12)):
        report = localization_report(
            LocalizationScoring(localization_set="ours", against="theirs", resamples=0, missing=missing)
        )
        basis = report["differences_basis"]
        assert (report["differences_mentions"], basis["counted"], basis["out_of"]) == (mentions, mentions, 16)
        differences = [difference["difference"] for difference in report["differences"]]
        assert all(difference >= 0 for difference in differences) and (sum(differences) == 0) == (
            missing == LEAVE_OUT
        )


def test_page_and_api_take_the_choice_and_figures_say_it(corpus: Corpus) -> None:
    hand_in("theirs", corpus, 0, detects=False, of=(0, 1, 3))
    ada, page = world.signed_in("ada", "researcher"), "/evaluation/localizations/theirs/"
    layer = Layer.objects.get().name
    requested = {"localization_set": "theirs", "layer": layer, "missing": "drop"}
    response: Any = ada.post("/operations/score_localization/", requested)
    assert "Expected one of:" in response.content.decode()
    press(ada, page, "Score", layer=layer)
    job = Job.objects.latest("pk")
    assert "missing" not in job.arguments and jobs.run_queued_job(job.pk) == Job.FAILED
    assert "1 of 4 images ('2.png') have no regions in set 'theirs'" in Job.objects.latest("pk").error
    requested = {"layer": layer, "missing": "leave-out"}
    payload = api_client("ada").post(
        "/api/v1/localization-sets/theirs/score", requested, content_type="application/json"
    )
    assert payload.status_code == 202, payload.content
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    page_text = words(ada.get(page))
    assert "Mentions: 12 of 16. 4 without output are left out." in page_text
    assert by_api("ada", "localization-sets/theirs")["scores"][0]["basis"]["without_output"] == 4
