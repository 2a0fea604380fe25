"""`manage.py compare_question_orders`: savings of `likely_first` over the printed order, of all settings that
save questions, and of model annotators."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.campaigns import campaign_named, gold_layer
from annotation.common.plain_text import text_table
from annotation.formats.layers.proposals import read_proposals
from annotation.management.base import ReportCommand, few_images, progress_bar
from annotation.protocol.gold import Gold
from annotation.protocol.link_chances import learn_chances
from annotation.protocol.model_annotators import Proposals
from annotation.selectors.corpora import corpus_named
from annotation.selectors.model_annotators.saving_report import answer_times
from annotation.selectors.records import stream_records
from annotation.simulation.economy import arms_run, study_economy
from annotation.simulation.model_study import study_table
from annotation.simulation.study import MEASURES, RATES, SEEDS, as_dicts, study_costs
from annotation.task_types import discovery

#: Number of images from which the probabilities of links are learned.
LEARN_FROM = 40


class Command(ReportCommand):
    help = (
        "Compare the two orders of candidate chains, likely_first and as_printed, at several error "
        "rates: questions per mention, judgments per image, B-cubed chain F1 and box IoU, with 95 % "
        "bootstrap intervals over images. With --economy, print instead what each saving, all of them, and "
        "model annotators save people, by what a drawing and a look take."
    )
    expected_errors = (OSError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--corpus", required=True, help="A corpus with a gold layer")
        parser.add_argument("--images", type=int, default=60, help="How many images (default 60)")
        parser.add_argument("--seeds", type=int, default=SEEDS)
        parser.add_argument("--rates", default=",".join(map(str, RATES)), metavar="R,R,...")
        parser.add_argument("--resamples", type=int, default=1000)
        parser.add_argument(
            "--economy",
            action="store_true",
            help="Instead: seconds, answers, chain F1 and box IoU of people alone, with each saving and with "
            "all of them, and of a bad model annotator",
        )
        parser.add_argument(
            "--learn-from",
            type=int,
            default=LEARN_FROM,
            metavar="N",
            help=f"Further images from which --economy learns the chances of links (default {LEARN_FROM})",
        )
        parser.add_argument(
            "--proposals",
            type=Path,
            action="append",
            default=[],
            metavar="FILE.jsonl",
            help="Instead, or with --economy: what a model annotator saves that proposes these boxes (see "
            "export_proposals), and what one costs that draws anywhere; may be repeated",
        )

        parser.add_argument(
            "--campaign",
            metavar="NAME",
            help="With --economy or --proposals: what is saved at the seconds that its people took, too",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        discovery.load_kind_modules("simulate")
        rates = _rates(options["rates"])
        for name in ("images", "seeds", "resamples"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]}: expected 1 or more")
        if options["economy"] or options["proposals"]:
            return self._economy(options)
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

    def _economy(self, options: dict[str, Any]) -> dict[str, Any]:
        count, savings = options["images"], options["economy"]
        if savings and options["learn_from"] < 1:
            raise CommandError(f"--learn-from {options['learn_from']}: expected 1 or more")
        images = _images(options["corpus"], count + (options["learn_from"] if savings else 0))
        images, others = images[:count], images[count:]
        if savings and not others:
            raise CommandError(
                f"the corpus has {len(images)} images with gold, and none is left to learn from; study fewer "
                "(--images)"
            )
        model_annotators = _model_annotators(options["proposals"], images)
        total = len(images) * options["seeds"] * arms_run(savings, len(model_annotators))
        with progress_bar(what="images simulated", total=total) as bar:
            economy = study_economy(
                images,
                chances=learn_chances(gold for _, _, gold in others) if savings else None,
                model_annotators=model_annotators,
                seeds=options["seeds"],
                resamples=options["resamples"],
                step=bar.update,
            )
        return {
            "images": len(images),
            "seeds": options["seeds"],
            "interval_remark": few_images(len(images)),
            "figures": [asdict(figure) for figure in economy.figures],
            "savings": [asdict(saving) for saving in economy.savings],
            "measured": _measured(options["campaign"]) if options["campaign"] else None,
            "boxes": [asdict(boxes) for boxes in economy.boxes],
        }

    def show(self, report: dict[str, Any]) -> str:
        if "figures" in report:
            return study_table(report)
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
            f"{text_table(head, lines)}"
        )


def _model_annotators(files: list[Path], images: list[Gold]) -> dict[str, dict[str, Proposals]]:
    """Return the proposals of each file, under the name of its model annotator. Raises CommandError if it has
    none of these images, or the name of another."""
    proposals_by_name: dict[str, dict[str, Proposals]] = {}
    sizes = {image: size for image, size, _ in images}
    for file in files:
        proposals = dict(read_proposals(file, size_of=lambda image: sizes.get(image, (0, 0))))
        if not proposals.keys() & {image for image, _, _ in images}:
            raise CommandError(
                f"{file} proposes boxes of none of these {len(images)} images; propose for the corpus that "
                "is studied"
            )
        name = "model annotator" if len(files) == 1 else f"model annotator {file.stem}"
        if name in proposals_by_name:
            raise CommandError(
                f"two files are called {file.name}; a model annotator is named after its file: rename one"
            )
        proposals_by_name[name] = proposals
    return proposals_by_name


def _measured(name: str) -> dict[str, Any]:
    """Return the seconds of a drawing and of a look in a campaign. Raises CommandError if there are no
    answers yet."""
    times = answer_times(campaign_named(name))
    if times.drawing is None or times.looking is None:
        raise CommandError(
            f"people have not drawn and looked in campaign {name!r} yet; name another, or leave --campaign "
            "out"
        )
    return {"campaign": name, "drawing": times.drawing, "looking": times.looking}


def _rates(text: str) -> list[float]:
    """Return "0,0.2" as numbers from 0 to 1."""
    try:
        rates = [float(rate) for rate in text.split(",")]
    except ValueError:
        rates = [-1.0]
    if not all(0 <= rate <= 1 for rate in rates):
        raise CommandError(f"--rates {text!r}: expected error rates from 0 to 1, separated by commas")
    return rates


def _images(name: str, count: int) -> list[Gold]:
    corpus = corpus_named(name)
    layer = gold_layer(corpus)
    if layer is None:
        raise CommandError(f"corpus {name!r} has no gold layer; import one with mentions and boxes")
    images: list[Gold] = []
    for record in stream_records(corpus=corpus, layer=layer):
        if record.layer is not None:
            images.append((record.id, (record.width, record.height), record.layer))
        if len(images) == count:
            break
    return images
