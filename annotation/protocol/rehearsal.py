"""Number of answers that an image needs: one run of the protocol with workers who are almost always right.

It is used for estimates before a campaign starts. Without gold, the content of the image is guessed from its
mentions (`guessed_layer`). The simulator of crowds is separate: it models workers, time and control items.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.gold import Gold, Truth, erring
from annotation.protocol.image import BARS_DRAWER, Fold, vote_rules, votes_when_back
from annotation.protocol.kinds import is_counted, kind_of
from annotation.protocol.questions import QUESTIONS, Judgment, question_of
from annotation.protocol.rng import SeededRng
from annotation.protocol.state import BOXES_ALWAYS, BOXES_NEVER, ImageSettings
from annotation.protocol.terms import SCENE, Box, Chain, LayerObject, LayerRecord, Mention


@dataclass(frozen=True, slots=True)
class CrowdSize:
    """Number of different workers that a campaign needs.

    With `least`, every question settles that occurs once and that nobody reports, whatever the answers; with
    fewer, some answers leave it open. With `enough`, every question settles or goes to a reviewer, even if it
    returns as often as possible and workers report it.
    """

    least: int
    enough: int


def crowd_size(kinds: Iterable[str], settings: CampaignSettings, *, pictured: bool = True) -> CrowdSize:
    """Return the workers that a campaign of these kinds of question needs; `pictured`: some image has a
    picture.

    One worker is the minimum. A reviewer who resumes a chain may reopen its questions once more.
    """
    sizes = [_of_kind(kind, settings) for kind in kinds if _comes_up(kind, settings.protocol, pictured)]
    return CrowdSize(
        max((size.least for size in sizes), default=1), max((size.enough for size in sizes), default=1)
    )


def _comes_up(kind: str, settings: ImageSettings, pictured: bool) -> bool:
    """Whether a question of `kind` can occur: none about boxes if there are no boxes."""
    boxes = settings.boxes == BOXES_ALWAYS or (pictured and settings.boxes != BOXES_NEVER)
    return boxes or is_counted(kind) or not kind_of(kind).about_boxes


def _of_kind(kind: str, settings: CampaignSettings) -> CrowdSize:
    if is_counted(kind):
        votes, back = settings.answers.answers_needed(kind), 0
    else:
        votes, back = vote_rules(settings.protocol)[kind].most(), votes_when_back(kind, settings.protocol)
        # Some questions have a double check even if one answer settles.
        votes = max(votes, 2 if settings.trust.double_check_share else 1)
    least = votes + (kind in BARS_DRAWER)
    # One report fewer than the number that sends a question to a reviewer.
    return CrowdSize(least, least + back + settings.protocol.flags_to_review - 1)


#: Error rate of each answer, and standard deviation of each side of a box, as a share of its extent.
SLIPS, SLACK = 0.03, 0.03
#: Number of rounds of questions after which an image is left to a reviewer.
_ROUNDS = 400
#: Guessed boxes are placed on a grid with this many columns and rows, so that no two overlap.
_GRID = 8


def answers_for(
    gold: Gold, settings: ImageSettings, *, seed: int, share: Callable[[str], float] = lambda kind: 0.0
) -> dict[str, float]:
    """Return by kind of question the number of answers until one image is complete, or a reviewer must rule.

    `share`: the probability with which a question of a kind is drawn for a second answer; their expected
    number is added.
    """
    image, size, layer = gold
    return rehearse(
        Fold(layer.mentions, settings), Truth(layer, image=image, size=size), seed=seed, share=share
    )


def rehearse(
    fold: Fold,
    truth: Truth,
    *,
    earlier: Iterable[Judgment] = (),
    seed: int,
    share: Callable[[str], float] = lambda kind: 0.0,
) -> dict[str, float]:
    """Return what `answers_for` does, for an image about which people answered before, by their `earlier`
    answers."""
    crowd = crowd_size(QUESTIONS, CampaignSettings(protocol=fold.settings))
    people = [f"person-{number}" for number in range(crowd.enough)]
    judgments = list(earlier)
    answer_counts: Counter[str] = Counter()  # by key
    for _ in range(_ROUNDS):
        before = len(judgments)
        for question in fold(judgments).questions:
            free = [name for name in people if name not in question.barred][: question.needed]
            for name in free:
                rng = SeededRng(seed, name, truth.image, question.key)
                answer, box = erring(question, truth, rng, error=SLIPS, jitter=SLACK)
                judgments.append(Judgment(f"to come {len(judgments)}", question.key, name, answer, box))
            answer_counts[question.key] += len(free)
        if len(judgments) == before:
            break
    answers: defaultdict[str, float] = defaultdict(float)
    for key, number in answer_counts.items():
        kind = question_of(key)
        answers[kind] += number + (share(kind) if number == 1 else 0.0)
    return dict(answers)


def guessed_layer(mentions: tuple[Mention, ...], size: tuple[int, int] = (0, 0)) -> LayerRecord:
    """Return a guess of the layer from its mentions: those with the same head noun and category are one
    thing, which has one box unless it is a scene.

    The boxes are on a grid and must not be shown to anybody.
    """
    groups: dict[tuple[str, str], list[Mention]] = {}
    for mention in sorted(mentions, key=lambda m: m.span):
        groups.setdefault((mention.head, mention.categories[0]), []).append(mention)
    width, height = (size[0] or 500), (size[1] or 375)
    wide, high = max(2, width // _GRID), max(2, height // _GRID)
    chains, objects = [], []
    for number, ((_, category), held) in enumerate(groups.items()):
        name = str(number + 1)
        chains.append(Chain(name, tuple(held)))
        if category == SCENE:
            objects.append(LayerObject((name,), scene=True))
            continue
        row, column = divmod(number % _GRID**2, _GRID)
        left, top = 1 + column * wide, 1 + row * high
        objects.append(LayerObject((name,), Box(left, top, left + wide - 2, top + high - 2)))
    return LayerRecord(tuple(chains), tuple(objects))
