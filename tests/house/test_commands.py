"""Common properties of all commands."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from django.utils.module_loading import import_string

from annotation.common.by_name import declared_by_apps
from tests import launcher
from tests.house.product import PATIENCE, REPOSITORY, environment, manage

#: Packages that take long to load, and our modules that load all others.
HEAVY = {
    *(
        "celery.app",
        "cv2",
        "gensim",
        "h5py",
        "matplotlib",
        "numba",
        "onnxruntime",
        "pyarrow",
        "scipy",
        "torch",
    ),
    *("annotation.api.rest.views", "config.urls"),
}


def test_a_database_that_is_not_made_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    done = manage(tmp_path, "dataset_stats", "anything")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "CommandError: the database does not exist, or is of an older version: run manage.py migrate"
    ]


def test_a_command_loads_only_what_it_needs(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", str(REPOSITORY / "manage.py"), "score_run", "anything"]
    done = launcher.run(command, env=environment(tmp_path, {}), timeout=PATIENCE, fresh=True)
    loaded = set(re.findall(r"^import time: .*\| +(\S+)$", done.stderr, re.M))
    assert "evaluation.services.runs.figures" in loaded and "run manage.py migrate" in done.stderr
    assert not loaded & HEAVY


def test_functions_that_apps_declare_by_name_exist() -> None:
    entries = [*declared_by_apps("setting_checks"), *declared_by_apps("periodic")]
    names = [name for *_, name in entries]
    names += [*declared_by_apps("corpus_uses"), *declared_by_apps("corpus_cleaners")]
    assert len(names) >= 6 and all(callable(import_string(name)) for name in names)
