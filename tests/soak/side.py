"""One database's soak test, from an empty folder to a table: set up, let the crowd work, cause faults, count.

Minutes of a run of 45 (scaled for other runs): 1 to 4 faults, 9 to 11 memory is measured, 12 to 30 faults, 30
to 45 none, 40 to 45 memory again. Then the crowd completes its answers, everything settles (CALM), two
exports are made of the unchanging data, and everything is stopped and compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg2

from annotation.protocol import kinds
from tests.soak import check, clock, disk, ledger, memory, stored, tables
from tests.soak.crowd import Crowd, Offer
from tests.soak.faults import Faults
from tests.soak.product import MANAGE, REPOSITORY, Failed, Product, start_product
from tests.soak.staff import Staff

#: Number of images of the corpus; a campaign of entities asks some 80 questions per image.
IMAGES = 120
#: Answers per second of one database's crowd in total: two cores run both sides.
RATE = 20.0
#: Minutes of a run of 45 in which memory is measured.
BEFORE, AFTER = (9.0, 11.0), (40.0, 45.0)
#: Seconds that the crowd has to complete sent answers; that leases have to expire and layers to be refreshed;
#: and that jobs have to end.
ENDING, CALM, JOBS = 90.0, 150.0, 240.0
#: Seconds by which a lease may exceed its time: it is ended within half a minute.
OVERDUE = 60.0
#: Duration in minutes from which a run must be able to assess memory.
LONG = 30.0
#: Seconds between two samples of memory, and between two counts of open tasks.
SAMPLE, COUNT = 15.0, 20.0
CONFIG = """boxes = "always"
[lease]
minutes = 1.0
[trust]
qualification = false
bar = 0.0
drawing_bar = 0.0
relevance_bar = 0.0
control_share = 0.05
double_check_share = 0.1
drawing_unjudged = 0
[answers]
regions = 2
region_description = 4
"""


class Stop(KeyboardInterrupt):
    """The run must end: the results so far are counted and printed."""


class Side:
    """One database's run. The thread that made it starts all processes."""

    def __init__(
        self, database: str, folder: Path, *, minutes: float, workers: int, seed: int, every: float
    ) -> None:
        self.database, self.folder = database, folder
        self.minutes, self.workers, self.seed, self.every = minutes, workers, seed, every
        folder.mkdir(parents=True)
        self._log = (folder / "soak.log").open("a", buffering=1)
        self.began = time.monotonic()
        self.load_began = 0.0
        self.mounts = disk.private()
        self.clock = clock.Clock(folder)
        self.samples: list[memory.Sample] = []
        self.sampled: Counter[str] = Counter()
        self.opened: list[str] = []
        self.notes: list[str] = []
        self.broken = ""
        self._opening: subprocess.Popen[bytes] | None = None
        self.product: Product | None = None
        self.crowd: Crowd | None = None
        self.staff: Staff | None = None
        self.faults: Faults | None = None

    @property
    def scale(self) -> float:
        return self.minutes / 45

    def log(self, line: str, *, report_progress: bool = False) -> None:
        at = time.strftime("%H:%M:%S")
        self._log.write(f"{at} {time.monotonic() - self.began:7.1f} {line}\n")
        if report_progress:
            print(f"{self.database}: {line}", flush=True)

    # The run --------------------------------------------------------------------------------------

    def run(self) -> bool:
        """Run, and print the table, even after an interruption; return whether all checks passed."""
        interrupted, report = False, None
        try:
            try:
                self._set_up()
                self._load()
            except KeyboardInterrupt:
                interrupted = True
                self.log("told to end: what there is so far is counted", report_progress=True)
                _deaf()
            report = self._count() if self.crowd is not None else None
        except (Failed, KeyboardInterrupt, OSError, psycopg2.Error, sqlite3.Error) as error:
            self.log(f"the run failed: {type(error).__name__}: {error}", report_progress=True)
        finally:
            with contextlib.suppress(Exception):
                if self.product is not None:
                    self._calm_down()
                    self.product.stop()
        if report is None:
            return False
        good = self._show(report, interrupted=interrupted)
        return good and not interrupted

    def _set_up(self) -> None:
        """Set up the product with campaigns of every kind, and accounts."""
        if not self.mounts:
            self.notes.append("no mount is allowed here: a full disk is a limit of RLIMIT_FSIZE instead")
        if not self.clock.can_step:
            self.notes.append("there is no C compiler here: the clock did not step")
        self.product = product = start_product(self.database, self.folder, self.clock, mounts=self.mounts)
        self.log("setting up", report_progress=True)
        product.prepare()
        sample = self.folder / "sample"
        product.manage("make_sample", str(sample), "--images", str(IMAGES))
        product.manage(
            "import_corpus", "sample", str(sample), "--format", "jsonl", "--images", str(sample / "images")
        )
        (self.folder / "campaign.toml").write_text(CONFIG)
        for tasks in kinds.all_tasks():
            self._opened(tasks, tasks, wait=True)
        for number in range(1, 3):
            self._opened(f"entities-{number}", "entities", wait=True)
        product.manage("add_controls_from_layer", "entities", "--layer", "import")
        out = self.folder / "people.json"
        sessions = str(self.workers // 4)
        product.run(
            *("-m", "tests.soak.inside", "enrol", "--workers", str(self.workers)),
            *("--sessions", sessions, "--out", str(out)),
        )
        payload = json.loads(out.read_text())
        product.start()
        think = self.workers / RATE
        self.crowd = Crowd(
            payload["people"],
            payload["password"],
            url=product.url,
            think=think,
            folder=self.folder / "journals",
            seed=self.seed,
        )
        self.staff = Staff(product.url, payload["staff"], payload["password"], self.crowd.troubles, self.seed)
        self.faults = Faults(product, minutes=self.minutes, every=self.every, seed=self.seed, log=self.log)
        self._offer()

    def _opening_command(self, name: str, tasks: str) -> list[str]:
        return [
            *("open_campaign", name, "--corpus", "sample", "--tasks", tasks, "--open-to-all"),
            *("--campaign-settings", str(self.folder / "campaign.toml"), "--unpaid"),
        ]

    def _opened(self, name: str, tasks: str, *, wait: bool) -> None:
        """Open another campaign; without `wait` in the background, and offer it once it is open."""
        assert self.product is not None
        command = self._opening_command(name, tasks)
        if wait:
            self.product.manage(*command)
            self.opened.append(name)
            return
        with (self.product.logs / "commands.log").open("ab") as out:
            self._opening = subprocess.Popen(
                [sys.executable, MANAGE, *command],
                cwd=REPOSITORY,
                env=self.product.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _offer(self) -> None:
        """Set the offers: each campaign's kinds, most of them entities."""
        assert self.crowd is not None and self.staff is not None
        newest = [name for name in self.opened if name.startswith("entities")][-3:]
        listed_tasks = [Offer(name, kind) for name in newest for kind in kinds.kinds_of_tasks("entities")]
        listed_tasks += [
            Offer(name, kind)
            for name in kinds.all_tasks()
            if name != "entities"
            for kind in kinds.kinds_of_tasks(name)
        ]
        self.crowd.board.tasks = listed_tasks
        self.crowd.board.refreshed()
        self.staff.campaigns = newest

    def _load(self) -> None:
        """Let the crowd work for `minutes`, and start everything that happens meanwhile."""
        assert self.product and self.crowd and self.staff and self.faults
        self.log(
            f"{self.workers} workers for {self.minutes:g} minutes at {self.product.url}", report_progress=True
        )
        self.load_began = time.monotonic()
        self.crowd.start()
        self.staff.start()
        self.faults.begin()
        counting = threading.Thread(target=self._count_open, name="count", daemon=True)
        counting.start()
        next_sample, next_minute = 0.0, 60.0
        while (now := time.monotonic() - self.load_began) < self.minutes * 60:
            self.faults.tick()
            for name in self.product.restart():
                self.log(f"{name} was started again")
            if now >= next_sample:
                next_sample = now + SAMPLE * min(1.0, self.scale * 1.5)
                self.samples += memory.sample(now, self.product.processes())
            if now >= next_minute:
                next_minute += 60
                self._report_minute(now)
            self._open_more()
            time.sleep(0.25)

    def _report_minute(self, now: float) -> None:
        assert self.crowd and self.faults
        counts, done = self.crowd.troubles.counts, self.faults
        self.log(
            f"minute {now / 60:.0f}: {counts['acknowledged']} answers, {sum(done.killed.values())} kills, "
            f"{sum(n for w, n in done.done.items() if w.startswith('disk'))} disks full, "
            f"{done.done['clock steps']} clock steps, {sum(self.crowd.troubles.kinds.values())} troubles, "
            f"{self.sampled['over or miscounted']} over-assigned in {self.sampled['samples']} samples",
            report_progress=True,
        )

    def _open_more(self) -> None:
        """Open another campaign of entities if the crowd gets no task in half of its requests."""
        assert self.crowd
        name = f"entities-{len([row for row in self.opened if row.startswith('entities')])}"
        if self._opening is not None:
            status = self._opening.poll()
            if status is None:
                return
            self._opening = None
            if status == 0:
                self.opened.append(name)
                self.log(f"campaign {name} is open")
                self._offer()
            else:
                self.log(f"campaign {name} could not be opened ({status}), as something is broken; again")
                self.crowd.board.refreshed()
        elif self.crowd.board.dry:
            self.log(f"work runs dry; opening {name}")
            self._opened(name, "entities", wait=False)

    def _count_open(self) -> None:
        """In a thread: count open tasks that are assigned to too many, or have wrong counts, during the
        run."""
        assert self.product and self.crowd
        while not self.crowd.board.stopping.wait(COUNT * min(1.0, self.scale * 2)):
            try:
                with stored.asking(self.product.store) as ask:
                    ((number,),) = ask(stored.MISCOUNTED)
                self.sampled["samples"] += 1
                if number:
                    self.sampled["over or miscounted"] += number
                    self.log(f"{number} open tasks are over-assigned or miscounted", report_progress=True)
            except (psycopg2.Error, sqlite3.Error, OSError):
                self.sampled["samples that the database was away for"] += 1

    # The end --------------------------------------------------------------------------------------

    def _calm_down(self) -> None:
        if self.faults is not None:
            self.faults.end()
        for item in self.product.disks if self.product else ():
            item.free()

    def _wait(self, seconds: float) -> None:
        assert self.product
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name in self.product.restart():
                self.log(f"{name} was started again")
            time.sleep(0.25)

    def _count(self) -> dict[str, Any]:
        """Settle, stop, compare."""
        assert self.product and self.crowd and self.staff and self.faults
        product = self.product
        _deaf()
        self._calm_down()
        self.log("the crowd ends what it began", report_progress=True)
        waiting = threading.Thread(target=self._stop_crowd, daemon=True)
        waiting.start()
        while waiting.is_alive():
            self._wait(0.5)
        if self._opening is not None:
            self._opening.wait(60)
        self._until_ready()
        calm = CALM * max(0.7, min(1.0, self.scale * 4))
        self.log(f"calm for {calm:.0f} s", report_progress=True)
        self._wait(calm)
        same = self._last_exports()
        left = self._jobs_end()
        with stored.asking(product.store) as ask:
            rows = stored.read(ask)
        at = time.time()
        faults = self._job_faults(rows, left)
        for name in ("serve", "web", "worker", "beat"):
            for program in product.programs:
                if program.name == name:
                    program.ask_to_end()
        for program in product.programs:
            if program.name in ("serve", "web", "worker", "beat"):
                program.end()
        self.log("comparing", report_progress=True)
        notes = ledger.read(self.crowd.journals)
        result = check.compare(notes, rows, self.clock.steps)
        out = self.folder / "recount.json"
        try:
            product.run("-m", "tests.soak.inside", "recount", "--out", str(out), seconds=900)
            recount = json.loads(out.read_text())
        except Failed as error:
            recount = {"amiss": {"the recount failed": 1}, "looked": {}, "examples": [str(error)]}
        report = {
            "amiss": dict(result.amiss),
            "examples": dict(result.examples),
            "counted": dict(result.counted),
            "jobs": faults,
            "jobs that ended": dict(Counter(job.state for job in rows.jobs.values())),
            "same exports": same,
            "overdue": sum(
                row.state == "leased" and row.expires_at < at - OVERDUE for row in rows.assignments.values()
            ),
            "recount": recount,
            "refused": dict(self.crowd.troubles.rejected),
            "troubles": dict(self.crowd.troubles.kinds),
            "counts": dict(self.crowd.troubles.counts),
            "staff": dict(self.staff.jobs.troubles),
        }
        self._save_if_failed(report)
        return report

    def _until_ready(self) -> None:
        """Wait for all programs. The table reports those that do not return; the rows are compared anyway."""
        assert self.product
        try:
            self.product.until_ready()
        except Failed as error:
            self.broken = f"the product was not ready after the faults: {error}"
            self.log(self.broken, report_progress=True)

    def _stop_crowd(self) -> None:
        assert self.crowd and self.staff
        left = self.crowd.stop(ENDING)
        if left:
            self.crowd.troubles.refusal(f"{left} workers got no acknowledgement within {ENDING:.0f} s")

    def _last_exports(self) -> str:
        """Export the same layer twice over HTTP while nobody works, and compare the checksums."""
        assert self.product and self.staff
        self.staff.stop()
        self.staff.stopping.clear()
        campaign = self.staff.campaigns[-1]
        sums: list[str] = []
        for _ in range(2):
            before = self._newest_export()
            asking = threading.Thread(target=self.staff.export, args=(campaign, "jsonl"), daemon=True)
            asking.start()
            until = time.monotonic() + JOBS
            while time.monotonic() < until:
                self._wait(1.0)
                newest = self._newest_export()
                if newest is not None and newest != before and newest[1] in ("done", "failed", "cancelled"):
                    sums.append(newest[2])
                    break
            self.staff.stopping.set()
            asking.join(60)
            self.staff.stopping.clear()
        self.staff.stopping.set()
        if len(sums) < 2 or not all(sums):
            return f"no: exports of {campaign} gave {sums}"
        return "yes" if sums[0] == sums[1] else f"no: {sums}"

    def _newest_export(self) -> tuple[int, str, str] | None:
        assert self.product
        with stored.asking(self.product.store) as ask:
            rows = ask(
                "SELECT id, state, result FROM annotation_job WHERE kind = 'export_dataset' "
                "ORDER BY id DESC LIMIT 1"
            )
        if not rows:
            return None
        number, state, result = rows[0]
        payload = json.loads(result) if isinstance(result, str) else result
        return number, state, (payload or {}).get("sha256", "")

    def _jobs_end(self) -> int:
        """Wait for queued and running jobs; return how many are left."""
        assert self.product
        until = time.monotonic() + JOBS
        while True:
            with stored.asking(self.product.store) as ask:
                rows = ask("SELECT id FROM annotation_job WHERE state IN ('queued', 'running')")
            if not rows or time.monotonic() > until:
                return len(rows)
            self._wait(2.0)

    def _job_faults(self, rows: stored.Stored, left: int) -> dict[str, Any]:
        """Return jobs that pages showed and that are missing or did not end, and archives that differ from
        their job."""
        assert self.product and self.staff
        counts: Counter[str] = Counter({"that did not end": left} if left else {})
        errors: Counter[str] = Counter()
        archives = 0
        for number in self.staff.jobs.seen:
            if number not in rows.jobs:
                counts["acknowledged, and not there"] += 1
        for job in rows.jobs.values():
            if job.state == "failed":
                errors[f"{job.kind}: {job.error}"[:110]] += 1
            if job.kind != "export_dataset" or job.state != "done":
                continue
            archives += 1
            file = Path(self.product.environment["DATA_DIR"]) / job.result["path"]
            if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != job.result["sha256"]:
                counts["whose archive is not what their row says"] += 1
            fetched = self.staff.jobs.fetched.get(job.id)
            if fetched and fetched != job.result["sha256"]:
                counts["whose archive was fetched otherwise"] += 1
        return {
            "faults": dict(counts),
            "asked": self.staff.jobs.requested,
            "shown": len(self.staff.jobs.seen),
            "fetched": len(self.staff.jobs.fetched),
            "archives": archives,
            "failed": dict(errors),
        }

    def _save_if_failed(self, report: dict[str, Any]) -> None:
        """Copy what is needed to find a cause: the file systems in memory are removed."""
        assert self.product
        (self.folder / "report.json").write_text(json.dumps(report, indent=1))
        (self.folder / "memory.json").write_text(json.dumps(self.samples))
        (self.folder / "steps.json").write_text(json.dumps(self.clock.steps))
        if not (report["amiss"] or report["recount"]["amiss"] or report["jobs"]["faults"]):
            return
        retained = self.folder / "kept"
        retained.mkdir()
        if isinstance(self.product.store, Path):
            with contextlib.closing(sqlite3.connect(self.product.store)) as source:
                with contextlib.closing(sqlite3.connect(retained / "phrasebox.sqlite3")) as target:
                    source.backup(target)
            return
        program = shutil.which("pg_dump")
        if program:
            dumped = [program, "--format=custom", f"--file={retained / 'database.dump'}", self.product.store]
            subprocess.run(dumped, capture_output=True)

    def _show(self, report: dict[str, Any], *, interrupted: bool) -> bool:
        """Print the tables; return whether all checks passed."""
        assert self.faults
        scale = self.scale * 60
        grown = memory.rows(
            self.samples, (BEFORE[0] * scale, BEFORE[1] * scale), (AFTER[0] * scale, AFTER[1] * scale + 5)
        )
        notes = [*self.notes, *(["the run was cut short"] if interrupted else [])]
        invalid = [self.broken.splitlines()[0]] if self.broken else []
        if all(row.young for row in grown):
            notes.append(f"none had lived for {memory.YOUNG:g} minutes by minute ten: not judged")
            if self.minutes >= LONG and not interrupted:
                invalid.append("no process could be compared with minute ten")
        invalid += tables.problems_of(report, self.sampled, grown)
        text = "\n".join(
            [
                tables.figures(
                    self.database, report, self.sampled, self.faults.killed, self.faults.done, grown
                ),
                tables.of_memory(self.database, grown),
                *(
                    f"{name}: {example}"
                    for name, examples in report["examples"].items()
                    for example in examples
                ),
                *(f"recount: {example}" for example in report["recount"]["examples"]),
                *(f"note: {note}" for note in notes),
                f"{self.database}: {'FAILED: ' + '; '.join(invalid) if invalid else 'all holds'}",
            ]
        )
        print(text, flush=True)
        self._log.write(f"{text}\n")
        (self.folder / "table.txt").write_text(f"{text}\n")
        (self.folder / "rows.json").write_text(json.dumps([row._asdict() for row in grown]))
        return not invalid


def _deaf() -> None:
    """Ignore further signals, so that the count is not interrupted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _stop_on_signal(number: int, frame: FrameType | None) -> None:
    raise Stop


def run(database: str, folder: Path, *, minutes: float, workers: int, seed: int, every: float) -> bool:
    """Run one database's soak test in this process; return whether all checks passed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop_on_signal)
    return Side(database, folder, minutes=minutes, workers=workers, seed=seed, every=every).run()
