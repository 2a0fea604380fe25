"""An action of staff is done completely or not at all: if its audit entry cannot be written, nothing is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps

from annotation import instructions, jobs
from annotation.campaigns import ordering, states
from annotation.models import (
    Account,
    Assignment,
    AuditEntry,
    Campaign,
    Control,
    Job,
    Judgment,
    OpenImage,
    Task,
)
from annotation.moderation import control_items
from annotation.moderation import worker_status as discard
from annotation.protocol import questions as q
from annotation.queue import image_rows, image_state, leases
from annotation.workers import pseudonyms
from tests.queue.world import TRUSTING, World
from tests.transactions import written
from tests.trust.scenes import gold, scenes

pytestmark = pytest.mark.django_db


class Full(RuntimeError):
    """The error of the audit."""


@contextlib.contextmanager
def audit_full() -> Iterator[None]:
    """Make every write to the audit fail."""

    def error(*arguments: object, **more: object) -> None:
        raise Full("no space left")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Full):
        patch.setattr(AuditEntry, "save", error)
        yield


def rows() -> dict[str, list[Any]]:
    """Return the whole content of the database, by model."""
    return {
        model.__name__: list(model._default_manager.order_by("pk").values())
        for model in apps.get_app_config("annotation").get_models()
    }


def cancelling(world: World) -> Callable[[], object]:
    job = jobs.enqueue(
        kind="refresh_layer", arguments={"campaign": world.campaign.name}, campaign=world.campaign
    )
    return lambda: jobs.cancel_job(job_id=job.pk)


def resuming(world: World) -> Callable[[], object]:
    job = jobs.enqueue(
        kind="refresh_layer", arguments={"campaign": world.campaign.name}, campaign=world.campaign
    )
    Job.objects.filter(pk=job.pk).update(state=Job.FAILED)
    return lambda: jobs.resume_job(job_id=job.pk)


def suspending(world: World) -> Callable[[], object]:
    return lambda: discard.suspend_worker(campaign=world.campaign, worker=world.workers[0])


def reinstating(world: World) -> Callable[[], object]:
    discard.suspend_worker(campaign=world.campaign, worker=world.workers[0])
    return lambda: discard.reinstate_worker(campaign=world.campaign, worker=world.workers[0])


def discarding(world: World) -> Callable[[], object]:
    world.submit(0, world.held(0), then=False)
    return lambda: discard.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])


def restoring(world: World) -> Callable[[], object]:
    discarding(world)()
    return lambda: discard.restore_worker_answers(campaign=world.campaign, worker=world.workers[0])


def pausing(world: World) -> Callable[[], object]:
    return lambda: states.pause_campaign(campaign=world.campaign, reason="lunch")


def closing(world: World) -> Callable[[], object]:
    return lambda: states.close_campaign(campaign=world.campaign)


def prioritising(world: World) -> Callable[[], object]:
    keys = [row.image.key for row in world.images()]
    return lambda: ordering.prioritise_images(campaign=world.campaign, images=keys)


def publishing(world: World) -> Callable[[], object]:
    return lambda: instructions.publish_text(campaign=world.campaign, kind=q.COREF_LINK, text="Look twice.")


def erasing(world: World) -> Callable[[], object]:
    account = Account.objects.create_user(username="leaves")
    worker = pseudonyms.worker_of(account)
    return lambda: pseudonyms.erase_worker(worker=worker)


ACTS = (
    cancelling,
    resuming,
    suspending,
    reinstating,
    discarding,
    restoring,
    pausing,
    prioritising,
    closing,
    publishing,
    erasing,
)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_an_act_that_the_audit_does_not_take_changes_nothing(
    act: Callable[[World], Callable[[], object]],
) -> None:
    attempt = act(World(settings=TRUSTING))
    before = rows()
    with audit_full():
        attempt()
    assert rows() == before
    attempt()
    assert rows() != before


def test_a_control_item_that_cannot_be_retired_keeps_its_grades() -> None:
    world = scenes(1, workers=1)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    control = Control.objects.filter(campaign=world.campaign).earliest("pk")
    lease = world.held(0)
    world.submit(0, lease, then=False)
    Assignment.objects.filter(pk=lease.id).update(control=control, role="control", right=True)
    before = rows()
    with audit_full():
        discard.disown_control_item(campaign=world.campaign, control=control.pk)
    assert rows() == before


def test_images_of_one_campaign_get_a_priority_and_those_of_another_keep_theirs() -> None:
    world = World(settings=TRUSTING)
    other_campaign = Campaign.objects.create(
        name="other", corpus=world.corpus, tasks="entities", settings=world.campaign.settings, state="open"
    )
    twins = []
    for row in OpenImage.objects.filter(campaign=world.campaign):
        row.pk, row.campaign = None, other_campaign
        row.save()
        twins.append(row)
    images = [row.image_id for row in twins]
    assert image_rows.prioritise(campaign=world.campaign, images=images, priority=7) == len(images)
    assert set(OpenImage.objects.filter(campaign=other_campaign).values_list("priority", flat=True)) == {0}
    assert set(OpenImage.objects.filter(campaign=world.campaign).values_list("priority", flat=True)) == {7}
    assert Task.objects.filter(campaign=other_campaign).count() == 0


def test_a_reason_of_the_longest_length_is_kept() -> None:
    world = World(settings=TRUSTING)
    assert discard.suspend_worker(campaign=world.campaign, worker=world.workers[0], reason="x" * 200)


def answering(world: World) -> Callable[[], object]:
    lease = world.held(0)
    return lambda: world.submit(0, lease, then=False)


def taking(world: World) -> Callable[[], object]:
    return lambda: world.held(0)


def giving_back(world: World) -> Callable[[], object]:
    lease = world.held(0)
    return lambda: leases.return_lease(worker=world.workers[0], assignment=lease.id)


def folding_again(world: World) -> Callable[[], object]:
    world.submit(0, world.held(0), then=False)
    image = OpenImage.objects.filter(campaign=world.campaign).order_by("pk").first()
    assert image is not None
    Judgment.objects.update(withdrawn=True)
    return lambda: image_state.refold_image(image.pk)


def preferring(world: World) -> Callable[[], object]:
    images = list(OpenImage.objects.filter(campaign=world.campaign).values_list("image", flat=True))
    return lambda: image_rows.prioritise(campaign=world.campaign, images=images, priority=3)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "act", [answering, taking, giving_back, folding_again, preferring], ids=lambda act: act.__name__
)
def test_what_the_queue_writes_it_writes_in_a_transaction(
    act: Callable[[World], Callable[[], object]],
) -> None:
    """Locks last as long as that, and on SQLite writers take turns by it."""
    result = written(act(World(settings=TRUSTING)))
    assert result and [statement for held, statement in result if not held] == []
