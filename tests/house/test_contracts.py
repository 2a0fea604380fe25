"""Who may know whom, as `make check` has it: each contract is broken once, to see that it can be."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "evaluation", "annotation", "models_core")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The product's code in a folder that may be spoilt."""
    for package in PACKAGES:
        shutil.copytree(
            REPOSITORY / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """import-linter in `folder`, on `contracts` by their ids, or on all of them."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    command += [part for contract in contracts for part in ("--contract", contract)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_code_as_it_stands_keeps_every_contract(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("contract", "room", "line"),
    [
        ("apps", "annotation/intruder.py", "import evaluation.apps"),
        ("apps", "annotation/protocol/intruder.py", "import models_core.text"),
        ("apps", "models_core/intruder.py", "import annotation.protocol.terms"),
        ("apps", "evaluation/intruder.py", "import config.settings"),
        ("words", "models_core/text/tokens.py", "import numpy"),
        ("numerics", "models_core/intruder.py", "from django.conf import settings"),
        ("annotation", "annotation/models/intruder.py", "import annotation.selectors.browse"),
        ("annotation", "annotation/selectors/intruder.py", "import annotation.intake"),
        ("annotation", "annotation/intake.py", "import annotation.web.urls"),
        ("annotation", "annotation/protocol/intruder.py", "import annotation.formats.base"),
        ("annotation", "annotation/formats/intruder.py", "import annotation.models"),
        ("annotation", "annotation/room_without_a_place.py", ""),
        ("pure", "annotation/formats/intruder.py", "from django.db import models"),
        ("pure", "annotation/sample/intruder.py", "import celery"),
        ("pure", "annotation/simulation/intruder.py", "import annotation.models"),
        ("figures", "evaluation/metrics/intruder.py", "from django.db import models"),
        ("clock", "annotation/protocol/intruder.py", "from datetime import datetime"),
        ("clock", "annotation/protocol/intruder.py", "import random"),
        ("doors", "evaluation/intruder.py", "from annotation.models import Image"),
        ("doors", "evaluation/web/intruder.py", "import annotation.web.browse"),
        ("evaluation", "evaluation/services/intruder.py", "import evaluation.web.urls"),
        ("evaluation", "evaluation/room_without_a_place.py", ""),
    ],
)
def test_an_import_against_the_order_breaks_its_contract(
    copy: Path, contract: str, room: str, line: str
) -> None:
    with (copy / room).open("a") as file:
        file.write(f"\n{line}\n")
    done = lint(copy, contract)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0 kept, 1 broken" in done.stdout


def test_words_are_open_to_all(copy: Path) -> None:
    (copy / "annotation/protocol/reader.py").write_text("from models_core.text.tokens import tokenise\n")
    assert lint(copy, "apps").returncode == 0
