"""Vehicles in profile, driving to the right, standing on the pen's origin; the unit is their length."""

from scenes.art.canvas import Pen, Point
from scenes.art.colours import INK, WHITE, Colour, darker, lighter, mix

GLASS: Colour = (186, 222, 234)
TYRE: Colour = (52, 52, 62)
_STEEL: Colour = (196, 202, 210)

#: Positions of a rider on a bicycle, in its own unit: saddle, handlebar and the two pedals.
SADDLE: Point = (-0.15, -0.60)
HANDLEBAR: Point = (0.23, -0.66)
PEDALS: tuple[Point, Point] = ((0.04, -0.10), (-0.09, -0.32))


def _wheel(pen: Pen, x: float, y: float, r: float) -> None:
    pen.oval(x, y, r, r, TYRE)
    pen.oval(x, y, r * 0.58, r * 0.58, _STEEL)
    pen.oval(x, y, r * 0.22, r * 0.22, darker(_STEEL, 0.4))


def _lamps(pen: Pen, back: float, front: float, y: float, size: float) -> None:
    pen.oval(front, y, size, size * 1.2, (255, 236, 160))
    pen.block(back - size * 0.6, y - size, back + size * 0.6, y + size, (226, 84, 74))


def car(pen: Pen, colour: Colour) -> None:
    """A small saloon."""
    pen.blob(
        [(-0.30, -0.22), (-0.22, -0.36), (-0.06, -0.415), (0.10, -0.40), (0.22, -0.30), (0.30, -0.20)], colour
    )
    pen.blob([(-0.255, -0.225), (-0.19, -0.335), (-0.07, -0.375), (-0.045, -0.37), (-0.045, -0.22)], GLASS)
    pen.blob([(-0.01, -0.22), (-0.01, -0.372), (0.08, -0.365), (0.17, -0.295), (0.225, -0.22)], GLASS)
    pen.fill([(0.04, -0.36), (0.09, -0.345), (0.04, -0.23), (-0.005, -0.23)], lighter(GLASS, 0.5))
    pen.blob([(-0.50, -0.12), (-0.47, -0.22), (-0.32, -0.245), (0.24, -0.235), (0.42, -0.205), (0.50, -0.13),
              (0.49, -0.06), (0.0, -0.05), (-0.48, -0.06)], colour)  # fmt: skip
    pen.block(-0.48, -0.085, 0.48, -0.055, darker(colour, 0.24), round_=0.012)
    pen.line([(-0.028, -0.23), (-0.028, -0.09)], 0.007, darker(colour, 0.24))
    pen.block(-0.10, -0.19, -0.055, -0.178, lighter(colour, 0.4))
    _lamps(pen, -0.485, 0.465, -0.155, 0.022)
    for x in (-0.285, 0.285):
        pen.oval(x, -0.09, 0.105, 0.105, darker(colour, 0.4))
        _wheel(pen, x, -0.085, 0.085)


def bus(pen: Pen, colour: Colour) -> None:
    """A city bus with a pale stripe."""
    pen.block(-0.5, -0.44, 0.5, -0.055, colour, round_=0.035)
    pen.block(-0.5, -0.17, 0.5, -0.135, lighter(colour, 0.7))
    pen.block(-0.47, -0.385, 0.47, -0.215, darker(GLASS, 0.12), round_=0.015)
    for k in range(6):
        x = -0.455 + k * 0.128
        pen.block(x, -0.372, x + 0.112, -0.228, GLASS, round_=0.012)
        pen.fill(
            [(x + 0.02, -0.37), (x + 0.055, -0.37), (x + 0.03, -0.23), (x + 0.004, -0.23)],
            lighter(GLASS, 0.4),
        )
    pen.block(0.322, -0.372, 0.40, -0.075, mix(GLASS, INK, 0.18), round_=0.01)
    pen.line([(0.361, -0.37), (0.361, -0.08)], 0.006, darker(colour, 0.3))
    pen.block(0.415, -0.372, 0.496, -0.21, GLASS, round_=0.012)
    pen.block(-0.5, -0.08, 0.5, -0.05, darker(colour, 0.3), round_=0.01)
    _lamps(pen, -0.488, 0.482, -0.105, 0.016)
    for x in (-0.31, 0.25):
        pen.oval(x, -0.065, 0.076, 0.076, darker(colour, 0.4))
        _wheel(pen, x, -0.062, 0.062)


def truck(pen: Pen, colour: Colour) -> None:
    """A delivery truck with a light box."""
    box = (236, 232, 224)
    pen.block(-0.5, -0.52, 0.20, -0.115, box, round_=0.012)
    pen.block(-0.5, -0.23, 0.20, -0.19, colour)
    for x in (-0.38, -0.24, -0.10, 0.04):
        pen.line([(x, -0.50), (x, -0.25)], 0.006, darker(box, 0.1))
    pen.blob([(0.22, -0.10), (0.22, -0.36), (0.26, -0.405), (0.36, -0.40), (0.42, -0.27), (0.49, -0.23),
              (0.50, -0.10)], colour)  # fmt: skip
    pen.blob([(0.265, -0.24), (0.27, -0.36), (0.345, -0.36), (0.395, -0.25)], GLASS)
    pen.block(-0.5, -0.125, 0.5, -0.085, darker(INK, 0.0), round_=0.008)
    pen.oval(0.48, -0.17, 0.018, 0.024, (255, 236, 160))
    for x in (-0.34, -0.2, 0.34):
        _wheel(pen, x, -0.075, 0.075)


def bicycle(pen: Pen, colour: Colour) -> None:
    """A bicycle; SADDLE, HANDLEBAR and PEDALS are its rider's positions."""
    for x in (-0.31, 0.31):
        pen.ring(x, -0.19, 0.19, 0.026, TYRE)
        pen.ring(x, -0.19, 0.164, 0.010, _STEEL)
        for dx, dy in ((0.16, 0.0), (0.08, 0.14), (-0.08, 0.14)):
            pen.line([(x - dx, -0.19 - dy), (x + dx, -0.19 + dy)], 0.005, mix(_STEEL, WHITE, 0.3))
        pen.oval(x, -0.19, 0.024, 0.024, darker(_STEEL, 0.3))
    crank, seat, head = (-0.03, -0.20), (-0.13, -0.52), (0.22, -0.50)
    for a, b in ((crank, seat), (crank, head), ((-0.12, -0.47), (0.21, -0.46)), ((-0.31, -0.19), crank),
                 ((-0.31, -0.19), (-0.12, -0.48)), (head, (0.31, -0.19)), (head, (0.20, -0.60))):  # fmt: skip
        pen.line([a, b], 0.028, colour)
    pen.line([(-0.13, -0.52), (-0.145, -0.57)], 0.022, _STEEL)
    pen.blob([(-0.25, -0.60), (-0.10, -0.595), (-0.04, -0.585), (-0.12, -0.56), (-0.22, -0.565)], TYRE)
    pen.line([(0.20, -0.60), (0.19, -0.655), (0.26, -0.665)], 0.026, TYRE)
    pen.oval(*crank, 0.05, 0.05, darker(_STEEL, 0.3))
    pen.line([PEDALS[0], PEDALS[1]], 0.018, darker(_STEEL, 0.4))
    for x, y in PEDALS:
        pen.line([(x - 0.035, y), (x + 0.035, y)], 0.022, TYRE)


def scooter(pen: Pen, colour: Colour) -> None:
    """A kick scooter; its handle is at (0.36, -1.12), its board at height 0.16."""
    for x in (-0.40, 0.42):
        _wheel(pen, x, -0.085, 0.085)
    pen.line([(-0.36, -0.14), (0.32, -0.14), (0.42, -0.20)], 0.06, colour)
    pen.line([(0.42, -0.12), (0.36, -1.12)], 0.045, _STEEL)
    pen.line([(0.28, -1.13), (0.46, -1.11)], 0.06, TYRE)


def skateboard(pen: Pen, colour: Colour) -> None:
    """A skateboard; its deck is at height 0.17."""
    for x in (-0.28, 0.28):
        pen.line([(x, -0.14), (x, -0.09)], 0.05, _STEEL)
        pen.oval(x, -0.065, 0.065, 0.065, (250, 244, 230))
        pen.oval(x, -0.065, 0.028, 0.028, TYRE)
    pen.line([(-0.48, -0.22), (-0.36, -0.165), (0.36, -0.165), (0.48, -0.22)], 0.055, colour)


def sled(pen: Pen, colour: Colour) -> None:
    """A wooden sled on curved runners; its seat is at height 0.20."""
    wood: Colour = (188, 134, 84)
    pen.line([(-0.46, -0.02), (0.34, -0.02), (0.48, -0.10), (0.48, -0.24)], 0.035, colour, curved=True)
    for x in (-0.34, 0.0, 0.30):
        pen.line([(x, -0.02), (x, -0.17)], 0.03, darker(wood, 0.2))
    pen.block(-0.46, -0.215, 0.44, -0.155, wood, round_=0.02)
    pen.block(-0.46, -0.175, 0.44, -0.155, darker(wood, 0.2))


def sailboat(pen: Pen, colour: Colour, sail: Colour) -> None:
    """A sailing boat on the water line; the unit is the length of its hull."""
    pen.line([(0.02, -0.14), (0.02, -1.18)], 0.026, (150, 110, 80))
    pen.blob([(0.06, -1.12), (0.22, -0.8), (0.40, -0.40), (0.46, -0.22), (0.06, -0.22), (0.055, -0.6)], sail)
    pen.blob([(-0.02, -1.02), (-0.12, -0.7), (-0.34, -0.34), (-0.40, -0.22), (-0.02, -0.22), (-0.015, -0.6)],
             darker(sail, 0.07))  # fmt: skip
    pen.fill([(0.02, -1.20), (0.16, -1.15), (0.02, -1.10)], colour)
    pen.blob([(-0.52, -0.17), (-0.2, -0.16), (0.3, -0.16), (0.58, -0.20), (0.44, -0.02), (0.30, 0.02),
        (-0.34, 0.02),
              (-0.46, -0.02)], colour)  # fmt: skip
    pen.line([(-0.50, -0.14), (0.52, -0.155)], 0.022, lighter(colour, 0.6))


def rowboat(pen: Pen, colour: Colour) -> None:
    """The hull of a rowing boat, to be drawn over those who sit in it; its rim is at height 0.13."""
    pen.blob([(-0.50, -0.16), (-0.25, -0.125), (0.25, -0.125), (0.52, -0.19), (0.43, -0.04), (0.32, 0.01),
              (-0.36, 0.01), (-0.44, -0.04)], colour)  # fmt: skip
    pen.line([(-0.49, -0.155), (-0.25, -0.125), (0.25, -0.125), (0.51, -0.185)], 0.020, lighter(colour, 0.5),
             curved=True)  # fmt: skip
    pen.line([(-0.45, -0.07), (0.0, -0.055), (0.45, -0.085)], 0.010, darker(colour, 0.2), curved=True)


def draw_tractor(pen: Pen, colour: Colour) -> None:
    """A farm tractor."""
    pen.line([(0.28, -0.36), (0.28, -0.62)], 0.03, TYRE)
    pen.block(-0.40, -0.78, 0.02, -0.74, darker(colour, 0.2), round_=0.015)
    for x in (-0.36, -0.02):
        pen.line([(x, -0.76), (x + 0.02, -0.40)], 0.026, TYRE)
    pen.block(-0.34, -0.73, -0.02, -0.42, GLASS)
    pen.blob([(-0.44, -0.22), (-0.42, -0.42), (-0.06, -0.46), (0.42, -0.42), (0.47, -0.34), (0.46, -0.18),
              (0.0, -0.16)], colour)  # fmt: skip
    for x in (0.18, 0.26, 0.34):
        pen.line([(x, -0.37), (x, -0.26)], 0.014, darker(colour, 0.3))
    pen.oval(0.455, -0.32, 0.02, 0.03, (255, 236, 160))
    for x, r in ((-0.26, 0.235), (0.34, 0.145)):
        pen.oval(x, -r, r, r, TYRE)
        pen.oval(x, -r, r * 0.58, r * 0.58, (246, 206, 92))
        pen.oval(x, -r, r * 0.2, r * 0.2, TYRE)
