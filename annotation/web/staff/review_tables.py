"""An open image with its full history, in words and shapes for a reviewer's page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Box as BoxRow
from annotation.models import Caption, Move, Worker
from annotation.models import Mention as MentionRow
from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.kinds import kind_of
from annotation.protocol.rulings import (
    Boxes,
    Closure,
    KeepApart,
    Partition,
    Phrases,
    Resume,
    UnrelatedCaption,
)
from annotation.protocol.state import LINKING
from annotation.protocol.terms import Chain, Mention
from annotation.selectors.review import ImageUnderReview, ReviewedJudgment, RulingDetail, chain_title
from annotation.web.common.marking import MarkedCaption, mark_words
from annotation.web.common.overlay import DrawnBox, Frame, Tag, draw_overlay, hue, letters
from annotation.web.staff.wording import (
    ANSWER_ROLES_IN_WORDS,
    FLAGS_IN_WORDS,
    REASONS_EXPLAINED,
    REASONS_IN_WORDS,
    STAGES_IN_WORDS,
    answer_in_words,
    question_in_words,
)


@dataclass(slots=True)
class BoxView:
    """A box of a chain by its name on the page (3, or 3a), with its corners as text."""

    name: str
    corners: str


@dataclass(slots=True)
class JudgmentInWords:
    """A judgment in words. `weight` is why it does not count, "" if it does."""

    stored: ReviewedJudgment
    question: str
    answer: str
    weight: str

    @property
    def worker(self) -> str:
        """The pseudonym of the worker."""
        return self.stored.judgment.worker.pseudonym

    @property
    def by_model(self) -> bool:
        """Whether a model annotator answered."""
        return self.stored.judgment.worker.kind == Worker.MODEL


@dataclass(slots=True)
class ReviewedChain:
    """A chain on the page: its number (from 1), its name, its state, its history."""

    number: int
    title: str
    mentions: list[Mention]
    stage: str
    reason: str
    kind: str
    boxes: list[BoxView] = field(default_factory=list)
    pending: str = ""
    answers: list[JudgmentInWords] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    rulings: list[SpokenRuling] = field(default_factory=list)
    lit: bool = False

    @property
    def hue(self) -> int:
        """The number of its colour."""
        return hue(self.number)

    @property
    def ids(self) -> str:
        """Its mentions' ids, as its forms send them."""
        return " ".join(mention.id for mention in self.mentions)

    @property
    def waits(self) -> bool:
        """Whether it waits for a reviewer."""
        return self.stage == loop.REVIEW

    @property
    def ruled(self) -> bool:
        """Whether a ruling closed it, so that resuming cancels the ruling."""
        return any(ruling.stored.in_force and ruling.closes for ruling in self.rulings)

    @property
    def linked(self) -> bool:
        """Whether all of its links are known, so that its boxes can be ruled on."""
        return self.stage != LINKING

    @property
    def verdict(self) -> str:
        """Its state in words: why it is in review, how many boxes, or its stage."""
        if self.stage == loop.REVIEW:
            return f"{STAGES_IN_WORDS[self.stage]}: {REASONS_IN_WORDS.get(self.reason, self.reason)}"
        if self.stage == loop.BOXED:
            count = len(self.boxes)
            return ngettext("%(count)d box", "%(count)d boxes", count) % {"count": count}
        if self.stage == loop.NON_VISUAL and self.kind == "scene":
            return _("scene, no box")
        return str(STAGES_IN_WORDS.get(self.stage, self.stage))

    @property
    def why(self) -> str:
        """Why it is in review, in a sentence; "" if it is not."""
        return str(REASONS_EXPLAINED.get(self.reason, "")) if self.waits else ""

    @property
    def categories(self) -> str:
        """All categories of its mentions, separated by commas."""
        return ", ".join(Chain("", tuple(self.mentions)).categories)

    @property
    def corners(self) -> str:
        """Its boxes and the pending one, one per line, as in the form."""
        return "\n".join([*(box.corners for box in self.boxes), *filter(None, [self.pending])])


@dataclass(slots=True)
class SpokenRuling:
    """A ruling in words. `closes`: it closes a chain."""

    stored: RulingDetail
    text: str
    closes: bool


@dataclass(slots=True)
class MergeView:
    """One line of the merge log: the pairs of chains that can be kept apart, by number and first mention."""

    text: str
    pairs: list[tuple[int, str, int, str]]


@dataclass(slots=True)
class ReviewPage:
    """Context of the page; the first fields are those of the inspector's templates."""

    captions: list[MarkedCaption]
    boxes: list[DrawnBox]
    frame: Frame | None
    lit: int
    chains: list[ReviewedChain]
    merges: list[MergeView]
    rulings: list[SpokenRuling]

    @property
    def waiting(self) -> int:
        """Number of its chains that wait for a reviewer."""
        return sum(chain.waits for chain in self.chains)


def build_review_page(
    review: ImageUnderReview,
    *,
    superseded: Collection[str],
    size: tuple[int, int] | None = None,
    lit: int | None = None,
) -> ReviewPage:
    """Number the chains, name their boxes, put judgments, steps and rulings into words.

    `superseded` are the names of judgments that no question used. `lit` is the chain to highlight; by default
    the first in review. `size` is the picture's, if its row has none.
    """
    chains = [_chain(review, number, stored) for number, stored in enumerate(review.chains, 1)]
    tagged = _tagged(review.chains, chains)
    if lit is None:
        lit = next((chain.number for chain in chains if chain.waits), 0)
    for chain, stored in zip(chains, review.chains, strict=True):
        chain.lit = chain.number == lit
        names = set(stored["m"])
        chain.answers = [
            _answered(row, superseded, chains, names) for row in review.judgments if names & set(row.mentions)
        ]
        chain.moves = review.moves.get(" ".join(stored["m"]), [])
        chain.rulings = [_ruling(row, chains) for row in review.rulings if names & row.mentions]
    image = review.open.image
    frame = (
        Frame(image.width, image.height) if image.width and image.height else (Frame(*size) if size else None)
    )
    if frame is None and tagged:
        frame = Frame(max(box.xmax for box, _ in tagged), max(box.ymax for box, _ in tagged))
    return ReviewPage(
        captions=marked_captions(
            review.captions,
            review.mentions.values(),
            {mention.id: chain.number for chain in chains for mention in chain.mentions},
        ),
        boxes=draw_overlay(tagged, frame) if frame else [],
        frame=frame,
        lit=lit if any(chain.lit for chain in chains) else 0,
        chains=chains,
        merges=_merges(review, chains),
        rulings=[_ruling(row, chains) for row in review.rulings],
    )


def _chain(review: ImageUnderReview, number: int, stored: Mapping[str, Any]) -> ReviewedChain:
    mentions = [review.mentions[name] for name in stored["m"]]
    title = chain_title(stored, review.mentions)
    return ReviewedChain(number, title, mentions, stored["s"], stored["r"], stored["k"])


def _tagged(
    stored: Sequence[Mapping[str, Any]], chains: Sequence[ReviewedChain]
) -> list[tuple[BoxRow, list[Tag]]]:
    """Return every box with its tag; a box that waits for a verdict has a question mark. Equal boxes of
    several chains have all their names."""
    tags: dict[tuple[int, ...], list[Tag]] = {}
    for stored_chain, chain in zip(stored, chains, strict=True):
        many = len(stored_chain["b"]) > 1
        for index, corners in enumerate(stored_chain["b"]):
            name = f"{chain.number}{letters(index) if many else ''}"
            chain.boxes.append(BoxView(name, _corners(corners)))
            tags.setdefault(tuple(corners), []).append(Tag(chain.number, name))
        if stored_chain["p"]:
            chain.pending = _corners(stored_chain["p"])
            tags.setdefault(tuple(stored_chain["p"]), []).append(Tag(chain.number, f"{chain.number}?"))
    return [
        (BoxRow(xmin=xmin, ymin=ymin, xmax=xmax, ymax=ymax), named)
        for (xmin, ymin, xmax, ymax), named in tags.items()
    ]


def _corners(corners: Sequence[int]) -> str:
    return ", ".join(map(str, corners))


def marked_captions(
    captions: Iterable[Caption], mentions: Iterable[Mention], number_of: Mapping[str, int]
) -> list[MarkedCaption]:
    """Return captions with their mentions marked, each with its number and colour (`number_of` its id)."""
    by_caption: dict[int, list[MentionRow]] = defaultdict(list)
    for mention in mentions:
        row = MentionRow(
            start=mention.start,
            end=mention.end,
            categories="/".join(mention.categories),
            chain_id=number_of[mention.id],
        )
        by_caption[mention.caption].append(row)
    numbers = {number: number for number in number_of.values()}
    return [mark_words(caption, by_caption[caption.number], numbers) for caption in captions]


def _answered(
    stored_judgment: ReviewedJudgment,
    superseded: Collection[str],
    chains: Sequence[ReviewedChain],
    names: Collection[str],
) -> JudgmentInWords:
    """Return a judgment about a chain in words; a link names the chain at its other end."""
    judgment = stored_judgment.judgment
    question = str(question_in_words(judgment.kind))
    if kind_of(judgment.kind).mentions == (2, 2):
        others = [
            c.number
            for c in chains
            for m in c.mentions
            if m.id in stored_judgment.mentions and m.id not in names
        ]
        if others:
            question = _("same thing as %(number)d?") % {"number": others[0]}
    answer = str(
        FLAGS_IN_WORDS.get(judgment.flag, judgment.flag)
        if judgment.flag
        else answer_in_words(judgment.kind, judgment.answer)
    )
    weight = ""
    if judgment.withdrawn:
        weight = _("withdrawn")
    elif judgment.role != q.VOTE:
        weight = str(ANSWER_ROLES_IN_WORDS.get(judgment.role, judgment.role))
    elif judgment.name in superseded:
        weight = _("not needed")
    return JudgmentInWords(stored_judgment, question, answer, weight)


def _ruling(ruling: RulingDetail, chains: Sequence[ReviewedChain]) -> SpokenRuling:
    """Return a ruling in words; mentions that the image no longer has are shown by their ids."""
    words = {m.id: m.text for chain in chains for m in chain.mentions}
    count = Counter(words.values())

    def phrases(names: Sequence[str]) -> str:
        # Two mentions of the same words are distinguished by their positions.
        return ", ".join(
            f"“{words[n]}” ({n})" if count[words[n]] > 1 else f"“{words[n]}”" if n in words else n
            for n in names
        )

    match ruling.asserts:
        case Partition(groups):
            if len(groups) == 1:
                return SpokenRuling(
                    ruling, _("One chain: %(mentions)s") % {"mentions": phrases(groups[0])}, False
                )
            text = "; ".join(phrases(group) for group in groups)
            return SpokenRuling(ruling, _("Different things: %(groups)s") % {"groups": text}, False)
        case KeepApart(a, b):
            text = _("Kept apart: %(a)s and %(b)s") % {"a": phrases([a]), "b": phrases([b])}
            return SpokenRuling(ruling, text, False)
        case Boxes(mentions, boxes):
            text = ngettext("%(count)d box for %(mentions)s", "%(count)d boxes for %(mentions)s", len(boxes))
            return SpokenRuling(ruling, text % {"count": len(boxes), "mentions": phrases(mentions)}, True)
        case Closure(mentions, kind):
            text = {
                "scene": _("Scene, no box: %(mentions)s"),
                "none": _("Nothing to box: %(mentions)s"),
                "excluded": _("Excluded: %(mentions)s"),
            }[kind]
            return SpokenRuling(ruling, text % {"mentions": phrases(mentions)}, True)
        case Resume(mentions):
            return SpokenRuling(
                ruling, _("Asked again: %(mentions)s") % {"mentions": phrases(mentions)}, False
            )
        case Phrases(removed, added):
            text = "; ".join(
                words % {"mentions": ", ".join(shown)}
                for words, shown in (
                    (_("No phrase: %(mentions)s"), removed),
                    (_("Phrase: %(mentions)s"), [_phrase(mention) for mention in added]),
                )
                if shown
            )
            return SpokenRuling(ruling, text, False)
        case UnrelatedCaption(caption):
            text = _("Caption %(number)d does not describe the picture.") % {"number": caption + 1}
            return SpokenRuling(ruling, text, False)


def _phrase(mention: Mention) -> str:
    """Return a phrase of a ruling in words."""
    noun = f", @{mention.noun}" if mention.noun else ""
    return f"“{mention.text}” ({mention.id}; {', '.join(mention.categories)}{noun})"


def _merges(review: ImageUnderReview, chains: Sequence[ReviewedChain]) -> list[MergeView]:
    """Return what merged and why. Chains are named after their first mention."""
    first = {stored["m"][0]: chain for stored, chain in zip(review.chains, chains, strict=True)}
    merges: list[MergeView] = []
    paired: set[tuple[int, int]] = set()
    for merged in review.merged:
        of = [first[name] for name in merged["chains"] if name in first]
        numbers = ", ".join(str(chain.number) for chain in of)
        if merged["what"] == "chains":
            text = _("Chains %(numbers)s were merged, because they have the same boxes.") % {
                "numbers": numbers
            }
        else:
            text = _("Boxes of chains %(numbers)s were merged, because they overlap by %(share)d %%.") % {
                "numbers": numbers,
                "share": int(100 * merged["iou"]),
            }
        pairs = [
            (chain_a.number, chain_a.mentions[0].id, chain_b.number, chain_b.mentions[0].id)
            for chain_a, chain_b in combinations(of, 2)
            if (chain_a.number, chain_b.number) not in paired
        ]
        paired.update((a, b) for a, _first, b, _second in pairs)
        merges.append(MergeView(text, pairs))
    return merges
