"""Sky, land and plants. Each docstring defines its unit and its origin."""

from math import pi, sin
from random import Random

from scenes.art.canvas import Pen
from scenes.art.colours import Colour, darker, lighter

BARK: Colour = (128, 92, 70)


def clouds(pen: Pen, rng: Random, width: float, low: float, high: float, count: int, colour: Colour) -> None:
    """`count` clouds with flat bottoms between heights `low` and `high` (pixels from the top)."""
    for _ in range(count):
        x, y, size = rng.uniform(0, width), rng.uniform(low, high), rng.uniform(26, 62)
        p = pen.at(x, y, scale=size)
        bumps = [(-0.62, -0.10, 0.24), (-0.26, -0.24, 0.32), (0.16, -0.30, 0.36), (0.56, -0.12, 0.26)]
        for bx, by, r in bumps:
            p.oval(bx, by, r, r * 0.84, colour)
        p.block(-0.82, -0.16, 0.80, 0.06, colour, round_=0.11)


def sun(pen: Pen, x: float, y: float, radius: float, colour: Colour) -> None:
    """A sun, or a moon, with its glow, in picture coordinates."""
    pen.glow(x, y, radius * 5, radius * 5, lighter(colour, 0.3), 0.55)
    pen.oval(x, y, radius, radius, colour)


def hills(
    pen: Pen, rng: Random, width: float, base: float, height: float, bottom: float, colour: Colour
) -> None:
    """A rolling line of hills about `base`, filled down to `bottom` (picture coordinates)."""
    phase, waves = rng.uniform(0, 2 * pi), rng.uniform(1.0, 2.2)
    line = []
    for k in range(25):
        x = width * k / 24
        lift = sin(phase + waves * 2 * pi * k / 24) + 0.4 * sin(2.3 * phase + 2.7 * waves * 2 * pi * k / 24)
        line.append((x, base - height * (0.5 + 0.36 * lift)))
    pen.fill([*line, (width, bottom), (0, bottom)], colour)


def mountains(
    pen: Pen, rng: Random, width: float, base: float, height: float, colour: Colour, snow: bool
) -> None:
    """A range of peaks standing on `base`, lit from the left (picture coordinates)."""
    count = rng.randint(3, 4)
    order = list(range(count))
    rng.shuffle(order)
    for k in order:
        x = width * (k + 0.5 + rng.uniform(-0.2, 0.2)) / count
        tall = height * rng.uniform(0.68, 1.0)
        half = tall * rng.uniform(0.9, 1.25)
        top = base - tall
        ridge = [(x, top), (x + half * 0.06, top + tall * 0.3), (x - half * 0.05, top + tall * 0.55),
                 (x + half * 0.10, base)]  # fmt: skip
        pen.fill([(x - half, base), (x, top), *ridge[1:]], lighter(colour, 0.14))
        pen.fill([(x + half, base), (x, top), *ridge[1:]], darker(colour, 0.1))
        if snow:
            cap = 0.34
            left, right = (x - half * cap, top + tall * cap), (x + half * cap, top + tall * cap)
            pen.fill([(x, top), left, (x - half * 0.17, top + tall * 0.27),
                (x - half * 0.08, top + tall * 0.40),
                      (x + half * 0.03, top + tall * 0.30)], (252, 252, 252))  # fmt: skip
            pen.fill([(x, top), right, (x + half * 0.20, top + tall * 0.29),
                (x + half * 0.12, top + tall * 0.38),
                      (x + half * 0.03, top + tall * 0.30)], (218, 226, 240))  # fmt: skip


def tree(pen: Pen, rng: Random, leaf: Colour) -> None:
    """A broad-leaved tree on the origin; the unit is its height."""
    pen.fill([(-0.05, 0.01), (-0.028, -0.5), (0.028, -0.5), (0.055, 0.01)], BARK)
    pen.line([(0.0, -0.36), (0.12, -0.52)], 0.03, BARK)
    shade, light = darker(leaf, 0.16), lighter(leaf, 0.16)
    puffs = [(-0.20, -0.50, 0.17), (0.20, -0.50, 0.17), (-0.16, -0.70, 0.19), (0.17, -0.70, 0.18), (0.0,
        -0.82, 0.18),
             (0.0, -0.56, 0.22)]  # fmt: skip
    for x, y, r in puffs:
        pen.oval(x + 0.02, y + 0.02, r * rng.uniform(0.94, 1.08), r, shade)
    for x, y, r in puffs:
        pen.oval(x - 0.015, y - 0.02, r * 0.9, r * 0.88, leaf)
    for x, y, r in ((-0.14, -0.80, 0.09), (-0.22, -0.60, 0.07), (0.06, -0.88, 0.06), (0.10, -0.66, 0.05)):
        pen.oval(x, y, r, r * 0.8, light)


def pine(pen: Pen, leaf: Colour, *, snow: bool) -> None:
    """A conifer on the origin; the unit is its height."""
    pen.block(-0.03, -0.16, 0.03, 0.01, darker(BARK, 0.2))
    for y, half, top in ((-0.10, 0.27, -0.50), (-0.32, 0.22, -0.72), (-0.55, 0.16, -1.0)):
        pen.blob([(-half, y), (-half * 0.4, (y + top) / 2 - 0.02), (0, top),
            (half * 0.4, (y + top) / 2 - 0.02),
                  (half, y), (0, y + 0.035)], leaf)  # fmt: skip
        pen.fill(
            [(0, top), (half * 0.4, (y + top) / 2), (half * 0.9, y), (0.02, y + 0.02)], darker(leaf, 0.12)
        )
        if snow:
            pen.blob([(-half * 0.62, y - 0.10), (-half * 0.24, (y + top) / 2 - 0.04), (0, top - 0.01),
                      (half * 0.26, (y + top) / 2 - 0.04), (half * 0.6, y - 0.10), (half * 0.2, y - 0.16),
                      (-half * 0.1, y - 0.10), (-half * 0.32, y - 0.15)], (250, 252, 255))  # fmt: skip


def palm(pen: Pen, lean: float) -> None:
    """A palm on the origin leaning by `lean`; the unit is its height."""
    trunk: Colour = (166, 124, 88)
    top = (lean, -0.84)
    pen.line([(0, 0), (lean * 0.25, -0.32), (lean * 0.6, -0.6), top], 0.05, trunk, curved=True)
    leaf: Colour = (86, 158, 104)
    for dx, dy, bend in ((-0.42, 0.02, -0.17), (0.42, 0.04, -0.17), (-0.34, -0.20, -0.12), (0.34, -0.19,
        -0.12),
                         (-0.26, 0.20, -0.10), (0.26, 0.22, -0.10), (0.06, -0.26, 0.0)):  # fmt: skip
        x, y = top
        pen.blob([(x, y), (x + dx * 0.5, y + dy * 0.5 + bend), (x + dx, y + dy),
            (x + dx * 0.52, y + dy * 0.5 + bend + 0.085)],
                 leaf if dy < 0.1 else darker(leaf, 0.16))  # fmt: skip
    for dx in (-0.035, 0.035):
        pen.oval(top[0] + dx, top[1] + 0.03, 0.036, 0.036, (120, 78, 56))


def bush(pen: Pen, leaf: Colour, flowers: Colour | None = None) -> None:
    """A round bush on the origin; the unit is its width."""
    for x, y, r in ((-0.30, -0.20, 0.22), (0.30, -0.20, 0.22), (0.0, -0.30, 0.28)):
        pen.oval(x, y, r, r, darker(leaf, 0.1) if x else leaf)
    pen.block(-0.5, -0.20, 0.5, 0.0, darker(leaf, 0.1), round_=0.10)
    pen.oval(-0.08, -0.40, 0.12, 0.08, lighter(leaf, 0.15))
    if flowers:
        for x, y in (
            (-0.34, -0.26),
            (-0.12, -0.18),
            (0.06, -0.38),
            (0.22, -0.14),
            (0.36, -0.28),
            (-0.2, -0.40),
        ):
            pen.oval(x, y, 0.05, 0.05, flowers)


def meadow(pen: Pen, rng: Random, width: float, top: float, bottom: float, grass: Colour,
    flowers: tuple[Colour, ...],
           count: int) -> None:  # fmt: skip
    """Tufts of grass and a few flowers, larger towards us (picture coordinates)."""
    for _ in range(count):
        x, t = rng.uniform(0, width), rng.random()
        y = top + (bottom - top) * t
        size = 3 + 6 * t
        if flowers and rng.random() < 0.35:
            colour = rng.choice(flowers)
            pen.line([(x, y), (x, y - size)], 0.8, darker(grass, 0.2))
            pen.oval(x, y - size, size * 0.34, size * 0.34, colour)
            pen.oval(x, y - size, size * 0.13, size * 0.13, (250, 226, 140))
        else:
            tone = darker(grass, 0.1) if rng.random() < 0.6 else lighter(grass, 0.14)
            for dx in (-0.4, 0.0, 0.4):
                pen.line([(x + dx * size * 0.4, y), (x + dx * size, y - size)], 1.0, tone)


def dock(pen: Pen, width: float) -> None:
    """A wooden jetty from the origin to the right, `width` long, its deck at the origin; in pixels."""
    wood: Colour = (182, 138, 98)
    for x in range(14, int(width), 46):
        pen.block(x, 6, x + 8, 36, darker(wood, 0.34))
    pen.block(0, 0, width, 10, darker(wood, 0.2))
    pen.block(0, -4, width, 4, wood)
    for x in range(0, int(width), 22):
        pen.line([(x, -4), (x, 4)], 1, darker(wood, 0.2))


def waves(pen: Pen, rng: Random, width: float, top: float, bottom: float, colour: Colour, count: int) -> None:
    """Short bright strokes on water (picture coordinates)."""
    for _ in range(count):
        t = rng.random()
        x, y, half = rng.uniform(0, width), top + (bottom - top) * t, 5 + 12 * t
        pen.line(
            [(x - half, y), (x - half * 0.3, y - 1.2), (x + half * 0.3, y + 0.6), (x + half, y)],
            1.2 + t,
            colour,
        )
