"""Stories of the stage: a band, one musician, dancers; perhaps before a crowd."""

from scenes import acts
from scenes.art import buildings, instruments
from scenes.art.colours import NAMED_COLOURS
from scenes.referents import Entity, ScenePerson
from scenes.stage import Placement, Stage, Standpoint
from scenes.terms import INSTRUMENTS, PEOPLE


def _audience(s: Stage) -> None:
    """A crowd along the lower edge: one box, for its members cannot be told apart."""
    crowd = s.entity(PEOPLE, (("crowd", 4), ("large crowd", 2), ("audience", 3), ("crowd of people", 1)))
    tone = s.rng.choice(((44, 36, 66), (36, 42, 72), (58, 38, 60)))
    s.paint(
        s.height + 10,
        lambda p: buildings.draw_audience(
            p.of(crowd.parts[0]), s.rng, s.width, s.height, s.height * 0.26, tone
        ),
    )
    s.floor.front -= s.height * 0.06
    s.landmarks["crowd"] = crowd
    s.says(crowd, "*watch", "*cheer", f"*enjoy {s.notion('the show', 'the music')}", main=False, here=False)
    s.around.append(f"in front of {crowd}")


def band(s: Stage) -> None:
    """Two to four musicians, perhaps before a crowd."""
    if s.rng.random() < 0.65:
        _audience(s)
    count = s.rng.choice((2, 3, 4)) if s.wide else 2
    xs = {2: (0.34, 0.66), 3: (0.26, 0.50, 0.74), 4: (0.20, 0.40, 0.60, 0.80)}[count]
    drums_at = s.rng.randrange(count) if s.rng.random() < 0.6 else -1
    players: list[ScenePerson] = []
    tools: list[Entity] = []
    for k, x in enumerate(xs):
        if k == drums_at:
            who, tool = _drums(s, x)
        elif k == (drums_at + 1) % count and s.rng.random() < 0.55:
            who, figure = s.person(
                ("woman", "man"),
                Standpoint(x, 0.7),
                s.rng.choice(("stand", "dance", "carry")),
                role=(("singer", 3.0), ("performer", 1.0)),
            )
            ground = figure.y
            tool = s.thing(
                "microphone",
                instruments.microphone,
                Placement(
                    x + 0.30 * figure.height * 0.46 / s.width,
                    ground + 3,
                    figure.height * 0.82,
                    order=ground + 2,
                ),
            )
            s.says(who, f"*sing into {tool}", f"*sing {s.notion('a song')}", f"*hold {tool}", weight=1.4)
        else:
            who, tool = _player(s, x, 0.55 if k % 2 else 0.85)
        players.append(who)
        tools.append(tool)
    played = [t for t in tools if t.category == INSTRUMENTS]
    music = s.notion("music")
    group = s.group(players, "musician")
    texts = [f"*play {music}", "*perform", f"*perform {music}"]
    if len(played) > 1:
        many = s.group(
            played, phrases=(("instruments", 2.0), ("musical instruments", 1.0), ("their instruments", 1.0))
        )
        texts += [f"*play {many}", f"*play {many}"]
    s.says(group, *texts, weight=3.5)
    s.says((players[0], players[1]), "*perform", f"*play {music}", weight=1.2)
    if "crowd" in s.landmarks:
        s.says(
            group,
            f"*perform for {s.landmarks['crowd']}",
            f"*play {music} for {s.landmarks['crowd']}",
            weight=3,
        )
        s.says(players[0], f"*perform in front of {s.landmarks['crowd']}", weight=1)
    box = s.thing(
        (("speaker", 3), ("amplifier", 1)),
        instruments.speaker,
        Placement(0.11 if xs[0] > 0.22 else 0.92, s.floor.at(0.1)[0], s.unit * 0.4, shadow=0.4),
        colour="black",
        adjectives=("large",),
    )
    s.around.append(f"near {box}")


def _player(s: Stage, x: float, depth: float) -> tuple[ScenePerson, Entity]:
    kind = s.rng.choice(("guitar", "guitar", "violin", "trumpet", "keyboard", "accordion"))
    roles = {
        "guitar": (("guitarist", 2.0), ("guitar player", 1.0), ("musician", 1.0)),
        "violin": (("violinist", 2.0), ("musician", 1.0)),
        "trumpet": (("musician", 2.0),),
        "keyboard": (("keyboard player", 1.0), ("musician", 1.0)),
        "accordion": (("musician", 2.0),),
    }[kind]
    pose = "reach" if kind == "keyboard" else s.rng.choice(("stand", "face", "carry"))
    who, figure = s.person(("man", "woman"), Standpoint(x, depth, flip=x > 0.6), pose, role=roles)
    if kind == "keyboard":
        ground, side = figure.y, -1 if figure.flip else 1
        size = figure.height * 0.62
        name = s.rng.choice(("black", "red", "blue"))
        tool = s.thing(
            (("keyboard", 5), ("piano", 1)),
            lambda p: instruments.keyboard(p, NAMED_COLOURS[name]),
            Placement(x + side * 0.26 * figure.height / s.width, ground + 4, size, order=ground + 1),
            category=INSTRUMENTS,
            colour=name,
        )
        for arm, at in (("near arm", 0.16), ("far arm", 0.24)):
            figure.reach(arm, (figure.x + side * at * figure.height, ground - 0.66 * size))
    else:
        tool = {
            "guitar": acts.guitarist,
            "violin": acts.violinist,
            "trumpet": acts.trumpeter,
            "accordion": acts.accordionist,
        }[kind](s, figure)
    s.says(who, f"*play {tool}", f"*play {tool:the}", f"*perform with {tool}", weight=1.5)
    return who, tool


def _drums(s: Stage, x: float) -> tuple[ScenePerson, Entity]:
    ground, tall = s.floor.at(0.35)
    who, figure = s.person(
        ("man", "woman"),
        Standpoint(x, 0.35, y=ground - 12, order=ground - 4),
        "face",
        role=(("drummer", 3.0), ("musician", 1.0)),
    )
    name = s.colour("white", "black")
    kit = s.thing(
        (("drums", 1.0),),
        lambda p: instruments.drum_kit(p, NAMED_COLOURS[name]),
        Placement(x, ground, tall * 0.74, order=ground),
        category=INSTRUMENTS,
        form="plenty",
        colour=name,
    )
    figure.arms_over = True
    figure.reach("near arm", figure.outside((-0.15, figure.hip[1] + 0.02)), outward=-1)
    figure.reach("far arm", figure.outside((0.15, figure.hip[1] - 0.04)), outward=1)
    s.says(who, f"*play {kit}", f"*sit behind {kit}", f"*play {kit:the}", weight=1.5)
    return who, kit


def soloist(s: Stage) -> None:
    """One musician in the light."""
    if s.rng.random() < 0.5:
        _audience(s)
    who, tool = _player(s, 0.48, 0.8)
    music = s.notion("a song", "music")
    s.says(who, f"*play {music} on {tool}", f"*perform {music}", weight=2)
    if "crowd" in s.landmarks:
        s.says(
            who, f"*play {tool} for {s.landmarks['crowd']}", f"*perform for {s.landmarks['crowd']}", weight=3
        )
    if s.rng.random() < 0.6:
        listener, _ = s.person(
            ("woman", "man", "girl"),
            Standpoint(0.76, 0.5, flip=True),
            s.rng.choice(("dance", "twirl", "stand")),
            role=(("singer", 1.0), ("performer", 1.0)),
        )
        s.says(listener, "*dance", "*sing", f"*dance to {s.notion('the music')}", weight=1.2)
        s.says((who, listener), "*perform", f"*perform {music}", weight=1.5)
        s.says(s.group([who, listener], "performer"), "*perform", f"*perform {music}", weight=1.6)


def dancers(s: Stage) -> None:
    """A row of dancers."""
    if s.rng.random() < 0.5:
        _audience(s)
    count = s.rng.choice((2, 3, 4)) if s.wide else 2
    kinds = s.rng.choice((("woman",), ("girl",), ("woman", "man"), ("girl", "boy")))
    troupe = []
    limbs = []
    for k in range(count):
        who, figure = s.person(
            kinds,
            Standpoint(0.12 + 0.76 * (k + 0.5) / count, 0.85 - 0.4 * (k % 2)),
            s.rng.choice(("dance", "twirl", "cheer")),
            role=(("dancer", 3.0), ("performer", 0.6)),
        )
        troupe.append(who)
        limbs += list(s.arms(who, figure).entities)
        s.says(who, "*dance", f"*perform {s.notion('a dance')}" if k == 0 else "*twirl", "*dance", weight=0.9)
    routine = s.notion("a routine", "a dance routine")
    group = s.group(troupe, "dancer")
    arms = s.group(limbs, phrases=(("their arms", 1.0),)) if count <= 3 else None
    texts = ["*dance", "*dance together", f"*perform {routine}"]
    if arms:
        texts.append(f"*dance with {arms} in the air")
    s.says(group, *texts, weight=4)
    s.says((troupe[0], troupe[1]), "*dance", f"*perform {routine}", weight=1.2)
    if "crowd" in s.landmarks:
        s.says(group, f"*dance for {s.landmarks['crowd']}", f"*perform for {s.landmarks['crowd']}", weight=2)
