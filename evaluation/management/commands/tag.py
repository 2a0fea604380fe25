"""`manage.py tag SYSTEM [--split test] [--out FILE]`: the tags that a trained system finds for images.

    python manage.py tag listwise --split test --out tags.jsonl
    python manage.py tag listwise --split test --name unseen --vocabulary corpus --score mean
    python manage.py tag --collection flickr --corpus flickr8k --name users

The tags are kept as a set, which `score_tags` takes by its name. With `--collection` they are not a system's
but those that users gave images of a weak collection.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import CommandError, CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.tagging.sets import write_tag_set
from evaluation.services.tagging.user_tags import take_user_tags
from evaluation.services.tagging.writing import LISTED, OF_CORPUS, TagRequest, tag_images
from models_core.estimators.taggers import TagScore

#: Options that the request takes as they are.
_PASSED_ON = ("system", "name", "split", "vocabulary", "score", "top", "features", "seed", "out")


class Command(ReportCommand):
    help = "Have a trained system tag images, or take the tags that users gave them."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "system", nargs="?", default="", help="A trained system, such as one of recipe ListSJE"
        )
        parser.add_argument(
            "--split", default="test", help="Images: a split, a file of names or a fold (default: test)"
        )
        parser.add_argument("--name", default="", help="Name of the set (default: the name of the system)")
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="Also write a new file: .csv for a table, else JSON lines",
        )
        parser.add_argument(
            "--vocabulary",
            default="",
            metavar=f"{OF_CORPUS}|FILE",
            help="Choose among all tags of the corpus's captions, or those of a file, one on each line "
            "(default: those learned from)",
        )
        parser.add_argument(
            "--score",
            choices=get_args(TagScore),
            default="own",
            help="What tags are ranked by: the method's own score, s1, s2 or the mean of both (default: own)",
        )
        parser.add_argument(
            "--top", type=int, default=LISTED, help=f"Tags listed of each image (default: {LISTED})"
        )
        parser.add_argument(
            "--features", metavar="SET", default="", help="A feature set of images (default: the training's)"
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of folds (default: 0)")
        parser.add_argument("--collection", default="", help="Instead of a system: a weak collection's tags")
        parser.add_argument("--corpus", default="", help="For --collection: the corpus whose images they are")

    def report(self, **options: Any) -> dict[str, Any]:
        if bool(options["system"]) == bool(options["collection"]):
            raise CommandError("name a system, or give --collection with --corpus and --name")
        if options["collection"]:
            return self._of_users(options)
        with ProgressBars() as bars:
            wanted = TagRequest(**{key: options[key] for key in _PASSED_ON})
            return asdict(tag_images(wanted, progress=bars))

    def _of_users(self, options: dict[str, Any]) -> dict[str, Any]:
        if not (options["corpus"] and options["name"]):
            raise CommandError("--collection takes --corpus and --name too")
        found = take_user_tags(
            name=options["name"], corpus=options["corpus"], collection=options["collection"]
        )
        if options["out"] is not None:
            write_tag_set(found, options["out"])
        return {
            "name": found.name,
            "corpus": found.corpus.name,
            "collection": options["collection"],
            "images": found.image_count,
            "file": str(options["out"] or ""),
        }

    def show(self, report: dict[str, Any]) -> str:
        if "collection" in report:
            said = (
                f"tag set {report['name']!r}: users' tags of {report['images']:,} images of corpus "
                f"{report['corpus']!r}, from collection {report['collection']!r}"
            )
        else:
            already = ", which already exists" if report["unchanged"] else ""
            said = (
                f"tag set {report['name']!r}{already}: the best {report['top']} of {report['vocabulary']:,} "
                f"tags ({report['unseen']:,} of them never learned from) for each of {report['images']:,} "
                f"images, by score {report['score']!r}"
            )
        said = f"{said}; written to {report['file']}" if report["file"] else said
        return "\n".join([said, *([report["provenance"]["sentence"]] if "provenance" in report else [])])
