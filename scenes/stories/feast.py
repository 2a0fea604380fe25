"""Stories of a feast: the wedding couple of Figure 1, a birthday."""

from scenes import acts
from scenes.acts import CHILD
from scenes.art import furniture, toys
from scenes.art.colours import NAMED_COLOURS, WHITE
from scenes.stage import Grip, Placement, Stage, Standpoint
from scenes.stories.table import long_table


def wedding(s: Stage) -> None:
    """Bride and groom by the cake: the couple of Figure 1."""
    ground, tall = s.floor.at(0.8)
    groom, _ = s.person(
        "man",
        Standpoint(0.33 if s.wide else 0.28, 0.7),
        s.rng.choice(("stand", "face")),
        code="wedding",
        role=(("groom", 12.0),),
    )
    bride, b = s.person(
        "woman",
        Standpoint(0.51 if s.wide else 0.56, 0.74),
        s.rng.choice(("stand", "face")),
        code="wedding",
        role=(("bride", 12.0),),
    )
    at = 0.78 if s.wide else 0.80
    wide = s.width * (0.30 if s.wide else 0.38)
    table = s.thing(
        "table",
        lambda p: furniture.draw_table(p, furniture.WOOD, WHITE),
        Placement(at, ground + 2, wide, order=ground, shadow=0.55),
        adjectives=("small",),
    )
    top = ground + 2 - 0.44 * wide
    icing = s.rng.choice(("pink", "yellow", "turquoise", "purple"))
    cake = s.thing(
        (("wedding cake", 4), ("cake", 3)),
        lambda p: furniture.cake(p, NAMED_COLOURS[icing], 3, 0),
        Placement(at, top, wide * 0.52, order=ground + 1),
        adjectives=("large", "white"),
    )
    name = s.colour("white", "green", "brown", "black")
    flowers = s.held(
        b,
        "flowers",
        lambda p: toys.bouquet(p, NAMED_COLOURS[name]),
        Grip(0.15, at=(b.hip[0] + 0.04, b.hip[1] - 0.07)),
        form="plenty",
    )
    b.reach("near arm", b.outside((b.hip[0] + 0.02, b.hip[1] - 0.05)), outward=-1)
    b.reach("far arm", b.outside((b.hip[0] + 0.06, b.hip[1] - 0.05)), outward=1)
    couple = s.group([groom, bride], phrases=(("a couple", 5), ("a newlywed couple", 1), ("two people", 1)))
    feast = s.notion("their wedding", "their wedding reception", "a wedding")
    s.says(
        couple,
        f"*stand in front of {cake:own}",
        f"*pose with {cake:own}",
        f"*stand next to {table} with {cake}",
        f"*celebrate {feast}",
        f"*look at {cake}",
        weight=5,
    )
    s.says(
        (bride, groom),
        f"*stand next to {cake:own}",
        f"*pose for {s.notion('a picture', 'a photo')}",
        f"*celebrate {feast}",
        "*smile",
        weight=4,
    )
    s.says(bride, f"*hold {flowers}", f"*stand next to {groom}", weight=1.6)
    s.says(groom, f"*stand next to {bride}", f"*look at {cake}", weight=0.8)
    s.says(couple, f"*smile at {feast}", weight=0.8)
    if s.wide and s.rng.random() < 0.6:
        guest, _ = s.person(
            ("girl", "old woman", "old man", "boy"),
            Standpoint(0.12, 0.4),
            s.rng.choice(("cheer", "wave", "stand")),
        )
        s.says(guest, "*watch", "*look on", "*smile", weight=0.8, main=False)


def birthday(s: Stage) -> None:
    """Children with party hats, a cake and balloons."""
    ground, tall = s.floor.at(0.9)
    wide = s.width * (0.46 if s.wide else 0.66)
    top = ground - 0.36 * tall
    table = s.thing(
        "table", lambda p: long_table(p, wide, ground - top, WHITE), Placement(0.5, ground, 1.0, order=ground)
    )
    icing = s.rng.choice(("pink", "yellow", "turquoise", "purple"))
    cake = s.thing(
        (("birthday cake", 4), ("cake", 3)),
        lambda p: furniture.cake(p, NAMED_COLOURS[icing], 2, 3),
        Placement(0.5, top + 2, tall * 0.36, order=ground + 1),
        adjectives=("large",),
    )
    count = s.rng.choice((2, 3, 4)) if s.wide else 2
    xs = {2: (0.26, 0.74), 3: (0.20, 0.50, 0.80), 4: (0.12, 0.37, 0.63, 0.88)}[count]
    people, figures = [], []
    for k, x in enumerate(xs):
        behind = 0.3 < x < 0.7
        kinds = CHILD if k != 1 or count < 3 else ("boy", "girl", "woman")
        who, figure = s.person(
            kinds,
            Standpoint(
                x,
                0.75,
                flip=x > 0.5,
                order=ground - 3 if behind else None,
                y=ground - (tall * 0.12 if behind else 0),
            ),
            s.rng.choice(("cheer", "wave", "face", "stand")),
            code="party",
        )
        people.append(who)
        figures.append(figure)
    many = acts.balloons(s, figures[0], s.rng.choice((2, 3, 4)), limb="near arm")
    bunch = s.group(many, "balloon", bunch="a bunch of")
    party = s.landmarks["party"]
    day = s.notion("a birthday", "a birthday party")
    group = s.group(people)
    s.says(
        group,
        f"*celebrate {day}",
        f"*stand around {cake}",
        f"*stand around {table} with {cake}",
        f"*have {s.notion('fun')} at {party}",
        f"*look at {cake}",
        weight=5,
    )
    s.says(people[0], f"*hold {bunch}", f"*stand next to {cake}", f"*hold {bunch} at {party}", weight=1.8)
    for who in people[1:]:
        s.says(who, f"*look at {cake}", "*smile", f"*stand by {table}", weight=0.7)
    s.says((people[0], people[-1]), f"*celebrate {day}", "*smile", weight=1)
    if s.rng.random() < 0.5:
        name = s.colour("white")
        trim = "yellow" if name != "yellow" else "red"
        gift = s.thing(
            (("present", 3), ("gift", 3)),
            lambda p: toys.gift(p, NAMED_COLOURS[name], NAMED_COLOURS[trim]),
            Placement(0.62 if s.wide else 0.68, top + 2, tall * 0.15, order=ground + 1),
            colour=name,
        )
        s.around.append(f"with {gift} on {table:the}")
