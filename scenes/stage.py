"""The stage of a picture, on which people, animals and objects are placed.

A setting paints the background and defines the floor; a story places actors and objects on it and describes,
in templates, what they do. Everything is painted at the end, from back to front.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scenes import wardrobe
from scenes.art.anatomy import POSES, Pose
from scenes.art.animals import ANIMAL_PAINTERS, COATS
from scenes.art.canvas import Pen, Point
from scenes.art.figures import BodyFigure, BodyLook
from scenes.art.garments import Garment
from scenes.board import Painter, SceneBoard
from scenes.referents import Entity, Group, ScenePerson, Weighted, people_nouns
from scenes.terms import ANIMALS, BODYPARTS, CLOTHING, INSTRUMENTS, OTHER, PEOPLE, VEHICLES

#: The height of people relative to a man.
_TALL = {
    "man": 1.0, "woman": 0.94, "old man": 0.96, "old woman": 0.90, "boy": 0.75, "girl": 0.74, "baby": 0.52,
}  # fmt: skip

_ADJECTIVES: dict[str, tuple[str, ...]] = {
    "man": ("young", "young", "tall"), "woman": ("young", "young"), "old man": ("old", "elderly", "older"),
    "old woman": ("old", "elderly", "older"), "boy": ("little", "young", "small"),
    "girl": ("little", "young", "small"), "baby": ("little", "small", "cute"),
}  # fmt: skip

_ANIMAL_NOUNS: dict[str, Weighted] = {
    "dog": (("dog", 8), ("puppy", 1), ("animal", 0.5)),
    "cat": (("cat", 8), ("kitten", 1), ("animal", 0.4)),
    "horse": (("horse", 8), ("animal", 0.4)),
    "cow": (("cow", 8), ("animal", 0.5)),
    "sheep": (("sheep", 8), ("animal", 0.5)),
    "duck": (("duck", 8), ("bird", 1.5)),
    "chicken": (("chicken", 6), ("hen", 2), ("bird", 0.5)),
    "bird": (("bird", 8),),
}

#: The parts covered by a garment's slot.
_PIECES = {
    "top": ("top", "near sleeve", "far sleeve"),
    "dress": ("dress", "near dress sleeve", "far dress sleeve"),
    "coat": ("coat", "near coat sleeve", "far coat sleeve"),
}


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where a person or an animal stands, and which way it faces.

    `x` is a share of the width, `depth` from 0 (back) to 1 (front). `y`: the height of the feet in pixels, by
    default that of the ground at `depth`. `order`: when it is painted, by default in the order of its feet.
    """

    x: float
    depth: float
    flip: bool = False
    y: float | None = None
    order: float | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an object is placed: its origin at (`x` share of the width, `y` pixels), `size` pixels per unit.

    `angle` is in degrees. `order`: when it is painted, by default in the order of `y`. `shadow`: half the
    width of its shadow on the ground, in its unit; 0 for none.
    """

    x: float
    y: float
    size: float
    flip: bool = False
    angle: float = 0
    order: float | None = None
    shadow: float = 0


@dataclass(frozen=True, slots=True)
class Grip:
    """How a person carries an object of `size` shares of the figure's height.

    `at` is a hand, or a point in the figure's own coordinates, from which `lift` moves it; `angle` is in
    degrees. `layer` is the figure's layer in which it is painted; `upright` keeps lettering and the like
    unmirrored.
    """

    size: float
    at: str | Point = "near arm"
    angle: float = 0
    layer: str = "over"
    lift: Point = (0.0, 0.0)
    upright: bool = False


class Stage(SceneBoard):
    """A board on which people, animals and objects are placed by where they stand."""

    def person(
        self,
        kinds: str | Sequence[str],
        at: Standpoint,
        pose: str | Pose = "stand",
        *,
        code: str = "",
        role: str | Weighted = (),
        seat: float | None = None,
    ) -> tuple[ScenePerson, BodyFigure]:
        """Place a person on the stage.

        `seat` is the height in pixels of what they sit on. Clothes, hair and beard become referents too.
        """
        kind = kinds if isinstance(kinds, str) else self.rng.choice(list(kinds))
        ground, adult = self.floor.at(at.depth)
        ground = ground if at.y is None else at.y
        x = at.x * self.width
        tall = adult * _TALL[kind] * self.rng.uniform(0.96, 1.04)
        look = wardrobe.choose_look(self.rng, kind, code or self.code, self.harmony, self.unlike)
        stance = POSES[pose] if isinstance(pose, str) else pose
        figure = BodyFigure(look, stance, x, ground, tall, at.flip)
        if seat is not None:
            figure.hips_at((x, ground - seat - 0.03 * tall))
            side = -1 if at.flip else 1
            for limb, far in (("near leg", 0.235), ("far leg", 0.27)):
                figure.reach(limb, (figure.x + side * far * tall, ground - 0.036 * tall), outward=1)
        roles: Weighted = ((role, 1.0),) if isinstance(role, str) else role
        adjectives = _ADJECTIVES[kind] + (("smiling",) if look.merry else ())
        if look.beard:
            adjectives += ("bearded",)
        if look.style == "receding" and not look.worn("hat"):
            adjectives += ("bald",)
        elif look.hair == "blond" and not look.worn("hat"):
            adjectives += ("blond",)
        person = ScenePerson(
            len(self.referents),
            PEOPLE,
            people_nouns(kind, roles),
            adjectives=adjectives,
            kind=kind,
            role=roles,
        )
        self.referents.append(person)
        self._clothe(person, figure)
        self.paint(ground if at.order is None else at.order, lambda pen: figure.draw(self.canvas))
        if stance.hip is None:
            self.shadow(x, ground, tall * 0.26)
        return person, figure

    def _clothe(self, person: ScenePerson, figure: BodyFigure) -> None:
        look = figure.look
        body = self.canvas.part()
        person.parts.append(body)

        def piece(name: str) -> None:
            if name not in figure.parts:
                figure.parts[name] = self.canvas.part()
                person.parts.append(figure.parts[name])

        figure.parts["body"] = body
        piece("hair")
        if look.beard:
            piece("beard")
        for side in ("near", "far"):
            piece(f"{side} arm")
        for garment in look.garments:
            for name in _PIECES.get(garment.slot, (garment.slot,)):
                piece(name)
        suited = any(g.style == "suit" for g in look.garments)
        for garment in look.garments:
            if suited and garment.slot == "bottom":
                continue
            names = _PIECES.get(garment.slot, (garment.slot,))
            if garment.style == "suit":
                names = (*names, "bottom")
            person.worn.append(self._garment(garment, person, [figure.parts[n] for n in names]))
        self._features(person, figure, look)

    def _garment(self, garment: Garment, person: ScenePerson, parts: list[int]) -> Entity:
        nouns, form = wardrobe.NOUNS[garment.style]
        colour = (
            "" if garment.slot == "glasses" or garment.style in ("veil", "wedding dress") else garment.colour
        )
        adjectives: tuple[str, ...] = ()
        if garment.pattern == "striped":
            adjectives = ("striped",)
            if garment.trim:
                colour = f"{garment.colour} and {garment.trim}"
        elif garment.pattern == "dotted":
            adjectives = ("polka-dot",)
        return self.entity(
            CLOTHING, nouns, colour=colour, adjectives=adjectives, form=form, owner=person, parts=parts
        )

    def _features(self, person: ScenePerson, figure: BodyFigure, look: BodyLook) -> None:
        tone = "brown" if look.hair == "dark" else look.hair
        hair: list[str] = [f"{tone} hair"]
        if look.style in ("long", "curly"):
            hair += [f"{look.style} hair", f"{look.style} {tone} hair"]
        elif look.style in ("short", "tousled"):
            hair += ["short hair"]
        elif look.style in ("ponytail", "bun"):
            hair += [f"a {look.style}"] * 2
        elif look.style == "pigtails":
            hair += ["pigtails"] * 2
        if not look.worn("hat") and look.style not in ("wisp", "receding"):
            nouns = tuple((h, 1.0) for h in hair)
            person.features.append(
                self.entity(BODYPARTS, nouns, form="whole", owner=person, parts=[figure.parts["hair"]])
            )
        if look.beard:
            beards = ((f"a {tone} beard", 1.0), ("a beard", 1.5))
            person.features.append(
                self.entity(BODYPARTS, beards, form="whole", owner=person, parts=[figure.parts["beard"]])
            )

    def arms(self, person: ScenePerson, figure: BodyFigure) -> Group:
        """Return a person's two arms, each with its sleeve."""
        both = []
        for side in ("near", "far"):
            parts = [figure.parts[f"{side} arm"]]
            parts += [figure.parts[n] for n in figure.parts if n.startswith(side) and n.endswith("sleeve")]
            both.append(self.entity(BODYPARTS, "arm", owner=person, parts=parts))
        return self.group(both, phrases=((f"{person.possessive} arms", 2.0), ("both arms", 0.4)))

    def animal(
        self,
        kind: str,
        at: Standpoint,
        pose: str = "stand",
        *,
        size: float | None = None,
        coat: str = "",
        tack: Painter | None = None,
    ) -> tuple[Entity, float]:
        """Place an animal on the stage; `size` is its height relative to a man.

        `tack` is painted over it with the same pen. Returns the animal and its height in pixels.
        """
        ground, adult = self.floor.at(at.depth)
        ground = ground if at.y is None else at.y
        sizes = {
            "dog": 0.36,
            "cat": 0.27,
            "horse": 1.02,
            "cow": 0.78,
            "sheep": 0.52,
            "duck": 0.21,
            "chicken": 0.27,
            "bird": 0.17,
        }
        tall = adult * (size or sizes[kind]) * self.rng.uniform(0.92, 1.08)
        colour = coat or self.rng.choice(
            [c for c in COATS[kind] if c not in self.unlike] or list(COATS[kind])
        )
        adjectives = {"dog": ("small", "large", "big"), "cat": ("small",), "duck": ("small",)}.get(kind, ())
        if pose != "fly" and kind in ("horse", "cow"):
            adjectives = ("large",)
        entity = self.entity(ANIMALS, _ANIMAL_NOUNS[kind], colour=colour, adjectives=adjectives)
        fur = COATS[kind][colour]
        x = at.x * self.width

        def painter(pen: Pen) -> None:
            animal_pen = pen.at(x, ground, scale=tall, flip=at.flip).of(entity.parts[0])
            ANIMAL_PAINTERS[kind](animal_pen, fur, pose)
            if tack:
                tack(animal_pen)

        self.paint(ground if at.order is None else at.order, painter)
        if pose not in ("fly", "swim", "leap"):
            self.shadow(x, ground, tall * (0.34 if kind == "cat" else 0.7))
        return entity, tall

    def thing(
        self,
        nouns: Weighted | str,
        painter: Painter,
        placement: Placement,
        *,
        category: str = OTHER,
        colour: str = "",
        adjectives: tuple[str, ...] = (),
        form: str = "one",
        parts: Sequence[int] | None = None,
    ) -> Entity:
        """Place an object on the stage."""
        entity = self.entity(category, nouns, colour=colour, adjectives=adjectives, form=form, parts=parts)
        x, y = placement.x * self.width, placement.y

        def paint(pen: Pen) -> None:
            thing_pen = pen.at(x, y, scale=placement.size, flip=placement.flip, angle=placement.angle)
            painter(thing_pen.of(entity.parts[0]))

        self.paint(y if placement.order is None else placement.order, paint)
        if placement.shadow:
            self.shadow(x, y, placement.size * placement.shadow)
        return entity

    def held(
        self,
        figure: BodyFigure,
        nouns: Weighted | str,
        painter: Painter,
        grip: Grip,
        *,
        category: str = OTHER,
        colour: str = "",
        adjectives: tuple[str, ...] = (),
        form: str = "one",
    ) -> Entity:
        """Let a person carry an object."""
        entity = self.entity(category, nouns, colour=colour, adjectives=adjectives, form=form)

        def hook(pen: Pen) -> None:
            x, y = figure.limbs[grip.at][2] if isinstance(grip.at, str) else grip.at
            right, down = grip.lift
            flip = grip.upright and figure.flip
            painter(
                pen.at(x + right, y + down, scale=grip.size, angle=grip.angle, flip=flip).of(entity.parts[0])
            )

        getattr(figure, grip.layer).append(hook)
        return entity

    def vehicle(
        self,
        nouns: Weighted | str,
        painter: Painter,
        placement: Placement,
        *,
        colour: str = "",
        adjectives: tuple[str, ...] = (),
        parts: Sequence[int] | None = None,
    ) -> Entity:
        """Place an object of the category vehicles."""
        return self.thing(
            nouns, painter, placement, category=VEHICLES, colour=colour, adjectives=adjectives, parts=parts
        )

    def instrument(
        self, figure: BodyFigure, nouns: Weighted | str, painter: Painter, grip: Grip, *, colour: str = ""
    ) -> Entity:
        """Put an instrument into a person's hands."""
        return self.held(figure, nouns, painter, grip, category=INSTRUMENTS, colour=colour)
