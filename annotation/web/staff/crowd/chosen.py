"""Which workers a form of a campaign means (those that are ticked, or all of a list), and the page that the
form is on."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _

from annotation.models import Campaign
from annotation.moderation.discarding import CannotDo
from annotation.selectors.workers.worker_table import matching_workers, workers_called
from annotation.web.staff.workers import asked_in, show_worker, show_workers

#: Workers that one form may name. A list of more is meant as a whole.
MOST_NAMED = 1_000


def chosen_workers(campaign: Campaign, sent: QueryDict) -> list[int]:
    """The ids of the workers that a form names as `worker`, by pseudonym; with `all`, of all that the list in
    its `query` holds. Raises CannotDo where nobody is named, or somebody who is not there."""
    if sent.get("all") == "yes":
        found = matching_workers(campaign, asked_in(QueryDict(sent.get("query", "")[:2_000])))
    else:
        names = [name for name in dict.fromkeys(sent.getlist("worker")) if "\0" not in name][:MOST_NAMED]
        known = workers_called(campaign, names)
        if unknown := [name for name in names if name not in known]:
            raise CannotDo(
                _("Campaign “%(campaign)s” has no worker “%(name)s”.")
                % {"campaign": campaign.name, "name": unknown[0][:60]}
            )
        found = list(known.values())
    if not found:
        raise CannotDo(_("Choose workers first: tick them in the table."))
    return found


def show_again(request: HttpRequest, campaign: Campaign, why: str) -> HttpResponse:
    """The page on which a refused form stands, with what was ticked and typed, and why it was refused: the
    worker's own, or the list that its `query` and `after` say."""
    messages.error(request, why)
    sent = request.POST
    if name := page_of_worker(campaign, sent):
        return show_worker(request, campaign, name, refused=sent)
    listed = QueryDict(sent.get("query", "").lstrip("?")[:2_000]).dict()
    asked = asked_in({**listed, "after": sent.get("after", "")})
    return show_workers(request, campaign, asked, refused=sent)


def page_of_worker(campaign: Campaign, sent: QueryDict) -> str:
    """The pseudonym of the one worker on whose page a form stands, "" for one that stands elsewhere."""
    if sent.get("back") != "worker":
        return ""
    names = [name for name in sent.getlist("worker")[:2] if "\0" not in name]
    return next(iter(workers_called(campaign, names)), "") if len(names) == 1 else ""
