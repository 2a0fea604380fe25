"""Archived objects are not listed unless requested, on pages, by API and command; and they can be
restored."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import campaigns
from annotation.models import AuditEntry, Campaign
from evaluation.models import Batch, Report, Run, System
from tests.web.test_query_counts import readers, things

pytestmark = pytest.mark.django_db

#: Kind of object -> its model, the page of the list, the API's list.
LISTED: dict[str, tuple[Any, str, str]] = {
    "campaign": (Campaign, "campaigns", "/api/v1/campaigns"),
    "system": (System, "evaluation:systems", "/api/v1/systems"),
    "run": (Run, "evaluation:runs", "/api/v1/runs"),
    "batch": (Batch, "evaluation:batches", "/api/v1/batches"),
    "report": (Report, "evaluation:reports", "/api/v1/reports"),
}
NAME = "thing-0001"


@pytest.fixture
def researcher() -> Client:
    client = readers()["researcher"]
    things(0, 3)
    return client


def listed(client: Client, what: str, query: str = "") -> set[bool]:
    """Return whether the page and the API list the object for this query."""
    _, page, call = LISTED[what]
    response = client.get(reverse(page) + query).context
    visible = response["page"].rows
    rows = client.get(call + query.replace("archived=1", "archived=true")).json()["results"]
    return {NAME in [row.name for row in visible], NAME in [row["name"] for row in rows]}


def archive(client: Client, what: str, name: str, *, archived: bool) -> Any:
    """Press the button on the object's page."""
    form_data = {what: name, "archived": str(archived).lower()}
    return client.post(reverse("operation", args=[f"archive_{what}"]), form_data)


@pytest.mark.parametrize("what", LISTED)
def test_what_is_archived_leaves_its_list_and_comes_back(researcher: Client, what: str) -> None:
    model = LISTED[what][0]
    Campaign.objects.update(state=Campaign.CLOSED)
    assert listed(researcher, what) == {True}
    page = researcher.get(reverse(LISTED[what][1])).content.decode()
    assert "archived=1" not in page
    archive(researcher, what, NAME, archived=True)
    assert model.objects.get(name=NAME).archived_at is not None
    assert listed(researcher, what) == {False}
    assert listed(researcher, what, "?archived=1") == {True}
    assert "archived=1" in researcher.get(reverse(LISTED[what][1])).content.decode()
    if what not in ("batch", "report"):  # these need more than bare rows
        ours = what if what == "campaign" else f"evaluation:{what}"
        assert "Bring back into the lists" in researcher.get(reverse(ours, args=[NAME])).content.decode()
    archive(researcher, what, NAME, archived=False)
    assert listed(researcher, what) == {True}
    done = AuditEntry.objects.filter(act__in=[f"archive_{what}", f"unarchive_{what}"])
    assert [entry.act for entry in done.order_by("pk")] == [f"archive_{what}", f"unarchive_{what}"]


@pytest.mark.parametrize("what", LISTED)
def test_the_api_and_a_command_archive_too(researcher: Client, what: str) -> None:
    Campaign.objects.update(state=Campaign.CLOSED)
    text = f"{LISTED[what][2]}/{NAME}"
    response = researcher.patch(text, {"archived": True}, content_type="application/json")
    assert (response.status_code, response.json()["archived"]) == (200, True)
    out = StringIO()
    call_command(f"archive_{what}", NAME, "--no-archived", "--json", stdout=out)
    assert json.loads(out.getvalue())["archived"] is False
    assert LISTED[what][0].objects.get(name=NAME).archived_at is None
    with pytest.raises(CommandError, match="nobody"):
        call_command(f"archive_{what}", "nobody", "--archived")


def test_an_open_campaign_is_not_archived_and_an_archived_one_that_is_resumed_comes_back(
    researcher: Client,
) -> None:
    campaign = Campaign.objects.get(name="thing-0000")
    answer = archive(researcher, "campaign", campaign.name, archived=True)
    assert "pause or close it before you archive it" in answer.content.decode()
    response = researcher.patch(
        f"/api/v1/campaigns/{campaign.name}", {"archived": True}, content_type="application/json"
    )
    assert response.status_code == 409
    campaigns.pause_campaign(campaign=campaign, reason="lunch")
    assert campaigns.archive_campaign(campaign=campaign) is True
    assert campaigns.archive_campaign(campaign=campaign) is False
    campaigns.resume_campaign(campaign=campaign)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.archived_at) == (Campaign.OPEN, None)


def test_forms_offer_no_archived_run_unless_it_is_chosen(researcher: Client) -> None:
    Run.objects.filter(name=NAME).update(archived_at=timezone.now())
    for route, query, chosen in (
        ("compare", f"corpus={NAME}", f"run={NAME}"),
        ("new_batch", f"corpus={NAME}", f"runs={NAME}"),
        ("new_report", f"qrels={NAME}:1", f"runs={NAME}"),
    ):
        for request, choices in ((query, []), (f"{query}&{chosen}", [NAME])):
            response = researcher.get(f"{reverse(f'evaluation:{route}')}?{request}").context
            if route == "compare":
                runs = [run for _, result in response["offered"] for run, _ in result]
            else:
                runs = response["runs"]
            assert [run.name for run in runs] == choices, (route, request)


@pytest.mark.parametrize("what", ["system", "batch", "report"])
def test_lists_of_evaluation_are_searched_sorted_and_paged_by_the_address(
    researcher: Client, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluation.web import batches, reports
    from evaluation.web.systems import pages

    monkeypatch.setattr(batches, "_PAGE", 2)
    monkeypatch.setattr(reports, "REPORTS_PER_PAGE", 2)
    monkeypatch.setattr(pages, "SYSTEMS_PER_PAGE", 2)
    page = LISTED[what][1]

    def names(query: str) -> list[str]:
        values: list[str] = []
        while query:
            response = researcher.get(reverse(page) + query).context["page"]
            values += [row.name for row in response.rows]
            query = response.later
        return values

    assert names("?sort=name") == ["thing-0000", "thing-0001", "thing-0002"]
    assert names("?sort=new&down=1") == ["thing-0002", "thing-0001", "thing-0000"]
    assert names("?find=0001") == [NAME]
    assert "matches." in researcher.get(f"{reverse(page)}?find=zulu").content.decode()
    assert researcher.get(f"{reverse(page)}?sort=name&after=%00,x&down=1").status_code == 200
