"""Birds, in profile and facing right, standing on the pen's origin; the unit is their height."""

from scenes.art.canvas import Pen
from scenes.art.colours import WHITE, Colour, darker

_NOSE: Colour = (46, 40, 46)


def eye(pen: Pen, x: float, y: float, size: float = 0.026) -> None:
    """A dark eye with a glint; other animals have the same."""
    pen.oval(x, y, size, size * 1.2, _NOSE)
    pen.oval(x + size * 0.3, y - size * 0.4, size * 0.36, size * 0.36, WHITE)


def duck(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A duck, standing or swimming (no legs to be seen)."""
    down, head = coat
    bill: Colour = (240, 156, 60)
    if pose != "swim":
        for x in (-0.06, 0.10):
            pen.line([(x, -0.18), (x, -0.03), (x + 0.10, -0.02)], 0.05, bill)
    pen.blob([(-0.62, -0.58), (-0.40, -0.46), (-0.10, -0.54), (0.24, -0.50), (0.36, -0.32), (0.20, -0.12),
              (-0.20, -0.10), (-0.46, -0.24)], down)  # fmt: skip
    pen.limb((0.22, -0.40), (0.26, -0.76), 0.12, 0.11, head if head[1] > head[0] else down)
    pen.oval(0.28, -0.80, 0.17, 0.16, head if head[1] > head[0] else down)
    pen.blob([(0.40, -0.84), (0.62, -0.76), (0.60, -0.70), (0.40, -0.70)], bill)
    pen.blob(
        [(-0.34, -0.42), (0.02, -0.44), (0.12, -0.32), (-0.10, -0.20), (-0.36, -0.26)], darker(down, 0.1)
    )
    eye(pen, 0.32, -0.84, 0.03)


def chicken(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A hen, standing."""
    down, wing = coat
    for x in (-0.06, 0.10):
        pen.line([(x, -0.24), (x, -0.02), (x + 0.08, -0.02)], 0.036, (238, 164, 70))
    pen.blob([(-0.58, -0.86), (-0.48, -0.56), (-0.2, -0.52), (0.14, -0.62), (0.24, -0.92), (0.40, -0.88),
              (0.46, -0.5), (0.30, -0.24), (-0.06, -0.16), (-0.40, -0.30), (-0.60, -0.60)], down)  # fmt: skip
    for x, y in ((0.22, -1.0), (0.31, -1.03), (0.40, -0.98)):
        pen.oval(x, y, 0.06, 0.07, (214, 66, 60))
    pen.oval(0.32, -0.88, 0.15, 0.14, down)
    pen.fill([(0.44, -0.92), (0.58, -0.86), (0.44, -0.82)], (240, 170, 70))
    pen.oval(0.42, -0.74, 0.045, 0.07, (214, 66, 60))
    pen.blob([(-0.36, -0.46), (0.04, -0.50), (0.10, -0.36), (-0.14, -0.24), (-0.36, -0.32)], wing)
    eye(pen, 0.35, -0.90, 0.028)


def bird(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A bird on the wing, or perched on the ground."""
    plume, wing = coat
    if pose == "fly":
        pen.blob(
            [(-0.06, -0.36), (-0.34, -0.86), (-0.66, -1.0), (-0.44, -0.70), (-0.30, -0.36)],
            darker(wing, 0.12),
        )
        pen.blob(
            [(-0.62, -0.34), (-0.30, -0.46), (0.10, -0.52), (0.36, -0.46), (0.20, -0.30), (-0.20, -0.26)],
            plume,
        )
        pen.fill([(-0.46, -0.40), (-0.86, -0.44), (-0.82, -0.26)], wing)
        pen.blob([(0.10, -0.44), (0.04, -0.94), (-0.12, -1.2), (-0.20, -0.80), (-0.26, -0.38)], wing)
        pen.oval(0.32, -0.47, 0.14, 0.12, plume)
        pen.fill([(0.43, -0.51), (0.60, -0.45), (0.43, -0.42)], (240, 170, 70))
        eye(pen, 0.36, -0.50, 0.026)
        return
    for x in (-0.06, 0.06):
        pen.line([(x, -0.20), (x, -0.01), (x + 0.09, -0.01)], 0.036, (226, 130, 90))
    pen.blob([(-0.78, -0.34), (-0.36, -0.52), (0.0, -0.70), (0.28, -0.66), (0.32, -0.40), (0.06, -0.18),
              (-0.30, -0.22)], plume)  # fmt: skip
    pen.oval(0.26, -0.76, 0.18, 0.17, plume)
    pen.fill([(0.42, -0.80), (0.60, -0.74), (0.42, -0.69)], (240, 170, 70))
    pen.blob([(-0.62, -0.34), (-0.20, -0.54), (0.10, -0.46), (-0.08, -0.28)], wing)
    eye(pen, 0.31, -0.80, 0.03)
