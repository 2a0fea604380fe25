"""`manage.py compare_question_orders`: what `likely_first` saves over the printed order."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.campaigns import gold_layer
from annotation.common.registry import UnknownName
from annotation.management.base import ReportCommand, few_images, plain_table, progress_bar
from annotation.protocol.gold import Gold
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from annotation.simulation.study import MEASURES, RATES, SEEDS, as_dicts, study_costs
from annotation.synthetic_corpus.generate import generate
from annotation.task_types import discovery


class Command(ReportCommand):
    help = (
        "Compare the two orders of candidate chains, likely_first and as_printed, at several error "
        "rates: questions per mention, judgments per image, B-cubed chain F1 and box IoU, with 95 % "
        "bootstrap intervals over images. Uses the generated sample, or a corpus that has gold."
    )
    refusals = (UnknownName,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--corpus", help="A corpus with a gold layer (default: the generated sample)")
        parser.add_argument("--images", type=int, default=60, help="How many images (default 60)")
        parser.add_argument("--seeds", type=int, default=SEEDS)
        parser.add_argument("--rates", default=",".join(map(str, RATES)), metavar="R,R,...")
        parser.add_argument("--resamples", type=int, default=1000)

    def report(self, **options: Any) -> dict[str, Any]:
        discovery.load_kind_modules("simulate")
        rates = _rates(options["rates"])
        for name in ("images", "seeds", "resamples"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]}: expected 1 or more")
        images = _images(options["corpus"], options["images"])
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

    def show(self, report: dict[str, Any]) -> str:
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
