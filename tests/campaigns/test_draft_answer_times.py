"""Seconds per answer: measured if people have answered, else published values."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.campaigns.drafts.answer_times import answer_times_of, student95
from annotation.models import Account, Assignment, Campaign, Control, TrustState, Worker
from annotation.protocol import questions as q
from annotation.workers.accounts import granting
from tests.factories import a_corpus, some_images

pytestmark = pytest.mark.django_db


def answered(campaign: Campaign, pseudonym: str, number: int, seconds: float, role: str = "vote") -> None:
    """Add `number` answers of one worker, with these seconds each."""
    worker, _ = Worker.objects.get_or_create(pseudonym=pseudonym)
    at = timezone.now()
    control, _ = Control.objects.get_or_create(
        campaign=campaign,
        kind=q.COREF_LINK,
        key="known",
        image=campaign.corpus.images.all()[0],
        defaults={"content": {}, "known": "yes", "stratum": "yes", "source": "page"},
    )
    TrustState.objects.get_or_create(
        campaign=campaign, worker=worker, kind=q.COREF_LINK, defaults={"changed_at": at}
    )
    Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign,
            worker=worker,
            kind=q.COREF_LINK,
            control=control,
            attempt=Assignment.objects.filter(worker=worker).count() + item,
            role=role,
            state=Assignment.SUBMITTED,
            leased_at=at,
            expires_at=at,
            ended_at=at,
            seconds=seconds,
            token=f"{pseudonym}-{role}-{seconds}-{item}",
        )
        for item in range(number)
    )


def researcher(name: str, **scope: object) -> Account:
    account = Account.objects.create(username=name)
    granting.grant(account=account, role="researcher", **scope)  # type: ignore[arg-type]
    return account


def campaign(name: str) -> Campaign:
    return Campaign.objects.create(
        name=name, corpus=a_corpus(name, some_images(1)), tasks="entities", state="open"
    )


def test_without_answers_the_seconds_are_published_ones_and_named():
    result = answer_times_of(researcher("ada"), (q.COREF_LINK,))[q.COREF_LINK]
    assert (result.seconds, result.least, result.most, result.measured) == (5.75, 2.5, 9.0, False)
    assert "Papadopoulos" in result.source


def test_answers_of_five_workers_are_a_mean_with_its_interval():
    created = campaign("quay")
    for name, seconds in zip("abcde", (6.0, 4.0, 5.0, 5.0, 5.0), strict=True):
        answered(created, f"w-{name}", 20, seconds)
    result = answer_times_of(researcher("ada"), (q.COREF_LINK,))[q.COREF_LINK]
    assert result.measured and result.seconds == pytest.approx(5.0)
    # Residuals of 20 seconds on both sides, of two of five workers: over 100 answers, and by Student's
    # distribution with four degrees of freedom.
    error = (2 * 20**2 * 5 / 4) ** 0.5 / 100
    assert result.most - result.seconds == pytest.approx(2.776 * error, rel=1e-3)
    assert "100" in result.source


def test_four_workers_are_too_few_in_however_many_campaigns():
    for created, seconds in ((campaign("quay"), 5.0), (campaign("pier"), 6.0)):
        for name in "abcd":
            answered(created, f"w-{name}", 20, seconds)
    ada = researcher("ada")
    assert not answer_times_of(ada, (q.COREF_LINK,))[q.COREF_LINK].measured
    answered(created, "w-e", 20, 5.0)
    assert answer_times_of(ada, (q.COREF_LINK,))[q.COREF_LINK].measured


@pytest.mark.parametrize(("freedom", "point"), [(2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045)])
def test_few_degrees_of_freedom_widen_an_interval(freedom, point):
    assert student95(freedom) == pytest.approx(point, rel=0.01)


def test_a_simulated_crowd_the_test_and_one_worker_alone_measure_nothing():
    created = campaign("quay")
    for name in "abcde":
        answered(created, f"w-simulated-{name}", 20, 0.0)
        answered(created, f"w-tested-{name}", 20, 5.0, role="qualification")
    answered(created, "w-alone", 90, 5.0)
    assert not answer_times_of(researcher("ada"), (q.COREF_LINK,))[q.COREF_LINK].measured


def test_campaigns_of_others_say_nothing():
    created, another = campaign("quay"), campaign("other")
    for name in "abcdef":
        answered(created, f"w-{name}", 20, 5.0)
    assert not answer_times_of(researcher("bob", corpus=another.corpus), (q.COREF_LINK,))[
        q.COREF_LINK
    ].measured
