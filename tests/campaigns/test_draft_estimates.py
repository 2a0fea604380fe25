"""An estimate beside what comes of it: intervals by brute force, images that gold does not cover."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.campaigns.drafts.estimate import EstimateTerms, estimate_from
from annotation.campaigns.drafts.paces import KindPace
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of

PACE = KindPace(6.0, 6.0, 6.0, "known", True)


@pytest.mark.parametrize("apart", [True, False])
def test_intervals_hold_the_sum_over_the_images_as_often_as_they_say(apart: bool) -> None:
    terms = EstimateTerms((q.BOX_DRAWING,), settings_of({}), {q.BOX_DRAWING: PACE}, counted_twice=True)
    extra, draw, held, times = terms.extra(q.BOX_DRAWING), np.random.default_rng(5), 0, 1500
    for _ in range(times):
        # Twenty images of a pilot or of a rehearsal, and all others.
        answers = np.round(draw.normal(30, 8, 60)).clip(0)
        sample = [{q.BOX_DRAWING: float(number)} for number in answers[:20]]
        asked = answers[20:] if apart else answers
        found = estimate_from(terms, len(asked), sample, sampled=len(sample), apart=apart).answers
        held += found.low <= extra * asked.sum() <= found.high
    assert abs(held / times - 0.95) < 0.02
