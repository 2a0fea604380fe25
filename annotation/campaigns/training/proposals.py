"""The boxes that a machine proposes as a file: written, and those of another program read."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.campaigns import machines
from annotation.common.operations import FileUpload, Help, NewFile, OperationContext
from annotation.formats.proposals import OutOfPicture, read_proposals, write_proposals
from annotation.models import Machine
from annotation.protocol.campaign_settings import CampaignError
from annotation.queue import machine_turns, submission
from annotation.selectors.corpora import names_of_images
from annotation.selectors.machines.proposals import picture_sizes, stored_proposals
from annotation.selectors.stored_kinds import CampaignRequest

_NamedMachine = Annotated[machines.MachineName, Help(gettext_lazy("Machine"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProposalsRequest(CampaignRequest):
    """JSON, an image in each line: such a file can be imported, and studied."""

    machine: _NamedMachine


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProposalsRequest(CampaignRequest):
    """The machine answers at once with them, and no longer learns by itself: teaching it replaces them."""

    machine: _NamedMachine
    file: Annotated[
        Path,
        FileUpload(),
        Help(
            gettext_lazy("File"),
            'JSON, an image in each line: {"image": KEY, "boxes": '
            "{MENTION: [[xmin, ymin, xmax, ymax, chance], ...]}}",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenProposals:
    """Of how many images boxes were written, and of which version of the machine."""

    version: int
    images: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedProposals:
    """Of how many images a machine has boxes now, and how many questions it answered at once. Of the boxes
    some were `clipped`, since they reached out of their picture, and others, `outside` of it, left out."""

    campaign: str
    machine: str
    version: int
    images: int
    answers: int
    clipped: int
    outside: int


def export_proposals(request: ExportProposalsRequest, context: OperationContext) -> NewFile:
    """The file of the boxes that a machine would draw."""
    machine = machines.machine_in(request.row(), request.machine)
    return NewFile(f"{request.campaign}-{machine.name}.jsonl", partial(_write, machine))


def _write(machine: Machine, path: Path) -> WrittenProposals:
    images = write_proposals(path, stored_proposals(machine))
    return WrittenProposals(version=machine.version, images=images)


def import_proposals(request: ImportProposalsRequest, context: OperationContext) -> ImportedProposals:
    """Give a machine its boxes, and let it answer. Raises Busy, CampaignError and FormatError."""
    campaign = request.row()
    machine = machines.machine_in(campaign, request.machine)
    machines.refuse_busy(machine)
    sizes, out = picture_sizes(campaign), OutOfPicture()
    with machines.training_run(machine) as (version, _folder):
        boxes = read_proposals(
            request.file,
            size_of=lambda image: sizes.get(image, (0, 0)),
            out=out,
            key_of=names_of_images(campaign.corpus).key,
        )
        images = machines.store_proposals(machine, boxes, version=version)
        if not images:
            raise CampaignError(
                _("%(file)s has no image; the machine is what it was") % {"file": request.file}
            )
        source = f"file {request.file.name}"
        machines.machine_trained(machine, images=None, source=source, from_file=True)
    answers = machine_turns.take_turns(campaign, submission.submit)
    return ImportedProposals(
        campaign=campaign.name,
        machine=machine.name,
        version=version,
        images=images,
        answers=answers,
        clipped=out.clipped,
        outside=out.outside,
    )
