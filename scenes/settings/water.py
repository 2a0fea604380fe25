"""Beach and lake."""

from functools import partial

from scenes.art import landscape, vehicles
from scenes.art.colours import NAMED_COLOURS, WHITE, Colour, darker, lighter, mix
from scenes.board import Floor
from scenes.referents import Entity
from scenes.settings.sky import SKIES, outside, paint_sky
from scenes.stage import Placement, Stage
from scenes.terms import SCENE


def beach(s: Stage) -> None:
    """Sea, sand, perhaps palms and sails."""
    mood = s.rng.choice(("day", "day", "haze", "evening", "dusk"))
    s.code, s.unlike = "beach", ("tan",)
    horizon = s.height * s.rng.uniform(0.36, 0.44)
    shore = horizon + (s.height - horizon) * s.rng.uniform(0.26, 0.36)
    tall = s.height * 0.61 if s.wide else s.height * 0.52
    s.floor = Floor(shore + (s.height - shore) * 0.22, s.height * 0.945, tall * 0.8, tall)
    paint_sky(s, mood, horizon)
    warm = mood in ("evening", "dusk")
    deep: Colour = (74, 150, 190) if not warm else (134, 124, 170)
    shallow: Colour = (140, 212, 214) if not warm else (246, 190, 168)
    pen = s.canvas.pen()
    if s.rng.random() < 0.4:
        landscape.hills(
            pen, s.rng, s.width, horizon + 6, s.height * 0.08, horizon + 4, mix(deep, SKIES[mood][1], 0.6)
        )
    sea = s.entity(SCENE, (("water", 3), ("ocean", 3), ("sea", 1)), form="mass")
    water = s.canvas.pen(sea.parts[0])
    water.gradient(horizon, shore + 14, deep, shallow)
    landscape.waves(water, s.rng, s.width, horizon + 6, shore, lighter(shallow, 0.5), 26)
    sand: Colour = (240, 216, 168) if not warm else (234, 196, 160)
    beach_part = s.entity(SCENE, "sand", form="mass")
    strand = s.canvas.pen(beach_part.parts[0])
    line = [(s.width * k / 12, shore + 6 * ((k * 7919 + 3) % 5 - 2) * 0.5) for k in range(13)]
    water.fill([(x, y - 5) for x, y in line] + [(s.width, shore + 12), (0, shore + 12)], (250, 250, 246))
    strand.fill([*line, (s.width, shore + 12), (0, shore + 12)], darker(sand, 0.10))
    strand.gradient(shore + 10, s.height, sand, darker(sand, 0.08))
    for _ in range(70):
        x, y = s.rng.uniform(0, s.width), s.rng.uniform(shore + 14, s.height)
        strand.oval(x, y, 1.2, 0.7, darker(sand, 0.16))
    if s.rng.random() < 0.4:
        x = s.rng.choice((0.07, 0.93))
        y = shore + (s.height - shore) * 0.2
        s.shadow(x * s.width, y, 40, 0.2)
        palm = s.thing(
            (("palm tree", 3), ("tree", 1)),
            lambda p: landscape.palm(p, 0.16 if x < 0.5 else -0.16),
            Placement(x, y, s.height * 0.56),
        )
        s.around.append(f"near {palm}")
    if s.rng.random() < 0.55:
        _sails(s, horizon, sea)
    scenery = s.notion("the beach", "a beach", "a sandy beach", scene=True)
    s.place(f"on {scenery}", 3)
    s.place(f"at {scenery}", 1.6)
    s.place(f"on {beach_part:the}", 1.2)
    s.place(f"in {beach_part:the}", 0.5)
    s.around += [f"near {sea:the}", f"by {sea:the}"]
    s.backdrops.append(f"with {sea:the} in the background")
    outside(s, 0.2)


def _sails(s: Stage, horizon: float, sea: Entity) -> None:

    boats = []
    count = s.rng.randint(1, 3)
    for k in range(count):
        x = (k + s.rng.uniform(0.3, 0.7)) / count
        size = s.height * s.rng.uniform(0.10, 0.14)
        name = s.colour("white", "tan")
        boats.append(
            s.vehicle(
                (("sailboat", 4), ("boat", 3)),
                partial(vehicles.sailboat, colour=NAMED_COLOURS[name], sail=WHITE),
                Placement(x, horizon + s.height * 0.035 + 4 * k, size, order=horizon),
            )
        )
    what = boats[0] if count == 1 else s.group(boats, s.rng.choice(("sailboat", "boat")))
    sail = s.notion("the distance")
    s.says(what, f"*float on {sea:the}", f"*sail in {sail}", main=False, here=False, weight=0.7)
    s.backdrops.append(f"with {what} in the background")


def lake(s: Stage) -> None:
    """Still water under mountains, a near shore in front."""
    mood = s.rng.choice(("day", "haze", "evening", "dusk"))
    s.unlike = ("green",)
    horizon = s.height * s.rng.uniform(0.34, 0.40)
    shore = s.height * 0.80
    tall = s.height * 0.56 if s.wide else s.height * 0.48
    s.floor = Floor(shore + 6, s.height * 0.95, tall * 0.92, tall)
    paint_sky(s, mood, horizon)
    haze = SKIES[mood][1]
    peaks = s.entity(SCENE, "mountain")
    rock = mix((112, 134, 168), haze, 0.22)
    landscape.mountains(
        s.canvas.pen(peaks.parts[0]),
        s.rng,
        s.width,
        horizon + 4,
        horizon * 0.74,
        rock,
        snow=s.rng.random() < 0.6,
    )
    peaks.nouns, peaks.form = (("mountains", 1),), "plenty"
    pen = s.canvas.pen()
    landscape.hills(
        pen, s.rng, s.width, horizon + 4, s.height * 0.07, horizon + 4, mix((96, 150, 118), haze, 0.25)
    )
    warm = mood in ("evening", "dusk")
    deep: Colour = (92, 158, 184) if not warm else (142, 132, 172)
    water_entity = s.entity(SCENE, (("water", 1),), form="mass", adjectives=("calm",))
    water = s.canvas.pen(water_entity.parts[0])
    water.gradient(horizon + 3, shore + 12, mix(haze, deep, 0.35), deep)
    for k in range(4):
        x = s.width * (0.15 + 0.25 * k)
        pen.veil([(x - 60, horizon + 4), (x + 60, horizon + 4), (x, horizon + 50)], rock, 0.16)
    landscape.waves(water, s.rng, s.width, horizon + 12, shore, lighter(deep, 0.4), 30)
    bank_colour: Colour = (150, 188, 112) if not warm else (164, 160, 108)
    bank = s.entity(SCENE, (("shore", 1), ("bank", 1)))
    ground = s.canvas.pen(bank.parts[0])
    landscape.hills(ground, s.rng, s.width, shore + 10, 14, shore + 14, bank_colour)
    ground.gradient(shore + 8, s.height, bank_colour, darker(bank_colour, 0.16))
    landscape.meadow(
        ground, s.rng, s.width, shore + 12, s.height, bank_colour, ((250, 246, 236), (246, 206, 110)), 34
    )
    x = s.rng.choice((0.03, 0.97))
    tree = s.thing(
        "tree",
        lambda p: landscape.tree(p, s.rng, (98, 158, 104)),
        Placement(x, shore + 12, s.height * 0.46),
        adjectives=("tall",),
    )
    s.around.append(f"near {tree}")
    scenery = s.notion("a lake", "the lake", scene=True)
    s.backdrops += [f"with {peaks:the} in the background", f"in front of {peaks}"]
    s.places += [(f"at {scenery}", 1.0), (f"near {water_entity:the}", 1.0)]
    s.landmarks.update(lake=scenery, water=water_entity, bank=bank)
    s.waterline = horizon + (shore - horizon) * 0.72
    outside(s, 0.5)
