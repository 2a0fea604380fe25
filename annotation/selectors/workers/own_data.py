"""The stored data of one worker, for the worker.

Nothing here distinguishes control items from others: workers do not learn which of their answers were
checked. So the data about a question is what its task showed, and no more: an image by its name in tasks, and
captions by their text. A key would reveal the split of an image, and a control item is often from another
one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.db.models import Count, Max, Min

from annotation.models import (
    Account,
    Bonus,
    Consent,
    Flag,
    Identity,
    Judgment,
    Payout,
    SecondFactor,
    Worker,
    WorkerMessage,
)
from annotation.protocol import kinds
from annotation.protocol.kinds import is_page, kind_of
from annotation.protocol.work import MICROS
from annotation.selectors.shown_questions import shown_with
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.displayed import DisplayedImage

#: Number of answers read at a time; a page shows about 60 images, which are read with it.
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's contributions to one campaign: number of answers and reports, first and last time."""

    campaign: str
    answers: int
    first: datetime
    last: datetime


def worker_behind(account: Account) -> Worker | None:
    """Return the worker of an account, None if it never worked."""
    return Worker.objects.filter(identity__account=account).first()


def shares(worker: Worker) -> list[Share]:
    """Return a worker's contributions by campaign."""
    rows = (
        Judgment.objects.filter(worker=worker)
        .values_list("campaign__name")
        .annotate(Count("pk"), Min("created_at"), Max("created_at"))
        .order_by("campaign__name")
    )
    return [Share(*row) for row in rows]


def consents(worker: Worker) -> list[Consent]:
    """Return a worker's consents, newest first, with texts and campaigns."""
    return list(
        Consent.objects.filter(worker=worker).select_related("text__campaign").order_by("-given_at", "-pk")
    )


def comments(worker: Worker) -> int:
    """Return the number of comments that a worker wrote beside their reports."""
    return Flag.objects.filter(judgment__worker=worker).exclude(comment="").count()


def _second_factor_since(account: Account) -> datetime | None:
    return SecondFactor.objects.filter(account=account).values_list("confirmed_at", flat=True).first()


def _names_elsewhere(account: Account) -> list[str]:
    """Return the user's ids at other servers through which they sign in."""
    return list(SocialAccount.objects.filter(user=account).values_list("uid", flat=True))


def own_data_json(account: Account, worker: Worker) -> Iterator[str]:
    """Yield all of it as one JSON document, in pieces: answers are streamed."""
    identity = Identity.objects.filter(worker=worker).first()
    about = {
        "pseudonym": worker.pseudonym,
        "since": worker.created_at,
        "account": {
            "user_name": account.username,
            "e_mail": account.email,
            "joined": account.date_joined,
            "last_sign_in": account.last_login,
            # Not the secret itself, which lets people in.
            "second_factor_since": _second_factor_since(account),
            "signs_in_elsewhere_as": _names_elsewhere(account),
        },
        "country": identity.country if identity else "",
        "source": {"provider": identity.provider, "id": identity.external_id} if identity else None,
        "consents": [
            {
                "campaign": consent.text.campaign.name,
                "version": consent.text.version,
                "given": consent.given_at,
                "text": consent.text.text,
            }
            for consent in consents(worker)
        ],
        "payments": [
            {
                "campaign": row.campaign.name,
                "amount": row.amount / MICROS,
                "paid": row.paid_at,
                "reference": row.reference,
                "voided": row.voided_at,
            }
            for row in Payout.objects.filter(worker=worker).select_related("campaign").order_by("pk")
        ],
        "bonuses": [
            {
                "campaign": row.campaign.name,
                "amount": row.amount / MICROS,
                "given": row.given_at,
                "reason": row.reason,
                "withdrawn": row.withdrawn_at,
            }
            for row in Bonus.objects.filter(worker=worker).select_related("campaign").order_by("pk")
        ],
        "messages": [
            {
                "campaign": row.campaign.name,
                "text": row.text,
                "sent": row.sent_at,
                "read": row.read_at,
                "reply": row.reply,
            }
            for row in WorkerMessage.objects.filter(worker=worker).select_related("campaign").order_by("pk")
        ],
    }
    yield _text(about)[:-1] + ', "answers": ['
    before = ""
    for answer in _answers(worker):
        yield f"{before}\n{_text(answer)}"
        before = ","
    yield "\n]}\n"


def _answers(worker: Worker) -> Iterator[dict[str, Any]]:
    """Yield all answers, in order; three queries for each `_PAGE` of them."""
    judgments = Judgment.objects.filter(worker=worker).select_related(
        "campaign", "image", "assignment__control", "report"
    )
    rows = judgments.order_by("pk").iterator(chunk_size=_PAGE)
    while page := list(islice(rows, _PAGE)):
        contents, image_of, images = shown_with(page)
        for row in page:
            about = images[image_of[row.pk]] if row.pk in image_of else None
            yield _answer(row, contents.get(row.pk, {}), about, images)


def _answer(
    row: Judgment,
    contents: Mapping[str, Any],
    image: DisplayedImage | None,
    images: Mapping[int, DisplayedImage],
) -> dict[str, Any]:
    """Return an answer with what its task showed; neither keys nor roles, which would reveal control
    items."""
    if is_page(row.kind):
        about, content = {}, _ticked(row, images)
    else:
        about, content = _question_of(row.kind, contents, image, images), dict(row.content or {})
    report = getattr(row, "report", None)
    return {
        "campaign": row.campaign.name,
        "kind": row.kind,
        **about,
        "answer": row.answer or None,
        "box": [row.xmin, row.ymin, row.xmax, row.ymax] if row.xmin is not None else None,
        "report": row.flag or None,
        "comment": report.comment if report else None,
        "seconds": row.assignment.seconds if row.assignment else None,
        "instructions": row.instructions,
        # To the second: a finer time would contain the server's processing time, which might reveal items.
        "at": row.created_at.isoformat(timespec="seconds"),
        **content,
    }


def _question_of(
    kind: str, content: Mapping[str, Any], image: DisplayedImage | None, images: Mapping[int, DisplayedImage]
) -> dict[str, Any]:
    """Return what a question was about, as its task showed it."""
    about: dict[str, Any] = {"image": image.name if image is not None else None}
    match kind_of(kind).about:
        case kinds.ABOUT_CHAIN:
            mentions = (
                TASK_TYPES.get(kind).page(content, image).pointed if content and image is not None else ()
            )
            about["mentions"] = [mention.mention.id for mention in mentions]
        case kinds.ABOUT_PAIR:
            about["caption"] = _caption(content["caption"], images) if "caption" in content else None
    return about


def _ticked(row: Judgment, images: Mapping[int, DisplayedImage]) -> dict[str, Any]:
    """Return the pairs of a page, without their roles."""
    ticked_pairs = kind_of(row.kind).details(row.key, row.content or {})["pairs"]
    pairs = [
        {
            "image": images[pair["image"]].name,
            "caption": _caption(pair["caption"], images),
            "yes": pair["yes"],
        }
        for pair in ticked_pairs
    ]
    return {"pairs": pairs}


def _caption(caption_key: Sequence[int], images: Mapping[int, DisplayedImage]) -> str:
    """Return the text of a caption by its image's id and its number."""
    image, number = caption_key
    return images[image].captions[number].text


def _text(data: Any) -> str:
    return json.dumps(data, default=lambda moment: moment.isoformat(), ensure_ascii=False)
