"""Common parts of the pages of campaigns: the campaign of an address, its frame, and messages of acts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy

from annotation.common.operations import operation_named
from annotation.common.roles import ADMIN, RESEARCHER, WHOLE_SERVER
from annotation.models import Campaign, Layer
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.work import UNPAID
from annotation.selectors.browse import layers_of
from annotation.selectors.review import count_chains_in_review
from annotation.web.common.access import BROWSING, AddressedThing, account_of
from annotation.web.common.request_forms import RequestForm

#: The campaign of an address, with its corpus.
CAMPAIGN_OF_ADDRESS = AddressedThing(
    lambda name: Campaign.objects.select_related("corpus").filter(name=name).first(),
    gettext_lazy("There is no campaign “%(name)s” here."),
)


def campaign_frame(request: HttpRequest, campaign: Campaign, tab: str, **more: Any) -> dict[str, Any]:
    """Return the common context of a campaign's pages: the current page, and what its reader may do."""
    account = account_of(request)
    scope = campaign.scope
    return {
        "campaign": campaign,
        "tab": tab,
        "in_review": count_chains_in_review(campaign.pk),
        "runs": account.has_role(RESEARCHER, on=scope),
        "administers": account.has_role(ADMIN, on=WHOLE_SERVER),
        "corpus_open": account.has_role(*BROWSING, on=campaign.corpus.scope),
        **more,
    }


def is_paid(campaign: Campaign) -> bool:
    """Whether answers earn anything: not if they are simulated."""
    return settings_of(campaign.settings).pay.basis != UNPAID and not campaign.simulated


def layers_open(request: HttpRequest, campaign: Campaign) -> list[Layer]:
    """Return the layers of a campaign's corpus that the caller may read: all with a role for the corpus, else
    the campaign's own."""
    layers = layers_of(campaign.corpus)
    if account_of(request).has_role(*BROWSING, on=campaign.corpus.scope):
        return layers
    return [layer for layer in layers if layer.name == campaign.name]


def act_form(request: HttpRequest, operation: str, *, ids: str = "%s", **initial: str) -> RequestForm:
    """Return the form of an operation on its own page."""
    return RequestForm(operation_named(operation), account_of(request), initial=initial, ids=ids)


@contextmanager
def result_message(request: HttpRequest, *errors: type[Exception]) -> Iterator[Callable[[str], None]]:
    """Show on the next page the result of an act: the text passed to the yielded function, or the message of
    one of `errors`."""
    try:
        yield lambda text: messages.success(request, text)
    except errors as error:
        messages.error(request, str(error))


def query_string(**values: str | int | None) -> str:
    """Return `?...` for these values, without empty ones; "" if there is none."""
    fields = {name: value for name, value in values.items() if value not in ("", None)}
    return f"?{urlencode(fields)}" if fields else ""
