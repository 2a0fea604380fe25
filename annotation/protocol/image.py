"""An image's state is a fold over its judgments.

`Fold` is created once per image (mentions, settings, rulings) and applied to all judgments: it goes through
its questions in a fixed order, answers each from the judgments of that question's key in order of arrival,
and stops where they run out. A missing vote is an open question; an unused vote is superseded. There is no
other state, so submitting, withdrawing a worker's answers, reviewing and merging are one path: fold again.

Judgments are only read by key, so the result does not depend on the order in which different keys were
answered.

Source: Plummer et al. 2015, sections 2.1 to 2.3.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.boxes import BoxState, Outcome, WorkerBox
from annotation.protocol.coreference import candidates, fullest_caption_first, lanes, split_by_head
from annotation.protocol.likely_count import likely_count
from annotation.protocol.likeness import Likeness
from annotation.protocol.link_chances import LinkChances, chances_from
from annotation.protocol.merging import Merged, merge_layer
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.reading import NOBODY, Reading, sort_votes_by_key
from annotation.protocol.redundancy import AgreeingVotes, FirstVote, VoteRule, majority_rule
from annotation.protocol.rulings import Boxes, Closure, Ruling, Rulings, mended
from annotation.protocol.state import (
    BOXES_NEVER,
    LINKING,
    UNSEEN,
    VERIFICATION,
    ChainMove,
    ChainState,
    ImageSettings,
    ImageState,
    unmerged,
)
from annotation.protocol.terms import Box, Chain, LayerRecord, Mention

#: Outcome in the log if a reviewer's assertion closed a chain.
RULED = "RULED"

_REQUIREMENT = AgreeingVotes(
    {"box": loop.BOX, "scene": loop.NO_BOX, "none": loop.NO_BOX, "no": loop.NO_BOX}, loop.BOX
)
_COVERAGE = AgreeingVotes({"more": loop.MORE, "complete": loop.COMPLETE}, loop.MORE)
#: If there are as many boxes as the phrases name, one vote for "complete" settles, but not one for "more".
_COVERAGE_AT_COUNT = AgreeingVotes({"more": loop.MORE, "complete": loop.COMPLETE}, loop.COMPLETE)
_FIRST_VOTE = FirstVote()
_NAMES = {"drawn": loop.BOX_DRAWN, "none": loop.NONE, "good": loop.BOX_GOOD, "bad": loop.BOX_BAD}
_KINDS = {
    loop.REQUIREMENT: q.BOX_REQUIREMENT,
    loop.DRAWING: q.BOX_DRAWING,
    loop.QUALITY: q.BOX_QUALITY,
    loop.COVERAGE: q.BOX_COVERAGE,
}
#: Questions that are not for the worker who drew the newest box.
BARS_DRAWER = frozenset((q.BOX_QUALITY, q.BOX_COVERAGE))


def vote_rules(settings: ImageSettings) -> dict[str, VoteRule]:
    """Return when votes settle, for each kind of question of the chain."""
    return {
        q.COREF_LINK: majority_rule(settings.link_votes, ("yes", "no")),
        q.CHAIN_VERIFICATION: majority_rule(settings.verification_votes, ("true", "false")),
        q.BOX_REQUIREMENT: _REQUIREMENT,
        q.BOX_DRAWING: _FIRST_VOTE,
        q.BOX_QUALITY: _FIRST_VOTE,
        q.BOX_COVERAGE: _COVERAGE,
    }


def votes_when_back(kind: str, settings: ImageSettings) -> int:
    """Return the maximum number of votes on a question of the chain in all rounds after its first: a round
    without a new box leads back to it under the same key."""
    rounds, votes = settings.limits.fruitless, vote_rules(settings)[kind].most()
    if kind == q.BOX_DRAWING or (kind == q.BOX_COVERAGE and settings.limits.boxes > 1):
        return rounds * votes
    # The drawer's "none" is the first vote of the round.
    return rounds * (votes - 1) if kind == q.BOX_REQUIREMENT else 0


class Fold:
    """The fold of one image; `fold(judgments)` may be called any number of times.

    `mentions` are those with which the image was opened; its attribute has them after the rulings on phrases.
    Raises ValueError if two mentions have the same span.
    """

    def __init__(
        self,
        mentions: Sequence[Mention],
        settings: ImageSettings | None = None,
        rulings: Iterable[Ruling] = (),
    ) -> None:
        if len({m.id for m in mentions}) < len(mentions):
            raise ValueError("two mentions of this image have the same span")
        in_force = tuple(rulings)
        self.mentions = mended(mentions, in_force)
        self._ids = frozenset(mention.id for mention in self.mentions)
        self.settings = settings if settings is not None else ImageSettings()
        self.rulings = Rulings.of(in_force, self.mentions)
        self.lanes = lanes(self.mentions, self.rulings.joined())
        saving = self.settings.saving
        if saving.fullest_caption_first:
            self.lanes = [fullest_caption_first(lane) for lane in self.lanes]
        self._chances: LinkChances | None = chances_from(saving.link_chances) if saving.link_chances else None
        self._likeness = Likeness(self.mentions)
        self._rules = vote_rules(self.settings)
        self._link_rule = self._rules[q.COREF_LINK]

    def __call__(self, judgments: Iterable[Judgment]) -> ImageState:
        return self.state_after(sort_votes_by_key(judgments))

    def knows(self, mentions: Iterable[str]) -> bool:
        """Whether all of these are mentions of the image, and not removed by a ruling."""
        return self._ids.issuperset(mentions)

    def state_after(self, reading: Reading) -> ImageState:
        """Return the state after the votes of `reading`, none of which was read yet."""
        chains: list[ChainState] = []
        for lane in self.lanes:
            chains.extend(self._lane(lane, reading))
        chains.sort(key=lambda c: c.mentions[0].span)
        superseded = [
            j.id
            for votes in reading.votes.values()
            for j in votes.queue[votes.next :]
            if j.id not in reading.used_by_rulings
        ]
        result: LayerRecord | None = None
        merged: tuple[Merged, ...] = ()
        if not reading.questions and all(c.closed for c in chains):
            named = [(c.id, c.mentions) for c in chains]
            result, merged = merge_layer(
                unmerged(chains),
                rules=self.settings.merging,
                apart=self.rulings.pairs_apart(named, unmergeable=True),
                distinct=self.rulings.pairs_apart(named, unmergeable=False),
            )
        return ImageState(
            tuple(chains),
            tuple(reading.questions),
            (*superseded, *reading.skipped),
            replace(result, unrelated=self.rulings.unrelated) if result is not None else None,
            merged,
            self.rulings.unrelated,
        )

    def _lane(self, lane: list[Mention], reading: Reading) -> list[ChainState]:
        """Link a lane's mentions in order; if no link is open, continue its chains."""
        chains: list[list[Mention]] = []
        held: list[list[Mention]] = []
        guessed: set[str] = set()
        for mention in lane:
            placed = self._link_mention(mention, chains, held, reading, guessed)
            if placed is None:
                rest = lane[lane.index(mention) :]
                started = [*chains, *held, *([m] for m in rest)]
                return [ChainState(tuple(sorted(c, key=lambda m: m.span)), LINKING) for c in started]
            if placed == loop.FLAGGED:
                held.append([mention])
        states = []
        for chain in chains:
            states.extend(self._verified(tuple(chain), reading, guessed))
        for chain in held:
            states.append(
                self._boxed(tuple(chain), reading, "flagged", ChainMove(LINKING, loop.FLAGGED, loop.REVIEW))
            )
        return states

    def _link_mention(
        self,
        mention: Mention,
        chains: list[list[Mention]],
        held: list[list[Mention]],
        reading: Reading,
        guessed: set[str],
    ) -> str | None:
        """Put a mention into a chain: return "joined", "started", FLAGGED (held for review), or None if open.

        `held` are the chains that wait for a reviewer: a mention joins them only by a ruling. Ids of mentions
        that joined by a model annotator's answer are added to `guessed`.
        """
        ruled: dict[int, str] = {}
        if self.rulings.pair:
            ruled = {i: self.rulings.between(mention, chain) for i, chain in enumerate(chains)}
            for i, chain in enumerate([*chains, *held]):
                if (ruled.get(i) or self.rulings.between(mention, chain)) == "together":
                    chain.append(mention)
                    return "joined"
        flags: set[str] = set()
        for i, mention_in_order in candidates(
            mention, chains, order=self.settings.order, likeness=self._likeness, chances=self._chances
        ):
            if ruled.get(i) == "apart":
                continue
            key = q.link_key(mention_in_order, mention)
            votes: list[str] = []
            outcome, _ = reading.take(key, self._link_rule, votes, flags, self.settings.flags_to_review)
            if outcome is None:
                needed = self._link_rule.votes_needed(votes)
                pair = (
                    (mention_in_order.id, mention.id)
                    if mention_in_order.span < mention.span
                    else (mention.id, mention_in_order.id)
                )
                reading.questions.append(Question(q.COREF_LINK, key, needed, reading.barred(key), pair))
                return None
            if outcome == "yes":
                if reading.by_model(key):
                    guessed.add(mention.id)
                chains[i].append(mention)
                return "joined"
            if outcome == loop.FLAGGED:
                return outcome
        chains.append([mention])
        return "started"

    def _verified(self, chain: tuple[Mention, ...], reading: Reading, guessed: set[str]) -> list[ChainState]:
        """Return the chains after verification (section 2.1) and the box loop.

        The parts of a rejected chain are not verified again if people linked all of it, as in the paper; they
        are if a model annotator linked any of it (`guessed`).
        """
        if (
            len(chain) < 2
            or self.rulings.covers(chain)
            or frozenset(m.id for m in chain) in self.rulings.closed
        ):
            return [self._boxed(chain, reading)]
        chain = tuple(sorted(chain, key=lambda m: m.span))
        key = q.chain_key(q.CHAIN_VERIFICATION, chain)
        votes: list[str] = []
        rule = self._rules[q.CHAIN_VERIFICATION]
        outcome, _ = reading.take(key, rule, votes, set(), self.settings.flags_to_review)
        if outcome is None:
            ids = tuple(m.id for m in chain)
            reading.questions.append(
                Question(q.CHAIN_VERIFICATION, key, rule.votes_needed(votes), reading.barred(key), ids)
            )
            return [ChainState(chain, VERIFICATION)]
        if outcome == "true":
            return [self._boxed(chain, reading)]
        if outcome == loop.FLAGGED:
            return [self._boxed(chain, reading, "flagged", ChainMove(VERIFICATION, outcome, loop.REVIEW))]
        sets = split_by_head(chain, self.rulings.joined())
        if sets is None:
            return [self._boxed(chain, reading, "refused", ChainMove(VERIFICATION, "REFUSED", loop.REVIEW))]
        if guessed.isdisjoint(m.id for m in chain):
            return [self._boxed(subset, reading) for subset in sets]
        return [state for subset in sets for state in self._verified(subset, reading, guessed)]

    def _boxed(
        self, mentions: tuple[Mention, ...], reading: Reading, held: str = "", move: ChainMove | None = None
    ) -> ChainState:
        """Run a chain through the box loop as far as there are judgments.

        `held` is the reason if it enters at review instead, by `move`.
        """
        if len(mentions) > 1:
            mentions = tuple(sorted(mentions, key=lambda m: m.span))
        named = frozenset([m.id for m in mentions])
        moves = [move] if move else []
        chain = Chain(mentions[0].id, mentions)
        ruling = self.rulings.closed.get(named)
        if ruling is not None:
            return _ruled(chain, ruling, moves, reading)
        if self.settings.boxes == BOXES_NEVER and (not held or self.rulings.resumes.get(named)):
            return ChainState(mentions, UNSEEN, moves=tuple(moves))
        name = q.mention_set(mentions)
        state = BoxState(chain.id, loop.REVIEW) if held else loop.enter_box_loop(chain.id, chain.categories)
        resumes = self.rulings.resumes.get(named, 0)
        reason = held
        while not state.closed:
            if state.stage == loop.REVIEW:
                if not resumes:
                    break
                resumes -= 1
                outcome: Outcome | None = Outcome(loop.RESUME)
            else:
                outcome, state = self._ask(state, mentions, name, reading)
            if outcome is None:
                break
            state, row = loop.apply(state, outcome, self.settings.limits)
            moves.append(ChainMove(row.stage, row.outcome, row.next))
            if row.next == loop.REVIEW:
                reason = {loop.FLAGGED: "flagged", loop.MORE: "crowded"}.get(row.outcome, "fruitless")
        return ChainState(
            mentions,
            state.stage,
            state.boxes,
            state.pending,
            state.kind,
            reason if state.stage == loop.REVIEW else "",
            tuple(moves),
        )

    def _ask(
        self, state: BoxState, mentions: tuple[Mention, ...], named: str, reading: Reading
    ) -> tuple[Outcome | None, BoxState]:
        """Return the outcome of a chain's current stage, or None with the question left open.

        `named` is the name of the mention set in keys.
        """
        kind = _KINDS[state.stage]
        rule = self._rules[kind]
        accepted = tuple([d.box for d in state.boxes])
        barred = NOBODY
        if state.stage == loop.QUALITY:
            assert state.pending is not None
            key = q.quality_key(state.pending.judgment, state.pending.box, accepted)
        else:
            key = q.set_key(kind, named, accepted)
        if kind in BARS_DRAWER:
            barred = frozenset(((state.pending or state.boxes[-1]).worker,))
        if state.stage == loop.COVERAGE and self.settings.saving.coverage_by_count:
            if 0 < likely_count(mentions) <= len(state.boxes):
                rule = _COVERAGE_AT_COUNT
        votes = list(state.opening)
        flags = set(state.flags)
        name, last = reading.take(key, rule, votes, flags, self.settings.flags_to_review, barred)
        if len(flags) != len(state.flags):
            state = replace(state, flags=frozenset(flags))
        if name is None:
            pending = state.pending.box if state.pending else None
            reading.questions.append(
                Question(
                    kind,
                    key,
                    rule.votes_needed(votes),
                    reading.barred(key, barred),
                    tuple(m.id for m in mentions),
                    accepted,
                    pending,
                )
            )
            return None, state
        name = _NAMES.get(name, name)
        if name == loop.BOX_DRAWN:
            assert last is not None and last.box is not None
            return Outcome(name, WorkerBox(last.box, last.id, last.worker, last.by_model)), state
        return Outcome(name, kind=loop.non_visual_kind(votes) if name == loop.NO_BOX else ""), state


def may_be_asked_again(key: str, state: ImageState) -> bool:
    """Whether the box loop may return to this question, or has: a drawer's "none" leads back to requirement
    or coverage, under the same key, until the chain is closed."""
    if any(question.key == key for question in state.questions):
        return True
    if q.question_of(key) not in _KINDS.values():
        return False
    about = key.split("|")[1]
    return any(
        chain.stage not in loop.CLOSED_BOX_STAGES and q.mention_set(chain.mentions) == about
        for chain in state.chains
    )


def fold(
    mentions: Sequence[Mention],
    judgments: Iterable[Judgment],
    settings: ImageSettings | None = None,
    rulings: Iterable[Ruling] = (),
) -> ImageState:
    """Return the state of an image: `Fold(mentions, settings, rulings)(judgments)`."""
    return Fold(mentions, settings, rulings)(judgments)


def _ruled(chain: Chain, ruling: Boxes | Closure, moves: list[ChainMove], reading: Reading) -> ChainState:
    """Return a chain that a reviewer closed: it has no questions, whatever the earlier answers."""
    stage = loop.BOXED if isinstance(ruling, Boxes) else loop.NON_VISUAL
    boxes: tuple[WorkerBox, ...] = ()
    kind = ""
    if isinstance(ruling, Boxes):
        drawn = _drawn_boxes(chain, reading)
        boxes = tuple(drawn.get(box) or WorkerBox(box, "", "") for box in ruling.boxes)
        reading.used_by_rulings.update(object_box.judgment for object_box in boxes if object_box.judgment)
    elif ruling.kind == "excluded":
        stage = loop.EXCLUDED
    else:
        kind = ruling.kind
    entered = loop.enter_box_loop(chain.id, chain.categories).stage
    return ChainState(
        chain.mentions, stage, boxes, kind=kind, moves=(*moves, ChainMove(entered, RULED, stage))
    )


def _drawn_boxes(chain: Chain, reading: Reading) -> dict[Box, WorkerBox]:
    """Return the boxes that workers drew for a chain with one of these mentions: boxes that a reviewer leaves
    unchanged keep their drawer, even if the reviewer changed the chain since.

    Of equal boxes, one for exactly these mentions comes first, then a person's before a model annotator's,
    then the one whose key sorts first, so that the result does not depend on the order of different keys.
    """
    mention_set = q.mention_set(chain.mentions)
    ids = frozenset(m.id for m in chain.mentions)
    sets = {key: key.split("|")[1] for key in reading.votes if q.question_of(key) == q.BOX_DRAWING}
    keys = sorted(key for key, named in sets.items() if not ids.isdisjoint(named.split(" ")))
    drawn = [
        (sets[key] != mention_set, vote.by_model, vote) for key in keys for vote in reading.votes[key].queue
    ]
    worker_boxes: dict[Box, WorkerBox] = {}
    for _, _, vote in sorted(drawn, key=lambda entry: entry[:2]):
        if vote.box is not None:
            worker_boxes.setdefault(vote.box, WorkerBox(vote.box, vote.id, vote.worker, vote.by_model))
    return worker_boxes
