"""Settings of an image, and the state that its judgments lead to: chains and the whole image.

Records without behaviour; `image.Fold` produces them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from pydantic import Field

from annotation.protocol import boxes as loop
from annotation.protocol.boxes import BoxLimits, WorkerBox
from annotation.protocol.coreference import LEARNED, LIKELY_FIRST, LinkOrder
from annotation.protocol.link_chances import BadChances, chances_from
from annotation.protocol.merging import DEFAULT_RULES, Merged, MergeRules, canonical_layer
from annotation.protocol.questions import Question
from annotation.protocol.setting_types import StorableText, WholeFromOne
from annotation.protocol.terms import Chain, LayerRecord, Mention
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import BadField, check_fields

#: Stages before the box loop.
LINKING = "LINKING"
VERIFICATION = "VERIFICATION"
#: Stage of a chain of an image without box questions: closed, and nothing is known about its boxes.
UNSEEN = "UNSEEN"
#: Stages of a chain without further questions.
CLOSED_STAGES = (*loop.CLOSED_BOX_STAGES, UNSEEN)
#: Images with box questions: those with a picture, all (a simulated crowd needs to see none), none.
BOXES_PICTURED: Final = "pictured"
BOXES_ALWAYS: Final = "always"
BOXES_NEVER: Final = "never"
BoxesOf = Literal["pictured", "always", "never"]


@dataclass(frozen=True, slots=True)
class SavingSettings:
    """Deviations from the printed protocol that save questions; all off by default.

    `link_chances`: the table of `order = "learned"` (`link_chances.LinkChances`), "" for none. It is a
    setting so that an open image keeps the table that it was opened with. Raises ValueError for a text that
    is no table.
    """

    link_chances: Annotated[
        StorableText,
        Field(
            description=_(
                "Chances that two phrases refer to the same thing, as they were learned; used by order = "
                "learned"
            )
        ),
    ] = field(default="", metadata={"source": "decided (docs/protocol.md)"})
    fullest_caption_first: Annotated[
        bool,
        Field(description=_("Whether the caption with most phrases is linked first, not the first caption")),
    ] = field(default=False, metadata={"source": "Plummer et al. 2015, section 2.1"})
    coverage_by_count: Annotated[
        bool,
        Field(
            description=_(
                "Whether one worker may confirm that all boxes are there, where there are as many as the "
                "phrases name (“two men”)"
            )
        ),
    ] = field(default=False, metadata={"source": "Plummer et al. 2015, section 2.2: two workers, always"})

    def __post_init__(self) -> None:
        check_fields(self)
        if self.link_chances:
            try:
                chances_from(self.link_chances)
            except BadChances as error:
                raise ValueError(f"link_chances: {error}") from error


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """Settings of the questions about an image; frozen when the image opens.

    `link_votes` and `verification_votes`: 1 as in the paper, or an odd number for a majority. `boxes`: which
    images have box questions. `flags_to_review`: the number of workers who must flag before a review.
    """

    order: Annotated[
        LinkOrder,
        Field(
            description=_(
                "Which chain a mention is compared with first: likely ones, as the paper prints it, or by "
                "learned chances"
            )
        ),
    ] = field(default=LIKELY_FIRST, metadata={"source": "decided; as_printed is the paper's"})
    link_votes: Annotated[
        WholeFromOne,
        Field(description=_("Workers who are asked whether two phrases refer to the same thing (odd)")),
    ] = field(default=1, metadata={"source": "Plummer et al. 2015, section 2.1"})
    verification_votes: Annotated[
        WholeFromOne, Field(description=_("Workers who are asked whether a chain is right (odd)"))
    ] = field(default=1, metadata={"source": "Plummer et al. 2015, section 2.1"})
    boxes: Annotated[
        BoxesOf, Field(description=_("Images whose boxes are asked for: those with a picture, all, or none"))
    ] = field(default=BOXES_PICTURED, metadata={"source": "decided: nobody can draw on what they do not see"})
    limits: BoxLimits = BoxLimits()
    merging: MergeRules = DEFAULT_RULES
    flags_to_review: Annotated[
        WholeFromOne, Field(description=_("Workers who report a question before a reviewer decides"))
    ] = field(default=2, metadata={"source": "decided"})
    saving: SavingSettings = SavingSettings()

    def __post_init__(self) -> None:
        check_fields(self)
        if self.order == LEARNED and not self.saving.link_chances:
            raise ValueError(
                f"order is {LEARNED!r}: expected a learned table of chances in saving.link_chances"
            )
        for name in ("link_votes", "verification_votes"):
            if getattr(self, name) % 2 == 0:
                raise BadField(name, getattr(self, name), "an odd number, 1 or more")

    def of_image(self, *, pictured: bool) -> ImageSettings:
        """Return the settings of one image, with a picture or without."""
        return replace(self, boxes=BOXES_NEVER) if self.boxes == BOXES_PICTURED and not pictured else self


@dataclass(frozen=True, slots=True)
class ChainMove:
    """One step of a chain: stage, outcome, and next stage."""

    stage: str
    outcome: str
    next: str


@dataclass(frozen=True, slots=True)
class ChainState:
    """A chain and its stage, which is LINKING, VERIFICATION, a stage of the box loop, or UNSEEN.

    `kind` is "scene" or "none" for a chain closed without boxes; `reason` is the reason for its review:
    refused, flagged, fruitless, crowded.
    """

    mentions: tuple[Mention, ...]
    stage: str
    boxes: tuple[WorkerBox, ...] = ()
    pending: WorkerBox | None = None
    kind: str = ""
    reason: str = ""
    moves: tuple[ChainMove, ...] = ()

    @property
    def id(self) -> str:
        """The id of the first mention, until the chain is written to a layer."""
        return self.mentions[0].id

    @property
    def closed(self) -> bool:
        """Whether the chain has no further questions."""
        return self.stage in CLOSED_STAGES


@dataclass(frozen=True, slots=True)
class ImageState:
    """The state of an image after the judgments so far.

    `questions` are open; `superseded` are the ids of votes that no question consumed and no ruling uses. When
    every chain is closed, `result` is the merged layer and `merged` is the log of merges. `unrelated` are the
    captions that do not describe the picture.
    """

    chains: tuple[ChainState, ...]
    questions: tuple[Question, ...]
    superseded: tuple[str, ...]
    result: LayerRecord | None
    merged: tuple[Merged, ...]
    unrelated: tuple[int, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every chain is closed."""
        return self.result is not None

    @property
    def layer(self) -> LayerRecord:
        """The result; before there is one, the current chains and accepted boxes, unmerged."""
        if self.result is not None:
            return self.result
        return replace(unmerged(self.chains), unrelated=self.unrelated)


def unmerged(chains: Iterable[ChainState]) -> LayerRecord:
    """Return the layer of the current chains without excluded ones, with no boxes merged."""
    included = [c for c in chains if c.stage != loop.EXCLUDED]
    return canonical_layer(
        ((Chain(c.id, c.mentions), tuple(d.box for d in c.boxes), c.kind) for c in included),
        by_model=frozenset((c.id, d.box) for c in included for d in c.boxes if d.by_model),
    )
