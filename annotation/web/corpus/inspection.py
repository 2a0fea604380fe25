"""One image with one layer, in words and shapes for the inspector's template."""

from collections import defaultdict
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import Box, Caption, Chain, Image, Mention
from annotation.protocol import terms
from annotation.protocol.boxes import COVERAGE, DRAWING, EXCLUDED, QUALITY, REQUIREMENT, REVIEW
from annotation.protocol.state import CLOSED_STAGES, UNSEEN
from annotation.selectors.browse import LayerRows
from annotation.web.common.marking import MarkedCaption, mark_words
from annotation.web.common.overlay import DrawnBox, Frame, Tag, draw_overlay, hue, letters

#: Labels of the stages at which a chain waits.
OPEN = {
    REQUIREMENT: gettext_lazy("open: requirement"),
    DRAWING: gettext_lazy("open: drawing"),
    QUALITY: gettext_lazy("open: quality"),
    COVERAGE: gettext_lazy("open: coverage"),
    REVIEW: gettext_lazy("open: review"),
}


@dataclass(slots=True)
class ChainView:
    """A chain of the list: its number on this page (from 1), its name, its state."""

    chain: Chain
    number: int
    title: str
    categories: list[str]
    mentions: list[Mention] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    by_model: int = 0
    lit: bool = False

    @property
    def hue(self) -> int:
        """The number of its colour."""
        return hue(self.number)

    @property
    def drawn_by(self) -> str:
        """How many of its boxes a model annotator drew, in words; "" if people drew all."""
        if not self.by_model:
            return ""
        if self.by_model == len(self.boxes):
            return _("drawn by a model annotator, accepted by people")
        return _("%(count)d drawn by a model annotator, accepted by people") % {"count": self.by_model}

    @property
    def verdict(self) -> str:
        """Its boxes, or why it has none, or its stage in the box loop."""
        chain = self.chain
        if chain.stage and chain.stage not in CLOSED_STAGES:
            words = OPEN.get(chain.stage, chain.stage)
            return f"{words}, {self._boxes}" if self.boxes else str(words)
        if chain.stage == EXCLUDED:
            return _("excluded by a reviewer")
        if self.boxes:
            return self._boxes
        if chain.stage == UNSEEN:
            return _("boxes not asked for")
        if chain.scene:
            return _("scene, no box")
        if chain.object_position is not None or chain.stage:
            return _("nothing to box")
        return _("no box yet")

    @property
    def _boxes(self) -> str:
        count = len(self.boxes)
        return ngettext("%(count)d box", "%(count)d boxes", count) % {"count": count}

    @property
    def spoken(self) -> str:
        """The number of its mentions, in words."""
        count = len(self.mentions)
        return ngettext("%(count)d mention", "%(count)d mentions", count) % {"count": count}


@dataclass(slots=True)
class Inspection:
    """Everything that the inspector shows of one layer; `frame` is None if nothing can be drawn."""

    captions: list[MarkedCaption]
    chains: list[ChainView] = field(default_factory=list)
    boxes: list[DrawnBox] = field(default_factory=list)
    frame: Frame | None = None
    not_visual: list[str] = field(default_factory=list)
    lit: int = 0
    covered: bool = False


def inspect(
    image: Image,
    captions: list[Caption],
    rows: LayerRows | None,
    *,
    size: tuple[int, int] | None = None,
    lit: int = 0,
) -> Inspection:
    """Number the chains of `image`, name their boxes and mark their mentions.

    `size` is the picture's own, if its row has none. Without a picture, boxes are drawn over a blank area
    that contains them. `lit` is the number of the chain to highlight.
    """
    if rows is None:
        return Inspection(
            [mark_words(caption, [], {}) for caption in captions], frame=_frame(image, None, size)
        )
    by_caption: dict[int, list[Mention]] = defaultdict(list)
    by_chain: dict[int | None, list[Mention]] = defaultdict(list)
    for mention in rows.mentions:
        by_caption[mention.caption_id].append(mention)
        by_chain[mention.chain_id].append(mention)
    words = {caption.pk: caption for caption in captions}
    numbered = {
        chain.pk: _chain_lines(chain, number, by_chain[chain.pk], words, lit == number)
        for number, chain in enumerate(rows.chains, start=1)
    }
    numbers = {pk: chain.number for pk, chain in numbered.items()}
    tagged = _tagged(rows, numbered)
    frame = _frame(image, rows, size)
    return Inspection(
        captions=[mark_words(caption, by_caption[caption.pk], numbers) for caption in captions],
        chains=list(numbered.values()),
        boxes=draw_overlay(tagged, frame) if frame else [],
        frame=frame,
        not_visual=[_phrase(mention, words) for mention in by_chain[None]],
        lit=lit if 1 <= lit <= len(numbered) else 0,
        covered=rows.covered,
    )


def _tagged(rows: LayerRows, numbered: dict[int, ChainView]) -> list[tuple[Box, list[Tag]]]:
    """Return each box with one tag for every chain it depicts; a chain with a single box needs no letter."""
    counts: dict[int, int] = defaultdict(int)
    for box in rows.boxes:
        for link in box.links.all():
            counts[link.chain_id] += 1
    tagged = []
    for box in rows.boxes:
        tags = []
        for link in box.links.all():
            chain = numbered[link.chain_id]
            letter = letters(len(chain.boxes)) if counts[link.chain_id] > 1 else ""
            tags.append(Tag(chain.number, f"{chain.number}{letter}"))
            chain.boxes.append(tags[-1].name)
            chain.by_model += box.by_model
        tagged.append((box, tags))
    return tagged


def _chain_lines(
    chain: Chain, number: int, mentions: list[Mention], words: dict[int, Caption], lit: bool
) -> ChainView:
    records = [record for m in mentions if (record := _record(m, words))]
    title = next(iter(chain.phrase_lines), chain.label or _("no mention"))
    title = terms.representative(records).text if records else title
    labels = [chain.label] if chain.label and chain.label != title else []
    categories = terms.Chain(chain.key, tuple(records)).categories
    return ChainView(chain, number, title, [*labels, *categories], mentions, lit=lit)


def _record(mention: Mention, words: dict[int, Caption]) -> terms.Mention | None:
    """Return the mention as a protocol record; None if it extends beyond its caption."""
    caption = words[mention.caption_id]
    tokens = tuple(caption.words[mention.start : mention.end])
    if len(tokens) < mention.end - mention.start:
        return None
    categories = tuple(mention.categories.split("/"))
    return terms.Mention(caption.number, mention.start, mention.end, tokens, categories)


def _phrase(mention: Mention, words: dict[int, Caption]) -> str:
    return " ".join(words[mention.caption_id].words[mention.start : mention.end])


def _frame(image: Image, rows: LayerRows | None, size: tuple[int, int] | None) -> Frame | None:
    if image.width and image.height:
        return Frame(image.width, image.height)
    if size:
        return Frame(*size)
    if rows and rows.boxes:
        return Frame(max(box.xmax for box in rows.boxes), max(box.ymax for box in rows.boxes))
    return None
