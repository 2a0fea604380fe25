"""Time of a cycle without HTTP: `submission.submit`, which leases the next task, in one process.

    DATABASE_URL=... python -m studies.queue_service [--workers 32] [--cycles 2000] [--functions]

The database is created by `studies.queue_fill`. It prints the rate, and the time by SQL statement (measured
at the driver, including the server), and the rest, which is ours. With `--functions` it prints Python's
profile, too.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import re
import time
from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import django


def answer_to(kind: str, chance: Random) -> tuple[str, list[int] | None]:
    """Return an answer of a careless worker, with a box if it is "drawn"."""
    if kind == "coref_link":
        return ("yes" if chance.random() < 0.5 else "no"), None
    if kind == "chain_verification":
        return ("true" if chance.random() < 0.9 else "false"), None
    if kind == "box_requirement":
        return ("box" if chance.random() < 0.8 else "none"), None
    if kind == "box_drawing":
        x, y = chance.randrange(1, 150), chance.randrange(1, 150)
        return "drawn", [x, y, x + chance.randrange(20, 150), y + chance.randrange(20, 150)]
    if kind == "box_quality":
        return ("good" if chance.random() < 0.85 else "bad"), None
    return ("complete" if chance.random() < 0.85 else "more"), None


class Statements:
    """Seconds and calls by statement, as an execute wrapper of a connection."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        start = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            name = re.sub(r"\s+", " ", re.sub(r"\d+", "N", sql)).strip()[:150]
            self.seconds[name] += time.perf_counter() - start
            self.calls[name] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--cycles", type=int, default=2000)
    parser.add_argument("--functions", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.db import connection

    from annotation.models import Campaign, Task, Worker
    from annotation.protocol.questions import QUESTIONS
    from annotation.protocol.terms import Box
    from annotation.queue import leases
    from annotation.queue.leases import Lease
    from annotation.queue.submission import Answer, submit
    from studies.queue_fill import NAME

    campaign = Campaign.objects.get(name=NAME)
    chance = Random(1)
    statements, profile = Statements(), cProfile.Profile()
    people = list(Worker.objects.order_by("pk").values_list("pk", flat=True)[: options.workers])
    hands: dict[int, Lease] = {}
    kinds: dict[str, int] = defaultdict(int)

    def look(worker: int) -> None:
        for kind in chance.sample(QUESTIONS, len(QUESTIONS)):
            taken_lease = leases.take_lease(worker=worker, campaign=campaign, kind=kind)
            if isinstance(taken_lease, Lease):
                hands[worker] = taken_lease
                return

    for worker in people:
        look(worker)
    took, cycles, start_number = 0.0, 0, time.time_ns()
    cpu = time.process_time()
    with connection.execute_wrapper(statements):
        while cycles < options.cycles:
            worker = people[cycles % len(people)]
            if worker not in hands:
                look(worker)
                continue
            lease = hands.pop(worker)
            word, box = answer_to(lease.kind, chance)
            answer = Answer(word, Box(*box) if box else None)
            if options.functions:
                profile.enable()
            begun = time.perf_counter()
            receipt = submit(
                worker=worker,
                assignment=lease.id,
                answer=answer,
                token=f"{start_number}-{cycles}",
                seconds=3.0,
            )
            took += time.perf_counter() - begun
            profile.disable()
            kinds[lease.kind] += 1
            cycles += 1
            # Sometimes a worker changes the kind, so that tasks opened by the answers are done, too.
            if isinstance(receipt.next, Lease):
                hands[worker] = receipt.next
                if chance.random() < 0.05:
                    leases.return_lease(worker=worker, assignment=receipt.next.id)
                    del hands[worker]
    cpu = time.process_time() - cpu
    inside = sum(statements.seconds.values())
    opened = Task.objects.filter(state="open").count()
    print(f"{connection.vendor}, {opened} open tasks, {options.workers} workers")
    print(f"{cycles} cycles in {took:.1f} s: {cycles / took:.0f}/s, {took / cycles * 1000:.2f} ms each")
    print(f"CPU of this process, all in all: {cpu / cycles * 1000:.2f} ms a cycle; kinds: {dict(kinds)}")
    print(f"in statements (looks and returns included): {inside / cycles * 1000:.2f} ms a cycle")
    for name in sorted(statements.seconds, key=lambda name: -statements.seconds[name])[:40]:
        share = statements.seconds[name] / cycles * 1000
        per_call = statements.seconds[name] / statements.calls[name] * 1000
        print(f"{share:8.3f} ms/cycle {statements.calls[name] / cycles:6.2f} x {per_call:7.3f} ms  {name}")
    if options.functions:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
