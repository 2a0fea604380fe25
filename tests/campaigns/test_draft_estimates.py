"""Estimates compared with results: intervals by brute force, images without gold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.campaigns.drafts import estimate
from annotation.campaigns.drafts.answer_times import AnswerTime
from annotation.campaigns.drafts.estimate import EstimateTerms, estimate_draft, estimate_from
from annotation.campaigns.drafts.keeping import begin_draft
from annotation.campaigns.drafts.opening import images_after_pilot, pilot_of
from annotation.campaigns.drafts.reading import PILOT_IMAGES, read_draft
from annotation.campaigns.opening import create_campaign, open_campaign_images
from annotation.campaigns.phrases import drop_marks, mark_phrases
from annotation.models import Account, Caption, Image, LayerImage, OpenImage
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.workers.accounts import granting
from tests.factories import a_corpus, an_image, some_images

TIME = AnswerTime(6.0, 6.0, 6.0, "known", True)


@pytest.mark.parametrize("apart", [True, False])
def test_intervals_hold_the_sum_over_the_images_as_often_as_they_say(apart: bool) -> None:
    terms = EstimateTerms((q.BOX_DRAWING,), settings_of({}), {q.BOX_DRAWING: TIME})
    extra, draw, held, times = terms.extra(q.BOX_DRAWING), np.random.default_rng(5), 0, 1500
    for _ in range(times):
        # Twenty images of a pilot or of a rehearsal, and all others.
        answers = np.round(draw.normal(30, 8, 60)).clip(0)
        sample = [{q.BOX_DRAWING: float(number)} for number in answers[:20]]
        request = answers[20:] if apart else answers
        result = estimate_from(terms, len(request), sample, sampled=len(sample), apart=apart).answers
        held += result.low <= extra * request.sum() <= result.high
    assert abs(held / times - 0.95) < 0.02


def half_covered(number: int) -> Any:
    """Import a corpus whose layer covers every other image."""
    corpus = a_corpus("streets", some_images(number))
    LayerImage.objects.filter(image__position__in=range(1, number, 2)).delete()
    return corpus


@pytest.mark.django_db
@pytest.mark.parametrize(("images", "chosen"), [("", 4), ("3", 3)])
def test_images_that_gold_does_not_cover_are_not_asked_about(monkeypatch, images: str, chosen: int) -> None:
    """Of the first three images gold covers one; three that it covers are opened."""
    owner = Account.objects.create(username="ada")
    granting.grant(account=owner, role="researcher")
    corpus = half_covered(8)
    draft = begin_draft(owner=owner, corpus=corpus)
    draft.fields = {**draft.fields, "images": images}
    draft.save()
    monkeypatch.setattr(estimate, "SECONDS_A_LOOK", 60.0)
    result = estimate_draft(read_draft(draft), pilot=2)
    assert result is not None and result.whole and result.sampled == chosen
    draft.refresh_from_db()
    sample = list(draft.sample["images"].values())
    assert all(sample) and len(sample) == chosen
    plan = read_draft(draft)
    terms = EstimateTerms(plan.kinds, plan.settings, plan.answer_times)
    alone = estimate_from(terms, chosen, sample, sampled=chosen)
    assert result.answers.value == pytest.approx(alone.answers.value)
    campaign = create_campaign(name="half", corpus="streets", tasks="entities")
    open_campaign_images(campaign=campaign, images=int(images) if images else None)
    opened = set(campaign.images.values_list("image", flat=True))
    assert opened == set(plan.chosen_images().values_list("pk", flat=True))


@pytest.mark.django_db
def test_a_pilot_leaves_out_no_image_that_gold_does_not_cover() -> None:
    number = 2 * PILOT_IMAGES + 6
    half_covered(number)
    campaign = create_campaign(name="half", corpus="streets", tasks="entities")
    first = pilot_of(campaign=campaign, whole={"split": None, "images": None, "tags": []})
    open_campaign_images(campaign=campaign, images=first["images"])
    assert OpenImage.objects.count() == PILOT_IMAGES
    assert images_after_pilot(campaign) == 3
    open_campaign_images(campaign=campaign)
    assert (OpenImage.objects.count(), images_after_pilot(campaign)) == (PILOT_IMAGES + 3, 0)


@pytest.mark.django_db
@pytest.mark.parametrize("images", ["", "700"])
def test_captions_are_counted_at_once_however_many_images_there_are(images: str) -> None:
    owner = Account.objects.create(username="ada")
    granting.grant(account=owner, role="researcher")
    corpus = a_corpus("streets", some_images(2))
    captions = Caption.objects.filter(image__corpus=corpus).count()
    Image.objects.bulk_create(
        Image(corpus=corpus, key=f"more-{n}", filename=f"{n}.jpg", position=n, width=9, height=9)
        for n in range(2, 1200)
    )
    draft = begin_draft(owner=owner, corpus=corpus)
    draft.fields = {**draft.fields, "tasks": "graded", "images": images}
    plan = read_draft(draft)
    with CaptureQueriesContext(connection) as queries:
        result = estimate_draft(plan, pilot=20)
    assert len(queries) == 2
    kind = "graded_relevance"
    expected = plan.settings.answers.answers_needed(kind)
    extra = EstimateTerms(plan.kinds, plan.settings, plan.answer_times).extra(kind)
    assert result is not None and result.by_kind[kind] == pytest.approx(2 * captions * expected * extra)


@pytest.mark.django_db
def test_phrases_that_are_marked_meanwhile_change_the_estimate() -> None:
    owner = Account.objects.create(username="ada")
    granting.grant(account=owner, role="researcher")
    corpus = a_corpus("photos", [an_image("0", "A man in a hat .", "A man walks .", layered=False)])
    plan = read_draft(begin_draft(owner=owner, corpus=corpus))
    before = estimate_draft(plan, pilot=1)
    assert before is not None and before.answers.value > 0
    image = Image.objects.select_related("corpus").get()
    mark_phrases(image=image, spans=[])
    none = estimate_draft(plan, pilot=1)
    drop_marks(image=image)
    again = estimate_draft(plan, pilot=1)
    assert none is not None and none.answers.value == 0
    assert again is not None and again.answers.value == before.answers.value
