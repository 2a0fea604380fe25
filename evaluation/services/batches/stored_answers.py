"""All stored answers about pairs: from batches' campaigns, and from judgments in files.

A judge counts once per pair, with their first answer; every unnamed judge counts. Answers are only combined
if they have the same scale: yes or no, or grades from 1 to 4.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.paging import ROLE_FILLER
from annotation.selectors.pair_judgments import Judge, judges, pair_judgments
from evaluation.models import Batch, JudgmentSet, PairAnswers
from evaluation.pair_tasks import pair_tasks
from evaluation.selectors import CorpusNames, judgment_set
from evaluation.services.batches.stamps import counted_by_name
from phrasebox.errors import PhraseboxError
from phrasebox.pooling.pools import PairIds
from phrasebox.relevance.grades import JudgedPair


class BatchError(PhraseboxError):
    """A batch that cannot be opened or collected; one line with the remedy."""


@dataclass
class Answers:
    """(image, caption), as row ids -> answers by judge: the judge's name, or a number for each unnamed one.

    `fillers` are pairs that filled up pages of any of the batches, each with its own pool and filter.
    """

    of: dict[tuple[int, int], dict[str | int, float]] = field(default_factory=dict)
    fillers: set[tuple[int, int]] = field(default_factory=set)

    def add(self, pair: tuple[int, int], judge: str | int, value: float) -> None:
        """Add a judge's answer about a pair, unless that judge already has one."""
        self.of.setdefault(pair, {}).setdefault(judge, value)

    def arrays(self) -> tuple[PairIds, PairIds, PairIds, list[list[float]]]:
        """Return images, captions, the number of answers, and the answers of each pair."""
        pairs = np.array(list(self.of), dtype=np.int64).reshape(-1, 2)
        values = [list(grades_by_judge.values()) for grades_by_judge in self.of.values()]
        return pairs[:, 0], pairs[:, 1], np.array([len(v) for v in values], dtype=np.int64), values

    def judged_pairs(self, names: CorpusNames) -> Iterator[JudgedPair]:
        """Yield the pairs by their names, sorted; a pair's judges are named only if all of them are."""
        rows = (
            (names.image_name[i], names.caption_name[c], grades_by_judge)
            for (i, c), grades_by_judge in self.of.items()
        )
        for image, caption, grades_by_judge in sorted(rows, key=lambda row: row[:2]):
            yield JudgedPair(image, caption, tuple(grades_by_judge.values()), judges_named(grades_by_judge))


def judges_named(grades_by_judge: Mapping[str | int, float]) -> tuple[str, ...]:
    """Return who gave the answers about a pair, in order; empty if any of them is unnamed."""
    named = tuple(judge for judge in grades_by_judge if isinstance(judge, str))
    return named if len(named) == len(grades_by_judge) else ()


def answers_of_batches(
    *,
    corpus: str,
    tasks: str,
    reuse: Sequence[str],
    batches: Iterable[Batch],
    counted: Mapping[str, Collection[str]] | None = None,
) -> tuple[Answers, dict[str, dict[str, Judge]]]:
    """Return all answers of `batches` and of the judgments `reuse`, and the judges of each batch.

    Answers of judges who do not count are excluded. `counted` lists, by batch, judges whose answers from
    before their reinstatement count; for batches that are not listed they are those of the newest judgments.
    Raises UnknownName, and BatchError for judgments of another scale.
    """
    answers, nameless = Answers(), count(1)
    for name in reuse:
        _from_file(answers, judgment_set(corpus, name), pair_tasks(tasks).values, nameless)
    who: dict[str, dict[str, Judge]] = {}
    for batch in batches:
        trust = settings_of(batch.campaign.settings).trust
        by_name = (counted or {}).get(batch.name)
        who[batch.name] = counted_judges = judges(
            batch.campaign, trust, counted=counted_by_name(batch) if by_name is None else by_name
        )
        for judgment in pair_judgments(batch.campaign):
            if judgment.judge in counted_judges and counted_judges[judgment.judge].uses(judgment.judgment):
                pair = (judgment.image, judgment.caption)
                answers.add(pair, judgment.judge, judgment.value)
                if judgment.role == ROLE_FILLER:
                    answers.fillers.add(pair)
    return answers, who


def reusable(corpus: str, tasks: str) -> list[str]:
    """Return the names of a corpus's judgments that certainly have the scale of `tasks`."""
    format = pair_tasks(tasks).format
    if not format:
        return []
    sets = JudgmentSet.objects.filter(corpus__name=corpus, published=True, format=format)
    return list(sets.order_by("name").values_list("name", flat=True))


def answers_of_set(
    judgments: JudgmentSet, scale: Sequence[int]
) -> Iterator[tuple[int, int, list[float], list[str]]]:
    """Yield image and caption (row ids), answers and judges of each pair of a set, in its order.

    Raises BatchError for judgments of keywords, and for another scale.
    """
    rows = PairAnswers.objects.filter(judgments=judgments).order_by("position")
    for image, caption, grades, named in rows.values_list("image", "caption", "grades", "judges").iterator(
        5_000
    ):
        if image is None or not set(grades) <= set(scale):
            raise BatchError(
                f"judgments {judgments.name!r} contain "
                f"{'keywords' if image is None else f'the answers {grades}'}; expected images and "
                f"captions, answered by {', '.join(map(str, scale))}: leave them out"
            )
        yield image, caption, grades, named


def _from_file(
    answers: Answers, judgments: JudgmentSet, scale: Sequence[int], nameless: Iterator[int]
) -> None:
    """Add the answers of a set; each answer without a judge's name gets the next number of `nameless`."""
    for image, caption, grades, named in answers_of_set(judgments, scale):
        for number, grade in enumerate(grades):
            answers.add((image, caption), named[number] if named else next(nameless), grade)
