"""Workers who answer faster than anybody reads what they are asked about.

Adults read English silently at 238 words a minute on average, and few above 300 (Brysbaert 2019, "How many
words do we read per minute? A review and meta-analysis of reading rate", Journal of Memory and Language 109,
104047). An answer is too fast where one caption alone would have been read at more than twice that average,
with no time left to look at the picture or to decide.

Only answers count that began a picture: a worker who goes on with the one before has read its captions. Half
of these flag a worker, and never a few. The flag asks a researcher to look; nothing follows from it by
itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection

from annotation.models import Campaign, Caption
from annotation.protocol.kinds import ABOUT_IMAGE, kind_of
from annotation.selectors.campaign.cached import cached_figure, list_key

#: Words a minute that adults read on average, and how many times as fast nobody is taken to read.
WORDS_A_MINUTE, TIMES = 238, 2
#: Answers of a kind that are looked at, the newest; how many of them must begin a picture to tell anything,
#: and the share of those that flags a worker.
ANSWERS_LOOKED_AT, TELLING_ANSWERS, TELLING_SHARE = 40, 10, 0.5
#: Captions of the corpus whose words are counted, the first ones, and for how many seconds that is kept.
_CAPTIONS, _CACHE_SECONDS = 5_000, 3_600
#: Subqueries in one statement; SQLite takes 500.
_TOGETHER = 400


@dataclass(frozen=True, slots=True)
class ReadingSpeed:
    """A worker's newest answers that began a picture, how many of them were too fast, and the seconds below
    which an answer is."""

    answers: int
    too_fast: int
    least_seconds: float

    @property
    def flagged(self) -> bool:
        """Whether so many were too fast that a researcher should look at them."""
        return self.answers >= TELLING_ANSWERS and self.too_fast >= TELLING_SHARE * self.answers


def least_reading_seconds(words: float) -> float:
    """The seconds below which nobody has read so many words."""
    return words * 60 / (WORDS_A_MINUTE * TIMES)


def words_in_a_caption(campaign: Campaign) -> float:
    """Words that a caption of the campaign's corpus has on average; 0 where it has none."""
    return cached_figure(
        campaign, "caption-words", lambda: _words(campaign), fresh=False, seconds=_CACHE_SECONDS
    )


def reading_paces(campaign: Campaign, workers: Sequence[int]) -> dict[int, ReadingSpeed]:
    """Worker -> how fast they answered what has to be read; those without such answers are not there.

    One query for every 400 pairs of worker and kind, and none where answers are simulated: they took none. A
    minute old at most, where that is slow.
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
    """(worker, when, image, seconds) of the newest answers on tasks of these pairs; those whose seconds were
    not counted are left out.

    The end of an index range for each pair: more is not looked at, however many have no seconds.
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
