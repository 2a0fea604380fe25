"""Questions about images of a draft's corpus, as workers would get them: for its preview, and for marking.

If the corpus has a gold layer, chains and boxes are from it; otherwise chains are guessed by head nouns, and
there are no questions about boxes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations
from typing import Any

from django.db.models import QuerySet

from annotation.campaigns.choosing import ENTITIES, gold_layer
from annotation.campaigns.drafts.reading import DraftPlan
from annotation.models import Image
from annotation.protocol.contents import corners
from annotation.protocol.controls import draw_number, draw_sample
from annotation.protocol.coreference import may_corefer
from annotation.protocol.kinds import ABOUT_IMAGE, ABOUT_PAIR, Kind, kind_of
from annotation.protocol.mentions import mentions_of
from annotation.protocol.rehearsal import guessed_layer
from annotation.protocol.terms import NOT_VISUAL, SCENE, Box, Chain, ImageRecord, LayerRecord, Mention
from annotation.selectors.records import stream_records
from annotation.task_types.displayed import displayed_image

#: Number of pictures on a grid of questions to be marked.
GRID_PICTURES = 12
#: A box with a lower overlap clearly does not fit (`moderation.control_items.from_layer`).
_FAILS = 0.45


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """A question about an image: the row's id, its key, and the displayed content (as of a lease).

    `mentions`, `boxes` and `pending` for questions about chains; `captions` (image key, place) for others.
    """

    kind: str
    image: int
    key: str
    content: dict[str, Any]
    mentions: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    pending: Box | None = None
    captions: tuple[tuple[str, int], ...] = field(default=())

    @property
    def stamp(self) -> str:
        """A short text that differs between questions, so that no answer is stored for another picture."""
        parts = (self.kind, self.image, self.key, self.mentions, self.captions, self.boxes, self.pending)
        return blake2b(repr(parts).encode(), digest_size=9).hexdigest()


def posed_questions(
    plan: DraftPlan, kind: str, *, offset: int = 0, number: int = GRID_PICTURES
) -> list[PosedQuestion]:
    """Return `number` questions of a kind about as many images, starting at `offset`, always the same ones;
    fewer where the corpus has no more, or where nothing can be asked about an image."""
    rows = images_to_show(plan, offset=offset, number=number)
    about = kind_of(kind)
    if plan.tasks == ENTITIES:
        return list(_about_chains(plan, about, rows))
    questions = []
    for index, row in enumerate(rows):
        others = [neighbour for neighbour in rows if neighbour.pk != row.pk]
        posed = _counted(plan, about, row, others, index)
        if posed is not None:
            questions.append(posed)
    return questions


def images_to_show(plan: DraftPlan, *, offset: int, number: int) -> list[Image]:
    """Return images with pictures in random order, first those that the campaign will not ask about: workers
    do not get a task about what they met as a control item."""
    if plan.corpus is None:
        return []
    pool = Image.objects.filter(corpus=plan.corpus)
    if pool.exclude(picture="").exists():
        pool = pool.exclude(picture="")
    if plan.split is not None or plan.images is not None or plan.tags:
        apart = pool.exclude(pk__in=plan.chosen_images().values("pk"))
        if apart[:number].count() == number:
            pool = apart
    ids = _ids(pool.order_by("position"))
    drawn = _drawn(len(ids), number * (offset + 1), plan)[number * offset :]
    rows = {row.pk: row for row in Image.objects.filter(pk__in=[ids[index] for index in drawn])}
    return [rows[ids[index]] for index in drawn]


def _ids(images: QuerySet[Image]) -> list[int]:
    return list(images.values_list("pk", flat=True))


def _drawn(there: int, number: int, plan: DraftPlan) -> list[int]:
    """Return `number` different positions in random order; a larger number only extends the list."""
    drawn: dict[int, None] = {}
    attempt = 0
    while len(drawn) < min(number, there):
        drawn.setdefault(int(draw_number("draft", plan.draft.pk, attempt) * there))
        attempt += 1
        if attempt > 20 * there + 100:  # few are left: take the rest in order
            drawn.update(dict.fromkeys(range(there)))
    return list(drawn)[:number]


def layers_of_images(
    plan: DraftPlan, rows: Sequence[Image]
) -> Iterator[tuple[ImageRecord, LayerRecord, bool]]:
    """Yield for images of the corpus the record, its layer, and whether the layer is gold rather than
    guessed.

    They come in the corpus's order; images that the gold layer does not cover are skipped, as in a campaign.
    A draft without a corpus has none.
    """
    if plan.corpus is None:
        return
    layer = gold_layer(plan.corpus)
    images = Image.objects.filter(pk__in=[row.pk for row in rows])
    for record in stream_records(corpus=plan.corpus, layer=layer, images=images):
        if layer is None:
            yield record, guessed_layer(mentions_of(record), (record.width, record.height)), False
        elif record.layer is not None:
            yield record, record.layer, True


def _about_chains(plan: DraftPlan, kind: Kind, rows: Sequence[Image]) -> Iterator[PosedQuestion]:
    ids = {row.key: row.pk for row in rows}
    questions: dict[str, PosedQuestion] = {}
    for record, layer, known in layers_of_images(plan, rows):
        # Depends on the image's name only, so that a question stays the same whatever else is displayed.
        variant = int(draw_number("turn", plan.draft.pk, record.id) * 2)
        question = _of_chains(kind, layer, known, record.id, variant)
        if question is not None:
            mentions, boxes, pending = question
            names = tuple(mention.id for mention in sorted(mentions, key=lambda phrase: phrase.span))
            content = {
                "mentions": list(names),
                "boxes": [corners(box) for box in boxes],
                "pending": corners(pending) if pending else None,
            }
            questions[record.id] = PosedQuestion(
                kind.key, ids[record.id], record.id, content, names, boxes, pending
            )
    return (questions[row.key] for row in rows if row.key in questions)


_ChainQuestion = tuple[Sequence[Mention], tuple[Box, ...], Box | None]


def _of_chains(
    kind: Kind, layer: LayerRecord, known: bool, image: str, variant: int
) -> _ChainQuestion | None:
    """Return the content of a chain question about an image: mentions, boxes, the box in question. `variant`
    0 or 1 asks for one or the other answer, as far as possible."""
    chains = [chain for chain in layer.chains if chain.mentions and chain.id != NOT_VISUAL]
    chains.sort(key=lambda chain: draw_number("chain", image, chain.mentions[0].id))
    if kind.mentions == (2, 2):
        return _linked(chains, variant)
    if kind.mentions[0] > 1:
        long = next((chain for chain in chains if len(chain.mentions) > 1), None)
        mixed = _linked(chains, 1) if variant else None
        return mixed or ((long.mentions, (), None) if long is not None else None)
    boxed = [chain for chain in chains if known and layer.boxes_of(chain.id)]
    if kind.judges:
        if not boxed:
            return None
        box = layer.boxes_of(boxed[0].id)[0]
        return boxed[0].mentions, (), (worse_box(box, layer.boxes_of(boxed[0].id)) if variant else box)
    if kind.needs_boxes:
        several = [chain for chain in boxed if len(layer.boxes_of(chain.id)) > 1] if variant else []
        for chain in several or boxed:
            boxes = tuple(sorted(layer.boxes_of(chain.id)))
            return chain.mentions, boxes[:-1] if several else boxes, None
        return None
    scenes = [chain for chain in chains if SCENE in chain.categories]
    things = [chain for chain in chains if SCENE not in chain.categories]
    first = (things or scenes) if kind.draws or not variant else (scenes or things)
    return (first[0].mentions, (), None) if first else None


def _linked(chains: Sequence[Chain], variant: int) -> _ChainQuestion | None:
    """Return two mentions to be linked: of one chain, or (`variant` 1) of two; of the other kind where there
    are none."""
    of = {mention.id: number for number, chain in enumerate(chains) for mention in chain.mentions}
    mentions = [mention for chain in chains for mention in chain.mentions]
    pairs = [(a, b) for a, b in combinations(mentions, 2) if may_corefer(b, [a])]
    fitting = [pair for pair in pairs if (of[pair[0].id] != of[pair[1].id]) == bool(variant)] or pairs
    return (fitting[0], (), None) if fitting else None


def worse_box(box: Box, right: Sequence[Box]) -> Box:
    """Return a box like `box` that clearly does not fit any of the `right` ones: half of it, or shifted."""
    half = Box(box.xmin, box.ymin, box.xmin + max(0, (box.width * 2) // 5 - 1), box.ymax)
    left = max(1, box.xmin - (box.width * 7) // 10)
    moved = Box(left, box.ymin, left + box.width - 1, box.ymax)
    for candidate in (moved, half):
        if max(map(candidate.iou, right), default=0.0) < _FAILS:
            return candidate
    return Box(box.xmin, box.ymin, box.xmin + box.width // 4, box.ymin + box.height // 4)


def _counted(
    plan: DraftPlan, kind: Kind, row: Image, others: Sequence[Image], index: int
) -> PosedQuestion | None:
    """Return a counted question about an image; others provide captions."""
    if kind.about == ABOUT_IMAGE:
        return PosedQuestion(kind.key, row.pk, row.key, kind.content(plan.settings.answers.number))
    matching = [(row, number) for number in range(len(displayed_image(row.pk).captions))]
    lent = [
        (neighbour, number)
        for neighbour in others
        for number in range(len(displayed_image(neighbour.pk).captions))
    ]
    if kind.about == ABOUT_PAIR:
        pool = lent if index % 2 and lent else matching or lent
        if not pool:
            return None
        owner, number = pool[int(draw_number("pair", plan.draft.pk, row.key) * len(pool))]
        return PosedQuestion(
            kind.key, row.pk, row.key, {"caption": [owner.pk, number]}, captions=((owner.key, number),)
        )
    names = _block(plan, kind, row, matching, lent)
    if not names:
        return None
    block = {"image": row.pk, "captions": [[owner.pk, number] for owner, number in names]}
    return PosedQuestion(
        kind.key,
        row.pk,
        row.key,
        {"blocks": [block]},
        captions=tuple((owner.key, number) for owner, number in names),
    )


def _block(
    plan: DraftPlan,
    kind: Kind,
    row: Image,
    matching: Sequence[tuple[Image, int]],
    lent: Sequence[tuple[Image, int]],
) -> list[tuple[Image, int]]:
    """Return captions for an image of a page: some of its own, the others of other images, in random
    order."""
    size = plan.settings.page.captions
    true = list(matching[: 1 + int(draw_number("own", plan.draft.pk, row.key) * max(1, kind.most_true))])
    by_name = {f"{owner.key}#{number}": (owner, number) for owner, number in (*true, *lent)}
    theirs = draw_sample(
        (name for name, (owner, _) in by_name.items() if owner.pk != row.pk),
        max(0, size - len(true)),
        *("lent", plan.draft.pk, row.key),
    )
    names = [f"{owner.key}#{number}" for owner, number in true] + theirs
    return [by_name[name] for name in draw_sample(names, size, "order", plan.draft.pk, row.key)]


def posed_page(plan: DraftPlan, kind: str, *, offset: int) -> PosedQuestion | None:
    """Return the question of a preview: a whole page, or a question about one image."""
    blocks = posed_questions(plan, kind, offset=0)
    if not blocks:
        return None
    offset %= len(blocks)
    if "blocks" not in blocks[0].content:
        return blocks[offset]
    turned = [*blocks[offset:], *blocks[:offset]][: plan.settings.page.images]
    whole = [block.content["blocks"][0] for block in turned]
    return PosedQuestion(kind, turned[0].image, turned[0].key, {"blocks": whole})


def posed_without_boxes(plan: DraftPlan, kind: str) -> bool:
    """Whether questions of a kind are about boxes, and nobody has drawn any."""
    about = kind_of(kind)
    asks = bool(about.judges) or about.needs_boxes
    return asks and (plan.corpus is None or gold_layer(plan.corpus) is None)
