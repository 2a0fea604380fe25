"""Common parts of outdoor settings: the sky, the floor, trees."""

from functools import partial

from scenes.art import landscape
from scenes.art.colours import WHITE, Colour, mix
from scenes.board import Floor
from scenes.referents import Entity
from scenes.stage import Placement, Stage

#: Sky at the top and at the horizon, and the sun.
SKIES: dict[str, tuple[Colour, Colour, Colour]] = {
    "day": ((128, 192, 232), (222, 240, 244), (255, 240, 190)),
    "haze": ((156, 204, 224), (246, 238, 220), (255, 236, 196)),
    "evening": ((238, 160, 136), (252, 216, 156), (255, 226, 150)),
    "dusk": ((116, 112, 176), (246, 178, 160), (255, 220, 190)),
    "cold": ((150, 186, 222), (230, 238, 246), (255, 248, 230)),
    "night": ((36, 44, 88), (96, 96, 148), (250, 244, 220)),
}


def lay_floor(s: Stage, horizon: float) -> None:
    """Let people stand between the horizon (in pixels from the top) and the lower edge."""
    tall = s.height * 0.62 if s.wide else s.height * 0.52
    s.floor = Floor(horizon + (s.height - horizon) * 0.40, s.height * 0.945, tall * 0.80, tall)


def paint_sky(s: Stage, mood: str, horizon: float, *, clouds: bool = True) -> None:
    """Paint the sky of a mood down to the horizon: light, perhaps sun and clouds, stars at night."""
    top, bottom, light = SKIES[mood]
    pen = s.canvas.pen()
    pen.gradient(0, horizon + 2, top, bottom)
    if s.rng.random() < 0.7 or mood in ("evening", "dusk", "night"):
        low = horizon * (0.5 if mood in ("evening", "dusk") else 0.24)
        landscape.sun(
            pen, s.width * s.rng.uniform(0.1, 0.9), low, s.height * s.rng.uniform(0.035, 0.05), light
        )
    if clouds and mood != "night":
        tone = mix(WHITE, bottom, 0.25)
        landscape.clouds(pen, s.rng, s.width, horizon * 0.1, horizon * 0.55, s.rng.randint(2, 4), tone)
    if mood == "night":
        for _ in range(40):
            x, y = s.rng.uniform(0, s.width), s.rng.uniform(0, horizon * 0.7)
            pen.oval(x, y, 0.8, 0.8, (240, 236, 214))


def outside(s: Stage, weight: float = 0.5) -> None:
    """Let captions mention that it is outdoors; `weight` is how often, among other places."""
    s.place(f"{s.notion('outside', 'outdoors', scene=True)}", weight)


def plant_trees(
    s: Stage, horizon: float, leaves: tuple[Colour, ...], count: int, *, low: float, high: float
) -> list[Entity]:
    """Draw broad-leaved trees along the back of the floor, at a distance from each other."""
    trees = []
    slots = [(k + 0.5) / count for k in range(count)]
    for slot in slots:
        x = slot + s.rng.uniform(-0.26, 0.26) / count
        y = horizon + (s.height - horizon) * s.rng.uniform(0.06, 0.24)
        size = s.height * s.rng.uniform(low, high)
        leaf = s.rng.choice(leaves)
        s.shadow(x * s.width, y, size * 0.30, 0.26)
        trees.append(
            s.thing(
                "tree",
                partial(landscape.tree, rng=s.rng, leaf=leaf),
                Placement(x, y, size),
                adjectives=("large", "tall", "big"),
            )
        )
    return trees


def mention_trees(s: Stage, trees: list[Entity]) -> None:
    """Let captions mention the trees: one of them, several as a group."""
    if len(trees) == 1:
        s.around.append(f"near {trees[0]}")
        s.backdrops.append(f"with {trees[0]} in the background")
    elif trees:
        group = s.group(trees, "tree")
        s.around.append(f"near {group}")
        s.backdrops += [f"with {group} in the background", f"in front of {group}"]
