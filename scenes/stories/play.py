"""Stories of running about: fetch, cycling, soccer, races, cheering."""

from scenes import acts
from scenes.acts import ADULT, ANYONE, CHILD
from scenes.art import toys
from scenes.art.colours import NAMED_COLOURS
from scenes.stage import Placement, Stage, Standpoint


def fetch(s: Stage) -> None:
    """Somebody throws a ball or a disc to a dog."""
    who, figure = s.person(("man", "woman", "boy", "girl", "old man"), Standpoint(0.24, 0.85), "throw")
    pose = s.rng.choice(("run", "leap", "sit", "stand"))
    x = s.rng.uniform(0.70, 0.80)
    ground, tall = s.floor.at(0.8)
    y = ground - tall * 0.3 if pose == "leap" else ground
    dog, _ = s.animal("dog", Standpoint(x, 0.8, flip=pose != "run" or s.rng.random() < 0.5, y=y), pose)
    if pose == "leap":
        s.shadow(x * s.width, ground, tall * 0.2)
    mid = s.rng.uniform(0.46, 0.56)
    height = ground - tall * s.rng.uniform(0.62, 0.95)
    if s.rng.random() < 0.4:
        name = s.colour("white", "tan")
        toy = s.thing(
            (("frisbee", 1.0),),
            lambda p: toys.frisbee(p, NAMED_COLOURS[name]),
            Placement(mid, height, tall * 0.22, order=s.height, angle=-12),
            colour=name,
        )
    else:
        toy = acts.ball_in_scene(s, mid, height, tall * 0.055, "plain", order=s.height, flying=True)
    fetching = s.notion("fetch")
    s.says(
        who,
        f"*throw {toy} to {dog:own}",
        f"*throw {toy} for {dog}",
        f"*play {fetching} with {dog:own}",
        f"*play with {dog}",
        weight=3,
    )
    s.says((who, dog), f"*play {fetching}", f"*play with {toy}", weight=0.8)
    if pose == "leap":
        s.says(dog, f"*leap to catch {toy}", f"*jump for {toy}", f"*jump into the air after {toy}", weight=2)
    elif pose == "run":
        s.says(dog, f"*run after {toy}", f"*chase {toy}", "*run", weight=2)
    else:
        s.says(dog, f"*wait for {toy}", f"*look up at {toy}", f"*watch {toy}", weight=1.4)


def cycling(s: Stage) -> None:
    """One to three on bicycles."""
    count = s.rng.choice((1, 2, 2, 3)) if s.wide else 1
    xs = {1: (0.45,), 2: (0.28, 0.70), 3: (0.20, 0.50, 0.80)}[count]
    riders, bikes = [], []
    code = s.rng.choice(("helmet", "daily"))
    for k, x in enumerate(xs):
        kinds = ANYONE if count > 1 else ("man", "woman", "boy", "girl")
        who, _, bike = acts.cyclist(s, kinds, x, 0.88 - 0.3 * (k % 2), code=code)
        riders.append(who)
        bikes.append(bike)
        s.says(who, f"*ride {bike}", f"*ride {bike:own}", f"*pedal {bike}", weight=3 if count == 1 else 0.9)
    if count > 1:
        group, pair = s.group(riders, "cyclist"), s.group(bikes, s.rng.choice(("bike", "bicycle")))
        s.says(
            group,
            f"*ride {pair}",
            f"*ride {pair:own}",
            f"*go for {s.notion('a bike ride')}",
            f"*ride on {pair}",
            weight=4,
        )
        s.says((riders[0], riders[1]), f"*ride {pair}", "*ride together", weight=1.2)
    else:
        if s.rng.random() < 0.6:
            dog, _ = s.animal("dog", Standpoint(0.84, 0.72), "run")
            s.says(dog, f"*run beside {bikes[0]}", "*run ahead", weight=0.8, main=False)


def soccer(s: Stage) -> None:
    """Children or adults after a soccer ball."""
    kinds = CHILD if s.rng.random() < 0.6 else ("man", "man", "woman")
    count = s.rng.choice((2, 3, 3, 4)) if s.wide else 2
    xs = {2: (0.28, 0.72), 3: (0.20, 0.50, 0.82), 4: (0.14, 0.38, 0.64, 0.88)}[count]
    players = []
    for k, x in enumerate(xs):
        pose = s.rng.choice(("run", "dash", "run", "stand" if k == count - 1 else "dash"))
        who, _ = s.person(
            kinds,
            Standpoint(x, 0.85 if k % 2 == 0 else 0.45, flip=x > 0.5),
            pose,
            code="sport",
            role=(("soccer player", 1.0),),
        )
        players.append(who)
    ground, tall = s.floor.at(0.9)
    ball = acts.ball_in_scene(s, xs[0] + 0.17, ground - tall * 0.045, tall * 0.06, "soccer", order=ground + 4)
    game = s.notion("soccer", "a soccer game", "a game")
    team = s.group(players, "soccer player" if not kinds == CHILD else "")
    s.says(
        team,
        f"*play {game}",
        f"*chase {ball}",
        f"*run after {ball}",
        f"*play with {ball}",
        f"*kick {ball}",
        weight=4,
    )
    s.says(players[0], f"*kick {ball}", f"*run toward {ball}", f"*chase {ball}", weight=2)
    s.says(players[-1], f"*wait for {ball}", f"*run to {ball}", f"*watch {ball}", weight=0.8)
    if count == 2:
        s.says((players[0], players[1]), f"*play {game}", weight=1.2)


def running(s: Stage) -> None:
    """Joggers, or children racing."""
    count = s.rng.choice((2, 3, 3)) if s.wide else 2
    kinds = s.rng.choice((("man", "woman"), ("boy", "girl"), ("woman",), ("man",)))
    runners = []
    for k in range(count):
        who, _ = s.person(
            kinds,
            Standpoint((k + 0.6) / (count + 0.4), 0.85 if k % 2 == 0 else 0.4),
            ("run", "dash")[k % 2],
            code="sport",
            role=(("runner", 1.0), ("jogger", 1.0)),
        )
        runners.append(who)
        s.says(who, "*run", "*jog", weight=0.8)
    race = s.notion("a race")
    group = s.group(runners, "" if kinds == ("boy", "girl") else "runner")
    s.says(group, "*run", f"*run in {race}", "*jog together", "*race each other", weight=4)
    s.says((runners[0], runners[1]), "*run together", f"*go for {s.notion('a run')}", weight=1.4)


def cheering(s: Stage) -> None:
    """Friends jump or raise their arms for joy."""
    count = s.rng.choice((2, 3, 4)) if s.wide else 2
    kinds = s.rng.choice((ADULT, CHILD, ("girl",), ("woman",), ("man",)))
    pose = s.rng.choice(("jump", "cheer"))
    people, limbs = [], []
    for k in range(count):
        ground, tall = s.floor.at(0.8 if k % 2 == 0 else 0.5)
        y = ground - (tall * 0.12 if pose == "jump" else 0)
        x = (k + 0.5) / count * 0.84 + 0.08
        who, figure = s.person(kinds, Standpoint(x, 0.8 if k % 2 == 0 else 0.5, y=y), pose)
        people.append(who)
        limbs.append(s.arms(who, figure))
    group = s.group(people)
    air = "in the air"
    joy = s.notion("joy")
    fun = s.notion("fun", "a good time")
    if pose == "jump":
        s.says(
            group, f"*jump {air}", f"*jump for {joy}", f"*have {fun} jumping", "*jump up and down", weight=4
        )
    else:
        hands = s.group([e for g in limbs for e in g.entities], phrases=(("their arms", 1.0),))
        s.says(
            group, f"*raise {hands} {air}", f"*cheer with {hands} {air}", f"*have {fun}", "*cheer", weight=4
        )
    for who, arms in zip(people, limbs, strict=True):
        s.says(
            who,
            f"*jump with {arms} {air}" if pose == "jump" else f"*raise {arms}",
            f"*throw {arms} {air}",
            weight=0.9,
        )
    s.says((people[0], people[1]), f"*jump {air}" if pose == "jump" else "*cheer", f"*have {fun}", weight=1)
