"""Which tests run on which database: three lanes side by side, two on SQLite and one on PostgreSQL.

What speaks SQL of its own, takes locks, or relies on constraints and transactions runs on both. Everything
else that uses the database runs on SQLite, in either of its lanes. What uses no database, and what is about
browsers, runs in any. Which it is goes by what was recorded to cost how much (`tests/cost.py`), so that all
lanes end together. Tests of processes and browsers also wait, so that two cores are not too few for three
lanes; with a fourth the same cases took a fifth more CPU, and the run was no shorter. A thorough run
(`make test-slow`) takes all on both databases, in two lanes, save what is in `ONCE`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests import cost

REPOSITORY = Path(__file__).resolve().parent.parent
SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
SECOND = "SQLite, second"  # file names are made of these
LANES = (SQLITE, POSTGRESQL, SECOND)

#: Folders and files whose tests of the database run on both.
BOTH = (
    "tests/api/v1/test_at_once.py",
    "tests/api/v1/test_lists_and_keys.py",
    "tests/api/v1/test_operations.py",
    "tests/backups/",
    "tests/campaigns/",
    "tests/crowd/test_at_once.py",
    "tests/crowd/test_attacks.py",
    "tests/crowd/test_joining.py",
    "tests/crowd/test_visit_bounds.py",
    "tests/derived/test_controls.py",
    "tests/derived/test_datasheets.py",
    "tests/derived/test_layers.py",
    "tests/evaluation/database/test_batch_jobs.py",
    "tests/evaluation/database/test_freezing.py",
    "tests/evaluation/database/test_waves.py",
    "tests/evaluation/rounds/test_full_round.py",
    "tests/evaluation/rounds/test_troubles.py",
    "tests/hostile/",
    "tests/house/test_emptying.py",
    "tests/house/test_migrations.py",
    "tests/intake/",
    "tests/jobs/",
    "tests/notifications/test_delivering.py",
    "tests/queue/",
    "tests/rehearsal/test_chaos.py",
    "tests/rehearsal/test_counted.py",
    "tests/rehearsal/test_same_layer.py",
    "tests/rehearsal/test_settings_versions.py",
    "tests/review/",
    "tests/running/",
    "tests/trust/",
    "tests/web/test_dashboard.py",
    "tests/web/test_second_factor.py",
    "tests/web/test_tag_pages.py",
)
#: What uses no database, or is the same on either: what a browser does.
ANYWHERE = (
    "tests/browser/",
    "tests/evaluation/figures/",
    "tests/evaluation/formats/",
    "tests/evaluation/reporting/",
    "tests/studies/",
    "tests/formats/",
    "tests/phrasebox/",
    "tests/models_core/",
    "tests/protocol/",
    "tests/scenes/",
    "tests/simulation/",
)


#: What a thorough run takes in one lane too: thousands of calls and learners' studies, which take most of an
#: hour and ask nothing of the database that other tests do not ask of both.
ONCE = {"tests/api/v1/test_schemathesis.py": POSTGRESQL, "tests/apart/test_channels.py": SQLITE}


def thorough_lanes_of(file: str) -> tuple[str, ...]:
    """The lanes of a thorough run in which something of a file runs."""
    return (ONCE[file],) if file in ONCE else (SQLITE, POSTGRESQL)


def lanes_of(file: str) -> tuple[str, ...]:
    """The lanes in which something of a file runs, given by its path from the repository's root."""
    return (SQLITE, POSTGRESQL) if file.startswith(BOTH) else (_balanced()[file],)


@functools.cache
def _balanced() -> Mapping[str, str]:
    """The lane of each file that runs in one."""
    files = [file.relative_to(REPOSITORY).as_posix() for file in (REPOSITORY / "tests").rglob("test_*.py")]
    return balanced(files, cost.recorded()["files"])


def balanced(files: Iterable[str], costs: Mapping[str, Any]) -> Mapping[str, str]:
    """The dearest file first, each to the lane that has least to do by then, of those that it may run in.

    `costs` is, by file and lane, [seconds of CPU, seconds by the clock]. What was never recorded counts
    as nothing.
    """
    busy = dict.fromkeys(LANES, 0.0)
    movable = []
    for file in sorted(files):
        own = costs.get(file, {})
        if not file.startswith(BOTH):
            movable.append((max((seconds[1] for seconds in own.values()), default=0.0), file))
            continue
        for lane in (SQLITE, POSTGRESQL):
            busy[lane] += own.get(lane, (0.0, 0.0))[1]
    found = {}
    for seconds, file in sorted(movable, reverse=True):
        lane = min(LANES if file.startswith(ANYWHERE) else (SQLITE, SECOND), key=lambda lane: busy[lane])
        found[file] = lane
        busy[lane] += seconds
    return found
