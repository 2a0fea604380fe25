"""Heads: face, hair, beard, and what is worn on them.

All are drawn by a pen whose origin is the middle of the head and whose unit is half its height;
the head faces us, turned a little to the right by `view` (1 from the front, 0 in profile).
"""

from collections.abc import Callable

from scenes.art.canvas import Pen, Point
from scenes.art.colours import INK, WHITE, Colour, darker, lighter, mix

SKINS: tuple[Colour, ...] = (
    (248, 208, 180),
    (243, 196, 162),
    (226, 172, 132),
    (196, 138, 100),
    (158, 104, 74),
    (118, 76, 56),
)

#: Hair colours in captions, and their colours in pictures.
HAIRS: dict[str, Colour] = {
    "blond": (232, 194, 116),
    "brown": (112, 72, 52),
    "dark": (58, 44, 46),
    "black": (44, 40, 50),
    "red": (190, 92, 50),
    "gray": (172, 174, 180),
    "white": (232, 230, 226),
}

_ROSY: Colour = (232, 96, 88)


def face(pen: Pen, skin: Colour, *, view: float, merry: bool, shut: bool = False) -> None:
    """Skull, ears, eyes, nose and mouth."""
    turned = 0.26 * (1 - view) + 0.04
    pen.oval(-0.80 + turned * 0.5, 0.08, 0.15, 0.21, darker(skin, 0.08))
    if view > 0.7:
        pen.oval(0.84, 0.08, 0.13, 0.20, darker(skin, 0.08))
    pen.blob(
        [(-0.80, -0.2), (-0.52, -0.86), (0.02, -1.0), (0.56, -0.86), (0.82, -0.2), (0.76, 0.38), (0.40, 0.90),
         (0.04, 1.0), (-0.34, 0.90), (-0.72, 0.38)],
        skin,
    )  # fmt: skip
    cheek = mix(skin, _ROSY, 0.26)
    pen.oval(-0.40 + turned, 0.38, 0.17, 0.12, cheek)
    pen.oval(0.44 + turned * 0.8, 0.38, 0.15, 0.12, cheek)
    ink = darker(mix(INK, skin, 0.06), 0.1)
    for x in (-0.27 + turned, 0.33 + turned):
        if shut:
            pen.line([(x - 0.12, 0.10), (x, 0.16), (x + 0.12, 0.10)], 0.07, ink, curved=True)
        else:
            pen.oval(x, 0.08, 0.085, 0.115, ink)
        pen.line([(x - 0.15, -0.22), (x + 0.01, -0.28), (x + 0.16, -0.22)], 0.06, mix(ink, skin, 0.3))
    pen.line([(0.04 + turned, 0.18), (0.10 + turned, 0.36), (0.02 + turned, 0.38)], 0.07, darker(skin, 0.2))
    if merry:
        pen.blob(
            [(-0.17 + turned, 0.54), (0.04 + turned, 0.58), (0.27 + turned, 0.54), (0.06 + turned, 0.78)],
            (150, 52, 58),
        )
        pen.line(
            [(-0.12 + turned, 0.57), (0.04 + turned, 0.60), (0.22 + turned, 0.57)], 0.06, WHITE, curved=True
        )
    else:
        pen.line(
            [(-0.14 + turned, 0.60), (0.05 + turned, 0.68), (0.24 + turned, 0.59)],
            0.08,
            darker(mix(skin, _ROSY, 0.45), 0.3),
            curved=True,
        )


def beard(pen: Pen, hair: Colour, *, view: float) -> None:
    """A full beard with a moustache; the mouth shows in it."""
    turned = 0.26 * (1 - view) + 0.04
    pen.blob(
        [(-0.80, 0.10), (-0.55, 0.42), (-0.2 + turned, 0.42), (0.05 + turned, 0.50), (0.34 + turned, 0.42),
         (0.66, 0.36), (0.82, 0.08), (0.78, 0.60), (0.46, 1.12), (0.06, 1.28), (-0.36, 1.12), (-0.74, 0.60)],
        hair,
    )  # fmt: skip
    pen.line(
        [(-0.13 + turned, 0.66), (0.05 + turned, 0.73), (0.24 + turned, 0.65)],
        0.10,
        (176, 84, 82),
        curved=True,
    )


_CAP: list[Point] = [
    (-0.90, 0.10), (-0.99, -0.44), (-0.66, -1.02), (-0.02, -1.20), (0.62, -1.06), (0.94, -0.52),
        (0.86, -0.02),
    (0.76, -0.34), (0.46, -0.64), (-0.16, -0.52), (-0.60, -0.36), (-0.74, -0.06),
]  # fmt: skip


def _gleam(pen: Pen, hair: Colour) -> None:
    pen.line([(-0.28, -1.03), (0.24, -1.06), (0.68, -0.8)], 0.08, lighter(hair, 0.16), curved=True)


def _nothing(pen: Pen, hair: Colour) -> None:
    """No hair on this side of the head."""


def _short(pen: Pen, hair: Colour) -> None:
    pen.blob(_CAP, hair)
    _gleam(pen, hair)


def _tousled(pen: Pen, hair: Colour) -> None:
    pen.blob(_CAP, hair)
    for x, y, r in ((-0.76, -0.66, 0.30), (-0.36, -1.0, 0.34), (0.16, -1.06, 0.36), (0.62, -0.84, 0.32)):
        pen.oval(x, y, r, r, hair)
    pen.oval(0.2, -1.16, 0.16, 0.08, lighter(hair, 0.16))


def _receding(pen: Pen, hair: Colour) -> None:
    pen.blob([(-0.84, 0.2), (-0.98, -0.2), (-0.84, -0.66), (-0.62, -0.74), (-0.66, -0.3), (-0.72, 0.0)], hair)
    pen.blob([(0.80, 0.1), (0.95, -0.2), (0.86, -0.6), (0.70, -0.68), (0.72, -0.3)], hair)


def _bob_behind(pen: Pen, hair: Colour) -> None:
    pen.blob(
        [(-1.0, -0.2), (-0.80, -0.96), (0.0, -1.26), (0.84, -0.96), (1.04, -0.2), (1.04, 0.66), (0.66, 0.94),
         (-0.62, 0.96), (-1.06, 0.72)],
        darker(hair, 0.14),
    )  # fmt: skip


def _bob(pen: Pen, hair: Colour) -> None:
    pen.blob(
        [(-0.98, 0.52), (-1.04, -0.30), (-0.72, -1.02), (0.0, -1.24), (0.74, -1.02), (1.02, -0.30),
            (0.96, 0.5),
         (0.80, 0.1), (0.66, -0.44), (0.30, -0.66), (-0.24, -0.50), (-0.62, -0.28), (-0.76, 0.1)],
        hair,
    )  # fmt: skip
    _gleam(pen, hair)


def _long_behind(pen: Pen, hair: Colour) -> None:
    pen.blob(
        [(-1.0, -0.2), (-0.84, -0.96), (0.0, -1.26), (0.86, -0.96), (1.06, -0.2), (1.10, 0.9), (1.04, 1.86),
         (0.5, 2.1), (-0.5, 2.16), (-1.14, 1.9), (-1.16, 0.9)],
        darker(hair, 0.14),
    )  # fmt: skip


def _long(pen: Pen, hair: Colour) -> None:
    pen.blob(
        [(-0.98, 1.12), (-1.08, -0.20), (-0.76, -1.00), (0.0, -1.26), (0.78, -1.00), (1.06, -0.20),
         (1.00, 1.0), (0.82, 0.3), (0.66, -0.40), (0.16, -0.74), (-0.40, -0.46), (-0.76, 0.0), (-0.80, 0.5)],
        hair,
    )  # fmt: skip
    _gleam(pen, hair)


def _ponytail_behind(pen: Pen, hair: Colour) -> None:
    pen.blob(
        [
            (-0.66, -0.8),
            (-1.12, -0.82),
            (-1.56, -0.2),
            (-1.58, 0.7),
            (-1.30, 1.36),
            (-1.16, 0.6),
            (-0.98, -0.1),
        ],
        darker(hair, 0.1),
    )


def _ponytail(pen: Pen, hair: Colour) -> None:
    _short(pen, hair)
    pen.oval(-0.94, -0.64, 0.15, 0.19, (226, 96, 110))


def _bun_behind(pen: Pen, hair: Colour) -> None:
    pen.oval(-0.34, -1.30, 0.46, 0.42, hair)
    pen.oval(-0.40, -1.40, 0.18, 0.12, lighter(hair, 0.14))


def _curly_behind(pen: Pen, hair: Colour) -> None:
    for x, y, r in (
        (-0.86, 0.32, 0.40), (-1.0, -0.2, 0.46), (-0.78, -0.76, 0.50), (-0.2, -1.08, 0.54),
            (0.44, -1.02, 0.52),
        (0.90, -0.58, 0.46), (1.04, -0.02, 0.40), (0.94, 0.42, 0.34),
    ):  # fmt: skip
        pen.oval(x, y, r, r, hair)


def _curly(pen: Pen, hair: Colour) -> None:
    for x, y, r in ((-0.66, -0.56, 0.30), (-0.2, -0.76, 0.34), (0.3, -0.78, 0.32), (0.68, -0.54, 0.26)):
        pen.oval(x, y, r, r, hair)


def _pigtails_behind(pen: Pen, hair: Colour) -> None:
    for s in (-1, 1):
        pen.blob(
            [(s * 0.84, -0.1), (s * 1.24, -0.12), (s * 1.5, 0.4), (s * 1.34, 1.1), (s * 1.08, 0.7)],
            darker(hair, 0.08),
        )
        pen.oval(s * 0.98, -0.06, 0.16, 0.16, (240, 190, 90))


def _pigtails(pen: Pen, hair: Colour) -> None:
    pen.blob(
        [(-0.94, 0.24), (-1.0, -0.40), (-0.70, -1.02), (0.0, -1.20), (0.70, -1.02), (0.98, -0.40),
            (0.90, 0.2),
         (0.74, -0.30), (0.34, -0.52), (-0.30, -0.52), (-0.70, -0.26)],
        hair,
    )  # fmt: skip
    _gleam(pen, hair)


def _wisp(pen: Pen, hair: Colour) -> None:
    pen.blob([(-0.76, -0.56), (-0.5, -0.96), (0.0, -1.1), (0.5, -0.98), (0.74, -0.6), (0.3, -0.82),
        (-0.3, -0.8)],
             hair)  # fmt: skip
    pen.line([(0.0, -1.04), (0.14, -1.26), (0.32, -1.16)], 0.1, hair, curved=True)


_Painter = Callable[[Pen, Colour], None]

#: Hair styles: the parts painted before the body, and over the face.
STYLES: dict[str, tuple[_Painter, _Painter]] = {
    "short": (_nothing, _short),
    "tousled": (_nothing, _tousled),
    "receding": (_nothing, _receding),
    "bob": (_bob_behind, _bob),
    "long": (_long_behind, _long),
    "ponytail": (_ponytail_behind, _ponytail),
    "bun": (_bun_behind, _short),
    "curly": (_curly_behind, _curly),
    "pigtails": (_pigtails_behind, _pigtails),
    "wisp": (_nothing, _wisp),
}


def glasses(pen: Pen, *, view: float, dark: bool) -> None:
    """Two lenses with a bridge and a temple; `dark` ones are sunglasses."""
    turned = 0.26 * (1 - view) + 0.04
    rim: Colour = (46, 42, 54)
    for x in (-0.29 + turned, 0.36 + turned):
        if dark:
            pen.block(x - 0.28, -0.12, x + 0.28, 0.30, rim, round_=0.16)
            pen.line([(x - 0.13, 0.0), (x - 0.03, -0.05)], 0.06, (150, 160, 180))
        else:
            pen.ring(x, 0.09, 0.30, 0.085, rim)
    pen.line([(-0.03 + turned, 0.04), (0.10 + turned, 0.04)], 0.09, rim)
    pen.line([(-0.56 + turned, 0.02), (-0.80, -0.04)], 0.08, rim)
    if view > 0.7:
        pen.line([(0.62 + turned, 0.02), (0.82, -0.04)], 0.08, rim)


def _beanie(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.oval(0.0, -1.42, 0.26, 0.25, trim)
    pen.blob([(-0.98, -0.42), (-0.90, -0.98), (-0.44, -1.34), (0.06, -1.40), (0.54, -1.30), (0.94, -0.94),
              (1.0, -0.42), (0.0, -0.52)], colour)  # fmt: skip
    pen.blob([(-1.04, -0.64), (0.0, -0.76), (1.06, -0.64), (1.06, -0.28), (0.0, -0.38), (-1.04, -0.28)], trim)


def _cap(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.blob([(-0.98, -0.36), (-0.94, -0.90), (-0.46, -1.28), (0.12, -1.32), (0.70, -1.04), (0.96, -0.42),
              (0.0, -0.48)], colour)  # fmt: skip
    pen.blob([(0.10, -0.56), (0.94, -0.62), (1.60, -0.36), (1.56, -0.22), (0.8, -0.34), (0.1, -0.36)], trim)
    pen.oval(0.02, -1.32, 0.10, 0.07, trim)


def _sun_hat(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.oval(0.0, -0.52, 1.66, 0.36, darker(colour, 0.12))
    pen.oval(0.0, -0.57, 1.66, 0.32, colour)
    pen.blob([(-0.86, -0.58), (-0.78, -1.14), (-0.34, -1.44), (0.36, -1.44), (0.80, -1.14), (0.88, -0.58),
              (0.0, -0.46)], colour)  # fmt: skip
    pen.blob([(-0.90, -0.78), (0.0, -0.68), (0.92, -0.78), (0.90, -0.54), (0.0, -0.42), (-0.88, -0.54)], trim)


def _cowboy(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.blob([(-1.74, -0.86), (-1.2, -0.62), (0.0, -0.42), (1.2, -0.62), (1.74, -0.88), (1.3, -0.36),
        (0.0, -0.22),
              (-1.3, -0.36)], darker(colour, 0.1))  # fmt: skip
    pen.blob([(-0.86, -0.46), (-0.80, -1.16), (-0.46, -1.52), (0.0, -1.36), (0.48, -1.52), (0.82, -1.16),
              (0.88, -0.46), (0.0, -0.32)], colour)  # fmt: skip
    pen.blob([(-0.88, -0.70), (0.0, -0.60), (0.90, -0.70), (0.88, -0.50), (0.0, -0.38), (-0.86, -0.50)], trim)


def _top_hat(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.oval(0.0, -0.62, 1.34, 0.24, darker(colour, 0.1))
    pen.fill([(-0.80, -0.64), (-0.88, -1.86), (0.88, -1.86), (0.80, -0.64)], colour)
    pen.oval(0.0, -1.86, 0.88, 0.14, lighter(colour, 0.12))
    pen.oval(0.0, -0.66, 0.80, 0.12, trim)
    pen.fill([(-0.81, -0.66), (-0.83, -0.98), (0.83, -0.98), (0.81, -0.66)], trim)


def _helmet(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.line([(-0.74, -0.4), (-0.5, 0.5), (-0.1, 1.04)], 0.08, (60, 60, 70), curved=True)
    pen.blob([(-1.12, -0.34), (-1.10, -0.90), (-0.58, -1.38), (0.08, -1.46), (0.72, -1.24), (1.12, -0.62),
              (1.02, -0.36), (0.0, -0.52)], colour)  # fmt: skip
    for x in (-0.46, 0.06, 0.54):
        pen.line([(x - 0.14, -0.70), (x, -1.20)], 0.13, trim)


def _party(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.blob([(-0.58, -0.84), (-0.3, -1.5), (0.04, -2.14), (0.36, -1.5), (0.66, -0.84), (0.0, -0.74)], colour)
    for x, y in ((-0.2, -1.06), (0.3, -1.14), (0.02, -1.52)):
        pen.oval(x, y, 0.12, 0.12, trim)
    pen.oval(0.04, -2.12, 0.22, 0.22, trim)


def _chef(pen: Pen, colour: Colour, trim: Colour) -> None:
    shade = darker(colour, 0.08)
    for x, y, r in ((-0.62, -1.46, 0.46), (0.66, -1.46, 0.46), (0.0, -1.62, 0.56)):
        pen.oval(x, y, r, r, shade if x else colour)
    pen.fill([(-0.80, -0.52), (-0.84, -1.34), (0.86, -1.34), (0.82, -0.52)], colour)
    pen.blob(
        [(-0.84, -0.86), (0.0, -0.80), (0.86, -0.86), (0.84, -0.46), (0.0, -0.40), (-0.82, -0.46)], shade
    )


def _veil(pen: Pen, colour: Colour, trim: Colour) -> None:
    pen.blob([(-0.5, -1.1), (0.2, -1.26), (0.0, -0.9), (-0.7, -0.4), (-1.0, 1.2), (-1.5, 2.6), (-1.9, 2.4),
              (-1.5, 0.6), (-1.1, -0.6)], colour)  # fmt: skip
    for x, y in ((-0.5, -0.98), (-0.16, -1.12), (0.2, -1.14)):
        pen.oval(x, y, 0.17, 0.16, trim)


HATS: dict[str, Callable[[Pen, Colour, Colour], None]] = {
    "beanie": _beanie,
    "cap": _cap,
    "sun hat": _sun_hat,
    "cowboy hat": _cowboy,
    "top hat": _top_hat,
    "helmet": _helmet,
    "party hat": _party,
    "chef hat": _chef,
    "veil": _veil,
}
