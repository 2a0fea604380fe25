"""Create a campaign with a number of open tasks quickly: for `studies.queue`.

    DATABASE_URL=... python -m studies.queue_fill --tasks 500000 --workers 64 --out workers.json

Generated scenes with gold are imported, opened and given control items by the product's own functions. Their
rows are then copied under new ids until there are enough open tasks. Workers are past warm-up and signed in.
The JSON output contains the campaign, its numbers of tasks and images, and for each worker an id and a
session's cookie.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import django

SCENES = 300
NAME = "bench"
#: Number of images whose rows are written together.
CHUNK = 2000
#: Settings of the campaign: no tests.
SETTINGS: dict[str, Any] = {"trust": {"qualification": False}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    report = fill(options.tasks)
    report["workers"] = enrol(options.workers)
    vacuum()
    options.out.write_text(json.dumps(report))


def fill(tasks: int, *, scenes: int = SCENES, settings: dict[str, Any] = SETTINGS) -> dict[str, Any]:
    """Open a campaign with at least `tasks` open tasks, of `scenes` and their copies."""
    from annotation import instructions
    from annotation.datasets.importing import import_records
    from annotation.models import Campaign, Corpus, Image, Layer, OpenImage, Task
    from annotation.moderation.control_items.from_layer import from_gold
    from annotation.protocol.campaign_settings import settings_of
    from annotation.queue import image_rows
    from config.sample import sample_records

    records = list(sample_records(scenes, seed=1))
    import_records(name=NAME, records=iter(records), format="generated", source="studies.queue")
    corpus = Corpus.objects.get(name=NAME)
    campaign = Campaign.objects.create(
        name=NAME,
        corpus=corpus,
        tasks="entities",
        state=Campaign.OPEN,
        open_to_all=True,
        settings=settings_of(settings).as_dict(),
    )
    mentions = {record.id: record.layer.mentions for record in records if record.layer}
    images = [(image, mentions[image.key]) for image in Image.objects.filter(corpus=corpus)]
    image_rows.open_images(campaign=campaign, images=images, settings=settings_of(settings).protocol)
    instructions.install_texts(campaign)
    from_gold(campaign=campaign, layer=Layer.objects.get(corpus=corpus))
    opened = Task.objects.count()
    rounds = 0
    while opened * (rounds + 1) < tasks:
        rounds += 1
    if rounds:
        copy(rounds)
    corpus.image_count = Image.objects.filter(corpus=corpus).count()
    corpus.save()
    return {
        "campaign": NAME,
        "tasks": Task.objects.filter(state=Task.OPEN).count(),
        "images": OpenImage.objects.count(),
    }


def copy(rounds: int, *, answers: bool = False) -> None:
    """Write every image of the campaign `rounds` more times, under new keys, positions and ids; with its
    tasks' `answers`, too."""
    from annotation.models import Assignment, Caption, Image, Item, Judgment, OpenImage, Task

    models: tuple[Any, ...] = (Image, Caption, OpenImage, Task, Item)
    if answers:
        models = (*models, Assignment, Judgment)
    of_images: dict[Any, dict[str, Any]] = {
        Assignment: {"task__isnull": False},
        Judgment: {"image__isnull": False},
    }
    tables: dict[Any, list[dict[str, Any]]] = {
        model: list(model._default_manager.filter(**of_images.get(model, {})).order_by("pk").values())
        for model in models
    }
    steps = {model: max(row["id"] for row in rows) for model, rows in tables.items()}
    places = len(tables[Image])

    def shifted(model: Any, copy_number: int) -> Iterator[dict[str, Any]]:
        for row in tables[model]:
            new = {**row, "id": row["id"] + copy_number * steps[model]}
            if "image_id" in row:
                of = Image if model in (Caption, OpenImage) else OpenImage
                new["image_id"] = row["image_id"] and row["image_id"] + copy_number * steps[of]
            if model is Image:
                new |= {
                    "position": row["position"] + copy_number * places,
                    "key": f"{row['key']}-{copy_number}",
                }
            if model is OpenImage:
                new["position"] = row["position"] + copy_number * places
            if model is Task:
                new["rank"] = (
                    row["rank"] + copy_number * places
                )  # A rank increases with its image's position.
            if model in (Item, Assignment):
                new["task_id"] = row["task_id"] + copy_number * steps[Task]
            if model is Assignment:
                new["token"] = f"{row['token']}-{copy_number}" if row["token"] else ""
            if model is Judgment:
                new["assignment_id"] = row["assignment_id"] + copy_number * steps[Assignment]
            yield new

    write = _writer()
    together = max(1, CHUNK // places)
    for start in range(1, rounds + 1, together):
        turns = range(start, min(start + together, rounds + 1))
        for model in tables:
            write(model, (row for copy_number in turns for row in shifted(model, copy_number)))
    _set_sequences(list(tables))


def _writer() -> Callable[[Any, Iterable[dict[str, Any]]], None]:
    """Return the fastest writer of rows, as column to value, for the database."""
    from django.db import connection

    def to_text(value: Any) -> Any:
        if isinstance(value, dict | list):
            return json.dumps(value, separators=(",", ":"))
        return connection.ops.adapt_datetimefield_value(value) if hasattr(value, "tzinfo") else value

    def columns(model: Any) -> list[tuple[str, str]]:
        return [(field.attname, field.column) for field in model._meta.concrete_fields]

    def copy(model: Any, rows: Iterable[dict[str, Any]]) -> None:
        text = io.StringIO()
        for row in rows:
            text.write("\t".join(_escaped(to_text(row[name])) for name, _ in columns(model)) + "\n")
        text.seek(0)
        names = ", ".join(f'"{column}"' for _, column in columns(model))
        with connection.cursor() as cursor:
            cursor.copy_expert(f"COPY {model._meta.db_table} ({names}) FROM STDIN", text)

    def insert(model: Any, rows: Iterable[dict[str, Any]]) -> None:
        from django.db import transaction

        names = ", ".join(f'"{column}"' for _, column in columns(model))
        places = ", ".join(["%s"] * len(columns(model)))
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({places})",
                [[to_text(row[name]) for name, _ in columns(model)] for row in rows],
            )

    return copy if connection.vendor == "postgresql" else insert


def _escaped(value: Any) -> str:
    """Return a value in COPY's text format."""
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _set_sequences(models: Sequence[Any]) -> None:
    """Continue ids after the written ones."""
    from django.core.management.color import no_style
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(models)):
            cursor.execute(statement)


def enrol(count: int) -> list[dict[str, Any]]:
    """Return `count` trusted workers with accounts and open sessions."""
    from importlib import import_module

    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.utils import timezone

    from annotation import instructions
    from annotation.models import Account, Campaign, Identity, RoleGrant, TrustState, Worker
    from annotation.protocol.questions import QUESTIONS

    campaign = Campaign.objects.get(name=NAME)
    text = instructions.current_text(campaign=campaign, kind=instructions.CONSENT)
    store = import_module(settings.SESSION_ENGINE).SessionStore
    sessions = []
    for number in range(count):
        account = Account.objects.create(username=f"bench-{number:03d}", password="!")
        RoleGrant.objects.create(account=account, role="annotator")
        worker = Worker.objects.create(pseudonym=f"bench-{number:03d}")
        Identity.objects.create(worker=worker, account=account)
        TrustState.objects.bulk_create(
            TrustState(
                campaign=campaign,
                worker=worker,
                kind=kind,
                state="trusted",
                entered=True,
                items=60,
                known=20,
                right=20,
                last="1" * 20,
                changed_at=timezone.now(),
            )
            for kind in QUESTIONS
        )
        session = store()
        session[SESSION_KEY] = str(account.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = account.get_session_auth_hash()
        session.create()
        instructions.record_consent(worker=worker.pk, campaign=campaign, version=text.version)
        sessions.append({"worker": worker.pk, "session": session.session_key})
    return sessions


def vacuum() -> None:
    """Update the planner's statistics, as autovacuum would have by then."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            connection.set_autocommit(True)
            cursor.execute("VACUUM ANALYZE")
        else:
            cursor.execute("ANALYZE")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


if __name__ == "__main__":
    main()
