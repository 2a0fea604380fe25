"""During a model annotator's warm-up, people who may check its boxes have to do so before they draw.

Otherwise people who keep drawing would draw what the model annotator is waiting to draw, and nobody would
check its first boxes. The rule applies while a box waits (`trust.drawing_wait_minutes`), and only to people
who can judge one. `model_annotator.check_first` turns it off.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from annotation.common import database
from annotation.protocol import trust
from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.kinds import draws, judged_by
from annotation.queue.dispatch import NoTask
from annotation.selectors.same_question import seen_as_control


def may_hold(settings: CampaignSettings, kind: str) -> bool:
    """Whether drawing may have to wait for verdicts on a model annotator's boxes; otherwise no query is
    needed."""
    return draws(kind) and settings.model_annotator.share > 0 and settings.model_annotator.check_first


def why_check_first(
    cursor: Any, worker: int, kind: str, campaigns: Mapping[int, CampaignSettings], at: datetime
) -> dict[int, NoTask]:
    """Return why this worker may not draw yet, by a kind of question, in those of these campaigns where that
    is so; `may_hold` is true for all of them. One query."""
    if not campaigns:
        return {}
    judging = judged_by(kind)
    # Workers who have never judged boxes may begin at once where that requires no test.
    at_once = [campaign for campaign, settings in campaigns.items() if not settings.trust.qualification]
    cursor.execute(
        f"""SELECT t.campaign_id, max(t.created_at) FROM annotation_task t
            JOIN annotation_modelannotator m ON m.campaign_id = t.campaign_id AND m.worker_id = t.barred_id
            JOIN annotation_truststate s ON s.campaign_id = t.campaign_id AND s.worker_id = t.barred_id
                AND s.kind = '{kind}' AND s.state = %s AND NOT s.blocked AND s.withdrawn_at IS NULL
            LEFT JOIN annotation_truststate own ON own.campaign_id = t.campaign_id AND own.worker_id = %s
                AND own.kind = '{judging}'
            WHERE t.campaign_id IN ({database.parameters(campaigns)})
                AND t.state = 'open' AND t.kind = '{judging}' AND t.role = 'vote' AND t.live < t.needed
                AND NOT EXISTS (SELECT 1 FROM annotation_modelannotator newer
                    WHERE newer.campaign_id = m.campaign_id AND newer.id > m.id)
                AND NOT EXISTS (SELECT 1 FROM annotation_assignment a
                    WHERE a.task_id = t.id AND a.worker_id = %s)
                AND NOT {seen_as_control(judging)}
                AND (own.state IN (%s, %s) AND NOT own.blocked AND own.withdrawn_at IS NULL
                    OR own.id IS NULL AND t.campaign_id IN ({database.parameters(at_once)}))
            GROUP BY t.campaign_id""",
        [
            trust.WARM_UP,
            worker,
            *campaigns,
            worker,
            worker,
            trust.WARM_UP,
            trust.TRUSTED,
            *at_once,
        ],
    )
    reasons = {}
    for campaign, newest in cursor.fetchall():
        until = database.time_from_sql(newest)
        until += timedelta(minutes=campaigns[campaign].trust.drawing_wait_minutes)
        if until > at:
            reasons[campaign] = NoTask(
                "check_first",
                # The message does not mention a model annotator: that could bias the verdicts.
                _(
                    "Boxes wait to be checked, and what is left to draw depends on them: "
                    "check some of them first."
                ),
                until,
            )
    return reasons
