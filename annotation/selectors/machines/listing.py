"""Machines of a campaign as operations show them."""

from dataclasses import dataclass

from annotation.common.operations import Listing, OperationContext
from annotation.selectors.machines.reports import machine_reports
from annotation.selectors.machines.savings import MachineSaving, machine_saving
from annotation.selectors.stored_kinds import CampaignRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesRequest(CampaignRequest):
    """The machines of a campaign, and what people said of their boxes, by category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSavingRequest(CampaignRequest):
    """What the machines of a campaign saved its people, by what a drawing and a look take."""


def list_machines(request: MachinesRequest, context: OperationContext) -> Listing:
    """The machines, by name."""
    return Listing(machine_reports(request.row()), lambda report: report.name, lambda report: report)


def show_machine_saving(request: MachineSavingRequest, context: OperationContext) -> MachineSaving:
    """What they saved, in people's answers and in seconds."""
    campaign = request.row()
    return machine_saving(campaign, machine_reports(campaign))
