"""Roles, and what they are granted for."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext_lazy

ANNOTATOR = "annotator"
REVIEWER = "reviewer"
RESEARCHER = "researcher"
ADMIN = "admin"
ROLES = (ANNOTATOR, REVIEWER, RESEARCHER, ADMIN)
#: What people may be, by the role that they were granted.
ROLE_NAMES = {
    ANNOTATOR: gettext_lazy("annotator"),
    REVIEWER: gettext_lazy("reviewer"),
    RESEARCHER: gettext_lazy("researcher"),
    ADMIN: gettext_lazy("admin"),
}


class Scope(NamedTuple):
    """What a role is for, by ids: a campaign with its corpus, a corpus with all that hangs on it, or, with
    neither, the whole server. `Corpus.scope` and `Campaign.scope` make them."""

    corpus: int | None = None
    campaign: int | None = None

    def covers(self, scope: Scope) -> bool:
        """Whether a role for this holds for `other` too."""
        if self.campaign is not None:
            return self.campaign == scope.campaign
        return self.corpus is None or self.corpus == scope.corpus


#: The whole server.
WHOLE_SERVER = Scope()


class Granted(NamedTuple):
    """A role, and what it is for."""

    role: str
    scope: Scope
