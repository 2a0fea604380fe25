"""A share of the written captions is checked by second people, whose verdicts are flags of the captions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Campaign, CaptionFlag, Control, Item, Judgment, Worker
from annotation.protocol.campaign_settings import as_toml, settings_of
from annotation.protocol.questions import Answer
from annotation.quality.caption_flags import flag_captions
from annotation.queue.leases import NoTask
from annotation.task_types.caption_check.rules import CAPTION_CHECK
from tests.derived.test_written_captions import published, write, writing
from tests.factories import a_corpus, an_image
from tests.queue.test_counted import held, submit, take, workers
from tests.queue.world import TRUSTING

pytestmark = pytest.mark.django_db(transaction=True)
IMAGES = 8
TEXTS = [
    f"A {animal} runs past the {place}."
    for animal, place in zip(
        ("dog", "cat", "horse", "sheep", "goat", "duck", "cow", "hen"),
        ("house", "bridge", "fence", "tree", "pond", "church", "tower", "mill"),
        strict=True,
    )
]


@pytest.fixture
def campaign(capsys: pytest.CaptureFixture[str]) -> Campaign:
    """A campaign of one caption an image, published as the corpus `described`."""
    a_corpus("bare", [an_image(f"i{n}", layered=False) for n in range(IMAGES)])
    created = writing("bare", answers={"caption_writing": 1})
    write(created, workers(1)[0], *TEXTS)
    published(capsys, "writing", "described")
    return created


def check(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str = "checks", **options: Any
) -> dict[str, Any]:
    capsys.readouterr()
    settings = folder / "settings.toml"
    settings.write_text(as_toml(settings_of(TRUSTING)))
    call_command(
        "open_caption_checks", "described", name, campaign_settings=str(settings), json=True, **options
    )
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_a_share_is_asked_with_control_items_of_the_rest(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = check(capsys, tmp_path, share=0.25, seed=3)
    assert (result["captions"], result["written"]) == (2, IMAGES) and result["controls"] > 0
    checks = Campaign.objects.get(name="checks")
    images = {
        content["caption"][0]
        for content in Item.objects.filter(task__campaign=checks).values_list("content", flat=True)
    }
    controls = Control.objects.filter(campaign=checks)
    assert set(controls.values_list("known", flat=True)) == {"good", "not_described"}
    assert len(images) == 2 and not images & set(controls.values_list("image", flat=True))
    assert check(capsys, tmp_path, share=0.25, seed=3) == result
    with pytest.raises(CommandError, match="other captions"):
        check(capsys, tmp_path, share=0.5, seed=3)
    with pytest.raises(CommandError, match="no captions that people wrote"):
        call_command("open_caption_checks", "bare", "none")


def test_a_fault_that_a_second_person_sees_is_a_flag(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    check(capsys, tmp_path, share=1.0)
    checks = Campaign.objects.get(name="checks")
    # Nobody is asked about what they wrote.
    writer = Worker.objects.get(judgments__campaign=campaign, judgments__image__image__key="i0")
    assert isinstance(take(checks, writer.pk), NoTask)
    judge = Worker.objects.create(pseudonym="judge").pk
    for _ in TEXTS:
        lease = held(checks, judge)
        key = lease.key.split("|")[1]
        verdict = {"i1": "bad_sentence", "i2": "not_described"}.get(key, "good")
        submit(judge, lease, Answer(verdict), then=False)
    flag_captions(campaign)
    flagged = CaptionFlag.objects.filter(reason="checked").order_by("judgment__image__image__key")
    assert [(flag.judgment.image.image.key, flag.value) for flag in flagged if flag.judgment.image] == [
        ("i1", 1.0),
        ("i2", 1.0),
    ]
    # A verdict that no longer counts is no flag.
    Judgment.objects.filter(kind=CAPTION_CHECK, answer="not_described").update(withdrawn=True)
    flag_captions(campaign)
    assert [flag.judgment.image.image.key for flag in flagged.all() if flag.judgment.image] == ["i1"]
