"""Three steps for new users: a corpus, a campaign, people. The home page shows them until they are done.

For those who only evaluate, the steps are a corpus and what an app adds (`add_first_use`): runs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.models import Account, Invitation, Study, TrustState
from annotation.selectors.corpora import campaigns_of, corpora_of


class FirstStep(NamedTuple):
    """A step: what to do, its purpose, whether it is done, and its page, "" if not available yet."""

    title: Any
    says: Any
    done: bool
    address: str
    link: Any


class FirstUse(NamedTuple):
    """Another first use of a corpus: a sentence, its page's route, whether an account has begun."""

    says: Any
    route: str
    link: Any
    begun: Callable[[Account], bool]


_USES: list[FirstUse] = []


def add_first_use(use: FirstUse) -> None:
    """Show `use` beside campaigns to new users; repeated calls add it once."""
    if use.route not in [known.route for known in _USES]:
        _USES.append(use)


class FirstSteps(NamedTuple):
    """The steps, and other uses of a corpus once it exists."""

    steps: list[FirstStep]
    uses: list[FirstUse]


def first_steps(account: Account) -> FirstSteps | None:
    """Return the steps of an account that runs campaigns over whole corpora; None if they are done."""
    if not account.has_role_somewhere(RESEARCHER, corpora=True):
        return None
    corpus = corpora_of(account, RESEARCHER).filter(published=True).exists()
    campaigns = campaigns_of(account, RESEARCHER)
    newest = campaigns.order_by("-pk").values_list("name", flat=True).first()
    invited = newest is not None and campaigns.filter(_PEOPLE).exists()
    if corpus and (invited or any(use.begun(account) for use in _USES)):
        return None
    adds = account.has_role(RESEARCHER, on=WHOLE_SERVER)
    steps = [
        FirstStep(
            _("Add a corpus"),
            _("Images with captions, as files of yours. Problems are listed before anything is stored."),
            corpus,
            reverse("uploads") if adds else "",
            _("Add a corpus"),
        ),
        FirstStep(
            _("Open a campaign"),
            _("It asks small questions about the captions, one at a time, and puts the answers together."),
            newest is not None,
            reverse("campaign_drafts") if corpus else "",
            _("Open a campaign"),
        ),
        FirstStep(
            _("Invite people"),
            _("By a link, from Prolific or MTurk, or all annotators of this server."),
            invited,
            reverse("entry", args=[newest]) if newest else "",
            _("Invite people"),
        ),
    ]
    return FirstSteps(steps, list(_USES) if corpus else [])


#: Campaigns that people may join, or have joined.
_PEOPLE = (
    Q(open_to_all=True)
    | Q(Exists(Invitation.objects.filter(campaign=OuterRef("pk"))))
    | Q(Exists(Study.objects.filter(campaign=OuterRef("pk"))))
    | Q(Exists(TrustState.objects.filter(campaign=OuterRef("pk"))))
)
