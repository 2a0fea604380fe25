"""Which words look misspelt: asked by the page on which captions are written, before one is sent."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.api.problems import Problem
from annotation.api.requests import for_workers, word_in
from annotation.models import Campaign
from annotation.selectors import spelling
from annotation.selectors.scopes import campaigns_to_work_on
from annotation.task_types.caption_writing.type import LONGEST_CAPTION
from annotation.workers.rate_limit import Limit, Try, attempt

#: Texts that a worker may have looked at in a minute: a page asks at each pause of whoever types.
LOOKS = Limit("spelling", 240, 60)


@for_workers("POST")
def spelling_endpoint(request: HttpRequest, worker: int, data: dict[str, Any]) -> dict[str, Any]:
    """The unknown words of `text`, with suggestions; words of the `campaign`'s corpus count as known.

    A campaign that this worker may not work on counts as none: nobody asks here what its captions say.
    """
    text = word_in(data, "text")
    if len(text) > LONGEST_CAPTION:
        detail = _("“text” has %(length)d characters; at most %(most)d are allowed.") % {
            "length": len(text),
            "most": LONGEST_CAPTION,
        }
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", detail, field="text")
    if seconds := attempt(Try(LOOKS, str(worker))):
        detail = _("Too many requests. Try again in %(seconds)d s.") % {"seconds": seconds}
        headers = {"Retry-After": str(seconds)}
        raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "too_often", detail, headers=headers)
    name = data.get("campaign")
    begun = campaigns_to_work_on(worker).exclude(state=Campaign.DRAFT)
    found = begun.filter(name=name) if isinstance(name, str) and "\0" not in name else []
    corpus = next((campaign.corpus_id for campaign in found), None)
    return {"unknown": [each._asdict() for each in spelling.misspelt_words(text, corpus=corpus)]}
