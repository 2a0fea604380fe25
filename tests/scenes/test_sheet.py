"""A contact sheet shows every picture and fills its width."""

from __future__ import annotations

import pytest
from PIL import Image

from scenes.sheet import contact_sheet

COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (200, 200, 0), (0, 200, 200), (200, 0, 200)]
SIZES = [(500, 375), (375, 500), (500, 333), (500, 375), (400, 500), (500, 375)]


def test_every_picture_is_there_and_none_is_distorted():
    pictures = [Image.new("RGB", size, colour) for size, colour in zip(SIZES, COLOURS, strict=True)]
    sheet = contact_sheet(pictures, width=900, row=200)
    assert sheet.width == 900
    pixels = list(sheet.get_flattened_data())
    for (wide, high), colour in zip(SIZES, COLOURS, strict=True):
        places = [(k % 900, k // 900) for k, pixel in enumerate(pixels) if pixel == colour]
        across = max(x for x, _ in places) - min(x for x, _ in places) + 1
        down = max(y for _, y in places) - min(y for _, y in places) + 1
        assert across / down == pytest.approx(wide / high, rel=0.02)
        assert len(places) == across * down


def test_a_sheet_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no pictures to lay out"):
        contact_sheet([])
