"""Campaigns that go, and campaigns that are made after others; and the audit, which outlives them."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from annotation import audit, campaigns, instructions, jobs
from annotation.campaigns import CampaignError, model_annotators
from annotation.models import (
    Account,
    AuditEntry,
    Campaign,
    Control,
    Identity,
    Instructions,
    Item,
    OpenImage,
    Study,
    Task,
    Visit,
    Worker,
)
from annotation.protocol import kinds
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import CampaignSettings, as_toml, settings_of
from annotation.quality import controls
from annotation.quality.controls import ControlItem
from annotation.queue import leases
from annotation.workers import invitations
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World

HOLDING = (Campaign, OpenImage, Task, Item, Instructions, Control)


def opened(name: str = "c", **settings: Any) -> Campaign:
    a_corpus("photos", some_images(2))
    return campaigns.open_campaign(
        campaigns.CampaignPlan(name=name, corpus="photos", tasks="entities", settings=settings)
    )


def known(campaign: Campaign) -> None:
    item = ControlItem(
        q.COREF_LINK, Control.CONTROL, "1000", ("0:0-2", "1:0-1"), "yes", explanation="one man"
    )
    controls.add_control_items(campaign=campaign, items=[(1, item)], source="page")


@pytest.mark.django_db
def test_a_campaign_that_nobody_has_come_to_goes_with_all_it_holds_and_its_audit_stays():
    campaign = opened()
    known(campaign)
    model_annotators.model_annotator_add(campaign=campaign, name="drawer")
    spare_world = World()
    rest = {model: model.objects.count() for model in HOLDING}
    acts = AuditEntry.objects.filter(campaign=campaign).count()
    campaigns.delete_campaign(campaign=campaign)
    assert not any(
        model.objects.filter(**{path: campaign.pk}).exists()
        for model, path in ((OpenImage, "campaign"), (Task, "campaign"), (Control, "campaign"))
    )
    assert all(0 < model.objects.count() < rest[model] for model in HOLDING[:4])
    assert AuditEntry.objects.filter(campaign=None, campaign_name="c").count() == acts + 1
    assert spare_world.held(0)
    assert not Worker.objects.filter(kind=Worker.MODEL).exists()
    # The name is free again.
    campaigns.open_campaign(campaigns.CampaignPlan(name="c", corpus="photos", tasks="entities"))


def somebody() -> Identity:
    return Identity.objects.create(worker=Worker.objects.create(pseudonym="w"))


def has_a_lease(campaign: Campaign) -> None:
    worker = Worker.objects.create(pseudonym="w").pk
    held = leases.take_lease(worker=worker, campaign=campaign, kind=q.COREF_LINK)
    assert isinstance(held, leases.Lease)
    leases.return_lease(worker=worker, assignment=held.id)


def has_a_visit(campaign: Campaign) -> None:
    study = Study.objects.create(campaign=campaign, provider="prolific", external_id="s", answers_required=1)
    Visit.objects.create(identity=somebody(), study=study, external_id="v", begun_at=campaign.created_at)


def has_an_invitee(campaign: Campaign) -> None:
    invitation = invitations.make_invitation(campaign=campaign)
    type(invitation).objects.filter(pk=invitation.pk).update(used=1)


def has_a_job(campaign: Campaign) -> None:
    jobs.enqueue(kind="refresh_layer", arguments={"campaign": campaign.name}, campaign=campaign)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("come", "why"),
    [
        (has_a_lease, "begun to work"),
        (has_a_visit, "from a platform"),
        (has_an_invitee, "by an invitation"),
        (has_a_job, "one of its jobs"),
    ],
)
def test_a_campaign_that_somebody_has_come_to_stays(come, why):
    campaign = opened()
    come(campaign)
    with pytest.raises(CampaignError, match=why):
        campaigns.delete_campaign(campaign=campaign)
    assert Campaign.objects.filter(pk=campaign.pk).exists() and Task.objects.exists()


@pytest.mark.django_db
def test_a_draft_after_another_has_its_texts_and_control_items_and_none_of_its_work():
    world = World(settings={**TRUSTING, "link_votes": 3})
    world.work()
    instructions.publish_text(campaign=world.campaign, kind=q.COREF_LINK, text="Look twice.")
    known(world.campaign)
    created = campaigns.duplicate_campaign(campaign=world.campaign, name="again")
    assert (created.state, created.settings, created.corpus) == (
        Campaign.DRAFT,
        world.campaign.settings,
        world.corpus,
    )
    assert instructions.current_text(campaign=created, kind=q.COREF_LINK).text == "Look twice."
    (item,) = Control.objects.filter(campaign=created)
    assert (item.known, item.explanation, item.active) == ("yes", "one man", True)
    assert controls.gold_coverage(created.pk, q.COREF_LINK, created.revision).accuracy
    assert not created.images.exists() and not created.trust_states.exists()
    assert campaigns.duplicate_campaign(campaign=world.campaign, name="again") == created
    assert Control.objects.filter(campaign=created).count() == 1
    with pytest.raises(CampaignError, match="choose another name"):
        campaigns.duplicate_campaign(campaign=world.campaign, name="quay")


@pytest.mark.django_db
def test_by_command_a_campaign_is_opened_like_another_and_deleted():
    opened(link_votes=3)
    call_command("open_campaign", "d", like="c", unpaid=True)
    campaign = Campaign.objects.get(name="d")
    assert (campaign.state, campaign.settings["link_votes"]) == (Campaign.OPEN, 3)
    call_command("delete_campaign", "d")
    assert Campaign.objects.count() == 1
    with pytest.raises(CommandError, match="--corpus: This is required"):
        call_command("open_campaign", "e")


@pytest.mark.django_db
def test_a_line_of_the_audit_keeps_its_names_and_cannot_be_edited():
    ada = Account.objects.create_user("ada")
    campaign = opened()
    audit.record(actor=ada, act="rule", campaign=campaign, image="1000")
    line = AuditEntry.objects.get(act="rule")
    changes: list[dict[str, Any]] = [{"act": "other"}, {"actor_name": "eve"}, {"about": {}}, {"at": line.at}]
    changes[-1]["at"] += timedelta(seconds=1)
    for change in changes:
        with pytest.raises((DatabaseError, IntegrityError), match="cannot be edited"), transaction.atomic():
            AuditEntry.objects.filter(pk=line.pk).update(**change)
    eve = Account.objects.create_user("eve")
    with pytest.raises((DatabaseError, IntegrityError), match="cannot be edited"), transaction.atomic():
        AuditEntry.objects.filter(pk=line.pk).update(actor=eve)
    ada.delete()
    campaigns.delete_campaign(campaign=campaign)
    line.refresh_from_db()
    assert (line.actor, line.actor_name, line.campaign, line.campaign_name) == (None, "ada", None, "c")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "link_votes": st.sampled_from([1, 3]),
            "order": st.sampled_from(["likely_first", "as_printed"]),
            "limits": st.fixed_dictionaries({}, optional={"boxes": st.integers(1, 99)}),
            "merging": st.just({"never": [["people", "clothing"]]}),
            "trust": st.fixed_dictionaries(
                {}, optional={"qualification": st.booleans(), "bar": st.floats(0, 1)}
            ),
            "pay": st.fixed_dictionaries(
                {},
                optional={
                    "currency": st.text('EURO€"\\ ', max_size=5),
                    "per_item": st.dictionaries(st.sampled_from(kinds.names()), st.floats(0, 9)),
                },
            ),
            "stop": st.fixed_dictionaries({}, optional={"until": st.just("2027-03-01")}),
        },
    )
)
def test_settings_are_read_again_from_the_text_that_they_are_told_in(provided):
    settings = settings_of(provided)
    assert settings_of(tomllib.loads(as_toml(settings))) == settings
    assert as_toml(CampaignSettings()) == ""
