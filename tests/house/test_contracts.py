"""The import contracts of `make check`: each contract is broken once, to check that it is enforced."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: The default run has `make check`, which lints the current code.
pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("phrasebox", "config", "evaluation", "annotation", "models_core", "scenes", "studies")
Linted = dict[tuple[str, ...], tuple[int, str]]


#: (contract, file with the violation, its line): each must break the contract.
INTRUDERS = (
    ("apps", "annotation/intruder.py", "import evaluation.apps"),
    ("apps", "annotation/protocol/intruder.py", "import models_core.features.text"),
    ("apps", "models_core/intruder.py", "import annotation.protocol.terms"),
    ("apps", "evaluation/intruder.py", "import config.settings"),
    ("apps", "config/intruder.py", "import studies.hodosh"),
    ("pure", "studies/hodosh/intruder.py", "import django"),
    ("apps", "phrasebox/intruder.py", "import models_core.storage"),
    ("apps", "phrasebox/intruder.py", "import config.settings"),
    ("words", "models_core/features/text/wordnet.py", "import numpy"),
    ("numerics", "models_core/intruder.py", "from django.conf import settings"),
    ("annotation", "annotation/models/intruder.py", "import annotation.selectors.browse"),
    ("annotation", "annotation/selectors/intruder.py", "import annotation.datasets.importing"),
    ("annotation", "annotation/datasets/importing.py", "import annotation.web.urls"),
    ("annotation", "annotation/protocol/intruder.py", "import annotation.formats.base"),
    ("annotation", "annotation/models/intruder.py", "import annotation.formats.base"),
    ("annotation", "annotation/quality/intruder.py", "import annotation.queue.dispatch"),
    ("annotation", "annotation/queue/intruder.py", "import annotation.moderation.rulings"),
    ("annotation", "annotation/common/intruder.py", "import annotation.images.pictures"),
    ("annotation", "annotation/room_without_a_place.py", ""),
    ("pages", "annotation/web/common/intruder.py", "import annotation.web.corpus.browse"),
    ("pages", "annotation/web/annotator/intruder.py", "import annotation.web.staff.campaign_pages"),
    ("circles", "annotation/queue/leases/intruder.py", "import annotation.queue.submission"),
    ("circles", "evaluation/services/systems/intruder.py", "import evaluation.services.runs.ranking"),
    ("pure", "annotation/formats/intruder.py", "import annotation.models"),
    ("pure", "annotation/formats/intruder.py", "from django.db import models"),
    ("scenes", "scenes/intruder.py", "import celery"),
    ("scenes", "scenes/intruder.py", "import annotation.protocol.terms"),
    ("corpus", "annotation/management/intruder.py", "import scenes.generate"),
    ("corpus", "config/intruder.py", "import scenes.generate"),
    ("pure", "annotation/simulation/intruder.py", "import annotation.models"),
    ("pure", "phrasebox/intruder.py", "import django"),
    ("library", "phrasebox/scoring/intruder.py", "import phrasebox.metrics"),
    ("library", "phrasebox/room_without_a_place.py", ""),
    ("wheel", "phrasebox/formats/intruder.py", "import h5py"),
    ("simulator", "annotation/web/intruder.py", "import annotation.simulation.kinds"),
    ("simulator", "annotation/task_types/relevance/type.py", "import annotation.simulation.kinds"),
    ("simulator", "evaluation/services/intruder.py", "import annotation.simulation.visits"),
    ("figures", "evaluation/formats/intruder.py", "from django.db import models"),
    ("clock", "annotation/protocol/intruder.py", "from datetime import datetime"),
    ("clock", "annotation/protocol/intruder.py", "import random"),
    ("doors", "evaluation/intruder.py", "from annotation.models import Image"),
    ("doors", "evaluation/web/intruder.py", "import annotation.web.corpus.browse"),
    ("evaluation", "evaluation/services/intruder.py", "import evaluation.web.urls"),
    ("evaluation", "evaluation/report_data/intruder.py", "import evaluation.reporting.document"),
    ("evaluation", "evaluation/room_without_a_place.py", ""),
)
#: A reader of words, which the contract `apps` allows.
READER = ("apps", "annotation/protocol/reader.py", "from models_core.features.text.wordnet import WordNet")

#: Lints the code in place, once for each (contracts, file, line) that it receives, with that line added.
LINT = """
import contextlib, io, json, pathlib, sys
from importlinter.cli import lint_imports

found = []
for contracts, room, line in json.load(sys.stdin):
    file = pathlib.Path(room)
    before = file.read_bytes() if file.is_file() else None
    if room:
        with file.open("a") as spoilt:
            spoilt.write(f"\\n{line}\\n")
    with contextlib.redirect_stdout(io.StringIO()) as told:
        status = lint_imports(limit_to_contracts=tuple(contracts), cache_dir="cache")
    found.append((status, told.getvalue()))
    if before is not None:
        file.write_bytes(before)
    elif room:
        file.unlink()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def linted(tmp_path_factory: pytest.TempPathFactory) -> Linted:
    """Return import-linter's status and output by what was added: () for nothing. One process lints them
    all."""
    folder = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    cases = [*INTRUDERS, READER]
    requested = [([], "", ""), *[([contract], room, line) for contract, room, line in cases]]
    command = [sys.executable, "-c", LINT]
    done = subprocess.run(command, cwd=folder, input=json.dumps(requested), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = [(status, reported) for status, reported in json.loads(done.stdout)]
    return dict(zip([(), *cases], answers, strict=True))


def test_the_code_as_it_stands_keeps_every_contract(linted: Linted) -> None:
    status, reported = linted[()]
    assert status == 0 and "0 broken" in reported, reported


@pytest.mark.parametrize(("contract", "room", "line"), INTRUDERS)
def test_an_import_against_the_order_breaks_its_contract(
    linted: Linted, contract: str, room: str, line: str
) -> None:
    status, reported = linted[contract, room, line]
    assert status == 1, reported
    assert "0 kept, 1 broken" in reported


def test_words_are_open_to_all(linted: Linted) -> None:
    status, reported = linted[READER]
    assert status == 0, reported
