"""Clothes, drawn over a trunk and its limbs."""

from collections.abc import Callable
from dataclasses import dataclass

from scenes.art.canvas import Pen, Point, smooth
from scenes.art.colours import NAMED_COLOURS, WHITE, Colour, darker, lighter
from scenes.art.trunk import Joints, Trunk, along_limb

#: Where sleeves end: 0 at the shoulder, 1 at the elbow, 2 at the wrist.
_SLEEVES = {
    "t-shirt": 0.62, "shirt": 1.94, "sweater": 1.96, "tank top": 0.0, "dress": 0.45, "sundress": 0.0,
    "wedding dress": 0.0, "swimsuit": 0.0, "jacket": 1.98, "coat": 1.98, "suit": 1.97, "vest": 0.0,
        "jersey": 0.7,
}  # fmt: skip

#: How far down the leg garments reach: 1 at the knee, 2 at the ankle.
_HEMS = {
    "pants": 1.94, "jeans": 1.94, "shorts": 0.78, "swim trunks": 0.62, "skirt": 0.86, "long skirt": 1.6,
    "dress": 0.98, "sundress": 0.92, "wedding dress": 2.02, "coat": 0.62,
}  # fmt: skip

_DENIM: dict[str, Colour] = {"blue": (78, 104, 150), "black": (62, 64, 78), "gray": (126, 134, 148)}


@dataclass(frozen=True, slots=True)
class Garment:
    """One garment. `slot` is its position on the body, `style` its cut; `trim` is the second colour, if
    any."""

    slot: str
    style: str
    colour: str
    trim: str = ""
    pattern: str = "plain"

    @property
    def paint(self) -> Colour:
        """Colour of the garment; jeans have shades of denim."""
        return _DENIM[self.colour] if self.style == "jeans" else NAMED_COLOURS[self.colour]

    @property
    def second(self) -> Colour:
        """Colour of its trim; without one, a darker shade of its own."""
        return NAMED_COLOURS[self.trim] if self.trim else darker(self.paint, 0.2)


def trouser(
    pen: Pen, garment: Garment, hip: Point, knee: Point, ankle: Point, thick: float, shade: float
) -> None:
    """One leg of trousers or shorts; skirts are drawn with the trunk."""
    if garment.style not in ("pants", "jeans", "shorts", "swim trunks"):
        return
    hem = _HEMS[garment.style]
    paint = darker(garment.paint, shade)
    end = along_limb((hip, knee, ankle), hem)
    if hem <= 1:
        pen.limb(hip, end, 0.054 * thick, 0.050 * thick, paint)
        return
    pen.limb(hip, knee, 0.052 * thick, 0.042 * thick, paint)
    pen.limb(knee, end, 0.042 * thick, 0.033 * thick, paint)
    if garment.style == "jeans":
        cuff = along_limb((hip, knee, ankle), hem - 0.03)
        pen.limb(cuff, end, 0.034 * thick, 0.034 * thick, lighter(paint, 0.12))


def sleeve(
    pen: Pen, garment: Garment, shoulder: Point, elbow: Point, hand: Point, thick: float, shade: float
) -> None:
    """Draw one sleeve, of the length of the garment's style."""
    length = _SLEEVES.get(garment.style, 0.0)
    if not length:
        return
    paint = darker(garment.paint, shade)
    loose = 1.12 if garment.slot == "coat" else 1.0
    end = along_limb((shoulder, elbow, hand), length)
    if length <= 1:
        pen.limb(shoulder, end, 0.038 * thick * loose, 0.037 * thick * loose, paint)
    else:
        pen.limb(shoulder, elbow, 0.038 * thick * loose, 0.033 * thick * loose, paint)
        pen.limb(elbow, end, 0.033 * thick * loose, 0.028 * thick * loose, paint)
    if garment.pattern == "striped":
        for t in (0.22, 0.5, 0.78, 1.06, 1.34, 1.62):
            if t < length - 0.1:
                a, b = along_limb((shoulder, elbow, hand), t), along_limb((shoulder, elbow, hand), t + 0.02)
                nx, ny = b[1] - a[1], a[0] - b[0]
                size = (nx * nx + ny * ny) ** 0.5 or 1.0
                half = 0.034 * thick
                nx, ny = nx / size * half, ny / size * half
                pen.line(
                    [(a[0] + nx, a[1] + ny), (a[0] - nx, a[1] - ny)], 0.014, darker(garment.second, shade)
                )


def _patterned(trunk: Trunk, garment: Garment, part: int, *, low: float, high: float, ease: float) -> None:
    trunk.band(part, garment.paint, low=low, high=high, ease=ease)
    if garment.pattern == "striped":
        trunk.stripes(part, garment.second, low=low, high=high, ease=ease)
    elif garment.pattern == "dotted":
        trunk.dots(part, garment.second, low=low, high=high)
    trunk.shade(part, garment.paint, low=low, high=high, ease=ease)


def _top(
    trunk: Trunk, garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], seated: bool
) -> None:
    low = -0.12 if garment.style in ("sweater", "shirt", "jersey") else -0.05
    _patterned(trunk, garment, part, low=low, high=0.985, ease=0.004)
    p = trunk.pen.of(part)
    tall = trunk.build.torso
    if garment.style == "shirt":
        x = 0.02 * (1 - trunk.view)
        p.line([(x, -0.94 * tall), (x, 0.1 * tall)], 0.006, darker(garment.paint, 0.2))
        for v in (0.8, 0.6, 0.4, 0.2):
            p.oval(x, -v * tall, 0.006, 0.006, garment.second)
    elif garment.style == "sweater":
        trunk.band(part, darker(garment.paint, 0.14), low=-0.12, high=-0.04, ease=0.004)
    elif garment.style == "jersey":
        p.line([(-0.02, -0.62 * tall), (0.03, -0.62 * tall), (0.0, -0.3 * tall)], 0.018, garment.second)


def _skirted(
    trunk: Trunk, garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], *, waist: float
) -> None:
    """Draw a skirt from the waist down to the end of its style, around both legs."""
    hem = _HEMS[garment.style]
    near, far = (along_limb(leg, hem) for leg in legs)
    flare = 0.034 + 0.04 * min(hem, 1.3)
    y = max(near[1], far[1]) + 0.004
    left, right = min(near[0], far[0]) - flare, max(near[0], far[0]) + flare
    tall = trunk.build.torso
    a, b = trunk.width(waist)
    c, d = trunk.width(0.02)
    # The waist in the coordinates of the untilted pen: only the hip differs, leans are small.
    ox, oy = (legs[0][0][0] + legs[1][0][0]) / 2, legs[0][0][1]
    drop = (y - oy) * 0.5 + oy
    left_side = smooth(
        [
            (ox + a, oy - waist * tall),
            (ox + c * 1.06, oy + 0.01),
            ((ox + c + left) / 2 - 0.008, drop),
            (left, y),
        ],
        closed=False,
    )
    right_side = smooth(
        [
            (ox + b, oy - waist * tall),
            (ox + d * 1.06, oy + 0.01),
            ((ox + d + right) / 2 + 0.008, drop),
            (right, y),
        ],
        closed=False,
    )
    edge = smooth([(left, y), ((left + right) / 2, y + 0.016), (right, y)], closed=False)
    p = pen.of(part)
    p.fill([*left_side, *edge[1:-1], *right_side[::-1]], garment.paint)
    for t in (0.3, 0.62):
        p.line(
            [(ox + c + (d - c) * t, oy + 0.05), (left + (right - left) * t, y - 0.01)], 0.007,
            darker(garment.paint, 0.13),
        )  # fmt: skip
    if garment.pattern == "striped":
        lift = 0.02
        p.line([(left + 0.01, y - lift), ((left + right) / 2, y - lift + 0.016),
            (right - 0.01, y - lift)], 0.014,
               garment.second, curved=True)  # fmt: skip
    elif garment.pattern == "dotted":
        for v in (0.25, 0.5, 0.75):
            for t in (0.2, 0.5, 0.8) if v != 0.5 else (0.1, 0.36, 0.64, 0.9):
                x0, x1 = ox + c + (left - ox - c) * v, ox + d + (right - ox - d) * v
                p.oval(x0 + (x1 - x0) * t, oy + (y - oy) * v, 0.009, 0.009, garment.second)


def _lap(garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], thick: float) -> None:
    """Draw a skirt on someone seated: cloth over the thighs and a little down the shins."""
    for leg, shade in ((legs[1], 0.1), (legs[0], 0.0)):
        end = along_limb(leg, min(_HEMS[garment.style], 1.3))
        paint = darker(garment.paint, shade)
        pen.of(part).limb(leg[0], leg[1], 0.066 * thick, 0.052 * thick, paint)
        if _HEMS[garment.style] > 0.9:
            pen.of(part).limb(leg[1], end, 0.052 * thick, 0.046 * thick, paint)


def _bottom(
    trunk: Trunk, garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], seated: bool
) -> None:
    if garment.style in ("skirt", "long skirt"):
        trunk.band(part, garment.paint, low=-0.12, high=0.3, ease=0.003)
        if seated:
            _lap(garment, part, pen, legs, trunk.build.limb)
        else:
            _skirted(trunk, garment, part, pen, legs, waist=0.26)
        return
    trunk.band(part, garment.paint, low=-0.14, high=0.16, ease=0.002)


def _dress(
    trunk: Trunk, garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], seated: bool
) -> None:
    high = 0.985 if garment.style == "dress" else 0.84
    if garment.style == "swimsuit":
        _patterned(trunk, garment, part, low=-0.14, high=0.8, ease=0.002)
    elif seated:
        _patterned(trunk, garment, part, low=-0.12, high=high, ease=0.003)
        _lap(garment, part, pen, legs, trunk.build.limb)
    else:
        _patterned(trunk, garment, part, low=-0.02, high=high, ease=0.003)
        _skirted(trunk, garment, part, pen, legs, waist=0.3)
    if high < 0.9:
        a, b = trunk.width(0.8)
        tall = trunk.build.torso
        for x in (a * 0.62, b * 0.62):
            trunk.pen.of(part).line([(x, -0.8 * tall), (x * 0.7, -0.96 * tall)], 0.013, garment.paint)
    a, b = trunk.width(0.33)
    tall = trunk.build.torso
    if garment.style != "swimsuit":
        trunk.pen.of(part).line([(a, -0.33 * tall), (b, -0.33 * tall)], 0.014, garment.second)


def _coat(
    trunk: Trunk, garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], seated: bool
) -> None:
    tall = trunk.build.torso
    if garment.style == "coat" and not seated:
        _skirted(trunk, garment, part, pen, legs, waist=0.3)
    low = -0.13 if garment.style != "vest" else -0.04
    _patterned(trunk, garment, part, low=low, high=0.985, ease=0.010)
    p = trunk.pen.of(part)
    x = 0.018 * (1 - trunk.view) + 0.006
    ink = darker(garment.paint, 0.26)
    if garment.style == "suit":
        p.fill([(x - 0.034, -0.98 * tall), (x + 0.034, -0.98 * tall), (x, -0.52 * tall)], WHITE)
        p.fill([(x - 0.010, -0.93 * tall), (x + 0.010, -0.93 * tall), (x + 0.012, -0.64 * tall),
            (x, -0.56 * tall),
                (x - 0.012, -0.64 * tall)], garment.second)  # fmt: skip
        p.line([(x, -0.52 * tall), (x, 0.12 * tall)], 0.007, ink)
    elif garment.style == "vest":
        p.line([(x, -0.9 * tall), (x, 0.02 * tall)], 0.010, ink)
        a, b = trunk.width(0.36)
        p.line([(a, -0.36 * tall), (b, -0.36 * tall)], 0.022, garment.second)
    else:
        p.line([(x, -0.96 * tall), (x, 0.12 * tall)], 0.008, ink)
        for v in (0.74, 0.5, 0.26, 0.02):
            p.oval(x + 0.018, -v * tall, 0.008, 0.008, garment.second)
        a, b = trunk.width(0.1)
        for side in (a * 0.62, b * 0.66):
            p.line([(side - 0.014, -0.14 * tall), (side + 0.014, -0.14 * tall)], 0.008, ink)


def _apron(
    trunk: Trunk, garment: Garment, part: int, pen: Pen, legs: tuple[Joints, Joints], seated: bool
) -> None:
    tall = trunk.build.torso
    a, b = trunk.width(0.3)
    shift = 0.014 * (1 - trunk.view)
    p = trunk.pen.of(part)
    for x in (-0.026, 0.026):
        p.line([(x * 1.3 + shift, -0.72 * tall), (x * 1.1, -0.98 * tall)], 0.010, darker(garment.paint, 0.1))
    p.fill(
        [(-0.042 + shift, -0.76 * tall), (0.042 + shift, -0.76 * tall), (b * 0.9, -0.36 * tall),
         (b * 1.02, 0.30 * tall), (0.7 * b, 0.46 * tall), (0.7 * a, 0.46 * tall), (a * 1.02, 0.30 * tall),
         (a * 0.9, -0.36 * tall)],
        garment.paint,
    )  # fmt: skip
    p.line([(a * 1.0, -0.32 * tall), (b * 1.0, -0.32 * tall)], 0.012, darker(garment.paint, 0.16))
    p.block(-0.03 + shift, -0.10 * tall, 0.036 + shift, 0.12 * tall, darker(garment.paint, 0.1), round_=0.008)


_Drawn = Callable[[Trunk, Garment, int, Pen, tuple[Joints, Joints], bool], None]

#: Garments that are drawn over trunk and legs, by slot.
DRAWN_GARMENTS: dict[str, _Drawn] = {
    "bottom": _bottom,
    "top": _top,
    "dress": _dress,
    "coat": _coat,
    "apron": _apron,
}


def collar(trunk: Trunk, garment: Garment, part: int, skin: Colour, body: int) -> None:
    """The neck opening of the outermost garment."""
    tall = trunk.build.torso
    x = 0.012 * (1 - trunk.view)
    wide = trunk.build.head * 0.24
    if garment.style in ("t-shirt", "sweater", "dress", "jersey"):
        trunk.pen.of(part).oval(x, -0.975 * tall, wide * 1.12, 0.020, darker(garment.paint, 0.14))
        trunk.pen.of(body).oval(x, -0.99 * tall, wide * 0.92, 0.018, darker(skin, 0.06))
    elif garment.style in ("shirt", "jacket", "coat"):
        paint = lighter(garment.paint, 0.16)
        for side in (-1, 1):
            trunk.pen.of(part).fill(
                [
                    (x + side * wide * 0.95, -1.02 * tall),
                    (x, -0.90 * tall),
                    (x + side * wide * 1.25, -0.88 * tall),
                ],
                paint,
            )


def scarf(trunk: Trunk, garment: Garment, part: int) -> None:
    """A band about the neck with one end hanging down the front."""
    tall = trunk.build.torso
    wide = trunk.build.head * 0.34
    p = trunk.pen.of(part)
    x = wide * 0.5
    p.fill([(x - 0.026, -0.96 * tall), (x + 0.026, -0.96 * tall), (x + 0.034, -0.46 * tall),
            (x - 0.018, -0.46 * tall)], darker(garment.paint, 0.1))  # fmt: skip
    for v in (0.52, 0.6, 0.7):
        p.line([(x - 0.018, -v * tall), (x + 0.03, -v * tall)], 0.009, garment.second)
    p.limb((-wide * 0.8, -0.985 * tall), (wide * 0.9, -0.975 * tall), 0.030, 0.030, garment.paint)


def backpack(trunk: Trunk, garment: Garment, part: int) -> None:
    """A pack on the back, seen past the trunk, and the strap over the near shoulder."""
    tall = trunk.build.torso
    left, _ = trunk.width(0.6)
    p = trunk.pen.of(part)
    p.blob(
        [(left * 0.3, -1.0 * tall), (left * 1.3, -1.02 * tall), (left * 1.95, -0.82 * tall),
            (left * 2.1, -0.4 * tall),
         (left * 1.9, -0.06 * tall), (left * 1.0, -0.02 * tall), (left * 0.3, -0.1 * tall)],
        garment.paint,
    )  # fmt: skip
    p.blob(
        [(left * 1.5, -0.44 * tall), (left * 2.14, -0.42 * tall), (left * 2.06, -0.12 * tall),
         (left * 1.4, -0.1 * tall)],
        darker(garment.paint, 0.16),
    )  # fmt: skip
