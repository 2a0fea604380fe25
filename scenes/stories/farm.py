"""Stories of the farm: riders, herds, hens, a tractor."""

from scenes import acts
from scenes.acts import ADULT, CHILD
from scenes.art import furniture, toys, vehicles
from scenes.art.colours import NAMED_COLOURS
from scenes.referents import Entity
from scenes.stage import Grip, Placement, Stage, Standpoint


def riding_horse(s: Stage) -> None:
    """One or two on horseback."""
    count = 2 if s.wide and s.rng.random() < 0.35 else 1
    riders, horses = [], []
    for k in range(count):
        who, _, horse = acts.horseman(
            s, ("woman", "man", "girl", "boy"), 0.46 if count == 1 else (0.27, 0.73)[k], 0.85 - 0.35 * k
        )
        riders.append(who)
        horses.append(horse)
        s.says(
            who,
            f"*ride {horse}",
            f"*sit on {horse}",
            f"*ride on {horse:the}",
            weight=3 if count == 1 else 0.8,
        )
        s.says(horse, f"*carry {who}", "*walk", main=count == 1, weight=0.5)
    if count == 2:
        group, pair = s.group(riders, "rider"), s.group(horses, "horse")
        s.says(group, f"*ride {pair}", f"*sit on {pair}", weight=4)
    elif s.rng.random() < 0.5:
        companion, figure = s.person(ADULT, Standpoint(0.84, 0.8, flip=True), "reach")
        s.says(
            companion, f"*lead {horses[0]}", f"*stand by {horses[0]}", f"*touch {horses[0]:the}", weight=1.4
        )
    else:
        dog, _ = s.animal("dog", Standpoint(0.86, 0.9, flip=True), "stand")
        s.says(dog, f"*bark at {horses[0]}", "*watch", f"*look at {horses[0]}", weight=0.8, main=False)


def herding(s: Stage) -> None:
    """A farmer with cows or sheep."""
    kind = s.rng.choice(("cow", "sheep", "sheep"))
    who, figure = s.person(
        ("man", "woman", "old man"),
        Standpoint(0.16, 0.85),
        s.rng.choice(("stand", "hips", "wave")),
        role=(("farmer", 2.0),),
    )
    count = s.rng.choice((1, 2, 3)) if kind == "cow" else s.rng.randint(2, 5)
    coat = s.rng.choice(("black and white", "brown and white", "brown")) if kind == "cow" else "white"
    herd: list[Entity] = []
    for k in range(count):
        x = 0.44 + 0.5 * (k + 0.4) / count
        beast, _ = s.animal(
            kind,
            Standpoint(x, (0.62, 0.1, 0.5, 0.0, 0.75)[k], flip=k % 2 == 0),
            s.rng.choice(("stand", "graze")),
            coat=coat,
        )
        herd.append(beast)
    if count == 1:
        s.says(who, f"*stand next to {herd[0]}", f"*look at {herd[0]}", f"*tend to {herd[0]}", weight=3)
        s.says(herd[0], "*graze", "*look around", "*stand", weight=1)
        s.says((who, herd[0]), "*stand", weight=0.8)
    else:
        flock = s.group(herd, kind)
        s.says(
            who,
            f"*watch {flock}",
            f"*stand near {flock}",
            f"*herd {flock}",
            f"*look after {flock:own}",
            weight=3,
        )
        s.says(flock, "*graze", "*stand", f"*graze near {who}", weight=1.4)
    if s.rng.random() < 0.5:
        dog, _ = s.animal("dog", Standpoint(0.32, 0.95), s.rng.choice(("sit", "stand")))
        s.says(dog, f"*sit next to {who:the}", "*watch", "*look on", main=False, weight=0.8)


def feeding_hens(s: Stage) -> None:
    """Somebody strews grain to chickens."""
    who, figure = s.person(("girl", "woman", "boy", "old woman"), Standpoint(0.26, 0.85), "reach")
    name = s.colour("white")
    pail = s.held(
        figure,
        "bucket",
        lambda p: toys.bucket(p, NAMED_COLOURS[name]),
        Grip(0.13, lift=(0.0, 0.17)),
        colour=name,
    )
    hens = []
    coat = s.rng.choice(("white", "brown"))
    for k in range(s.rng.randint(3, 6)):
        hen, _ = s.animal(
            "chicken",
            Standpoint(0.46 + 0.15 * (k % 3) + 0.05 * (k // 3), 0.9 - 0.55 * (k // 3), flip=k % 2 == 0),
            coat=coat,
        )
        hens.append(hen)
    flock = s.group(hens, "chicken", bunch="a group of")
    s.says(
        who,
        f"*feed {flock}",
        f"*hold {pail} and *feed {flock}",
        f"*throw {s.notion('food')} to {flock}",
        f"*stand among {flock}",
        weight=4,
    )
    s.says(flock, "*eat", f"*gather around {who}", "*walk around", weight=1.4, here=False)


def tractor(s: Stage) -> None:
    """A tractor at work, somebody beside it."""
    ground, tall = s.floor.at(0.55)
    name = s.rng.choice(("green", "red", "blue"))
    tractor_ = s.vehicle(
        "tractor",
        lambda p: vehicles.draw_tractor(p, NAMED_COLOURS[name]),
        Placement(0.62, ground, tall * 1.35, shadow=0.55),
        colour=name,
        adjectives=("large", "old"),
    )
    who, _ = s.person(
        ("man", "woman", "old man"),
        Standpoint(0.22, 0.8),
        s.rng.choice(("stand", "hips", "wave")),
        role=(("farmer", 2.0),),
    )
    s.says(
        who,
        f"*stand next to {tractor_}",
        f"*pose in front of {tractor_}",
        f"*wave beside {tractor_}",
        f"*stand by {tractor_:own}",
        weight=4,
    )
    s.says(tractor_, f"*stand behind {who}", "*wait", main=False, here=False, weight=0.6)
    bales = []
    for k in range(s.rng.randint(1, 3)):
        y, size = s.floor.at(0.0)
        bales.append(
            s.thing("hay bale", furniture.hay, Placement(0.10 + 0.36 * k, y - 8, size * 0.34, shadow=0.6))
        )
    heap = bales[0] if len(bales) == 1 else s.group(bales, "hay bale", phrases=(("hay bales", 1.0),))
    s.around += [f"near {heap}", f"in front of {heap}"]
    if s.rng.random() < 0.5:
        child, _ = s.person(CHILD, Standpoint(0.40, 0.95), s.rng.choice(("cheer", "stand", "face")))
        s.says(child, f"*look at {tractor_}", "*smile", f"*stand with {who}", weight=1)
        s.says(s.group([who, child]), f"*stand in front of {tractor_}", f"*pose with {tractor_}", weight=2)
