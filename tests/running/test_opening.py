"""From a corpus to questions that people can answer."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from PIL import Image as Picture

from annotation import campaigns, instructions
from annotation.campaigns import CampaignError, opening
from annotation.models import (
    AuditEntry,
    Campaign,
    Control,
    Corpus,
    Instructions,
    Item,
    OpenImage,
    Task,
    Worker,
)
from annotation.moderation import control_items
from annotation.protocol import kinds
from annotation.protocol import questions as q
from annotation.protocol.contents import mention_json
from annotation.protocol.image import Fold
from annotation.protocol.mentions import find_mentions
from annotation.queue import image_rows, leases, submission
from annotation.queue.submission import Answer
from annotation.selectors.records import stream_records
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING

pytestmark = pytest.mark.django_db


def opened(name: str = "c", corpus: str = "photos", progress=lambda done, total: None, **how) -> Campaign:
    plan = campaigns.CampaignPlan(name=name, corpus=corpus, tasks="entities", **how)
    return campaigns.open_campaign(plan, progress=progress)


def keys(campaign: Campaign) -> list[str]:
    rows = OpenImage.objects.filter(campaign=campaign).order_by("position")
    return list(rows.values_list("image__key", flat=True))


def test_an_open_campaign_asks_what_the_fold_asks_of_every_image():
    corpus = a_corpus("photos", some_images(3))
    campaign = opened(settings={"boxes": "always"})
    assert campaign.state == Campaign.OPEN and campaign.opened_at is not None
    records = stream_records(corpus=corpus, layer=corpus.layers.get(name="import"))
    for row, record in zip(OpenImage.objects.order_by("position"), records, strict=True):
        assert record.layer is not None
        assert row.mentions == [mention_json(mention) for mention in record.layer.mentions]
        values = {question.key for question in Fold(record.layer.mentions)(()).questions}
        assert set(row.tasks.values_list("key", flat=True)) == values
        assert Item.objects.filter(task__image=row).count() == len(values)


def test_no_box_is_asked_of_an_image_without_a_picture(tmp_path):
    visible = tmp_path / "1000.png"
    Picture.new("RGB", (500, 375), "navy").save(visible)
    first, second = some_images(2)
    a_corpus("photos", [replace(first, picture=visible), second])
    campaign = opened(settings=TRUSTING)
    pictured, bare = OpenImage.objects.order_by("position")
    assert set(pictured.tasks.values_list("kind", flat=True)) == {
        q.COREF_LINK,
        q.BOX_DRAWING,
        q.BOX_REQUIREMENT,
    }
    assert set(bare.tasks.values_list("kind", flat=True)) == {q.COREF_LINK}
    worker = Worker.objects.create(pseudonym="w").pk
    for _ in range(2):
        lease = leases.take_lease(worker=worker, campaign=campaign, kind=q.COREF_LINK)
        assert isinstance(lease, leases.Lease)
        submission.submit(
            worker=worker, assignment=lease.id, answer=Answer("no"), token=f"t{lease.id}", then=False
        )
    bare.refresh_from_db()
    assert bare.complete and {chain["s"] for chain in bare.state["chains"]} == {"UNSEEN"}
    control_items.from_gold(campaign=campaign, layer=campaign.corpus.layers.get(name="import"))
    about = Control.objects.filter(
        kind__in=[kind.key for kind in kinds.all_kinds() if kind.about_boxes]
    ).values_list("image__key", flat=True)
    assert set(about) == {"1000"}


def test_captions_without_mentions_are_chunked():
    corpus = a_corpus("photos", some_images(2, layered=False))
    opened()
    for row, record in zip(
        OpenImage.objects.order_by("position"), stream_records(corpus=corpus), strict=True
    ):
        mentions = find_mentions([caption.words for caption in record.captions])
        assert mentions and row.mentions == [mention_json(mention) for mention in mentions]


def test_images_that_gold_does_not_cover_are_left_out_and_counted():
    records = some_images(4)
    a_corpus("photos", [replace(r, layer=None) if n in (0, 2) else r for n, r in enumerate(records)])
    campaign = campaigns.create_campaign(name="c", corpus="photos", tasks="entities")
    assert campaigns.open_campaign_images(campaign=campaign) == campaigns.OpenedImages(2, 0, 2)
    assert keys(campaign) == ["1001", "1003"]


def test_what_died_half_way_is_finished_by_asking_for_the_same_again(monkeypatch):
    monkeypatch.setattr(opening, "IMAGES_PER_TRANSACTION", 3)
    a_corpus("photos", some_images(8))
    lines = []

    def dying(done: int, total: int) -> None:
        lines.append((done, total))
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(progress=dying)
    campaign = Campaign.objects.get()
    assert lines == [(3, 8), (6, 8)]
    assert campaign.state == Campaign.DRAFT and len(keys(campaign)) == 6
    nothing = leases.take_lease(
        worker=Worker.objects.create(pseudonym="early").pk, campaign=campaign, kind="box_drawing"
    )
    assert isinstance(nothing, leases.NoTask) and nothing.code == "draft"
    before = set(Task.objects.values_list("pk", flat=True))
    lines.clear()
    assert opened(progress=lambda done, total: lines.append((done, total))) == campaign
    assert lines == [(2, 2)] and len(keys(campaign)) == len(set(keys(campaign))) == 8
    assert before < set(Task.objects.values_list("pk", flat=True))


def test_a_chunk_is_written_whole_or_not_at_all(monkeypatch):
    monkeypatch.setattr(opening, "IMAGES_PER_TRANSACTION", 3)
    a_corpus("photos", some_images(6))
    write = image_rows.open_images

    def breaking(*, campaign, images, settings):
        count = write(campaign=campaign, images=images, settings=settings)
        if images[0][0].position:
            raise RuntimeError("the power went")
        return count

    monkeypatch.setattr(image_rows, "open_images", breaking)
    with pytest.raises(RuntimeError):
        opened()
    assert OpenImage.objects.count() == 3
    assert not Task.objects.exclude(image__position__lt=3).exists()


def test_opening_again_changes_nothing():
    a_corpus("photos", some_images(3))
    campaign = opened()
    tasks = list(Task.objects.order_by("pk").values())
    audit = AuditEntry.objects.count()
    assert opened() == campaign
    assert campaigns.open_campaign_images(campaign=campaign) == campaigns.OpenedImages(0, 3, 0)
    assert list(Task.objects.order_by("pk").values()) == tasks and AuditEntry.objects.count() == audit
    assert Campaign.objects.get().revision == campaign.revision


def test_some_images_are_opened_first_and_more_later():
    a_corpus("photos", some_images(6))
    campaign = opened(images=2)
    assert keys(campaign) == ["1000", "1001"] and campaign.state == Campaign.OPEN
    opened(images=2)
    assert len(keys(campaign)) == 2
    opened(images=3, split="test")
    assert keys(campaign) == ["1000", "1001", "1002"]
    opened()
    assert len(keys(campaign)) == 6


def test_only_the_images_of_a_split_are_opened():
    a_corpus("photos", some_images(6))
    campaign = opened(split="train")
    assert keys(campaign) == ["1001", "1003", "1005"]


def test_a_campaign_without_images_is_not_opened():
    records = some_images(4)
    a_corpus("photos", [replace(r, layer=None) if n % 2 else r for n, r in enumerate(records)])
    with pytest.raises(CampaignError, match="no image to ask about"):
        opened(split="train")
    assert Campaign.objects.get().state == Campaign.DRAFT


def test_a_draft_is_written_down_and_opened_later():
    a_corpus("photos", some_images(2))
    campaign = opened(draft=True)
    assert campaign.state == Campaign.DRAFT and not OpenImage.objects.exists()
    assert opened() == campaign and Campaign.objects.get().state == Campaign.OPEN


def test_a_closed_campaign_is_not_opened_again():
    a_corpus("photos", some_images(2))
    campaigns.close_campaign(campaign=opened(images=1))
    with pytest.raises(CampaignError, match="is closed; open another"):
        opened()
    assert OpenImage.objects.count() == 1


def test_a_paused_campaign_stays_paused_when_images_are_added():
    a_corpus("photos", some_images(3))
    campaign = opened(images=1)
    campaigns.pause_campaign(campaign=campaign, reason="lunch")
    opened()
    campaign.refresh_from_db()
    assert (campaign.state, campaign.reason) == (Campaign.PAUSED, "lunch") and len(keys(campaign)) == 3


def test_what_workers_are_told_is_frozen_on_opening():
    a_corpus("photos", some_images(1))
    campaign = opened(draft=True)
    instructions.publish_text(campaign=campaign, kind="box_quality", text="Is it tight?")
    opened()
    rows = {row.kind: row for row in Instructions.objects.filter(campaign=campaign)}
    assert set(rows) == {instructions.CONSENT, *campaign.kinds}
    assert {row.version for row in rows.values()} == {1}
    assert rows["box_quality"].text == "Is it tight?"
    assert rows["coref_link"].text == instructions.built_in_text("coref_link").text


@pytest.mark.django_db(transaction=True)
def test_two_who_open_at_once_open_every_image_once(monkeypatch):
    monkeypatch.setattr(opening, "IMAGES_PER_TRANSACTION", 2)
    a_corpus("photos", some_images(8))
    campaign = campaigns.create_campaign(name="c", corpus="photos", tasks="entities")
    together = threading.Barrier(2)
    counts, errors = [], []

    def work():
        try:
            together.wait(60)
            counts.append(campaigns.open_campaign_images(campaign=campaign).opened)
        except Exception as error:  # told to the test, which is in another thread
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors and sum(counts) == 8
    assert len(keys(campaign)) == len(set(keys(campaign))) == 8


OPENING: dict[str, Any] = {"corpus": "photos", "tasks": "entities", "unpaid": True}


def test_the_command_says_where_practice_is_all_the_entry_and_work_is_unchecked():
    a_corpus("photos", some_images(2))
    out = StringIO()
    call_command("open_campaign", "c", **OPENING, stdout=out)
    text = out.getvalue()
    assert "coref_link begins with practice and no test: add control items for a test" in text
    assert "coref_link is unchecked: it has no control items" in text
    assert "a second person is asked 20 % of its questions" in text
    assert "-> add control items\n" in text
    assert "at least 2 workers are needed: nobody answers a question twice; with 3 none is missing" in text
    assert "2 images opened now, 0 before" in text


def test_the_command_does_not_warn_of_tests_that_are_switched_off(tmp_path):
    a_corpus("photos", some_images(2))
    config = tmp_path / "c.toml"
    config.write_text("[trust]\nqualification = false\ncontrol_share = 0.0\n")
    out = StringIO()
    call_command("open_campaign", "c", "--json", **OPENING, campaign_settings=config, stdout=out)
    report = json.loads(out.getvalue().splitlines()[-1])
    assert (report["state"], report["images_opened"]) == ("open", 2)
    assert {alarm["code"] for alarm in report["alarms"]} == {"no_pictures"}


def test_the_command_says_that_a_draft_is_one():
    a_corpus("photos", some_images(2))
    out = StringIO()
    call_command("open_campaign", "c", "--draft", **OPENING, stdout=out)
    assert "it is a draft" in out.getvalue() and not OpenImage.objects.exists()
    assert Corpus.objects.get().campaigns.get().state == Campaign.DRAFT
