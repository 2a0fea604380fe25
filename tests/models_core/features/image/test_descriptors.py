"""Colours, textures and shapes at the points of a picture."""

import numpy as np
import pytest

from models_core.features.image import descriptors
from models_core.features.image.pictures import BadPicture, Picture, pixels, read_picture
from tests.models_core.features.image.conftest import draw


def striped(angle: float, period: float = 8.0, side: int = 96) -> np.ndarray:
    y, x = np.mgrid[:side, :side]
    next_round = 128 + 100 * np.sin((x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / period)
    return np.repeat(next_round.astype(np.uint8)[..., None], 3, axis=2)


def test_colours_are_cielab_coordinates():
    colour = descriptors.colour(np.array([[[255, 255, 255], [0, 0, 0], [255, 0, 0]]], dtype=np.uint8))
    np.testing.assert_allclose(
        colour[0], [[100.0, 0.0, 0.0], [0.0, 0.0, 0.0], [53.24, 80.09, 67.2]], atol=0.1
    )


def test_texture_does_not_change_as_the_stripes_turn_by_a_filters_angle():
    flat, turned = (descriptors.texture(striped(angle))[30:66, 30:66] for angle in (0, np.pi / 3))
    np.testing.assert_allclose(turned.mean(axis=(0, 1)), flat.mean(axis=(0, 1)), atol=0.15)


def test_texture_tells_fine_from_coarse():
    fine, coarse = (
        descriptors.texture(striped(0, period))[30:66, 30:66].mean(axis=(0, 1)) for period in (4, 24)
    )
    assert fine[0] > fine[2] and coarse[2] > coarse[0]


def test_texture_does_not_feel_light_and_contrast():
    picture = striped(0.4)
    darker = (picture // 2 + 10).astype(np.uint8)
    np.testing.assert_allclose(descriptors.texture(darker), descriptors.texture(picture), atol=0.05)


def test_a_picture_of_one_colour_has_no_texture_and_no_shape():
    plain_value = np.full((40, 48, 3), 90, dtype=np.uint8)
    assert not descriptors.texture(plain_value).any()
    assert not descriptors.shape(plain_value).any()


def test_shapes_stand_on_a_grid_that_covers_the_picture():
    shape = descriptors.shape(striped(0.3)[:40, :50])
    assert shape.shape == (10, 12, 128)
    np.testing.assert_allclose(np.linalg.norm(shape[2:-2, 2:-2], axis=2), 512, rtol=0.05)


def test_shapes_move_with_the_picture():
    picture = np.random.default_rng(0).integers(0, 255, (96, 96, 3), dtype=np.uint8)
    whole, moved = descriptors.shape(picture), descriptors.shape(picture[8:, 4:])
    np.testing.assert_array_equal(moved[6:14, 6:14], whole[8:16, 7:15])


def test_pictures_are_scaled_to_their_longer_side(tmp_path):
    picture = read_picture(draw(tmp_path / "a.png", "noise", 1, (80, 60)))
    assert pixels(picture, 40).shape == (30, 40, 3)
    assert pixels(picture, 160).shape == (120, 160, 3)
    assert pixels(picture, 80).shape == (60, 80, 3)


def test_what_is_no_picture_is_named(tmp_path):
    whole = draw(tmp_path / "a.png", "noise", 1).read_bytes()
    for name, data in (("cut.png", whole[:500]), ("text.jpg", b"no picture"), ("empty.png", b"")):
        with pytest.raises(BadPicture, match=f"{name} cannot be read"):
            pixels(Picture(tmp_path / name, data, ""), 64)
    with pytest.raises(BadPicture, match="absent.png cannot be read: No such file"):
        read_picture(tmp_path / "absent.png")
    with pytest.raises(
        BadPicture, match="thin.png is 400 x 10; scaled to 64, one side is shorter than 16 pixels"
    ):
        pixels(read_picture(draw(tmp_path / "thin.png", "noise", 1, (400, 10))), 64)
