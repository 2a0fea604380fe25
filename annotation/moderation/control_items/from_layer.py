"""Control items from a layer that is taken as gold.

The questions are those that arise when images with gold are annotated with some errors, so that every answer
is right for some. Only those are used that careful people answer alike: about mentions of one chain, with
accepted boxes that fit it, and for a box's quality, about one that clearly fits or clearly does not.
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from django.db.models import Exists, OuterRef

from annotation.common import database
from annotation.datasets import layers
from annotation.models import Account, Campaign, Control, Image, Layer, OpenImage
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.controls import draw_number, draw_sample
from annotation.protocol.gold import Gold, Truth, questions_about
from annotation.protocol.grading import stratum
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, kind_of
from annotation.protocol.questions import Question
from annotation.protocol.state import BOXES_NEVER
from annotation.protocol.terms import Box
from annotation.quality.controls.authoring import Added, add_control_items
from annotation.quality.controls.items import ControlItem, control_item_of
from annotation.selectors.records import stream_records
from phrasebox.errors import PhraseboxError

#: A box clearly fits from the first IoU on, and clearly does not below the second. People disagree in
#: between.
FITS, FAILS = 0.8, 0.5
#: Items for each possible answer of a kind: of a test for three attempts, and of controls for about 900 items
#: of a worker if there are two answers.
PER_ANSWER: Mapping[str, int] = {Control.CONTROL: 15, Control.QUALIFICATION: 18}
#: Number of items of one answer, kind and image that come together; more of an image come after all others.
_TOGETHER = 2
#: An image's key, a question about it, and the gold answer.
_Candidate = tuple[str, Question, str | tuple[Box, ...]]


def from_gold(
    *,
    campaign: Campaign,
    layer: Layer,
    images: int | Collection[str] = 60,
    seed: int = 0,
    purposes: Sequence[str] = Control.PURPOSES,
    per_answer: Mapping[str, int] = PER_ANSWER,
    actor: Account | None = None,
) -> Added:
    """Add control items of `purposes` from `layer`, of the campaign's corpus, for every kind that has them.

    `images`: the keys of those to use, or the number of the layer's (drawn by `seed`). Images that the
    campaign has not opened are drawn first: nobody gets the same question as a task and as a control item, so
    items of open images reduce people's tasks. At most `per_answer` items of a purpose for each possible
    answer of a kind, spread over the images; no question serves two purposes. A layer that grows with a
    campaign's answers is updated first (`annotation.datasets.layers`), and only its finished images are used:
    they stay the same until a ruling or withdrawal, after which the items are checked again
    (`control_items.contradicted`). Raises PhraseboxError if the layer covers none of the images.
    """
    growing = layers.campaign_of_layer(layer)
    with database.writing() if growing is not None else contextlib.nullcontext():
        if growing is not None:
            # Prevents withdrawals and rulings between our reading and our writing.
            Campaign.objects.select_for_update(no_key=True).get(pk=growing.pk)
        golds = _golds(campaign, layer, images, seed, growing)
        if not golds:
            raise PhraseboxError(
                f"layer {layer.name!r} covers none of these images of corpus {campaign.corpus.name!r}, or "
                "none that is finished; name another layer, or images that it covers"
            )
        return from_golds(
            campaign=campaign,
            golds=golds,
            seed=seed,
            purposes=purposes,
            per_answer=per_answer,
            actor=actor,
            layer=layer,
        )


def from_golds(
    *,
    campaign: Campaign,
    golds: Iterable[Gold],
    seed: int = 0,
    purposes: Sequence[str] = Control.PURPOSES,
    per_answer: Mapping[str, int] = PER_ANSWER,
    actor: Account | None = None,
    layer: Layer | None = None,
) -> Added:
    """Like `from_gold`, for images of the campaign's corpus with the gold in `golds`, which is that of
    `layer` if set.

    Names are the images' keys. Images without box questions in the campaign get no items about boxes either.
    """
    by_stratum: dict[tuple[str, str], list[_Candidate]] = defaultdict(list)
    protocol = settings_of(campaign.settings).protocol
    bare = set(Image.objects.filter(corpus=campaign.corpus_id, picture="").values_list("key", flat=True))
    for image, question, truth in questions_about(golds, seed=seed):
        if (
            kind_of(question.kind).about_boxes
            and protocol.of_image(pictured=image not in bare).boxes == BOXES_NEVER
        ):
            continue
        if clear(question, truth):
            known = gold_answer(question, truth)
            by_stratum[question.kind, stratum(question.kind, known)].append((image, question, known))
    items: list[ControlItem] = []
    for (kind, _), candidates in sorted(by_stratum.items()):
        ordered = _spread(candidates, seed)
        serving = [
            p for p in purposes if p != Control.CONTROL or kind_of(kind).measured_on == MEASURED_ON_CONTROLS
        ]
        total = sum(per_answer[purpose] for purpose in serving)
        for purpose in serving:
            # If there are too few for all purposes, each gets its share.
            share = len(candidates) * per_answer[purpose] // max(total, 1)
            items += [
                control_item_of(question, image=image, purpose=purpose, known=known)
                for image, question, known in islice(ordered, min(per_answer[purpose], share))
            ]
    return add_control_items(
        campaign=campaign, items=enumerate(items, 1), source="gold", actor=actor, layer=layer
    )


def clear(question: Question, truth: Truth) -> bool:
    """Whether careful people answer `question` alike, by the gold."""
    if not kind_of(question.kind).about_boxes:
        return True
    if len({truth.chain_of[mention] for mention in question.mentions}) > 1:
        return False
    chain = truth.chain(question.mentions)
    left = list(truth.boxes[chain])
    for box in question.boxes:
        best = max(left, key=box.iou, default=None)
        if best is None or box.iou(best) < FITS:
            return False
        left.remove(best)
    if question.pending is None:
        return True
    fit = max(map(question.pending.iou, left), default=0.0)
    return fit >= FITS or fit < FAILS


def gold_answer(question: Question, truth: Truth) -> str | tuple[Box, ...]:
    """Return the gold answer to `question`: its word, or for drawing the boxes still to be drawn."""
    if kind_of(question.kind).draws:
        return tuple(truth.uncovered(truth.chain(question.mentions), question.boxes))
    return truth.answer(question)[0]


def _golds(
    campaign: Campaign, layer: Layer, images: int | Collection[str], seed: int, growing: Campaign | None
) -> list[Gold]:
    """Return the gold of the images to use: of the layer that grows with the answers of `growing`, if it
    does."""
    covered = layer.covers.all()
    if growing is not None:
        layers.update_layer(growing)
        done = OpenImage.objects.filter(campaign=growing, image=OuterRef("image"), complete=True)
        covered = covered.filter(Exists(done))
    if isinstance(images, int):
        is_open = Exists(OpenImage.objects.filter(campaign=campaign, image=OuterRef("image")))
        pool = covered.values_list("image__key", flat=True)
        apart = draw_sample(pool.exclude(is_open), images, seed, "gold")
        images = [*apart, *draw_sample(pool.filter(is_open), images - len(apart), seed, "gold")]
    with_gold = Image.objects.filter(key__in=images)
    if growing is not None:
        with_gold = with_gold.filter(pk__in=covered.values("image"))
    return [
        (record.id, (record.width, record.height), record.layer)
        for record in stream_records(corpus=campaign.corpus, layer=layer, images=with_gold)
        if record.layer is not None
    ]


def _spread(candidates: Iterable[_Candidate], seed: int) -> Iterator[_Candidate]:
    """Yield the candidates in a random order, some of an image together, and images in the same order for
    every kind and answer: a worker sees an image of the campaign more than once, and so an item's."""
    taken: Counter[str] = Counter()
    turns: list[tuple[int, float, int, _Candidate]] = []
    for candidate in sorted(candidates, key=lambda c: draw_number(seed, "question", c[0], c[1].key)):
        image = candidate[0]
        turns.append((taken[image] // _TOGETHER, draw_number(seed, "image", image), len(turns), candidate))
        taken[image] += 1
    return (candidate for *_, candidate in sorted(turns, key=lambda order: order[:3]))
