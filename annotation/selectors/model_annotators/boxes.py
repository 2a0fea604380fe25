"""Boxes of a model annotator with people's verdicts, the newest first, read only as far back as needed."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotation.models import Campaign, Judgment, ModelAnnotator
from annotation.protocol.kinds import draws, judged_by, model_kinds
from annotation.protocol.questions import VOTE, corners_in_key, judged_box
from annotation.protocol.terms import CATEGORIES

#: Number of boxes of a model annotator that are read at a time: at first, and at most.
PORTION, LARGEST_PORTION = 400, 3200
#: Number of a model annotator's newest boxes whose verdicts decide which categories it leaves to people: a
#: person's answer waits for this query.
DECIDING = 6000


class ModelBox(NamedTuple):
    """A box that this version of a model annotator drew: the open image, the name of the answer, the
    categories of its chain, its estimated probability, and people's verdict; None while there is none."""

    image: int
    name: str
    version: int
    categories: tuple[str, ...]
    chance: float
    good: bool | None = None


@dataclass(frozen=True, slots=True)
class CategoryRecord:
    """Verdicts on a model annotator's boxes of a category: the number of judged ones, and of good ones."""

    category: str
    judged: int
    good: int


def drawing_kinds(campaign: Campaign) -> tuple[str, ...]:
    """Return the kinds of a campaign at which a model annotator draws boxes."""
    return tuple(kind for kind in model_kinds(campaign.kinds) if draws(kind))


def judged_boxes(annotator: ModelAnnotator, *, since: int = 0) -> Iterator[ModelBox]:
    """Yield a model annotator's boxes of version `since` and later, the newest first, in batches of two
    queries each. The verdict on a box is the first vote about it, as in its trust state."""
    for portion in _batches(annotator, since):
        verdicts = box_verdicts(annotator.campaign, {box.image for box in portion})
        for box in portion:
            yield box._replace(good=verdicts.get((box.image, box.name)))


class NewestVerdicts:
    """The newest verdicts by category on a model annotator's `DECIDING` newest boxes. Boxes are read only as
    far back as needed, and verdicts only for the requested category."""

    def __init__(self, annotator: ModelAnnotator, *, since: int = 0) -> None:
        """Create it for the boxes of version `since` and later."""
        self._campaign = annotator.campaign
        self._batches = _batches(annotator, since, at_most=DECIDING)
        self._unread: dict[str, list[ModelBox]] = {}
        self._verdicts: dict[str, list[bool]] = {}

    def of_category(self, category: str, count: int) -> list[bool]:
        """Return the category's last `count` verdicts (good or not), oldest first; fewer if there are no
        more."""
        so_far = self._verdicts.setdefault(category, [])
        while len(so_far) < count:
            boxes = self._unread.pop(category, [])
            if not boxes:
                portion = next(self._batches, None)
                if portion is None:
                    break
                for box in portion:
                    for category_name in box.categories:
                        self._unread.setdefault(category_name, []).append(box)
                continue
            verdicts = box_verdicts(self._campaign, {box.image for box in boxes})
            judged = (verdicts.get((box.image, box.name)) for box in boxes)
            so_far += [good for good in judged if good is not None]
        return so_far[:count][::-1]


def category_records(boxes: Sequence[ModelBox]) -> list[CategoryRecord]:
    """Return the verdicts on these boxes by category, in the order of Table 1."""
    judged: dict[str, list[bool]] = {}
    for box in boxes:
        if box.good is not None:
            for category in box.categories:
                judged.setdefault(category, []).append(box.good)
    known = [name for name in CATEGORIES if name in judged]
    order = known + sorted(set(judged) - set(known))
    return [CategoryRecord(name, len(judged[name]), sum(judged[name])) for name in order]


def _batches(
    annotator: ModelAnnotator, since: int, *, at_most: int | None = None
) -> Iterator[list[ModelBox]]:
    """Yield a model annotator's boxes of version `since` and later, the newest first, in growing batches, at
    most its `at_most` newest ones."""
    drawn: Any = (
        Judgment.objects.filter(
            campaign=annotator.campaign_id,
            worker=annotator.worker_id,
            kind__in=drawing_kinds(annotator.campaign),
            image__isnull=False,
        )
        .exclude(answer="")
        .order_by("-pk")
    )
    size, before, left = PORTION, 0, at_most
    while left is None or left > 0:
        size = size if left is None else min(size, left)
        older = drawn.filter(pk__lt=before) if before else drawn
        rows = list(older.values_list("pk", "image", "name", "content")[:size])
        boxes = [
            ModelBox(image, name, about["version"], tuple(about["categories"]), about["chance"])
            for _pk, image, name, about in rows
            if about["version"] >= since
        ]
        if boxes:
            yield boxes
        # Versions increase: if all of a batch are older, so are the rest.
        if len(rows) < size or not boxes:
            return
        left = None if left is None else left - len(rows)
        before, size = rows[-1][0], min(2 * size, LARGEST_PORTION)


def box_verdicts(campaign: Campaign, images: Collection[int]) -> dict[tuple[int, str], bool]:
    """Return by (image, name of the drawing) whether the first vote on its current box is good, for boxes of
    people and model annotators in these open images (ids)."""
    drawn = Judgment.objects.filter(image__in=images, kind__in=drawing_kinds(campaign), answer="drawn")
    corners: Iterable[Any] = drawn.values_list("image", "name", "xmin", "ymin", "xmax", "ymax")
    boxes = {(image, name): corners_in_key(*box) for image, name, *box in corners}
    verdicts: dict[tuple[int, str], bool] = {}
    votes = Judgment.objects.filter(
        image__in=images,
        kind__in={judged_by(kind) for kind in drawing_kinds(campaign)},
        role=VOTE,
        withdrawn=False,
        flag="",
    )
    for image, key, answer in votes.order_by("pk").values_list("image", "key", "answer"):
        drawing, box = judged_box(key)
        if boxes.get((image, drawing)) == box:
            verdicts.setdefault((image, drawing), answer == "good")
    return verdicts
