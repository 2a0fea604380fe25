"""An operation of a site: one declaration and one function make it available in every interface."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.core.management import get_commands as commands
from django.test import Client, override_settings
from django.urls import clear_url_caches, include, path
from drf_spectacular.generators import SchemaGenerator

from annotation import jobs
from annotation.api.rest.endpoints import endpoints, operation_patterns
from annotation.api.rest.views import operation_view
from annotation.common.operations import OPERATION_FOLDERS, operation
from annotation.common.roles import RESEARCHER
from annotation.jobs.registry import JOB_KINDS
from annotation.models import Job
from annotation.workers.accounts import granting
from tests.evaluation.database.conftest import output_of
from tests.factories import a_corpus, some_images
from tests.plug_ins import HERE, plugged
from tests.web import world as people

NAME = "count_long_captions"


@pytest.fixture
def site(db: None) -> Iterator[None]:
    """A server whose settings name the package of plug-ins."""
    before = {item.name: item for item in operation.all_operations()}
    with plugged(OPERATION_FOLDERS):
        from config import urls

        module: Any = types.ModuleType("urls_with_operation")
        added = operation_patterns(
            operation_view, [endpoint for endpoint in endpoints() if endpoint.name not in before]
        )
        module.urlpatterns = [path("api/v1/", include(added)), *urls.urlpatterns]
        with override_settings(ROOT_URLCONF=module, OPERATION_PACKAGES=[HERE]):
            clear_url_caches()
            yield
    clear_url_caches()
    JOB_KINDS._entries.pop(NAME, None)
    operation._OPERATIONS._entries = before


@pytest.fixture
def researcher(site: None) -> Client:
    """A researcher of the corpus "sea"; there is another, "lake"."""
    a_corpus("lake", some_images(1))
    account = people.account("rita")
    granting.grant(account=account, role=RESEARCHER, corpus=a_corpus("sea", some_images(2)))
    client = Client()
    client.force_login(account)
    return client


def test_it_is_a_command_with_help(researcher: Client) -> None:
    command: Any = commands()[NAME]
    parser = command.create_parser("manage.py", NAME)
    text = " ".join(parser.format_help().split())
    assert "Count long captions. Captions of a corpus are counted" in text
    assert "--longest LONGEST Longest. Captions beyond it are counted (default: 20)" in text
    assert json.loads(output_of(NAME, "sea", "--longest", "1", "--json"))["captions"] > 0
    with pytest.raises(CommandError, match="--longest: Expected 1 or more."):
        call_command(NAME, "sea", "--longest", "0")
    with pytest.raises(CommandError, match="corpus: There is no corpus “pond” here; known: lake, sea."):
        call_command(NAME, "pond")
    assert isinstance(load_command_class("annotation", "backup").help, str), "modules are commands as before"


def test_it_is_a_call_with_a_schema_whose_job_ends(researcher: Client) -> None:
    answer = researcher.post("/api/v1/caption-lengths", {"corpus": "sea"}, "application/json")
    assert answer.status_code == 202, answer.content
    job = Job.objects.get()
    assert (
        job.corpus is not None
        and (job.kind, job.corpus.name) == (NAME, "sea")
        and str(job.created_by) == "rita"
    )
    assert jobs.run_queued_job(job.pk) == Job.DONE
    job.refresh_from_db()
    assert job.result["longer"] <= job.result["captions"] and job.phase == "counting"
    reply = researcher.post("/api/v1/caption-lengths", {"corpus": "lake", "size": 1}, "application/json")
    assert {(error["field"], error["code"]) for error in reply.json()["errors"]} == {
        ("size", "extra_forbidden")
    }
    response = researcher.post("/api/v1/caption-lengths", {"corpus": "lake"}, "application/json")
    assert [error["field"] for error in response.json()["errors"]] == ["corpus"], (
        "another's corpus is not there"
    )
    document: Any = SchemaGenerator().get_schema(request=None, public=True)
    call = document["paths"]["/api/v1/caption-lengths"]["post"]
    schema = call["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["corpus"] and not schema["additionalProperties"]
    assert schema["properties"]["unit"]["enum"] == ["words", "characters"]


def test_it_is_a_page_with_a_form(researcher: Client) -> None:
    address = f"/operations/{NAME}/"
    page = researcher.get(address).content.decode()
    assert "<h1>Count long captions</h1>" in page and '<option value="sea">sea</option>' in page
    assert "lake" not in page, "only what the account may use is offered"
    assert address in researcher.get("/operations/").content.decode()
    reply = researcher.post(address, {"corpus": "sea", "longest": "0", "unit": "words"})
    assert reply.status_code == 400 and "Expected 1 or more." in reply.content.decode()
    assert not Job.objects.exists()
    response = researcher.post(address, {"corpus": "sea", "longest": "3", "unit": "words"}, follow=True)
    assert "The job is queued." in response.content.decode() and Job.objects.get().arguments == {
        "corpus": "sea",
        "longest": 3,
    }


def test_it_is_a_row_in_the_table(researcher: Client) -> None:
    of_researchers = output_of("operations").partition("## Researcher: the corpus\n")[2].partition("\n## ")[0]
    row = f"| Count long captions (a job) | `{NAME}` | `POST caption-lengths` |"
    assert row in of_researchers.splitlines()


def test_who_has_no_role_gets_none_of_it(site: None) -> None:
    a_corpus("sea", some_images(1))
    client = Client()
    client.force_login(people.account("nobody"))
    assert client.get(f"/operations/{NAME}/").status_code == 403
    assert client.post("/api/v1/caption-lengths", {"corpus": "sea"}, "application/json").status_code == 403
    assert NAME not in client.get("/operations/").content.decode()
