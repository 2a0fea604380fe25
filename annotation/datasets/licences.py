"""Under which licence a corpus may be used, as its owner says: datasheets and dataset cards repeat it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Corpus

LONGEST_LICENCE = 200


class BadLicence(ValueError):
    """A licence that cannot be kept; one line with the remedy."""


def set_licence(*, corpus: Corpus, licence: str, actor: Account | None = None) -> bool:
    """Say under which licence a corpus may be used; "" says that nobody knows. False where it is so already.

    Raises BadLicence on a text that is too long.
    """
    licence = " ".join(licence.replace("\0", "").split())
    if len(licence) > LONGEST_LICENCE:
        raise BadLicence(
            _("The licence has %(given)d characters: name it in at most %(most)d, or give its address.")
            % {"given": len(licence), "most": LONGEST_LICENCE}
        )
    with database.writing():
        changed = bool(Corpus.objects.filter(pk=corpus.pk).exclude(licence=licence).update(licence=licence))
        if changed:
            record(actor=actor, act="set_licence", corpus=corpus.name, licence=licence)
    corpus.licence = licence
    return changed
