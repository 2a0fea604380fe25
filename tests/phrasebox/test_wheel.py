"""The content of a wheel, and that it works, with its types, without the repository."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import phrasebox
from tests.phrasebox import examples

REPOSITORY = Path(__file__).resolve().parents[2]
PUBLIC = tuple(name for name in phrasebox.__all__ if not name.startswith("_"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built offline from a copy of the packages that git lists, and of the files at the top."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for entry in REPOSITORY.iterdir():
        if entry.is_file() and not entry.name.startswith("."):
            shutil.copy(entry, source)
        elif (entry / "__init__.py").is_file():
            shutil.copytree(entry, source / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
    _run(
        [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "."], source
    )
    (built,) = source.glob("*.whl")
    return built


def test_a_wheel_holds_the_library_and_nothing_of_the_server(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (
            archive.read(name) for name in archive.namelist() if name.endswith(".dist-info/METADATA")
        )
    library = {
        file.relative_to(REPOSITORY).as_posix()
        for file in (REPOSITORY / "phrasebox").rglob("*")
        if file.is_file() and (file.suffix == ".py" or file.name == "py.typed")
    }
    assert held == library
    described = message_from_bytes(metadata)
    assert described["Version"] == phrasebox.__version__
    needed = {Requirement(line).name.lower() for line in described.get_all("Requires-Dist", [])}
    assert needed == {"numba", "numpy", "pystemmer", "scipy", "threadpoolctl"}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and our third-party packages; returns its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    programs = folder / "bin"
    options = ["--disable-pip-version-check", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    _run([sys.executable, "-m", "pip", "--python", str(programs / "python"), *options], folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def test_the_library_runs_its_examples_where_the_repository_is_not(installed: Path, tmp_path: Path) -> None:
    for file in (Path(examples.__file__), REPOSITORY / "docs" / "library.md"):
        shutil.copy(file, tmp_path)
    modules = [f"phrasebox.{name}" for name in PUBLIC]
    (tmp_path / "driver.py").write_text(
        "import json, runpy, sys\n"
        f"sys.argv = ['examples.py', 'library.md', *{modules!r}]\n"
        "runpy.run_path('examples.py', run_name='__main__')\n"
        "import phrasebox\n"
        "print(json.dumps([phrasebox.__file__, sys.path, sorted(sys.modules)]))\n"
    )
    output = _run([str(installed / "python"), "driver.py"], tmp_path)
    *counts, last = output.splitlines()
    file, path, loaded = json.loads(last)
    assert len(counts) == 1 + len(modules) and not any(line.endswith(": 0") for line in counts)
    assert Path(file).is_relative_to(installed.parent)
    assert str(REPOSITORY) not in path
    roots = {name.partition(".")[0] for name in loaded}
    assert not roots & {"django", "rest_framework", "celery", "redis", "annotation", "config", "evaluation"}


@pytest.mark.slow
def test_strict_mypy_sees_the_type_of_every_public_name(installed: Path, tmp_path: Path) -> None:
    lines = ["import phrasebox"]
    for module in PUBLIC:
        for name in importlib.import_module(f"phrasebox.{module}").__all__:
            lines.append(f"reveal_type(phrasebox.{module}.{name})")
    (tmp_path / "uses.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installed / "python")]
    output = _run([*command, "uses.py"], tmp_path)
    *revealed, last = output.splitlines()
    assert last == "Success: no issues found in 1 source file"
    types = [line for line in revealed if "Revealed type is" in line]
    assert len(types) == len(lines) - 1
    assert not [line for line in types if line.endswith('is "Any"')]


def _run(command: list[str], folder: Path) -> str:
    """Return the output of a command, run in `folder` with a home and no settings; fail with its error
    message."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
