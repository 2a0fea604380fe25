"""Stories of a quiet day: a picnic, a bench, a kite, a walk, balloons."""

from scenes import acts
from scenes.acts import ADULT, ANYONE, CHILD
from scenes.art import furniture, toys
from scenes.art.colours import NAMED_COLOURS, WHITE, lighter
from scenes.referents import ScenePerson
from scenes.stage import Grip, Placement, Stage, Standpoint


def picnic(s: Stage) -> None:
    """People sit on a blanket around a basket."""
    ground, tall = s.floor.at(0.8)
    name = s.colour("white", "tan", "green")
    wide = s.width * (0.62 if s.wide else 0.86)
    rug = s.thing(
        (("blanket", 5), ("picnic blanket", 1)),
        lambda p: furniture.blanket(p, NAMED_COLOURS[name], WHITE),
        Placement(0.5, ground - 2, wide, order=0),
        colour=name,
        adjectives=("checkered",),
    )
    people: list[ScenePerson] = []
    spots = (
        ((0.30, False), (0.72, True))
        if not s.wide or s.rng.random() < 0.5
        else ((0.26, False), (0.50, True), (0.78, True))
    )
    for x, flip in spots:
        kinds = ADULT if len(people) < 2 else ("boy", "girl", "woman", "baby")
        person, figure = s.person(
            kinds, Standpoint(x, 0.8, flip=flip, y=ground + s.rng.uniform(-6, 4)), "lounge"
        )
        people.append(person)
        s.says(person, f"*sit on {rug}", f"*relax on {rug}", f"*sit on {rug} ( and *smile )", weight=0.9)
    basket = s.thing(
        (("basket", 4), ("picnic basket", 2)),
        furniture.basket,
        Placement(0.52 if len(spots) == 2 else 0.38, ground + 12, tall * 0.2),
        adjectives=("wicker",),
    )
    meal = s.notion("a picnic")
    food = s.notion("lunch")
    group = s.group(people)
    s.says(
        group,
        f"*have {meal}",
        f"*sit on {rug}",
        f"*enjoy {meal} on {rug}",
        f"*sit around {basket}",
        f"*eat {food} on {rug}",
        weight=4,
    )
    s.says((people[0], people[1]), f"*share {meal}", f"*sit on {rug}", f"*talk on {rug}", weight=1.2)
    if s.rng.random() < 0.5:
        dog, _ = s.animal("dog", Standpoint(0.86, 0.3, flip=True), "lie")
        s.says(dog, "*lie nearby", "*rest next to them", f"*lie beside {rug}", main=False, here=False)


def bench(s: Stage) -> None:
    """Somebody sits on a bench, reads, feeds birds; perhaps there are two."""
    ground, tall = s.floor.at(0.62)
    wide = tall * 1.15
    at = s.rng.uniform(0.36, 0.6) if s.wide else 0.5
    seat = s.thing(
        (("bench", 5), ("park bench", 2)),
        furniture.draw_bench,
        Placement(at, ground, wide, shadow=0.55),
        adjectives=("wooden",),
    )
    seat_y = ground - 0.265 * wide
    two = s.rng.random() < 0.5
    xs = [at - 0.24 * wide / s.width, at + 0.22 * wide / s.width] if two else [at - 0.05 * wide / s.width]
    sitters: list[ScenePerson] = []
    for k, x in enumerate(xs):
        who, figure = acts.seated(
            s,
            ("old man", "old woman", "man", "woman"),
            Standpoint(x, 0.62, flip=k == 1, y=ground + 4, order=ground + 1),
            seat_y,
        )
        sitters.append(who)
        if k == 0:
            first = figure
    who = sitters[0]
    doing = s.rng.choice(("book", "newspaper", "coffee"))
    if doing == "book":
        name = s.colour("white", "tan")
        thing = s.held(
            first,
            "book",
            lambda p: toys.book(p, NAMED_COLOURS[name]),
            Grip(0.17, lift=(0.03, -0.04), upright=True),
            colour=name,
        )
        texts = (f"*read {thing} on {seat}", f"*sit on {seat} reading {thing}", f"*read {thing}")
    elif doing == "newspaper":
        thing = s.held(
            first,
            (("newspaper", 4), ("paper", 1)),
            toys.newspaper,
            Grip(0.25, lift=(0.02, -0.05), upright=True),
        )
        texts = (f"*read {thing} on {seat}", f"*sit on {seat} with {thing}", f"*read {thing}")
    else:
        thing = s.held(
            first,
            (("cup", 2), ("coffee cup", 1)),
            lambda p: furniture.cup(p, WHITE),
            Grip(0.07, lift=(0.01, 0.0)),
        )
        drink = s.notion("coffee")
        texts = (f"*drink {drink} on {seat}", f"*sit on {seat}", f"*hold {thing} and *sit on {seat}")
    first.reach("near arm", first.outside((first.hip[0] + 0.16, first.hip[1] - 0.14)))
    first.reach("far arm", first.outside((first.hip[0] + 0.19, first.hip[1] - 0.14)))
    s.says(who, *texts, weight=3)
    if two:
        second_sitter = sitters[1]
        s.says(
            s.group(sitters),
            f"*sit on {seat}",
            f"*sit together on {seat}",
            f"*relax on {seat}",
            f"*share {seat}",
            weight=2.5,
        )
        s.says(second_sitter, f"*sit next to {who}", "*look on", f"*sit on {seat}", weight=0.8)
    if s.rng.random() < 0.65:
        kind = s.rng.choice(("duck", "bird", "chicken") if s.code == "farm" else ("duck", "bird"))
        coat = s.rng.choice(("white", "brown")) if kind != "bird" else "gray"
        flock = []
        for k in range(s.rng.randint(2, 5)):
            bird, _ = s.animal(
                kind,
                Standpoint(
                    at + 0.26 + 0.085 * (k % 3) - 0.02 * (k // 3), 0.62 + 0.14 * (k // 3), flip=k % 2 == 0
                ),
                coat=coat,
                size={"duck": 0.2, "bird": 0.17, "chicken": 0.24}[kind],
            )
            flock.append(bird)
        birds = s.group(flock, s.rng.choice((kind, "pigeon")) if kind == "bird" else kind)
        s.says(who, f"*feed {birds}", f"*watch {birds}", f"*sit near {birds}", weight=1.6)
        s.says(birds, "*stand nearby", "*walk by", f"*look for {s.notion('food')}", main=False, here=False)
    elif s.rng.random() < 0.6:
        dog, _ = s.animal("dog", Standpoint(at + 0.30, 0.8, flip=True), s.rng.choice(("sit", "lie")))
        s.says(who, f"*sit on {seat} with {dog:own}", f"*rest with {dog:own}", weight=1.6)
        s.says(dog, "*sit nearby", "*wait patiently", main=False, here=False)


def flying_kite(s: Stage) -> None:
    """A child, or two, with a kite high up."""
    kinds = CHILD if s.rng.random() < 0.75 else ADULT
    who, figure = s.person(kinds, Standpoint(0.30, 0.85), s.rng.choice(("wave", "run")))
    figure.reach("far arm", figure.outside((0.28, figure.neck[1] - 0.10)))
    x, y = s.rng.uniform(0.68, 0.82), s.height * s.rng.uniform(0.16, 0.24)
    name, trim = s.colour("white"), s.rng.choice(("yellow", "white", "red"))
    kite = s.thing(
        "kite",
        lambda p: toys.kite(p, NAMED_COLOURS[name], NAMED_COLOURS[trim] if trim != name else WHITE),
        Placement(x, y, s.height * 0.2, angle=24, order=s.height),
        colour=name,
        adjectives=("colorful",),
    )
    hand = figure.end("far arm")
    end = (x * s.width, y)
    sag = ((hand[0] + end[0]) / 2, (hand[1] + y) / 2 + 18)
    s.paint(s.height - 1, lambda p: p.line([hand, sag, end], 0.8, (90, 96, 110), curved=True))
    s.says(who, f"*fly {kite}", f"*play with {kite}", f"*hold on to {kite}", f"*run with {kite}", weight=4)
    s.says(kite, "*fly high above", "*soar in the air", main=False, here=False, weight=0.8)
    if s.rng.random() < 0.6:
        companion, _ = s.person(
            ANYONE, Standpoint(0.58, 0.5, flip=True), s.rng.choice(("stand", "cheer", "hips"))
        )
        s.says(companion, f"*watch {who:the}", f"*look at {kite}", "*watch", weight=1.0)
        s.says(s.group([who, companion]), f"*fly {kite}", f"*play with {kite}", weight=2)


def strolling(s: Stage) -> None:
    """Two walk side by side, perhaps with a dog on a leash or a stroller."""
    first, a = s.person(("man", "old man"), Standpoint(0.36 if s.wide else 0.32, 0.7), "walk")
    second, b = s.person(("woman", "old woman"), Standpoint(0.53 if s.wide else 0.60, 0.78), "stroll")
    pair = s.group([first, second])
    s.says(pair, "*walk", f"*take {s.notion('a walk', 'a stroll')}", "*walk together", "*stroll", weight=2.5)
    s.says((first, second), "*walk", "*walk together", weight=2)
    chance = s.rng.random()
    if chance < 0.45 and s.wide:
        dog, tall = s.animal("dog", Standpoint(0.80, 0.84), "stand")
        leash = acts.leash(
            s, b.end("far arm"), (0.80 * s.width + 0.36 * tall, s.floor.at(0.84)[0] - 0.60 * tall)
        )
        s.says(pair, f"*walk {dog:own}", f"*walk with {dog}", weight=3)
        s.says(second, f"*walk {dog}", f"*walk {dog} on {leash}", weight=1)
        s.says((first, second), f"*walk {dog:own}", weight=1)
    elif chance < 0.7 and s.wide:
        name = s.colour("white")
        ground, tall = s.floor.at(0.78)
        size = tall * 0.62
        baby_cart = s.thing(
            (("stroller", 4), ("baby carriage", 1)),
            lambda p: furniture.stroller(p, NAMED_COLOURS[name]),
            Placement(
                0.53 + (0.46 * size + 0.16 * tall) / s.width, ground + 1, size, shadow=0.5, order=ground + 0.4
            ),
            colour=name,
        )
        for arm in ("near arm", "far arm"):
            b.reach(arm, (b.x + 0.16 * tall, ground - 0.97 * size))
        s.says(second, f"*push {baby_cart}", weight=3)
        s.says(pair, f"*walk with {baby_cart}", f"*push {baby_cart}", weight=2)
    else:
        name = s.colour("white", "green")
        flowers = s.held(
            b,
            (("flowers", 1.0),),
            lambda p: toys.bouquet(p, lighter(NAMED_COLOURS[name], 0.2)),
            Grip(0.13, at="far arm", lift=(0.0, -0.03)),
            form="plenty",
        )
        s.says(second, f"*hold {flowers}", f"*carry {flowers}", weight=1.5)


def with_balloons(s: Stage) -> None:
    """Somebody with a bunch of balloons."""
    who, figure = s.person(("girl", "boy", "woman", "man"), Standpoint(0.42 if s.wide else 0.46, 0.9), "face")
    figure.reach("near arm", figure.outside((-0.10, figure.neck[1] + 0.10)), outward=1)
    count = s.rng.choice((3, 4, 5, 6, 7, 8, 10, 12))
    many = acts.balloons(s, figure, count)
    bunch = s.group(many, "balloon", bunch="a bunch of")
    s.says(who, f"*hold {bunch}", f"*carry {bunch}", f"*play with {bunch}", f"*stand with {bunch}", weight=5)
    if s.rng.random() < 0.7:
        companion, _ = s.person(
            CHILD, Standpoint(0.78, 0.7, flip=True), s.rng.choice(("cheer", "reach", "jump"))
        )
        s.says(
            companion,
            f"*look at {bunch}",
            f"*reach for {bunch}",
            f"*jump for {s.notion('joy')}",
            "*cheer",
            weight=1.2,
        )
        s.says(s.group([who, companion]), f"*play with {bunch}", "*smile", weight=1.5)
