"""Workers who answer faster than anybody can read their questions.

Adults read English silently at 238 words a minute on average, and few above 300 (Brysbaert 2019, "How many
words do we read per minute? A review and meta-analysis of reading rate", Journal of Memory and Language 109,
104047). An answer is too fast if reading a single caption in its time would take more than twice that
average, with no time left to look at the picture or to decide.

Only answers count that began a picture: a worker who continues with the previous one has read its captions. A
worker is flagged if at least half of these are too fast, and there are enough of them. The flag tells a
researcher to look; it has no other effect.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection

from annotation.models import Campaign, Caption
from annotation.protocol.kinds import ABOUT_IMAGE, kind_of
from annotation.selectors.campaign.cached import cached_figure, list_key

#: Average words a minute of adult readers, and the factor above which a speed is implausible.
WORDS_A_MINUTE, TIMES = 238, 2
#: Number of the newest answers of a kind that are considered; minimum number of these that begin a picture,
#: and share of too fast ones that flags a worker.
ANSWERS_LOOKED_AT, TELLING_ANSWERS, TELLING_SHARE = 40, 10, 0.5
#: Number of captions of the corpus whose words are counted, the first ones, and for how many seconds the
#: result is cached.
_CAPTIONS, _CACHE_SECONDS = 5_000, 3_600
#: Maximum number of subqueries in one statement; SQLite allows 500.
_TOGETHER = 400


@dataclass(frozen=True, slots=True)
class ReadingSpeed:
    """The number of a worker's newest answers that began a picture, the number of too fast ones, and the
    minimum plausible seconds."""

    answers: int
    too_fast: int
    least_seconds: float

    @property
    def flagged(self) -> bool:
        """Whether enough were too fast that a researcher should look at them."""
        return self.answers >= TELLING_ANSWERS and self.too_fast >= TELLING_SHARE * self.answers


def least_reading_seconds(words: float) -> float:
    """Return the seconds below which nobody has read this number of words."""
    return words * 60 / (WORDS_A_MINUTE * TIMES)


def words_in_a_caption(campaign: Campaign) -> float:
    """Return the mean number of words of a caption of the campaign's corpus; 0 if it has none."""
    return cached_figure(
        campaign, "caption-words", lambda: _words(campaign), fresh=False, seconds=_CACHE_SECONDS
    )


def reading_paces(campaign: Campaign, workers: Sequence[int]) -> dict[int, ReadingSpeed]:
    """Return by worker the speed of answers with text to read; workers without such answers are missing.

    One query for every 400 pairs of worker and kind, and none if answers are simulated: they took no time. At
    most a minute old, if slow.
    """
    kinds = [kind for kind in campaign.kinds if kind_of(kind).about != ABOUT_IMAGE]
    least = least_reading_seconds(words_in_a_caption(campaign)) if workers and kinds else 0.0
    if campaign.simulated or not least:
        return {}
    pairs = [(worker, kind) for worker in workers for kind in kinds]
    return cached_figure(
        campaign, f"paces-{list_key(pairs)}", lambda: _paces(campaign, pairs, least), fresh=False
    )


def _paces(campaign: Campaign, pairs: Sequence[tuple[int, str]], least: float) -> dict[int, ReadingSpeed]:
    answers_of: dict[int, list[tuple[str, int, float]]] = defaultdict(list)
    for worker, ended, image, seconds in _newest(campaign, pairs):
        answers_of[worker].append((ended, image, seconds))
    return {worker: _reading_speed(answers, least) for worker, answers in answers_of.items()}


def _reading_speed(answers: list[tuple[str, int, float]], least: float) -> ReadingSpeed:
    met, began = set[int](), list[float]()
    for _ended, image, seconds in sorted(answers):
        if image not in met:
            met.add(image)
            began.append(seconds)
    return ReadingSpeed(len(began), sum(seconds < least for seconds in began), least)


def _words(campaign: Campaign) -> float:
    texts = Caption.objects.filter(image__corpus=campaign.corpus_id).order_by("pk")
    counts = [len(text.split()) for text in texts.values_list("text", flat=True)[:_CAPTIONS]]
    return sum(counts) / len(counts) if counts else 0.0


def _newest(campaign: Campaign, pairs: Sequence[tuple[int, str]]) -> Iterable[tuple[int, str, int, float]]:
    """Yield (worker, time, image, seconds) of the newest answers on tasks of these pairs, without those whose
    seconds were not measured.

    The end of an index range for each pair: it reads no further, however many have no seconds.
    """
    branch = """SELECT newest.worker_id, newest.ended_at, t.image_id, newest.seconds FROM (
        SELECT a.worker_id, a.ended_at, a.task_id, a.seconds FROM annotation_assignment a
        WHERE a.campaign_id = %s AND a.worker_id = %s AND a.kind = %s AND a.state = 'submitted'
            AND a.task_id IS NOT NULL AND a.ended_at IS NOT NULL
        ORDER BY a.ended_at DESC LIMIT %s) newest JOIN annotation_task t ON t.id = newest.task_id
        WHERE newest.seconds > 0"""
    with connection.cursor() as cursor:
        for start in range(0, len(pairs), _TOGETHER):
            part = pairs[start : start + _TOGETHER]
            cursor.execute(
                " UNION ALL ".join([branch] * len(part)),
                [value for worker, kind in part for value in (campaign.pk, worker, kind, ANSWERS_LOOKED_AT)],
            )
            yield from cursor.fetchall()
