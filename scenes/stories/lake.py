"""Stories of the lake: a rowing boat, anglers, ducks, a couple on the shore."""

from functools import partial

from scenes.acts import ADULT
from scenes.art import landscape, toys, vehicles
from scenes.art.anatomy import Pose
from scenes.art.canvas import Pen
from scenes.art.colours import NAMED_COLOURS, WHITE
from scenes.stage import Grip, Placement, Stage, Standpoint
from scenes.terms import OTHER


def rowing(s: Stage) -> None:
    """One to three in a rowing boat on the lake."""
    lake, water = s.landmarks["lake"], s.landmarks["water"]
    y = s.waterline
    count = s.rng.choice((1, 2, 2, 3)) if s.wide else s.rng.choice((1, 2))
    size = s.unit * (1.05 + 0.34 * count)
    name = s.colour("white", "tan")
    at = 0.50
    people = []
    pose = Pose(
        near_arm=(46, 74), far_arm=(54, 82), near_leg=(80, 40), far_leg=(84, 46), lean=-4, view=0.5, hip=0.3
    )
    for k in range(count):
        x = at * s.width + size * ((k + 0.5) / count - 0.5) * 0.62
        kinds = ADULT if k == 0 else ("woman", "man", "boy", "girl", "old man")
        flip = k == count - 1 and count > 1
        who, figure = s.person(kinds, Standpoint(at, 0.5, flip=flip, order=y - 1 + k * 0.1), pose)
        figure.hips_at((x, y - 0.11 * size - 0.02 * figure.height))
        people.append(who)
        if k == 0:
            rower = figure
    boat = s.vehicle(
        (("boat", 5), ("rowboat", 2)),
        lambda p: vehicles.rowboat(p, NAMED_COLOURS[name]),
        Placement(at, y, size, order=y),
        colour=name,
        adjectives=("small",),
    )
    s.canvas.pen().glow(at * s.width, y + 3, size * 0.56, size * 0.07, (30, 60, 90), 0.4)
    oar = s.entity(OTHER, (("paddle", 2), ("oar", 2)))
    hand = rower.end("near arm")
    end = (hand[0] - 0.16 * size, y + 0.10 * size)

    def blade(p: Pen) -> None:
        oar_pen = p.of(oar.parts[0])
        oar_pen.line([(hand[0] + 0.04 * size, hand[1] - 0.05 * size), end], 3.2, (196, 148, 100))
        oar_pen.oval(*end, 4.5, 9, (176, 124, 80), angle=24)

    s.paint(y + 1, blade)
    s.says(
        people[0],
        f"*paddle {boat}",
        f"*row {boat}",
        f"*sit in {boat} with {oar}",
        f"*row with {oar}",
        weight=4 if count == 1 else 1.2,
        here=False,
    )
    s.says(
        people[0], f"*row {boat} on {lake}", f"*paddle on {lake}", weight=2 if count == 1 else 0.6, here=False
    )
    if count > 1:
        group = s.group(people)
        s.says(
            group,
            f"*row {boat}",
            f"*sit in {boat}",
            f"*ride in {boat} on {lake}",
            f"*float on {water:the} in {boat}",
            f"*paddle {boat} on {lake}",
            weight=5,
            here=False,
        )
        s.says(
            (people[0], people[1]), f"*sit in {boat} on {lake}", f"*ride in {boat}", weight=1.4, here=False
        )
    s.says(
        boat,
        f"*float on {water:the}",
        f"*carry {people[0]}" if count == 1 else f"*float on {lake}",
        weight=0.5,
        here=False,
    )


def fishing(s: Stage) -> None:
    """Somebody fishes from a dock or the shore."""
    water = s.landmarks["water"]
    wide = s.width * (0.52 if s.wide else 0.62)
    y = s.height * 0.71
    pier = s.entity(OTHER, (("dock", 4), ("pier", 2), ("wooden dock", 1)))
    s.paint(y - 6, lambda p: landscape.dock(p.at(0, y).of(pier.parts[0]), wide))
    count = s.rng.choice((1, 2)) if s.wide else 1
    anglers, rods = [], []
    for k in range(count):
        x = 0.18 + 0.22 * k if s.wide else 0.30
        seated = s.rng.random() < 0.5
        if seated:
            who, figure = s.person(
                ("man", "old man", "boy", "woman", "girl"),
                Standpoint(x, 0.8, order=y),
                "sit",
                role=(("fisherman", 0.8),) if k == 0 else (),
            )
            figure.hips_at((x * s.width + wide * 0.2, y - 4 - 0.03 * figure.height))
        else:
            who, figure = s.person(
                ("man", "old man", "boy", "woman", "girl"),
                Standpoint(x + 0.08, 0.8, y=y - 1, order=y),
                "reach",
            )
        tip = (0.62, -0.40)
        drop = (0.64, (s.height * 0.765 - figure.end("near arm")[1]) / figure.height - 0.02)
        rod = s.held(
            figure,
            (("fishing pole", 3), ("fishing rod", 3), ("pole", 1)),
            partial(toys.rod, tip=tip, float_=drop),
            Grip(1.0),
            adjectives=("long",),
        )
        anglers.append(who)
        rods.append(rod)
        s.says(
            who,
            "*fish",
            f"*fish with {rod}",
            f"*hold {rod}",
            f"*fish from {pier}",
            f"*{'sit' if seated else 'stand'} on {pier} with {rod}",
            weight=5 if count == 1 else 1,
        )
    if count == 2:
        s.says(
            s.group(anglers),
            "*fish",
            f"*fish from {pier}",
            f"*fish together on {pier}",
            f"*hold {s.group(rods, 'fishing pole')}",
            weight=5,
        )
    s.around.append(f"near {water:the}")


def feeding_ducks(s: Stage) -> None:
    """Somebody on the shore, ducks on the water."""
    who, _ = s.person(
        ("girl", "boy", "woman", "old man", "old woman"),
        Standpoint(0.24, 0.7),
        s.rng.choice(("reach", "crouch", "wave")),
    )
    flock = []
    coat = s.rng.choice(("white", "brown"))
    for k in range(s.rng.randint(2, 6)):
        x = 0.48 + 0.17 * (k % 3) + 0.06 * (k // 3)
        y = s.waterline + (6 if k < 3 else -s.height * 0.09) + s.rng.uniform(-4, 4)
        duck, _ = s.animal(
            "duck", Standpoint(x, 0.5, y=y, flip=k % 2 == 0), "swim", coat=coat, size=0.25 if k < 3 else 0.2
        )
        s.canvas.pen().glow(x * s.width, y - 2, s.unit * 0.16, s.unit * 0.04, WHITE, 0.5)
        flock.append(duck)
    ducks = s.group(flock, "duck", bunch="a group of")
    water = s.landmarks["water"]
    s.says(
        who,
        f"*feed {ducks}",
        f"*watch {ducks}",
        f"*look at {ducks} on {water:the}",
        f"*throw {s.notion('bread', 'food')} to {ducks}",
        weight=5,
    )
    s.says(
        ducks,
        f"*swim in {water:the}",
        f"*swim on {s.landmarks['lake']:the}",
        f"*float near {who}",
        weight=1.4,
        here=False,
    )
    if s.rng.random() < 0.5:
        companion, _ = s.person(ADULT, Standpoint(0.80, 0.8, flip=True), s.rng.choice(("stand", "hips")))
        s.says(companion, "*watch", f"*stand on {s.landmarks['bank']:the}", weight=0.9)
        s.says(s.group([who, companion]), f"*feed {ducks}", f"*watch {ducks}", weight=2)


def shore_couple(s: Stage) -> None:
    """Two at the water's edge, sails behind."""
    first, _ = s.person(("man", "old man"), Standpoint(0.34, 0.8), s.rng.choice(("stand", "face", "wave")))
    second, _ = s.person(
        ("woman", "old woman"), Standpoint(0.58, 0.7, flip=True), s.rng.choice(("stand", "face", "hips"))
    )
    pair = s.group([first, second])
    water = s.landmarks["water"]
    view, photo = s.notion("the view", "a beautiful view"), s.notion("a picture", "a photo")
    s.says(
        pair,
        f"*stand by {water:the}",
        f"*pose for {photo}",
        f"*enjoy {view}",
        f"*stand on {s.landmarks['bank']:the}",
        weight=4,
    )
    s.says((first, second), f"*stand near {water:the}", f"*pose for {photo}", "*smile", weight=2.5)
    s.says(first, f"*stand next to {second}", "*smile", weight=0.8)
    boats = []
    for k in range(s.rng.choice((1, 2, 3))):
        name = s.colour("white", "tan")
        boats.append(
            s.vehicle(
                (("sailboat", 4), ("boat", 2)),
                partial(vehicles.sailboat, colour=NAMED_COLOURS[name], sail=WHITE),
                Placement(
                    0.12 + 0.36 * k,
                    s.waterline - s.height * (0.16 - 0.07 * (k % 2)),
                    s.height * 0.15,
                    order=s.waterline - 60,
                ),
            )
        )
    sails = boats[0] if len(boats) == 1 else s.group(boats, "sailboat")
    s.says(sails, f"*sail on {s.landmarks['lake']:the}", f"*float on {water:the}", main=False, here=False)
    s.backdrops.append(f"with {sails} in the background")
