"""The parts of the site in the header; an app adds its own when it is ready."""

from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER, WHOLE_SERVER
from annotation.models import Account
from annotation.web.common.access import BROWSING


class NavigationPart(NamedTuple):
    """A part: the prefix of its addresses, its title, the route of its first page, and its audience.

    It is open to accounts that have one of `roles` for anything, with `corpora` for at least a corpus, with
    `everything` for the whole server.
    """

    key: str | tuple[str, ...]
    title: Any
    route: str
    roles: tuple[str, ...]
    corpora: bool = False
    everything: bool = False

    def is_open_to(self, account: Account) -> bool:
        """Whether an account has a role that opens this part."""
        if self.everything:
            return account.has_role(*self.roles, on=WHOLE_SERVER)
        return account.has_role_somewhere(*self.roles, corpora=self.corpora)


#: In the order of the header.
PARTS = [
    NavigationPart("corpora", _("Corpora"), "home", BROWSING, corpora=True),
    NavigationPart("campaign", _("Campaigns"), "campaigns", BROWSING),
    NavigationPart("tasks", _("Tasks"), "tasks", (ANNOTATOR,)),
    NavigationPart("notifications", _("Notifications"), "notifications", (RESEARCHER,)),
    NavigationPart(("people", "roles"), _("People"), "people", (ADMIN,), everything=True),
    NavigationPart("server", _("Server"), "server", (ADMIN,), everything=True),
]


def offer_further_operations() -> None:
    """Link the pages of operations that a site adds."""
    roles = (REVIEWER, RESEARCHER, ADMIN)
    add_part(NavigationPart("operation", _("Operations"), "operation_list", roles), after="notifications")


def add_part(part: NavigationPart, *, after: str) -> None:
    """Link `part` after the part `after`; repeated calls add it once."""
    if part not in PARTS:
        PARTS.insert(1 + [known.key for known in PARTS].index(after), part)
