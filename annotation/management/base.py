"""The common base of commands: `--json`, progress, and errors as one clear line.

A command subclasses `ReportCommand`, overrides `report` (do the work, return plain data) and `show` (that
data as text). With `--json` the last line of standard output is the data as one JSON document; progress
always goes to standard error, as a bar on a terminal and as lines elsewhere.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from operator import length_hint
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError
from tqdm import tqdm

from annotation.common.operations import EXPECTED_ERRORS
from annotation.common.plain_text import for_terminal
from models_core.memory import memory_errors

_T = TypeVar("_T")
#: A bootstrap over fewer images has a remark beside its interval; as
#: `phrasebox.agreement.estimates.FEW_CLUSTERS`.
FEW_IMAGES = 10

#: Seconds before a bar is shown on a terminal, and between two lines elsewhere.
DELAY, EVERY = 2, 30.0


class LogLines:
    """Progress of a command as a line on standard error every EVERY seconds: for logs.

    A thread writes them, since some steps report nothing for an hour. Its interface is that of a bar: `total`
    (0: unknown), `n`, `update`, and `close`, or a `with`.
    """

    def __init__(self, *, what: str, total: int, unit: str = "") -> None:
        self.what, self.total, self.unit, self.n = what, total, unit, 0
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, args=(EVERY,), name="progress", daemon=True)
        self._thread.start()

    def __enter__(self) -> LogLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        of = f" of {self.total:,}" if self.total else ""
        return f"{self.what}: {self.n:,}{of}{self.unit} ({_clock(time.monotonic() - self._began)})"

    def update(self, n: int = 1) -> None:
        """Add `n` to the number done."""
        self.n += n

    def close(self) -> None:
        """Stop writing."""
        self._ended.set()
        self._thread.join()

    def _write(self, every: float) -> None:
        while not self._ended.wait(every):
            try:
                print(self, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody reads it any more
                return


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))


Bar: TypeAlias = "tqdm[Any] | LogLines"


def with_progress(things: Iterable[_T], *, what: str, total: int | None = None) -> Iterable[_T]:
    """Return `things` with a progress bar like that of `progress_bar`."""
    if sys.stderr.isatty():
        return tqdm(things, desc=what, total=total, delay=DELAY, file=sys.stderr, unit_scale=True)
    return _logged(things, what, length_hint(things) if total is None else total)


def _logged(things: Iterable[_T], what: str, total: int) -> Iterator[_T]:
    with LogLines(what=what, total=total) as lines:
        for thing in things:
            yield thing
            lines.update()


def progress_bar(*, what: str, total: int, unit: str = "") -> Bar:
    """Return a bar to `update()` by hand, on standard error: shown on a terminal if it takes over two
    seconds, and as lines elsewhere."""
    if sys.stderr.isatty():
        return tqdm(desc=what, total=total, delay=DELAY, file=sys.stderr, unit_scale=True, unit=unit or "it")
    return LogLines(what=what, total=total, unit=unit)


def move_bar(bar: Bar, done: int, total: int, *, what: str = "") -> None:
    """Set a bar to `done` of `total`, which may change, like the label `what`."""
    if isinstance(bar, LogLines):
        bar.what = what or bar.what
    elif what:
        bar.set_description(what, refresh=False)
    bar.total = total
    bar.update(done - int(bar.n))


def few_images(images: int) -> str:
    """Return a remark on a bootstrap interval over this number of images; "" for `FEW_IMAGES` or more."""
    if images >= FEW_IMAGES:
        return ""
    drawn = f"{images} image{'' if images == 1 else 's'}"
    return f"a bootstrap of {drawn}, fewer than {FEW_IMAGES}: may be too narrow"


class ReportCommand(BaseCommand):
    """A command that computes a report and shows it as text or as JSON.

    `expected_errors`, besides `EXPECTED_ERRORS`, are the exceptions for invalid input: they become one line
    on standard error and exit status 1, as does a lack of memory. Anything else has its traceback.
    """

    expected_errors: tuple[type[Exception], ...] = ()
    # `serve` and `check` run them: they load every page.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the report as one JSON document")

    def report(self, **options: Any) -> dict[str, Any]:
        """Do the work. The returned mapping must be JSON-serializable."""
        raise CommandError(f"{type(self).__module__} has no report")

    def show(self, report: dict[str, Any]) -> str:
        """Return the report as text for a terminal."""
        return "\n".join(f"{key}: {value}" for key, value in report.items())

    def handle(self, *args: Any, **options: Any) -> None:
        errors: tuple[type[Exception], ...] = (*EXPECTED_ERRORS, *self.expected_errors)
        try:
            with memory_errors(f"command {type(self).__module__.rpartition('.')[2]!r}"):
                report = self.report(**options)
        except errors as error:
            raise CommandError(for_terminal(error)) from error
        except (OperationalError, ProgrammingError) as error:
            if "no such table" in str(error) or "does not exist" in str(error):
                raise CommandError(
                    "the database does not exist, or is of an older version: run manage.py migrate"
                ) from error
            raise
        self.stdout.write(json.dumps(report) if options["json"] else self.show(report))


def peak_mib() -> float:
    """Return the peak of this process's resident memory, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, other systems KiB.
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
