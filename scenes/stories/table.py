"""Stories around a table: cooking and dinner."""

from functools import partial

from scenes.acts import ADULT, ANYONE, CHILD
from scenes.art import furniture
from scenes.art.canvas import Pen
from scenes.art.colours import NAMED_COLOURS, WHITE, darker
from scenes.referents import Entity
from scenes.stage import Placement, Stage, Standpoint


def cooking(s: Stage) -> None:
    """Cooks behind a table with pots and bowls."""
    ground, tall = s.floor.at(0.9)
    wide = s.width * (0.62 if s.wide else 0.86)
    top = ground - 0.43 * tall * 0.98
    cloth = s.rng.random() < 0.3
    table = s.thing(
        (("table", 5), ("kitchen table", 1)),
        lambda p: long_table(p, wide, ground - top, WHITE if cloth else None),
        Placement(0.5, ground, 1.0, order=ground),
        adjectives=("wooden",) if not cloth else (),
    )
    count = s.rng.choice((1, 2, 2, 3)) if s.wide else s.rng.choice((1, 2))
    cooks = []
    for k in range(count):
        x = 0.5 + ((k + 0.5) / count - 0.5) * 0.52
        kinds = ("man", "woman", "girl", "boy", "old woman") if k else ("woman", "man")
        who, figure = s.person(
            kinds,
            Standpoint(x, 0.55, flip=k == count - 1 and count > 1, y=ground - 10, order=ground - 2 + k * 0.1),
            s.rng.choice(("reach", "carry", "stand")),
            role=(("chef", 1.0), ("cook", 1.0)) if k == 0 else (),
        )
        if not who.adult:
            figure.y -= tall * 0.16
            s.paint(ground - 3, partial(_stool, x=x * s.width, y=ground - 10, high=tall * 0.16))
        for arm, at in (("near arm", 0.10), ("far arm", 0.20)):
            side = -1 if figure.flip else 1
            figure.reach(arm, (figure.x + side * at * figure.height, top - 0.02 * tall))
        cooks.append(who)
    goods: list[Entity] = []
    kinds_of = s.rng.sample(("pot", "bowl", "cake", "cups", "plate"), 3 if s.wide else 2)
    for k, kind in enumerate(kinds_of):
        x = 0.5 + ((k + 0.5) / len(kinds_of) - 0.5) * (0.56 if s.wide else 0.7) + s.rng.uniform(-0.03, 0.03)
        goods.append(_dish(s, kind, x, top + 2, tall, ground + 1 + k * 0.1))
    food = s.notion("a meal", "dinner", "food")
    for who in cooks:
        s.says(
            who,
            f"*cook {food}",
            f"*prepare {food}",
            f"*stand behind {table}",
            f"*work at {table}",
            f"*reach for {goods[0]}",
            weight=4 if count == 1 else 0.9,
        )
    if count > 1:
        group = s.group(cooks)
        s.says(
            group,
            f"*cook {food}",
            f"*prepare {food}",
            "*cook together",
            f"*stand behind {table} with {goods[0]}",
            f"*make {food} at {table}",
            weight=4,
        )
        s.says((cooks[0], cooks[1]), f"*prepare {food}", "*cook", weight=1.6)
    for good in goods:
        s.around.append(f"with {good} on {table:the}")
    if len(goods) > 1:
        s.backdrops.append(f"with {goods[0]} and {goods[1]} on {table:the}")


def dinner(s: Stage) -> None:
    """A family around the table, a cake or dishes on it."""
    ground, tall = s.floor.at(0.9)
    wide = s.width * (0.66 if s.wide else 0.9)
    top = ground - 0.40 * tall
    table = s.thing(
        (("table", 5), ("dinner table", 1)),
        lambda p: long_table(p, wide, ground - top, WHITE),
        Placement(0.5, ground, 1.0, order=ground),
    )
    count = s.rng.choice((2, 3, 4)) if s.wide else s.rng.choice((2, 3))
    people = []
    for k in range(count):
        x = 0.5 + ((k + 0.5) / count - 0.5) * (0.60 if s.wide else 0.74)
        kinds = (ADULT, CHILD, ANYONE, CHILD)[k]
        who, figure = s.person(
            kinds,
            Standpoint(x, 0.6, flip=x > 0.5, y=ground, order=ground - 2 + 0.1 * k),
            "carry",
            code="home",
        )
        figure.hips_at((x * s.width, top + tall * (0.02 if who.adult else -0.03)))
        people.append(who)
    dishes = [
        _dish(s, kind, 0.5 + ((k + 0.5) / 3 - 0.5) * 0.56, top + 2, tall, ground + 1 + 0.1 * k)
        for k, kind in enumerate(s.rng.sample(("bowl", "plate", "cake", "cups", "pot"), 3))
    ]
    meal = s.notion("dinner", "a meal")
    group = s.group(people)
    s.says(
        group,
        f"*sit at {table}",
        f"*eat {meal}",
        f"*eat {meal} at {table}",
        f"*have {meal} together",
        f"*sit around {table}",
        weight=5,
    )
    s.says((people[0], people[1]), f"*sit at {table}", f"*eat {meal}", weight=1.5)
    for who in people:
        s.says(who, f"*sit at {table}", f"*look at {dishes[0]}", f"*sit in front of {dishes[1]}", weight=0.7)
    for good in dishes:
        s.around.append(f"with {good} on {table:the}")
    s.backdrops.append(f"with {dishes[0]} and {dishes[2]} on {table:the}")


def _stool(picture: Pen, x: float, y: float, high: float) -> None:
    """A stool to stand on at (x, y), `high` pixels high."""
    pen = picture.at(x, y, scale=high)
    for x in (-0.55, 0.55):
        pen.line([(x * 0.8, -0.95), (x, 0)], 0.14, darker(furniture.WOOD, 0.2))
    pen.block(-0.7, -1.0, 0.7, -0.84, furniture.WOOD, round_=0.05)


def long_table(pen: Pen, wide: float, high: float, cloth: object) -> None:
    """A table `wide` by `high` pixels on the origin; the unit is a pixel."""
    wood = furniture.WOOD
    for x in (-0.44, 0.44):
        pen.block(x * wide - 6, -high + 4, x * wide + 6, 0, darker(wood, 0.24))
    pen.block(-0.46 * wide, -high + 8, 0.46 * wide, -high + 20, darker(wood, 0.16))
    if cloth:
        pen.fill(
            [
                (-0.5 * wide, -high + 4),
                (0.5 * wide, -high + 4),
                (0.51 * wide, -high * 0.42),
                (-0.51 * wide, -high * 0.42),
            ],
            (242, 236, 226),
        )
        for k in range(10):
            x = (-0.46 + 0.102 * k) * wide
            pen.line([(x, -high + 10), (x, -high * 0.44)], 1.2, (222, 214, 204))
    pen.block(-0.51 * wide, -high, 0.51 * wide, -high + 9, (250, 246, 238) if cloth else wood, round_=3)


def _dish(s: Stage, kind: str, x: float, y: float, tall: float, order: float) -> Entity:
    """Something to eat, or to cook with, on a table."""
    name = s.colour("white", "tan", "brown")
    paint = NAMED_COLOURS[name]
    if kind == "pot":
        return s.thing(
            (("pot", 4), ("large pot", 1)),
            lambda p: furniture.pot(p, paint),
            Placement(x, y, tall * 0.20, order=order),
            colour=name,
        )
    if kind == "bowl":
        food = NAMED_COLOURS[s.rng.choice(("red", "green", "orange", "yellow"))]
        return s.thing(
            (("bowl", 4), ("mixing bowl", 1)),
            lambda p: furniture.bowl(p, paint, food),
            Placement(x, y, tall * 0.22, order=order),
            colour=name,
        )
    if kind == "cake":
        icing = s.rng.choice(("pink", "yellow", "turquoise"))
        return s.thing(
            (("cake", 1.0),),
            lambda p: furniture.cake(p, NAMED_COLOURS[icing], 2, 0),
            Placement(x, y, tall * 0.24, order=order),
            colour=icing,
            adjectives=("large",),
        )
    if kind == "cups":
        return s.thing(
            (("cup", 3), ("mug", 2)),
            lambda p: furniture.cup(p, paint),
            Placement(x, y, tall * 0.10, order=order),
            colour=name,
        )
    return s.thing("plate", _plate, Placement(x, y, tall * 0.22, order=order))


def _plate(pen: Pen) -> None:
    """A plate of food on the origin; the unit is its width."""
    for x, c in ((-0.18, (232, 170, 90)), (0.04, (214, 84, 74)), (0.22, (112, 168, 96))):
        pen.oval(x, -0.14, 0.16, 0.13, c)
    pen.oval(0, -0.05, 0.5, 0.07, (246, 244, 240))
    pen.oval(0, -0.03, 0.34, 0.03, (226, 222, 216))
