"""Settings changed on the page and by command: previewed first, never over another user's change."""

from __future__ import annotations

import json
import re
from html import unescape
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation import campaigns, instructions, jobs
from annotation.campaigns.setting_fields import setting_fields
from annotation.campaigns.training.link_chances import learn_links
from annotation.models import Assignment, Campaign, Job, OpenImage
from annotation.protocol.campaign_settings import as_toml, settings_of
from annotation.web.staff import campaign_settings
from tests.factories import a_corpus, some_images
from tests.queue.world import World
from tests.review.world import the_world
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db

SETTINGS, CHANGE = ("/campaigns/review/settings/", "/campaigns/review/settings/change/")


@pytest.fixture
def world() -> World:
    return the_world()


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


def in_force() -> str:
    return as_toml(settings_of(Campaign.objects.get().settings))


def test_what_a_change_would_do_is_seen_before_it_is_done(world, ada):
    Assignment.objects.filter(campaign=world.campaign).delete()
    expected = in_force() + '\n[pay]\nbasis = "hour"\nhourly = 12.5\n'
    page = press(ada, CHANGE, "Preview changes", campaign_settings=expected)
    assert "pay.hourly 0 12.5 from the next task assigned" in words(page)
    assert Campaign.objects.get().settings_version == 1
    (form,) = [form for form in forms(page) if "Change the settings" in form.buttons]
    page = ada.post(CHANGE, {**form.fields, "act": "change"}, follow=True)
    assert messages_on(page) == ["Version 2 of the settings is in force."]
    text = words(page)
    assert "Version 2 is in force." in text and "pay.hourly : 0 → 12.5" in text
    assert Campaign.objects.get().settings["pay"]["hourly"] == 12.5


def test_the_page_shows_the_beginning_of_a_learned_table_and_the_form_has_all_of_it(ada, monkeypatch):
    monkeypatch.setattr(campaign_settings, "LONGEST_VALUE", 30)
    world = World(name="review", workers=1)
    learn_links(campaign=world.campaign, corpus=world.corpus.name)
    table = settings_of(world.campaign.settings).protocol.saving.link_chances
    text = words(ada.get(SETTINGS))
    assert "Fewer questions than the paper asks" in text
    assert f"{table[:30]}…" in text and table not in text
    page = press(ada, CHANGE, "Preview changes")
    assert "These settings are the same as those in force." in words(page)
    assert unescape(table) in unescape(page.content.decode())


def test_each_setting_is_a_field_and_only_what_differs_is_sent_on(world, ada):
    Assignment.objects.filter(campaign=world.campaign).delete()
    names = [f"campaign_settings.{setting.name}" for setting in setting_fields(world.campaign.tasks)]
    (form,) = [form for form in forms(ada.get(CHANGE)) if "Preview changes" in form.buttons]
    assert [name for name in names if name not in form.fields and name not in form.choices] == []
    typed = {"pay.basis": "hour", "pay.hourly": "12,5", "merging.never": '[["people", "clothing"]]'}
    typed |= {"saving.coverage_by_count": "true"}
    filled = {f"campaign_settings.{name}": text for name, text in typed.items()}
    page = ada.post(CHANGE, {**form.fields, **filled, "act": "change"}, follow=True)
    assert messages_on(page)[0].startswith("Version 2 of the settings is in force.")
    before, after = settings_of(world.campaign.settings), settings_of(Campaign.objects.get().settings)
    differ = {name for name, value in after.flat().items() if before.flat()[name] != value}
    assert differ == set(typed) and after.pay.hourly == 12.5


def test_a_wrong_setting_is_said_beside_its_field(world, ada):
    form_data = {"base_version": "1", "act": "look", "campaign_settings.trust.bar": "7"}
    page = ada.post(CHANGE, form_data)
    assert page.status_code == 400 and 'id="campaign_settings.trust.bar_error"' in page.content.decode()
    assert 'value="7"' in page.content.decode()


def test_images_are_reopened_before_anybody_works_and_not_after(ada):
    world = World(name="review", workers=1)
    page = press(ada, CHANGE, "Preview changes", campaign_settings=f"link_votes = 3\n{in_force()}")
    assert "at once: all images are reopened" in words(page) and "2 images will be reopened" in words(page)
    page = ada.post(
        CHANGE,
        {"campaign_settings": f"link_votes = 3\n{in_force()}", "base_version": "1", "act": "change"},
        follow=True,
    )
    assert messages_on(page) == ["Version 2 of the settings is in force. 2 images were reopened."]
    world.held(0)
    page = press(
        ada,
        CHANGE,
        "Preview changes",
        campaign_settings=in_force().replace("link_votes = 3", "link_votes = 5"),
    )
    assert "for images that are not open yet" in words(page)


def test_a_stale_edit_gets_412_and_is_kept_beside_what_is_in_force(world, ada):
    campaigns.change_campaign_settings(
        campaign=world.campaign, settings={**world.campaign.settings, "lease": {"minutes": 9.0}}
    )
    mine = "[lease]\nminutes = 5.0\n"
    for act in ("look", "change"):
        page = ada.post(CHANGE, {"campaign_settings": mine, "base_version": "1", "act": act})
        assert page.status_code == 412 and "you saw version 1, and version 2 is in force" in words(page)
        assert "minutes = 9.0" in words(page) and 'value="5"' in page.content.decode()
    stale = {"campaign": "review", "budget": "3", "base_version": "1"}
    assert ada.post("/operations/set_stop_rules/", stale).status_code == 412
    assert Campaign.objects.get().settings_version == 2


def test_a_stale_text_gets_412(world, ada):
    address = reverse("text", args=["review", "consent"])
    seen = instructions.current_text(campaign=world.campaign, kind="consent").version
    instructions.publish_text(campaign=world.campaign, kind="consent", text="Theirs.")
    form_data = {"campaign": "review", "kind": "consent", "text": "Mine.", "base_version": str(seen)}
    page = ada.post("/operations/publish_text/", form_data)
    assert page.status_code == 412 and "Mine." in page.content.decode()
    assert instructions.current_text(campaign=world.campaign, kind="consent").text == "Theirs."
    assert messages_on(press(ada, address, "Publish as a new version", text="Mine.")) == [
        "Published: workers now read version 2."
    ]


def test_work_for_nothing_is_meant(world, ada):
    by_name = {**world.campaign.settings, "pay": {"basis": "hour", "hourly": 5.0}}
    campaigns.change_campaign_settings(campaign=world.campaign, settings=by_name)
    unpaid = in_force().replace("hourly = 5.0", "hourly = 0.0")
    page = ada.post(CHANGE, {"campaign_settings": unpaid, "base_version": "2", "act": "change"})
    assert page.status_code == 400 and "confirm that this is intended" in words(page)
    meant = {"campaign_settings": unpaid, "base_version": "2", "act": "change", "unpaid": "on"}
    assert ada.post(CHANGE, meant).status_code == 302


def test_what_cannot_be_is_told_and_kept_for_mending(world, ada):
    for text, status, error in (
        ("= 3", 400, "not valid TOML"),
        ("link_votes = 2", 400, "odd"),
        ("[pay]\nbases = 1", 400, "unknown setting"),
    ):
        page = ada.post(CHANGE, {"campaign_settings": text, "base_version": "1", "act": "look"})
        assert page.status_code == status and error in words(page)
        typed = 'value="2"' if text == "link_votes = 2" else text.splitlines()[-1]
        assert typed in page.content.decode()


def test_many_images_are_reopened_by_a_job(ada, monkeypatch):
    World(name="review", workers=0)
    monkeypatch.setattr(campaign_settings, "MOST_REOPENED", 1)
    text = f"link_votes = 3\n{in_force()}"
    page = ada.post(CHANGE, {"campaign_settings": text, "base_version": "1", "act": "change"}, follow=True)
    assert "The new settings take effect once the images are reopened." in messages_on(page)
    job = Job.objects.get(kind="change_settings")
    jobs.run_queued_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result) == (Job.DONE, {"version": 2, "reopened": 2})
    assert {row.settings["link_votes"] for row in OpenImage.objects.all()} == {3}


def test_the_command_changes_one_setting_or_all(world, tmp_path: Path):
    def message(command: str, *arguments: str) -> dict:
        out = StringIO()
        call_command(command, "review", *arguments, "--json", stdout=out)
        return json.loads(out.getvalue().splitlines()[-1])

    plan = message("plan_settings", "--set", "lease.minutes=7.0")
    assert plan["changed"][0]["name"] == "lease.minutes" and Campaign.objects.get().settings_version == 1
    assert message("change_settings", "--set", "lease.minutes=7.0", "pay.idle_after=30.0")["version"] == 2
    assert Campaign.objects.get().settings["lease"]["minutes"] == 7.0
    config = tmp_path / "all.toml"
    config.write_text(in_force().replace("minutes = 7.0", "minutes = 8.0"))
    done = message("change_settings", "--campaign-settings", str(config), "--base-version", "2")
    assert [item["name"] for item in done["changed"]] == ["lease.minutes"]
    for arguments, error in (
        (["--set", "lease.minutes"], "--set (1.): This is not valid TOML"),
        ([], "--campaign-settings: This is required."),
        (["--set", "link_votes=3", "--base-version", "1"], "version 3 is in force"),
    ):
        with pytest.raises(CommandError, match=re.escape(error)):
            call_command("change_settings", "review", *arguments)


def test_the_page_tells_the_settings_that_matter_to_what_is_asked(ada):
    a_corpus("few", some_images(2))
    campaigns.open_campaign(campaigns.CampaignPlan(name="pages", corpus="few", tasks="relevance"))
    page = words(ada.get("/campaigns/pages/settings/"))
    assert "captions Captions of each image on a page 10 Hodosh et al. 2013, section 4.3.2" in page
    assert "relevance Workers who judge each page 3 Hodosh" in page
    assert "fruitless" not in page
