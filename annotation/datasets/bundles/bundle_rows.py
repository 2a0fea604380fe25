"""Rows of a bundle about one image: which answers settled its questions, and the result."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from annotation.datasets.bundles.release_names import ReleaseNames
from annotation.protocol.contents import corners
from annotation.protocol.counted import CountedFold
from annotation.protocol.image import Fold
from annotation.protocol.kinds import is_page, kind_of
from annotation.protocol.likely_count import likely_count
from annotation.protocol.outcomes import SettledQuestion, settled_questions
from annotation.protocol.paging import ROLE_CONTROL
from annotation.protocol.questions import VOTE, Judgment, question_of
from annotation.protocol.state import ChainState, ImageState
from annotation.queue.image_state import merged_of

BundleRow = dict[str, Any]

#: Outcomes in `check.py` of a counted question, and of one that people reported.
_ANSWERED, _FLAGGED = "ANSWERED", "FLAGGED"


def chain_rows(
    fold: Fold, judgments: Sequence[Judgment], numbers: Mapping[str, int]
) -> tuple[dict[str, list[BundleRow]], ImageState]:
    """Return the rows of an image whose `fold` reads `judgments`, by file, and its state. `numbers` are the
    judgments' numbers in the bundle."""
    state, settled = settled_questions(fold, judgments)
    mentions = [
        {
            "mention": mention.id,
            "caption": mention.caption,
            "start": mention.start,
            "end": mention.end,
            "words": list(mention.tokens),
            "categories": list(mention.categories),
            "head": mention.head,
        }
        for mention in fold.mentions
    ]
    outcomes = [*_outcomes(fold, settled, numbers)]
    chains = [_chain(chain, numbers) for chain in state.chains]
    return {"mentions": mentions, "outcomes": outcomes, "chains": chains, "merges": merged_of(state)}, state


def _outcomes(
    fold: Fold, settled: Iterable[SettledQuestion], numbers: Mapping[str, int]
) -> Iterator[BundleRow]:
    order = {mention.id: index for lane in fold.lanes for index, mention in enumerate(lane)}
    rounds = Counter[str]()
    for question in settled:
        rounds[question.key] += 1
        kind, last = question_of(question.key), question.judgments[-1]
        row = {
            "key": ReleaseNames.key(kind, question.key, numbers),
            "kind": kind,
            "round": rounds[question.key],
            "votes": [[numbers[vote.id], vote.flag or vote.answer] for vote in question.judgments],
            "outcome": question.outcome.upper(),
        }
        if kind_of(kind).mentions == (2, 2):
            # The mention that is being placed; the other one is in the chain.
            row["placed"] = max(question.key.split("|")[1:], key=order.__getitem__)
        if last.box is not None:
            row["box"] = corners(last.box)
        yield row


def _chain(chain: ChainState, numbers: Mapping[str, int]) -> BundleRow:
    return {
        "mentions": [mention.id for mention in chain.mentions],
        "stage": chain.stage,
        "kind": chain.kind,
        "reason": chain.reason,
        "count": likely_count(chain.mentions),
        "boxes": [corners(drawn.box) for drawn in chain.boxes],
        "by_model": [drawn.by_model for drawn in chain.boxes],
        "drawn_by": [numbers.get(drawn.judgment) for drawn in chain.boxes],
    }


def counted_outcomes(
    fold: CountedFold, judgments: Sequence[Judgment], answers: Sequence[BundleRow], numbers: Mapping[str, int]
) -> Iterator[BundleRow]:
    """Return the outcomes of an image's counted questions. `answers` are all answers, under the names of the
    bundle."""
    by_number = {answer["id"]: answer for answer in answers}
    open_keys = {question.key for question in fold(judgments).questions}
    for question in fold.questions:
        if question.key in open_keys:
            continue
        votes = [vote for vote in judgments if vote.key == question.key and vote.role == VOTE]
        counting = [vote for vote in votes if not vote.flag][: question.needed]
        yield {
            "key": question.key,
            "kind": question.kind,
            "round": 1,
            "votes": [[numbers[vote.id], vote.answer] for vote in counting],
            "outcome": _ANSWERED if len(counting) == question.needed else _FLAGGED,
            "pairs": _pairs([by_number[numbers[vote.id]] for vote in counting], question.kind),
        }


def _pairs(answers: Iterable[BundleRow], kind: str) -> dict[str, list[int]]:
    """Return, for pages, how many said yes to each pair, and how many answered."""
    pairs: dict[str, list[int]] = {}
    for answer in answers if is_page(kind) else ():
        for pair in answer["pairs"]:
            if pair["role"] != ROLE_CONTROL:
                counts = pairs.setdefault(f"{pair['image']} {pair['caption']}", [0, 0])
                counts[0] += pair["yes"]
                counts[1] += 1
    return pairs
