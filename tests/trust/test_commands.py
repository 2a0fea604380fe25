"""The commands: control items added, workers suspended, reinstated, discarded and restored."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Control, Judgment
from annotation.protocol import questions as q
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission import Answer
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import scenes
from tests.trust.test_control_items import GOOD, HEAD, table

pytestmark = pytest.mark.django_db


def report_of(name: str, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def output_of(name: str, *arguments: str) -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_control_items_are_added_from_a_layer_and_what_is_missing_is_said():
    scenes(6)
    from_layer = ["add_controls_from_layer", "scenes", "--layer", "import", "--images", "4", "--seed", "2"]
    report = report_of(*from_layer)
    assert report["added"] == Control.objects.count() > 50 and report["there"] == 0
    assert {row["kind"] for row in report_of("count_control_items", "scenes")["counts"]} == set(q.QUESTIONS)
    assert report_of(*from_layer)["added"] == 0 and "qualification" in output_of(
        "count_control_items", "scenes"
    )


def test_one_purpose_only_where_one_is_named():
    scenes(3)
    report_of("add_controls_from_layer", "scenes", "--layer", "import", "--purpose", "qualification")
    assert set(Control.objects.values_list("purpose", flat=True)) == {"qualification"}


def test_control_items_are_added_from_a_table(tmp_path: Path):
    World()
    assert report_of("import_controls", "quay", str(table(tmp_path, GOOD)))["added"] == 7


def test_every_bad_line_of_a_table_is_said(tmp_path: Path):
    World()
    bad = "relevance,control,1000,0:0-2,,,yes,\n"
    with pytest.raises(CommandError) as raised:
        report_of("import_controls", "quay", str(table(tmp_path, bad + GOOD + bad)))
    lines = str(raised.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["line 2", "line 10"]
    with pytest.raises(CommandError, match="lacks the column 'known'"):
        report_of("import_controls", "quay", str(table(tmp_path, GOOD, head=HEAD.replace("known", "why"))))
    with pytest.raises(CommandError, match="cannot be opened"):
        report_of("import_controls", "quay", str(tmp_path / "nowhere.csv"))
    assert not Control.objects.exists()


def test_agreement_is_promoted():
    world = World(some_images(1), settings={**TRUSTING, "link_votes": 5}, workers=5)
    for worker in range(3):
        world.submit(worker, world.held(worker), Answer("no"), then=False)
    assert report_of("promote_answers", "quay", "--kind", "coref_link", "--at-least", "4")["added"] == 0
    assert report_of("promote_answers", "quay", "--kind", "coref_link")["added"] == 1
    with pytest.raises(CommandError, match="--at-least: Expected 2 or more."):
        report_of("promote_answers", "quay", "--kind", "coref_link", "--at-least", "1")


def test_without_a_source_the_items_and_what_lacks_are_told():
    World()
    report = report_of("count_control_items", "quay")
    assert report["counts"] == [] and len(report["warnings"]) == 5
    assert "warning: accuracy is not measured at coref_link" in output_of("count_control_items", "quay")


def test_a_worker_is_suspended_and_let_back():
    world = World(settings=TRUSTING)
    world.held(0)
    assert "quay-w0 is suspended from coref_link, chain_verification" in output_of(
        "suspend_workers", "quay", "--workers", "quay-w0", "--reason", "too fast"
    )
    result = world.take(0, holding=[world.held(0).id])
    assert isinstance(result, NoTask) and "too fast" in result.text
    assert "already suspended: nothing to do" in output_of("suspend_workers", "quay", "--workers", "quay-w0")
    report = report_of("reinstate_workers", "quay", "--workers", "quay-w0", "--kind", "coref_link")
    assert report["changed"] == [{"worker": "quay-w0", "kinds": ["coref_link"]}]
    assert isinstance(world.take(0), Lease)


def test_a_worker_is_discarded_and_restored():
    world = World(settings=TRUSTING)
    world.work()
    count = Judgment.objects.filter(worker=world.workers[0]).count()
    report = report_of("withdraw_answers", "quay", "--workers", "quay-w0", "--reason", "guessing")
    assert report["judgments"] == count > 0
    assert Judgment.objects.filter(withdrawn=True).count() == count
    text = output_of("restore_answers", "quay", "--workers", "quay-w0")
    assert text.startswith(f"{count} answers of 1 workers in ") and "restored" in text
    assert not Judgment.objects.filter(withdrawn=True).exists()


@pytest.mark.parametrize("command", ["suspend_workers", "withdraw_answers"])
def test_names_that_nobody_bears_are_refused(command):
    World(settings=TRUSTING)
    with pytest.raises(CommandError, match=r"--workers \(1\.\): There is no worker “nobody” here"):
        report_of(command, "quay", "--workers", "nobody")
    with pytest.raises(CommandError, match="campaign: There is no campaign “nowhere” here; known: quay"):
        report_of(command, "nowhere", "--workers", "quay-w0")
