"""A model annotator in the simulated crowd: it proposes boxes, and is judged by the rules of model
annotators.

It answers a drawing question before people, at most `model_tries` times, with its proposals for the shown
phrase. People answer directly if it is not confident enough, if it is suspended, if people draw that category
again, and while too many of its first boxes wait for verdicts (as in `queue.model_answers`).
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from annotation.protocol.boxes import BoxLimits
from annotation.protocol.gold import Truth
from annotation.protocol.kinds import draws, kind_of
from annotation.protocol.model_annotators import (
    ModelAnnotatorSettings,
    Proposals,
    boxes_of_others,
    categories_left,
    model_tries,
    model_trust,
    next_proposal,
)
from annotation.protocol.questions import Question
from annotation.protocol.terms import Box, Chain
from annotation.protocol.trust import (
    SUSPENDED,
    TRUSTED,
    WARM_UP,
    BoxJudged,
    TaskAnswered,
    WorkerJoined,
    WorkerTrust,
    refuse_drawing_ahead,
    trust_after,
)
from annotation.protocol.trust_settings import TrustSettings


class ModelAnswer(NamedTuple):
    """A box that a model annotator draws, and how many it drew for the same question before."""

    box: Box
    attempt: int


class SimulatedModel:
    """`proposals(image)` returns its proposals for the image of that name, None if it has none.

    The images have the default limits. `drawn` counts its boxes, `good` the accepted ones; `suspended_after`
    is how many it had drawn when its verdicts suspended it, None if they have not.
    """

    name = "model_annotator"

    def __init__(
        self,
        proposals: Callable[[str], Proposals | None],
        *,
        settings: ModelAnnotatorSettings,
        trust: TrustSettings | None = None,
        seed: int = 0,
    ) -> None:
        self._proposals, self._settings, self._seed = proposals, settings, seed
        self._trust_settings = model_trust(trust or TrustSettings(), settings)
        self._trust_by_kind: dict[str, WorkerTrust] = {}
        self._verdicts: list[tuple[tuple[str, ...], bool]] = []
        self._tries = model_tries(settings, BoxLimits())
        self._rejected: dict[tuple[str, frozenset[str]], set[Box]] = {}
        self._accepted: dict[str, list[tuple[frozenset[str], Box]]] = {}
        self._tried: Counter[tuple[str, str]] = Counter()
        self._waiting = 0
        self.drawn = self.good = 0
        self.suspended_after: int | None = None

    def learned(self) -> None:
        """It was trained again: earlier verdicts on its boxes by category no longer count, nor does a
        suspension."""
        self._verdicts.clear()
        self._trust_by_kind = {
            kind: trust for kind, trust in self._trust_by_kind.items() if trust.state != SUSPENDED
        }

    def answer(self, question: Question, truth: Truth) -> ModelAnswer | None:
        """Return its box; None if people must answer."""
        attempt = self._tried[truth.image, question.key]
        if not draws(question.kind) or attempt >= self._tries:
            return None
        if not self._settings.takes(truth.image, seed=self._seed):
            return None
        trust = self._trust_of(question.kind)
        if trust.state not in (WARM_UP, TRUSTED):
            return None
        if refuse_drawing_ahead(trust, self._waiting, self._trust_settings) is not None:
            return None
        proposals = self._proposals(truth.image)
        if proposals is None:
            return None
        mentions = tuple(truth.mentions[name] for name in question.mentions)
        proposal = next_proposal(
            proposals,
            mentions,
            question.boxes,
            least_chance=self._settings.least_chance,
            rejected=self._rejected.get((truth.image, frozenset(question.mentions)), ()),
            of_others=boxes_of_others(
                self._accepted.get(truth.image, ()), mentions, question.boxes, truth.mentions
            ),
        )
        if proposal is None or not self._left(question.kind).isdisjoint(Chain("", mentions).categories):
            return None
        self._tried[truth.image, question.key] += 1
        self._waiting += 1
        self.drawn += 1
        self._trust_by_kind[question.kind] = trust_after(trust, TaskAnswered(), self._trust_settings)
        return ModelAnswer(proposal.box, attempt)

    def looked_at(self, question: Question, truth: Truth, *, good: bool) -> None:
        """Record a person's verdict on a box of this model annotator or of another person."""
        assert question.pending is not None
        about = frozenset(question.mentions)
        if good:
            self._accepted.setdefault(truth.image, []).append((about, question.pending))
        else:
            self._rejected.setdefault((truth.image, about), set()).add(question.pending)

    def judged(self, question: Question, truth: Truth, *, good: bool) -> None:
        """Record a person's verdict on its box."""
        kind = kind_of(question.kind).judges
        self._waiting -= 1
        self.good += good
        mentions = tuple(truth.mentions[name] for name in question.mentions)
        self._verdicts.append((Chain("", mentions).categories, good))
        after = trust_after(self._trust_of(kind), BoxJudged(good), self._trust_settings)
        self._trust_by_kind[kind] = after
        if after.state == SUSPENDED and self.suspended_after is None:
            self.suspended_after = self.drawn

    def _trust_of(self, kind: str) -> WorkerTrust:
        if kind not in self._trust_by_kind:
            self._trust_by_kind[kind] = trust_after(WorkerTrust(kind), WorkerJoined(), self._trust_settings)
        return self._trust_by_kind[kind]

    def _left(self, kind: str) -> frozenset[str]:
        return categories_left(self._verdicts, kind=kind, settings=self._trust_settings)
