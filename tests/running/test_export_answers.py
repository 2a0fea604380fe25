"""Every answer of a campaign as a JSON line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns
from annotation.models import Judgment
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from tests.factories import a_corpus, some_images

pytestmark = pytest.mark.django_db(transaction=True)


def exported(tasks: str, folder: Path, *more: str) -> list[dict[str, Any]]:
    a_corpus("quay", some_images(4))
    campaign = campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="work",
            corpus="quay",
            tasks=tasks,
            settings={"boxes": "always", "trust": {"qualification": False}},
        )
    )
    run_campaign_crowd(campaign=campaign, plan=CrowdPlan(mix={"perfect": 10}, seed=1, patience=0))
    out = folder / "answers.jsonl"
    call_command("export_answers", "work", "--simulated", "--out", str(out), *more, stdout=StringIO())
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_a_page_tells_each_pair_by_the_names_of_the_corpus(tmp_path: Path):
    result = exported("relevance", tmp_path)
    assert len(result) == Judgment.objects.count()
    for record in result:
        assert record["answer"] == "judged" and record["worker"].startswith("sim1-")
        for pair in record["pairs"]:
            assert pair["role"] == "wanted"
            ours = pair["caption"].split("#")[0] == pair["image"]
            # All images have the same two captions, so that a perfect judge ticks every one.
            assert pair["yes"] is True, ours


def test_simulated_answers_are_written_only_where_they_are_asked_for_as_such(tmp_path: Path):
    exported("graded", tmp_path)
    with pytest.raises(CommandError, match="“work” are simulated: no person gave them"):
        call_command("export_answers", "work", "--out", str(tmp_path / "more.jsonl"), stdout=StringIO())
    assert not (tmp_path / "more.jsonl").exists()


def test_grades_sentences_and_regions_are_told(tmp_path: Path):
    assert {record["caption"].split("#")[1] for record in exported("graded", tmp_path)} == {"0", "1"}


def test_what_was_written_is_told(tmp_path: Path):
    assert {"A man in a hat crosses the street .", "Somebody walks . here"} == {
        record["text"] for record in exported("captions", tmp_path)
    }


def test_boxes_and_their_texts_are_told(tmp_path: Path):
    for record in exported("regions", tmp_path):
        assert len(record["regions"]) == 5
        assert {"box": [10, 10, 100, 200], "text": "A man", "way": ""} in record["regions"]


def test_questions_of_the_chain_are_told_with_their_boxes(tmp_path: Path):
    result = exported("entities", tmp_path)
    drawn = [record["box"] for record in result if record["answer"] == "drawn"]
    assert [10, 10, 100, 200] in drawn
    assert all(record["box"] is None for record in result if record["answer"] != "drawn")
