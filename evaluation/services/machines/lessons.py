"""Teaching a machine, as an operation."""

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.campaigns import machines
from annotation.campaigns.machines import MachineName
from annotation.common.operations import Help, OperationContext
from annotation.selectors.corpora import CampaignRequest
from evaluation.services.machines.teaching import Taught, teach_machine
from evaluation.services.systems.sources import DeviceField
from phrasebox.device import CPU

#: Where the share of the whole begins that is left for proposing.
_TAUGHT_AT = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachMachineRequest(CampaignRequest):
    """A machine learns from the finished images, or takes the stored proposer that the campaign's settings
    name; its boxes are stored, and replace those that come from a file, and it answers."""

    machine: Annotated[MachineName, Help(_("Machine"))]
    restart: Annotated[
        bool, Help(_("Restart"), _("It forgets what it learnt last, and learns from the stored proposer"))
    ] = False
    device: DeviceField = CPU


def check_machine_free(request: TeachMachineRequest, context: OperationContext) -> TeachMachineRequest:
    """Raise CampaignError where the campaign is closed, or the machine is busy, and Invalid where the
    campaign has no such machine."""
    campaign = request.row()
    machines.refuse_closed(campaign)
    machines.refuse_busy(machines.machine_in(campaign, request.machine))
    return request


def teach(request: TeachMachineRequest, context: OperationContext) -> Taught:
    """Teach the machine. Where the clock asks for it, boxes that came from a file are not replaced. Raises as
    `teach_machine`, and Invalid where the campaign has no such machine."""
    machines.machine_in(request.row(), request.machine)

    def report_progress(phase: str, done: int, of: int) -> None:
        start, end = (_TAUGHT_AT, 1.0) if phase.startswith("proposing") else (0.0, _TAUGHT_AT)
        context.report_progress(phase, start + (end - start) * done / max(1, of))

    return teach_machine(
        campaign=request.campaign,
        model_annotator=request.machine,
        replaces_file=context.actor is not None or context.progress is None,
        restart=request.restart,
        device=request.device,
        report_progress=report_progress,
    )


def taught_text(taught: Taught) -> str:
    """What became of a lesson."""
    return (
        f"machine {taught.machine}, version {taught.version}, learnt from {taught.source}: "
        f"boxes for {taught.images} images; {taught.answers} questions answered at once"
        + (f"; they replace those of {taught.replaced}" if taught.replaced else "")
        + (f"; {taught.unreadable} pictures cannot be read" if taught.unreadable else "")
    )
