"""What 1.0.0 stored, sent and named: tests of the promises of docs/upgrading.md.

`python -m tests.backups.promise` makes the folder `promise` beside this file:

    backup.tar.xz    a backup of a small server: a corpus with a finished campaign, a system that ranks, qrels
    dataset.jsonl    the campaign's dataset, exported
    observed.json    the content of that server: rows, exports, rankings, responses of the API
    names.json       names that programs use: commands, calls, settings, formats, measures, the library

It is made once per version, at its release, and never changed afterwards.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PROMISE = Path(__file__).with_name("promise")
BACKUP, DATASET, OBSERVED, NAMES = "backup.tar.xz", "dataset.jsonl", "observed.json", "names.json"
#: The campaign's images have pictures; the system's only have vectors, which are smaller.
IMAGES, DESCRIBED = 2, 40
#: Calls of the API, and how their responses are compared: by field, by kind of value.
CALLS = (
    *("corpora", "corpora/walks", "campaigns", "campaigns/people", "campaigns/people/settings"),
    *("campaigns/people/workers", "campaigns/people/exports", "systems", "systems/near", "runs"),
    *("runs/near-search", "qrels", "qrels/own", "jobs", "judgment-sets", "batches", "reports", "me"),
)
MODULES = ("metrics", "agreement", "significance", "formats", "kernels")


def fill(folder: Path) -> None:
    """Fill the empty database and DATA_DIR of this process with a small server's data."""
    import numpy as np
    from django.core.management import call_command as run

    run("migrate", verbosity=0)
    run("make_sample", folder / "walks", images=IMAGES, verbosity=0)
    run("make_sample", folder / "words", images=DESCRIBED, format="flickr30k", verbosity=0)
    pictures = {"images": folder / "walks" / "images"}
    run("import_corpus", "walks", folder / "walks", format="jsonl", **pictures)
    run("import_corpus", "words", folder / "words" / "captions.json", format="flickr30k")
    run("open_campaign", "people", corpus="walks", tasks="entities", unpaid=True, known="import")
    run("simulate_crowd", "people", workers=15, mix="perfect=1", through="queue", patience=0.0, orderly=True)
    names = list(json.loads((folder / "words" / "captions.json").read_text()))
    vectors = np.random.default_rng(0).standard_normal((len(names), 8)).astype(np.float32)
    np.savez(folder / "vectors.npz", vectors=vectors, ids=np.array(names))
    run("import_features", "words", folder / "vectors.npz", name="drawn")
    (folder / "near.toml").write_text('extends = "NN5-F1-idf"\n[image]\nkernel = "linear"\npower = 1\n')
    sources = {"recipe": folder / "near.toml", "features": "drawn"}
    run("train_system", "near", corpus="words", fold="1/4", **sources)
    run("train_system", "linear", corpus="words", fold="1/4", recipe="CCA", features="drawn")
    for system in ("near", "linear"):
        run("rank", system, split="1/4")
    run("freeze_qrels", "own", corpus="words", protocol="one caption", split="1/4")


def observe(folder: Path) -> dict[str, Any]:
    """Return the content of this process's server as its users see it; files go to `folder`."""
    from django.apps import apps
    from django.core.management import call_command as run
    from django.test import Client

    from annotation.models import Account

    rows = {
        model._meta.label: model._default_manager.count()
        for app in ("annotation", "evaluation")
        for model in apps.get_app_config(app).get_models()
    }
    exports: dict[str, str] = {}
    for form in ("jsonl", "entities"):
        out = folder / f"export-{form}"
        run("export_dataset", "walks", layer="people", format=form, simulated=True, out=out)
        exports |= {f"{form}/{path.relative_to(out).as_posix()}": _digest(path) for path in _data(out)}
    rankings = {}
    for system in ("near", "linear"):
        # Ranked again from the stored system, and compared with the original ranking.
        run("rank", system, split="1/4", name=f"{system}-again-{folder.name}")
        for run_name in (system, f"{system}-again-{folder.name}"):
            for direction in ("annotation", "search"):
                file = folder / f"{run_name}-{direction}.trec"
                run("export_run", f"{run_name}-{direction}", out=file)
                order = [line.split()[:4:2] for line in file.read_text().splitlines()]
                key = f"{system}-{direction}" + (", ranked again" if "again" in run_name else "")
                rankings[key] = hashlib.sha256(json.dumps(order).encode()).hexdigest()
    admin, _ = Account.objects.get_or_create(username="promise", is_superuser=True)
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    answers = {}
    for call in CALLS:
        response = client.get(f"/api/v1/{call}")
        answers[call] = {"status": response.status_code, "body": response.json()}
    return {"rows": rows, "exports": exports, "rankings": rankings, "answers": answers}


def names() -> dict[str, Any]:
    """Return the names that programs use, each with its parts: these sets may grow, but must not shrink."""
    from django.conf import settings
    from django.core.management import BaseCommand, get_commands
    from django.test import Client

    from annotation.campaigns.setting_fields import setting_fields
    from annotation.formats import FORMATS
    from phrasebox.metrics import METRICS
    from tests.house.product import command_named

    bare = BaseCommand().create_parser("manage.py", "any")
    common = {option for action in bare._actions for option in action.option_strings}
    commands = {}
    for name, app in sorted(get_commands().items()):
        if str(app).partition(".")[0] in ("annotation", "evaluation", "config"):
            parser = command_named(name).create_parser("manage.py", name)
            options = {option for action in parser._actions for option in action.option_strings}
            commands[name] = sorted(options - common)
    document = Client(SERVER_NAME="localhost").get("/api/v1/openapi.json").json()
    calls = {
        f"{method.upper()} {path}": sorted(parameter["name"] for parameter in operation.get("parameters", []))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and "operationId" in operation
    }
    schemas = {
        name: sorted(schema.get("properties", ()))
        for name, schema in document["components"]["schemas"].items()
    }
    library = {}
    for module in MODULES:
        loaded = importlib.import_module(f"phrasebox.{module}")
        library[module] = {name: _parameters(getattr(loaded, name)) for name in sorted(loaded.__all__)}
    tasks = ("entities", "relevance", "tags", "graded", "captions", "regions")
    return {
        "commands": commands,
        "calls": calls,
        "fields": schemas,
        "library": library,
        "settings": {name: sorted(parameter.name for parameter in setting_fields(name)) for name in tasks},
        "formats": {name: [] for name in FORMATS.keys()},
        "measures": {name: [] for name in METRICS.names()},
        "languages": {code: [] for code, _name in settings.LANGUAGES},
    }


def _parameters(thing: Any) -> list[str]:
    try:
        return list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []


def _data(folder: Path) -> list[Path]:
    """Return the dataset's own files: notes and datasheet contain the date."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".md"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def child(data: Path, *arguments: str) -> None:
    """Run this module in another process, whose server is in the folder `data`."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(data), "DATA_DIR": str(data / "data")}
    command = [sys.executable, "-m", "tests.backups.promise", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-4000:])


def restored(backup: Path, folder: Path) -> dict[str, Any]:
    """Restore a packed backup into the empty `folder` with the current code, and observe the result."""
    (folder / "backup.tar").write_bytes(lzma.decompress(backup.read_bytes()))
    child(folder, "restore", str(folder))
    observed: dict[str, Any] = json.loads((folder / OBSERVED).read_text())
    return observed


def main(act: str = "make", folder_name: str = "") -> None:
    """`make` the promise; `fill` or `restore` the server of this process, and observe it."""
    if act == "make":
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            child(folder, "fill", str(folder))
            PROMISE.mkdir(exist_ok=True)
            packed = lzma.compress((folder / "backup.tar").read_bytes(), preset=9 | lzma.PRESET_EXTREME)
            (PROMISE / BACKUP).write_bytes(packed)
            (PROMISE / DATASET).write_bytes((folder / DATASET).read_bytes())
            for name in (OBSERVED, NAMES):
                stored = json.loads((folder / name).read_text())
                (PROMISE / name).write_text(json.dumps(stored, indent=0, sort_keys=True) + "\n")
        return
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command

    folder = Path(folder_name)
    if act == "restore":
        call_command("restore", str(folder / "backup.tar"))
    else:
        (folder / "made").mkdir()
        fill(folder / "made")
        call_command("backup", str(folder / "backup.tar"))
        (folder / NAMES).write_text(json.dumps(names()))
    (folder / "seen").mkdir()
    (folder / OBSERVED).write_text(json.dumps(observe(folder / "seen")))
    if act == "fill":
        (folder / DATASET).write_bytes((folder / "seen" / "export-jsonl" / "corpus.jsonl").read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
