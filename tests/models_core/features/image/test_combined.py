"""The combined features: histograms, local descriptors, and what is learned from pictures."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from PIL import Image

from models_core.checked_fields import BadField
from models_core.features.image import combined
from models_core.features.image.combined import CombinedSettings, colour_histogram, learn_combined, unreduced
from models_core.features.image.local_descriptors import brightness_free, c_sift, hog, rgb_sift
from models_core.features.image.pictures import read_picture
from models_core.phase_cache import PhaseCache

SMALL = CombinedSettings(
    longer_side=64, gist_side=32, words=4, word_numbers=8, codebook_pictures=5, codebook_points=20
)


@pytest.fixture
def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (40, 52, 3), dtype=np.uint8)


@pytest.mark.parametrize("bins", [8, 5])
def test_the_histogram_is_numpys(picture, bins):
    edges = np.ceil(np.arange(bins + 1) * 256 / bins)
    expected, _ = np.histogramdd(picture.reshape(-1, 3), bins=[edges] * 3)
    result = colour_histogram(picture, bins)
    np.testing.assert_allclose(result, expected.ravel() / expected.sum(), atol=1e-7)
    assert len(colour_histogram(picture)) == 512


def test_local_descriptors_lie_on_a_grid(picture):
    assert rgb_sift(picture, 6, 4.0).shape == c_sift(picture, 6, 4.0).shape == (7, 9, 384)
    assert hog(picture).shape == (4, 5, 36)
    np.testing.assert_allclose(np.linalg.norm(hog(picture), axis=2), 1, atol=0.02)
    grey = np.repeat(picture[:, :, :1], 3, axis=2)
    result = rgb_sift(grey, 6, 4.0)
    np.testing.assert_array_equal(result[..., :128], result[..., 256:])
    assert not c_sift(grey, 6, 4.0)[..., :256].any()


def test_hog_tells_upright_edges_where_they_are(picture):
    still = np.zeros((40, 56, 3), np.uint8)
    still[:, 40:] = 255
    result = hog(still)
    assert result.shape == (4, 6, 36) and not result[:, :3].any() and result[:, 4].any(axis=1).all()
    np.testing.assert_allclose(result[0], result[3], atol=1e-6)


def test_shadows_leave_the_quotients_of_colours():
    light = np.full((20, 20, 3), (200, 120, 60), np.uint8)
    dark = light // 2
    difference = brightness_free(light).astype(int) - brightness_free(dark)
    assert np.abs(difference[..., :2]).max() <= 1 and difference[..., 2].min() > 50


def test_vectors_are_the_reduced_parts_side_by_side(paths, tmp_path):
    learned = learn_combined(paths, SMALL, cache=PhaseCache(tmp_path))
    assert learned.dimensions == 5 * (len(paths) - 1)
    pictures = [read_picture(path) for path in paths[:3]]
    result = learned.describe(pictures)
    assert result.shape == (3, learned.dimensions) and result.dtype == np.float32
    whole = unreduced(pictures[1], SMALL, learned.codebooks)
    assert [len(whole[part]) for part in SMALL.parts] == [960, 512, 32, 32, 32]
    start = 0
    for part in SMALL.parts:
        value = (whole[part] - learned.axes[part].mean) @ learned.axes[part].axes
        np.testing.assert_allclose(
            result[1, start : start + len(value)], value / np.linalg.norm(value), atol=1e-5, err_msg=part
        )
        start += len(value)
    plain_value = learn_combined(paths, dataclasses.replace(SMALL, unit=False), cache=PhaseCache(tmp_path))
    np.testing.assert_allclose(plain_value.describe(pictures)[1, -len(value) :], value, atol=1e-5)


def test_what_is_learned_depends_on_seed_and_contents_alone(paths):
    settings = dataclasses.replace(SMALL, parts=("rgb", "hog"), pca_pictures=4)
    first = learn_combined(paths, settings)
    assert first.digest == learn_combined([*paths[::-1], paths[3]], settings).digest
    assert first.lengths == {"rgb": 3, "hog": 3}
    assert first.digest != learn_combined(paths, dataclasses.replace(settings, seed=1)).digest


def test_what_was_stopped_goes_on_after_the_last_block(paths, tmp_path, monkeypatch):
    monkeypatch.setattr(combined, "_BLOCK", 2)
    settings = dataclasses.replace(SMALL, parts=("rgb", "hog"))
    seen: list[str] = []

    def counted(picture, *rest):
        seen.append(picture.digest)
        return unreduced(picture, *rest)

    def stop(phase, done, of):
        if phase == "describing pictures" and done == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(combined, "unreduced", counted)
    with pytest.raises(KeyboardInterrupt):
        learn_combined(paths, settings, cache=PhaseCache(tmp_path, stop))
    assert len(seen) == 4
    learned = learn_combined(paths, settings, cache=PhaseCache(tmp_path))
    assert len(seen) == len(set(seen)) == len(paths)
    assert learned.digest == learn_combined(paths, settings).digest


def test_pictures_that_teach_nothing_are_refused(paths, tmp_path):
    with pytest.raises(ValueError, match="1 different pictures to learn from; expected 2 or more"):
        learn_combined([paths[0], paths[0]], SMALL)
    with pytest.raises(ValueError, match="codebook of hog: 9999 clusters were requested"):
        learn_combined(paths, dataclasses.replace(SMALL, parts=("hog",), words=9999))
    turned = tmp_path / "turned.png"
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))
    noise.save(tmp_path / "noise.png")
    noise.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(turned)
    with pytest.raises(ValueError, match="part rgb is the same in all 2 pictures .* leave it out by the set"):
        learn_combined([turned, tmp_path / "noise.png"], dataclasses.replace(SMALL, parts=("rgb",)))


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"parts": ()}, "parts is"),
        ({"parts": ("gits",)}, "parts is .*gist, rgb, csift, rgbsift, hog"),
        ({"parts": ("rgb", "rgb")}, "expected each part once"),
        ({"power": 2.0}, "power is 2.0: expected a number, more than 0, at most 1"),
        ({"words": 0}, "words is 0: expected a whole number, 1 or more"),
        ({"learn_from": "test"}, "learn_from is 'test': expected one of train, all"),
    ],
)
def test_settings_that_cannot_be_are_refused(setting, says):
    with pytest.raises(BadField, match=says):
        CombinedSettings(**setting)
