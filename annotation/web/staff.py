"""What all pages of campaigns share: the campaign of an address, its frame, and how acts end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from annotation.models import Account, Campaign
from annotation.models.crowd import ADMIN, RESEARCHER
from annotation.selectors.review import waiting


def campaign_at(name: str) -> Campaign:
    """The campaign of that name, with its corpus; else a page that says there is none."""
    found = Campaign.objects.select_related("corpus").filter(name=name).first()
    if found is None:
        raise Http404(_("There is no campaign “%(name)s” here.") % {"name": name})
    return found


def account_of(request: HttpRequest) -> Account:
    """Whoever is signed in; the pages of campaigns open for nobody else."""
    assert isinstance(request.user, Account)
    return request.user


def framed(request: HttpRequest, campaign: Campaign, tab: str, **more: Any) -> dict[str, Any]:
    """What every page of a campaign needs: which of its pages this is, and what its reader may do."""
    account = account_of(request)
    return {
        "campaign": campaign,
        "tab": tab,
        "in_review": waiting(campaign.pk),
        "runs": account.has_role(RESEARCHER),
        "administers": account.has_role(ADMIN),
        **more,
    }


@contextmanager
def said(request: HttpRequest, *refusals: type[Exception]) -> Iterator[Callable[[str], None]]:
    """Do an act and say how it ended on the next page: what is handed to the yielded function, or, where
    one of `refusals` was raised, that."""
    try:
        yield lambda text: messages.success(request, text)
    except refusals as error:
        messages.error(request, str(error))


def query(**held: str | int | None) -> str:
    """`?...` of what is held, empty ones left out; "" where nothing is."""
    asked = {name: value for name, value in held.items() if value not in ("", None)}
    return f"?{urlencode(asked)}" if asked else ""
