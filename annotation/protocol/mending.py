"""What mending the phrases of an image costs, before anybody is asked.

Which answers stop counting, and which questions open at once, is computed. How many answers follow from these
is rehearsed, with and without the mend, by people who mostly say what was said before (`rehearsal`); the
difference is the forecast.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.protocol.gold import Truth
from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.rehearsal import guessed_layer, rehearse
from annotation.protocol.state import LINKING, ChainState, ImageState
from annotation.protocol.terms import SCENE, Box, Chain, LayerObject, LayerRecord, Mention


@dataclass(frozen=True, slots=True)
class MendForecast:
    """The consequences of a mend: answers (ids) that no longer count, questions that open, and the answers to
    come by kind; those that are saved are negative."""

    superseded: frozenset[str]
    opened: tuple[Question, ...]
    answers: Mapping[str, float]


def forecast_mend(
    before: Fold,
    after: Fold,
    judgments: Sequence[Judgment],
    *,
    image: str = "",
    size: tuple[int, int] = (0, 0),
    seed: int = 0,
    share: Callable[[str], float] = lambda kind: 0.0,
    times: int = 1,
) -> MendForecast:
    """Return what the step from one fold of an image to the other means for its judgments.

    `image` is its name and `size` that of its picture; `share` as in `rehearsal.answers_for`. The answers are
    the mean of this number of rehearsals.
    """
    old, new = before(judgments), after(judgments)
    answers: dict[str, float] = {}
    for fold, sign in ((before, -1), (after, 1)):
        truth = Truth(likely_layer(fold.mentions, old, size), image=image, size=size)
        for again in range(times):
            rehearsed = rehearse(fold, truth, earlier=judgments, seed=seed + again, share=share)
            for kind, expected in rehearsed.items():
                answers[kind] = answers.get(kind, 0.0) + sign * expected / times
    old_keys = {question.key for question in old.questions}
    return MendForecast(
        superseded=frozenset(new.superseded).difference(old.superseded),
        opened=tuple(question for question in new.questions if question.key not in old_keys),
        answers=answers,
    )


def likely_layer(
    mentions: Sequence[Mention], state: ImageState, size: tuple[int, int] = (0, 0)
) -> LayerRecord:
    """Return what people would probably say of `mentions`, where `state` is what was said of earlier ones.

    A mention belongs to the chain in which it is, or in which one was that shares words with it; others
    belong where one with the same noun and category is, or are alone. A chain has its boxes; if it has none
    yet, one, unless it is a scene.
    """
    known = [chain for chain in state.chains if chain.stage != LINKING]
    chain_of = {mention.id: number for number, chain in enumerate(known) for mention in chain.mentions}
    ids = {mention.id for mention in mentions}
    gone = [mention for chain in known for mention in chain.mentions if mention.id not in ids]
    guess = guessed_layer(tuple(mentions), size)
    groups: dict[tuple[str, int], list[Mention]] = {}
    for number, guessed in enumerate(guess.chains):
        unknown: list[Mention] = []
        homes: list[int] = []
        for mention in guessed.mentions:
            old = max(gone, key=lambda other: _shared_words(mention, other), default=None)
            earlier = mention.id if old is None or not _shared_words(mention, old) else old.id
            home = chain_of.get(mention.id, chain_of.get(earlier))
            if home is None:
                unknown.append(mention)
            else:
                homes.append(home)
                groups.setdefault(("known", home), []).append(mention)
        for mention in unknown:
            free = [home for home in homes if _has_room(mention, groups["known", home])]
            groups.setdefault(("known", free[0]) if free else ("guess", number), []).append(mention)
    chains: list[Chain] = []
    objects: list[LayerObject] = []
    depicted = guess.depicted()
    for (origin, number), members in groups.items():
        name = str(len(chains) + 1)
        chains.append(Chain(name, tuple(sorted(members, key=lambda m: m.span))))
        boxes: Iterable[Box] = ()
        if origin == "known":
            chain = known[number]
            boxes = [drawn.box for drawn in (*chain.boxes, *([chain.pending] if chain.pending else ()))]
        first = next(c.id for c in guess.chains if members[0] in c.mentions)
        if not boxes and not _without_box(chains[-1], known[number] if origin == "known" else None):
            boxes = depicted.get(first) or next(iter(depicted.values()), (Box(1, 1, 50, 50),))
        objects += [LayerObject((name,), box) for box in dict.fromkeys(boxes)]
        if not boxes:
            objects.append(LayerObject((name,), scene=SCENE in chains[-1].categories))
    return LayerRecord(tuple(chains), tuple(objects))


def _without_box(chain: Chain, earlier: ChainState | None) -> bool:
    """Whether a chain without boxes so far has none."""
    if earlier is not None and earlier.closed:
        return True
    return chain.categories[0] == SCENE


def _shared_words(a: Mention, b: Mention) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start)) if a.caption == b.caption else 0


def _has_room(mention: Mention, chain: Iterable[Mention]) -> bool:
    return all(member.caption != mention.caption for member in chain)
