"""The box loop of one chain, as a table: (stage, outcome) -> ordered (guard, next, effect).

`TRANSITIONS` is both specification and program: `apply` executes it, `mermaid` draws it. The first row whose
guard holds applies; without one, `IllegalMove` is raised.

Source: Plummer et al. 2015, section 2.2 (the four questions) and section 2.3 ("Additional Review" for chains
that cycle). Our choices: the number of cycles of a chain (3 rounds without a result), its maximum number of
boxes (30), and what a reviewer may do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from annotation.protocol.setting_types import WholeFromOne, WholeNumber
from annotation.protocol.terms import BODYPARTS, CLOTHING, PEOPLE, Box
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import CheckedRecord

REQUIREMENT = "REQUIREMENT"
DRAWING = "DRAWING"
QUALITY = "QUALITY"
COVERAGE = "COVERAGE"
REVIEW = "REVIEW"
BOXED = "BOXED"
NON_VISUAL = "NON_VISUAL"
EXCLUDED = "EXCLUDED"

#: Stages with questions for workers, in the order of section 2.2.
ASKING = (REQUIREMENT, DRAWING, QUALITY, COVERAGE)
#: Stages that only a rebuild can leave.
CLOSED_BOX_STAGES = (BOXED, NON_VISUAL, EXCLUDED)
BOX_STAGES = (*ASKING, REVIEW, *CLOSED_BOX_STAGES)

#: Section 2.2: these "so frequently required boxes that they immediately proceeded to Box Drawing".
DRAWN_AT_ONCE = frozenset((PEOPLE, CLOTHING, BODYPARTS))

BOX, NO_BOX = "BOX", "NO_BOX"
BOX_DRAWN, NONE = "DRAWN", "NONE"
BOX_GOOD, BOX_BAD = "GOOD", "BAD"
MORE, COMPLETE = "MORE", "COMPLETE"
FLAGGED = "FLAGGED"
CLOSE_BOXED, CLOSE_NON_VISUAL = "CLOSE_BOXED", "CLOSE_NON_VISUAL"
RESUME, EXCLUDE = "RESUME", "EXCLUDE"


class IllegalMove(ValueError):
    """A stage has no such outcome, or all its guards fail."""

    def __init__(self, chain: str, stage: str, outcome: str, legal: Iterable[str]) -> None:
        self.chain, self.stage, self.outcome = chain, stage, outcome
        allowed = ", ".join(legal) or "nothing: the stage is closed"
        super().__init__(f"chain {chain}: outcome {outcome} is illegal at {stage}; legal: {allowed}")


@dataclass(frozen=True, slots=True)
class WorkerBox:
    """A box with the judgment that drew it and its worker; `by_model`: the worker is a model annotator."""

    box: Box
    judgment: str
    worker: str
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class BoxLimits(CheckedRecord):
    """When a chain stops cycling: L rounds without a result (0 or more), and the maximum number of boxes (1
    or more)."""

    fruitless: Annotated[
        WholeNumber, Field(description=_("Rounds in a row without a new box after which a reviewer decides"))
    ] = field(default=3, metadata={"source": "decided"})
    boxes: Annotated[
        WholeFromOne, Field(description=_("Boxes that a chain can have; a reviewer decides about more"))
    ] = field(default=30, metadata={"source": "decided"})


@dataclass(frozen=True, slots=True)
class BoxState:
    """The state of a chain in the loop.

    `opening` are the votes with which the current round opens; `flags` the workers who flagged the chain;
    `kind` is "scene" or "none" once it is closed without boxes.
    """

    chain: str
    stage: str
    boxes: tuple[WorkerBox, ...] = ()
    pending: WorkerBox | None = None
    fruitless: int = 0
    kind: str = ""
    opening: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()

    @property
    def closed(self) -> bool:
        """Whether the chain has no more questions."""
        return self.stage in CLOSED_BOX_STAGES


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a stage: `drawn` comes with DRAWN, `kind` with NO_BOX and CLOSE_NON_VISUAL."""

    name: str
    drawn: WorkerBox | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table. An empty guard always holds. Effects are applied from left to right."""

    stage: str
    outcome: str
    guard: str
    next: str
    effects: tuple[str, ...] = ()


_GUARDS: dict[str, Callable[[BoxState, BoxLimits], bool]] = {
    "": lambda state, limits: True,
    "f = L": lambda state, limits: state.fruitless >= limits.fruitless,
    "n = 0": lambda state, limits: not state.boxes,
    "n > 0": lambda state, limits: bool(state.boxes),
    "n < cap": lambda state, limits: len(state.boxes) < limits.boxes,
    "n > 0, none pending": lambda state, limits: bool(state.boxes) and state.pending is None,
    "n = 0, none pending": lambda state, limits: not state.boxes and state.pending is None,
    "pending": lambda state, limits: state.pending is not None,
}


#: Fields of the state that an effect changes.
Changes = dict[str, Any]

EFFECTS: dict[str, Callable[[BoxState, Outcome], Changes]] = {
    "pending := box": lambda state, outcome: {"pending": outcome.drawn},
    "f + 1": lambda state, outcome: {"fruitless": state.fruitless + 1},
    "open with one no": lambda state, outcome: {"opening": ("no",)},
    "accept, f := 0": lambda state, outcome: {
        "boxes": (*state.boxes, state.pending),
        "pending": None,
        "fruitless": 0,
    },
    "discard pending": lambda state, outcome: {"pending": None},
    "kind": lambda state, outcome: {"kind": outcome.kind},
    "f := 0, flags cleared": lambda state, outcome: {"fruitless": 0, "flags": frozenset()},
    # The state stays: there are no questions in review.
    "cancel open tasks, keep pending": lambda state, outcome: {},
}

TRANSITIONS: tuple[Transition, ...] = (
    Transition(REQUIREMENT, BOX, "", DRAWING),
    Transition(REQUIREMENT, NO_BOX, "", NON_VISUAL, ("kind",)),
    Transition(DRAWING, BOX_DRAWN, "", QUALITY, ("pending := box",)),
    Transition(DRAWING, NONE, "f = L", REVIEW),
    Transition(DRAWING, NONE, "n = 0", REQUIREMENT, ("f + 1", "open with one no")),
    Transition(DRAWING, NONE, "n > 0", COVERAGE, ("f + 1",)),
    Transition(QUALITY, BOX_GOOD, "", COVERAGE, ("accept, f := 0",)),
    Transition(QUALITY, BOX_BAD, "f = L", REVIEW, ("discard pending",)),
    Transition(QUALITY, BOX_BAD, "", DRAWING, ("discard pending", "f + 1")),
    Transition(COVERAGE, MORE, "n < cap", DRAWING),
    Transition(COVERAGE, MORE, "", REVIEW),
    Transition(COVERAGE, COMPLETE, "", BOXED),
    *(Transition(stage, FLAGGED, "", REVIEW, ("cancel open tasks, keep pending",)) for stage in ASKING),
    Transition(REVIEW, CLOSE_BOXED, "n > 0, none pending", BOXED),
    Transition(REVIEW, CLOSE_NON_VISUAL, "n = 0, none pending", NON_VISUAL, ("kind",)),
    Transition(REVIEW, RESUME, "pending", QUALITY, ("f := 0, flags cleared",)),
    Transition(REVIEW, RESUME, "n > 0", COVERAGE, ("f := 0, flags cleared",)),
    Transition(REVIEW, RESUME, "", REQUIREMENT, ("f := 0, flags cleared",)),
    Transition(REVIEW, EXCLUDE, "", EXCLUDED),
)

_ROWS: dict[tuple[str, str], tuple[Transition, ...]] = {}
for _row in TRANSITIONS:
    _ROWS[_row.stage, _row.outcome] = (*_ROWS.get((_row.stage, _row.outcome), ()), _row)


def enter_box_loop(chain: str, categories: Iterable[str]) -> BoxState:
    """Return the state in which a chain enters the loop (section 2.2)."""
    return BoxState(chain, DRAWING if DRAWN_AT_ONCE.intersection(categories) else REQUIREMENT)


def legal(state: BoxState, limits: BoxLimits) -> tuple[str, ...]:
    """Return the outcomes that `apply` accepts in `state`."""
    names = [
        row.outcome for row in TRANSITIONS if row.stage == state.stage and _GUARDS[row.guard](state, limits)
    ]
    return tuple(dict.fromkeys(names))


def apply(state: BoxState, outcome: Outcome, limits: BoxLimits) -> tuple[BoxState, Transition]:
    """Return the state after `outcome`, and the row of the table that applied.

    Raises IllegalMove, naming chain, stage and outcome, if no row applies.
    """
    for row in _ROWS.get((state.stage, outcome.name), ()):
        if _GUARDS[row.guard](state, limits):
            changes: Changes = {"stage": row.next, "opening": ()}
            for effect in row.effects:
                changes.update(EFFECTS[effect](state, outcome))
            return _changed(state, changes), row
    raise IllegalMove(state.chain, state.stage, outcome.name, legal(state, limits))


def _changed(state: BoxState, changes: Changes) -> BoxState:
    """A `dataclasses.replace` in a quarter of the time: every judgment applies all earlier moves again."""
    new = changes.get
    return BoxState(
        state.chain,
        new("stage", state.stage),
        new("boxes", state.boxes),
        new("pending", state.pending),
        new("fruitless", state.fruitless),
        new("kind", state.kind),
        new("opening", state.opening),
        new("flags", state.flags),
    )


def non_visual_kind(votes: Iterable[str]) -> str:
    """Return "scene" or "none" from the requirement votes of a round: scene unless it is outvoted."""
    named = list(votes)
    return "scene" if named.count("scene") >= named.count("none") else "none"


def mermaid() -> str:
    """Return the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> REQUIREMENT", "    [*] --> DRAWING: people, clothing, bodyparts"]
    for row in TRANSITIONS:
        guard = f" [{row.guard}]" if row.guard else ""
        effects = f" / {', '.join(row.effects)}" if row.effects else ""
        label = f"{row.outcome}{guard}{effects}".replace(":=", "=").replace(";", ",")
        lines.append(f"    {row.stage} --> {row.next}: {label}")
    return "\n".join([*lines, *(f"    {stage} --> [*]" for stage in CLOSED_BOX_STAGES)])
