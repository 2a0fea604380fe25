"""What is stored of one worker, as they may read it themselves.

Nothing here tells control items from others: workers are not told which of their answers were checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
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
from annotation.protocol.kinds import is_page
from annotation.protocol.work import MICROS
from annotation.selectors.answers import answer_details

#: Answers read at once.
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Share:
    """What a worker gave to one campaign: answers and reports, from when to when."""

    campaign: str
    answers: int
    first: datetime
    last: datetime


def worker_behind(account: Account) -> Worker | None:
    """The worker that an account works as, None where it never worked."""
    return Worker.objects.filter(identity__account=account).first()


def shares(worker: Worker) -> list[Share]:
    """What a worker gave, campaign by campaign."""
    rows = (
        Judgment.objects.filter(worker=worker)
        .values_list("campaign__name")
        .annotate(Count("pk"), Min("created_at"), Max("created_at"))
        .order_by("campaign__name")
    )
    return [Share(*row) for row in rows]


def consents(worker: Worker) -> list[Consent]:
    """What a worker agreed to, newest first, with texts and campaigns."""
    return list(
        Consent.objects.filter(worker=worker).select_related("text__campaign").order_by("-given_at", "-pk")
    )


def comments(worker: Worker) -> int:
    """How many comments a worker wrote beside their reports."""
    return Flag.objects.filter(judgment__worker=worker).exclude(comment="").count()


def _second_factor_since(account: Account) -> datetime | None:
    return SecondFactor.objects.filter(account=account).values_list("confirmed_at", flat=True).first()


def _names_elsewhere(account: Account) -> list[str]:
    """Who they are at another server by which they sign in."""
    return list(SocialAccount.objects.filter(user=account).values_list("uid", flat=True))


def own_data_json(account: Account, worker: Worker) -> Iterator[str]:
    """All of it as one JSON document, in pieces: answers are streamed."""
    identity = Identity.objects.filter(worker=worker).first()
    about = {
        "pseudonym": worker.pseudonym,
        "since": worker.created_at,
        "account": {
            "user_name": account.username,
            "e_mail": account.email,
            "joined": account.date_joined,
            "last_sign_in": account.last_login,
            # Not what it is made of: that lets people in.
            "second_factor_since": _second_factor_since(account),
            "signs_in_elsewhere_as": _names_elsewhere(account),
        },
        "source": {"provider": identity.provider, "id": identity.external_id} if identity else None,
        "consents": [
            {
                "campaign": each.text.campaign.name,
                "version": each.text.version,
                "given": each.given_at,
                "text": each.text.text,
            }
            for each in consents(worker)
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
            {"campaign": row.campaign.name, "text": row.text, "sent": row.sent_at, "read": row.read_at}
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
    rows = Judgment.objects.filter(worker=worker).select_related(
        "campaign", "image__image", "assignment__control__image", "report"
    )
    for row in rows.order_by("pk").iterator(chunk_size=_PAGE):
        control = row.assignment.control if row.assignment else None
        image = row.image.image if row.image else control.image if control else None
        box = [row.xmin, row.ymin, row.xmax, row.ymax] if row.xmin is not None else None
        report = getattr(row, "report", None)
        yield {
            "campaign": row.campaign.name,
            "kind": row.kind,
            # A page's key, and the image that it stands with, tell what it was.
            **({} if is_page(row.kind) else {"image": image.key if image else None, "question": row.key}),
            "answer": row.answer or None,
            "box": box,
            "report": row.flag or None,
            "comment": report.comment if report else None,
            "seconds": row.assignment.seconds if row.assignment else None,
            "instructions": row.instructions,
            "at": row.created_at,
            **_said(row),
        }


def _said(row: Judgment) -> dict[str, Any]:
    """What an answer says beside its word; of a page's pairs not what each was there for."""
    said = answer_details(row.kind, row.key, row.content or {})
    pairs = [
        {name: value for name, value in pair.items() if name != "role"} for pair in said.get("pairs", ())
    ]
    return {**said, "pairs": pairs} if pairs else said


def _text(data: Any) -> str:
    return json.dumps(data, default=lambda moment: moment.isoformat(), ensure_ascii=False)
