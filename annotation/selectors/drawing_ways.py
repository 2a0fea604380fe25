"""Ways of drawing a box compared: their number, time and quality.

Extreme clicking took 7 s per box and dragging 35 s, at equal quality (Papadopoulos et al. 2017); this report
has the figures of a campaign's own workers. They choose their way themselves, so this is no experiment.
"""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from django.db import connection

from annotation.models import Campaign
from annotation.protocol.questions import DRAWING_WAYS, corners_in_key, judged_box
from annotation.selectors.campaign.cached import cached_figure

#: Number of the newest boxes that are read; more say no more about today's crowd.
_NEWEST = 5_000


@dataclass(frozen=True, slots=True)
class DrawingWay:
    """One way, "" if unknown. `judged` is the number of its boxes with a verdict on their quality, `good` the
    share of these whose first verdict was good, None without any."""

    way: str
    boxes: int
    median_seconds: float
    judged: int
    good: float | None


def drawing_ways(campaign: Campaign, *, fresh: bool = False) -> list[DrawingWay]:
    """Return the ways of a campaign's newest boxes, in the order of DRAWING_WAYS, the unknown one last.

    If slow, at most a minute old unless `fresh`. Control items and double checks are excluded: nobody judges
    these. So are the boxes of model annotators, which take no time.
    """
    return cached_figure(campaign, "drawing-ways", lambda: _drawing_ways(campaign), fresh=fresh)


def _drawing_ways(campaign: Campaign) -> list[DrawingWay]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT j.id, j.image_id, j.name, j.way, a.seconds, j.x_min, j.y_min, j.x_max, j.y_max
               FROM annotation_judgment j JOIN annotation_assignment a ON a.id = j.assignment_id
               WHERE j.campaign_id = %s AND j.kind = 'box_drawing' AND j.answer = 'drawn' AND j.role = 'vote'
                   AND NOT j.withdrawn
                   AND j.worker_id NOT IN (SELECT worker_id FROM annotation_modelannotator WHERE campaign_id =
                   %s)
               ORDER BY j.id DESC LIMIT %s""",
            [campaign.pk, campaign.pk, _NEWEST],
        )
        boxes = cursor.fetchall()
        if not boxes:
            return []
        # A box is judged after it was drawn; the verdict's key contains the judgment that drew it, and the
        # box, which its drawer may have changed since.
        cursor.execute(
            """SELECT image_id, key, answer FROM annotation_judgment
               WHERE campaign_id = %s AND kind = 'box_quality' AND role = 'vote' AND flag = ''
                   AND NOT withdrawn
                   AND id > %s
               ORDER BY id""",
            [campaign.pk, boxes[-1][0]],
        )
        verdicts: dict[tuple[int, str, str], bool] = {}
        for image, key, answer in cursor.fetchall():
            verdicts.setdefault((image, *judged_box(key)), answer == "good")
    seconds: dict[str, list[float]] = defaultdict(list)
    good: dict[str, list[bool]] = defaultdict(list)
    for _id, image, name, way, took, *corners in boxes:
        seconds[way].append(took)
        box = image, name, corners_in_key(*corners)
        if box in verdicts:
            good[way].append(verdicts[box])
    return [
        DrawingWay(
            way,
            len(seconds[way]),
            median(seconds[way]),
            len(good[way]),
            sum(good[way]) / len(good[way]) if good[way] else None,
        )
        for way in (*DRAWING_WAYS, "")
        if seconds[way]
    ]
