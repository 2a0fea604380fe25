"""Park and field."""

from functools import partial

from scenes.art import buildings, furniture, landscape
from scenes.art.canvas import Pen
from scenes.art.colours import Colour, darker, lighter, mix
from scenes.settings.sky import SKIES, lay_floor, mention_trees, outside, paint_sky, plant_trees
from scenes.stage import Placement, Stage
from scenes.terms import SCENE


def park(s: Stage) -> None:
    """Lawn, trees, perhaps a path, in spring, summer or autumn."""
    mood = s.rng.choice(("day", "day", "haze", "evening"))
    season = s.rng.choice(("summer", "summer", "spring", "autumn"))
    leaves: tuple[Colour, ...] = {
        "summer": ((104, 168, 104), (86, 154, 108), (130, 182, 98)),
        "spring": ((244, 178, 192), (160, 200, 116), (250, 204, 210)),
        "autumn": ((232, 156, 72), (214, 108, 70), (240, 192, 88)),
    }[season]
    lawn = {"summer": (142, 196, 110), "spring": (158, 206, 122), "autumn": (186, 190, 108)}[season]
    horizon = s.height * s.rng.uniform(0.44, 0.52)
    lay_floor(s, horizon)
    s.unlike = ("green",)
    paint_sky(s, mood, horizon)
    pen = s.canvas.pen()
    far = mix(lawn, SKIES[mood][1], 0.5)
    landscape.hills(
        pen, s.rng, s.width, horizon + 4, s.height * 0.13, horizon + 20, mix(far, (120, 170, 190), 0.3)
    )
    landscape.hills(pen, s.rng, s.width, horizon + 8, s.height * 0.07, horizon + 20, mix(far, lawn, 0.4))
    grass = s.entity(SCENE, "grass", colour="green" if season != "autumn" else "", form="mass")
    s.canvas.pen(grass.parts[0]).gradient(horizon, s.height, lighter(lawn, 0.1), darker(lawn, 0.2))
    if s.rng.random() < 0.45:
        sand: Colour = (234, 216, 178)
        x = s.width * s.rng.uniform(0.2, 0.8)
        path = s.entity(SCENE, (("path", 3), ("sidewalk", 1)))
        s.canvas.pen(path.parts[0]).blob(
            [(x - 6, horizon + 2), (x + 8, horizon + 2), (x + 40, horizon + 30), (x + 10, s.height * 0.72),
             (x + 60, s.height + 20), (x - 150, s.height + 30), (x - 96, s.height * 0.74),
                 (x - 30, horizon + 34)],
            mix(sand, lawn, 0.15),
        )  # fmt: skip
    landscape.meadow(pen.of(grass.parts[0]), s.rng, s.width, horizon + 10, s.height, lawn,
                   ((250, 246, 236), (250, 214, 110), (238, 150, 168)), 60)  # fmt: skip
    trees = plant_trees(s, horizon, leaves, s.rng.randint(1, 4), low=0.34, high=0.5)
    for _ in range(s.rng.randint(0, 2)):
        y = horizon + (s.height - horizon) * 0.16
        x, size = s.rng.random() * s.width, s.height * s.rng.uniform(0.12, 0.2)
        flower = s.rng.choice((None, (250, 230, 236), (240, 120, 140)))
        s.paint(
            y,
            partial(_bush, x=x, y=y, size=size, leaf=darker(lawn, 0.26), flowers=flower),
        )
    scenery = s.notion("the park", "a park", "a grassy park", "a city park", scene=True)
    s.place(f"in {scenery}", 3)
    s.place(f"on {grass:the}", 1.2)
    s.place(f"in {grass:the}", 0.6)
    outside(s)
    if mood != "evening":
        s.place(f"on {s.notion('a sunny day', 'a nice day', 'a beautiful day')}", 0.5)
    mention_trees(s, trees)


def _bush(picture: Pen, x: float, y: float, size: float, leaf: Colour, flowers: Colour | None) -> None:
    landscape.bush(picture.at(x, y, scale=size), leaf, flowers)


def field(s: Stage) -> None:
    """Farmland: a meadow, fields in stripes, a barn or a house."""
    mood = s.rng.choice(("day", "day", "haze", "evening"))
    s.code, s.unlike = "farm", ("green",)
    grass_colour: Colour = s.rng.choice(((150, 196, 104), (178, 200, 104), (212, 194, 112)))
    golden = grass_colour[0] > 200
    horizon = s.height * s.rng.uniform(0.42, 0.5)
    lay_floor(s, horizon)
    paint_sky(s, mood, horizon)
    pen = s.canvas.pen()
    haze = SKIES[mood][1]
    if s.rng.random() < 0.4:
        peaks = s.entity(SCENE, "mountain")
        landscape.mountains(s.canvas.pen(peaks.parts[0]), s.rng, s.width, horizon + 6, horizon * 0.5,
            mix((120, 146, 176), haze, 0.35),
                          snow=False)  # fmt: skip
        peaks.nouns, peaks.form = (("mountains", 3), ("hills", 1)), "plenty"
        s.backdrops.append(f"with {peaks:the} in the background")
    landscape.hills(
        pen, s.rng, s.width, horizon + 6, s.height * 0.10, horizon + 20, mix((136, 178, 120), haze, 0.4)
    )
    landscape.hills(
        pen, s.rng, s.width, horizon + 10, s.height * 0.06, horizon + 20, mix((206, 192, 110), haze, 0.2)
    )
    grass = s.entity(SCENE, "grass", form="mass", adjectives=("tall",) if golden else ("green",))
    ground = s.canvas.pen(grass.parts[0])
    ground.gradient(horizon + 6, s.height, lighter(grass_colour, 0.1), darker(grass_colour, 0.16))
    for k in range(7):
        at = s.width * (k / 6)
        ground.fill([(s.width / 2 + (at - s.width / 2) * 0.4, horizon + 8),
            (s.width / 2 + (at + 16 - s.width / 2) * 0.4, horizon + 8),
                     (s.width / 2 + (at + 30 - s.width / 2) * 2, s.height),
                         (s.width / 2 + (at - 10 - s.width / 2) * 2, s.height)],
                    mix(grass_colour, lighter(grass_colour, 0.3), 0.3))  # fmt: skip
    landscape.meadow(
        ground, s.rng, s.width, horizon + 12, s.height, grass_colour, ((250, 246, 236), (226, 92, 84)), 50
    )
    spot = s.rng.random()
    if spot < 0.45:
        x = s.rng.choice((0.16, 0.84))
        s.shadow(x * s.width, horizon + 22, 70, 0.24)
        barn = s.thing(
            "barn", buildings.barn, Placement(x, horizon + 22, s.height * 0.34), category=SCENE, colour="red"
        )
        s.around.append(f"near {barn}")
        s.backdrops.append(f"with {barn} in the background")
    elif spot < 0.7:
        x = s.rng.choice((0.18, 0.82))
        wall = s.rng.choice(((246, 236, 214), (226, 200, 160)))
        house = s.thing(
            (("house", 4), ("farmhouse", 1)),
            lambda p: buildings.house(p, wall, (176, 88, 72)),
            Placement(x, horizon + 20, s.height * 0.3),
            category=SCENE,
            adjectives=("small",),
        )
        s.around.append(f"near {house}")
        s.backdrops.append(f"with {house} in the background")
    if s.rng.random() < 0.45:
        y = horizon + (s.height - horizon) * 0.24
        size = s.height * 0.10
        rail = s.thing(
            (("fence", 4), ("wooden fence", 2)),
            lambda p: furniture.fence(p, s.width / size),
            Placement(0, y, size),
        )
        s.around += [f"near {rail}", f"in front of {rail}"]
    trees = plant_trees(
        s, horizon, ((112, 164, 100), (92, 150, 104)), s.rng.randint(0, 2), low=0.26, high=0.38
    )
    mention_trees(s, trees)
    scenery = s.notion("a field", "the field", "a grassy field", "an open field", scene=True)
    s.place(f"in {scenery}", 3)
    s.place(f"on {s.notion('a farm', 'the farm', scene=True)}", 1)
    s.place(f"in {grass:the}", 0.6)
    outside(s, 0.4)
