"""The stage of a concert."""

from scenes.art import buildings
from scenes.art.colours import Colour, darker, lighter, mix
from scenes.board import Floor
from scenes.stage import Stage
from scenes.terms import OTHER, SCENE


def concert(s: Stage) -> None:
    """A stage between curtains, with beams of light; a crowd may stand below."""
    s.code, s.unlike = "stage", ("black",)
    tone = s.rng.choice(((64, 50, 98), (38, 58, 104), (96, 44, 76), (34, 74, 92)))
    glowing = s.rng.choice(((252, 166, 120), (250, 206, 120), (236, 130, 178), (130, 200, 236)))
    edge = s.height * 0.72
    pen = s.canvas.pen()
    pen.gradient(0, edge, darker(tone, 0.35), lighter(tone, 0.18))
    pen.glow(s.width * 0.5, s.height * 0.55, s.width * 0.6, s.height * 0.52, glowing, 0.62)
    for _ in range(26):
        x, y, r = s.rng.uniform(0, s.width), s.rng.uniform(0, edge * 0.7), s.rng.uniform(2, 7)
        pen.glow(x, y, r, r, lighter(glowing, 0.4), 0.5)
    floor = s.entity(SCENE, "stage")
    boards = s.canvas.pen(floor.parts[0])
    wood: Colour = mix((150, 104, 84), tone, 0.28)
    boards.gradient(edge, s.height, lighter(wood, 0.14), wood)
    for k in range(15):
        x = s.width * k / 14
        boards.line([(s.width / 2 + (x - s.width / 2) * 0.9, edge),
            (s.width / 2 + (x - s.width / 2) * 1.4, s.height)], 0.8,
                    darker(wood, 0.14))  # fmt: skip
    pen.glow(s.width * 0.5, s.height * 0.86, s.width * 0.46, s.height * 0.13, lighter(glowing, 0.4), 0.5)
    drape = s.rng.choice(((172, 52, 62), (120, 50, 96), (44, 84, 128)))
    curtains = []
    for a, b in ((0, 0.14), (1, 0.86)):
        cloth = s.entity(OTHER, "curtain")
        buildings.curtain(s.canvas.pen(cloth.parts[0]), s.width * a, s.width * b, edge + 14, drape)
        curtains.append(cloth)
    both = s.group(curtains, "curtain")
    tall = s.height * (0.62 if s.wide else 0.52)
    s.floor = Floor(s.height * 0.78, s.height * 0.93, tall * 0.86, tall)
    s.shadow_colour = darker(wood, 0.8)
    lamps = [s.rng.uniform(0.16, 0.36), s.rng.uniform(0.44, 0.58), s.rng.uniform(0.64, 0.86)]
    lights = []
    for at in lamps:
        x = at * s.width
        foot = x + s.rng.uniform(-50, 50)
        pen.veil(
            [(x - 5, 6), (x + 5, 6), (foot + 58, s.height * 0.9), (foot - 58, s.height * 0.9)],
            lighter(glowing, 0.5),
            0.17,
        )
        light = s.entity(OTHER, "light")
        spot = s.canvas.pen(light.parts[0])
        spot.block(x - 8, 0, x + 8, 12, (40, 38, 52), round_=2)
        spot.oval(x, 13, 6, 4, (255, 246, 214))
        lights.append(light)
    bright = s.group(lights, "light", phrases=(("bright lights", 2), ("stage lights", 2), ("the lights", 1)))
    s.place(f"on {floor}", 3)
    s.place(f"on {floor:the}", 1.4)
    hall = s.notion("a concert", "a show", "the concert")
    s.place(f"at {hall}", 0.8)
    s.around += [f"under {bright}", f"in front of {both}"]
    s.backdrops.append(f"with {both} in the background")
