"""Stories of the snow: a sled, skis, a snowman, snowballs, dogs."""

from collections.abc import Sequence
from dataclasses import replace

from scenes import acts
from scenes.acts import ADULT, ANYONE, CHILD
from scenes.art import toys, vehicles
from scenes.art.anatomy import Pose
from scenes.art.canvas import Pen
from scenes.art.colours import NAMED_COLOURS
from scenes.art.figures import BodyFigure
from scenes.referents import Entity
from scenes.stage import Placement, Stage, Standpoint
from scenes.terms import OTHER


def sledding(s: Stage) -> None:
    """One or two on a sled."""
    ground, tall = s.floor.at(0.82)
    count = s.rng.choice((1, 2))
    kinds: Sequence[str] = CHILD if count == 2 or s.rng.random() < 0.7 else ("woman", "man")
    name = s.colour("white")
    size = tall * (0.84 if count == 2 or kinds != CHILD else 0.66)
    at = 0.46
    angle = 7.0
    sled = s.vehicle(
        (("sled", 4), ("wooden sled", 1), ("sleigh", 0.5)),
        lambda p: vehicles.sled(p, NAMED_COLOURS[name]),
        Placement(at, ground, size, order=ground - 1, angle=angle),
        colour=name,
    )
    s.shadow(at * s.width, ground, size * 0.62, 0.3)
    riders = []
    pose = Pose(
        near_arm=(40, 84), far_arm=(50, 90), near_leg=(84, 62), far_leg=(92, 66), lean=-8, view=0.4, hip=0.3
    )
    for k in range(count):
        x = at * s.width + (-0.30 * size + 0.42 * size * k if count == 2 else -0.16 * size)
        who, figure = s.person(
            kinds,
            Standpoint(at, 0.82, order=ground + k),
            s.rng.choice((pose, replace(pose, near_arm=(-150, -168), far_arm=(150, 168)))),
        )
        figure.hips_at((x, ground - 0.22 * size - 0.05 * figure.height))
        riders.append(who)
        s.says(
            who, f"*ride {sled}", f"*sit on {sled}", f"*slide down on {sled}", weight=4 if count == 1 else 0.8
        )
    if count == 2:
        s.says(
            s.group(riders),
            f"*ride {sled}",
            f"*slide down on {sled}",
            f"*sit on {sled}",
            f"*go sledding on {sled}",
            weight=4,
        )
    if s.rng.random() < 0.65:
        companion, _ = s.person(
            ("woman", "man", "old man", "girl"),
            Standpoint(0.84, 0.4, flip=True),
            s.rng.choice(("wave", "stand", "cheer")),
        )
        s.says(companion, "*watch", "*wave", f"*wait for {riders[0]:the}", weight=0.9)


def skiing(s: Stage) -> None:
    """Skiers with poles."""
    count = s.rng.choice((1, 2, 2)) if s.wide else 1
    skiers, pairs = [], []
    for k in range(count):
        x = 0.44 if count == 1 else (0.26, 0.70)[k]
        who, figure = s.person(
            ("man", "woman", "boy", "girl"), Standpoint(x, 0.85 - 0.5 * k), "ski", role=(("skier", 3.0),)
        )
        name = s.colour("white")
        ground = figure.y
        skis = s.entity(OTHER, "skis", colour=name, form="pair")
        length = figure.height * 0.86

        def planks(
            p: Pen,
            x: float = x,
            ground: float = ground,
            length: float = length,
            name: str = name,
            skis: Entity = skis,
        ) -> None:
            toys.skis(
                p.at(x * s.width + 0.02 * length, ground, scale=length).of(skis.parts[0]),
                1.0,
                NAMED_COLOURS[name],
                slope=0,
            )

        s.paint(ground - 0.5, planks)
        poles = s.entity(OTHER, (("poles", 2), ("ski poles", 2)), form="pair")

        def sticks(p: Pen, figure: BodyFigure = figure, part: int = poles.parts[0]) -> None:
            for limb in ("near arm", "far arm"):
                hx, hy = figure.limbs[limb][2]
                p.of(part).line([(hx + 0.03, hy - 0.05), (hx - 0.17, hy + 0.36)], 0.010, (92, 96, 110))

        figure.over.append(sticks)
        skiers.append(who)
        pairs.append(skis)
        s.says(
            who,
            "*ski",
            f"*ski on {skis}",
            f"*stand on {skis}",
            f"*hold {poles}",
            f"*ski with {poles}",
            weight=4 if count == 1 else 1,
        )
    if count == 2:
        group = s.group(skiers, "skier")
        both = s.group(pairs, phrases=(("skis", 2.0), ("their skis", 1.0)))
        s.says(
            group,
            "*ski",
            "*ski together",
            f"*stand on {both}",
            f"*enjoy {s.notion('the weather', 'winter')}",
            weight=4,
        )
    else:
        slope = s.notion("the slope", "a slope", scene=True)
        s.says(skiers[0], f"*ski down {slope}", f"*go down {slope}", weight=2)


def snowman(s: Stage) -> None:
    """Children around a snowman."""
    ground, tall = s.floor.at(0.6)
    scarf, hat = s.colour("white"), s.rng.choice(("black", "brown", "purple"))
    man = s.thing(
        "snowman",
        lambda p: toys.draw_snowman(p, NAMED_COLOURS[scarf], NAMED_COLOURS[hat]),
        Placement(0.5, ground, tall * 0.84, shadow=0.34),
        adjectives=("large", "big"),
    )
    builders = []
    for k in range(s.rng.choice((1, 2, 2))):
        who, _ = s.person(
            CHILD if s.rng.random() < 0.7 else ADULT,
            Standpoint(0.24 if k == 0 else 0.76, 0.75, flip=k == 1),
            s.rng.choice(("reach", "cheer", "stand", "wave")),
        )
        builders.append(who)
        s.says(
            who,
            f"*build {man}",
            f"*stand next to {man}",
            f"*decorate {man}",
            f"*play with {man}",
            weight=3 if k == 0 else 1,
        )
    if len(builders) == 2:
        s.says(
            s.group(builders),
            f"*build {man}",
            f"*make {man}",
            f"*stand around {man}",
            f"*play with {man}",
            weight=4,
        )
        s.says((builders[0], builders[1]), f"*build {man}", weight=1)
    if s.rng.random() < 0.5:
        dog, _ = s.animal(
            "dog",
            Standpoint(0.90 if len(builders) == 1 else 0.58, 0.98, flip=True),
            s.rng.choice(("sit", "stand")),
        )
        s.says(dog, "*watch", f"*sit in front of {man}", "*look on", main=False, weight=0.8)


def snowballs(s: Stage) -> None:
    """A snowball fight."""
    thrower, _ = s.person(("boy", "girl", "man"), Standpoint(0.22, 0.85), "throw")
    two, _ = s.person(
        ("girl", "boy", "woman"), Standpoint(0.78, 0.7, flip=True), s.rng.choice(("jump", "throw", "cheer"))
    )
    ground, tall = s.floor.at(0.8)
    ball = acts.ball_in_scene(s, 0.5, ground - tall * 0.66, tall * 0.05, "snow", order=s.height, flying=True)
    fight = s.notion("a snowball fight")
    s.says(s.group([thrower, two]), f"*have {fight}", "*play", f"*enjoy {fight}", weight=4)
    s.says((thrower, two), f"*have {fight}", "*play", weight=1)
    s.says(thrower, f"*throw {ball} at {two}", f"*throw {ball}", weight=2)
    s.says(two, f"*try to catch {ball}", f"*jump away from {ball}", f"*play with {thrower}", weight=0.8)


def winter_walk(s: Stage) -> None:
    """A walk with dogs in the snow."""
    who, figure = s.person(ANYONE, Standpoint(0.30, 0.85), s.rng.choice(("walk", "stroll")))
    dogs, leads = [], []
    count = s.rng.choice((1, 2, 3)) if s.wide else 1
    for k in range(count):
        x = 0.60 + 0.15 * k
        dog, tall = s.animal("dog", Standpoint(x, 0.9 - 0.3 * k), s.rng.choice(("stand", "run")))
        ground = s.floor.at(0.9 - 0.3 * k)[0]
        leads.append(acts.leash(s, figure.end("far arm"), (x * s.width + 0.36 * tall, ground - 0.60 * tall)))
        dogs.append(dog)
    if count == 1:
        s.says(
            who, f"*walk {dogs[0]:own}", f"*walk {dogs[0]} on {leads[0]}", f"*walk with {dogs[0]}", weight=4
        )
        s.says((who, dogs[0]), "*walk", "*play", weight=1.4)
    else:
        pack = s.group(dogs, "dog")
        s.says(
            who, f"*walk {pack}", f"*walk with {pack:own}", f"*take {pack} for {s.notion('a walk')}", weight=5
        )
        s.says(pack, "*run", f"*run ahead of {who}", "*play", weight=1.2)
    s.says(dogs[0], "*walk ahead", f"*pull {who} along", "*run", weight=0.8)
