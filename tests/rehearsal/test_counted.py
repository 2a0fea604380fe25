"""A simulated crowd on questions whose votes are only counted, and what staff see of such a campaign."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns
from annotation.models import Campaign, Control, Image, Judgment, PageControl, Task, TrustState
from annotation.protocol.trust import SUSPENDED
from annotation.simulation.visits import Conduct
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from annotation.task_types.caption_writing.rules import SPELLING
from tests.factories import a_corpus, an_image, some_images

pytestmark = pytest.mark.django_db(transaction=True)

UNTESTED: dict[str, Any] = {"trust": {"qualification": False}}
MISCHIEF = Conduct(clicked_twice=0.1, answered_twice=0.1, returned=0.1)


def a_photo_corpus() -> None:
    """Import 30 images to annotate and 40 of the split `dev`, with five captions each."""
    a_corpus(
        "quay",
        [
            an_image(
                f"i{n}",
                *(f"thing{n} does act{k} ." for k in range(5)),
                layered=False,
                split="test" if n < 30 else "dev",
            )
            for n in range(70)
        ],
    )


def run(command: str, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(command, *arguments, "--json", stdout=out, stderr=StringIO())
    report: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return report


@pytest.mark.parametrize("tasks", ["graded", "relevance", "tags", "captions", "regions"])
def test_a_crowd_leaves_nothing_open_and_nothing_unsound(tasks: str):
    a_corpus("quay", some_images(4))
    campaign = campaigns.open_campaign(
        campaigns.CampaignPlan(name="work", corpus="quay", tasks=tasks, settings=UNTESTED)
    )
    done = run_campaign_crowd(
        campaign=campaign, plan=CrowdPlan(mix={"careful": 10}, seed=1, conduct=MISCHIEF, patience=0)
    )
    assert (done.open_tasks, done.leased) == (0, 0)
    assert not any(done.violations.values()) and done.tally.amiss == []
    (kind,) = campaign.kinds
    assert done.cost["judgments"][kind] == Judgment.objects.filter(role="vote").count() > 0


def test_bad_judges_of_pages_are_suspended_and_what_they_ticked_is_asked_again(tmp_path: Path):
    a_photo_corpus()
    config = tmp_path / "untested.toml"
    config.write_text("[trust]\nqualification = false\n")
    run(
        *("open_campaign", "work", "--corpus", "quay", "--tasks", "relevance"),
        *("--split", "test", "--campaign-settings", str(config), "--unpaid"),
    )
    report = run(
        "add_controls_from_captions", "work", "--split", "dev", "--seed", "0", "--purpose", "control"
    )
    assert report["added"] == 30
    report = run(
        "simulate_crowd", "work", "--workers", "8", "--mix", "perfect=0.75,always_yes=0.25", "--orderly"
    )
    assert report["through"] == "queue" and report["left"] == {"open_tasks": 0, "leased": 0}
    bad = set(TrustState.objects.filter(state=SUSPENDED).values_list("worker__pseudonym", flat=True))
    assert bad and all("always_yes" in name for name in bad)
    assert PageControl.objects.filter(right=True).exists()


def test_the_protocol_alone_settles_nothing_there():
    a_corpus("quay", some_images(2))
    campaigns.open_campaign(
        campaigns.CampaignPlan(name="work", corpus="quay", tasks="captions", settings=UNTESTED)
    )
    with pytest.raises(CommandError, match="simulate it --through queue"):
        call_command("simulate_crowd", "work", "--through", "protocol")


def test_writers_pass_the_test_of_spelling_first():
    a_corpus("quay", some_images(2))
    campaign = campaigns.open_campaign(campaigns.CampaignPlan(name="work", corpus="quay", tasks="captions"))
    items = Control.objects.filter(campaign=campaign, purpose=Control.QUALIFICATION)
    assert {stratum: items.filter(stratum=stratum).count() for stratum in SPELLING} == {
        "correct": 18,
        "incorrect": 18,
    }
    done = run_campaign_crowd(
        campaign=campaign, plan=CrowdPlan(mix={"perfect": 6, "always_yes": 2}, seed=1, patience=0)
    )
    assert done.open_tasks == 0
    wrote = set(Judgment.objects.filter(role="vote").values_list("worker__pseudonym", flat=True))
    assert wrote and all("perfect" in name for name in wrote)


def test_pairs_come_from_a_file(tmp_path: Path):
    a_photo_corpus()
    file = tmp_path / "pairs.csv"
    file.write_text("image,caption,role\ni0,i0#0,\ni0,i1#2,wanted\ni1,i5#4,\n")
    run("open_campaign", "work", "--corpus", "quay", "--tasks", "graded", "--unpaid", "--pairs", str(file))
    assert set(Task.objects.values_list("key", flat=True)) == {
        "graded_relevance|i0|i0#0",
        "graded_relevance|i0|i1#2",
        "graded_relevance|i1|i5#4",
    }
    again = [
        "open_campaign",
        "work",
        "--corpus",
        "quay",
        "--tasks",
        "graded",
        "--pairs",
        str(file),
        "--unpaid",
    ]
    assert not Campaign.objects.get().open_to_all
    file.write_text("image,caption,role\ni1,i5#4,\ni0,i1#2,wanted\ni0,i0#0,\n")
    run(*again, "--open-to-all")
    assert Task.objects.count() == 3 and Campaign.objects.get().open_to_all
    for more, says in (
        (["--images", "1"], "--images: This cannot be combined with pairs."),
        (["--split", "test", "--draft"], "--draft: This cannot be combined with pairs."),
    ):
        with pytest.raises(CommandError, match=says):
            call_command(*again, *more)
    file.write_text("image,caption,role\ni0,i0#0,\n")
    with pytest.raises(CommandError, match="“work” asks other pairs than those of .*pairs.csv; open another"):
        call_command(*again)
    Image.objects.filter(key="i0").update(key="i|0")
    file.write_text("image,caption,role\ni|0,i1#0,\n")
    with pytest.raises(CommandError, match=r"the key of image 'i\|0' has a '\|', which stands between"):
        call_command("open_campaign", "odd", *again[2:])
    Image.objects.filter(key="i|0").update(key="i0")
    run("open_campaign", "texts", "--corpus", "quay", "--tasks", "captions", "--images", "1", "--unpaid")
    with pytest.raises(CommandError, match="'texts' asks captions, not pairs; expected one that asks"):
        call_command(
            *(
                "open_campaign",
                "texts",
                "--corpus",
                "quay",
                "--tasks",
                "captions",
                "--pairs",
                str(file),
                "--unpaid",
            )
        )
    Campaign.objects.get(name="texts").images.all().delete()
    Campaign.objects.filter(name="texts").delete()
    # A page of six images with ten captions, one of them a control image.
    file.write_text("image,caption,role\ni0,i0#0,\ni1,i5#4,filler\ni1,i4#4,filler\n")
    pages = [
        "open_campaign",
        "pages",
        "--corpus",
        "quay",
        "--tasks",
        "relevance",
        "--pairs",
        str(file),
        "--unpaid",
    ]
    for _ in range(2):
        out = StringIO()
        call_command(*pages, stdout=out)
        assert "pages lack 47 captions" in out.getvalue() and "5 of 5 images" in out.getvalue()
    file.write_text("image,caption,role\ni0,i0#0,perhaps\n")
    with pytest.raises(CommandError, match="line 2"):
        call_command(
            "open_campaign", "more", "--corpus", "quay", "--tasks", "graded", "--unpaid", "--pairs", str(file)
        )
