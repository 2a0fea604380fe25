"""Houses, furniture, street lamps, an audience. Each function documents its unit and origin."""

from random import Random

from scenes.art.canvas import Pen, Point
from scenes.art.colours import INK, WHITE, Colour, darker, lighter, mix


def house(pen: Pen, wall: Colour, roof: Colour) -> None:
    """A cottage on the origin; the unit is its width."""
    pen.block(0.20, -0.92, 0.30, -0.6, darker(roof, 0.2))
    pen.block(-0.42, -0.52, 0.42, 0, wall)
    pen.fill([(-0.5, -0.50), (-0.30, -0.84), (0.30, -0.84), (0.5, -0.50)], roof)
    pen.block(-0.42, -0.50, 0.42, -0.47, darker(wall, 0.14))
    pen.block(-0.08, -0.32, 0.08, 0, darker(roof, 0.26), round_=0.02)
    pen.oval(0.045, -0.15, 0.012, 0.012, (240, 206, 120))
    for x in (-0.26, 0.26):
        pen.block(x - 0.09, -0.38, x + 0.09, -0.18, WHITE)
        pen.block(x - 0.075, -0.365, x + 0.075, -0.195, (164, 206, 224))
        pen.line([(x, -0.37), (x, -0.19)], 0.012, WHITE)
        pen.line([(x - 0.08, -0.28), (x + 0.08, -0.28)], 0.012, WHITE)


def barn(pen: Pen) -> None:
    """A red barn on the origin; the unit is its width."""
    red: Colour = (186, 72, 62)
    pen.fill(
        [(-0.42, 0), (-0.42, -0.44), (-0.30, -0.66), (0, -0.80), (0.30, -0.66), (0.42, -0.44), (0.42, 0)], red
    )
    pen.line([(-0.46, -0.42), (-0.31, -0.68), (0, -0.82), (0.31, -0.68), (0.46, -0.42)], 0.05, (112, 74, 66))
    for k in range(1, 8):
        x = -0.42 + k * 0.105
        pen.line([(x, -0.40), (x, 0)], 0.006, darker(red, 0.12))
    pen.block(-0.16, -0.34, 0.16, 0, darker(red, 0.22))
    for a, b in (((-0.16, -0.34), (0.16, 0)), ((0.16, -0.34), (-0.16, 0))):
        pen.line([a, b], 0.016, WHITE)
    pen.line([(-0.16, 0), (-0.16, -0.34), (0.16, -0.34), (0.16, 0)], 0.02, WHITE)
    pen.block(-0.07, -0.58, 0.07, -0.46, WHITE)
    pen.block(-0.05, -0.565, 0.05, -0.475, (92, 64, 62))


def building(
    pen: Pen, rng: Random, wall: Colour, width: float, height: float, *, night: bool, shop: bool
) -> None:
    """A town house on the origin, `width` by `height` pixels, with windows and perhaps a shop below."""
    trim = lighter(wall, 0.36)
    pen.block(-width / 2, -height, width / 2, 0, wall)
    pen.block(-width / 2, -height - 4, width / 2, -height + 3, darker(wall, 0.16))
    columns = max(2, round(width / 30))
    ground = 44 if shop else 8
    rows = max(1, int((height - ground - 10) / 36))
    step, rise = width / columns, (height - ground - 8) / rows
    for row in range(rows):
        for column in range(columns):
            x = -width / 2 + step * (column + 0.5)
            y = -height + 10 + rise * (row + 0.45)
            lit = rng.random() < (0.55 if night else 0.16)
            glass = (255, 222, 140) if lit and night else (172, 206, 222) if not night else (84, 96, 132)
            pen.block(x - 7.5, y - 10.5, x + 7.5, y + 10.5, trim)
            pen.block(x - 6, y - 9, x + 6, y + 9, glass)
            pen.line([(x, y - 9), (x, y + 9)], 1.2, trim)
            pen.block(x - 9, y + 10, x + 9, y + 12.5, darker(wall, 0.14))
    if shop:
        awning = rng.choice([(214, 84, 74), (72, 150, 150), (240, 178, 84), (92, 130, 180)])
        glass = (255, 226, 160) if night else (196, 222, 230)
        pen.block(-width * 0.42, -36, width * 0.10, -6, glass)
        pen.block(width * 0.18, -38, width * 0.38, 0, darker(wall, 0.4))
        stripes = max(4, round(width / 12))
        for k in range(stripes):
            x0 = -width * 0.46 + width * 0.92 * k / stripes
            x1 = x0 + width * 0.92 / stripes
            paint = awning if k % 2 else WHITE
            pen.fill([(x0, -46), (x1, -46), (x1, -34), (x0, -34)], paint)
            pen.oval((x0 + x1) / 2, -34, (x1 - x0) / 2, 3.5, paint)


def street_lamp(pen: Pen, *, lit: bool) -> None:
    """A street lamp on the origin; the unit is its height."""
    iron: Colour = (66, 70, 84)
    pen.line([(0, 0), (0, -0.86)], 0.022, iron)
    pen.block(-0.035, -0.06, 0.035, 0, iron, round_=0.01)
    if lit:
        pen.glow(0, -0.92, 0.34, 0.34, (255, 226, 150), 0.75)
    pen.fill(
        [(-0.035, -0.87), (0.035, -0.87), (0.05, -0.97), (-0.05, -0.97)],
        (255, 236, 176) if lit else (226, 234, 238),
    )
    pen.fill([(-0.062, -0.965), (0.062, -0.965), (0, -1.02)], iron)


def curtain(pen: Pen, x0: float, x1: float, bottom: float, colour: Colour) -> None:
    """A gathered curtain from the top edge down to `bottom` (picture coordinates)."""
    folds = max(3, round(abs(x1 - x0) / 14))
    for k in range(folds):
        a, b = x0 + (x1 - x0) * k / folds, x0 + (x1 - x0) * (k + 1) / folds
        pen.fill([(a, 0), (b, 0), (b, bottom), (a, bottom)], colour if k % 2 else darker(colour, 0.14))
        pen.line([(b - (b - a) * 0.3, 0), (b - (b - a) * 0.3, bottom)], 2, lighter(colour, 0.12))
    pen.fill([(x0, bottom - 5), (x1, bottom - 5), (x1, bottom), (x0, bottom)], (226, 186, 96))


def window(pen: Pen, sky: Colour, land: Colour, drape: Colour) -> None:
    """A window on a wall, its middle at the origin; the unit is its height."""
    pen.block(-0.46, -0.54, 0.46, 0.54, WHITE)
    pen.block(-0.41, -0.49, 0.41, 0.49, sky)
    pen.oval(-0.12, 0.52, 0.34, 0.24, land)
    pen.block(-0.46, 0.49, 0.46, 0.60, WHITE)
    pen.oval(0.22, -0.26, 0.09, 0.09, (255, 238, 190))
    pen.line([(0, -0.5), (0, 0.5)], 0.04, WHITE)
    pen.line([(-0.42, -0.02), (0.42, -0.02)], 0.04, WHITE)
    for s in (-1, 1):
        pen.blob([(s * 0.56, -0.62), (s * 0.22, -0.60), (s * 0.30, -0.1), (s * 0.48, 0.30), (s * 0.46, 0.66),
                  (s * 0.60, 0.66)], drape)  # fmt: skip
    pen.line([(-0.66, -0.62), (0.66, -0.62)], 0.04, (150, 112, 84))


def draw_framed_picture(pen: Pen, rng: Random, colour: Colour) -> None:
    """A framed picture on a wall, its middle at the origin; the unit is its width."""
    pen.block(-0.5, -0.38, 0.5, 0.38, (150, 112, 84))
    pen.block(-0.44, -0.32, 0.44, 0.32, (248, 242, 230))
    pen.fill([(-0.36, 0.24), (-0.1, -0.14), (0.08, 0.1), (0.2, -0.04), (0.36, 0.24)], colour)
    pen.oval(0.24, -0.16, 0.07, 0.07, (244, 198, 96))


def plant(pen: Pen, pot: Colour) -> None:
    """A potted plant on the origin; the unit is its height."""
    leaf: Colour = (86, 150, 104)
    for dx, dy in ((-0.34, -0.62), (0.34, -0.66), (-0.18, -0.92), (0.20, -0.94), (0.0, -1.0)):
        pen.blob([(0, -0.32), (dx * 0.5 - 0.09, dy * 0.66), (dx, dy), (dx * 0.6 + 0.09, dy * 0.62)],
                 leaf if dx > 0 else darker(leaf, 0.14))  # fmt: skip
    pen.fill([(-0.18, -0.34), (0.18, -0.34), (0.13, 0), (-0.13, 0)], pot)
    pen.block(-0.20, -0.38, 0.20, -0.31, lighter(pot, 0.16))


def lamp(pen: Pen, shade: Colour) -> None:
    """A floor lamp on the origin; the unit is its height."""
    pen.glow(0, -0.84, 0.42, 0.36, (255, 236, 180), 0.6)
    pen.oval(0, -0.01, 0.10, 0.02, (92, 80, 76))
    pen.line([(0, 0), (0, -0.78)], 0.018, (92, 80, 76))
    pen.fill([(-0.15, -0.74), (0.15, -0.74), (0.10, -0.98), (-0.10, -0.98)], shade)


def rug(pen: Pen, colour: Colour, trim: Colour) -> None:
    """An oval rug about the origin; the unit is its width."""
    pen.oval(0, 0, 0.5, 0.10, trim)
    pen.oval(0, 0, 0.46, 0.088, colour)
    pen.oval(0, 0, 0.34, 0.062, mix(trim, colour, 0.3))
    pen.oval(0, 0, 0.30, 0.052, colour)


def stove(pen: Pen) -> None:
    """A stove on the origin; the unit is its height."""
    body: Colour = (232, 232, 234)
    pen.block(-0.42, -1.0, 0.42, 0, body, round_=0.03)
    pen.block(-0.44, -1.03, 0.44, -0.96, (92, 94, 106), round_=0.02)
    pen.block(-0.32, -0.66, 0.32, -0.18, (76, 78, 92), round_=0.04)
    pen.line([(-0.3, -0.74), (0.3, -0.74)], 0.035, (150, 154, 166))
    for x in (-0.28, -0.1, 0.1, 0.28):
        pen.oval(x, -0.87, 0.045, 0.045, (150, 154, 166))


def fridge(pen: Pen, colour: Colour) -> None:
    """A fridge on the origin; the unit is its height."""
    pen.block(-0.20, -1.0, 0.20, 0, colour, round_=0.03)
    pen.line([(-0.2, -0.62), (0.2, -0.62)], 0.008, darker(colour, 0.2))
    for y in (-0.80, -0.48):
        pen.line([(0.14, y - 0.06), (0.14, y + 0.06)], 0.016, (250, 250, 250))


def draw_audience(pen: Pen, rng: Random, width: float, base: float, height: float, colour: Colour) -> None:
    """The heads and raised hands of an audience along the lower edge, seen from behind."""
    for row, (lift, tone) in enumerate(((0.62, 0.0), (0.36, 0.16))):
        x = rng.uniform(-14, 6)
        paint = darker(colour, tone)
        while x < width + 20:
            r = height * rng.uniform(0.15, 0.19)
            y = base - height * (lift + rng.uniform(-0.07, 0.07))
            if rng.random() < 0.22 and not row:
                reach = rng.uniform(0.30, 0.44) * height
                side = rng.choice((-1, 1))
                pen.line([(x + side * r * 1.6, y + r * 2.2), (x + side * r * 1.9, y - reach * 0.4),
                    (x + side * r * 1.6, y - reach)],
                         r * 0.5, paint, curved=True)  # fmt: skip
                pen.oval(x + side * r * 1.6, y - reach, r * 0.34, r * 0.36, paint)
            pen.oval(x, y, r * 0.92, r * 1.08, paint)
            pen.blob([(x - r * 2.1, base + 8), (x - r * 1.8, y + r * 1.7), (x - r * 0.5, y + r * 1.1),
                (x + r * 0.5, y + r * 1.1),
                      (x + r * 1.8, y + r * 1.7), (x + r * 2.1, base + 8)], paint)  # fmt: skip
            x += r * rng.uniform(2.5, 3.4)


def bunting(pen: Pen, a: Point, b: Point, colours: tuple[Colour, ...]) -> None:
    """A string of little flags from a to b (picture coordinates)."""
    count = 9
    spots = []
    for k in range(count + 1):
        t = k / count
        spots.append((a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t + 26 * 4 * t * (1 - t)))
    pen.line(spots, 1.2, mix(INK, WHITE, 0.3))
    for k in range(count):
        (x0, y0), (x1, y1) = spots[k], spots[k + 1]
        mx, my = (x0 + x1) / 2, (y0 + y1) / 2
        ux, uy = (x1 - x0) * 0.36, (y1 - y0) * 0.36
        pen.fill(
            [(mx - ux, my - uy), (mx + ux, my + uy), (mx, my + abs(x1 - x0) * 0.66)],
            colours[k % len(colours)],
        )
