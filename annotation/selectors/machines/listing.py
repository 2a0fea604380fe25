"""Machines of a campaign as operations show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Listing, Named, OperationContext
from annotation.selectors.machines.reports import machine_reports
from annotation.selectors.machines.savings import MachineSaving, machine_saving
from annotation.selectors.stored_kinds import CAMPAIGNS
from annotation.selectors.workers.choosing import campaign_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesRequest:
    """The machines of a campaign, and what people said of their boxes, by category."""

    campaign: Annotated[str, Named(CAMPAIGNS), Help(_("Campaign"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSavingRequest:
    """What the machines of a campaign saved its people, by what a drawing and a look take."""

    campaign: Annotated[str, Named(CAMPAIGNS), Help(_("Campaign"))]


def list_machines(request: MachinesRequest, context: OperationContext) -> Listing:
    """The machines, by name."""
    return Listing(machine_reports(campaign_of(request)), lambda one: one.name, lambda one: one)


def show_machine_saving(request: MachineSavingRequest, context: OperationContext) -> MachineSaving:
    """What they saved, in people's answers and in seconds."""
    campaign = campaign_of(request)
    return machine_saving(campaign, machine_reports(campaign))
