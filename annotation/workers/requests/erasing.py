"""Operations that erase workers' identities."""

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OperationContext
from annotation.workers import pseudonyms
from annotation.workers.pseudonyms import Erased


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseWorkerRequest:
    """Account, sessions, identity and comments of a worker are deleted; answers stay under the pseudonym.
    Rejected while payment is due. This is irreversible."""

    worker: Annotated[
        str, Field(max_length=150), Help(_("Worker"), _("The pseudonym, or the name of the account"))
    ]
    texts: Annotated[bool, Help(_("Erase texts"), _("What they wrote as answers is erased, too"))] = False
    reasons: Annotated[
        bool,
        Help(
            _("Erase reasons"),
            _("What staff typed about them is erased, too: reasons of bonuses, payments and suspensions"),
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseAgainRequest:
    """Erase again everybody on the list of erasures whom a restored backup contained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedAgain:
    """The workers who were erased again."""

    erased: tuple[Erased, ...]


def erase_one(request: EraseWorkerRequest, context: OperationContext) -> Erased:
    """Erase a worker. Raises PhraseboxError, and Invalid for an unknown name."""
    worker = pseudonyms.worker_called(request.worker)
    return pseudonyms.erase_worker(
        worker=worker, texts=request.texts, reasons=request.reasons, actor=context.actor
    )


def erase_restored(request: EraseAgainRequest, context: OperationContext) -> ErasedAgain:
    """Apply the list of erasures again."""
    return ErasedAgain(erased=tuple(pseudonyms.erase_again(actor=context.actor)))
