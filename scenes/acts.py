"""Actions in stories: riding, playing an instrument, holding balloons, walking by."""

from collections.abc import Callable, Sequence

from scenes.art import animals, instruments, toys, vehicles
from scenes.art.anatomy import Pose
from scenes.art.canvas import Pen, Point
from scenes.art.colours import NAMED_COLOURS, WHITE
from scenes.art.figures import BodyFigure
from scenes.referents import Entity, ScenePerson, Weighted
from scenes.stage import Grip, Placement, Stage, Standpoint
from scenes.terms import OTHER

Actor = tuple[ScenePerson, BodyFigure]
Kinds = str | Sequence[str]

ANYONE = ("man", "woman", "boy", "girl", "old man", "old woman")
ADULT = ("man", "woman")
CHILD = ("boy", "girl")

_RIDING = Pose(lean=20, view=0.35, hip=0.5)
_MOUNTED = Pose(near_leg=(46, -16), far_leg=(46, -16), view=0.25, hip=0.7, lean=2)


def cyclist(
    s: Stage, kinds: Kinds, x: float, depth: float, *, code: str = "daily"
) -> tuple[ScenePerson, BodyFigure, Entity]:
    """Draw a person on a bicycle."""
    ground, _ = s.floor.at(depth)
    person, figure = s.person(
        kinds, Standpoint(x, depth), _RIDING, code=code, role=(("cyclist", 2), ("biker", 1))
    )
    length = figure.height * (0.94 if person.adult else 0.98)

    def spot(point: Point) -> Point:
        return (x * s.width + point[0] * length, ground + point[1] * length)

    figure.hips_at(spot((vehicles.SADDLE[0], vehicles.SADDLE[1] - 0.02)))
    for leg, (px, py) in zip(("near leg", "far leg"), vehicles.PEDALS, strict=True):
        figure.reach(leg, spot((px - 0.03, py - 0.03)), outward=1)
    for arm in ("near arm", "far arm"):
        figure.reach(arm, spot(vehicles.HANDLEBAR))
    name = s.colour("white", "tan")
    bike = s.vehicle(
        (("bike", 5), ("bicycle", 4)),
        lambda p: vehicles.bicycle(p, NAMED_COLOURS[name]),
        Placement(x, ground, length, order=ground - 0.5, shadow=0.5),
        colour=name,
    )
    return person, figure, bike


def horseman(s: Stage, kinds: Kinds, x: float, depth: float) -> tuple[ScenePerson, BodyFigure, Entity]:
    """Draw a person on a horse."""
    ground, _ = s.floor.at(depth)
    leather = NAMED_COLOURS[s.colour("white", "tan", "brown")]
    horse, tall = s.animal(
        "horse",
        Standpoint(x, depth),
        s.rng.choice(("stand", "trot")),
        tack=lambda p: animals.saddle(p, leather),
    )
    rider, figure = s.person(
        kinds,
        Standpoint(x, depth, order=ground + 0.5),
        _MOUNTED,
        role=(("rider", 2), ("horseback rider", 0.6)),
    )
    figure.hips_at((x * s.width - 0.02 * tall, ground - 0.675 * tall))
    for arm, lift in (("near arm", 0.80), ("far arm", 0.81)):
        figure.reach(arm, (x * s.width + 0.24 * tall, ground - lift * tall))
    return rider, figure, horse


def _both(figure: BodyFigure, near: Point, far: Point, *, elbow: float = -1) -> None:
    """Bring both hands to points in the figure's own coordinates, in front of the trunk."""
    figure.reach("near arm", figure.outside(near))
    figure.reach("far arm", figure.outside(far), outward=elbow)
    figure.arms_over = True


def guitarist(s: Stage, figure: BodyFigure) -> Entity:
    """Put a guitar into somebody's hands."""
    paint = s.rng.choice(((222, 150, 84), (196, 88, 62), (86, 128, 176), (240, 210, 160)))
    x, y = figure.hip[0] + 0.02, figure.hip[1] - figure.look.build.torso * 0.22
    _both(figure, (x - 0.02, y + 0.03), (x + 0.24, y - 0.10))
    return s.instrument(
        figure,
        (("guitar", 6), ("acoustic guitar", 1)),
        lambda p: instruments.guitar(p, paint),
        Grip(0.50, at=(x, y), angle=-24, layer="between"),
    )


def violinist(s: Stage, figure: BodyFigure) -> Entity:
    """Put a violin under somebody's chin and a bow into the near hand."""
    x, y = figure.neck[0] + 0.015, figure.neck[1] + 0.005
    figure.reach("far arm", figure.outside((x + 0.24, y + 0.015)))
    figure.reach("near arm", figure.outside((x + 0.07, y + 0.12)))
    instrument = s.instrument(
        figure,
        (("violin", 6), ("fiddle", 1)),
        lambda p: instruments.violin(p, (172, 92, 54)),
        Grip(0.27, at=(x, y), angle=3, layer="between"),
    )

    def bow(pen: Pen) -> None:
        pen.of(instrument.parts[0]).line(
            [figure.limbs["near arm"][2], (x + 0.17, y - 0.10)], 0.012, (112, 76, 56)
        )

    figure.over.append(bow)
    return instrument


def trumpeter(s: Stage, figure: BodyFigure) -> Entity:
    """Put a trumpet to somebody's mouth."""
    size = figure.look.build.head
    x, y = figure.head[0] + size * 0.16, figure.head[1] + size * 0.30
    _both(figure, (x + 0.10, y + 0.015), (x + 0.13, y + 0.02))
    return s.instrument(
        figure, "trumpet", instruments.trumpet, Grip(0.28, at=(x, y), angle=-4, layer="between")
    )


def accordionist(s: Stage, figure: BodyFigure) -> Entity:
    """Hang an accordion before somebody's chest."""
    name = s.rng.choice(("red", "blue", "turquoise"))
    x, y = figure.hip[0] + 0.02, figure.hip[1] - figure.look.build.torso * 0.48
    _both(figure, (x - 0.13, y + 0.03), (x + 0.14, y + 0.03), elbow=1)
    return s.instrument(
        figure,
        "accordion",
        lambda p: instruments.accordion(p, NAMED_COLOURS[name]),
        Grip(0.32, at=(x, y), layer="between"),
        colour=name,
    )


def drummer(s: Stage, figure: BodyFigure, kit: Entity | None = None) -> Entity:
    """Hang a drum before somebody's belly; the hands hold sticks."""
    name = s.rng.choice(("red", "blue"))
    x, y = figure.hip[0] + 0.07, figure.hip[1] - 0.03
    _both(figure, (x - 0.03, y - 0.10), (x + 0.08, y - 0.10), elbow=1)
    instrument = s.instrument(
        figure,
        "drum",
        lambda p: instruments.drum(p, NAMED_COLOURS[name]),
        Grip(0.24, at=(x, y), layer="between"),
        colour=name,
    )

    def sticks(pen: Pen) -> None:
        for limb, dx in (("near arm", 0.05), ("far arm", 0.03)):
            hx, hy = figure.limbs[limb][2]
            pen.of(0).line([(hx - 0.02, hy - 0.03), (hx + dx, hy + 0.03)], 0.011, (224, 186, 130))

    figure.over.append(sticks)
    return instrument


def flag_of(s: Stage) -> Callable[[Pen], None]:
    """Return the design of a flag, to be drawn the same in several hands."""
    names = s.rng.choice(
        (("red", "white", "blue"), ("red", "orange", "yellow", "green", "blue", "purple"),
            ("green", "white", "red"),
         ("yellow", "blue"), ("white", "red"))
    )  # fmt: skip
    paints = tuple(NAMED_COLOURS[n] for n in names)
    return lambda p: toys.flag(p, paints)


def balloons(s: Stage, figure: BodyFigure, count: int, *, limb: str = "near arm") -> list[Entity]:
    """Draw `count` balloons on strings in a person's hand, spread so that each is distinguishable."""
    x, y = figure.limbs[limb][2]
    unit = 1.0 if figure.look.build.head < 0.2 else 1.25
    entities = []
    for k in range(count):
        row, column = divmod(k, 4)
        beside = min(4, count - row * 4)
        dx = ((column - (beside - 1) / 2) * 0.17 + (0.06 if row % 2 else 0.0)) * unit
        dy = (-0.40 - row * 0.19 - (0.04 if column % 2 else 0.0)) * unit
        name = s.rng.choice(("red", "yellow", "blue", "pink", "green", "orange", "purple", "turquoise"))
        balloon = s.entity(OTHER, "balloon", colour=name)

        def hook(
            pen: Pen, dx: float = dx, dy: float = dy, name: str = name, part: int = balloon.parts[0]
        ) -> None:
            thread = [(x, y), (x + dx * 0.5, y + dy * 0.4), (x + dx, y + dy + 0.1)]
            pen.of(0).line(thread, 0.005, (120, 120, 132))
            toys.balloon(pen.at(x + dx, y + dy, scale=0.2 * unit).of(part), NAMED_COLOURS[name])

        figure.behind.append(hook)
        entities.append(balloon)
    return entities


def umbrella_in_hand(s: Stage, figure: BodyFigure) -> Entity:
    """An open umbrella in somebody's near hand."""
    name = s.colour("white", "gray")
    return s.held(
        figure,
        "umbrella",
        lambda p: toys.draw_umbrella(p, NAMED_COLOURS[name]),
        Grip(0.60, layer="behind"),
        colour=name,
    )


def leash(s: Stage, hand: Point, collar: Point) -> Entity:
    """A leash from a hand to a collar, both in picture coordinates."""
    entity = s.entity(OTHER, "leash")
    sag = ((hand[0] + collar[0]) / 2, max(hand[1], collar[1]) - 0.1 * abs(collar[1] - hand[1]))
    s.paint(
        s.height, lambda p: p.of(entity.parts[0]).line([hand, sag, collar], 1.5, (150, 60, 60), curved=True)
    )
    return entity


_BALLS: dict[str, Weighted] = {
    "plain": (("ball", 1.0),),
    "beach": (("beach ball", 3), ("ball", 3)),
    "soccer": (("soccer ball", 4), ("ball", 3)),
    "basketball": (("basketball", 4), ("ball", 2)),
    "snow": (("snowball", 1.0),),
}


def ball_in_scene(
    s: Stage,
    x: float,
    y: float,
    radius: float,
    style: str,
    *,
    order: float | None = None,
    flying: bool = False,
) -> Entity:
    """A ball on the ground, or flying (no shadow just below)."""
    fixed = {"soccer": "white", "basketball": "orange", "snow": "white"}.get(style)
    name = fixed or s.colour("white", "tan", "gray", "brown")
    paint = WHITE if style == "snow" else NAMED_COLOURS[name]
    return s.thing(
        _BALLS[style],
        lambda p: toys.draw_ball(p, paint, style),
        Placement(x, y, radius, order=order, shadow=0 if flying else 1.3),
        colour="" if fixed else name,
    )


def passer_by(s: Stage, x: float, depth: float = 0.0) -> Actor:
    """Put a walking person into the background."""
    pose, flip = s.rng.choice(("walk", "stroll")), s.rng.random() < 0.5
    person, figure = s.person(ANYONE, Standpoint(x, depth, flip), pose)
    s.says(person, "*walk by", "*pass by", "*walk in the background", main=False, here=False)
    return person, figure


def seated(s: Stage, kinds: Kinds, at: Standpoint, seat_y: float, *, role: str | Weighted = ()) -> Actor:
    """Draw a person on a seat whose top is at `seat_y` pixels; `at` is where the feet are (`y`)."""
    ground = s.floor.at(at.depth)[0] if at.y is None else at.y
    return s.person(kinds, at, "sit", seat=ground - seat_y, role=role)
