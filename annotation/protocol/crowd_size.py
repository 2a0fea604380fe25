"""How many workers a campaign needs: counted from its questions, votes and limits.

Nobody answers a question twice, and a worker who drew a box answers neither its quality nor the next coverage
round. So a question needs as many people as its rule may take votes, whatever these say, and one more where
a drawer is left out. A campaign needs as many as the question that takes most of them.

A question may come back: a drawer who draws nothing sends the chain to the question before, under the same
key, and who answered that is not asked again (`boxes.TRANSITIONS`; `BoxLimits.fruitless` says how often). And
a worker who reports a question does not answer it. `least` leaves both out, `enough` counts them at their
worst.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.image import BARS_DRAWER, vote_rules, votes_when_back
from annotation.protocol.kinds import is_counted, kind_of
from annotation.protocol.state import BOXES_ALWAYS, BOXES_NEVER, ImageSettings


@dataclass(frozen=True, slots=True)
class CrowdSize:
    """How many different workers it takes.

    `least`: with so many every question is settled that comes up once and that nobody reports, whatever they
    answer; with fewer there are answers after which it stays open. `enough`: with so many each is settled, or
    goes to a reviewer, also where it comes back as often as it may and workers report it.
    """

    least: int
    enough: int


def crowd_size(kinds: Iterable[str], settings: CampaignSettings, *, pictured: bool = True) -> CrowdSize:
    """The workers that a campaign of these kinds of question needs; `pictured`: some image has a picture.

    One worker is the least. A reviewer who resumes a chain may bring its questions back once more.
    """
    sizes = [_of_kind(kind, settings) for kind in kinds if _comes_up(kind, settings.protocol, pictured)]
    return CrowdSize(
        max((size.least for size in sizes), default=1), max((size.enough for size in sizes), default=1)
    )


def _comes_up(kind: str, settings: ImageSettings, pictured: bool) -> bool:
    """Whether a question of `kind` is ever asked: none about boxes where no boxes are."""
    boxes = settings.boxes == BOXES_ALWAYS or (pictured and settings.boxes != BOXES_NEVER)
    return boxes or is_counted(kind) or not kind_of(kind).about_boxes


def _of_kind(kind: str, settings: CampaignSettings) -> CrowdSize:
    if is_counted(kind):
        votes, back = settings.answers.answers_needed(kind), 0
    else:
        votes, back = vote_rules(settings.protocol)[kind].most(), votes_when_back(kind, settings.protocol)
        # Of a share of the questions a second person is asked, also where one answer settles.
        votes = max(votes, 2 if settings.trust.double_check_share else 1)
    least = votes + (kind in BARS_DRAWER)
    # One report fewer than those that send a question to a reviewer.
    return CrowdSize(least, least + back + settings.protocol.flags_to_review - 1)
