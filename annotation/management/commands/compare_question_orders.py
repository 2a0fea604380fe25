"""`manage.py compare_question_orders`: what `likely_first` saves over the printed order."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.campaigns import gold_layer
from annotation.common.registry import UnknownName
from annotation.formats.base import FormatError
from annotation.formats.proposals import read_proposals
from annotation.management.base import ReportCommand, few_images, plain_table, progress_bar
from annotation.protocol.gold import Gold
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from annotation.simulation.machine_study import machine_table, study_machine
from annotation.simulation.study import MEASURES, RATES, SEEDS, as_dicts, study_costs
from annotation.synthetic_corpus.generate import generate
from annotation.task_types import discovery


class Command(ReportCommand):
    help = (
        "Compare the two orders of candidate chains, likely_first and as_printed, at several error "
        "rates: questions per mention, judgments per image, B-cubed chain F1 and box IoU, with 95 % "
        "bootstrap intervals over images. Uses the generated sample, or a corpus that has gold."
    )
    refusals = (UnknownName, FormatError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--corpus", help="A corpus with a gold layer (default: the generated sample)")
        parser.add_argument("--images", type=int, default=60, help="How many images (default 60)")
        parser.add_argument("--seeds", type=int, default=SEEDS)
        parser.add_argument("--rates", default=",".join(map(str, RATES)), metavar="R,R,...")
        parser.add_argument("--resamples", type=int, default=1000)
        parser.add_argument(
            "--machine",
            type=Path,
            metavar="FILE.jsonl",
            help="Instead: what a machine saves that proposes these boxes (see export_proposals), and what "
            "one costs that draws anywhere",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        discovery.load_kind_modules("simulate")
        rates = _rates(options["rates"])
        for name in ("images", "seeds", "resamples"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]}: expected 1 or more")
        images = _images(options["corpus"], options["images"])
        if options["machine"] is not None:
            return self._machine(images, options)
        total = len(images) * len(rates) * options["seeds"] * 2
        with progress_bar(what="images simulated", total=total) as bar:
            rows = study_costs(
                images, rates=rates, seeds=options["seeds"], resamples=options["resamples"], step=bar.update
            )
        return {
            "images": len(images),
            "seeds": options["seeds"],
            "interval_remark": few_images(len(images)),
            "rows": as_dicts(rows),
        }

    def _machine(self, images: list[Gold], options: dict[str, Any]) -> dict[str, Any]:
        proposals = dict(read_proposals(options["machine"]))
        if not proposals.keys() & {image for image, _, _ in images}:
            raise CommandError(
                f"{options['machine']} proposes boxes of none of these {len(images)} images; propose for the "
                "corpus that is studied"
            )
        with progress_bar(what="images simulated", total=len(images) * options["seeds"] * 3) as bar:
            found = study_machine(
                images, proposals, seeds=options["seeds"], resamples=options["resamples"], step=bar.update
            )
        return {
            "images": len(images),
            "seeds": options["seeds"],
            "interval_remark": few_images(len(images)),
            "machine": [asdict(figure) for figure in found.figures],
            "boxes": [asdict(boxes) for boxes in found.boxes],
        }

    def show(self, report: dict[str, Any]) -> str:
        if "machine" in report:
            return machine_table(report)
        cells = {(r["rate"], r["order"], r["measure"]): r for r in report["rows"]}
        lines = []
        for rate, order in dict.fromkeys((r["rate"], r["order"]) for r in report["rows"]):
            line: list[Any] = [f"{rate:.2f}", order]
            for measure in MEASURES:
                cell = cells[rate, order, measure]
                line.append(f"{cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]")
            lines.append(line)
        head = ["error", "order", *(m.replace("_", " ") for m in MEASURES)]
        remark = f" ({report['interval_remark']})" if report["interval_remark"] else ""
        return (
            f"{report['images']} images, {report['seeds']} seeds, "
            f"95 % bootstrap intervals over images{remark}\n"
            f"{plain_table(head, lines)}"
        )


def _rates(text: str) -> list[float]:
    """ "0,0.2" as numbers from 0 to 1."""
    try:
        rates = [float(rate) for rate in text.split(",")]
    except ValueError:
        rates = [-1.0]
    if not all(0 <= rate <= 1 for rate in rates):
        raise CommandError(f"--rates {text!r}: expected error rates from 0 to 1, separated by commas")
    return rates


def _images(corpus: str | None, count: int) -> list[Gold]:
    if corpus is None:
        records = generate(count, seed=1, out=None)
    else:
        found = corpus_named(corpus)
        layer = gold_layer(found)
        if layer is None:
            raise CommandError(f"corpus {corpus!r} has no gold layer; import one with mentions and boxes")
        records = stream_records(corpus=found, layer=layer)
    images: list[Gold] = []
    for record in records:
        if record.layer is not None:
            images.append((record.id, (record.width, record.height), record.layer))
        if len(images) == count:
            break
    return images
