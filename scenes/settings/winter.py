"""The snowy hill."""

from scenes.art import buildings, landscape
from scenes.art.canvas import Pen
from scenes.art.colours import Colour, darker, mix
from scenes.settings.sky import lay_floor, mention_trees, outside, paint_sky
from scenes.stage import Placement, Stage
from scenes.terms import SCENE


def snow(s: Stage) -> None:
    """A snowy slope with firs, mountains or a village behind."""
    mood = s.rng.choice(("cold", "cold", "dusk", "day"))
    s.code, s.unlike = "winter", ("white",)
    horizon = s.height * s.rng.uniform(0.42, 0.5)
    lay_floor(s, horizon)
    paint_sky(s, mood, horizon + 8)
    pen = s.canvas.pen()
    if s.rng.random() < 0.6:
        peaks = s.entity(SCENE, "mountain")
        landscape.mountains(
            s.canvas.pen(peaks.parts[0]),
            s.rng,
            s.width,
            horizon + 10,
            horizon * 0.74,
            (132, 150, 184),
            snow=True,
        )
        peaks.nouns, peaks.form, peaks.adjectives = (("mountains", 3), ("snowy mountains", 1)), "plenty", ()
        s.backdrops.append(f"with {peaks:the} in the background")
        s.around.append(f"in {peaks:the}")
    shade: Colour = (206, 220, 238) if mood != "dusk" else (226, 208, 226)
    landscape.hills(pen, s.rng, s.width, horizon + 14, s.height * 0.10, horizon + 40, darker(shade, 0.06))
    ground = s.entity(SCENE, "snow", form="mass")
    slope = s.canvas.pen(ground.parts[0])
    landscape.hills(slope, s.rng, s.width, horizon + 26, s.height * 0.05, horizon + 30, (244, 247, 251))
    slope.gradient(horizon + 26, s.height, (244, 247, 251), shade)
    for _ in range(7):
        x, y = s.rng.uniform(0, s.width), s.rng.uniform(horizon + 40, s.height)
        slope.blob(
            [(x - 46, y), (x - 10, y - 4), (x + 40, y + 1), (x + 4, y + 4)], mix(shade, (190, 206, 230), 0.5)
        )
    leaf: Colour = (78, 130, 124)
    trees = []
    count = s.rng.randint(2, 4)
    for k in range(count):
        x = (k + s.rng.uniform(0.2, 0.8)) / count
        y = horizon + (s.height - horizon) * s.rng.uniform(0.12, 0.26)
        size = s.height * s.rng.uniform(0.26, 0.42)
        s.shadow(x * s.width, y, size * 0.26, 0.2)
        trees.append(
            s.thing(
                (("pine tree", 2), ("tree", 3)),
                lambda p: landscape.pine(p, leaf, snow=True),
                Placement(x, y, size),
            )
        )
    mention_trees(s, trees)
    if s.rng.random() < 0.3:
        x = s.rng.uniform(0.2, 0.8)
        wall = s.rng.choice(((186, 126, 88), (216, 176, 130)))
        cabin = s.thing(
            (("cabin", 3), ("house", 2)),
            lambda p: buildings.house(p, wall, (240, 244, 250)),
            Placement(x, horizon + 28, s.height * 0.3),
            category=SCENE,
            adjectives=("small", "wooden"),
        )
        s.backdrops.append(f"with {cabin} in the background")
    hill = s.notion("a snowy hill", "a hill", "the snowy hill", "a snow covered hill", scene=True)
    s.place(f"on {hill}", 1.5)
    s.place(f"in {ground:the}", 2.5)
    s.place(f"on {ground:the}", 0.7)
    outside(s, 0.4)
    s.place(f"on {s.notion('a cold day', 'a winter day', 'a snowy day')}", 0.6)

    def flakes(over: Pen) -> None:
        for _ in range(90):
            r = s.rng.uniform(1.4, 3.4)
            over.glow(s.rng.uniform(0, s.width), s.rng.uniform(0, s.height), r, r, (255, 255, 255), 0.95)

    if s.rng.random() < 0.6:
        s.overlays.append(flakes)
