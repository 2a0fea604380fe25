"""Write a release bundle. All of an image is read in one snapshot, so that its files agree."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TextIO

from annotation.common.database import one_moment
from annotation.datasets.bundles.bundle_rows import BundleRow, chain_rows, counted_outcomes
from annotation.datasets.bundles.control_rows import ReleasedControls
from annotation.datasets.bundles.release_names import ReleaseNames
from annotation.datasets.datasheets import add_card
from annotation.datasets.exporting import (
    NOTES,
    Chosen,
    ExportError,
    complete_folder,
    notes_on,
    simulated_refusal,
)
from annotation.datasets.layer_rows import numbered_chains
from annotation.datasets.layers import layer_to_read
from annotation.formats import FORMATS, Written
from annotation.models import Campaign, Caption, Image, Instructions, ModelProposals, OpenImage, Ruling
from annotation.protocol.counted import CountedFold
from annotation.protocol.kinds import ABOUT_CHAIN, kind_of
from annotation.protocol.terms import ImageRecord
from annotation.queue.image_state import stored_fold
from annotation.selectors.answers import answers
from annotation.selectors.campaigns import settings_by_version, settings_versions
from annotation.selectors.datasheet.figures import datasheet_figures
from annotation.selectors.records import image_record
from phrasebox.text_files import open_new

_SUMS, _SCRIPT = "SHA256SUMS", "check.py"
#: The files of rows, in the order of the images if they are about images.
BUNDLE_TABLES = (
    *("images", "mentions", "answers", "rulings", "outcomes", "chains", "merges", "proposals"),
    *("settings", "instructions", "controls", "control_answers"),
)

_Progress = Callable[[Iterable[int]], Iterable[int]]


def check_bundle(campaign: Campaign, *, simulated: bool = False) -> None:
    """Raise ExportError if a campaign cannot be exported as a bundle."""
    if campaign.simulated and not simulated:
        raise ExportError(simulated_refusal(campaign.name))


def write_bundle(
    *, campaign: Campaign, out: Path, simulated: bool = False, progress: _Progress = iter
) -> Written:
    """Write the bundle of a campaign under the new folder `out`, which is complete once it exists.

    People, answers and times get new names (`release_names`). It contains control items once the campaign is
    closed, except those that an open campaign uses. `progress` gets the images. Raises ExportError.
    """
    check_bundle(campaign, simulated=simulated)
    with complete_folder(out) as partial:
        with ExitStack() as stack:
            files = {name: stack.enter_context(open_new(partial / f"{name}.jsonl")) for name in BUNDLE_TABLES}
            bundle = _Bundle(campaign, files)
            bundle.add_campaign()
            written = FORMATS.get("jsonl").write(bundle.records(progress), partial)
        written.counts |= bundle.counts
        written.files += [partial / f"{name}.jsonl" for name in BUNDLE_TABLES]
        _add_texts(campaign, written, partial)
    written.files = [out / file.relative_to(partial) for file in written.files]
    return written


@dataclass
class _Bundle:
    """The files of a bundle while they are written."""

    campaign: Campaign
    files: dict[str, TextIO]
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = ReleaseNames(self.campaign)
        self.controls = ReleasedControls(self.campaign)

    def add(self, name: str, row: BundleRow) -> None:
        self.files[name].write(json.dumps(row, ensure_ascii=False) + "\n")
        self.counts[name] = self.counts.get(name, 0) + 1

    def add_campaign(self) -> None:
        """Write the data that belongs to no image: settings, instructions, control items with their
        answers."""
        days = {row.number: _day(row.created_at) for row in settings_versions(self.campaign)}
        for number, settings in sorted(settings_by_version(self.campaign).items()):
            row = {"version": number, "since": days.get(number), "settings": settings.as_dict()}
            self.add("settings", row)
        for text in Instructions.objects.filter(campaign=self.campaign).order_by("kind", "version"):
            row = {"kind": text.kind, "version": text.version, "since": _day(text.created_at)}
            self.add("instructions", {**row, "text": text.text})
        for row in self.controls.rows():
            self.add("controls", row)
        for answer in self.controls.answers():
            (released,), _ = self.names.of_image([answer])
            self.add("control_answers", released)

    def records(self, progress: _Progress) -> Iterator[ImageRecord]:
        """Yield the complete images, each after all of its rows are written; rows of other images are written
        too."""
        opened = OpenImage.objects.filter(campaign=self.campaign).order_by("position", "pk")
        for image in progress(list(opened.values_list("pk", flat=True))):
            with one_moment():
                record = self._image(OpenImage.objects.select_related("image").get(pk=image))
            if record is not None:
                yield record

    def _image(self, image: OpenImage) -> ImageRecord | None:
        key, row = image.image.key, image.image
        known = [self.controls.without_hidden(answer) for answer in self._answers(image)]
        released, numbers = self.names.of_image(known)
        fold, judgments = stored_fold(image)
        rulings = Ruling.objects.filter(image=image).order_by("pk")
        rows = {"answers": released, "rulings": [_ruling(ruling) for ruling in rulings]}
        layer = None
        if isinstance(fold, CountedFold):
            rows["outcomes"] = [*counted_outcomes(fold, judgments, released, numbers)]
        else:
            of_chains, state = chain_rows(fold, judgments, numbers)
            rows |= of_chains
            layer = numbered_chains(image, state.layer)
        self.add(
            "images",
            {
                "image": key,
                "filename": row.filename,
                "width": row.width,
                "height": row.height,
                "settings": image.settings_version,
                "boxes": image.settings.get("boxes", "never"),
                "complete": image.complete,
                "questions": image.questions,
            },
        )
        for name, of_image in rows.items():
            for one in of_image:
                self.add(name, {"image": key, **one})
        proposals = (
            ModelProposals.objects.filter(image=image).select_related("model_annotator").order_by("pk")
        )
        for proposal in proposals:
            for mention, boxes in proposal.boxes.items():
                for *box, chance in boxes:
                    about = {"model": proposal.model_annotator.name, "version": proposal.version}
                    self.add(
                        "proposals",
                        {"image": key, **about, "mention": mention, "box": box, "chance": chance},
                    )
        captions = Caption.objects.filter(image=row).order_by("number")
        return image_record(row, captions, layer) if image.complete else None

    def _answers(self, image: OpenImage) -> Iterator[BundleRow]:
        return answers(self.campaign, known=self.controls.ended, image=image.pk)


def _add_texts(campaign: Campaign, written: Written, folder: Path) -> None:
    """Add card, notes, people and script, and finally the checksums of all files."""
    images = Image.objects.filter(pk__in=OpenImage.objects.filter(campaign=campaign).values("image"))
    of_chain = any(kind_of(kind).about == ABOUT_CHAIN for kind in campaign.kinds)
    layer = layer_to_read(campaign.corpus, campaign.name) if of_chain and _has_layer(campaign) else None
    unfinished = OpenImage.objects.filter(campaign=campaign, complete=False).count()
    written.notes += notes_on(Chosen(campaign.corpus, layer, images, campaign, unfinished=unfinished))
    figures = datasheet_figures(campaign.corpus, layer, images, campaign)
    with open_new(folder / "people.csv") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["column", "value", "people"])
        for column in ("source", "country"):
            people = sorted(figures["campaign"]["people"][f"by_{column}"].items())
            table.writerows([column, value, number] for value, number in people)
    here = Path(__file__).parent
    counts = {**dict.fromkeys(BUNDLE_TABLES, 0), **written.counts}
    readme = (here / "bundle_readme.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{name}.jsonl` | {counts[name]:,} |" for name in BUNDLE_TABLES)
    about = readme.format(campaign=campaign.name, rows=rows) + "\n"
    jsonl = FORMATS.get("jsonl")
    add_card(figures, written, writer=jsonl, out=folder, with_pictures=False, before=about)
    texts = {
        NOTES: "".join(f"{note}\n" for note in written.notes),
        _SCRIPT: (here / _SCRIPT).read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text, encoding="utf-8")
    sums = (f"{_digest(file)}  {file.name}\n" for file in sorted(folder.iterdir()))
    (folder / _SUMS).write_text("".join(sums), encoding="utf-8")
    written.files = sorted(folder.iterdir())


def _ruling(ruling: Ruling) -> BundleRow:
    withdrawn = ruling.withdrawn_at is not None
    return {"at": _day(ruling.made_at), "withdrawn": withdrawn, **ruling.content}


def _day(at: datetime) -> str:
    return at.date().isoformat()


def _has_layer(campaign: Campaign) -> bool:
    return campaign.corpus.layers.filter(name=campaign.name, published=True).exists() or (
        OpenImage.objects.filter(campaign=campaign, layer_behind=True, version__gt=0).exists()
    )


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
