"""Roles, and the scopes for which they are granted."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext_lazy

ANNOTATOR = "annotator"
REVIEWER = "reviewer"
RESEARCHER = "researcher"
ADMIN = "admin"
ROLES = (ANNOTATOR, REVIEWER, RESEARCHER, ADMIN)
#: Titles of the roles.
ROLE_NAMES = {
    ANNOTATOR: gettext_lazy("annotator"),
    REVIEWER: gettext_lazy("reviewer"),
    RESEARCHER: gettext_lazy("researcher"),
    ADMIN: gettext_lazy("admin"),
}


class Scope(NamedTuple):
    """The scope of a role, by ids: a campaign with its corpus, a corpus with everything that belongs to it,
    or, with neither, the whole server. `Corpus.scope` and `Campaign.scope` return them."""

    corpus: int | None = None
    campaign: int | None = None

    def covers(self, scope: Scope) -> bool:
        """Whether a role for this scope also applies to `scope`."""
        if self.campaign is not None:
            return self.campaign == scope.campaign
        return self.corpus is None or self.corpus == scope.corpus


#: The whole server.
WHOLE_SERVER = Scope()


class Granted(NamedTuple):
    """A role and its scope."""

    role: str
    scope: Scope
