"""How many answers an image takes: the protocol run over it once, with people who are nearly always right.

It serves estimates, before anybody was asked. Without gold, what the image shows is guessed from its mentions
(`guessed_layer`). The simulator of crowds is another matter: it knows workers, time and control items.
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


#: How often each answer is wrong, and the standard deviation of each side of a box, as a share of its extent.
SLIPS, SLACK = 0.03, 0.03
#: Rounds of questions after which an image is left to a reviewer.
_ROUNDS = 400
#: Boxes of a guess stand on a grid of so many columns and rows, so that no two overlap.
_GRID = 8


def answers_for(
    gold: Gold, settings: ImageSettings, *, seed: int, share: Callable[[str], float] = lambda kind: 0.0
) -> dict[str, float]:
    """Kind of question -> the answers that one image takes until it is complete, or a reviewer must rule.

    `share`: the chance with which a question of a kind is drawn for a second answer; those that are to be
    expected are added.
    """
    image, size, layer = gold
    truth = Truth(layer, image=image, size=size)
    fold = Fold(layer.mentions, settings)
    crowd = crowd_size(QUESTIONS, CampaignSettings(protocol=settings))
    people = [f"person-{number}" for number in range(crowd.enough)]
    judgments: list[Judgment] = []
    answer_counts: Counter[str] = Counter()  # by key
    for _ in range(_ROUNDS):
        before = len(judgments)
        for question in fold(judgments).questions:
            free = [name for name in people if name not in question.barred][: question.needed]
            for name in free:
                rng = SeededRng(seed, name, image, question.key)
                answer, box = erring(question, truth, rng, error=SLIPS, jitter=SLACK)
                judgments.append(Judgment(f"{len(judgments)}", question.key, name, answer, box))
            answer_counts[question.key] += len(free)
        if len(judgments) == before:
            break
    answers: defaultdict[str, float] = defaultdict(float)
    for key, number in answer_counts.items():
        kind = question_of(key)
        answers[kind] += number + (share(kind) if number == 1 else 0.0)
    return dict(answers)


def guessed_layer(mentions: tuple[Mention, ...], size: tuple[int, int] = (0, 0)) -> LayerRecord:
    """What an image may show, as far as its mentions tell: those of one head noun and category are one thing,
    which has one box unless it is a scene.

    The boxes stand on a grid; nobody may be shown them.
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
