"""Machines of a campaign: listed, added, what they saved."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.campaigns import machines
from annotation.campaigns.training import proposals
from annotation.common.operations import CommandLine, File, FormPage, Has, Listing, Rest, register
from annotation.common.plain_text import text_table
from annotation.common.roles import RESEARCHER
from annotation.protocol.answer_times import table_of_savings
from annotation.selectors.machines import saving_report
from annotation.selectors.machines.reports import MachineReport
from annotation.selectors.machines.saving_report import MachineSaving

_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_TAG = "machines"
_PATH = "campaigns/<slug:campaign>/machines"


def _machines_text(listing: Listing) -> str:
    """Each machine, and its boxes by category."""
    return "\n".join(map(_machine_text, listing.rows)) or "none"


def _machine_text(report: MachineReport) -> str:
    """A machine: how it stands, and what became of its boxes."""
    line = (
        f"{report.name} ({report.worker}): version {report.version}, {report.state}"
        f"{'' if report.works else ', proposes nothing now'}; "
        f"{report.good} of {report.judged} judged boxes accepted, {report.waiting} wait"
    )
    if not report.categories:
        return line
    rows = [
        [
            category.category,
            category.judged,
            category.good,
            "people draw" if category.left or not report.works else "",
        ]
        for category in report.categories
    ]
    return f"{line}\n{text_table(['category', 'judged', 'accepted', ''], rows)}"


def _saving_text(saving: MachineSaving) -> str:
    """What machines saved, over a grid of prices."""
    lines = [
        "Share of people's seconds saved, by what a drawing and a look take:",
        table_of_savings(saving.shares),
    ]
    if saving.measured is not None:
        lines.append(
            f"at {saving.times.drawing:.1f} s a drawing and {saving.times.looking:.1f} s a look, as measured "
            f"here: {saving.measured:+.1%}"
        )
    return "\n".join(lines)


def _imported_text(done: proposals.ImportedProposals) -> str:
    """How many boxes a machine got of a file, and what it answered."""
    of_file = (
        f"; {done.clipped} boxes reached out of their picture and were cut, {done.outside} lay "
        "wholly outside and were left out"
        if done.clipped or done.outside
        else ""
    )
    return (
        f"machine {done.machine}, version {done.version}: boxes for {done.images} images; "
        f"{done.answers} questions answered at once{of_file}"
    )


def _added_message(report: MachineReport) -> str:
    """That a machine was added."""
    return gettext("Machine “%(name)s” added. It proposes boxes once it has learned.") % {"name": report.name}


register(
    title=_("List machines"),
    result=MachineReport,
    permission=_ON_CAMPAIGN,
    run=saving_report.list_machines,
    rest=Rest("GET", _PATH, _TAG, route="machines"),
    command=CommandLine(text=_machines_text),
)
register(
    title=_("Add a machine"),
    permission=_ON_CAMPAIGN,
    run=machines.add_machine,
    rest=Rest(
        "POST",
        _PATH,
        _TAG,
        route="machines",
        creates="campaigns/{campaign}/machines",
        example={"name": "drawer"},
    ),
    command=CommandLine(positional=("campaign", "name"), text=_machine_text),
    page=FormPage(done=_added_message),
)
register(
    name="machine_saving",
    title=_("Show what machines saved"),
    permission=_ON_CAMPAIGN,
    run=saving_report.show_machine_saving,
    rest=Rest("GET", f"{_PATH}/saving", _TAG),
    command=CommandLine(text=_saving_text),
)
register(
    title=_("Export the boxes that a machine proposes"),
    result=File("application/x-ndjson"),
    permission=_ON_CAMPAIGN,
    run=proposals.export_proposals,
    rest=Rest("GET", f"{_PATH}/<slug:machine>/proposals", _TAG, route="machine_proposals"),
)
register(
    title=_("Import the boxes that a machine proposes"),
    permission=_ON_CAMPAIGN,
    run=proposals.import_proposals,
    errors=(OSError,),
    as_job=True,
    rest=Rest(
        "POST",
        f"{_PATH}/<slug:machine>/proposals",
        _TAG,
        route="machine_proposals",
        example={"file": "boxes.jsonl"},
    ),
    command=CommandLine(positional=("campaign", "machine", "file"), text=_imported_text),
    page=FormPage(started=_("Importing the boxes.")),
)
