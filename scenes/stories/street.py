"""Stories of the street: walkers, the bus, skaters, a scooter, cyclists."""

from collections.abc import Sequence

from scenes.acts import ANYONE, CHILD
from scenes.art import vehicles
from scenes.art.anatomy import Pose
from scenes.art.colours import NAMED_COLOURS
from scenes.referents import Entity
from scenes.stage import Placement, Stage, Standpoint
from scenes.stories.play import cycling


def traffic(s: Stage, kinds: Sequence[str], x: float) -> Entity:
    """A parked or passing car, bus or truck at the far side of the road."""
    kind = s.rng.choice(list(kinds))
    name = s.rng.choice(("red", "blue", "yellow", "green", "white", "orange", "turquoise"))
    paint = NAMED_COLOURS[name]
    size = s.unit * {"car": 1.15, "bus": 1.9, "truck": 1.7, "taxi": 1.15}[kind]
    painter = {"car": vehicles.car, "bus": vehicles.bus, "truck": vehicles.truck, "taxi": vehicles.car}[kind]
    if kind == "taxi":
        name, paint = "yellow", NAMED_COLOURS["yellow"]
    nouns = {
        "car": (("car", 5), ("vehicle", 0.5)),
        "bus": (("bus", 5), ("city bus", 1)),
        "truck": (("truck", 5), ("delivery truck", 1)),
        "taxi": (("taxi", 4), ("cab", 1), ("car", 1)),
    }[kind]
    y = s.height * (0.78 if s.wide else 0.80)
    vehicle = s.vehicle(
        nouns,
        lambda p: painter(p, paint),
        Placement(x, y, size, flip=s.rng.random() < 0.5, shadow=0.55),
        colour=name,
        adjectives=("parked",) if kind == "car" else (),
    )
    s.says(vehicle, "*drive by", "*wait", "*pass by", main=False, here=False, weight=0.7)
    s.around.append(f"next to {vehicle}")
    return vehicle


def crossing(s: Stage) -> None:
    """People walk along or over the street past cars."""
    count = s.rng.choice((2, 3, 4)) if s.wide else 2
    walkers = []
    for k in range(count):
        who, _ = s.person(
            ANYONE,
            Standpoint((k + 0.6) / (count + 0.2), (0.9, 0.55, 0.75, 0.6)[k], flip=k == 2),
            ("walk", "stroll")[k % 2],
        )
        walkers.append(who)
        s.says(
            who,
            "*walk",
            "*walk by",
            f"*cross {s.notion('the street', scene=True)}" if k == 0 else "*walk along",
            weight=0.8,
        )
    group = s.group(walkers, "" if s.rng.random() < 0.7 else "pedestrian")
    s.says(group, "*walk", "*walk around", "*walk along", "*pass each other", weight=3.5)
    s.says((walkers[0], walkers[1]), "*walk", "*walk together", weight=1.6)
    if s.rng.random() < 0.8:
        car = traffic(
            s, ("car", "bus", "truck", "taxi") if s.wide else ("car", "taxi"), s.rng.uniform(0.3, 0.7)
        )
        s.says(group, f"*walk past {car}", f"*walk in front of {car}", weight=1.6)
        s.says(walkers[0], f"*walk past {car}", weight=0.8)


def bus_stop(s: Stage) -> None:
    """People wait for a bus that is there."""
    name = s.rng.choice(("red", "yellow", "blue", "green", "orange"))
    size = s.unit * (2.0 if s.wide else 1.75)
    y = s.height * 0.76
    bus = s.vehicle(
        (("bus", 5), ("city bus", 1)),
        lambda p: vehicles.bus(p, NAMED_COLOURS[name]),
        Placement(0.58 if s.wide else 0.5, y, size, shadow=0.55),
        colour=name,
    )
    count = s.rng.choice((2, 3)) if s.wide else 2
    waiting = []
    for k in range(count):
        who, _ = s.person(
            ANYONE,
            Standpoint(0.16 + 0.66 * (k + 0.2) / count, 0.9 - 0.25 * (k % 2)),
            s.rng.choice(("stand", "hips", "face", "walk")),
        )
        waiting.append(who)
        s.says(who, f"*stand next to {bus}", f"*wait for {bus}", f"*walk by {bus}", weight=0.9)
    group = s.group(waiting)
    s.says(
        group,
        f"*wait for {bus}",
        f"*stand in front of {bus}",
        f"*wait to board {bus}",
        f"*stand near {bus}",
        weight=4,
    )
    s.says((waiting[0], waiting[1]), f"*wait for {bus}", f"*stand by {bus}", weight=1)
    s.says(bus, f"*stop for {group}", "*drive by", weight=0.7, main=False, here=False)


def skateboarding(s: Stage) -> None:
    """A skater, on the ground or in the air; one may watch."""
    ground, tall = s.floor.at(0.9)
    high = s.rng.random() < 0.5
    lift = tall * 0.26 if high else 0
    at = 0.40
    size = tall * 0.42
    name = s.colour("white", "gray")
    angle = -10 if high else 0
    board = s.vehicle(
        "skateboard",
        lambda p: vehicles.skateboard(p, NAMED_COLOURS[name]),
        Placement(at, ground - lift, size, order=ground - 1, angle=angle),
        colour=name,
    )
    s.shadow(at * s.width, ground, size * 0.7, 0.34)
    who, _ = s.person(
        ("man", "boy", "girl", "woman"),
        Standpoint(at, 0.9, y=ground - lift - 0.16 * size, order=ground),
        "skate",
        code=s.rng.choice(("daily", "helmet")),
        role=(("skateboarder", 2.0), ("skater", 1.0)),
    )
    trick = s.notion("a trick", "tricks", "a jump")
    s.says(
        who,
        f"*ride {board}",
        f"*do {trick} on {board}",
        f"*skate on {board}",
        f"*perform {trick}" if high else f"*balance on {board}",
        weight=5,
    )
    if s.rng.random() < 0.75:
        companion, _ = s.person(
            ANYONE, Standpoint(0.78, 0.55, flip=True), s.rng.choice(("stand", "cheer", "hips", "wave"))
        )
        s.says(companion, "*watch", f"*watch {who:the}", "*look on", weight=1)
        pair = s.group([who, companion])
        s.says(pair, "*hang out", f"*have {s.notion('fun')}", weight=1)
    if s.rng.random() < 0.5:
        traffic(s, ("car", "taxi"), s.rng.choice((0.2, 0.8)))


def scooting(s: Stage) -> None:
    """A child on a scooter, a grown-up behind."""
    ground, _ = s.floor.at(0.9)
    pose = Pose(
        near_arm=(30, 70), far_arm=(40, 80), near_leg=(4, 2), far_leg=(-24, -40), lean=6, view=0.35, hip=0.5
    )
    who, figure = s.person(CHILD, Standpoint(0.40, 0.9), pose, code="helmet")
    size = figure.height * 0.60
    name = s.colour("white")
    at = 0.40 + 0.10 * size / s.width
    scooter = s.vehicle(
        "scooter",
        lambda p: vehicles.scooter(p, NAMED_COLOURS[name]),
        Placement(at, ground, size, order=ground - 0.5, shadow=0.5),
        colour=name,
    )
    leg = figure.look.build.leg
    figure.hips_at((0.40 * s.width, ground - 0.16 * size - (leg + 0.02) * figure.height))
    figure.reach("near leg", (0.40 * s.width + 2, ground - 0.16 * size - 0.036 * figure.height), outward=1)
    handle = (at * s.width + 0.36 * size, ground - 1.10 * size)
    figure.reach("near arm", handle)
    figure.reach("far arm", handle)
    s.says(who, f"*ride {scooter}", f"*play on {scooter}", f"*ride {scooter:own}", weight=4)
    companion, _ = s.person(
        ("woman", "man", "old woman", "old man"),
        Standpoint(0.76, 0.6, flip=True),
        s.rng.choice(("walk", "stroll", "stand")),
    )
    s.says(companion, f"*watch {who:the}", "*walk behind", "*watch", weight=1)
    s.says(s.group([who, companion]), f"*go for {s.notion('a walk')}", "*go out", weight=0.8)
    if s.rng.random() < 0.5:
        traffic(s, ("car", "taxi"), s.rng.choice((0.24, 0.7)))


def town_cycling(s: Stage) -> None:
    """Cyclists in traffic."""
    cycling(s)
    if s.rng.random() < 0.6:
        traffic(s, ("car", "taxi", "truck") if s.wide else ("car",), s.rng.uniform(0.3, 0.7))
