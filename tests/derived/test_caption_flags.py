"""Flags of written captions, as the periodic work stores them, and their alarm."""

from __future__ import annotations

import json
import random

import pytest
from django.core.management import call_command
from django.db.models import F

from annotation.campaigns import monitoring
from annotation.jobs.schedule import do
from annotation.models import Assignment, Campaign, CaptionFlag, Judgment, OpenImage, TrustState
from annotation.moderation import reopening, worker_status
from annotation.protocol.caption_flags import FlagReason
from annotation.protocol.questions import Answer
from annotation.quality import caption_flags
from annotation.selectors.caption_flags import (
    FLAG_LABELS,
    flag_text,
    flagged_captions,
    flags_by_reason,
)
from annotation.workers import pseudonyms
from tests.derived.test_written_captions import write, writing
from tests.factories import a_corpus, an_image
from tests.queue.test_counted import workers

pytestmark = pytest.mark.django_db(transaction=True)

DOG = "A brown dog with a red collar runs through the tall grass."
VAGUE = "Something can be seen here."
TEXTS = (
    DOG,
    "A brown dog with a blue collar runs through the tall grass.",
    "Two women in white coats look at a microscope in a laboratory.",
    "Two wommen in whyte coats look at a microscope in a laboratory.",
    "Children play football on a beach while the sun sets behind them.",
    "Nothing here.",
)


@pytest.fixture
def campaign() -> Campaign:
    a_corpus("bare", [an_image(f"i{n}", layered=False) for n in range(4)])
    return writing("bare", answers={"fewest_words": 1})


def stored() -> set[tuple[object, ...]]:
    rows = CaptionFlag.objects.values_list("judgment", "reason", "value", "threshold", "similar_to")
    return set(rows)


def counted_anew(campaign: Campaign) -> set[tuple[object, ...]]:
    """Return the flags as they are if all are counted at once."""
    CaptionFlag.objects.all().delete()
    OpenImage.objects.update(flags_version=0)
    caption_flags.flag_captions(campaign)
    return stored()


@pytest.mark.parametrize("seed", range(2))
def test_flags_do_not_depend_on_when_they_are_counted(campaign: Campaign, seed: int) -> None:
    rng = random.Random(seed)
    crowd = workers(4)
    for _step in range(4):
        for worker in crowd:
            write(campaign, worker, rng.choice(TEXTS))
        if rng.random() < 0.7:
            caption_flags.flag_captions(campaign)
    gone = rng.choice(crowd)
    worker_status.withdraw_worker_answers(campaign=campaign, worker=gone, reason="useless")
    caption_flags.flag_captions(campaign)
    now = stored()
    assert not CaptionFlag.objects.filter(judgment__worker=gone).exists()
    assert not CaptionFlag.objects.filter(similar_to__worker=gone).exists()
    assert now == counted_anew(campaign)
    assert {row[1] for row in now} & {FlagReason.REPEATED, FlagReason.COPIED}


def test_flags_follow_a_changed_caption_and_end_with_its_text() -> None:
    a_corpus("bare", [an_image("i", layered=False)])
    campaign = writing("bare", answers={"fewest_words": 1})
    ann, bob = workers(2)
    write(campaign, ann, DOG)
    write(campaign, bob, "Helo thier wide world.")
    Assignment.objects.update(seconds=60)
    assert do("flag_captions")
    (judgment,) = Judgment.objects.filter(worker=bob)
    flag = CaptionFlag.objects.get()
    assert (flag.judgment_id, flag.reason) == (judgment.pk, FlagReason.SPELLING)
    assert flag_text(flag) == "2 unknown words, flagged from 2"
    assert flagged_captions(campaign) == {bob: 1} and flagged_captions(campaign, [ann]) == {}
    (assignment,) = Assignment.objects.filter(worker=bob)
    changed = Answer("written", content={"text": DOG})
    assert reopening.change_answer(worker=bob, assignment=assignment.pk, answer=changed)
    assert do("flag_captions")
    flag = CaptionFlag.objects.get(judgment=judgment)
    assert flag.similar_to is not None
    assert (flag.reason, flag.similar_to.worker_id) == (FlagReason.COPIED, ann)
    assert set(FLAG_LABELS) > {flag.reason}
    pseudonyms.erase_worker(worker=judgment.worker, texts=True)
    assert not CaptionFlag.objects.exists()
    assert do("flag_captions") and not CaptionFlag.objects.exists()


def test_a_worker_with_many_flags_is_an_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    a_corpus("bare", [an_image(f"i{n}", layered=False) for n in range(200)])
    campaign = writing("bare", answers={"fewest_words": 1})
    lazy, honest = workers(2)
    write(campaign, lazy, VAGUE)
    write(campaign, honest, *TEXTS[2:5:2])
    (first,) = Judgment.objects.filter(worker=lazy)
    rest = OpenImage.objects.exclude(pk=first.image_id or 0)
    common = {
        **{name: getattr(first, name) for name in ("campaign", "worker", "kind", "key", "role", "answer")},
        "source": "elsewhere",
        "content": {"text": VAGUE},
        "created_at": first.created_at,
    }
    Judgment.objects.bulk_create(Judgment(image=image, name=f"n{image.pk}", **common) for image in rest)
    rest.update(version=F("version") + 1)
    assert "flagged_captions" not in {alarm.code for alarm in monitoring.alarms(campaign)}
    assert do("flag_captions")
    assert CaptionFlag.objects.filter(reason=FlagReason.REPEATED, judgment__worker=lazy).count() == 199
    (alarm,) = [alarm for alarm in monitoring.alarms(campaign) if alarm.code == "flagged_captions"]
    assert alarm.text == "20 % or more of the captions of 1 worker are flagged"
    assert [reason for reason, _n in flags_by_reason(campaign, lazy)] == [
        *("repeated", "fits any image", "written too fast")
    ]
    call_command("campaign_status", "writing", json=True)
    assert "flagged_captions" in json.dumps(json.loads(capsys.readouterr().out))
    TrustState.objects.filter(worker=lazy).update(blocked=True)
    assert "flagged_captions" not in {alarm.code for alarm in monitoring.alarms(campaign)}


def test_a_large_campaign_waits_until_enough_has_changed(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ann,) = workers(1)
    write(campaign, ann, *TEXTS[:3])
    assert caption_flags.flag_captions(campaign) == 3
    monkeypatch.setattr(caption_flags, "MANY_IMAGES", 2)
    monkeypatch.setattr(caption_flags, "WORTH_A_RUN", 0.5)
    write(campaign, ann, TEXTS[3])
    assert caption_flags.flag_captions(campaign) == 0
    OpenImage.objects.update(changed_at=F("changed_at") - 2 * caption_flags.FLAGGED_WITHIN)
    assert caption_flags.flag_captions(campaign) == 1
    OpenImage.objects.filter(flags_version__gt=0).update(version=F("version") + 1)
    assert caption_flags.flag_captions(campaign) == 4
