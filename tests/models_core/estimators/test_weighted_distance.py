"""The weighted distance of wholes and parts: eq. 1 and 2 compared with loops, alpha = 1 with whole images."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from models_core.estimators import weighted_distance
from models_core.estimators.base import FitContext
from models_core.estimators.cca import CCA
from models_core.estimators.weighted_distance import (
    PartDistances,
    WeightedDistance,
    WeightedDistanceSettings,
    distances_of_sentences,
)
from phrasebox.scoring.ranking import top_k
from tests.models_core.estimators.phrases import phrase_rows, pictures_with_phrases
from tests.models_core.estimators.vectors import all_scores

SETTINGS = WeightedDistanceSettings(components=6)


@pytest.fixture(scope="module")
def learned():
    """A model with training data, new images with one caption each, and the same with some parts missing."""
    train, new, pairs = pictures_with_phrases(60, held_out=12)
    context = FitContext(auxiliary={"regions": pairs})
    return WeightedDistance(SETTINGS).fit(train, new, context), train, new, context


def in_parts(new):
    """Return the same with a caption without phrases, an image without regions, and an unknown phrase."""
    regions = new.views["regions"].take(np.arange(12))
    regions.end[4] = regions.begin[4]
    texts = [["red", "t1"], ["t2"], ["blue", "t0"], ["nobody"], ["t2"], ["old", "t5"], ["t1"]]
    owner = np.array([0, 0, 2, 2, 3, 3, 3])
    views = {**new.views, "regions": regions, "phrases": phrase_rows(texts)}
    return dataclasses.replace(new, views=views, links={**new.links, ("phrases", "captions"): owner})


@pytest.mark.parametrize("gamma", [1.0, 1.5])
def test_eq_1_is_the_mean_distance_of_phrases_to_their_nearest_regions(learned, gamma):
    model, _, new, _ = learned
    data = in_parts(new)
    model = WeightedDistance.from_state(dataclasses.replace(SETTINGS, gamma=gamma), model.state())
    result = model.part_distances(data).of_images(slice(None))
    phrases = model.parts_.embed_phrases(data.views["phrases"])
    owner = data.links["phrases", "captions"]
    reported = sorted(set(owner.tolist()))
    assert 0 < len(reported) < 12
    for caption in range(12):
        values = np.flatnonzero(owner == caption)
        for image in range(12):
            rows = data.views["regions"].item(image)
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            placed = (rows - model.parts_.regions_.mean) @ model.parts_.regions_.weights
            placed /= np.linalg.norm(placed, axis=1, keepdims=True)
            if not len(values):
                mean = sum(result[row, image] for row in reported) / len(reported)
                assert result[caption, image] == pytest.approx(mean) and mean > 0, (caption, image)
                continue
            total = 0.0
            for index in values:
                known = phrases[index].any() and len(placed)
                total += min(np.sum((phrases[index] - region) ** 2) for region in placed) if known else 2.0
            expected = total / len(values) ** gamma
            assert result[caption, image] == pytest.approx(expected, abs=1e-5), (caption, image)


def test_sentences_without_phrases_are_ranked_by_the_whole_and_not_first(learned):
    model, _, new, _ = learned
    data = in_parts(new)
    none = np.setdiff1d(np.arange(12), data.links["phrases", "captions"])
    scores = all_scores(model, data, "annotation")
    whole = all_scores(model.whole_, data, "annotation")
    np.testing.assert_array_equal(
        np.argsort(-scores[:, none], axis=1, kind="stable"),
        np.argsort(-whole[:, none], axis=1, kind="stable"),
    )
    # Between the nearest and the farthest of those with phrases, by their parts only.
    alone = WeightedDistance.from_state(dataclasses.replace(SETTINGS, alpha=0.0), model.state())
    parts = all_scores(alone, data, "annotation")
    others = np.delete(parts, none, axis=1)
    assert (parts[:, none] <= others.max(axis=1)[:, None]).all()
    assert (parts[:, none] >= others.min(axis=1)[:, None]).all()


def test_where_no_sentence_has_phrases_all_parts_are_equally_far():
    counts = sparse.csr_matrix((3, 2))
    assert (distances_of_sentences(counts, np.ones((2, 4)), 1.5) == np.zeros((3, 4))).all()


def test_eq_2_weighs_wholes_and_parts(learned):
    model, _, new, _ = learned
    data = in_parts(new)
    scores = all_scores(model, data, "annotation")
    images = model.whole_.embed("images", data.images)
    captions = model.whole_.embed("captions", data.captions)
    parts = model.part_distances(data).of_images(slice(None))
    for image in range(12):
        for caption in range(12):
            x, y = (value / np.linalg.norm(value) for value in (images[image], captions[caption]))
            whole = np.sum((x - y) ** 2)
            assert scores[image, caption] == pytest.approx(
                -(0.7 * whole + 0.3 * parts[caption, image]), abs=1e-5
            )
    np.testing.assert_array_equal(all_scores(model, data, "search"), scores.T)


def test_what_an_image_shows_of_phrases_is_the_same_to_the_bit_in_any_block(learned):
    model, _, new, _ = learned
    parts = model.part_distances(in_parts(new))
    whole = parts.of_images(slice(0, 12))
    for together in (1, 5):
        blocks = [parts.of_images(slice(start, start + together)) for start in range(0, 12, together)]
        np.testing.assert_array_equal(np.concatenate(blocks, axis=1), whole)


def test_a_large_matrix_is_computed_by_blocks_of_images(learned, monkeypatch):
    """Never more than a block with all captions; a score has one value; copies of an image tie."""
    model, _, new, _ = learned
    data = in_parts(new)
    regions = data.views["regions"]
    images = data.views["images"].copy()
    for value in (regions.begin, regions.end, images):
        value[11] = value[0]
    data = dataclasses.replace(data, views={**data.views, "images": images})
    held = all_scores(model, data, "annotation")
    requested: list[int] = []
    of_images = PartDistances.of_images

    def counted(self: PartDistances, images: slice) -> NDArray[np.float64]:
        requested.append(images.stop - images.start)
        return of_images(self, images)

    monkeypatch.setattr(weighted_distance, "_HELD", 12 * 12 - 1)
    monkeypatch.setattr(PartDistances, "of_images", counted)
    for together in (1, 5):
        monkeypatch.setattr(weighted_distance, "_ENTRIES", 12 * together)
        scores = model.score(data, direction="annotation")
        assert not requested and (scores.shape, scores.tile_shape) == ((12, 12), (together, 12))
        whole = scores.tile(slice(None), slice(None))
        # Cosines of wholes are products in single precision, whose last bits depend on the block's shape.
        np.testing.assert_allclose(whole, held, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(whole[11], whole[0])
        for rows, columns in ((slice(3, 9), slice(2, 7)), (slice(4, 4), slice(0, 12))):
            np.testing.assert_array_equal(scores.tile(rows, columns), whole[rows, columns])
            np.testing.assert_array_equal(scores.turned().tile(columns, rows), whole[rows, columns].T)
        pairs = np.array([11, 0, 7, 7]), np.array([1, 4, 0, 11])
        np.testing.assert_array_equal(scores.at(*pairs), whole[pairs])
        chosen, captions = np.array([5, 1, 11]), np.array([8, 0, 3, 4])
        some = scores.turned().select(captions, chosen)
        np.testing.assert_allclose(
            some.tile(slice(0, 4), slice(0, 3)), whole[chosen][:, captions].T, atol=1e-6
        )
        again = some.turned().select(np.array([2, 0]), np.array([3, 1]))
        np.testing.assert_allclose(
            again.tile(slice(0, 2), slice(0, 2)), whole[[[11], [5]], [4, 0]], atol=1e-6
        )
        best = top_k(model.score(data, direction="search"), 3)
        np.testing.assert_array_equal(best.items, top_k(np.ascontiguousarray(whole.T), 3).items)
        assert max(requested) == together
        requested.clear()


def test_with_alpha_1_it_is_whole_image_cca_and_needs_no_parts(learned):
    _, train, new, context = learned
    settings = dataclasses.replace(SETTINGS, alpha=1.0)
    model = WeightedDistance(settings).fit(train, new, context)
    plain_value = CCA(settings.whole()).fit(train, new, FitContext())
    bare = dataclasses.replace(new, views={name: new.views[name] for name in ("images", "captions")})
    for direction in ("annotation", "search"):
        ours, theirs = (all_scores(row, bare, direction) for row in (model, plain_value))
        np.testing.assert_allclose(ours, 2 * theirs - 2, atol=1e-9)
        np.testing.assert_array_equal(np.argsort(-ours, axis=1), np.argsort(-theirs, axis=1))


def test_without_parts_it_is_refused(learned):
    model, train, new, _ = learned
    bare = dataclasses.replace(new, views={name: new.views[name] for name in ("images", "captions")})
    with pytest.raises(ValueError, match="give regions of the images, and a layer with mentions"):
        all_scores(model, bare, "search")
    with pytest.raises(ValueError, match="learns from regions with phrases too; give regions and a layer"):
        WeightedDistance(SETTINGS).fit(train, new, FitContext())
