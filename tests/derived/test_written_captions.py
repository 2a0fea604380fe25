"""Captions that people write in a campaign become a corpus, by command and job, round after round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns
from annotation.models import Campaign, Caption, Corpus, Judgment
from annotation.protocol.questions import Answer
from tests.factories import a_corpus, an_image
from tests.queue.test_counted import held, submit, workers
from tests.queue.world import TRUSTING

pytestmark = pytest.mark.django_db(transaction=True)


def writing(corpus: str, name: str = "writing", **settings: Any) -> Campaign:
    return campaigns.open_campaign(
        campaigns.CampaignPlan(name=name, corpus=corpus, tasks="captions", settings={**TRUSTING, **settings})
    )


def write(campaign: Campaign, worker: int, *texts: str) -> None:
    for text in texts:
        lease = held(campaign, worker)
        submit(worker, lease, Answer("written", content={"text": text}), then=False)


def published(capsys: pytest.CaptureFixture[str], campaign: str, name: str, **options: Any) -> Any:
    capsys.readouterr()
    call_command("publish_captions", campaign, name, json=True, **options)
    return json.loads(capsys.readouterr().out)


def captions_of(corpus: str) -> dict[str, list[tuple[str, str]]]:
    rows = Caption.objects.filter(image__corpus__name=corpus).order_by("image__position", "number")
    result: dict[str, list[tuple[str, str]]] = {}
    for image, id, text in rows.values_list("image__key", "external_id", "text"):
        result.setdefault(image, []).append((id, text))
    return result


def test_captions_of_two_rounds_become_corpora(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a_corpus("bare", [an_image(f"i{n}", layered=False, split="train") for n in range(3)])
    Corpus.objects.filter(name="bare").update(licence="CC0-1.0")
    first = writing("bare")
    ann, bob, eve = workers(3)
    write(first, ann, "A dog runs home.", "A cat sits still.", "A boat lies there.")
    write(first, bob, "Some dog is running.", "The cat does nothing.")
    write(first, eve, "I was here first.")
    Judgment.objects.filter(worker=eve).update(withdrawn=True)
    result = published(capsys, "writing", "one")
    assert (result["images"], result["captions"], result["writers"], result["skipped"]) == (3, 5, 2, 0)
    corpus = Corpus.objects.get(name="one")
    assert (corpus.licence, corpus.image_count, corpus.caption_count) == ("CC0-1.0", 3, 5)
    texts = captions_of("one")
    assert sorted(texts) == ["i0", "i1", "i2"] and "I was here first." not in str(texts)
    assert {id for captions in texts.values() for id, _ in captions} == {
        "w1-1",
        "w1-2",
        "w1-3",
        "w2-1",
        "w2-2",
    }
    assert set(corpus.images.values_list("split", flat=True)) == {"train"}

    out = tmp_path / "out"
    call_command("export_dataset", "one", format="csv", out=out)
    card = (out / "README.md").read_text()
    assert "The campaign “writing” (captions) asked the questions below" in card
    assert "3 people worked under pseudonyms" in card

    Corpus.objects.filter(name="one").update(licence="CC BY 4.0")
    assert published(capsys, "writing", "one")["unchanged"]
    assert Corpus.objects.get(name="one").licence == "CC BY 4.0"
    fuller = published(capsys, "writing", "fuller", least=2)
    assert (fuller["images"], fuller["captions"], fuller["skipped"]) == (2, 4, 1)

    second = writing("one", "again")
    write(second, bob, "Yet another sentence.")
    result = published(capsys, "again", "two")
    assert (result["images"], result["captions"], result["skipped"]) == (1, 1, 2)
    ((image, captions),) = captions_of("two").items()
    assert captions == [*texts[image], ("w3-1", "Yet another sentence.")]
    assert published(capsys, "again", "three", least=0)["images"] == 3


def test_nothing_is_published_of_a_campaign_without_captions() -> None:
    a_corpus("bare", [an_image("i", layered=False)])
    writing("bare")
    with pytest.raises(CommandError, match="no image of campaign 'writing' has as many as 1 "):
        call_command("publish_captions", "writing", "one")
    assert not Corpus.objects.filter(name="one").exists()
    campaigns.create_campaign(name="other", corpus="bare", tasks="graded")
    with pytest.raises(CommandError, match="asks graded; expected captions"):
        call_command("publish_captions", "other", "one")
