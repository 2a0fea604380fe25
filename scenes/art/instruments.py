"""Instruments and other things on a stage."""

from scenes.art.canvas import Pen
from scenes.art.colours import INK, WHITE, Colour, darker, lighter

BRASS: Colour = (240, 190, 84)
_STEEL: Colour = (188, 194, 204)


def guitar(pen: Pen, colour: Colour) -> None:
    """A guitar along the pen's x axis, its body about the origin; the unit is its length."""
    pen.block(0.14, -0.022, 0.60, 0.022, (112, 76, 56))
    pen.fill([(0.59, -0.026), (0.72, -0.042), (0.72, 0.042), (0.59, 0.026)], (84, 58, 46))
    for x in (0.63, 0.68):
        for y in (-0.05, 0.05):
            pen.oval(x, y, 0.011, 0.011, _STEEL)
    pen.blob([(-0.28, 0.0), (-0.25, -0.13), (-0.12, -0.175), (0.0, -0.115), (0.10, -0.135), (0.185, -0.07),
              (0.20, 0.0), (0.185, 0.07), (0.10, 0.135), (0.0, 0.115), (-0.12, 0.175), (-0.25, 0.13)],
             darker(colour, 0.24))  # fmt: skip
    pen.blob(
        [
            (-0.26, 0.0),
            (-0.235, -0.115),
            (-0.12, -0.155),
            (0.0, -0.095),
            (0.09, -0.115),
            (0.165, -0.06),
            (0.18, 0.0),
            (0.165, 0.06),
            (0.09, 0.115),
            (0.0, 0.095),
            (-0.12, 0.155),
            (-0.235, 0.115),
        ],
        colour,
    )
    pen.oval(0.03, 0.0, 0.062, 0.062, (66, 46, 40))
    pen.block(-0.16, -0.05, -0.135, 0.05, (66, 46, 40))
    pen.line([(-0.15, 0.0), (0.60, 0.0)], 0.010, (244, 232, 204))


def violin(pen: Pen, colour: Colour) -> None:
    """A violin along the x axis, its chin rest at the origin; the unit is its length."""
    pen.block(0.52, -0.024, 0.92, 0.024, (66, 48, 44))
    pen.oval(0.95, 0.0, 0.05, 0.045, darker(colour, 0.2))
    pen.blob([(0.0, 0.0), (0.04, -0.15), (0.20, -0.16), (0.30, -0.085), (0.42, -0.13), (0.54, -0.09),
        (0.57, 0.0),
              (0.54, 0.09), (0.42, 0.13), (0.30, 0.085), (0.20, 0.16), (0.04, 0.15)], colour)  # fmt: skip
    for y in (-0.07, 0.07):
        pen.line([(0.24, y), (0.32, y * 0.8)], 0.016, (66, 40, 36))
    pen.line([(0.06, 0.0), (0.9, 0.0)], 0.016, (240, 226, 200))


def trumpet(pen: Pen) -> None:
    """A trumpet along the x axis, its mouthpiece at the origin; the unit is its length."""
    pen.line([(0.0, 0.0), (0.72, 0.0)], 0.045, BRASS)
    pen.line([(0.22, 0.0), (0.20, 0.15), (0.58, 0.15), (0.60, 0.0)], 0.040, darker(BRASS, 0.14), curved=True)
    for x in (0.32, 0.40, 0.48):
        pen.block(x - 0.022, -0.10, x + 0.022, 0.10, lighter(BRASS, 0.2), round_=0.01)
        pen.oval(x, -0.11, 0.026, 0.018, WHITE)
    pen.blob(
        [(0.62, -0.025), (0.80, -0.045), (1.0, -0.155), (1.0, 0.155), (0.80, 0.045), (0.62, 0.025)], BRASS
    )
    pen.oval(1.0, 0.0, 0.028, 0.15, darker(BRASS, 0.2))
    pen.oval(0.0, 0.0, 0.026, 0.04, lighter(BRASS, 0.3))


def drum_kit(pen: Pen, colour: Colour) -> None:
    """A drum kit on the ground about the origin; the unit is its width."""
    for x, top in ((-0.40, -0.74), (0.42, -0.80)):
        pen.line([(x * 0.86, 0.0), (x, top)], 0.014, _STEEL)
        pen.oval(x, top, 0.16, 0.03, BRASS, angle=10 if x < 0 else -10)
        pen.oval(x, top - 0.006, 0.05, 0.012, lighter(BRASS, 0.4), angle=10 if x < 0 else -10)
    for x in (-0.13, 0.13):
        pen.block(x - 0.115, -0.60, x + 0.115, -0.44, colour, round_=0.02)
        pen.oval(x, -0.60, 0.115, 0.034, WHITE)
        pen.line([(x - 0.113, -0.46), (x + 0.113, -0.46)], 0.014, _STEEL)
    for x in (-0.34, 0.35):
        for leg in (-0.07, 0.07):
            pen.line([(x + leg * 0.5, -0.2), (x + leg * 1.4, 0.0)], 0.014, _STEEL)
        pen.block(x - 0.125, -0.36, x + 0.125, -0.15, colour, round_=0.02)
        pen.oval(x, -0.36, 0.125, 0.036, WHITE)
        pen.line([(x - 0.123, -0.17), (x + 0.123, -0.17)], 0.014, _STEEL)
    pen.oval(0.0, -0.23, 0.235, 0.235, darker(colour, 0.3))
    pen.oval(0.0, -0.23, 0.20, 0.20, (246, 240, 226))
    pen.oval(0.0, -0.23, 0.12, 0.12, lighter(colour, 0.35))


def drum(pen: Pen, colour: Colour) -> None:
    """A marching drum hanging about the origin; the unit is its width."""
    pen.fill([(-0.5, -0.28), (0.5, -0.28), (0.5, 0.34), (-0.5, 0.34)], colour)
    pen.oval(0.0, 0.34, 0.5, 0.12, colour)
    for k in range(3):
        x = -0.46 + k * 0.307
        pen.line([(x, -0.22), (x + 0.153, 0.38), (x + 0.307, -0.22)], 0.03, (246, 226, 170))
    pen.oval(0.0, -0.28, 0.52, 0.14, (240, 196, 90))
    pen.oval(0.0, -0.30, 0.48, 0.12, (250, 244, 230))


def keyboard(pen: Pen, colour: Colour) -> None:
    """A keyboard on crossed legs; its keys are at height 0.62, the unit is its width."""
    for s in (-1, 1):
        pen.line([(s * 0.36, 0.0), (-s * 0.30, -0.56)], 0.034, INK)
    pen.block(-0.5, -0.68, 0.5, -0.55, colour, round_=0.02)
    pen.block(-0.46, -0.645, 0.46, -0.585, WHITE)
    for k in range(1, 18):
        x = -0.46 + k * 0.0511
        pen.line([(x, -0.645), (x, -0.585)], 0.004, (150, 150, 158))
        if k % 7 not in (3, 0):
            pen.block(x - 0.012, -0.645, x + 0.012, -0.612, INK)


def accordion(pen: Pen, colour: Colour) -> None:
    """An accordion about the origin; the unit is its width when stretched."""
    pen.fill([(-0.22, -0.30), (0.22, -0.34), (0.22, 0.34), (-0.22, 0.30)], (244, 232, 206))
    for k in range(7):
        x = -0.20 + k * 0.066
        pen.line([(x, -0.31), (x, 0.31)], 0.022, (206, 188, 160))
    pen.block(-0.46, -0.32, -0.20, 0.32, colour, round_=0.06)
    pen.block(0.20, -0.36, 0.46, 0.36, colour, round_=0.06)
    pen.block(0.38, -0.28, 0.47, 0.28, WHITE, round_=0.02)
    for k in range(5):
        pen.line([(0.38, -0.2 + k * 0.1), (0.47, -0.2 + k * 0.1)], 0.012, INK)
    for k in range(3):
        for j in range(2):
            pen.oval(-0.37 + j * 0.09, -0.16 + k * 0.15, 0.028, 0.028, WHITE)


def microphone(pen: Pen) -> None:
    """A microphone on a stand; the unit is its height."""
    pen.line([(-0.14, -0.01), (0.0, -0.06), (0.14, -0.01)], 0.02, INK)
    pen.line([(0.0, -0.04), (0.0, -0.92)], 0.016, _STEEL)
    pen.line([(0.0, -0.92), (-0.05, -0.97)], 0.03, INK)
    pen.oval(-0.065, -0.985, 0.034, 0.034, (120, 124, 136))


def speaker(pen: Pen) -> None:
    """A loudspeaker; the unit is its height."""
    pen.block(-0.32, -1.0, 0.32, 0.0, (62, 58, 72), round_=0.05)
    for y, r in ((-0.74, 0.16), (-0.30, 0.24)):
        pen.oval(0.0, y, r, r, (40, 38, 50))
        pen.oval(0.0, y, r * 0.6, r * 0.6, (92, 90, 108))
        pen.oval(0.0, y, r * 0.22, r * 0.22, (40, 38, 50))
