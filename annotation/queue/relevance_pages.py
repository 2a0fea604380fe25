"""Relevance pages for one worker: a task's images and control images, shuffled for this worker.

Control images are put on a page when it is leased (`PageControl` stores which); some pages of a warm-up
contain nothing else, and belong to no task. The order is determined by the campaign's seed and the worker's
pseudonym, so that the same page can be displayed again, and its answer read by position.

Call `enclose_control_images` and `store_control_images` inside `database.writing()` while holding the
worker's trust state.

Source: Hodosh et al. 2013, section 4.3.2; `protocol.paging`.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection

from annotation.models import Control
from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.controls import PooledControl as Known
from annotation.protocol.controls import choose_control, draw_number
from annotation.protocol.paging import (
    PAGE_ROLES,
    ROLE_CONTROL,
    Block,
    ControlImage,
    Entry,
    controls_on_page,
    displayed_positions,
    for_worker,
)
from annotation.protocol.questions import BadJudgment
from annotation.quality import controls
from annotation.queue.dispatch import FIRST_LOOK, WorkerState

#: The columns of a control item `k`.
_CONTROL = "k.id, k.content, k.known, k.active"
#: The role of a test item: an image that is a page by itself.
_QUALIFICATION = Control.QUALIFICATION


@dataclass(frozen=True, slots=True)
class PageBlock:
    """One image of a page: the ids of image and captions ([image, place]), why each is there, and for a
    control image its control, its gold answer, and whether it is still in use."""

    image: int
    captions: tuple[tuple[int, int], ...]
    roles: tuple[str, ...]
    control: int | None = None
    known: tuple[bool, ...] = ()
    active: bool = True


def control_images_due(settings: CampaignSettings, *, seed: int, holder: WorkerState, held: int) -> int:
    """Return how many images of the worker's next page should be control images; the worker holds `held`
    pages."""
    number = holder.trust.items // settings.page.images + held + 1
    return controls_on_page(
        settings.trust,
        seed=seed,
        worker=holder.pseudonym,
        state=holder.trust.state,
        kind=holder.trust.kind,
        page=number,
        settings=settings.page,
    )


class PlacedControlImage(NamedTuple):
    """A control image for a page, and how many of its captions are displayed."""

    control: int
    captions: int


def control_images_only(
    settings: CampaignSettings, *, seed: int, holder: WorkerState, revision: int, instead_of: int
) -> tuple[PlacedControlImage, ...]:
    """Return control images for a page without other images; none where too few are new to the worker.

    The page resembles that of the task `instead_of`: as many images, with as many captions each; and those
    that would be put on it.
    """
    like = [*_like(instead_of), *_drawn(seed, holder, settings.page.controls)]
    chosen = _chosen(seed, holder, revision, like, set())
    return chosen if len(chosen) == len(like) else ()


def enclose_control_images(
    settings: CampaignSettings,
    *,
    seed: int,
    holder: WorkerState,
    revision: int,
    assignment: int,
    task: int,
    count: int,
) -> None:
    """Put `count` control images, or as many as there are, on the page just leased."""
    images = {block.image for block in _like(task)}
    like = _drawn(seed, holder, count)
    store_control_images(assignment, _chosen(seed, holder, revision, like, images, but=assignment))


def store_control_images(assignment: int, chosen: Sequence[PlacedControlImage]) -> None:
    """Store which control images a page has, and how many captions of each."""
    with connection.cursor() as cursor:
        cursor.executemany(
            """INSERT INTO annotation_pagecontrol (assignment_id, control_id, captions, "right")
               VALUES (%s, %s, %s, NULL)""",
            [(assignment, placed.control, placed.captions) for placed in chosen],
        )


def _like(task: int | None) -> list[PageBlock]:
    """Return the images that a task asks about, which control images have to resemble."""
    with connection.cursor() as cursor:
        return _items(cursor, task)


def _items(cursor: Any, task: int | None) -> list[PageBlock]:
    cursor.execute("SELECT content FROM annotation_item WHERE task_id = %s ORDER BY position", [task])
    return [_page_block(json.loads(content)) for (content,) in cursor.fetchall()]


def _drawn(seed: int, holder: WorkerState, count: int) -> list[PageBlock]:
    """Return images of open pages, drawn at random, that the control images of a page should resemble: one
    that has as many captions as another image of the page would be a control image more often."""
    if not count:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT id FROM annotation_task WHERE campaign_id = %s AND kind = %s AND state = 'open'
                ORDER BY rank, id LIMIT {FIRST_LOOK}""",
            [holder.campaign, holder.trust.kind],
        )
        pages = [task for (task,) in cursor.fetchall()]
        drawn = []
        for number in range(count):
            names = seed, holder.pseudonym, "like", holder.trust.items, number
            blocks = _items(cursor, pages[int(draw_number(*names, "page") * len(pages))])
            drawn.append(blocks[int(draw_number(*names, "image") * len(blocks))])
    return drawn


def _chosen(
    seed: int,
    holder: WorkerState,
    revision: int,
    like: Sequence[PageBlock],
    images: Collection[int],
    *,
    but: int = 0,
) -> tuple[PlacedControlImage, ...]:
    """Choose for each of `like` a control image that this worker has not met, all different and none of
    `images`; as many as there are."""
    # Whatever the gold: ticking nothing, or everything, is wrong on each.
    pool = [
        Known(known_control.id, "")
        for known_control in controls.control_pool(holder.campaign, holder.trust.kind, revision)
    ]
    if not pool or not like:
        return ()
    seen = set(controls.controls_seen(worker=holder.worker, campaign=holder.campaign, kind=holder.trust.kind))
    resemblance = controls.Resemblance(
        worker=holder.worker,
        campaign=holder.campaign,
        kind=holder.trust.kind,
        revision=revision,
        but=but,
    )
    taken = set(images)
    placed: list[PlacedControlImage] = []
    for block in like:
        strange = resemblance.strangeness(image=block.image, content={})
        while True:
            control = choose_control(
                pool,
                seed=seed,
                worker=holder.pseudonym,
                kind=holder.trust.kind,
                seen=seen,
                strange=strange,
            ).control
            if control is None:
                return tuple(placed)
            seen.add(control.id)
            (known,) = controls.displayed_control(int(control.id)).content["blocks"]
            if known["image"] not in taken and len(known["captions"]) >= len(block.captions):
                taken.add(known["image"])
                resemblance.add(control.id)
                placed.append(PlacedControlImage(int(control.id), len(block.captions)))
                break
    return tuple(placed)


def blocks(assignment: int, *, seed: int, settings: CampaignSettings) -> tuple[PageBlock, ...]:
    """Return the page of an assignment, in the order in which its worker sees it."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.role, a.task_id, w.pseudonym, {_CONTROL} FROM annotation_assignment a
                JOIN annotation_worker w ON w.id = a.worker_id
                LEFT JOIN annotation_control k ON k.id = a.control_id WHERE a.id = %s""",
            [assignment],
        )
        role, task, pseudonym, *control = cursor.fetchone()
        if role == _QUALIFICATION and control[0] is not None:
            return (_known(control, 0, seed, pseudonym),)
        pages = _items(cursor, task)
        cursor.execute(
            f"""SELECT p.captions, {_CONTROL} FROM annotation_pagecontrol p
                JOIN annotation_control k ON k.id = p.control_id WHERE p.assignment_id = %s ORDER BY p.id""",
            [assignment],
        )
        put_on = [_known(control, size, seed, pseudonym) for size, *control in cursor.fetchall()]
    known = {str(block.image): block for block in put_on}
    shuffled = for_worker(
        [_pure(block) for block in pages],
        [
            ControlImage(str(block.control), image, _names(block, True), _names(block, False))
            for image, block in known.items()
        ],
        seed=seed,
        worker=pseudonym,
    )
    made_from = {(block.image, frozenset(block.captions)): block for block in (*pages, *known.values())}
    return tuple(_in_order(block, made_from) for block in shuffled)


def _page_block(content: Mapping[str, Any]) -> PageBlock:
    return PageBlock(
        content["image"],
        tuple((image, number) for image, number in content["captions"]),
        tuple(PAGE_ROLES[role] for role in content["roles"]),
    )


def _known(control: Sequence[Any], size: int, seed: int, worker: str) -> PageBlock:
    """Return a control image (`_CONTROL`) with `size` of its captions, or all of them."""
    number, content, answers, active = control
    (block,), known = json.loads(content)["blocks"], json.loads(answers)
    display_order = displayed_positions(known, size or len(known), seed=seed, worker=worker, control=number)
    captions = [(image, position) for image, position in block["captions"]]
    return PageBlock(
        block["image"],
        tuple(captions[index] for index in display_order),
        (ROLE_CONTROL,) * len(display_order),
        number,
        tuple(known[index] for index in display_order),
        bool(active),
    )


def _pure(block: PageBlock) -> Block:
    image = str(block.image)
    return Block(
        image,
        tuple(Entry(image, _name(c), role) for c, role in zip(block.captions, block.roles, strict=True)),
    )


def _name(caption: tuple[int, int]) -> str:
    return f"{caption[0]}#{caption[1]}"


def _names(block: PageBlock, true: bool) -> frozenset[str]:
    return frozenset(_name(c) for c, is_so in zip(block.captions, block.known, strict=True) if is_so == true)


def _in_order(
    block: Block, made_from: Mapping[tuple[int, frozenset[tuple[int, int]]], PageBlock]
) -> PageBlock:
    """Return the original of a shuffled block, with its captions in the shuffled order."""
    order = [_caption(entry.caption) for entry in block.entries]
    control = made_from[int(block.image), frozenset(order)]
    positions = [control.captions.index(caption) for caption in order]
    return PageBlock(
        control.image,
        tuple(order),
        tuple(control.roles[i] for i in positions),
        control.control,
        tuple(control.known[i] for i in positions) if control.known else (),
        control.active,
    )


def _caption(name: str) -> tuple[int, int]:
    image, _, number = name.partition("#")
    return int(image), int(number)


def page_content(page: Sequence[PageBlock]) -> dict[str, Any]:
    """Return the content for the worker, without roles and controls."""
    return {"blocks": [{"image": b.image, "captions": [list(c) for c in b.captions]} for b in page]}


def page_ticks(page: Sequence[PageBlock], answer: Mapping[str, Any] | None) -> list[list[bool]]:
    """Return the ticks of an answer, in the shape of the page. Raises BadJudgment."""
    ticks: list[list[bool]] = (answer or {}).get("ticked", [])
    shape, sizes = [len(row) for row in ticks], [len(block.captions) for block in page]
    if shape != sizes:
        raise BadJudgment(f"the answer has {shape} sentences for its pictures: expected {sizes}")
    return ticks


def page_answer(page: Sequence[PageBlock], ticks: Sequence[Sequence[bool]] | None) -> dict[str, Any]:
    """Return the answer as its judgment stores it: each judged pair, why it was there, and whether it was
    ticked.

    For a reported page (`ticks` None) only its content.
    """
    return {
        "blocks": [
            {
                "image": block.image,
                "captions": [list(caption) for caption in block.captions],
                "roles": [PAGE_ROLES.index(role) for role in block.roles],
                **({"yes": list(ticks[index])} if ticks is not None else {}),
                **({"control": block.control} if block.control is not None else {}),
            }
            for index, block in enumerate(page)
        ]
    }
