"""Kitchen, living room and hall."""

from scenes.art import buildings
from scenes.art.canvas import Pen
from scenes.art.colours import NAMED_COLOURS, WHITE, Colour, darker, lighter, mix
from scenes.board import Floor
from scenes.stage import Placement, Stage
from scenes.terms import OTHER, SCENE

_WALLS: tuple[tuple[Colour, Colour], ...] = (
    ((246, 226, 204), (222, 150, 120)),
    ((206, 226, 226), (104, 160, 164)),
    ((238, 216, 222), (198, 128, 148)),
    ((226, 226, 204), (140, 156, 110)),
    ((250, 232, 190), (222, 164, 86)),
    ((214, 220, 238), (112, 130, 182)),
)


_BOARDS: tuple[Colour, ...] = ((206, 160, 114), (188, 140, 98), (222, 186, 146))


def _room(s: Stage, *, skirting: float) -> tuple[Colour, Colour]:
    """Wall and floorboards meeting at `skirting` (pixels); returns the wall's colour and its accent."""
    wall, accent = s.rng.choice(_WALLS)
    pen = s.canvas.pen()
    back = s.entity(SCENE, "wall")
    s.landmarks["wall"] = back
    s.canvas.pen(back.parts[0]).gradient(0, skirting, lighter(wall, 0.2), wall)
    boards = s.rng.choice(_BOARDS)
    pen.gradient(skirting, s.height, boards, darker(boards, 0.12))
    for k in range(1, 5):
        y = skirting + (s.height - skirting) * (k / 5) ** 1.3
        pen.line([(0, y), (s.width, y)], 0.9, darker(boards, 0.14))
    for k in range(13):
        x = s.width * (k / 12)
        pen.line([(s.width / 2 + (x - s.width / 2) * 0.9, skirting),
            (s.width / 2 + (x - s.width / 2) * 1.5, s.height)], 0.7,
                 darker(boards, 0.08))  # fmt: skip
    pen.block(0, skirting - 7, s.width, skirting, lighter(wall, 0.5))
    pen.block(0, skirting - 1, s.width, skirting + 1, darker(boards, 0.24))
    s.shadow_colour = darker(boards, 0.7)
    return wall, accent


def kitchen(s: Stage) -> None:
    """Cupboards, a stove, a fridge, shelves, a window."""
    s.code = "kitchen"
    skirting = s.height * 0.72
    wall, accent = _room(s, skirting=skirting)
    pen = s.canvas.pen()
    tall = s.height * (0.64 if s.wide else 0.53)
    s.floor = Floor(s.height * 0.80, s.height * 0.96, tall * 0.92, tall)
    top = skirting - tall * 0.44
    size = 17
    for row in range(4):
        for column in range(int(s.width / size) + 1):
            if (row + column) % 2:
                pen.block(
                    column * size,
                    top - (row + 1) * size,
                    (column + 1) * size - 1,
                    top - row * size - 1,
                    lighter(wall, 0.5),
                )
    front = mix(accent, (255, 250, 240), 0.3)
    fridge_at, stove_at = s.rng.choice(((0.08, 0.36), (0.92, 0.62)))
    base_pen = s.canvas.pen()
    base_pen.block(0, top + 6, s.width, skirting, front)
    for k in range(9):
        x = s.width * k / 8
        base_pen.block(x + 4, top + 14, x + s.width / 8 - 4, skirting - 8, lighter(front, 0.16), round_=2)
        base_pen.oval(x + s.width / 8 - 10, top + 30, 1.8, 1.8, darker(front, 0.4))
    counter = s.entity(OTHER, (("counter", 3), ("kitchen counter", 2)))
    s.canvas.pen(counter.parts[0]).block(0, top, s.width, top + 8, (238, 232, 224))
    stove = s.entity(OTHER, (("stove", 3), ("oven", 2)))
    buildings.stove(s.canvas.pen(stove.parts[0]).at(stove_at * s.width, skirting, scale=skirting - top + 2))
    cold = s.entity(OTHER, (("refrigerator", 2), ("fridge", 2)))
    fridge_paint = s.rng.choice(((226, 232, 234), (220, 110, 96), (120, 180, 180)))
    buildings.fridge(
        s.canvas.pen(cold.parts[0]).at(fridge_at * s.width, skirting + 2, scale=tall * 1.02), fridge_paint
    )
    shelf_y = top - tall * 0.42
    shelf = s.entity(OTHER, "shelf")
    x0 = s.width * (0.5 if fridge_at < 0.5 else 0.16)
    spine = s.canvas.pen(shelf.parts[0])
    for k in range(6):
        x = x0 + 10 + k * 22
        paint = NAMED_COLOURS[s.rng.choice(s.harmony)]
        if k % 2:
            spine.block(x - 6, shelf_y - 20, x + 6, shelf_y, lighter(paint, 0.1), round_=2)
        else:
            spine.oval(x, shelf_y - 8, 8, 8, paint)
    spine.block(x0 - 6, shelf_y, x0 + 136, shelf_y + 5, (150, 108, 80))
    if s.rng.random() < 0.7:
        view = s.entity(OTHER, "window")
        buildings.window(s.canvas.pen(view.parts[0]).at(s.width * (0.28 if fridge_at > 0.5 else 0.42),
            shelf_y - 16, scale=tall * 0.36),
                       (176, 214, 232), (140, 186, 120), mix(accent, (255, 255, 255),
                           0.2)) if s.wide else None  # fmt: skip
        s.around.append(f"near {view}")
    room = s.notion("a kitchen", "the kitchen", "a small kitchen", scene=True)
    s.place(f"in {room}", 4)
    s.place(f"inside {room}", 0.3)
    s.around += [f"near {stove}", f"in front of {counter}", f"next to {cold}", f"in front of {stove}"]
    s.backdrops += [f"with {cold} in the background", f"with {shelf} on {s.landmarks['wall']:the}"]


def living_room(s: Stage) -> None:
    """Papered wall, rug, window, pictures, plants, a lamp."""
    s.code = "home"
    skirting = s.height * 0.66
    wall, accent = _room(s, skirting=skirting)
    tall = s.height * (0.62 if s.wide else 0.51)
    s.floor = Floor(s.height * 0.76, s.height * 0.95, tall * 0.88, tall)
    pen = s.canvas.pen()
    if s.rng.random() < 0.5:
        for k in range(0, int(s.width), 26):
            pen.block(k, 0, k + 12, skirting - 8, mix(wall, accent, 0.10))
    drape = mix(accent, (255, 255, 255), 0.1)
    side = s.rng.choice((0.24, 0.76))
    view = s.entity(OTHER, "window")
    sky = s.rng.choice(((176, 214, 232), (250, 206, 160), (60, 70, 120)))
    buildings.window(
        s.canvas.pen(view.parts[0]).at(side * s.width, skirting * 0.42, scale=tall * 0.62),
        sky,
        mix((120, 170, 110), sky, 0.3),
        drape,
    )
    hung = []
    for k in range(s.rng.randint(1, 3)):
        x = (1 - side) * s.width + (k - 1) * 52 + s.rng.uniform(-6, 6)
        frame = s.entity(OTHER, (("picture", 3), ("painting", 2)))
        buildings.draw_framed_picture(s.canvas.pen(frame.parts[0]).at(x, skirting * s.rng.uniform(0.22, 0.34),
            scale=s.rng.uniform(34, 48)), s.rng,
                       mix(accent, NAMED_COLOURS[s.colour()], 0.4))  # fmt: skip
        hung.append(frame)
    if len(hung) > 1:
        s.backdrops.append(
            f"with {s.group(hung, s.rng.choice(('picture', 'painting')))} on {s.landmarks['wall']:the}"
        )
    else:
        s.backdrops.append(f"with {hung[0]} on {s.landmarks['wall']:the}")
    mat = s.entity(OTHER, (("rug", 3), ("carpet", 1)))
    s.landmarks["rug"] = mat
    buildings.rug(s.canvas.pen(mat.parts[0]).at(s.width / 2, s.height * 0.86,
        scale=s.width * (0.72 if s.wide else 0.9)),
                mix(accent, (255, 246, 236), 0.45), accent)  # fmt: skip
    x = 0.08 if side > 0.5 else 0.92
    plant = s.thing(
        "plant",
        lambda p: buildings.plant(p, darker(accent, 0.1)),
        Placement(x, skirting + 18, tall * 0.42, shadow=0.4),
        adjectives=("green", "potted"),
    )
    s.around.append(f"near {plant}")
    if s.rng.random() < 0.6:
        lamp = s.thing(
            "lamp", lambda p: buildings.lamp(p, (255, 226, 160)), Placement(1 - x, skirting + 10, tall * 0.86)
        )
        s.around.append(f"near {lamp}")
    room = s.notion("a living room", "the living room", "a room", scene=True)
    s.place(f"in {room}", 3)
    s.place(f"at {s.notion('home')}", 0.7)
    s.place(f"{s.notion('inside', 'indoors', scene=True)}", 0.5)
    s.around += [f"near {view}", f"by {view}"]


def hall(s: Stage) -> None:
    """A room made festive with bunting and lights, for weddings and birthdays."""
    s.code = "home"
    skirting = s.height * 0.66
    _, accent = _room(s, skirting=skirting)
    tall = s.height * (0.62 if s.wide else 0.51)
    s.floor = Floor(s.height * 0.80, s.height * 0.95, tall * 0.92, tall)
    pen = s.canvas.pen()
    pen.glow(s.width / 2, s.height * 0.3, s.width * 0.6, s.height * 0.5, (255, 246, 222), 0.55)
    string = s.entity(OTHER, (("decorations", 3), ("colorful decorations", 1)), form="plenty")
    strung = s.canvas.pen(string.parts[0])
    paints = tuple(lighter(NAMED_COLOURS[c], 0.1) for c in (*s.harmony, "yellow"))
    for k in range(3):
        a, b = s.width * (k / 3), s.width * ((k + 1) / 3)
        buildings.bunting(strung, (a, 14 + 8 * (k % 2)), (b, 14 + 8 * ((k + 1) % 2)), paints)
    panes = []
    for at in (0.24, 0.76) if s.wide else (0.5,):
        pane = s.entity(OTHER, "window", adjectives=("large", "tall"))
        _tall_window(s.canvas.pen(pane.parts[0]).at(at * s.width, skirting - 26, scale=skirting * 0.62))
        panes.append(pane)
    s.around.append(f"in front of {panes[0] if len(panes) == 1 else s.group(panes, 'window')}")
    for at in (0.07, 0.93):
        pen.blob([(at * s.width - 16, skirting), (at * s.width - 12, skirting - 40),
            (at * s.width + 12, skirting - 40),
                  (at * s.width + 16, skirting)], mix(accent, (255, 255, 255), 0.2))  # fmt: skip
        buildings.plant(
            pen.at(at * s.width, skirting + 6, scale=tall * 0.5), mix(accent, (255, 255, 255), 0.5)
        )
    s.backdrops.append(f"with {string} in the background")
    s.around.append(f"under {string}")
    party = s.notion("a party", "the party")
    s.landmarks["party"] = party
    room = s.notion("a room", "a decorated room", "a large room", scene=True)
    s.place(f"in {room}", 1.6)
    s.place(f"{s.notion('inside', 'indoors', scene=True)}", 0.4)


def _tall_window(pen: Pen) -> None:
    """An arched window with evening light, on its sill; the unit is its height."""
    for half, top, colour in ((0.30, 1.0, WHITE), (0.265, 0.965, (186, 216, 234))):
        pen.block(-half, -top + half, half, 0, colour)
        pen.oval(0, -top + half, half, half, colour)
    pen.oval(0.10, -0.62, 0.06, 0.06, (255, 240, 206))
    pen.blob(
        [(-0.26, -0.02), (-0.26, -0.16), (-0.08, -0.22), (0.12, -0.15), (0.26, -0.2), (0.26, -0.02)],
        (150, 190, 140),
    )
    pen.line([(0, -0.98), (0, 0)], 0.025, WHITE)
    for y in (-0.34, -0.68):
        pen.line([(-0.28, y), (0.28, y)], 0.025, WHITE)
    pen.block(-0.36, -0.02, 0.36, 0.03, WHITE)
