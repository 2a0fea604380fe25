"""Questions whose votes are only counted, through the real queue: graded pairs, pages, captions, regions."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import pytest

from annotation import campaigns
from annotation.models import Campaign, Judgment, OpenImage, Task, Worker
from annotation.moderation import worker_status
from annotation.queue import leases, submission
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission import Answer, BadJudgment
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING

pytestmark = pytest.mark.django_db(transaction=True)

REGIONS = {"regions": [{"box": [1, 1, 5, n], "text": f"part {n}", "way": ""} for n in range(2, 7)]}
_tokens = count()


def opened(tasks: str, images: int = 4, settings: dict[str, Any] = TRUSTING, **also: Any) -> Campaign:
    a_corpus("quay", some_images(images))
    return campaigns.open_campaign(
        campaigns.CampaignPlan(name="work", corpus="quay", tasks=tasks, settings=settings, **also)
    )


def workers(number: int) -> list[int]:
    return [Worker.objects.create(pseudonym=f"w{n}").pk for n in range(number)]


def take(campaign: Campaign, worker: int, **also: Any) -> Lease | NoTask:
    return leases.take_lease(worker=worker, campaign=campaign, kind=campaign.kinds[0], **also)


def held(campaign: Campaign, worker: int, **also: Any) -> Lease:
    result = take(campaign, worker, **also)
    assert isinstance(result, Lease), result
    return result


def an_answer(lease: Lease) -> Answer:
    match lease.kind:
        case "graded_relevance":
            return Answer("4")
        case "relevance" | "tag_relevance":
            blocks = lease.content["blocks"]
            values = [[image == block["image"] for image, _ in block["captions"]] for block in blocks]
            return Answer("judged", content={"ticked": values})
        case "caption_writing":
            return Answer("written", content={"text": "A dog runs."})
        case _:
            return Answer("described", content=REGIONS)


def submit(worker: int, lease: Lease, answer: Answer | None = None, **also: Any) -> submission.Receipt:
    return submission.submit(
        worker=worker,
        assignment=lease.id,
        answer=answer or an_answer(lease),
        token=f"t{next(_tokens)}",
        **also,
    )


def work(campaign: Campaign, crowd: list[int]) -> int:
    """Let all answer until nobody gets a task."""
    provided = 0
    while True:
        before = provided
        for worker in crowd:
            result = take(campaign, worker)
            if isinstance(result, Lease):
                submit(worker, result, then=False)
                provided += 1
        if provided == before:
            return provided


@pytest.mark.parametrize(
    ("tasks", "item"), [("graded", 3), ("relevance", 3), ("tags", 3), ("captions", 5), ("regions", 9)]
)
def test_every_question_is_answered_as_often_as_it_wants_and_by_different_people(tasks: str, item: int):
    campaign = opened(tasks)
    work(campaign, workers(10))
    requested = Task.objects.filter(campaign=campaign)
    assert requested.exists() and not requested.exclude(state=Task.SETTLED).exists()
    answers = Counter(Judgment.objects.values_list("image", "key"))
    assert set(answers.values()) == {item} and len(answers) == requested.count()
    assert len(set(Judgment.objects.values_list("worker", "image", "key"))) == Judgment.objects.count()
    assert not OpenImage.objects.filter(complete=False).exists()
    assert not campaign.corpus.layers.filter(name="work").exists()


@pytest.mark.parametrize("tasks", ["graded", "relevance", "tags", "captions", "regions"])
def test_answers_that_are_discarded_are_asked_of_others(tasks: str):
    campaign = opened(tasks)
    crowd = workers(10)
    work(campaign, crowd)
    before = Judgment.objects.count()
    lost = Judgment.objects.filter(worker=crowd[0]).count()
    worker_status.withdraw_worker_answers(campaign=campaign, worker=crowd[0])
    assert OpenImage.objects.filter(complete=False).exists()
    assert work(campaign, [*crowd[1:], *more_workers(9)]) == lost
    assert Judgment.objects.count() == before + lost
    assert not OpenImage.objects.filter(complete=False).exists()


def more_workers(number: int) -> list[int]:
    return [Worker.objects.create(pseudonym=f"later{n}").pk for n in range(number)]


def test_a_question_that_two_report_is_asked_of_nobody_else():
    campaign = opened("captions", 1)
    for worker in workers(2):
        submit(worker, held(campaign, worker), Answer(flag="offensive"), then=False)
    assert OpenImage.objects.get().complete
    assert isinstance(take(campaign, more_workers(1)[0]), NoTask)


def test_what_was_written_and_described_is_kept_as_it_was_given():
    campaign = opened("captions", 1)
    (worker,) = workers(1)
    submit(worker, held(campaign, worker), Answer("written", content={"text": "A dog runs."}))
    assert Judgment.objects.get().content == {"text": "A dog runs."}


def test_regions_are_as_many_as_asked_for_and_lie_in_the_picture():
    campaign = opened("regions", 1)
    (worker,) = workers(1)
    lease = held(campaign, worker)
    with pytest.raises(BadJudgment, match="4 regions: expected 5"):
        submit(worker, lease, Answer("described", content={"regions": REGIONS["regions"][:4]}))
    outside = [*REGIONS["regions"][:4], {"box": [1, 1, 9999, 5], "text": "far", "way": ""}]
    with pytest.raises(BadJudgment, match="extends beyond the picture"):
        submit(worker, lease, Answer("described", content={"regions": outside}))
    assert not Judgment.objects.exists()
    submit(worker, lease)
    assert Judgment.objects.get().content == REGIONS


@pytest.mark.parametrize(
    ("tasks", "word"), [("captions", "written"), ("regions", "described"), ("relevance", "judged")]
)
def test_a_word_without_what_it_stands_for_is_refused(tasks: str, word: str):
    campaign = opened(tasks, 1 if tasks != "relevance" else 4)
    (worker,) = workers(1)
    lease = held(campaign, worker)
    with pytest.raises(BadJudgment, match="has no content"):
        submit(worker, lease, Answer(word))
    assert not Judgment.objects.exists()


def test_a_caption_is_no_answer_to_the_test_nor_the_other_way_round():
    campaign = opened("captions", 1)
    (worker,) = workers(1)
    with pytest.raises(BadJudgment, match="'correct' is not an answer"):
        submit(worker, held(campaign, worker), Answer("correct"))
