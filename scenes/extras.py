"""What else may be in a picture besides its story: birds, somebody passing, a cat."""

from scenes import acts
from scenes.stage import Stage, Standpoint


def birds(s: Stage) -> None:
    """Some birds in the sky."""
    count = s.rng.randint(1, 4)
    x, y = s.rng.uniform(0.12, 0.6), s.height * s.rng.uniform(0.08, 0.2)
    coat = s.rng.choice(("white", "gray", "black"))
    flock = []
    for k in range(count):
        bird, _ = s.animal(
            "bird",
            Standpoint(x + 0.105 * k, 0.5, y=y + s.height * 0.05 * ((k * 2) % 3), order=1),
            "fly",
            size=0.11,
            coat=coat,
        )
        flock.append(bird)
    what = flock[0] if count == 1 else s.group(flock, "bird", bunch="a flock of" if count > 2 else "")
    s.says(
        what,
        "*fly by",
        "*fly overhead",
        f"*fly in {s.notion('the sky', scene=True)}",
        main=False,
        here=False,
        weight=0.6,
    )


def _passer_by(s: Stage) -> None:
    """Somebody on their way at the back, partly hidden by whoever stands in front."""
    acts.passer_by(s, s.rng.choice((0.1, 0.5, 0.9)) + s.rng.uniform(-0.05, 0.05))


def resting_dog(s: Stage) -> None:
    """A dog that lies at the side."""
    dog, _ = s.animal("dog", Standpoint(s.rng.choice((0.1, 0.9)), 0.98), s.rng.choice(("lie", "sit")))
    s.says(dog, "*rest nearby", "*look on", "*watch", main=False, here=False, weight=0.7)


OUTSIDE = (birds, birds, _passer_by, resting_dog)
