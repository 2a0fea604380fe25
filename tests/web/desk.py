"""A campaign over drawn scenes, and a worker at its task pages: the start of these pages' tests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.http import HttpResponse
from django.test import Client

from annotation import instructions
from annotation.models import Assignment, Identity, Task, Worker
from annotation.protocol import questions as q
from annotation.protocol.contents import question_from
from annotation.protocol.terms import Box, ImageRecord
from annotation.queue import leases
from annotation.queue.leases import Lease
from annotation.web.annotator.task_texts import READ
from tests import worlds
from tests.queue.world import TRUSTING, World
from tests.web import world

#: The questions that precede each kind for an image: it is open once others have answered them correctly.
BEFORE: Mapping[str, Sequence[str]] = {
    q.COREF_LINK: (),
    q.CHAIN_VERIFICATION: (q.COREF_LINK,),
    q.BOX_REQUIREMENT: (q.COREF_LINK, q.CHAIN_VERIFICATION),
    q.BOX_DRAWING: (q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT),
    q.BOX_QUALITY: (q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT, q.BOX_DRAWING),
    q.BOX_COVERAGE: (q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT, q.BOX_DRAWING, q.BOX_QUALITY),
}


def campaign(
    folder: Path,
    *,
    settings: Mapping[str, Any] = TRUSTING,
    images: int = 3,
    consent: str = "",
    open_kind: str = "",
) -> World:
    """Open the campaign `work` over drawn scenes, in which the first worker is the account `ann`; questions
    of `open_kind` are open."""

    def build() -> World:
        records: list[ImageRecord] = [world.scene(number, folder) for number in range(images)]
        result = World(records, settings=settings)
        instructions.publish_text(campaign=result.campaign, kind=instructions.CONSENT, text=consent)
        account = world.account("ann", "annotator")
        ann = Worker.objects.create(pseudonym="w-ann")
        Identity.objects.create(worker=ann, account=account)
        result.workers.insert(0, ann.pk)
        if open_kind:
            open_questions_for(result, open_kind)
        return result

    folder.mkdir(parents=True, exist_ok=True)
    return worlds.again(f"a desk {worlds.digest(settings, images, consent, open_kind)}", build, at_once=False)


def open_questions_for(work: World, kind: str, number: int = 1) -> None:
    """Let the others answer until `number` questions of `kind` are open that do not depend on ann."""
    others = range(1, len(work.workers))
    tasks = Task.objects.filter(campaign=work.campaign, kind=kind, state=Task.OPEN)
    while tasks.count() < number:
        for worker in others:
            for earlier in BEFORE[kind]:
                result = work.take(worker, earlier)
                if isinstance(result, Lease):
                    work.submit(worker, result, then=False)
                if tasks.count() >= number:
                    return


def open_a_second_box(work: World) -> list[Box]:
    """Let the others work until another box is requested beside accepted ones; return the accepted ones."""
    for _ in range(50):
        for worker in range(1, len(work.workers)):
            for kind in q.QUESTIONS:
                result = work.take(worker, kind)
                if not isinstance(result, Lease):
                    continue
                if kind == q.BOX_DRAWING and result.content["boxes"]:
                    leases.return_lease(worker=work.workers[worker], assignment=result.id)
                    return [Box(*corners) for corners in result.content["boxes"]]
                work.submit(worker, result, then=False)
    raise AssertionError("nobody was asked for a second box")


def at_work(work: World, *, read: bool = True) -> Client:
    """Sign ann in; she has read all instructions unless `read` is False."""
    client = Client()
    client.force_login(world.Account.objects.get(username="ann"))
    if read:
        session = client.session
        session[READ] = {
            f"{work.campaign.pk}:{kind}": instructions.current_text(campaign=work.campaign, kind=kind).version
            for kind in q.QUESTIONS
        }
        session.save()
    return client


def address(kind: str = q.COREF_LINK) -> str:
    return f"/tasks/quay/{kind}/"


def hidden(page: HttpResponse | Any) -> dict[str, str]:
    """Return the hidden fields of the page's form: assignment and token."""
    text = page.content.decode()
    result = dict(re.findall(r'<input type="hidden" name="(assignment|token)" value="([^"]*)"', text))
    assert set(result) == {"assignment", "token"}, text
    return result


def text_of(answer: Any) -> str:
    """Return a page's text, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def form_of(work: World, page: Any) -> dict[str, Any]:
    """Return the form of a page, with the correct answer to its question."""
    held = hidden(page)
    row = Assignment.objects.select_related("task__image").get(pk=held["assignment"])
    assert row.task is not None
    content = row.task.items.get().content
    truth = work.truths[row.task.image.image_id]
    answer, box = truth.answer(question_from(row.kind, row.task.key, content))
    corners = [box.xmin, box.ymin, box.xmax, box.ymax] if box else []
    edges = dict(zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=bool(corners)))
    return {**held, "answer": answer, "seconds": "3.5", **edges}
