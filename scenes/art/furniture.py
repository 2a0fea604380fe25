"""Furniture and dishes. Each docstring defines its unit and its origin."""

from scenes.art.canvas import Pen
from scenes.art.colours import INK, NAMED_COLOURS, WHITE, Colour, darker, lighter

WOOD: Colour = (176, 124, 80)


_STEEL: Colour = (184, 190, 200)


def draw_bench(pen: Pen, colour: Colour = WOOD) -> None:
    """A park bench from the front; the unit is its width, its seat at height 0.26."""
    for x in (-0.42, 0.42):
        pen.line([(x, 0), (x, -0.52)], 0.028, (70, 72, 84))
        pen.line([(x, -0.02), (x * 1.05, 0)], 0.03, (70, 72, 84))
    for y in (-0.52, -0.44, -0.36):
        pen.block(-0.5, y, 0.5, y + 0.055, colour, round_=0.012)
    pen.block(-0.5, -0.27, 0.5, -0.215, lighter(colour, 0.12), round_=0.012)
    pen.block(-0.5, -0.215, 0.5, -0.175, darker(colour, 0.16), round_=0.012)


def draw_table(pen: Pen, colour: Colour = WOOD, cloth: Colour | None = None) -> None:
    """A table from the front; the unit is its width, its top at height 0.42."""
    for x in (-0.43, 0.43):
        pen.block(x - 0.022, -0.40, x + 0.022, 0, darker(colour, 0.22))
    if cloth:
        pen.fill([(-0.5, -0.41), (0.5, -0.41), (0.52, -0.19), (-0.52, -0.19)], cloth)
        for k in range(8):
            x = -0.455 + k * 0.13
            pen.oval(x, -0.19, 0.065, 0.022, cloth)
            pen.line([(x + 0.065, -0.36), (x + 0.07, -0.2)], 0.006, darker(cloth, 0.12))
    pen.block(-0.52, -0.445, 0.52, -0.395, lighter(cloth, 0.25) if cloth else colour, round_=0.014)


def sofa(pen: Pen, colour: Colour) -> None:
    """A sofa from the front; the unit is its width, its seat at height 0.22."""
    shade = darker(colour, 0.14)
    pen.block(-0.46, -0.06, -0.41, 0, (92, 66, 52))
    pen.block(0.41, -0.06, 0.46, 0, (92, 66, 52))
    pen.block(-0.43, -0.45, 0.43, -0.10, shade, round_=0.06)
    pen.line([(0, -0.42), (0, -0.24)], 0.006, darker(colour, 0.26))
    pen.block(-0.42, -0.245, -0.003, -0.13, lighter(colour, 0.1), round_=0.035)
    pen.block(0.003, -0.245, 0.42, -0.13, lighter(colour, 0.1), round_=0.035)
    pen.block(-0.46, -0.14, 0.46, -0.045, colour, round_=0.02)
    for s in (-1, 1):
        pen.block(min(s * 0.40, s * 0.5), -0.33, max(s * 0.40, s * 0.5), -0.05, colour, round_=0.045)


def blanket(pen: Pen, colour: Colour, trim: Colour) -> None:
    """A checked blanket lying on the ground about the origin; the unit is its width."""
    pen.fill([(-0.40, -0.11), (0.42, -0.11), (0.5, 0.11), (-0.5, 0.11)], colour)
    for k in range(10):
        t = (k + 0.3) / 10
        pen.fill([(-0.40 + 0.82 * t, -0.11), (-0.40 + 0.82 * (t + 0.04), -0.11), (-0.5 + (t + 0.04), 0.11),
                  (-0.5 + t, 0.11)], trim)  # fmt: skip
    for v in (-0.085, -0.045, 0.0, 0.05):
        left, right = -0.40 - (v + 0.11) / 0.22 * 0.10, 0.42 + (v + 0.11) / 0.22 * 0.08
        pen.fill([(left, v), (right, v), (right, v + 0.016), (left, v + 0.016)], trim)


def basket(pen: Pen) -> None:
    """A wicker basket on the origin; the unit is its width."""
    pen.line(
        [(-0.36, -0.42), (-0.26, -0.86), (0.26, -0.86), (0.36, -0.42)], 0.07, (160, 108, 64), curved=True
    )
    pen.fill([(-0.5, -0.50), (0.5, -0.50), (0.40, 0), (-0.40, 0)], (204, 152, 96))
    for y in (-0.36, -0.2, -0.06):
        pen.line([(-0.46 - y * 0.06, y), (0.46 + y * 0.06, y)], 0.03, (176, 124, 74))
    pen.block(-0.54, -0.56, 0.54, -0.44, (222, 172, 112), round_=0.05)


def cake(pen: Pen, colour: Colour, tiers: int = 2, candles: int = 3) -> None:
    """A cake on a stand on the origin; the unit is its width."""
    pen.block(-0.5, -0.05, 0.5, 0.0, _STEEL, round_=0.02)
    y, half = -0.05, 0.42
    for tier in range(tiers):
        pen.block(-half, y - 0.28, half, y, WHITE if tier % 2 else lighter(colour, 0.2), round_=0.02)
        count = 5 - tier
        for k in range(count):
            x = -half + (k + 0.5) * 2 * half / count
            pen.oval(x, y - 0.255, half / count, 0.07, colour if tier % 2 else WHITE)
        pen.block(-half, y - 0.30, half, y - 0.25, colour if tier % 2 else WHITE, round_=0.02)
        y, half = y - 0.28, half * 0.72
    for k in range(candles):
        x = (k - (candles - 1) / 2) * half * 1.6 / max(1, candles - 1)
        pen.block(x - 0.018, y - 0.22, x + 0.018, y - 0.02, NAMED_COLOURS["turquoise"])
        pen.oval(x, y - 0.27, 0.03, 0.05, (255, 200, 90))
    if not candles:
        for x in (-0.06, 0.06):
            pen.oval(x, y - 0.05, 0.06, 0.06, (226, 96, 120))


def bowl(pen: Pen, colour: Colour, food: Colour) -> None:
    """A filled bowl on the origin; the unit is its width."""
    pen.oval(0, -0.36, 0.42, 0.18, food)
    pen.blob(
        [(-0.5, -0.36), (0, -0.30), (0.5, -0.36), (0.34, -0.08), (0.16, 0), (-0.16, 0), (-0.34, -0.08)],
        colour,
    )
    pen.line([(-0.48, -0.35), (0, -0.29), (0.48, -0.35)], 0.05, lighter(colour, 0.4), curved=True)


def pot(pen: Pen, colour: Colour) -> None:
    """A cooking pot with steam on the origin; the unit is its width."""
    for x in (-0.14, 0.12):
        pen.line([(x, -0.78), (x + 0.08, -0.92), (x - 0.02, -1.06), (x + 0.06, -1.2)], 0.05, (244, 244, 244),
                 curved=True)  # fmt: skip
    pen.line([(-0.58, -0.42), (0.58, -0.42)], 0.09, darker(colour, 0.3))
    pen.block(-0.44, -0.58, 0.44, 0, colour, round_=0.08)
    pen.block(-0.48, -0.64, 0.48, -0.54, lighter(colour, 0.2), round_=0.04)
    pen.block(-0.36, -0.48, -0.28, -0.12, lighter(colour, 0.3), round_=0.03)


def cup(pen: Pen, colour: Colour) -> None:
    """A cup on the origin; the unit is its height."""
    pen.ring(0.36, -0.5, 0.24, 0.10, darker(colour, 0.1))
    pen.fill([(-0.40, -1.0), (0.40, -1.0), (0.32, 0), (-0.32, 0)], colour)
    pen.oval(0, -1.0, 0.40, 0.10, lighter(colour, 0.5))


def stroller(pen: Pen, colour: Colour) -> None:
    """A stroller pushed to the right, its handle at (-0.46, -0.98); the unit is its height."""
    for x in (-0.22, 0.34):
        pen.ring(x, -0.13, 0.13, 0.04, INK)
        pen.oval(x, -0.13, 0.03, 0.03, _STEEL)
    pen.line([(-0.46, -0.98), (-0.30, -0.70), (0.34, -0.14)], 0.035, (100, 104, 118))
    pen.line([(-0.22, -0.13), (0.10, -0.46)], 0.035, (100, 104, 118))
    pen.blob([(-0.30, -0.66), (0.0, -0.56), (0.40, -0.62), (0.46, -0.40), (0.26, -0.24), (-0.06, -0.26),
              (-0.28, -0.42)], darker(colour, 0.08))  # fmt: skip
    pen.blob(
        [(-0.30, -0.62), (-0.34, -0.88), (-0.12, -1.04), (0.10, -0.96), (0.02, -0.74), (0.0, -0.58)], colour
    )
    pen.line([(-0.30, -0.62), (-0.14, -1.02)], 0.02, lighter(colour, 0.3))
    pen.line([(-0.14, -0.58), (-0.02, -1.0)], 0.02, lighter(colour, 0.3))


def cart(pen: Pen, colour: Colour, trim: Colour) -> None:
    """A food cart under a striped awning; the unit is its height."""
    for x in (-0.36, 0.36):
        pen.line([(x, -0.1), (x, -0.92)], 0.026, (232, 226, 214))
    for x in (-0.24, 0.24):
        pen.oval(x, -0.09, 0.09, 0.09, INK)
        pen.oval(x, -0.09, 0.045, 0.045, _STEEL)
    pen.block(-0.44, -0.48, 0.44, -0.12, colour, round_=0.02)
    pen.block(-0.48, -0.52, 0.48, -0.46, lighter(colour, 0.4), round_=0.015)
    pen.fill([(-0.10, -0.42), (0.10, -0.42), (0.0, -0.20)], (236, 184, 120))
    pen.oval(0, -0.43, 0.105, 0.07, (250, 214, 220))
    width = 1.08 / 6
    for k in range(6):
        x = -0.54 + k * width
        paint = trim if k % 2 else colour
        pen.fill([(x * 0.9, -0.98), ((x + width) * 0.9, -0.98), (x + width, -0.82), (x, -0.82)], paint)
        pen.oval(x + width / 2, -0.82, width / 2, 0.04, paint)


def fence(pen: Pen, width: float, colour: Colour = WOOD) -> None:
    """A rail fence of `width` from the origin to the right; the unit is its height."""
    for y in (-0.78, -0.40):
        pen.block(0, y, width, y + 0.14, colour)
    step = 0.9
    for k in range(int(width / step) + 1):
        x = k * step
        pen.block(x, -1.0, x + 0.16, 0, darker(colour, 0.12), round_=0.03)


def hay(pen: Pen) -> None:
    """A round bale of hay on the origin; the unit is its height."""
    pen.oval(0, -0.5, 0.5, 0.5, (224, 184, 92))
    for r in (0.38, 0.26, 0.14):
        pen.ring(0, -0.5, r, 0.03, (196, 152, 66))
