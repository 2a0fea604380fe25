"""How long an answer takes: measured on this server, or from the literature."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.models import Account, Campaign
from annotation.protocol.kinds import answer_time_of
from annotation.selectors.campaign.cost import TEST_ROLE
from annotation.selectors.campaign.sums import earned_in_campaigns
from annotation.selectors.corpora import CAMPAIGNS
from annotation.selectors.pair_judgments import LEAST_SECONDS

#: The number of newest campaigns that are used; and the number of answers of a kind, and of workers who gave
#: them, that are required.
_CAMPAIGNS, _ANSWERS, _WORKERS = 10, 50, 5
#: The 97.5 % point of the normal distribution.
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """The range of seconds per answer of a kind, and its source in words.

    Measured: the mean with its 95 % interval over workers. Published: a value between two from the
    literature.
    """

    seconds: float
    least: float
    most: float
    source: str
    measured: bool


def answer_times_of(account: Account | None, kinds: Iterable[str]) -> dict[str, AnswerTime]:
    """Return kind -> the time of an answer, measured in the campaigns that `account` may see (None: all),
    else published."""
    kinds = tuple(kinds)
    seen = CAMPAIGNS.rows(account, RESEARCHER, REVIEWER).exclude(state=Campaign.DRAFT).order_by("-pk")
    newest = [campaign for campaign in seen[:_CAMPAIGNS] if set(campaign.kinds) & set(kinds)]
    lines: dict[str, dict[int, tuple[int, float]]] = {kind: {} for kind in kinds}
    for earned in earned_in_campaigns(newest).values() if newest else ():
        for line in earned:
            # Simulated workers and model annotators take no time.
            if line.kind in lines and line.role != TEST_ROLE and line.seconds >= LEAST_SECONDS * line.answers:
                answers, seconds = lines[line.kind].get(line.worker, (0, 0.0))
                lines[line.kind][line.worker] = (answers + line.answers, seconds + line.seconds)
    return {kind: _measured(lines[kind]) or _published(kind) for kind in kinds}


def _published(kind: str) -> AnswerTime:
    times = answer_time_of(kind)
    return AnswerTime(times.seconds, times.least, times.most, _(times.source), False)


def _measured(lines: Mapping[int, tuple[int, float]]) -> AnswerTime | None:
    """Return the mean over all answers, with its interval over workers; None if there are too few.

    `lines`: worker -> answers and seconds, of all campaigns together.
    """
    answers = sum(number for number, _seconds in lines.values())
    if answers < _ANSWERS or len(lines) < _WORKERS:
        return None
    mean = sum(seconds for _number, seconds in lines.values()) / answers
    # A ratio of sums: its variance is estimated from the residuals of the workers.
    residuals = sum((seconds - mean * number) ** 2 for number, seconds in lines.values())
    error = sqrt(residuals * len(lines) / (len(lines) - 1)) / answers
    text = ngettext(
        "measured on this server: %(n)d answer", "measured on this server: %(n)d answers", answers
    )
    half = student95(len(lines) - 1) * error
    return AnswerTime(mean, max(0.0, mean - half), mean + half, text % {"n": answers}, True)


def student95(freedom: int) -> float:
    """Return the half-width of a 95 % interval in standard errors: the 97.5 % point of Student's
    distribution, accurate to 1 % from 2 degrees of freedom (the expansion of Fisher and Cornish, 1960)."""
    z = _Z
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
