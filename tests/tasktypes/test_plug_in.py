"""A kind of question from one folder under tests, without other files: from an open campaign to an export.

`tests/plugged_in/caption_fluency` contains all of it, as described in CONTRIBUTING ("Add a task type").
`test_checks.py` tests that `manage.py check` names each missing part.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.template.autoreload import reset_loaders
from django.test import Client
from django.urls import reverse

from annotation.checks import task_types
from annotation.models import Account, Assignment, Campaign, Control, Corpus, Judgment, TrustState
from annotation.protocol import kinds
from annotation.quality import controls
from annotation.selectors.campaign.glance import agreement
from annotation.simulation.kinds import SIMULATED
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from annotation.task_types import discovery
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.practice import PRACTICE
from evaluation.models import Run
from evaluation.pair_tasks import all_pair_tasks, pair_tasks
from phrasebox.registry import UnknownName
from phrasebox.relevance.scales import ONE_TO_FOUR
from tests.api.conftest import Program
from tests.factories import a_corpus, some_images
from tests.web import counted_desk
from tests.web import world as people
from tests.web.desk import address
from tests.web.test_counted_tasks import at_work, send

pytestmark = pytest.mark.django_db(transaction=True)

KIND = "caption_fluency"
SETTINGS = {
    "trust": {"control_share": 0.0},
    "answers": {KIND: 3},
    "pay": {"basis": "item", "per_item": {KIND: 0.05}},
}


@pytest.fixture
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the kind available, as in a server whose TASK_TYPE_PACKAGES names its package; undo this
    afterwards."""
    monkeypatch.setattr(discovery, "PACKAGES", [*discovery.PACKAGES])
    discovery.add_packages(["tests.plugged_in"])
    reset_loaders()
    for part in ("rules", "type", "practice", "simulate"):
        discovery.load_kind_modules(part)
    yield
    for registry in (kinds.KINDS, TASK_TYPES, PRACTICE, SIMULATED):
        registry._entries.pop(KIND, None)
    for name in [name for name in sys.modules if name.startswith("tests.plugged_in")]:
        del sys.modules[name]
    reset_loaders()


def desk(folder: Path, **settings: Any) -> Campaign:
    return counted_desk.campaign(folder / "drawn", "fluency", settings={**SETTINGS, **settings}, images=4)


def with_items(campaign: Campaign, folder: Path) -> None:
    """Add control items and a test, from a table as researchers upload them."""
    file = folder / "items.csv"
    rows = [
        f"{KIND},{purpose},i{n},i{n}#{index},{grade}"
        for n, (purpose, grade) in enumerate([("qualification", "4"), ("qualification", "1")])
        for index in (0, 1)
    ]
    rows += [f"{KIND},control,i2,i2#0,4", f"{KIND},control,i3,i3#0,1"]
    file.write_text("\n".join(["kind,purpose,image,captions,known", *rows]) + "\n")
    assert controls.from_csv(campaign=campaign, file=file).added == 6


def test_a_kind_of_one_folder_lacks_nothing(plugged_in: None) -> None:
    assert task_types(None) == []
    assert kinds.kinds_of_tasks("fluency") == (KIND,) and "fluency" in kinds.all_tasks()


def test_batches_offer_a_kind_that_says_how_they_ask_it(plugged_in: None) -> None:
    assert [*all_pair_tasks()] == ["relevance", "tags", "graded", "fluency"]
    own_pair_tasks = pair_tasks("fluency")
    assert (own_pair_tasks.scale, own_pair_tasks.seconds, own_pair_tasks.paged, own_pair_tasks.filtered) == (
        ONE_TO_FOUR,
        6.0,
        False,
        False,
    )
    ada = people.signed_in("ada", "researcher")
    a_corpus("quay", some_images(1))
    Run.objects.create(corpus=Corpus.objects.get(), name="r", direction="annotation", published=True)
    page = ada.get(reverse("evaluation:new_batch"), {"corpus": "quay"}).content.decode()
    assert '<option value="fluency">How well is it written? Pair by pair, from 1 to 4</option>' in page
    with pytest.raises(UnknownName, match="tasks 'boxes': expected one of relevance, tags, graded, fluency"):
        pair_tasks("boxes")


def test_it_is_read_practised_tested_and_answered_by_page_and_by_api(
    plugged_in: None, tmp_path: Path
) -> None:
    created = desk(tmp_path)
    with_items(created, tmp_path)
    client = at_work(created)
    read = client.get(reverse("task_instructions", args=["quay", KIND])).content.decode()
    assert "Say how well it is written." in read
    practice = reverse("task_practice", args=["quay", KIND])
    assert "A boy throws a frisbee for his dog." in client.get(practice).content.decode()
    right = client.post(practice, {"answer": "4"}).content.decode()
    assert "Nothing is wrong with it." in right
    # The test: every item correct. Then there are tasks.
    client.post(reverse("task_test", args=["quay", KIND]))
    known = dict(Control.objects.values_list("id", "known"))
    for _ in range(10):
        assert "How well is this sentence written?" in client.get(address(KIND)).content.decode()
        held = Assignment.objects.get(state="leased")
        if held.role != "qualification":
            break
        assert held.control_id is not None
        assert send(client, KIND, answer=known[held.control_id])[0] == 303
    assert TrustState.objects.get(kind=KIND).state == "warm_up"
    assert send(client, KIND, answer="3")[0] == 303
    assert send(client, KIND, answer="5")[0] == 422
    program = Program(Account.objects.get(username="ann"))
    task = program.take(KIND)
    assert task["caption"].startswith("Two people walk")
    assert program.answer(task, answer="2")[0] == 200
    judgment_rows = (
        Judgment.objects.exclude(role="qualification").order_by("id").values_list("kind", "answer")
    )
    assert list(judgment_rows) == [(KIND, "3"), (KIND, "2")]


def test_a_crowd_finishes_it_and_staff_read_every_page_and_export(plugged_in: None, tmp_path: Path) -> None:
    created = desk(tmp_path, trust={"qualification": False, "double_check_share": 0.2})
    run_campaign_crowd(campaign=created, plan=CrowdPlan(mix={"careful": 6}, seed=1, patience=0))
    cache.clear()
    created.refresh_from_db()
    answers = Judgment.objects.filter(campaign=created, role="vote").count()
    assert answers == 3 * 4 * counted_desk.SENTENCES
    assert set(agreement(created, fresh=True)) <= {KIND}
    ada: Client = people.signed_in("ada", "researcher")
    home = reverse("campaign", args=["quay"])
    worker = Assignment.objects.values_list("worker__pseudonym", flat=True).first()
    for page in (
        *(
            "",
            "workers/",
            f"workers/{worker}/",
            "settings/",
            "settings/change/",
            "review/",
            "control-items/",
            "texts/",
        ),
        *("jobs/", "recruiting/", "order/", f"texts/{KIND}/", "images/i1/"),
    ):
        assert ada.get(home + page).status_code == 200, page
    assert (
        "How well is it written?" in ada.get(home).content.decode()
        or "fluency" in ada.get(home).content.decode()
    )
    out = tmp_path / "answers.jsonl"
    call_command("export_answers", "quay", "--simulated", out=out, verbosity=0)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(records) >= answers
    assert {record["kind"] for record in records} == {KIND}
    assert all(record["caption"].startswith("i") and record["answer"] in "1234" for record in records)
