"""Vectors of pictures from a network: crops, colours, pooling, regions; invalid input is reported."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models_core.features.image.cnn import CNN, CNNSettings, pooled_maps, rmac_regions
from models_core.features.image.networks import BadWeights
from models_core.features.image.pictures import BadPicture, Picture, read_picture
from tests.models_core.features.image.networks import colours, saved, squeezenet

#: Colours are unchanged, from 0 to 1.
SETTINGS = CNNSettings(shorter=8, mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0), output="means")


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    """16 x 8 pixels: red from left to right in eight steps, green in the lower half, no blue."""
    values = np.zeros((8, 16, 3), np.uint8)
    values[:, :, 0] = np.arange(16) // 2 * 30
    values[4:, :, 1] = 200
    Image.fromarray(values).save(tmp_path / "p.png")
    return read_picture(tmp_path / "p.png")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return colours(tmp_path / "colours.onnx")


def test_the_square_in_the_middle_is_looked_at(network, picture):
    result = CNN(network, SETTINGS).describe([picture, picture])
    red = sum([60, 60, 90, 90, 120, 120, 150, 150]) / 8 / 255
    np.testing.assert_allclose(result, [[red, 100 / 255, 0]] * 2, atol=1e-6)


def test_ten_crops_are_the_corners_the_middle_and_their_mirror_images(network, picture):
    settings = dataclasses.replace(SETTINGS, crops=10, output="maps", pooling="max")
    result = CNN(network, settings).describe([picture])
    # The largest red of the left, middle and right squares: 90, 150 and 210, twice as often at the sides.
    red = (150 + 2 * 90 + 2 * 210) / 5 / 255
    np.testing.assert_allclose(result, [[red, 200 / 255, 0]], atol=1e-6)


def test_colours_are_scaled_and_blue_may_come_first(network, picture):
    settings = dataclasses.replace(SETTINGS, mean=(0.5, 0.25, 0.125), deviation=(0.5, 0.5, 0.25))
    plain_value = CNN(network, SETTINGS).describe([picture])[0]
    result = CNN(network, settings).describe([picture])[0]
    np.testing.assert_allclose(result, (plain_value - [0.5, 0.25, 0.125]) / [0.5, 0.5, 0.25], atol=1e-5)
    turned = CNN(network, dataclasses.replace(settings, blue_first=True)).describe([picture])[0]
    np.testing.assert_allclose(turned, result[::-1], atol=1e-6)


def test_regions_are_cut_out_and_scaled_to_the_square(network, picture):
    result = CNN(network, SETTINGS).describe_regions(picture, [(1, 1, 2, 4), (15, 5, 16, 8), (1, 1, 16, 8)])
    np.testing.assert_allclose(result[0], 0, atol=1e-6)
    np.testing.assert_allclose(result[1], [210 / 255, 200 / 255, 0], atol=1e-6)
    assert result[2, 0] == pytest.approx(105 / 255, abs=0.01)
    with pytest.raises(ValueError, match=r"box \(0, 1, 4, 4\) is not within picture .*p.png of 16 x 8"):
        CNN(network, SETTINGS).describe_regions(picture, [(0, 1, 4, 4)])


def test_a_network_of_a_fixed_number_of_pictures_is_given_as_many(tmp_path, picture):
    fixed = CNN(colours(tmp_path / "fixed.onnx", batch=4), dataclasses.replace(SETTINGS, crops=10))
    free = CNN(colours(tmp_path / "free.onnx"), dataclasses.replace(SETTINGS, crops=10))
    np.testing.assert_allclose(fixed.describe([picture]), free.describe([picture]), atol=1e-6)


def test_the_digest_is_of_weights_and_settings(network, tmp_path):
    other_colours = colours(tmp_path / "other.onnx", side=4)
    digests = {
        CNN(network, SETTINGS).digest,
        CNN(network, dataclasses.replace(SETTINGS, crops=10)).digest,
        CNN(other_colours, SETTINGS).digest,
    }
    assert len(digests) == 3 and CNN(network, SETTINGS).digest in digests


def test_rmac_adds_up_regions_of_three_scales():
    maps = np.random.default_rng(0).random((2, 5, 6, 9)).astype(np.float32)
    regions = rmac_regions(6, 9)
    # Side 2 * 6 / (scale + 1); one more along the longer side overlaps by a half, two more by 3/4.
    assert {side for _, _, side in regions} == {6, 4, 2}
    assert [region for region in regions if region[2] == 6] == [(0, 0, 6), (0, 3, 6)]
    assert len(regions) == 1 * 2 + 2 * 3 + 4 * 5
    assert all(0 <= y <= 6 - side and 0 <= x <= 9 - side for y, x, side in regions)
    expected = np.zeros((2, 5))
    for y, x, side in regions:
        own_max = maps[:, :, y : y + side, x : x + side].reshape(2, 5, -1).max(axis=2)
        expected += own_max / np.linalg.norm(own_max, axis=1, keepdims=True)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(pooled_maps(maps, "rmac"), expected, atol=1e-5)
    turned = pooled_maps(maps.transpose(0, 1, 3, 2).copy(), "rmac")
    np.testing.assert_allclose(turned, expected, atol=1e-5)


def test_what_is_no_network_for_pictures_is_named(network, tmp_path, picture):
    (tmp_path / "torn.onnx").write_bytes(network.read_bytes()[:40])
    with pytest.raises(BadWeights, match=r"torn.onnx: is no ONNX network that can be run \("):
        CNN(tmp_path / "torn.onnx")
    words = saved([], [("x", [1, 7])], [("x", [1, 7])], {}, tmp_path / "words.onnx")
    with pytest.raises(BadWeights, match=r"takes x \[1, 7\] of tensor\(float\); expected one input"):
        CNN(words)
    with pytest.raises(BadWeights, match="has no output 'fc7'; it has maps, means"):
        CNN(network, CNNSettings(output="fc7"))
    with pytest.raises(BadWeights, match="takes pictures of 8 x 8; scale them to as much at least"):
        CNN(network, CNNSettings(shorter=4))
    (tmp_path / "p.txt").write_text("no picture")
    with pytest.raises(BadPicture, match=r"p.txt cannot be read"):
        CNN(network, SETTINGS).describe([read_picture(tmp_path / "p.txt")])


def test_squeezenet_gives_the_vectors_that_others_computed(real_data, tmp_path):
    names = (real_data / "features" / "flickr8k_1000_names.txt").read_text().split()[:4]
    theirs = np.load(real_data / "features" / "flickr8k_1000_squeezenet_fire9_512.npy")[:4]
    caffe = CNNSettings(
        crops=0, mean=(123.0, 117.0, 104.0), deviation=(1.0, 1.0, 1.0), scale=1.0, blue_first=True
    )
    file = squeezenet(real_data / "squeezenet" / "squeezenet_v1.0.npz", tmp_path / "squeezenet.onnx")
    network = CNN(file, caffe)
    folder = real_data / "flickr8k" / "thumbnails"
    ours = network.describe([read_picture(folder / name) for name in names])
    for own_our, another in zip(ours, theirs, strict=True):
        # The reference scaled the whole picture to a square too, with another filter.
        assert own_our @ another / np.linalg.norm(own_our) / np.linalg.norm(another) > 0.98
