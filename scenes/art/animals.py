"""Animals, in profile and facing right, standing on the pen's origin; the unit is their height."""

from collections.abc import Callable

from scenes.art.birds import bird, chicken, duck, eye
from scenes.art.canvas import Pen, Point
from scenes.art.colours import INK, WHITE, Colour, darker, lighter, mix

#: The name of a coat in captions, and its look: the coat itself and its markings.
COATS: dict[str, dict[str, tuple[Colour, Colour]]] = {
    "dog": {
        "brown": ((166, 112, 72), (120, 78, 52)),
        "black": ((66, 62, 70), (44, 42, 50)),
        "white": ((244, 240, 232), (222, 212, 198)),
        "tan": ((222, 178, 122), (186, 136, 86)),
        "gray": ((150, 152, 158), (114, 116, 126)),
        "brown and white": ((176, 118, 74), (248, 244, 236)),
        "black and white": ((62, 60, 68), (246, 244, 240)),
    },
    "cat": {
        "orange": ((232, 150, 74), (204, 116, 52)),
        "black": ((60, 58, 68), (82, 80, 90)),
        "gray": ((148, 152, 162), (114, 118, 130)),
        "white": ((246, 242, 236), (226, 218, 208)),
    },
    "horse": {
        "brown": ((146, 92, 60), (74, 48, 40)),
        "white": ((240, 236, 228), (206, 198, 188)),
        "black": ((62, 56, 62), (38, 34, 42)),
        "tan": ((212, 164, 110), (244, 230, 200)),
    },
    "cow": {
        "black and white": ((247, 244, 238), (58, 56, 64)),
        "brown and white": ((247, 242, 232), (160, 104, 68)),
        "brown": ((160, 104, 68), (134, 84, 56)),
    },
    "sheep": {"white": ((245, 240, 228), (70, 62, 66)), "black": ((84, 80, 86), (48, 46, 54))},
    "duck": {"white": ((248, 246, 240), (230, 226, 218)), "yellow": ((250, 214, 100), (230, 184, 70)),
             "brown": ((158, 124, 92), (64, 116, 88))},
    "chicken": {"white": ((248, 244, 234), (228, 218, 202)), "brown": ((180, 110, 66), (146, 84, 52))},
    "bird": {"white": ((250, 249, 245), (186, 192, 202)), "gray": ((140, 148, 164), (104, 112, 130)),
             "black": ((62, 62, 74), (44, 44, 56)), "blue": ((84, 138, 200), (58, 104, 164))},
}  # fmt: skip

_NOSE: Colour = (46, 40, 46)


def _legs(pen: Pen, legs: list[tuple[Point, Point, Point]], thick: float, colour: Colour) -> None:
    for top, knee, foot in legs:
        pen.limb(top, knee, thick * 1.5, thick, colour)
        pen.limb(knee, foot, thick, thick * 0.86, colour)
        pen.limb(foot, (foot[0] + thick * 0.8, foot[1]), thick * 0.86, thick * 0.8, colour)


def _dog_head(pen: Pen, coat: Colour, mark: Colour, collar: Colour) -> None:
    pen.limb((-0.10, 0.20), (-0.02, 0.06), 0.135, 0.14, coat)
    pen.line([(-0.21, 0.12), (-0.08, 0.22), (0.08, 0.20)], 0.05, collar, curved=True)
    pen.oval(0.02, 0.0, 0.175, 0.16, coat)
    muzzle = lighter(coat, 0.24)
    pen.limb((0.10, 0.055), (0.25, 0.075), 0.095, 0.068, muzzle)
    pen.oval(0.305, 0.045, 0.042, 0.034, _NOSE)
    pen.line([(0.16, 0.12), (0.22, 0.135), (0.29, 0.115)], 0.016, darker(coat, 0.4), curved=True)
    pen.blob(
        [(-0.04, -0.14), (-0.16, -0.10), (-0.23, 0.06), (-0.19, 0.20), (-0.10, 0.16), (-0.02, 0.0)], mark
    )
    eye(pen, 0.09, -0.035)


def dog(pen: Pen, coat: tuple[Colour, Colour], pose: str, collar: Colour = (214, 72, 66)) -> None:
    """A dog that stands, sits, runs, leaps (its middle on the origin's height of flight) or lies."""
    fur, mark = coat
    shade = darker(fur, 0.16)
    if pose == "sit":
        pen.line([(-0.24, -0.08), (-0.46, -0.10), (-0.54, -0.26)], 0.075, fur, curved=True)
        pen.limb((0.20, -0.50), (0.17, -0.05), 0.07, 0.05, shade)
        pen.limb((-0.10, -0.25), (0.13, -0.58), 0.235, 0.16, fur)
        pen.oval(-0.12, -0.20, 0.20, 0.20, fur)
        pen.limb((-0.06, -0.05), (0.06, -0.045), 0.055, 0.045, shade)
        pen.limb((0.16, -0.50), (0.23, -0.05), 0.075, 0.052, fur)
        pen.limb((0.23, -0.045), (0.28, -0.04), 0.045, 0.04, lighter(fur, 0.2))
        pen.oval(0.22, -0.46, 0.075, 0.12, lighter(fur, 0.3))
        _dog_head(pen.at(0.19, -0.80), fur, mark, collar)
        return
    if pose == "lie":
        pen.line([(-0.52, -0.10), (-0.70, -0.06), (-0.80, -0.12)], 0.075, fur, curved=True)
        pen.limb((-0.36, -0.19), (0.26, -0.20), 0.19, 0.18, fur)
        pen.oval(-0.36, -0.16, 0.20, 0.16, shade)
        pen.limb((0.20, -0.08), (0.52, -0.05), 0.065, 0.05, fur)
        pen.limb((-0.34, -0.05), (-0.16, -0.045), 0.055, 0.045, fur)
        _dog_head(pen.at(0.44, -0.44), fur, mark, collar)
        return
    if pose in ("run", "leap"):
        far = [
            ((0.24, -0.44), (0.44, -0.30), (0.62, -0.14)),
            ((-0.36, -0.44), (-0.58, -0.36), (-0.74, -0.16)),
        ]
        near = [
            ((0.30, -0.44), (0.54, -0.38), (0.72, -0.26)),
            ((-0.32, -0.44), (-0.50, -0.28), (-0.62, -0.06)),
        ]
        tail = [(-0.44, -0.56), (-0.68, -0.72), (-0.92, -0.70)]
    else:
        far = [
            ((0.22, -0.42), (0.21, -0.24), (0.20, -0.05)),
            ((-0.36, -0.42), (-0.34, -0.24), (-0.38, -0.05)),
        ]
        near = [
            ((0.30, -0.42), (0.31, -0.24), (0.31, -0.05)),
            ((-0.42, -0.42), (-0.46, -0.24), (-0.46, -0.05)),
        ]
        tail = [(-0.46, -0.56), (-0.66, -0.66), (-0.74, -0.88)]
    pen.line(tail, 0.08, fur, curved=True)
    _legs(pen, far, 0.05, shade)
    pen.limb((-0.36, -0.47), (0.26, -0.49), 0.165, 0.185, fur)
    if mark[0] > fur[0]:
        pen.oval(0.22, -0.40, 0.15, 0.11, mark)
    elif sum(mark) < sum(fur) - 90:
        pen.oval(-0.18, -0.56, 0.17, 0.09, mark)
    _legs(pen, near, 0.052, fur)
    _dog_head(pen.at(0.46, -0.78), fur, mark if mark[0] < fur[0] else darker(fur, 0.22), collar)


def cat(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A cat that sits facing us, or walks."""
    fur, mark = coat

    def head(p: Pen) -> None:
        for side in (-1, 1):
            p.fill([(side * 0.06, -0.15), (side * 0.21, -0.34), (side * 0.23, -0.04)], fur)
            p.fill([(side * 0.10, -0.16), (side * 0.19, -0.27), (side * 0.20, -0.09)], (232, 150, 150))
        p.oval(0.0, 0.0, 0.25, 0.20, fur)
        for x in (-0.06, 0.0, 0.06):
            p.line([(x, -0.19), (x, -0.11)], 0.026, mark)
        for x in (-0.10, 0.10):
            p.oval(x, -0.01, 0.042, 0.05, (246, 220, 110))
            p.oval(x, -0.01, 0.02, 0.046, _NOSE)
        p.oval(0.0, 0.085, 0.09, 0.06, lighter(fur, 0.4))
        p.fill([(-0.03, 0.05), (0.03, 0.05), (0.0, 0.085)], (222, 110, 110))
        for side in (-1, 1):
            for dy in (0.05, 0.09):
                p.line([(side * 0.12, 0.07), (side * 0.32, dy - 0.01)], 0.008, mix(INK, WHITE, 0.5))

    if pose == "walk":
        pen.line([(-0.52, -0.50), (-0.74, -0.66), (-0.70, -0.96)], 0.085, fur, curved=True)
        _legs(pen, [((0.22, -0.36), (0.18, -0.22), (0.14, -0.05)), ((-0.40, -0.36), (-0.34, -0.2),
            (-0.36, -0.05))],
              0.048, darker(fur, 0.16))  # fmt: skip
        pen.limb((-0.38, -0.44), (0.26, -0.42), 0.17, 0.16, fur)
        for x in (-0.36, -0.2, -0.04):
            pen.line([(x, -0.59), (x + 0.03, -0.46)], 0.036, mark)
        _legs(pen, [((0.30, -0.36), (0.34, -0.22), (0.36, -0.05)), ((-0.44, -0.36), (-0.48, -0.2),
            (-0.54, -0.05))],
              0.05, fur)  # fmt: skip
        head(pen.at(0.46, -0.64))
        return
    pen.line([(0.20, -0.06), (0.46, -0.05), (0.56, -0.22), (0.50, -0.34)], 0.085, fur, curved=True)
    pen.blob([(-0.28, -0.04), (-0.30, -0.24), (-0.18, -0.52), (0.0, -0.60), (0.18, -0.52), (0.30, -0.24),
              (0.28, -0.04), (0.0, 0.0)], fur)  # fmt: skip
    pen.oval(0.0, -0.36, 0.11, 0.16, lighter(fur, 0.4))
    for side in (-1, 1):
        pen.line([(side * 0.20, -0.40), (side * 0.12, -0.36)], 0.03, mark)
        pen.line([(side * 0.24, -0.28), (side * 0.15, -0.25)], 0.03, mark)
        pen.limb((side * 0.085, -0.30), (side * 0.085, -0.05), 0.06, 0.055, fur)
        pen.oval(side * 0.09, -0.04, 0.07, 0.045, lighter(fur, 0.3))
    head(pen.at(0.0, -0.72))


def horse(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A horse that stands or trots; its back is at (0, -0.64)."""
    fur, mane = coat
    shade = darker(fur, 0.16)
    if pose == "trot":
        far = [
            ((0.30, -0.44), (0.44, -0.34), (0.40, -0.16)),
            ((-0.34, -0.44), (-0.30, -0.24), (-0.36, -0.04)),
        ]
        near = [
            ((0.26, -0.44), (0.24, -0.24), (0.18, -0.04)),
            ((-0.40, -0.44), (-0.52, -0.28), (-0.62, -0.14)),
        ]
    else:
        far = [
            ((0.24, -0.44), (0.23, -0.24), (0.22, -0.04)),
            ((-0.32, -0.44), (-0.33, -0.24), (-0.32, -0.04)),
        ]
        near = [
            ((0.32, -0.44), (0.33, -0.24), (0.33, -0.04)),
            ((-0.40, -0.44), (-0.45, -0.24), (-0.43, -0.04)),
        ]
    pen.blob(
        [(-0.50, -0.66), (-0.62, -0.62), (-0.70, -0.40), (-0.66, -0.16), (-0.60, -0.34), (-0.52, -0.50)], mane
    )
    _legs(pen, far, 0.034, shade)
    for _, _, foot in far:
        pen.block(foot[0] - 0.03, -0.04, foot[0] + 0.055, 0.0, darker(mane, 0.2)) if foot[1] > -0.1 else None
    pen.blob([(-0.52, -0.62), (-0.40, -0.71), (-0.10, -0.645), (0.20, -0.69), (0.40, -0.66), (0.42, -0.48),
              (0.22, -0.38), (-0.20, -0.385), (-0.46, -0.42), (-0.55, -0.52)], fur)  # fmt: skip
    pen.fill([(0.14, -0.64), (0.44, -0.50), (0.62, -0.86), (0.46, -0.95)], fur)
    pen.limb((0.30, -0.56), (0.50, -0.86), 0.13, 0.085, fur)
    pen.limb((0.53, -0.88), (0.75, -0.74), 0.085, 0.062, fur)
    pen.oval(0.785, -0.715, 0.05, 0.058, lighter(mix(fur, (190, 160, 150), 0.4), 0.1))
    pen.fill([(0.46, -0.94), (0.49, -1.04), (0.55, -0.93)], fur)
    pen.blob([(0.50, -0.98), (0.38, -0.96), (0.26, -0.80), (0.12, -0.66), (0.24, -0.66), (0.38, -0.78),
              (0.49, -0.90)], mane)  # fmt: skip
    pen.oval(0.60, -0.87, 0.018, 0.022, _NOSE)
    pen.oval(0.80, -0.72, 0.012, 0.012, _NOSE)
    _legs(pen, near, 0.036, fur)
    for _, _, foot in near:
        pen.block(foot[0] - 0.03, foot[1] - 0.005, foot[0] + 0.058, foot[1] + 0.036, darker(mane, 0.2))


def saddle(pen: Pen, colour: Colour) -> None:
    """Saddle, girth and bridle of a horse drawn at the same pen."""
    pen.blob(
        [(-0.22, -0.66), (0.0, -0.63), (0.16, -0.67), (0.17, -0.50), (-0.02, -0.46), (-0.22, -0.50)], colour
    )
    pen.line([(0.02, -0.48), (0.04, -0.385)], 0.02, darker(colour, 0.3))
    pen.line([(0.66, -0.87), (0.70, -0.70)], 0.015, darker(colour, 0.3))
    pen.line([(0.52, -0.95), (0.58, -0.80), (0.74, -0.70)], 0.013, darker(colour, 0.3))


def cow(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A cow that stands or grazes."""
    fur, mark = coat
    shade = darker(fur, 0.14)
    pen.line([(-0.60, -0.82), (-0.70, -0.66), (-0.68, -0.40)], 0.034, shade, curved=True)
    pen.oval(-0.68, -0.36, 0.035, 0.06, mark)
    _legs(pen, [((0.34, -0.42), (0.33, -0.24), (0.33, -0.05)), ((-0.40, -0.42), (-0.39, -0.24), (-0.39,
        -0.05))],
          0.05, shade)  # fmt: skip
    pen.oval(-0.26, -0.34, 0.13, 0.09, (238, 176, 172))
    pen.blob([(-0.62, -0.80), (-0.30, -0.87), (0.20, -0.85), (0.52, -0.86), (0.58, -0.60), (0.40, -0.36),
              (0.0, -0.33), (-0.44, -0.36), (-0.62, -0.52)], fur)  # fmt: skip
    if mark[0] < fur[0]:
        pen.blob([(-0.52, -0.83), (-0.26, -0.86), (-0.18, -0.68), (-0.34, -0.56), (-0.56, -0.64)], mark)
        pen.blob([(0.06, -0.85), (0.30, -0.85), (0.34, -0.66), (0.16, -0.54), (0.02, -0.66)], mark)
        pen.oval(-0.12, -0.46, 0.12, 0.08, mark)
    _legs(pen, [((0.44, -0.42), (0.45, -0.24), (0.45, -0.05)), ((-0.50, -0.42), (-0.53, -0.24), (-0.52,
        -0.05))],
          0.052, fur)  # fmt: skip
    head = pen.at(0.66, -0.84) if pose != "graze" else pen.at(0.72, -0.36, angle=42)
    pen.limb((0.46, -0.70), (0.64, -0.80) if pose != "graze" else (0.66, -0.44), 0.17, 0.12, fur)
    for side in (-1, 1):
        head.blob([(side * 0.10, -0.13), (side * 0.16, -0.25), (side * 0.21, -0.24), (side * 0.16, -0.10)],
                  (224, 204, 170))  # fmt: skip
        head.oval(side * 0.22, -0.06, 0.10, 0.05, mark, angle=side * 18)
    head.blob([(-0.14, -0.14), (0.14, -0.14), (0.16, 0.02), (0.11, 0.22), (-0.11, 0.22), (-0.16, 0.02)], fur)
    head.blob([(0.02, -0.15), (0.14, -0.13), (0.15, 0.03), (0.06, 0.06)], mark)
    head.oval(0.0, 0.19, 0.14, 0.095, (240, 190, 182))
    for side in (-1, 1):
        head.oval(side * 0.055, 0.18, 0.018, 0.024, (176, 112, 110))
        eye(head, side * 0.085, -0.01, 0.022)


def sheep(pen: Pen, coat: tuple[Colour, Colour], pose: str) -> None:
    """A woolly sheep."""
    wool, face = coat
    for x in (-0.30, -0.16, 0.20, 0.34):
        pen.limb((x, -0.30), (x, -0.04), 0.05, 0.042, face if x in (-0.16, 0.34) else darker(face, 0.2))
    for x, y, r in ((-0.42, -0.50, 0.20), (-0.24, -0.68, 0.22), (0.04, -0.72, 0.24), (0.30, -0.64, 0.21),
                    (0.40, -0.44, 0.18), (-0.30, -0.36, 0.20), (0.02, -0.34, 0.22), (0.26, -0.34,
                        0.18)):  # fmt: skip
        pen.oval(x, y, r, r, darker(wool, 0.08) if y > -0.45 else wool)
    pen.oval(0.0, -0.52, 0.38, 0.24, wool)
    for x, y in ((-0.2, -0.56), (0.08, -0.62), (0.02, -0.44)):
        pen.line([(x - 0.07, y), (x, y + 0.05), (x + 0.07, y)], 0.02, darker(wool, 0.1), curved=True)
    head = pen.at(0.54, -0.66) if pose != "graze" else pen.at(0.58, -0.30, angle=28)
    head.oval(-0.14, -0.04, 0.10, 0.05, darker(face, 0.1), angle=-24)
    head.blob([(-0.11, -0.16), (0.10, -0.16), (0.15, 0.02), (0.11, 0.18), (0.0, 0.21), (-0.10, 0.12)], face)
    head.oval(0.0, -0.17, 0.13, 0.085, wool)
    for x in (-0.02, 0.09):
        head.oval(x, -0.02, 0.028, 0.032, WHITE)
        head.oval(x + 0.006, -0.02, 0.015, 0.02, _NOSE)


Beast = Callable[[Pen, tuple[Colour, Colour], str], None]

ANIMAL_PAINTERS: dict[str, Beast] = {
    "dog": dog,
    "cat": cat,
    "horse": horse,
    "cow": cow,
    "sheep": sheep,
    "duck": duck,
    "chicken": chicken,
    "bird": bird,
}
