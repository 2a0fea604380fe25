"""The protocols by name, COCO's folds, and real positives of COCO captions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from phrasebox.metrics.judgments import judged
from phrasebox.metrics.protocols import both_directions, folds, over_folds, protocol_named, select
from phrasebox.metrics.ranked import from_tiles
from phrasebox.metrics.scoring import evaluate
from phrasebox.scoring.tiles import Dense, Products

MEASURES = ["R@1", "R@5", "R@10", "median rank", "mean rank"]


def test_each_protocol_takes_its_captions():
    image_of = [0, 0, 0, 1, 1, 1]
    assert select("any of five", image_of).captions.tolist() == [0, 1, 2, 3, 4, 5]
    assert select("first caption", image_of).captions.tolist() == [0, 3]
    assert select("one caption", image_of).captions.tolist() == [2, 5]
    assert select("one caption", image_of, number=1).captions.tolist() == [1, 4]


def test_a_protocol_is_found_however_it_is_spelt():
    assert {protocol_named(name).name for name in ("Any-of-Five", "any_of_five", " any of  five")} == {
        "any of five"
    }


def test_captions_are_numbered_within_their_image_in_the_order_they_come():
    chosen = select("first caption", [1, 0, 1, 0])
    assert (chosen.captions.tolist(), chosen.owner.tolist()) == ([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: select("best of five", [0]),
            "unknown protocol 'best of five'; known: one caption, first caption",
        ),
        (
            lambda: select("one caption", [0, 0, 0, 1, 1]),
            r"image 1 has no caption number 2 \(counted from 0\); 1 of 2",
        ),
        (lambda: select("any of five", [0, 2]), "image 1 has no caption; 1 of 3 images lack one"),
        (lambda: select("any of five", [0], images=2), "image 1 has no caption"),
        (lambda: select("any of five", [0], images=["a.jpg", "b.jpg"]), "image b.jpg has no caption"),
        (lambda: select("any of five", [0], number=1), "uses all captions; leave out the number 1"),
        (
            lambda: list(folds(select("any of five", [0, 1, 2]), 2)),
            "3 images cannot be cut into 2 equal folds",
        ),
    ],
)
def test_a_protocol_that_does_not_fit_is_refused_in_one_line(ask, message):
    with pytest.raises(ValueError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_an_image_finds_any_of_its_captions_and_a_caption_its_one_image():
    # Image 0 ranks its second caption first; caption 3 (of image 1) prefers image 0.
    scores = Dense(np.array([[1.0, 9, 2, 8], [0, 1, 7, 2]]))
    result = both_directions(scores, select("any of five", [0, 0, 1, 1]), ["R@1", "mean rank"])
    assert result["annotation"]["R@1"].per_query.tolist() == [1, 1]
    assert result["search"]["R@1"].per_query.tolist() == [1, 1, 1, 0]
    assert result["search"]["mean rank"].value == 1.25


def naive(scores: np.ndarray, image_of: np.ndarray) -> dict[str, dict[str, float]]:
    """Sort one query after the other, like evaluation scripts of the field; scores without ties."""
    annotation = [
        min(np.flatnonzero(image_of[np.argsort(-row)] == image)) + 1 for image, row in enumerate(scores)
    ]
    search = [
        int(np.flatnonzero(np.argsort(-scores[:, caption]) == image)[0]) + 1
        for caption, image in enumerate(image_of)
    ]
    return {
        direction: {
            **{f"R@{k}": float(np.mean(np.array(ranks) <= k)) for k in (1, 5, 10)},
            "median rank": float(np.median(ranks)),
            "mean rank": float(np.mean(ranks)),
        }
        for direction, ranks in (("annotation", annotation), ("search", search))
    }


@pytest.mark.parametrize("kind", ["dense", "embeddings"])
def test_five_folds_average_what_each_fold_gives_alone(kind):
    rng = np.random.default_rng(0)
    image_of = np.repeat(np.arange(50), 5)
    images = rng.standard_normal((50, 8)).astype(np.float32)
    captions = images[image_of] + 1.5 * rng.standard_normal((250, 8)).astype(np.float32)
    scores = Products(images, captions) if kind == "embeddings" else Dense(images @ captions.T)
    selection = select("any of five", image_of)
    whole = both_directions(scores, selection, MEASURES)
    parts = [
        naive(images[f : f + 10] @ captions[5 * f : 5 * f + 50].T, np.repeat(np.arange(10), 5))
        for f in range(0, 50, 10)
    ]
    averaged = over_folds(scores, selection, MEASURES)
    expected = naive(images @ captions.T, image_of)
    for direction in ("annotation", "search"):
        for name in MEASURES:
            assert whole[direction][name].value == pytest.approx(expected[direction][name])
            mean = np.mean([part[direction][name] for part in parts])
            assert averaged[direction][name] == pytest.approx(mean)


@pytest.mark.parametrize("most", [200, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("direction", ["image_to_caption", "caption_to_image"])
def test_eccv_caption_positives_agree_with_sorting_one_query_at_a_time(
    real_data: Path, direction: str, most: int | None
):
    """mAP@R, R-precision, R@1 and S@k of seeded random scores, with the published many-to-many positives."""
    folder = real_data / "eccv_caption"
    positives = json.loads((folder / f"eccv_{direction}.json").read_text())
    assert len(positives) == (1261 if direction == "image_to_caption" else 1332)
    positives = dict(list(positives.items())[:most])
    originals = json.loads((folder / f"original_{direction}.json").read_text())
    originals = {
        query: positive for query, positive in originals.items() if most is None or query in positives
    }
    items = sorted({item for positive in (*positives.values(), *originals.values()) for item in positive})
    number = {item: n for n, item in enumerate(items)}
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((len(positives), len(items)), dtype=np.float32)
    # Positives score higher, so that every measure is far from 0 and from 1.
    for row, positive in zip(scores, positives.values(), strict=True):
        row[[number[item] for item in positive]] += 2
    rows = [(q, number[i]) for q, positive in enumerate(positives.values()) for i in positive]
    is_original = [i in originals.get(query, []) for query, positive in positives.items() for i in positive]
    query, item = np.array(rows).T
    judgments = judged(
        query, item, np.ones(len(rows)), queries=len(positives), items=len(items), original=is_original
    )
    ranked, _ = from_tiles(Dense(scores), judgments, None)
    names = ["mAP@R", "R-precision", "R@1", "S@5"]
    figures = evaluate(ranked, names)

    expected: dict[str, list[float]] = {name: [] for name in names}
    for q, (name, positive) in enumerate(positives.items()):
        ranking = [items[i] for i in np.argsort(-scores[q])[: len(positive)]]
        right = [item in set(positive) for item in ranking]
        expected["mAP@R"].append(
            sum(sum(right[: n + 1]) / (n + 1) for n, r in enumerate(right) if r) / len(positive)
        )
        expected["R-precision"].append(sum(right) / len(positive))
        first = originals.get(name, [])
        top = items[int(np.argmax(scores[q]))]
        if set(first) & set(positive):
            expected["R@1"].append(float(top in first and top in positive))
        five = [items[i] for i in np.argsort(-scores[q])[:5]]
        expected["S@5"].append(float(bool(set(five) & set(positive))))
    for name in names:
        assert figures[name].queries == len(expected[name])
        assert figures[name].value == pytest.approx(np.mean(expected[name]), abs=1e-9)
        assert 0.02 < figures[name].value < 0.98
