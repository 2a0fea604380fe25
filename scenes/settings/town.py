"""The street, by day and by night."""

from scenes.art import buildings
from scenes.art.colours import Colour, darker, lighter, mix
from scenes.board import Floor
from scenes.settings.sky import outside, paint_sky
from scenes.stage import Placement, Stage
from scenes.terms import SCENE


def street(s: Stage) -> None:
    """House fronts, a pavement, a road; by day or at night."""
    mood = s.rng.choice(("day", "haze", "evening", "night"))
    night = mood == "night"
    s.unlike = ("gray", "black") if night else ("gray",)
    kerb = s.height * (0.70 if s.wide else 0.74)
    base = s.height * (0.60 if s.wide else 0.66)
    tall = s.height * 0.58 if s.wide else s.height * 0.50
    s.floor = Floor(base + (kerb - base) * 0.45, s.height * 0.95, tall * 0.84, tall)
    paint_sky(s, mood, base, clouds=True)
    walls: tuple[Colour, ...] = (
        (232, 190, 158),
        (214, 158, 134),
        (238, 214, 172),
        (168, 190, 196),
        (206, 176, 190),
        (190, 204, 178),
    )
    x = -10.0
    fronts = []
    while x < s.width:
        wide = s.rng.uniform(84, 140)
        high = base * s.rng.uniform(0.55, 0.86)
        wall = s.rng.choice(walls)
        wall = mix(wall, (48, 52, 96), 0.5) if night else wall
        front = s.entity(SCENE, (("building", 5), ("store", 0.6)), adjectives=("large", "tall", "brick"))
        buildings.building(s.canvas.pen(front.parts[0]).at(x + wide / 2, base), s.rng, wall, wide, high,
            night=night,
                         shop=s.rng.random() < 0.7)  # fmt: skip
        fronts.append(front)
        x += wide
    walk_colour: Colour = (214, 206, 196) if not night else (112, 108, 136)
    road_colour: Colour = (128, 130, 142) if not night else (70, 70, 98)
    walk = s.entity(SCENE, "sidewalk")
    s.canvas.pen(walk.parts[0]).gradient(base, kerb, darker(walk_colour, 0.08), walk_colour)
    slabs = s.canvas.pen(walk.parts[0])
    for k in range(12):
        at = s.width * k / 11
        slabs.line([(at, base), (at + (at - s.width / 2) * 0.16, kerb)], 0.8, darker(walk_colour, 0.14))
    slabs.block(0, kerb - 4, s.width, kerb, lighter(walk_colour, 0.24))
    road = s.entity(SCENE, (("street", 3), ("road", 3)))
    lane = s.canvas.pen(road.parts[0])
    lane.gradient(kerb, s.height, road_colour, darker(road_colour, 0.12))
    middle = kerb + (s.height - kerb) * 0.5
    for k in range(-1, 7):
        at = s.width * k / 6 + 10
        lane.fill([(at, middle - 2), (at + 44, middle - 2), (at + 46, middle + 3), (at - 2, middle + 3)],
                  lighter(road_colour, 0.5))  # fmt: skip
    lamps = []
    for at in (s.rng.uniform(0.06, 0.3), s.rng.uniform(0.62, 0.94)):
        if s.rng.random() < 0.75:
            lamps.append(
                s.thing(
                    (("street lamp", 2), ("street light", 2)),
                    lambda p: buildings.street_lamp(p, lit=night),
                    Placement(at, kerb - 6, s.height * 0.5),
                )
            )
    town = s.notion("the city", "a city", "a busy city", scene=True)
    s.place(f"down {road:the}", 0.1)
    s.place(f"on {road:the}", 1.2)
    s.place(f"on {walk:the}", 1.2)
    s.place(f"in {town:the}", 1.2)
    s.place(f"on {s.notion('a city street', 'a busy street', 'the street corner', scene=True)}", 1.6)
    outside(s)
    if night:
        s.place(f"at {s.notion('night')}", 0.7)
    if len(fronts) > 1:
        fronts = fronts[:12]
        row = s.group(fronts, "building")
        s.around.append(f"in front of {row}")
        s.backdrops.append(f"with {row} in the background")
    s.around.append(f"in front of {fronts[s.rng.randrange(len(fronts))]}")
