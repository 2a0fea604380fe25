"""Stories of the beach: a ball, a castle, a sunshade, a surfboard."""

from scenes import acts
from scenes.acts import ADULT, CHILD
from scenes.art import toys
from scenes.art.colours import NAMED_COLOURS, WHITE
from scenes.stage import Grip, Placement, Stage, Standpoint


def beach_ball(s: Stage) -> None:
    """Children or friends with a beach ball."""
    count = s.rng.choice((2, 3)) if s.wide else 2
    kinds = CHILD if s.rng.random() < 0.6 else ("man", "woman")
    xs = (0.22, 0.78) if count == 2 else (0.18, 0.52, 0.84)
    players = []
    for k, x in enumerate(xs):
        who, _ = s.person(
            kinds,
            Standpoint(x, 0.85 - 0.5 * (k == 1 and count == 3), flip=x > 0.5),
            s.rng.choice(("cheer", "reach", "jump")),
        )
        players.append(who)
    ground, tall = s.floor.at(0.8)
    ball = acts.ball_in_scene(
        s,
        0.48 if count == 2 else 0.35,
        ground - tall * s.rng.uniform(0.6, 1.0),
        tall * 0.09,
        "beach",
        order=s.height,
        flying=True,
    )
    game = s.notion("a game", "catch")
    group = s.group(players)
    s.says(
        group,
        f"*play with {ball}",
        f"*play {game}",
        f"*throw {ball} to each other",
        f"*toss {ball}",
        weight=4,
    )
    s.says(players[0], f"*throw {ball}", f"*try to catch {ball}", f"*reach for {ball}", weight=1.6)
    s.says(players[-1], f"*wait for {ball}", f"*reach for {ball}", weight=0.8)


def castle(s: Stage) -> None:
    """Somebody builds a sandcastle."""
    count = s.rng.choice((1, 2, 2)) if s.wide else 1
    ground, tall = s.floor.at(0.9)
    at = 0.54 if count == 1 else 0.5
    tower = s.thing(
        (("sandcastle", 4), ("sand castle", 2)),
        toys.draw_castle,
        Placement(at, ground - 4, tall * 0.62, shadow=0.6),
        adjectives=("large", "big"),
    )
    builders = []
    for k in range(count):
        flip = k == 1
        who, _ = s.person(
            CHILD if s.rng.random() < 0.8 else ADULT,
            Standpoint(at - 0.24 if not flip else at + 0.25, 0.85, flip=flip),
            s.rng.choice(("kneel", "crouch")),
        )
        builders.append(who)
        s.says(
            who,
            f"*build {tower}",
            f"*play with {tower}",
            f"*kneel next to {tower}",
            weight=3 if count == 1 else 0.9,
        )
    name = s.colour("white", "tan")
    pail = s.thing(
        (("bucket", 3), ("pail", 1)),
        lambda p: toys.bucket(p, NAMED_COLOURS[name]),
        Placement(at + 0.11, ground + 12, tall * 0.16, shadow=0.7),
        colour=name,
        adjectives=("plastic",),
    )
    s.says(builders[0], f"*play with {pail}", f"*dig with {pail}", weight=1)
    if count == 2:
        s.says(s.group(builders), f"*build {tower}", f"*make {tower}", f"*play in front of {tower}", weight=4)
    elif s.rng.random() < 0.6:
        adult, _ = s.person(
            ("woman", "man"), Standpoint(0.84, 0.3, flip=True), s.rng.choice(("stand", "hips", "wave"))
        )
        s.says(adult, "*watch", f"*look at {builders[0]:the}", f"*watch {builders[0]:the} play", weight=1)


def sunshade(s: Stage) -> None:
    """People sit under a beach umbrella."""
    ground, tall = s.floor.at(0.62)
    name = s.colour("white", "tan")
    at = 0.5
    shade = s.thing(
        (("umbrella", 4), ("beach umbrella", 3)),
        lambda p: toys.parasol(p, NAMED_COLOURS[name], WHITE),
        Placement(at, ground - 6, tall * 1.0),
        colour=s.rng.choice((name, f"{name} and white")),
        adjectives=("striped",),
    )
    count = s.rng.choice((1, 2, 2))
    sitters = []
    for k in range(count):
        flip = k == 1
        who, _ = s.person(
            ("woman", "man", "old man", "girl"),
            Standpoint(at + (0.16 if flip else -0.12), 0.7, flip=flip, y=ground + 10),
            "lounge",
        )
        sitters.append(who)
        s.says(
            who, f"*sit under {shade}", f"*relax under {shade}", "*sunbathe", weight=3 if count == 1 else 0.8
        )
    s.shadow(at * s.width, ground + 4, tall * 0.5, 0.25)
    rest = s.notion("the sun", "the sunshine")
    if count == 2:
        group = s.group(sitters)
        s.says(
            group, f"*sit under {shade}", f"*relax under {shade}", f"*enjoy {rest} under {shade}", weight=4
        )
        s.says((sitters[0], sitters[1]), f"*sit under {shade}", weight=1)
    else:
        s.says(sitters[0], f"*enjoy {rest}", weight=0.8)
    if s.rng.random() < 0.6:
        ball = acts.ball_in_scene(s, 0.86, s.floor.at(0.9)[0] - tall * 0.08, tall * 0.09, "beach")
        s.around.append(f"near {ball}")
    if s.rng.random() < 0.5:
        child, _ = s.person(
            CHILD,
            Standpoint(0.86 if s.wide else 0.88, 0.25, flip=True),
            s.rng.choice(("run", "jump", "stand")),
        )
        s.says(
            child,
            f"*play near {s.notion('the waves')}",
            "*run by",
            "*play nearby",
            weight=0.8,
            main=False,
            here=False,
        )


def surfing(s: Stage) -> None:
    """Somebody with a surfboard, perhaps with a dog or a friend."""
    who, figure = s.person(
        ("man", "woman", "boy", "girl"),
        Standpoint(0.36, 0.85),
        s.rng.choice(("stand", "walk")),
        role=(("surfer", 2.0),),
    )
    name, trim = s.colour("white", "tan"), s.rng.choice(("white", "yellow", "red"))
    board = s.held(
        figure,
        (("surfboard", 1.0),),
        lambda p: toys.surfboard(p, NAMED_COLOURS[name], NAMED_COLOURS[trim] if trim != name else WHITE),
        Grip(1.08, at=(0.20, 0.01), angle=5, layer="behind"),
        colour=name,
    )
    figure.reach("far arm", figure.outside((0.17, figure.hip[1] - 0.10)))
    s.says(
        who, f"*hold {board}", f"*carry {board}", f"*stand with {board:own}", f"*walk with {board}", weight=4
    )
    if s.rng.random() < 0.5:
        dog, _ = s.animal("dog", Standpoint(0.70, 0.9), s.rng.choice(("stand", "run", "sit")))
        s.says(dog, f"*walk in front of {who}", "*run ahead", f"*stand next to {who}", weight=1, main=False)
        s.says((who, dog), "*walk", "*stand", weight=1.2)
    else:
        companion, _ = s.person(
            ("woman", "man", "boy", "girl"),
            Standpoint(0.74, 0.5, flip=True),
            s.rng.choice(("stand", "wave", "walk")),
        )
        s.says(companion, f"*talk to {who}", f"*look at {board}", "*watch", weight=1)
        s.says(s.group([who, companion]), "*stand", "*talk", weight=1.4)
