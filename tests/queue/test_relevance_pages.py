"""Relevance pages: six images with ten captions each, one of them a control image, shuffled for each
worker."""

from __future__ import annotations

from typing import Any

import pytest

from annotation import campaigns
from annotation.campaigns import CampaignError
from annotation.models import Assignment, Campaign, Control, Image, Judgment, PageControl, Task, TrustState
from annotation.moderation.trust_replay import replay_row
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.paging import PAGE_ROLES, ROLE_FILLER, Pair
from annotation.protocol.paging import ROLE_CONTROL as KNOWN
from annotation.protocol.trust import SUSPENDED, TRUSTED, WARM_UP
from annotation.quality import controls, qualification
from annotation.queue import leases, relevance_pages
from annotation.queue.leases import NoTask
from annotation.queue.submission import Answer, BadJudgment
from annotation.selectors.answers import answers
from annotation.task_types.relevance.rules import RELEVANCE
from tests.factories import a_corpus, an_image
from tests.queue.test_counted import held, submit, workers

pytestmark = pytest.mark.django_db(transaction=True)

JUDGED, OTHERS = 30, 40
MEASURED: dict[str, Any] = {"trust": {"qualification": False}}


def corpus() -> None:
    """Import images with five captions each: those to annotate, and others for control items."""
    a_corpus(
        "quay",
        [
            an_image(f"i{n}", *(f"thing{n} does act{k} ." for k in range(5)), layered=False)
            for n in range(JUDGED + OTHERS)
        ],
    )


def pairs(images: int = JUDGED, item: int = 10) -> list[Pair]:
    """Return for each image its own captions and five of others."""
    return [Pair(f"i{n}", f"i{(n + k // 5) % images}#{k % 5}") for n in range(images) for k in range(item)]


def campaign(settings: dict[str, Any] = MEASURED, *, known: int = 30, **also: Any) -> Campaign:
    corpus()
    created = campaigns.create_campaign(name="work", corpus="quay", tasks="relevance", settings=settings)
    campaigns.open_pairs(campaign=created, **{"pairs": pairs(), **also})
    items = controls.from_captions(
        campaign=created,
        images=[f"i{n}" for n in range(JUDGED, JUDGED + OTHERS)],
        seed=1,
        per_page=10,
        purposes={Control.CONTROL: known},
    )
    controls.add_control_items(campaign=created, items=enumerate(items, 1), source="gold")
    campaigns.begin_campaign(campaign=created)
    return created


def ticks(lease: Any, *, right: bool = True) -> Answer:
    """Return the ticks of a worker who recognizes an image's own captions; or all ticks."""
    return Answer(
        "judged",
        content={
            "ticked": [
                [image == block["image"] or not right for image, _ in block["captions"]]
                for block in lease.content["blocks"]
            ]
        },
    )


def contents() -> list[dict[str, Any]]:
    return [dict(content or {}) for content in Judgment.objects.values_list("content", flat=True)]


def test_pages_hold_every_pair_once_and_fillers_where_pairs_run_out():
    corpus()
    created = campaigns.create_campaign(name="work", corpus="quay", tasks="relevance")
    expected = pairs(item=7)
    fillers = {f"i{n}": [f"i{n + 1}#{k}" for k in range(5)] for n in range(JUDGED, JUDGED + 30)}
    fillers |= {f"i{n}": [f"i{(n + 9) % JUDGED}#{k}" for k in range(5)] for n in range(JUDGED)}
    done = campaigns.open_pairs(campaign=created, pairs=[*expected, *expected], fillers=fillers)
    assert (done.pairs, done.tasks, done.filling.missing) == (len(expected), JUDGED // 5, 0)
    keys = dict(Image.objects.values_list("pk", "key"))
    result: dict[str, list[Pair]] = {}
    for task in Task.objects.all():
        assert task.items.count() == 5
        for item in task.items.all():
            content = item.content
            assert len(content["captions"]) == 10
            for (image, index), role in zip(content["captions"], content["roles"], strict=True):
                pair = Pair(keys[content["image"]], f"{keys[image]}#{index}")
                result.setdefault(PAGE_ROLES[role], []).append(pair)
    assert sorted(result["wanted"]) == sorted(expected)
    assert len(result[ROLE_FILLER]) == done.filling.fillers == JUDGED * 3


def test_every_page_has_one_known_image_and_nobody_is_told_which():
    created = campaign({"trust": {"qualification": False, "warm_up_known": 1, "warm_up_items": 6}})
    (worker,) = workers(1)
    lease = held(created, worker)
    known = PageControl.objects.get(assignment=lease.id).control
    images = [block["image"] for block in lease.content["blocks"]]
    assert len(images) == 6 and known.image_id in images
    assert {tuple(block) for block in lease.content["blocks"]} == {("image", "captions")}
    assert {len(block["captions"]) for block in lease.content["blocks"]} == {10}
    again = held(created, worker)
    assert (again.id, again.content) == (lease.id, lease.content)


def test_a_page_is_shuffled_again_for_each_worker_and_its_answers_land_on_their_pairs():
    created = campaign(known=0)
    Task.objects.exclude(pk=Task.objects.order_by("pk")[0].pk).update(state=Task.WITHDRAWN)
    orders = set()
    for worker in workers(3):
        lease = held(created, worker)
        orders.add(str(lease.content))
        submit(worker, lease, ticks(lease), then=False)
    assert len(orders) == 3
    answers = contents()
    for content in answers:
        for block in content["blocks"]:
            assert block["yes"] == [image == block["image"] for image, _ in block["captions"]]
    per_worker = [
        sorted((b["image"], tuple(c)) for b in content["blocks"] for c in b["captions"])
        for content in answers
    ]
    assert per_worker[0] == per_worker[1] == per_worker[2] and len(per_worker[0]) == 50


def test_in_warm_up_some_pages_hold_known_images_only_and_careful_people_become_trusted():
    created = campaign()
    (worker,) = workers(1)
    for _ in range(5):
        lease = held(created, worker)
        submit(worker, lease, ticks(lease), then=False)
    trust_state = TrustState.objects.get()
    assert (trust_state.items, trust_state.known, trust_state.right) == (30, 15, 15)
    assert trust_state.state == TRUSTED
    only_known = Assignment.objects.filter(task=None)
    assert only_known.count() == 2
    assert PageControl.objects.filter(assignment__in=only_known).count() == 12
    controls_seen_by_kind = list(PageControl.objects.values_list("control", flat=True))
    assert len(set(controls_seen_by_kind)) == len(controls_seen_by_kind) == 15
    assert replay_row(trust_state).known == 15


@pytest.mark.parametrize("all_of_them", [True, False])
def test_who_ticks_everything_or_nothing_is_suspended(all_of_them: bool):
    created = campaign()
    (worker,) = workers(1)
    for _ in range(5):
        if TrustState.objects.filter(state=SUSPENDED).exists():
            break
        lease = held(created, worker)
        provided = [[all_of_them] * len(block["captions"]) for block in lease.content["blocks"]]
        submit(worker, lease, Answer("judged", content={"ticked": provided}), then=False)
    trust_state = TrustState.objects.get()
    assert trust_state.state == SUSPENDED and trust_state.right == 0
    graded = PageControl.objects.filter(assignment__state="submitted")
    assert set(graded.values_list("right", flat=True)) == {False}
    assert replay_row(trust_state).state == SUSPENDED


def test_when_all_known_images_are_used_up_work_goes_on_without():
    created = campaign(known=3)
    (worker,) = workers(1)
    provided = 0
    while provided < 6:
        lease = held(created, worker)
        submit(worker, lease, ticks(lease), then=False)
        provided += 1
    assert PageControl.objects.count() == 3
    assert TrustState.objects.get().state == WARM_UP


def test_ticks_that_do_not_fit_the_page_store_nothing():
    created = campaign()
    (worker,) = workers(1)
    lease = held(created, worker)
    with pytest.raises(BadJudgment, match="expected"):
        submit(worker, lease, Answer("judged", content={"ticked": [[True] * 9] * 6}))
    assert not Judgment.objects.exists()


def test_a_reported_page_counts_as_wrong_on_its_known_images():
    created = campaign({"trust": {"qualification": False, "warm_up_known": 1, "warm_up_items": 6}})
    (worker,) = workers(1)
    submit(worker, held(created, worker), Answer(flag="image_missing"), then=False)
    trust_state = TrustState.objects.get()
    assert (trust_state.items, trust_state.known, trust_state.right) == (6, 1, 0)


@pytest.mark.parametrize("only_known", [False, True])
def test_known_images_that_are_retired_while_a_page_is_in_hand_measure_nobody(only_known: bool):
    trust = {"qualification": False, "warm_up_known": 6 if only_known else 1, "warm_up_items": 6}
    created = campaign({"trust": trust})
    (worker,) = workers(1)
    lease = held(created, worker)
    assert PageControl.objects.count() == (6 if only_known else 1)
    controls.retire_control_items(
        campaign=created, controls=[*PageControl.objects.values_list("control", flat=True)]
    )
    submit(worker, lease, ticks(lease, right=False), then=False)
    trust_state = TrustState.objects.get()
    assert (trust_state.items, trust_state.known) == (6, 0)
    assert set(PageControl.objects.values_list("right", flat=True)) == {None}
    assert replay_row(trust_state).known == 0


def test_the_test_asks_one_known_image_at_a_time():
    created = campaign({"trust": {"verdict_known": 3}}, known=0)
    items = controls.from_captions(
        campaign=created,
        images=[f"i{n}" for n in range(JUDGED, JUDGED + OTHERS)],
        seed=2,
        per_page=10,
        purposes={Control.QUALIFICATION: 9},
    )
    controls.add_control_items(campaign=created, items=enumerate(items, 1), source="gold")
    created.refresh_from_db()
    (worker,) = workers(1)
    error = leases.take_lease(worker=worker, campaign=created, kind=RELEVANCE)
    assert isinstance(error, NoTask) and error.code == "no_test"
    begun = qualification.begin_qualification(worker=worker, campaign=created, kind=RELEVANCE)
    assert isinstance(begun, qualification.QualificationTest) and begun.items == 3
    for _ in range(3):
        lease = held(created, worker)
        assert len(lease.content["blocks"]) == 1
        submit(worker, lease, ticks(lease), then=False)
    assert TrustState.objects.get().state == WARM_UP
    assert len(held(created, worker).content["blocks"]) == 5


@pytest.mark.parametrize(
    ("pair", "problem"),
    [(Pair("i0", "i1#9"), "no caption 'i1#9'"), (Pair("nobody", "i0#0"), "no image 'nobody'")],
)
def test_a_pair_of_something_unknown_is_named(pair: Pair, problem: str):
    corpus()
    created = campaigns.create_campaign(name="work", corpus="quay", tasks="relevance")
    with pytest.raises(CampaignError, match=problem):
        campaigns.open_pairs(campaign=created, pairs=[pair])
    assert not Task.objects.exists()


def test_known_images_of_a_page_are_told_apart_from_asked_ones_only_in_what_is_stored():
    created = campaign({"trust": {"qualification": False, "warm_up_known": 1, "warm_up_items": 6}})
    (worker,) = workers(1)
    lease = held(created, worker)
    submit(worker, lease, ticks(lease), then=False)
    (content,) = contents()
    known = [block for block in content["blocks"] if "control" in block]
    assert len(known) == 1 and {PAGE_ROLES[role] for role in known[0]["roles"]} == {KNOWN}
    page = relevance_pages.blocks(lease.id, seed=created.seed, settings=settings_of(created.settings))
    assert relevance_pages.page_content(page) == lease.content


def test_pairs_of_known_images_are_exported_only_where_they_are_asked_for():
    created = campaign({"trust": {"qualification": False, "warm_up_known": 1, "warm_up_items": 6}})
    (worker,) = workers(1)
    lease = held(created, worker)
    submit(worker, lease, ticks(lease), then=False)
    key = PageControl.objects.get(assignment=lease.id).control.image.key
    (reported,), (with_known,) = answers(created), answers(created, known=True)
    assert len(reported["pairs"]) == 50 and key not in {pair["image"] for pair in reported["pairs"]}
    known = [pair for pair in with_known["pairs"] if pair["role"] == KNOWN]
    assert len(known) == 10 and {pair["image"] for pair in known} == {key}
    assert [pair for pair in with_known["pairs"] if pair not in known] == reported["pairs"]
