"""Machines of a campaign: listed, added, what they saved."""

from django.utils.translation import gettext_lazy as _

from annotation.campaigns import CampaignError, machines
from annotation.common.operations import CommandLine, FormPage, Has, Operation, Rest, register
from annotation.common.roles import RESEARCHER
from annotation.operations import machines_texts as texts
from annotation.selectors.machines import listing
from annotation.selectors.machines.reports import MachineReport
from annotation.selectors.machines.savings import MachineSaving

_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_TAG = "machines"
_PATH = "campaigns/<slug:campaign>/machines"

register(
    Operation(
        name="list_machines",
        title=_("List machines"),
        request=listing.MachinesRequest,
        result=MachineReport,
        permission=_ON_CAMPAIGN,
        run=listing.list_machines,
        listed=True,
        rest=Rest("GET", _PATH, _TAG, route="machines"),
        command=CommandLine(positional=("campaign",), text=texts.machines_text),
    )
)
register(
    Operation(
        name="add_machine",
        title=_("Add a machine"),
        request=machines.AddMachineRequest,
        result=MachineReport,
        permission=_ON_CAMPAIGN,
        run=machines.add_machine,
        errors=(CampaignError,),
        rest=Rest(
            "POST",
            _PATH,
            _TAG,
            route="machines",
            creates="campaigns/{campaign}/machines",
            example={"name": "drawer"},
        ),
        command=CommandLine(positional=("campaign", "name"), text=texts.machine_text),
        page=FormPage(done=texts.added_message),
    )
)
register(
    Operation(
        name="machine_saving",
        title=_("Show what machines saved"),
        request=listing.MachineSavingRequest,
        result=MachineSaving,
        permission=_ON_CAMPAIGN,
        run=listing.show_machine_saving,
        rest=Rest("GET", f"{_PATH}/saving", _TAG),
        command=CommandLine(positional=("campaign",), text=texts.saving_text),
    )
)
