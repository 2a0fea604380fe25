"""Many pictures on one sheet, in rows that fill its width."""

from collections.abc import Iterable, Sequence

from PIL import Image

#: Paper white, pixels between pictures.
_GROUND = (252, 251, 248)
_GAP = 8


def contact_sheet(pictures: Iterable[Image.Image], *, width: int = 1280, row: int = 220) -> Image.Image:
    """Return `pictures` (mode RGB) in order on a sheet `width` pixels wide, in rows about `row` pixels high.

    Each row is scaled to fill the width; the last is not if that would make it higher. Raises ValueError
    without pictures.
    """
    rows: list[list[Image.Image]] = [[]]
    for picture in pictures:
        if rows[-1] and _height(rows[-1], width) <= row:
            rows.append([])
        rows[-1].append(picture)
    if not rows[0]:
        raise ValueError("no pictures to lay out; expected one at least")
    strips = [_strip(images, width, min(_height(images, width), row)) for images in rows]
    sheet = Image.new("RGB", (width, _GAP + sum(strip.height + _GAP for strip in strips)), _GROUND)
    y = _GAP
    for strip in strips:
        sheet.paste(strip, (0, y))
        y += strip.height + _GAP
    return sheet


def _height(pictures: Sequence[Image.Image], width: int) -> int:
    """Return the height at which `pictures` side by side, with gaps, are `width` wide."""
    across = sum(picture.width / picture.height for picture in pictures)
    return round((width - _GAP * (len(pictures) + 1)) / across)


def _strip(pictures: Sequence[Image.Image], width: int, height: int) -> Image.Image:
    strip = Image.new("RGB", (width, height), _GROUND)
    x = float(_GAP)
    for picture in pictures:
        wide = picture.width * height / picture.height
        size = (round(x + wide) - round(x), height)
        strip.paste(picture.resize(size, Image.Resampling.LANCZOS), (round(x), 0))
        x += wide + _GAP
    return strip
