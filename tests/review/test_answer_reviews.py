"""Reviewers accept, correct and reject answers, independently of withdrawals of all of a worker's."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.campaigns.monitoring import alarms
from annotation.campaigns.status import CampaignStatusRequest, campaign_status
from annotation.common.operations import Invalid, OperationContext, read_request
from annotation.common.roles import ANNOTATOR, RESEARCHER, REVIEWER
from annotation.models import (
    Account,
    AnswerReview,
    AuditEntry,
    Campaign,
    CaptionFlag,
    Judgment,
    OpenImage,
    RoleGrant,
    Worker,
    WorkerMessage,
)
from annotation.moderation import worker_status
from annotation.moderation.answer_reviews import ReviewAnswersRequest, ReviewedAnswers, review_answers
from annotation.moderation.reopening import change_answer
from annotation.protocol import questions as q
from annotation.protocol.questions import Answer
from annotation.queue import leases
from annotation.queue.image_state import refold_image, state_of
from annotation.selectors.answer_list import AnswersRequest, answer_page
from annotation.selectors.workers.earnings import earnings_of
from annotation.workers import messages, pseudonyms
from annotation.workers.payments import due_accounts, ledger, pay
from annotation.workers.platform_visits import save_study
from phrasebox.errors import PhraseboxError
from tests.derived.test_written_captions import captions_of, published, write, writing
from tests.factories import a_corpus, an_image
from tests.queue.test_counted import more_workers, take, work, workers
from tests.queue.world import World
from tests.web.staff import words
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db

#: A caption is paid with ten cents.
PAID: dict[str, Any] = {"pay": {"basis": "item", "per_item": {"caption_writing": 0.1}}}


def reviewed(campaign: Campaign, decision: str, *answers: int, **fields: Any) -> ReviewedAnswers:
    data = {"campaign": campaign.name, "decision": decision, "answers": list(answers), **fields}
    return review_answers(read_request(ReviewAnswersRequest, data), OperationContext())


def reject(
    campaign: Campaign, *answers: int, reason: str = "Not in the picture.", unpaid: bool = False
) -> ReviewedAnswers:
    return reviewed(campaign, "rejected", *answers, reason=reason, unpaid=unpaid)


def captions(*writers: int, images: int = 1, name: str = "writing", **settings: Any) -> Campaign:
    a_corpus(f"bare-{name}", [an_image(f"i{n}", layered=False) for n in range(images)])
    campaign = writing(f"bare-{name}", name, **settings)
    for number, writer in enumerate(writers):
        write(campaign, writer, *(f"A dog number {number} runs in picture {n}." for n in range(images)))
    return campaign


def complete(campaign: Campaign) -> bool:
    """Whether the campaign's only image is complete."""
    return OpenImage.objects.get(campaign=campaign).complete


def test_the_places_of_rejected_captions_are_for_further_writers_and_the_forecast_counts_them() -> None:
    """Nobody describes a picture twice, so that the five writers of an image cannot fill a place again."""
    five = workers(5)
    campaign = captions(*five, images=3)
    of_image = Judgment.objects.filter(image__campaign=campaign).order_by("pk")
    for image, writers in (("i0", five[:2]), ("i1", five[2:3])):
        rejected = of_image.filter(image__image__key=image, worker__in=writers)
        reject(campaign, *rejected.values_list("pk", flat=True))

    def to_come() -> int | None:
        request = CampaignStatusRequest(campaign=campaign.name, fresh=True)
        return campaign_status(request, OperationContext()).progress.answers_to_come

    assert to_come() == 3
    assert all(isinstance(take(campaign, writer), leases.NoTask) for writer in five)
    assert "no_worker" in {alarm.code for alarm in alarms(campaign)}
    sixth, seventh = more_workers(2)
    assert [work(campaign, [writer]) for writer in (sixth, seventh, *five)] == [2, 1, 0, 0, 0, 0, 0]
    assert to_come() == 0 and "no_worker" not in {alarm.code for alarm in alarms(campaign)}
    valid = of_image.filter(withdrawn=False).values_list("image", "worker")
    assert len(set(valid)) == len(valid) == 15


def test_a_rejected_caption_opens_again_for_somebody_else_and_stays_stored() -> None:
    ann, *others = workers(6)
    campaign = captions(ann, *others[:4])
    assert complete(campaign)
    first = Judgment.objects.filter(worker=ann).get()
    done = reject(campaign, first.pk)
    assert (done.answers, done.images, done.messages) == (1, 1, 1)
    first.refresh_from_db()
    assert not complete(campaign) and first.withdrawn and first.content
    # Not for the one who wrote it.
    assert isinstance(leases.take_lease(worker=ann, campaign=campaign, kind=first.kind), leases.NoTask)
    write(campaign, others[4], "Somebody else writes this.")
    assert complete(campaign)
    assert reviewed(campaign, "accepted", first.pk).images == 1
    assert not Judgment.objects.get(pk=first.pk).withdrawn
    lines = AuditEntry.objects.filter(act="review_answers").order_by("pk")
    assert [line.about["decision"] for line in lines] == ["rejected", "accepted"]


def test_the_worker_reads_the_reason_and_replies_once() -> None:
    account = Account.objects.create_user("ann")
    ann = pseudonyms.worker_of(account)
    campaign = captions(ann.pk, images=2)
    reject(campaign, *Judgment.objects.values_list("pk", flat=True))
    (message,) = messages.unread_of_account(account.pk)
    assert message.text == "Not in the picture."
    rejected = messages.rejected_answers(message)
    assert rejected is not None and sorted(rejected.captions) == [
        f"A dog number 0 runs in picture {n}." for n in (0, 1)
    ]
    client = Client()
    client.force_login(account)
    for reply in ("It is behind the tree.", "And another thing."):
        client.post(reverse("operation", args=["read_message"]), {"message": message.pk, "reply": reply})
    message.refresh_from_db()
    assert message.reply == "It is behind the tree." and not messages.unread_of_account(account.pk)


def due(campaign: Campaign, worker: int) -> tuple[int, int]:
    """Return what is due to a worker in cents, by the payments and by their own page, which agree."""
    (account,) = due_accounts(campaign=campaign, worker=worker)
    (all_of_them,) = [row for row in due_accounts(campaign=campaign) if row.worker == worker]
    (earnings,) = earnings_of(Worker.objects.get(pk=worker))
    assert account.due == all_of_them.due == earnings.due
    return account.due // 10_000, earnings.withheld // 10_000


def test_a_rejected_answer_is_not_paid_if_a_researcher_says_so() -> None:
    account = Account.objects.create_user("ann")
    RoleGrant.objects.create(account=account, role=ANNOTATOR)
    ann = pseudonyms.worker_of(account)
    campaign = captions(ann.pk, images=3, **PAID)
    first, second, third = Judgment.objects.order_by("pk").values_list("pk", flat=True)
    assert due(campaign, ann.pk) == (30, 0)
    assert reject(campaign, first).unpaid == 0 and due(campaign, ann.pk) == (30, 0)
    assert reject(campaign, second, unpaid=True).unpaid == 1 and due(campaign, ann.pk) == (20, 10)
    lines = [float(str(line[6])) for line in ledger(campaign)]
    assert sorted(lines) == [0, 0.1, 0.1]
    assert AuditEntry.objects.filter(act="review_answers", about__unpaid=True).count() == 1
    client = Client()
    client.force_login(account)
    page = words(client.get(reverse("tasks")))
    assert "It stays paid." in page and "It is not paid." in page
    assert "not paid 0.10 USD" in words(client.get(reverse("earnings")))
    # Withheld twice, once is taken; any other decision gives it back.
    assert reject(campaign, first, second, unpaid=True).unpaid == 2 and due(campaign, ann.pk) == (10, 20)
    for decision, amount in (("undecided", 20), ("accepted", 30)):
        reviewed(campaign, decision, second if decision == "accepted" else first)
        assert due(campaign, ann.pk) == (amount, 30 - amount)
    # What was paid stays paid.
    pay(worker=ann.pk, campaign=campaign, amount=250_000)
    with pytest.raises(PhraseboxError, match="the rest was paid"):
        reject(campaign, third, unpaid=True)
    assert due(campaign, ann.pk) == (5, 0) and not Judgment.objects.filter(withdrawn=True).exists()


def test_only_researchers_withhold_pay_and_the_page_has_the_rules_of_the_platform() -> None:
    (ann,) = workers(1)
    campaign = captions(ann, **PAID)
    save_study(campaign=campaign, provider="mturk", answers_required=1)
    rejection = {"campaign": "writing", "answers": [Judgment.objects.get().pk], "decision": "rejected"}
    rejection |= {"reason": "Bad.", "unpaid": "true"}
    for role, may in ((REVIEWER, False), (RESEARCHER, True)):
        client = signed_in(role, role)
        page = words(client.get(reverse("answers", args=["writing"])))
        assert "lowers the worker's approval rate" in page and ("Do not pay for it" in page) == may
        answer = client.post(reverse("operation", args=["review_answers"]), rejection)
        assert answer.status_code == (200 if may else 403)
        assert AnswerReview.objects.filter(withheld=100_000).exists() == may
    with pytest.raises(Invalid, match="unpaid"):
        reviewed(campaign, "accepted", Judgment.objects.get().pk, unpaid=True)


def test_publishing_leaves_out_what_was_rejected_and_takes_what_was_corrected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ann, bob, eve = workers(3)
    campaign = captions(ann, bob, eve)
    first, second, third = Judgment.objects.order_by("pk").values_list("pk", flat=True)
    reject(campaign, first)
    reviewed(campaign, "accepted", second, text="  A dog   runs. ")
    published(capsys, "writing", "all")
    assert [text for _id, text in captions_of("all")["i0"]] == [
        "A dog runs.",
        "A dog number 2 runs in picture 0.",
    ]
    published(capsys, "writing", "accepted", reviewed=True)
    assert [text for _id, text in captions_of("accepted")["i0"]] == ["A dog runs."]
    assert "number 1" in str(Judgment.objects.get(pk=second).content)
    with pytest.raises(PhraseboxError, match="at least 3 words"):
        reviewed(campaign, "accepted", third, text="No.")


def test_what_cannot_be_reviewed_is_refused_and_nothing_is_stored() -> None:
    ann, bob = workers(2)
    campaign, other = captions(ann), captions(bob, name="other")
    mine, theirs = (Judgment.objects.get(campaign=of).pk for of in (campaign, other))
    for fields in (
        {"decision": "rejected"},
        {"decision": "accepted", "reason": "Good."},
        {"decision": "rejected", "reason": "Bad.", "text": "A dog runs."},
    ):
        with pytest.raises(Invalid):
            read_request(ReviewAnswersRequest, {"campaign": "writing", "answers": [mine], **fields})
    with pytest.raises(Invalid, match="answers.1"):
        reject(campaign, mine, theirs)
    assert not AnswerReview.objects.exists()


@pytest.mark.parametrize("seed", range(3))
def test_rejecting_and_withdrawing_are_independent(seed: int) -> None:
    """An answer counts if and only if its worker's answers are not withdrawn and nobody rejected it; in any
    order, and the image is that of the answers that count."""
    world = World(name=f"independent{seed}")
    rng, campaign = Random(seed), world.campaign
    world.work(enough=lambda: Judgment.objects.count() >= 40)
    answers = list(Judgment.objects.filter(image__isnull=False).order_by("pk"))
    rejected, out = set[int](), set[int]()
    for _step in range(12):
        worker = rng.choice(world.workers)
        chosen = [answer.pk for answer in rng.sample(answers, 3)]
        match rng.randrange(4):
            case 0:
                worker_status.withdraw_worker_answers(campaign=campaign, worker=worker)
                out.add(worker)
            case 1:
                worker_status.restore_worker_answers(campaign=campaign, worker=worker)
                out.discard(worker)
            case 2:
                reject(campaign, *chosen)
                rejected.update(chosen)
            case _:
                reviewed(campaign, rng.choice(["accepted", "undecided"]), *chosen)
                rejected.difference_update(chosen)
        counts = {
            answer.pk for answer in answers if answer.pk not in rejected and answer.worker_id not in out
        }
        stored = Judgment.objects.filter(pk__in=[answer.pk for answer in answers], withdrawn=False)
        assert set(stored.values_list("pk", flat=True)) == counts
    for row in world.images():
        assert state_of(row) == refold_image(row.pk)


def test_a_changed_answer_has_no_review() -> None:
    (ann,) = workers(1)
    campaign = captions(ann, **PAID)
    answer = Judgment.objects.get()
    reject(campaign, answer.pk, unpaid=True)
    assert answer.assignment_id is not None and due(campaign, ann) == (0, 10)
    changed = Answer("written", content={"text": "A cat sits still."})
    assert change_answer(worker=ann, assignment=answer.assignment_id, answer=changed)
    answer.refresh_from_db()
    assert not answer.withdrawn and not AnswerReview.objects.exists() and due(campaign, ann) == (10, 0)


def test_erasing_deletes_reasons_replies_and_corrected_texts() -> None:
    ann, bob = workers(2)
    campaign = captions(ann, bob)
    first, second = Judgment.objects.order_by("pk").values_list("pk", flat=True)
    reject(campaign, first)
    reviewed(campaign, "accepted", second, text="A dog of hers runs.")
    for worker in Worker.objects.filter(pk__in=(ann, bob)):
        pseudonyms.erase_worker(worker=worker, texts=True, reasons=True)
    assert not WorkerMessage.objects.exists()
    assert set(AnswerReview.objects.values_list("reason", "text")) == {
        (AuditEntry.ERASED_REASON, ""),
        ("", ""),
    }


def test_reviewers_find_answers_on_their_page_and_decide_there() -> None:
    ann, bob = workers(2)
    captions(ann, bob)
    client = signed_in("rita", REVIEWER)
    address = reverse("answers", args=["writing"])
    page = client.get(address).content.decode()
    assert "A dog number 0 runs" in page and "A dog number 1 runs" in page
    first = Judgment.objects.get(worker=ann)
    form_data = {"campaign": "writing", "answers": [first.pk], "decision": "rejected", "reason": "Bad."}
    client.post(reverse("operation", args=["review_answers"]), {**form_data, "next": address})
    name = Worker.objects.get(pk=bob).pseudonym
    for query, displayed in (
        ("state=rejected", {0}),
        ("state=undecided", {1}),
        ("state=withdrawn", {0}),
        (f"worker={name}", {1}),
        ("image=i0&kind=caption_writing&since=2000-01-01", {0, 1}),
        ("until=2000-01-01", set()),
        ("role=control", set()),
    ):
        page = client.get(f"{address}?{query}").content.decode()
        assert {number for number in (0, 1) if f"A dog number {number} runs" in page} == displayed, query
    for wrong in ("worker=w-nobody", "image=nothing", "state=good", "since=yesterday"):
        assert client.get(f"{address}?{wrong}").status_code == 400


def test_pages_of_answers_follow_each_other() -> None:
    world = World(name="paged")
    world.work(kinds=[q.COREF_LINK])
    everything = list(Judgment.objects.order_by("-pk").values_list("pk", flat=True))
    request = AnswersRequest(campaign="paged")
    pages, after = list[int](), None
    while True:
        part = answer_page(request, world.campaign, after=after, size=3)
        pages += [row.pk for row in part.rows]
        after = part.after
        if after is None:
            break
    assert pages == everything


def test_flagged_captions_are_found_with_their_flags() -> None:
    ann, bob = workers(2)
    campaign = captions(ann, bob)
    first, second = Judgment.objects.order_by("pk")
    CaptionFlag.objects.create(
        campaign=campaign, judgment=second, reason="copied", value=0.9, threshold=0.5, similar_to=first
    )
    client = signed_in("rita", REVIEWER)
    for flagged, displayed in (("any", [second]), ("copied", [second]), ("fast", []), ("", [second, first])):
        request = AnswersRequest(campaign="writing", flagged=flagged or None)
        assert answer_page(request, campaign).rows == displayed
        page = client.get(f"{reverse('answers', args=['writing'])}?flagged={flagged}").content.decode()
        assert ("likeness 0.90" in page) == (second in displayed)
