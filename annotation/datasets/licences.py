"""Under which licence a corpus may be used, as its owner says: datasheets and dataset cards repeat it."""

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, OperationContext
from annotation.datasets.corpus_summaries import CorpusRequest, CorpusSummary, corpus_summary
from annotation.models import Account, Corpus

LONGEST_LICENCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceRequest(CorpusRequest):
    """Datasheets and dataset cards repeat it."""

    licence: Annotated[
        str,
        Field(max_length=LONGEST_LICENCE),
        Help(_("Licence"), _("Name or address, as CC BY 4.0; empty says that nobody knows")),
    ] = ""


def set_licence(*, corpus: Corpus, licence: str, actor: Account | None = None) -> bool:
    """Say under which licence a corpus may be used; "" says that nobody knows. False: as before."""
    licence = " ".join(licence.replace("\0", "").split())
    with database.writing():
        changed = bool(Corpus.objects.filter(pk=corpus.pk).exclude(licence=licence).update(licence=licence))
        if changed:
            record(actor=actor, act="set_licence", corpus=corpus.name, licence=licence)
    corpus.licence = licence
    return changed


def set_named_licence(request: LicenceRequest, context: OperationContext) -> CorpusSummary:
    """Set the licence of a corpus."""
    row = request.row()
    set_licence(corpus=row, licence=request.licence, actor=context.actor)
    return corpus_summary(row)
