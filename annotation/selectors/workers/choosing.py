"""Workers of a campaign in requests: by pseudonym, or by filters."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FieldError, Help, Invalid, OneOf, invalid
from annotation.common.operations.fields import NAME_PATTERN
from annotation.models import Campaign
from annotation.protocol.kinds import names
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.workers.worker_table import (
    WORKER_STATES,
    WorkerTableRequest,
    matching_workers,
    workers_called,
)
from annotation.task_types.wording import kind_in_words

#: Maximum number of workers in one request.
MOST_WORKERS = 10_000

#: The number of a row without another name; JSON represents only these integers exactly.
RowNumber = Annotated[int, Field(ge=1, le=2**53 - 1)]
Pseudonym = Annotated[str, Field(max_length=40, pattern=NAME_PATTERN)]
QuestionKind = Annotated[str, OneOf(lambda: {kind: kind_in_words(kind) for kind in names()}, _("all kinds"))]
TrustStateName = Annotated[str, OneOf(lambda: dict.fromkeys(WORKER_STATES), _("any"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenWorkers(CampaignRequest):
    """Workers of a campaign: the named ones, or everyone who matches the filters."""

    workers: Annotated[
        tuple[Pseudonym, ...], Field(max_length=MOST_WORKERS), Help(_("Workers"), _("Their pseudonyms"))
    ] = ()
    everyone: Annotated[
        bool, Help(_("Everyone"), _("Not only those named: all that the following filters leave"))
    ] = False
    find: Annotated[
        str, Field(max_length=100), Help(_("Pseudonym contains"), _("A filter, with “everyone”"))
    ] = ""
    state: Annotated[TrustStateName | None, Help(_("Status"), _("A filter, with “everyone”"))] = None
    answering: Annotated[QuestionKind | None, Help(_("Kind answered"), _("A filter, with “everyone”"))] = None

    def problems(self) -> Iterator[FieldError]:
        """Yield an error if no worker is selected."""
        if not self.workers and not self.everyone:
            yield FieldError("workers", "missing")


def chosen_workers(request: ChosenWorkers, campaign: Campaign) -> dict[str, int]:
    """Return the ids of the selected workers by pseudonym. Raises Invalid, with all unknown ones."""
    if request.everyone:
        table = WorkerTableRequest(
            sort="worker", kind=request.answering or "", state=request.state or "", find=request.find
        )
        return matching_workers(campaign, table)
    workers = workers_called(campaign, request.workers)
    unknown = [(number, name) for number, name in enumerate(request.workers) if name not in workers]
    if unknown:
        raise Invalid(*(_unknown(f"workers.{number}", name) for number, name in unknown))
    return workers


def worker_id(name: str, campaign: Campaign) -> int:
    """Return the id of the one worker that a request names in `worker`. Raises Invalid."""
    workers = workers_called(campaign, [name])
    if name not in workers:
        raise Invalid(_unknown("worker", name))
    return workers[name]


def check_kind(kind: str | None, campaign: Campaign) -> None:
    """Raise Invalid if the campaign has no such questions."""
    if kind is not None and kind not in campaign.kinds:
        known = ", ".join(campaign.kinds)
        raise invalid("kind", "unknown_of", kind=_("kind of question"), value=kind, known=known)


def _unknown(field: str, name: str) -> FieldError:
    return FieldError(field, "unknown", {"kind": _("worker"), "value": name})
