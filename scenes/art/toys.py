"""Toys and things to hold. Each docstring defines its unit and its origin."""

from math import cos, pi, sin

from scenes.art.canvas import Pen, Point, smooth
from scenes.art.colours import INK, NAMED_COLOURS, WHITE, Colour, darker, lighter

_WOOD: Colour = (176, 124, 80)


def draw_ball(pen: Pen, colour: Colour, style: str = "plain") -> None:
    """A ball about the origin; the unit is its radius. Styles: plain, beach, soccer, basketball, snow."""
    pen.oval(0, 0, 1, 1, colour)
    if style == "beach":
        for k in range(3):
            a, b = k * 2 * pi / 3 - 1.3, k * 2 * pi / 3 - 0.25
            arc = [(cos(a + (b - a) * t / 5), sin(a + (b - a) * t / 5)) for t in range(6)]
            pen.fill([(0.1, -0.12), *arc], WHITE)
        pen.oval(0.1, -0.12, 0.17, 0.17, (246, 198, 82))
    elif style == "soccer":
        pen.fill([(0.36 * sin(k * 2 * pi / 5), -0.36 * cos(k * 2 * pi / 5)) for k in range(5)], INK)
        for k in range(5):
            a = k * 2 * pi / 5
            pen.line([(0.36 * sin(a), -0.36 * cos(a)), (0.72 * sin(a), -0.72 * cos(a))], 0.08, INK)
            pen.fill([(0.68 * sin(a), -0.68 * cos(a)), (0.97 * sin(a - 0.3), -0.97 * cos(a - 0.3)),
                      (0.97 * sin(a + 0.3), -0.97 * cos(a + 0.3))], INK)  # fmt: skip
    elif style == "basketball":
        line = darker(colour, 0.5)
        pen.line([(-1, 0), (1, 0)], 0.09, line)
        pen.line([(0, -1), (0, 1)], 0.09, line)
        for s in (-1, 1):
            pen.line([(s * 0.8, -0.62), (s * 0.42, 0), (s * 0.8, 0.62)], 0.09, line, curved=True)
    else:
        pen.oval(-0.3, -0.36, 0.3, 0.22, lighter(colour, 0.4))


def frisbee(pen: Pen, colour: Colour) -> None:
    """A disc in flight about the origin; the unit is its width."""
    pen.oval(0, 0.03, 0.5, 0.15, darker(colour, 0.2))
    pen.oval(0, 0, 0.5, 0.13, colour)
    pen.oval(0, -0.01, 0.3, 0.07, lighter(colour, 0.35))


def kite(pen: Pen, colour: Colour, trim: Colour) -> None:
    """A diamond kite with a tail about the origin; the unit is its height."""
    pen.line([(0, 0.5), (0.08, 0.66), (-0.04, 0.82), (0.06, 1.0)], 0.02, darker(trim, 0.2), curved=True)
    for x, y in ((0.06, 0.68), (-0.02, 0.84), (0.05, 0.98)):
        pen.fill(
            [(x - 0.07, y - 0.03), (x + 0.07, y + 0.03), (x + 0.07, y - 0.03), (x - 0.07, y + 0.03)], trim
        )
    pen.fill([(0, -0.5), (0.34, -0.1), (0, 0.5), (-0.34, -0.1)], colour)
    pen.fill([(0, -0.5), (0.34, -0.1), (0, -0.1)], trim)
    pen.fill([(0, 0.5), (-0.34, -0.1), (0, -0.1)], lighter(trim, 0.3))


def flag(pen: Pen, colours: tuple[Colour, ...]) -> None:
    """A waving flag in stripes on a pole that stands on the origin; the unit is the pole's length."""
    pen.line([(0, 0), (0, -1)], 0.026, _WOOD)
    count = len(colours)
    for k, colour in enumerate(colours):
        top, bottom = -0.98 + 0.40 * k / count, -0.98 + 0.40 * (k + 1) / count
        outline = [(0.01, 0.0), (0.15, 0.028), (0.36, -0.028), (0.54, 0.012)]
        over = smooth([(x, top + y) for x, y in outline], closed=False)
        under = smooth([(x, bottom + y) for x, y in outline], closed=False)
        pen.fill(over + under[::-1], colour)
    pen.oval(0, -1.0, 0.026, 0.026, NAMED_COLOURS["yellow"])


def draw_umbrella(pen: Pen, colour: Colour) -> None:
    """An open umbrella held at the origin; the unit is the span of its canopy."""
    pen.line([(0, 0.06), (0, -0.86)], 0.022, (120, 92, 76))
    pen.line([(0, 0.04), (0.03, 0.09), (0.07, 0.06)], 0.026, (120, 92, 76))
    dome = [
        (-0.5, -0.56),
        (-0.42, -0.74),
        (-0.22, -0.88),
        (0.0, -0.92),
        (0.22, -0.88),
        (0.42, -0.74),
        (0.5, -0.56),
    ]
    pen.blob([*dome, (0.33, -0.60), (0.17, -0.55), (0.0, -0.60), (-0.17, -0.55), (-0.33, -0.60)], colour)
    pen.blob([(-0.17, -0.555), (-0.14, -0.76), (0.0, -0.92), (0.14, -0.76), (0.17, -0.555), (0, -0.60)],
             lighter(colour, 0.22))  # fmt: skip
    pen.line([(0, -0.90), (0, -0.97)], 0.024, (120, 92, 76))


def parasol(pen: Pen, colour: Colour, trim: Colour) -> None:
    """A beach umbrella standing on the origin; the unit is its height."""
    pen.line([(0, 0), (0.03, -0.96)], 0.022, (236, 226, 206))
    top = (0.03, -1.0)
    rim = [
        (-0.56, -0.66),
        (-0.36, -0.62),
        (-0.14, -0.62),
        (0.08, -0.62),
        (0.30, -0.63),
        (0.50, -0.65),
        (0.62, -0.70),
    ]
    bulge = [
        (-0.44, -0.86),
        (-0.3, -0.93),
        (-0.1, -0.97),
        (0.03, -1.0),
        (0.2, -0.97),
        (0.38, -0.93),
        (0.5, -0.86),
    ]
    pen.blob([rim[0], bulge[0], bulge[2], top, bulge[4], bulge[6], rim[6], rim[3]], colour)
    for k in (0, 2, 4):
        a, b = rim[k], rim[k + 1]
        pen.fill([top, bulge[k], a, ((a[0] + b[0]) / 2, a[1] + 0.02), b, bulge[k + 1]], trim)
    pen.oval(*top, 0.022, 0.022, WHITE)


def balloon(pen: Pen, colour: Colour) -> None:
    """A balloon about the origin without its string; the unit is its height."""
    pen.fill([(-0.06, 0.54), (0.06, 0.54), (0.0, 0.44)], darker(colour, 0.12))
    pen.blob([(0, 0.5), (-0.28, 0.26), (-0.40, -0.08), (-0.26, -0.40), (0, -0.5), (0.26, -0.40),
        (0.40, -0.08),
              (0.28, 0.26)], colour)  # fmt: skip
    pen.oval(-0.15, -0.22, 0.07, 0.12, lighter(colour, 0.5), angle=20)


def bucket(pen: Pen, colour: Colour) -> None:
    """A toy bucket on the origin; the unit is its height."""
    pen.line([(-0.42, -0.9), (-0.2, -1.36), (0.2, -1.36), (0.42, -0.9)], 0.06, WHITE, curved=True)
    pen.fill([(-0.46, -0.94), (0.46, -0.94), (0.34, 0), (-0.34, 0)], colour)
    pen.block(-0.5, -1.0, 0.5, -0.86, lighter(colour, 0.3), round_=0.05)
    pen.fill([(0.1, -0.86), (0.3, -0.86), (0.24, 0), (0.08, 0)], darker(colour, 0.12))


def draw_castle(pen: Pen) -> None:
    """A sandcastle on the origin; the unit is its width."""
    sand: Colour = (226, 182, 118)
    shade = darker(sand, 0.14)
    pen.blob([(-0.6, 0), (-0.4, -0.12), (0.4, -0.12), (0.6, 0), (0, 0.05)], shade)
    pen.block(-0.34, -0.42, 0.34, 0.0, sand)
    for x, top in ((-0.36, -0.58), (0.36, -0.58), (0.0, -0.78)):
        pen.fill([(x - 0.16, 0.0), (x - 0.13, top), (x + 0.13, top), (x + 0.16, 0.0)], lighter(sand, 0.16))
        for dx in (-0.105, 0.0, 0.105):
            pen.block(x + dx - 0.034, top - 0.06, x + dx + 0.034, top + 0.01, lighter(sand, 0.16))
    pen.block(-0.07, -0.2, 0.07, 0.02, shade, round_=0.05)
    pen.line([(0, -0.82), (0, -1.06)], 0.02, _WOOD)
    pen.fill([(0, -1.06), (0.18, -1.0), (0, -0.93)], NAMED_COLOURS["red"])


def surfboard(pen: Pen, colour: Colour, trim: Colour) -> None:
    """A surfboard standing on the origin; the unit is its length."""
    pen.blob([(0, 0), (-0.10, -0.12), (-0.125, -0.5), (-0.09, -0.82), (0, -1), (0.09, -0.82), (0.125, -0.5),
              (0.10, -0.12)], colour)  # fmt: skip
    pen.line([(0, -0.03), (0, -0.97)], 0.018, trim)
    pen.fill([(-0.121, -0.40), (0.121, -0.40), (0.115, -0.30), (-0.115, -0.30)], trim)


def draw_snowman(pen: Pen, scarf: Colour, hat: Colour) -> None:
    """A snowman on the origin; the unit is his height."""
    snow: Colour = (250, 251, 253)
    shade: Colour = (216, 226, 240)
    for s in (-1, 1):
        pen.line([(s * 0.16, -0.52), (s * 0.36, -0.66)], 0.022, (112, 82, 62))
        pen.line([(s * 0.31, -0.625), (s * 0.34, -0.72)], 0.016, (112, 82, 62))
    for y, r in ((-0.22, 0.245), (-0.55, 0.18)):
        pen.oval(0, y, r, r * 0.94, shade)
        pen.oval(-0.015, y - 0.015, r * 0.93, r * 0.87, snow)
    pen.oval(0, -0.78, 0.135, 0.125, shade)
    pen.oval(-0.01, -0.79, 0.125, 0.115, snow)
    for x in (-0.04, 0.05):
        pen.oval(x, -0.81, 0.016, 0.018, INK)
    pen.fill([(0.0, -0.79), (0.13, -0.755), (0.0, -0.745)], (240, 140, 60))
    for y in (-0.60, -0.53, -0.46):
        pen.oval(0.01, y, 0.016, 0.016, INK)
    pen.line([(-0.11, -0.685), (0.0, -0.665), (0.11, -0.685)], 0.05, scarf, curved=True)
    pen.line([(0.07, -0.67), (0.09, -0.50)], 0.05, darker(scarf, 0.1))
    pen.block(-0.15, -0.90, 0.15, -0.87, hat, round_=0.01)
    pen.block(-0.095, -1.02, 0.095, -0.88, hat, round_=0.015)
    pen.block(-0.095, -0.925, 0.095, -0.895, scarf)


def bouquet(pen: Pen, colour: Colour) -> None:
    """A bunch of flowers held at the origin; the unit is its height."""
    pen.fill([(-0.10, 0.3), (0.10, 0.3), (0.24, -0.1), (-0.24, -0.1)], (112, 164, 106))
    for x, y, c in ((-0.24, -0.16, colour), (0.24, -0.16, lighter(colour, 0.4)), (0, -0.12, WHITE),
                    (-0.12, -0.36, lighter(colour, 0.3)), (0.13, -0.36, colour)):  # fmt: skip
        pen.oval(x, y, 0.17, 0.17, c)
        pen.oval(x, y, 0.06, 0.06, (250, 210, 110))


def ice_cream(pen: Pen, colour: Colour) -> None:
    """An ice cream cone held at the origin; the unit is its height."""
    pen.fill([(-0.20, -0.34), (0.20, -0.34), (0, 0.3)], (224, 168, 104))
    pen.oval(0, -0.46, 0.25, 0.24, colour)
    pen.oval(-0.06, -0.56, 0.09, 0.07, lighter(colour, 0.5))


def gift(pen: Pen, colour: Colour, trim: Colour) -> None:
    """A wrapped present on the origin; the unit is its width."""
    pen.block(-0.46, -0.72, 0.46, 0, colour)
    pen.block(-0.5, -0.80, 0.5, -0.62, lighter(colour, 0.2))
    pen.block(-0.09, -0.80, 0.09, 0, trim)
    for s in (-1, 1):
        pen.blob([(0, -0.80), (s * 0.12, -1.04), (s * 0.32, -1.02), (s * 0.22, -0.84)], trim)


def book(pen: Pen, colour: Colour) -> None:
    """An open book about the origin, its cover towards us; the unit is its width."""
    pen.fill([(-0.5, -0.30), (0.0, -0.22), (0.0, 0.36), (-0.5, 0.28)], colour)
    pen.fill([(0.5, -0.30), (0.0, -0.22), (0.0, 0.36), (0.5, 0.28)], darker(colour, 0.14))
    pen.fill(
        [(-0.46, -0.36), (0.0, -0.27), (0.46, -0.36), (0.46, -0.30), (0.0, -0.21), (-0.46, -0.30)], WHITE
    )
    pen.fill([(-0.38, -0.10), (-0.12, -0.06), (-0.12, 0.02), (-0.38, -0.02)], lighter(colour, 0.5))


def newspaper(pen: Pen) -> None:
    """A newspaper held open about the origin; the unit is its width."""
    page: Colour = (238, 234, 224)
    pen.fill([(-0.5, -0.40), (0.0, -0.34), (0.0, 0.40), (-0.5, 0.34)], page)
    pen.fill([(0.5, -0.40), (0.0, -0.34), (0.0, 0.40), (0.5, 0.34)], darker(page, 0.1))
    for s in (-1, 1):
        pen.line([(s * 0.42, -0.27), (s * 0.08, -0.23)], 0.05, (120, 122, 132))
        for y in (-0.10, 0.0, 0.10, 0.20):
            pen.line([(s * 0.42, y - 0.03), (s * 0.08, y + 0.01)], 0.02, (168, 170, 178))


def rod(pen: Pen, tip: Point, float_: Point) -> None:
    """A fishing rod from the origin to `tip`, its line down to `float_`."""
    pen.line([(0, 0), (tip[0] * 0.5, tip[1] * 0.56), tip], 0.012, (126, 86, 58), curved=True)
    pen.line([tip, float_], 0.004, (236, 236, 236))
    pen.oval(*float_, 0.018, 0.014, NAMED_COLOURS["red"])


def skis(pen: Pen, length: float, colour: Colour, *, slope: float) -> None:
    """A pair of skis under the origin, turned by `slope` degrees."""
    for dx, dy in ((0.05, -0.012), (0.0, 0.012)):
        p = pen.at(dx, dy, angle=slope)
        p.line([(-length * 0.5, 0), (length * 0.42, 0), (length * 0.5, -0.03)], 0.022, colour)
