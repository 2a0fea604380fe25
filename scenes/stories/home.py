"""Stories of the home: on the sofa, on the rug."""

from scenes import acts
from scenes.art import furniture, toys
from scenes.art.colours import NAMED_COLOURS
from scenes.stage import Grip, Placement, Stage, Standpoint


def on_the_sofa(s: Stage) -> None:
    """People on a sofa with a book, a guitar, a cat."""
    ground, tall = s.floor.at(0.35)
    wide = min(s.width * 0.72, tall * 1.5)
    name = s.colour("white", "tan", "black")
    sofa = s.thing(
        (("couch", 4), ("sofa", 3)),
        lambda p: furniture.sofa(p, NAMED_COLOURS[name]),
        Placement(0.5, ground, wide, shadow=0.54),
        colour=name,
    )
    seat = ground - 0.225 * wide
    count = s.rng.choice((1, 2, 2, 3)) if s.wide else s.rng.choice((1, 2))
    xs = {1: (0.46,), 2: (0.36, 0.62), 3: (0.30, 0.50, 0.70)}[count]
    people = []
    for k, spot in enumerate(xs):
        x = 0.5 + (spot - 0.5) * wide / (0.72 * s.width)
        who, figure = acts.seated(
            s,
            ("man", "woman", "old man", "girl", "boy", "old woman"),
            Standpoint(x, 0.45, flip=k == count - 1 and count > 1, y=ground + 10, order=ground + 1 + 0.1 * k),
            seat,
        )
        people.append(who)
        if k == 0:
            lead = figure
    who = people[0]
    group = s.group(people) if count > 1 else None
    doing = s.rng.choice(("guitar", "book", "book", "accordion"))
    if doing == "book":
        tint = s.colour("white", name)
        thing = s.held(
            lead,
            "book",
            lambda p: toys.book(p, NAMED_COLOURS[tint]),
            Grip(0.18, lift=(0.03, -0.05), upright=True),
            colour=tint,
        )
        lead.reach("near arm", lead.outside((lead.hip[0] + 0.16, lead.hip[1] - 0.13)))
        lead.reach("far arm", lead.outside((lead.hip[0] + 0.19, lead.hip[1] - 0.13)))
        s.says(who, f"*read {thing}", f"*read {thing} on {sofa}", f"*hold {thing}", weight=2.5)
        if group:
            s.says(group, f"*read {thing}", f"*look at {thing}", weight=1.4)
    else:
        thing = acts.guitarist(s, lead) if doing == "guitar" else acts.accordionist(s, lead)
        s.says(who, f"*play {thing}", f"*play {thing} on {sofa}", f"*sit on {sofa} playing {thing}", weight=3)
        if count > 1:
            s.says(people[1], "*listen", f"*sing {s.notion('a song')}", f"*watch {who:the}", weight=1)
    s.says(who, f"*sit on {sofa}", f"*relax on {sofa}", weight=1)
    if group:
        s.says(group, f"*sit on {sofa}", f"*relax on {sofa}", f"*sit together on {sofa}", weight=3)
        s.says((people[0], people[1]), f"*sit on {sofa}", weight=1.2)
    _pet(s)


def _pet(s: Stage) -> None:
    chance = s.rng.random()
    rug = s.landmarks.get("rug")
    if chance < 0.4:
        cat, _ = s.animal("cat", Standpoint(s.rng.choice((0.22, 0.80)), 0.95), s.rng.choice(("sit", "walk")))
        s.says(
            cat,
            f"*sit on {rug}" if rug else "*sit nearby",
            "*look on",
            f"*sit on {s.notion('the floor')}",
            main=False,
            here=False,
        )
    elif chance < 0.7:
        dog, _ = s.animal("dog", Standpoint(s.rng.choice((0.24, 0.80)), 0.95), s.rng.choice(("lie", "sit")))
        s.says(dog, f"*lie on {rug}" if rug else "*rest", "*rest nearby", "*look on", main=False, here=False)


def playing_at_home(s: Stage) -> None:
    """Children on the rug with a ball, gifts, a cat."""
    count = s.rng.choice((1, 2, 2))
    rug = s.landmarks["rug"]
    people = []
    for k in range(count):
        who, figure = s.person(
            ("boy", "girl", "baby"),
            Standpoint(0.34 + 0.34 * k if count == 2 else 0.38, 0.8, flip=k == 1),
            s.rng.choice(("kneel", "crouch", "lounge")),
        )
        people.append(who)
        s.says(who, f"*sit on {rug}", f"*play on {rug}", weight=1.5)
    ground, tall = s.floor.at(0.95)
    style = s.rng.choice(("ball", "gift", "cat"))
    if style == "ball":
        toy = acts.ball_in_scene(
            s, 0.53, ground - tall * 0.07, tall * 0.08, s.rng.choice(("plain", "beach")), order=ground
        )
    elif style == "gift":
        name = s.colour("white")
        trim = "yellow" if name != "yellow" else "red"
        toy = s.thing(
            (("present", 3), ("gift", 3)),
            lambda p: toys.gift(p, NAMED_COLOURS[name], NAMED_COLOURS[trim]),
            Placement(0.53, ground + 3, tall * 0.26, shadow=0.6),
            colour=name,
            adjectives=("wrapped",),
        )
    else:
        toy, _ = s.animal("cat", Standpoint(0.54, 0.98), "sit")
    verb = {"ball": "*play with", "gift": "*look at", "cat": "*play with"}[style]
    for who in people:
        s.says(
            who,
            f"{verb} {toy}",
            f"*sit in front of {toy}",
            f"*kneel next to {toy}",
            weight=3 if count == 1 else 1,
        )
    if count == 2:
        s.says(
            s.group(people),
            f"{verb} {toy}",
            f"{verb} {toy} on {rug}",
            f"*sit around {toy}",
            f"*play on {rug}",
            weight=4,
        )
    x = 0.14 if s.rng.random() < 0.5 else 0.88
    pose, flip = s.rng.choice(("stand", "hips", "wave")), s.rng.random() < 0.5
    adult, _ = s.person(("woman", "man", "old woman", "old man"), Standpoint(x, 0.2, flip), pose)
    s.says(adult, "*watch", f"*watch {people[0]:the}", "*look on", weight=1)
