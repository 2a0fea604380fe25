"""A corpus's stored tags, and single queries of a run, in the API."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.datasets.tags import save_tags
from annotation.models import Caption, Corpus, Image
from evaluation.models import Ranking, Run
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, an_image
from tests.web import world as people

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Caller:
    return Caller(people.account("ada", "researcher"))


@pytest.fixture
def park() -> Corpus:
    records = [an_image(f"{n}", f"A dog by tree {n} .", layered=False) for n in range(3)]
    return a_corpus("park", records)


def test_tags_are_listed_by_frequency_and_images_found_by_them(ada: Caller, park: Corpus) -> None:
    assert ada.get("corpora/park/tags").json() == {"results": [], "next": None}
    tags = [("0", [("dog", 0.9), ("tree", 0.5)]), ("1", [("dog", 0.7)]), ("2", [("cat", 0.4)])]
    save_tags(corpus=park, images=tags, unit="nouns", alpha=0.5)
    first = ada.get("corpora/park/tags", limit=2).json()
    assert first["results"] == [{"tag": "dog", "images": 2}, {"tag": "cat", "images": 1}]
    rest = ada.get("corpora/park/tags", limit=2, cursor=first["next"]).json()
    assert rest == {"results": [{"tag": "tree", "images": 1}], "next": None}
    assert [item["tag"] for item in ada.get("corpora/park/tags", contains="RE").json()["results"]] == ["tree"]
    response = ada.get("corpora/park/images", tags="dog and tree or cat").json()["results"]
    assert [item["key"] for item in response] == ["0", "2"]
    answer = ada.get("corpora/park/images", tags="dog and")
    assert answer.status_code == 400 and answer.json()["field"] == "tags"
    assert ada.get("corpora/park/images/0").json()["tags"][0] == {"tag": "dog", "score": 0.9}


def test_queries_of_a_run_are_looked_at_one_by_one(ada: Caller, park: Corpus) -> None:
    run = Run.objects.create(corpus=park, name="near", direction=Run.ANNOTATION, system="s", published=True)
    captions = {row.image_id: row.pk for row in Caption.objects.filter(image__corpus=park)}
    images = list(Image.objects.filter(corpus=park).order_by("position"))
    for position, image in enumerate(images):
        Ranking.objects.create(
            run=run,
            position=position,
            image=image,
            items=np.array([captions[image.pk], captions[images[not position].pk]], "<i8").tobytes(),
            scores=np.array([2.0, 1.0], "<f4").tobytes(),
        )
    first = ada.get("runs/near/queries", limit=2).json()
    assert [(row["image"], row["text"], row["value"]) for row in first["results"]] == [
        ("0", None, 1),
        ("1", None, 1),
    ]
    (last,) = ada.get("runs/near/queries", limit=2, cursor=first["next"]).json()["results"]
    response = ada.get(f"runs/near/queries/{last['query']}").json()
    assert response["name"] == "2.jpg" and [item["rank"] for item in response["items"]] == [1, 2]
    assert [(row["text"], row["original"], row["judged"]) for row in response["items"]] == [
        ("A dog by tree 2 .", True, False),
        ("A dog by tree 0 .", False, False),
    ]
    worst = ada.get("runs/near/queries", order="worst").json()["results"]
    assert [row["value"] for row in worst] == [1] * len(images)
    assert ada.get("runs/near/queries/0").status_code == 404
