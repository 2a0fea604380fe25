"""Tags of two systems: pooled, judged by a simulated crowd, scored and reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.datasets.importing import import_records
from annotation.models import Caption, Control, Corpus, Image, Task, TrustState
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.visits import ORDERLY
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from annotation.task_types.tag_relevance.rules import MOST_TRUE, TAG_RELEVANCE
from evaluation.models import Batch, QrelsRow, Run
from evaluation.services.reports.building import report_folder
from evaluation.services.tagging import judging
from evaluation.services.tagging.judging import NAMED_BY
from tests.evaluation.database.conftest import output_of

THINGS = ("dog", "boat", "guitar", "horse", "kite", "umbrella", "piano", "bicycle", "sheep", "violin")
#: Numbers of judged pictures, and of others.
JUDGED, OTHERS = 6, 20


def shown_tags(number: int) -> tuple[str, ...]:
    """Return the three things in picture `number`: things that occur together are adjacent in THINGS."""
    return tuple(THINGS[(number + k) % len(THINGS)] for k in range(3))


@pytest.fixture
def pictures(db: None) -> str:
    """Pictures of three things each; every caption names two of them."""
    records = []
    for number in range(JUDGED + OTHERS):
        item, two, three = shown_tags(number)
        texts = (f"A {item} beside a {two}.", f"A {two} and a {three}.", f"A {item} near a {three}.")
        records.append(
            ImageRecord(f"p{number}", f"p{number}.jpg", tuple(map(CaptionRecord, texts)), width=64, height=48)
        )
    import_records(name="things", records=records, format="test", source="memory")
    return "things"


def write(path: Path, tags: dict[int, list[str]]) -> Path:
    lines = [
        {"image": f"p{n}.jpg", "tags": [[tag, round(1 - index / 20, 3)] for index, tag in enumerate(own_tag)]}
        for n, own_tag in tags.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def lists(tmp_path: Path) -> dict[str, Path]:
    """A system whose correct tags come first, and one whose correct tags come last."""
    good = {n: [*shown_tags(n), THINGS[(n + 3) % 10]] for n in range(JUDGED)}
    poor = {n: [*(THINGS[(n + 4 + k) % 10] for k in range(4)), *shown_tags(n)[:2]] for n in range(JUDGED)}
    return {"good": write(tmp_path / "good.jsonl", good), "poor": write(tmp_path / "poor.jsonl", poor)}


def imported(lists: dict[str, Path]) -> list[str]:
    """Import the lists as tag sets under the names of their systems."""
    for system, path in lists.items():
        output_of("import_tags", system, path, "--corpus", "things")
    return list(lists)


def mixed(lists: dict[str, Path], *options: Any) -> dict[str, Any]:
    output = output_of("judge_tags", "tagged", *imported(lists), *options, "--json")
    payload: dict[str, Any] = json.loads(output)
    return payload


def test_tags_of_systems_become_candidates_and_a_run_of_each(
    pictures: str, lists: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "UNFITTING", 3)
    created = mixed(lists, "--controls", 6)
    assert created == {
        "corpus": "tagged",
        "images": JUDGED,
        "tags": JUDGED * 8,
        "controls": 6,
        "runs": ["tagged-good", "tagged-poor"],
    }
    assert mixed(lists, "--controls", 6) == created, "the same again changes nothing"
    for number in range(JUDGED):
        captions = Caption.objects.filter(image__corpus__name="tagged", image__key=f"p{number}")
        texts = [image.text for image in captions.order_by("number")]
        assert sorted(texts) == sorted(
            {*shown_tags(number), *(THINGS[(number + k) % 10] for k in range(3, 8))}
        )
    for image in Image.objects.filter(corpus__name="tagged", split="controls"):
        right = {c.text for c in image.captions.all() if not c.unrelated}
        invalid = {c.text for c in image.captions.all() if c.unrelated}
        assert right == set(shown_tags(int(image.key[1:]))) and NAMED_BY <= len(right) <= MOST_TRUE
        meets = {
            thing for n in range(JUDGED + OTHERS) if set(shown_tags(n)) & right for thing in shown_tags(n)
        }
        assert invalid == set(THINGS) - meets, "those that are never said together with its own"
    run = Run.objects.get(name="tagged-good")
    assert (run.depth, run.direction, run.query_count, run.entry_count) == (
        10,
        "annotation",
        JUDGED,
        4 * JUDGED,
    )


def test_a_batch_of_two_systems_goes_from_simulated_judges_to_a_report(
    pictures: str, lists: dict[str, Path], tmp_path: Path
) -> None:
    created = mixed(lists, "--controls", 16)
    output_of(
        *("open_batch", "first", "--corpus", "tagged", "--tasks", "tags", "--judges", 2),
        *("--known-from", "controls", "--runs", *created["runs"]),
    )
    batch = Batch.objects.get(name="first")
    page = settings_of(batch.campaign.settings).page
    assert (page.images, page.captions, page.controls) == (1, 10, 0)
    assert batch.threshold is None and batch.numbers["originals"] == 0
    assert batch.numbers["selected"] == created["tags"] == batch.numbers["pooled"]
    assert Task.objects.filter(campaign=batch.campaign).count() == JUDGED, "one page for each picture"
    assert Control.objects.filter(campaign=batch.campaign, kind=TAG_RELEVANCE).exists()
    images_of: dict[str, set[str]] = {}
    for number in range(JUDGED + OTHERS):
        for thing in shown_tags(number):
            images_of.setdefault(thing, set()).add(f"p{number}")
    done = run_campaign_crowd(
        campaign=batch.campaign,
        plan=CrowdPlan(mix={"perfect": 2}, seed=2, through="queue", url="", conduct=ORDERLY, patience=60.0),
        known=CrowdKnowledge(images_of),
    )
    assert not done.open_tasks
    trust_states = TrustState.objects.filter(campaign=batch.campaign)
    assert all(
        trust_state.known and trust_state.right == trust_state.known for trust_state in trust_states
    ), "control pages were among them"
    output_of("collect_judgments", "first")
    output_of("freeze_qrels", "scale", "--corpus", "tagged", "--judgments", "first")
    corpus = Corpus.objects.get(name="tagged")
    rows = QrelsRow.objects.filter(snapshot__corpus=corpus).select_related("image", "caption")
    bools = {(row.image.key, row.caption.text): bool(row.relevance) for row in rows if row.image}
    assert len(bools) == created["tags"]
    assert all(fits == (tag in shown_tags(int(key[1:]))) for (key, tag), fits in bools.items())
    figures = {}
    for run in created["runs"]:
        report = json.loads(
            output_of("score_run", run, "--qrels", "scale", "--measures", "S@1,P@5", "--json")
        )
        figures[run] = {trust_state["measure"]: trust_state["value"] for trust_state in report["measures"]}
    # good: three of its four tags fit, P@5 counts five positions; poor: its fifth tag is the first that fits.
    assert figures["tagged-good"] == {"S@1": 1.0, "P@5": pytest.approx(3 / 5)}
    assert figures["tagged-poor"] == {"S@1": 0.0, "P@5": pytest.approx(1 / 5)}
    output_of(
        *("build_report", "spring", "--qrels", "scale", "--batch", "first", "--runs", *created["runs"]),
        *("--measures", "S@1", "P@5", "--rounds", 20, "--resamples", 20),
    )
    out = report_folder("spring")
    payload = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert "tagged-good" in json.dumps(payload) and (out / "report.html").is_file()


def test_tags_that_cannot_be_mixed_are_refused(pictures: str, lists: dict[str, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"image": "p0.jpg", "tags": []}\n', encoding="utf-8")
    imported({**lists, "empty": empty})
    for options, reported in (
        (("stranger",), "There is no tag set"),
        (("empty",), "the sets have tags of 0 images in common; expected 1"),
        (("good", "--images", 99), "of 6 images in common; expected 99"),
        (("good", "--controls", 99), "20 images of the 20 that are left have a tag"),
        (("good", "--depth", 0), "--depth: Expected 1 or more."),
        (("good", "good"), "tag set 'good' is named twice"),
    ):
        with pytest.raises(CommandError, match=reported):
            output_of("judge_tags", "x", *options)
    assert not Corpus.objects.filter(name="x").exists()
