"""`manage.py score_captions CORPUS FILE|SET... [--split S] [--measures M,M] [--json|--csv|--latex]`.

    python manage.py score_captions flickr8k show-and-tell.jsonl --split test
    python manage.py score_captions coco captions_val_results.json --measures BLEU-4,CIDEr-D,ROUGE-L
    python manage.py score_captions flickr8k beam-1 beam-7 theirs.jsonl --split test
    python manage.py score_captions flickr30k regional --layer people
    python manage.py score_captions flickr30k regional --campaign described

The captions that a system wrote, one for each image, against all captions of the corpus: BLEU, ROUGE, CIDEr
and, where it is installed, METEOR, each with an interval bootstrapped over images. Of several systems, the
differences from the first follow, over the same resamples of the same images. Nothing is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.formats.base import FormatError
from annotation.protocol.campaign_settings import CampaignError
from evaluation.agreement.estimates import AgreementError
from evaluation.agreement.summary import Resampling
from evaluation.comparison.missing import REFUSE, MissingOutput
from evaluation.comparison.provenance import Declaration
from evaluation.comparison.subsets import BadSubset
from evaluation.formats.figure_tables import Table
from evaluation.management.base import TablesCommand, add_missing, add_subset, subset_of
from evaluation.management.training import add_trained_on
from evaluation.metrics.captions import CUTS, DEFAULT_CUT, FAMILY
from evaluation.metrics.meteor import MeteorFailed, MeteorMissing
from evaluation.metrics.table import METRICS, UnknownMeasure
from evaluation.services.captions.figures import CaptionScoring, tables_of_captions
from evaluation.services.captions.references import subset_of_documents
from evaluation.services.captions.region_scores import (
    RegionReferences,
    remarks_on_region_captions,
    score_region_captions,
)
from evaluation.services.captions.scores import remarks_on_captions, score_caption_files
from evaluation.services.common import ImportRefused

#: All that needs no other program.
MEASURES = tuple(name for name in METRICS.names(FAMILY) if name != "METEOR")


class Command(TablesCommand):
    help = (
        "Score the captions that systems wrote against those of a corpus, and compare them with the first. A "
        'file holds one caption for each image: JSON lines {"image": NAME, "caption": TEXT}, or the results '
        "of the COCO evaluation."
    )
    refusals = (
        *TablesCommand.refusals,
        *(AgreementError, BadSubset, CampaignError, FormatError, ImportRefused, MeteorFailed, MeteorMissing),
        *(MissingOutput, OSError, UnknownMeasure),
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus whose captions are the references")
        parser.add_argument(
            "captions",
            type=Path,
            nargs="+",
            metavar="FILE|SET",
            help="The captions to be scored: a file, or the name of a caption set. The others are compared "
            "with the first",
        )
        parser.add_argument(
            "--measures",
            type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
            default=list(MEASURES),
            help=f"Separated by commas (default: {','.join(MEASURES)}); known: "
            f"{', '.join(METRICS.names(FAMILY))}",
        )
        add_subset(parser)
        parser.add_argument(
            "--documents",
            default="",
            help="The images whose references CIDEr counts as documents, named as by --split (default: those "
            "of --split if it is a split, else of the whole corpus)",
        )
        parser.add_argument(
            "--tokens",
            choices=list(CUTS),
            default=DEFAULT_CUT,
            help="How texts are cut for BLEU, ROUGE-L, CIDEr and METEOR: as by the COCO evaluation (ptb), or "
            f"at hyphens and all signs (own) (default: {DEFAULT_CUT})",
        )
        add_missing(parser, "images without a caption")
        add_trained_on(parser)
        parser.add_argument(
            "--layer", default="", help="For captions of regions: a layer with people's boxes and mentions"
        )
        parser.add_argument(
            "--campaign", default="", help="Instead: a campaign in which people described regions"
        )
        parser.add_argument("--resamples", type=int, default=1000, help="For intervals; 0 for none")
        parser.add_argument("--level", type=float, default=0.95, help="Of the intervals (default: 0.95)")
        parser.add_argument("--seed", type=int, default=0, help="Of the resamples (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        if not options["measures"]:
            raise CommandError(f"no measures; known: {', '.join(METRICS.names(FAMILY))}")
        how = CaptionScoring(
            measures=options["measures"],
            tokens=options["tokens"],
            resampling=Resampling(options["resamples"], options["level"], options["seed"]),
        )
        if options["layer"] and options["campaign"]:
            raise CommandError("--layer and --campaign: use only one of them")
        if options["layer"] or options["campaign"]:
            for option, usual in (("split", ""), ("documents", ""), ("missing", REFUSE)):
                if options[option] != usual:
                    raise CommandError(f"captions of regions are scored whole; omit --{option}")
            if options["trained_on"]:
                raise CommandError("captions of regions are read from no file; omit --trained-on")
            return score_region_captions(
                corpus=options["corpus"],
                names=options["captions"],
                references=RegionReferences(options["layer"], options["campaign"]),
                how=how,
            )
        return score_caption_files(
            corpus=options["corpus"],
            files=options["captions"],
            how=how,
            subset=subset_of(options["corpus"], options),
            documents=subset_of_documents(
                options["corpus"], options["split"], options["documents"], seed=options["fold_seed"]
            ),
            missing=options["missing"],
            declared=Declaration(options["trained_on"]),
        )

    def tables(self, report: dict[str, Any]) -> dict[str, Table]:
        return tables_of_captions(report)

    def remarks(self, report: dict[str, Any]) -> str:
        return remarks_on_region_captions(report) if "people" in report else remarks_on_captions(report)
