"""Formats without a database: rates and peak memory at the size of Flickr30k.

    python -m studies.formats [--images 31783] [--only entities]

The records are those of studies.intake (5 captions, 16 mentions and 8.7 boxes an image). Each row is a
process of its own. Generating the records does not count as writing; rates use wall-clock time, and CPU
seconds are for machines with other work. Peak memory is the increase of the process's memory, once at a tenth
of the size and once at full size: if both are equal, memory is independent of the corpus.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from annotation.common.plain_text import text_table
from annotation.formats import FORMATS
from annotation.protocol.terms import ImageRecord
from studies.intake import FLICKR30K, made_up

MIB = 1024 * 1024


class Timed:
    """An iterable that sums the time of its source: wall-clock and CPU seconds."""

    def __init__(self, source: Iterable[ImageRecord]) -> None:
        self._source = source
        self.clock = self.cpu = 0.0

    def __iter__(self) -> Iterator[ImageRecord]:
        source = iter(self._source)
        while True:
            clock, cpu = time.perf_counter(), time.process_time()
            record = next(source, None)
            self.clock += time.perf_counter() - clock
            self.cpu += time.process_time() - cpu
            if record is None:
                return
            yield record


def memory(field: str) -> float:
    """Return the memory of this process in MiB: `VmRSS` now, `VmHWM` at most (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(f"/proc/self/status has no {field}")


def write(key: str, folder: Path, images: int) -> Timed:
    """Write `images` made-up images; return the time for generating them."""
    folder.mkdir(parents=True)
    records = Timed(made_up(images, layered=True))
    FORMATS.get(key).write(records, folder)
    return records


def read(key: str, folder: Path, images: int) -> Timed:
    """Read what was written, storing nothing."""
    count = sum(1 for _ in FORMATS.get(key).read(folder))
    if count != images:
        raise AssertionError(f"{key}: {count} images of {images} were read")
    return Timed(())


DIRECTIONS = {"write": write, "read": read}


def row(key: str, direction: str, folder: Path, images: int) -> dict[str, float]:
    """Return one measurement, in a process of its own."""
    command = [sys.executable, "-m", "studies.formats", "--row", key, direction, str(folder), str(images)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure(key: str, direction: str, folder: Path, images: int) -> dict[str, float]:
    before, clock, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    apart = DIRECTIONS[direction](key, folder, images)
    return {
        "seconds": time.perf_counter() - clock - apart.clock,
        "cpu": time.process_time() - cpu - apart.cpu,
        "peak": memory("VmHWM") - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=FLICKR30K)
    parser.add_argument("--only", choices=FORMATS.keys(), help="one format")
    parser.add_argument("--row", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        key, direction, folder, images = options.row
        print(json.dumps(measure(key, direction, Path(folder), int(images))))
        return
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for entry in FORMATS:
            if options.only not in (None, entry.key):
                continue
            tenth, full = Path(scratch, entry.key, "tenth"), Path(scratch, entry.key, "full")
            for direction in DIRECTIONS if entry.reads else ("write",):
                small = row(entry.key, direction, tenth, options.images // 10)
                large = row(entry.key, direction, full, options.images)
                size = sum(file.stat().st_size for file in full.rglob("*") if file.is_file()) / MIB
                rows.append(
                    [
                        entry.key,
                        direction,
                        large["seconds"],
                        large["cpu"],
                        round(options.images / large["seconds"]),
                        size,
                        size / large["seconds"],
                        small["peak"],
                        large["peak"],
                    ]
                )
    head = [
        "format",
        "direction",
        "seconds",
        "CPU s",
        "images/s",
        "MiB",
        "MiB/s",
        "peak MiB at 1/10",
        "peak MiB",
    ]
    print(f"{options.images} images, {options.images * 5} captions\n")
    print(text_table(head, rows))


if __name__ == "__main__":
    main()
