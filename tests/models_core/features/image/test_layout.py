"""Cheap vectors of regions: their content, and which boxes they refuse."""

import numpy as np
import pytest
from PIL import Image

from models_core.features.image.layout import LayoutSettings, RegionLayout
from models_core.features.image.pictures import read_picture

RED, BLUE = (200, 20, 30), (10, 40, 220)


@pytest.fixture
def picture(tmp_path):
    """Red on the left, blue on the right, 60 x 40."""
    image = Image.new("RGB", (60, 40), RED)
    image.paste(BLUE, (30, 0, 60, 40))
    image.save(tmp_path / "halves.png")
    return read_picture(tmp_path / "halves.png")


def test_a_region_is_described_by_its_colours_what_is_around_it_and_its_place(picture):
    layout = RegionLayout(LayoutSettings(cells=2))
    left, both = layout.describe_regions(picture, [(11, 11, 20, 20), (1, 1, 60, 40)])
    assert len(left) == len(both) == layout.dimensions == 3 * 4 + 64 + 32 + 3 + 7
    np.testing.assert_allclose(left[:3] * 2 * 255, RED, atol=0.5)
    np.testing.assert_allclose(both[:6] * 2 * 255, [*RED, *BLUE], atol=0.5)
    shares = left[12:76] ** 2
    assert shares.max() == pytest.approx(1) and np.count_nonzero(shares) == 1
    assert sorted(both[12:76][both[12:76] > 0] ** 2) == pytest.approx([0.5, 0.5])
    assert (left[76:108] == 0).all(), "a plain region has no gradients"
    assert both[76:108].any()
    np.testing.assert_allclose(left[108:111], 0, atol=1e-5)
    np.testing.assert_allclose(2 * left[-7:], [1 / 6, 1 / 4, 1 / 3, 1 / 2, 1 / 6, 1 / 4, (1 / 24) ** 0.5])


def test_the_frame_is_what_lies_around_a_region(picture):
    layout = RegionLayout()
    (result,) = layout.describe_regions(picture, [(21, 11, 30, 30)])
    around = result[3 * 16 + 64 + 32 : 3 * 16 + 64 + 32 + 3]
    # A quarter of its width, 2.5 pixels, is rounded to 2; so two of its 14 columns are blue.
    share = 2 * 30 / (14 * 30 - 10 * 20)
    np.testing.assert_allclose(around, (np.array(BLUE) - RED) / 255 * share, atol=1e-5)


def test_a_box_outside_of_the_picture_is_refused(picture):
    for box in ((0, 1, 5, 5), (1, 1, 61, 5), (5, 5, 4, 6)):
        with pytest.raises(ValueError, match="is not within picture .*halves.png of 60 x 40"):
            RegionLayout().describe_regions(picture, [box])
