"""Make a small backup of everything with the version that this file lies in; run by hand, once a version.

    DATA_DIR=NEW_FOLDER DATABASE_URL=... python -m tests.backups.older.make_backup FILE

Beside FILE lies FILE.json: what people take away from it (exports, runs, qrels, figures), by digest. Newer
versions restore FILE and must give the same (`test_older_version.py`). The database must be empty.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Any

IMAGES = 16
PASSWORD = "a quay at noon 1"
#: (command, arguments) whose printed report is equal in every version.
REPORTS = {
    "statistics": ("dataset_stats", ["sample", "--layer", "people", "--json"]),
    "figures": ("score_run", ["near-search", "--qrels", "originals", "--json"]),
}


def printed(command: str, *arguments: Any) -> str:
    """What a command prints."""
    from django.core.management import call_command

    out = StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def tree(folder: Path) -> dict[str, str]:
    """The files under a folder, by digest."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def taken_away(folder: Path) -> dict[str, Any]:
    """What people take away, by digest; reports of figures as they are. `folder` must be new."""
    folder.mkdir()
    for form in ("entities", "coco", "jsonl"):
        printed(
            "export_dataset",
            "sample",
            "--format",
            form,
            "--layer",
            "people",
            "--include-unfinished",
            "--simulated",
            "--out",
            folder / form,
        )
    printed("export_answers", "people", "--simulated", "--out", folder / "answers.jsonl")
    for run in ("near-search", "near-annotation", "made-search"):
        printed("export_run", run, "--out", folder / f"{run}.run")
    printed("export_qrels", "originals", "--format", "trec", "--out", folder / "originals.qrels")
    found: dict[str, Any] = {"files": tree(folder)}
    for name, (command, arguments) in REPORTS.items():
        found[name] = json.loads(printed(command, *arguments))
    return found


def write_features(file: Path, images: list[str]) -> None:
    """Features of the images, the same each time; a backup has no such files."""
    import numpy as np

    vectors = np.random.default_rng(3).random((len(images), 8), dtype=np.float32)
    np.savez(file, vectors=vectors, ids=np.array(images))


def make_world(folder: Path) -> None:
    """Rows of every sort: campaigns half done, systems, runs, qrels, a batch, a report, jobs that wait."""
    import numpy as np
    from PIL import Image

    from annotation import jobs
    from annotation.models import Account
    from annotation.models import Image as ImageRow

    source = folder / "sample"
    printed("make_sample", source, "--images", IMAGES, "--seed", 3)
    for picture in (source / "images").iterdir():
        with Image.open(picture) as shown:
            whole = shown.convert("RGB")
        whole.save(picture, quality=12)
    printed("import_corpus", "sample", source, "--format", "jsonl", "--images", source / "images")
    owner = Account.objects.create(username="owner")
    owner.set_password(PASSWORD)
    owner.save()
    owner.roles.create(role="admin")
    settings = folder / "settings.toml"
    settings.write_text("[trust]\nqualification = false\n")
    opening = ["--corpus", "sample", "--config", settings, "--open-to-all"]
    printed("open_campaign", "people", "--tasks", "entities", "--images", 4, *opening)
    printed("add_controls", "people", "--from-gold", "import", "--images", IMAGES)
    crowd = ["--workers", 4, "--mix", "careful=3,random=1", "--seed", 3, "--through", "queue"]
    printed("simulate_crowd", "people", *crowd)
    printed("open_campaign", "people", "--tasks", "entities", "--images", 6, *opening)

    images = list(ImageRow.objects.order_by("position").values_list("filename", flat=True))
    features = folder / "colours.npz"
    write_features(features, images)
    rng = np.random.default_rng(4)
    recipe = folder / "near.toml"
    recipe.write_text('extends = "NN5-F1-idf"\n\n[image]\nkernel = "linear"\npower = 1\n')
    train, test = folder / "train.txt", folder / "test.txt"
    train.write_text("\n".join(images[:10]))
    test.write_text("\n".join(images[10:]))
    learnt = ["--corpus", "sample", "--train", train, "--held-out", test, "--features", features]
    printed("train_system", "near", "--recipe", recipe, *learnt)
    captions = [f"{name}#{number}" for name in images for number in range(5)]
    scores = folder / "made.npz"
    np.savez(
        scores,
        scores=rng.standard_normal((len(images), len(captions))),
        images=np.array(images),
        captions=np.array(captions),
    )
    printed("add_system", "made", scores, "--corpus", "sample", "--format", "scores")
    for system in ("near", "made"):
        printed("rank", system, "--split", test, "--protocol", "any of five")
    printed("freeze_qrels", "originals", "--corpus", "sample", "--protocol", "any of five", "--split", test)
    runs = ["near-search", "made-search"]
    pooled = ["--depth", 2, "--no-filter", "--config", settings]
    printed("open_batch", "first", "--corpus", "sample", "--runs", *runs, *pooled)
    gold = folder / "gold.csv"
    votes = {True: "3,0", False: "0,3"}
    rows = [
        f"{image},{caption},{votes[caption.startswith(f'{image}#')]}"
        for image in images
        for caption in captions
    ]
    gold.write_text("\n".join(["image,caption,yes,no", *rows]))
    printed("import_judgments", "sample", gold, "--format", "table", "--name", "gold")
    judged = ["--recorded", "gold", "--mix", "careful=1", "--seed", 3, "--patience", 0]
    printed("simulate_judges", "first", "--workers", 4, *judged)
    printed("build_report", "spring", "--qrels", "originals", "--runs", *runs, "--rounds", 100)
    arguments = {"name": "later", "corpus": "sample", "protocol": "any of five"}
    jobs.enqueue(kind="freeze_qrels", arguments=arguments, actor=owner)


def main(target: Path) -> None:
    """Make the world, what people take away from it, and the backup `target`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    printed("migrate")
    with tempfile.TemporaryDirectory() as folder:
        make_world(Path(folder))
        found = taken_away(Path(folder) / "away")
    printed("backup", target)
    Path(f"{target}.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
