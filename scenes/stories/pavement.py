"""Stories of the pavement: a parade, a musician, umbrellas, an ice cream cart."""

from functools import partial

from scenes import acts
from scenes.acts import ADULT, ANYONE, CHILD
from scenes.art import furniture, toys
from scenes.art.canvas import Pen
from scenes.art.colours import NAMED_COLOURS, lighter
from scenes.referents import Entity, ScenePerson
from scenes.stage import Grip, Placement, Stage, Standpoint
from scenes.stories.street import traffic


def parade(s: Stage) -> None:
    """Marchers, each with a flag, perhaps one with a drum."""
    count = s.rng.choice((3, 4, 5)) if s.wide else s.rng.choice((2, 3))
    design = acts.flag_of(s)
    people: list[ScenePerson] = []
    flags: list[Entity] = []
    kinds = s.rng.choice((ANYONE, ADULT, CHILD, ("man", "woman", "boy", "girl")))
    for k in range(count):
        who, figure = s.person(
            kinds, Standpoint((k + 0.4) / (count + 0.3), 0.85 - 0.5 * (k % 2)), ("walk", "stroll")[k % 2]
        )
        figure.reach("far arm", figure.outside((0.20, figure.neck[1] + 0.10)))
        flags.append(
            s.held(
                figure,
                "flag",
                design,
                Grip(0.80, at="far arm", lift=(0.0, 0.16), layer="behind", angle=6),
                adjectives=("large",),
            )
        )
        people.append(who)
        s.says(who, f"*wave {flags[-1]}", f"*carry {flags[-1]}", f"*hold {flags[-1]}", weight=0.5)
    if s.wide and s.rng.random() < 0.4:
        drummer, figure = s.person(
            ADULT, Standpoint(0.93, 0.95, flip=True), "stroll", role=(("drummer", 2.0), ("musician", 1.0))
        )
        drum = acts.drummer(s, figure)
        s.says(drummer, f"*play {drum}", f"*beat {drum}", weight=1.2)
    march = s.notion("a parade", "the parade")
    support = s.notion("their support", "support")
    marchers = s.group(people)
    many = s.group(flags, "flag", phrases=() if count > 2 else (("flags", 3.0), ("two flags", 1.0)))
    s.says(
        marchers,
        f"*wave {many}",
        f"*carry {many}",
        f"*march with {many}",
        f"*hold {many}",
        f"*walk in {march} with {many}",
        f"*hold up {many} to show {support}",
        weight=6,
    )
    s.says(marchers, f"*march in {march}", f"*walk in {march}", weight=1.6)
    s.says((people[0], people[1]), f"*march with {many}", f"*walk in {march}", weight=0.8)


def busker(s: Stage) -> None:
    """A street musician, with listeners."""
    count = s.rng.choice((1, 1, 2)) if s.wide else 1
    players = []
    tools = []
    for k in range(count):
        who, figure = s.person(
            ("man", "woman", "old man"),
            Standpoint(0.26 + 0.24 * k, 0.75 - 0.3 * k),
            s.rng.choice(("stand", "face")) if k else "stand",
            role=(("musician", 2.0), ("street musician", 1.0)),
        )
        play = s.rng.choice((acts.guitarist, acts.violinist, acts.accordionist, acts.trumpeter))
        tool = play(s, figure)
        players.append(who)
        tools.append(tool)
        s.says(
            who, f"*play {tool}", f"*play {tool:the}", f"*perform with {tool}", weight=3 if count == 1 else 1
        )
    music = s.notion("music", "a song")
    if count == 2:
        s.says(
            s.group(players, "musician"),
            f"*play {music}",
            f"*perform {music}",
            f"*play {s.group(tools, phrases=(('instruments', 2.0), ('musical instruments', 1.0)))}",
            weight=4,
        )
    else:
        s.says(players[0], f"*play {music} on {tools[0]:own}", weight=1)
    if s.rng.random() < 0.8:
        listeners = []
        for k in range(s.rng.choice((1, 2, 2)) if s.wide else 1):
            passer_by, _ = s.person(
                ANYONE,
                Standpoint(0.70 + 0.18 * k, 0.85 - 0.4 * k, flip=True),
                s.rng.choice(("stand", "hips", "face", "dance")),
            )
            listeners.append(passer_by)
            s.says(passer_by, "*listen", f"*listen to {music}", f"*watch {players[0]:the}", weight=0.8)
        if len(listeners) > 1:
            s.says(s.group(listeners), "*listen", f"*watch {players[0]}", f"*listen to {music}", weight=1.4)


def in_the_rain(s: Stage) -> None:
    """People under umbrellas."""
    count = s.rng.choice((2, 3)) if s.wide else s.rng.choice((1, 2))
    people, shades = [], []
    for k in range(count):
        who, figure = s.person(
            ("man", "woman", "girl", "old woman", "boy"),
            Standpoint((k + 0.55) / (count + 0.1), 0.85 - 0.5 * (k % 2)),
            ("walk", "stand", "stroll")[k % 3],
        )
        figure.reach("near arm", figure.outside((0.06, figure.neck[1] + 0.13)), outward=-1)
        shade = acts.umbrella_in_hand(s, figure)
        people.append(who)
        shades.append(shade)
        s.says(
            who, f"*hold {shade}", f"*walk under {shade}", f"*carry {shade}", weight=4 if count == 1 else 0.9
        )
    rain = s.notion("the rain")

    def drops(pen: Pen) -> None:
        corners = [
            (0.0, 0.0),
            (float(s.width), 0.0),
            (float(s.width), float(s.height)),
            (0.0, float(s.height)),
        ]
        pen.veil(corners, (92, 108, 140), 0.24)
        for _ in range(110):
            x, y = s.rng.uniform(0, s.width), s.rng.uniform(0, s.height)
            pen.veil([(x, y), (x + 0.9, y), (x - 2, y + 9), (x - 2.9, y + 9)], (236, 244, 252), 0.55)

    s.overlays.append(drops)
    if count > 1:
        group, many = s.group(people), s.group(shades, "umbrella")
        s.says(
            group,
            f"*walk with {many}",
            f"*hold {many}",
            f"*carry {many} in {rain}",
            f"*walk in {rain}",
            weight=4,
        )
        s.says((people[0], people[1]), f"*walk in {rain}", f"*hold {many}", weight=1.2)
    else:
        s.says(people[0], f"*walk in {rain}", f"*stand in {rain} with {shades[0]}", weight=1.6)
    if s.rng.random() < 0.6:
        traffic(s, ("car", "taxi", "bus") if s.wide else ("car",), 0.5)


def vendor(s: Stage) -> None:
    """Somebody sells ice cream from a cart."""
    ground, tall = s.floor.at(0.35)
    name, trim = s.colour("white", "gray"), "white"
    size = tall * 1.08
    at = 0.36 if s.wide else 0.38
    who, _ = s.person(
        ADULT,
        Standpoint(at + 0.02, 0.35, y=ground - 3, order=ground - 1),
        "face",
        code="kitchen",
        role=(("vendor", 2.0), ("street vendor", 1.0)),
    )
    stand = s.thing(
        (("cart", 2), ("food cart", 2), ("ice cream cart", 1), ("stand", 1)),
        lambda p: furniture.cart(p, NAMED_COLOURS[name], NAMED_COLOURS[trim]),
        Placement(at, ground, size, shadow=0.5),
        colour=name,
    )
    s.says(
        who,
        f"*stand behind {stand}",
        f"*work at {stand}",
        f"*sell {s.notion('ice cream', 'food')} from {stand}",
        weight=3,
    )
    buyers, cones = [], []
    for k in range(s.rng.choice((1, 2)) if s.wide else 1):
        buyer, figure = s.person(
            ("girl", "boy", "woman", "man"), Standpoint(0.68 + 0.20 * k, 0.9 - 0.35 * k, flip=True), "carry"
        )
        figure.reach("near arm", figure.outside((0.13, figure.neck[1] + 0.08)), outward=-1)
        flavour = s.rng.choice(("pink", "brown", "yellow"))
        cone = s.held(
            figure,
            (("ice cream cone", 3), ("ice cream", 1)),
            partial(toys.ice_cream, colour=lighter(NAMED_COLOURS[flavour], 0.2)),
            Grip(0.17, lift=(0.0, -0.03)),
        )
        buyers.append(buyer)
        cones.append(cone)
        s.says(buyer, f"*eat {cone}", f"*hold {cone}", f"*stand in front of {stand} with {cone}", weight=1.6)
    if len(buyers) == 2:
        s.says(
            s.group(buyers),
            f"*eat {s.group(cones, 'ice cream cone')}",
            f"*stand at {stand}",
            f"*buy {s.notion('dessert')} from {who}",
            weight=3,
        )
    else:
        s.says((who, buyers[0]), f"*stand at {stand}", weight=1)
