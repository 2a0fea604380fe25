"""Tags ranked from captions and stored for their corpus: by command, page and job."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from annotation import jobs
from annotation.models import Corpus, Image, Job, TagList
from annotation.selectors.tags.stored import tags_of_image
from tests.evaluation.database.conftest import output_of
from tests.evaluation.tags.test_rank_tags import pets
from tests.web import world
from tests.web.staff import press

__all__ = ["pets"]


def stored_tags(key: str) -> list[tuple[str, float]]:
    image = Image.objects.get(corpus__name="pets", key=key)
    return [(tag.text, round(tag.score, 6)) for tag in tags_of_image(image)]


def test_the_command_keeps_what_it_would_write(pets: str) -> None:
    report = json.loads(output_of("rank_tags", pets, "--alpha", "0.5", "--json"))
    assert (report["images"], report["tags"], report["distinct"]) == (5, 6, 5)
    assert stored_tags("1") == [("dog", 0.666667)]
    assert stored_tags("2") == [("boy", 0.533333), ("dog", 0.475), ("soccer", 0.183333), ("field", 0.1)]
    assert stored_tags("3") == [] and stored_tags("5") == [("tree", 0.5)]
    assert "stored 5 tags of 5 images" in output_of("rank_tags", pets, "--unit", "compounds")
    assert ("soccer field", 0.0) in stored_tags("2") or "soccer field" in dict(stored_tags("2"))
    tag_list = TagList.objects.get()
    assert (tag_list.unit, tag_list.alpha, tag_list.published) == ("compounds", 0.0, True)


def test_a_page_asks_for_them(tmp_path: Path, settings: Any, pets: str) -> None:
    settings.DATA_DIR = tmp_path  # it contains the parses
    ada = world.signed_in("ada", "researcher")
    press(ada, "/evaluation/features/", "Rank tags", corpus="pets", unit="compounds")
    job = Job.objects.latest("pk")
    assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
    assert TagList.objects.get(corpus=Corpus.objects.get(name="pets")).unit == "compounds"
    for payload, reported in (
        ({"unit": "verbs"}, "Expected one of:"),
        ({"unit": "nouns", "placed_by": "tree"}, "corpus 'pets' has no parses"),
    ):
        response = ada.post("/operations/rank_tags/", {"corpus": "pets", **payload})
        assert reported in html.unescape(response.content.decode())
