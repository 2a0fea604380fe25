"""`manage.py make_sample OUT --images N --seed S`: drawn scenes with captions and gold, as files."""

import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from PIL import Image

from annotation.formats import FORMATS
from annotation.management.base import ReportCommand, peak_mib, with_progress
from annotation.selectors.export_exclusions import missing_from_export
from config.sample import sample_records
from phrasebox.text_files import whole_file
from scenes.sheet import contact_sheet

#: The folder of pictures within OUT.
PICTURES = "images"


#: The number of pictures on the `--sheet`.
SHEET_PICTURES = 21


class Command(ReportCommand):
    help = (
        "Generate the sample corpus: pictures under OUT/images, captions with their gold layer beside "
        "them. The same seed gives the same images; a larger corpus begins with the smaller one. "
        "Import it with `import_corpus NAME OUT --format jsonl --images OUT/images`."
    )
    expected_errors = (OSError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("out", type=Path, metavar="OUT", help="A new or an empty folder")
        parser.add_argument("--images", type=int, default=200, metavar="N", help="How many (default 200)")
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="Default 1")
        parser.add_argument("--format", default="jsonl", help="jsonl (default) or any other that is written")
        parser.add_argument(
            "--parses",
            type=Path,
            metavar="FILE",
            help="Also write the dependency parses of the captions, as CoNLL-U",
        )
        parser.add_argument(
            "--sheet", type=Path, metavar="FILE", help="Also show the first 21 on one picture"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        out, count = Path(options["out"]), options["images"]
        writer = FORMATS.get(options["format"])
        if count < 1:
            raise CommandError(f"--images is {count}; expected 1 or more")
        if out.exists() and not (out.is_dir() and not any(out.iterdir())):
            raise CommandError(f"{out}: already exists; expected a new or an empty folder")
        began = time.monotonic()
        out.parent.mkdir(parents=True, exist_ok=True)
        # Everything is written beside OUT first, so that OUT is complete as soon as it exists.
        partial = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial"))
        try:
            with ExitStack() as files:
                parses = None
                if options["parses"]:
                    part = files.enter_context(whole_file(options["parses"]))
                    parses = files.enter_context(part.open("w", encoding="utf-8"))
                records = sample_records(count, seed=options["seed"], out=partial / PICTURES, parses=parses)
                written = writer.write(with_progress(records, what="images", total=count), partial)
            os.replace(partial, out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        if options["sheet"]:
            _show_first(out / PICTURES, options["sheet"])
        seconds = time.monotonic() - began
        return {
            "out": str(out),
            "pictures": str(out / PICTURES),
            "format": writer.key,
            "seed": options["seed"],
            "counts": written.counts,
            "excluded": written.excluded,
            "seconds": seconds,
            "images_per_second": count / seconds,
            "peak_memory_mib": peak_mib(),
        }

    def show(self, report: dict[str, Any]) -> str:
        counts = ", ".join(f"{number} {word}" for word, number in report["counts"].items())
        lacking = "".join(f"{line}\n" for line in missing_from_export(report["excluded"]))
        return (
            f"{counts}\nwritten to {report['out']} as {report['format']}, pictures in {report['pictures']}\n"
            f"{lacking}"
            f"{report['seconds']:.1f} s, {report['images_per_second']:.0f} images/s, "
            f"peak memory {report['peak_memory_mib']:.0f} MiB"
        )


def _show_first(pictures: Path, sheet: Path) -> None:
    """Arrange the first pictures in one image, in the format of the file's suffix."""
    first = [Image.open(file).convert("RGB") for file in sorted(pictures.iterdir())[:SHEET_PICTURES]]
    contact_sheet(first).save(sheet, quality=88)
