"""Context of annotators' pages: worker, campaign and kind of question; and redirects."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.common import database
from annotation.models import Account, Campaign, Worker
from annotation.queue.available_tasks import kinds_of
from annotation.selectors.corpora import campaigns_to_work_on
from annotation.task_types.base import TASK_TYPES, TaskType
from annotation.workers.pseudonyms import worker_of


class SeeOther(HttpResponseRedirect):
    """A redirect by GET after a POST, so that a reload does not send the form again."""

    status_code = HTTPStatus.SEE_OTHER.value


@dataclass(frozen=True, slots=True)
class WorkContext:
    """Context of work: worker, campaign and kind of question."""

    worker: Worker
    campaign: Campaign
    type: TaskType

    @property
    def kind(self) -> str:
        """The kind of question, by key."""
        return self.type.key

    @property
    def address(self) -> str:
        """The address of the page of these tasks."""
        return reverse("task", args=[self.campaign.name, self.kind])


def work_of_request(request: HttpRequest, name: str, kind: str) -> WorkContext:
    """Return the context of an address. Raises Http404 if there is none."""
    campaign = campaign_of_request(request, name)
    if kind not in kinds_of(campaign):
        message = _("Campaign “%(name)s” has no task “%(kind)s”.") % {"name": name, "kind": kind}
        raise Http404(message)
    return WorkContext(worker_at(request), campaign, TASK_TYPES.get(kind))


def campaign_of_request(request: HttpRequest, name: str) -> Campaign:
    """Return the campaign of that name. Raises Http404 unless it has begun and the caller may work on it."""
    open_to_them = campaigns_to_work_on(worker_at(request).pk)
    campaign = open_to_them.filter(name=name).exclude(state=Campaign.DRAFT).first()
    if campaign is None:
        raise Http404(_("There is no campaign “%(name)s”.") % {"name": name})
    return campaign


def worker_at(request: HttpRequest) -> Worker:
    """Return the caller as a worker."""
    account: Any = request.user
    assert isinstance(account, Account)
    return worker_of(account)


def form_number(text: str) -> int:
    """Return a number of a form, 0 (which is no id) if it is invalid."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    return number if number <= database.LARGEST_ID else 0
