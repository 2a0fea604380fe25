"""A picture being composed: what to paint, from back to front, its referents, and the clauses about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from scenes.art.canvas import Canvas, Pen
from scenes.art.colours import HARMONIES, Colour
from scenes.referents import Entity, Group, Notion, Referent, ScenePerson, Weighted
from scenes.terms import OTHER, SCENE

Painter = Callable[[Pen], None]


#: Garments that may be mentioned together where everybody wears one ("two children in hats").
_ALIKE = ("hat", "helmet", "jacket", "coat", "apron", "dress", "jersey", "scarf", "swimsuit")


@dataclass(frozen=True, slots=True)
class Clause:
    """A possible statement: its subjects, what they do, and its weight.

    A text is a verb phrase: `*word` is a verb to be inflected, `@key/style` a mention, `( ... )` may be left
    out. With several subjects, they are coordinated.
    """

    subjects: tuple[Referent, ...]
    texts: tuple[str, ...]
    weight: float
    main: bool
    here: bool


@dataclass
class Floor:
    """The ground's height in pixels and the height of a man, at the back and in front."""

    back: float
    front: float
    small: float
    tall: float

    def at(self, depth: float) -> tuple[float, float]:
        """Return the ground's height and a man's, in pixels, at `depth` from 0 (back) to 1 (front)."""
        return self.back + (self.front - self.back) * depth, self.small + (self.tall - self.small) * depth


@dataclass
class SceneBoard:
    """A picture before it is painted: what to paint and when, its referents, and the clauses about them."""

    canvas: Canvas
    rng: Random
    floor: Floor = field(default_factory=lambda: Floor(0, 0, 1, 1))
    code: str = "daily"
    unlike: tuple[str, ...] = ()
    shadow_colour: Colour = (30, 36, 60)
    referents: list[Referent] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    places: list[tuple[str, float]] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    backdrops: list[str] = field(default_factory=list)
    overlays: list[Painter] = field(default_factory=list)
    landmarks: dict[str, Referent] = field(default_factory=dict)
    waterline: float = 0.0

    def __post_init__(self) -> None:
        self.width, self.height = self.canvas.width, self.canvas.height
        self.harmony = self.rng.choice(HARMONIES)
        self._queue: list[tuple[float, int, Painter]] = []

    @property
    def wide(self) -> bool:
        """Whether the picture is wider than it is high."""
        return self.width > self.height

    @property
    def unit(self) -> float:
        """A grown man's height in front, in pixels."""
        return self.floor.tall

    def colour(self, *unlike: str) -> str:
        """A colour of this picture's harmony by name."""
        left = [c for c in self.harmony if c not in unlike and c not in self.unlike]
        return self.rng.choice(left or [c for c in self.harmony if c not in unlike] or list(self.harmony))

    # -- painting ----------------------------------------------------------------------------

    def paint(self, depth: float, painter: Painter) -> None:
        """Schedule `painter`, called with a pen in picture coordinates, from back to front."""
        self._queue.append((depth, len(self._queue), painter))

    def shadow(self, x: float, y: float, half: float, strength: float = 0.30) -> None:
        """A soft shadow on the ground. Shadows lie under everything that stands on it."""
        self.canvas.pen().glow(x, y, half, half * 0.24, self.shadow_colour, strength)

    def play(self) -> None:
        """Paint everything that was scheduled, and clear the schedule.

        Painters refer to the board, and the board to a canvas of megabytes: this would be a reference cycle
        for the garbage collector.
        """
        pen = self.canvas.pen()
        for _, _, painter in sorted(self._queue, key=lambda entry: entry[:2]):
            painter(pen)
        for painter in self.overlays:
            painter(pen)
        self._queue.clear()
        self.overlays.clear()

    # -- referents ---------------------------------------------------------------------------

    def entity(
        self,
        category: str,
        nouns: Weighted | str,
        *,
        colour: str = "",
        adjectives: tuple[str, ...] = (),
        form: str = "one",
        owner: ScenePerson | None = None,
        parts: Sequence[int] | None = None,
    ) -> Entity:
        """Add a visible object, with its own part unless `parts` are given."""
        named: Weighted = ((nouns, 1.0),) if isinstance(nouns, str) else nouns
        entity = Entity(
            len(self.referents),
            category,
            named,
            colour,
            adjectives,
            form,
            [self.canvas.part()] if parts is None else list(parts),
            owner,
        )
        self.referents.append(entity)
        return entity

    def notion(self, *phrases: str, scene: bool = False) -> Notion:
        """Add a place that is the whole scene, or something without a body, by its noun phrases."""
        notion = Notion(len(self.referents), SCENE if scene else OTHER, tuple((p, 1.0) for p in phrases))
        self.referents.append(notion)
        return notion

    def group(
        self, members: Sequence[Entity], noun: str = "", *, bunch: str = "", phrases: Weighted = ()
    ) -> Group:
        """Add `members` that are mentioned together; people need no noun but may have one (a role)."""
        group = Group(len(self.referents), members[0].category, tuple(members), noun, bunch, phrases)
        self.referents.append(group)
        people = [m for m in members if isinstance(m, ScenePerson)]
        for kind in _ALIKE if people else ():
            worn = [g for p in people for g in p.worn if kind in dict(g.nouns)]
            if len(worn) == len(people):
                group.worn.append(self.group(worn, kind))
        return group

    # -- what can be said --------------------------------------------------------------------

    def says(
        self,
        who: Referent | Sequence[Referent],
        *texts: str,
        weight: float = 1.0,
        main: bool = True,
        here: bool = True,
    ) -> None:
        """Add the statement that `who` (one, or several to be coordinated) does any of `texts`.

        `main` clauses can be captions by themselves; others follow "while". With `here` a place may follow.
        """
        subjects = (who,) if isinstance(who, Referent) else tuple(who)
        self.clauses.append(Clause(subjects, texts, weight, main, here))

    def place(self, text: str, weight: float = 1.0) -> None:
        """Add a phrase that says where the whole scene is ("in @3")."""
        self.places.append((text, weight))
