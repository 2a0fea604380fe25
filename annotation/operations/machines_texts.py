"""What commands print of machines, and what pages say of them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.common.operations import Listing
from annotation.common.plain_text import plain_table
from annotation.protocol.answer_times import table_of_savings
from annotation.selectors.machines.reports import MachineReport
from annotation.selectors.machines.savings import MachineSaving


def machines_text(listing: Listing) -> str:
    """Each machine, and its boxes by category."""
    return "\n".join(map(machine_text, listing.rows)) or "none"


def machine_text(one: MachineReport) -> str:
    """A machine: how it stands, and what became of its boxes."""
    line = (
        f"{one.name} ({one.worker}): version {one.version}, {one.state}"
        f"{'' if one.works else ', proposes nothing now'}; {one.good} of {one.judged} judged boxes accepted, "
        f"{one.waiting} wait"
    )
    if not one.categories:
        return line
    rows = [
        [each.category, each.judged, each.good, "people draw" if each.left or not one.works else ""]
        for each in one.categories
    ]
    return f"{line}\n{plain_table(['category', 'judged', 'accepted', ''], rows)}"


def saving_text(saving: MachineSaving) -> str:
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


def added_message(one: MachineReport) -> str:
    """That a machine was added."""
    return _("Machine “%(name)s” added. It proposes boxes once it has learned.") % {"name": one.name}
