"""What a wheel holds, and that it works where nothing of the repository is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import phrasebox
from tests.library import examples

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("annotation", "config", "evaluation", "models_core", "phrasebox")
#: Folders beside the packages, and where a wheel has them.
ASSETS = {folder: f"config/assets/{folder}" for folder in ("locale", "static", "templates")}
#: What is no part of the product where it runs: sources of translations, what Python and Numba compile.
NOT_IN_IT = {".po", ".pyc", ".nbi", ".nbc"}

#: What setuptools would put into a wheel, without building one: its packages and every file in them.
ASK = """
import json, os, setuptools
from distutils.core import run_setup
made = run_setup("setup.py", stop_after="config")
build = made.get_command_obj("build_py")
build.ensure_finalized()
files = {os.path.normpath(module[2]) for module in build.find_all_modules()}
files |= {os.path.normpath(f"{source}/{name}") for _, source, _, names in build.data_files for name in names}
found = [made.packages, sorted(files), made.get_version(), made.extras_require, made.install_requires]
print(json.dumps(found))
"""


def in_the_tree() -> set[str]:
    """Every file that the product needs where it runs, by its path in the repository."""
    found = {"manage.py"}
    for folder in (*PACKAGES, *ASSETS):
        for file in (REPOSITORY / folder).rglob("*"):
            if file.is_file() and file.suffix not in NOT_IN_IT:
                found.add(file.relative_to(REPOSITORY).as_posix())
    return found


def test_setuptools_finds_every_package_and_every_file_of_the_tree() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    packages, files, version, extras, required = json.loads(done.stdout)
    folders = {file.parent for name in PACKAGES for file in (REPOSITORY / name).rglob("*.py")}
    here = {folder.relative_to(REPOSITORY).as_posix().replace("/", ".") for folder in folders}
    assert sorted(packages) == sorted(here | {f"config.assets.{name}" for name in ASSETS})
    assert set(files) == in_the_tree()
    assert version == phrasebox.__version__
    assert set(extras["server"]) > {"django", "scipy", *extras["kernels"]}
    assert "django" not in {name.lower() for name in required}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built offline from a copy of what the repository holds."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in (*PACKAGES, *ASSETS):
        shutil.copytree(REPOSITORY / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in REPOSITORY.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copy(file, source)
    _run(
        [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "."], source
    )
    (built,) = source.glob("*.whl")
    return built


@pytest.mark.slow
def test_a_wheel_holds_the_tree_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = set()
    for name in in_the_tree():
        folder, _, rest = name.partition("/")
        expected.add(f"{ASSETS[folder]}/{rest}" if folder in ASSETS else name)
    assert held == expected


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and the third-party packages of ours; its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    programs = folder / "bin"
    options = ["--disable-pip-version-check", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    _run([sys.executable, "-m", "pip", "--python", str(programs / "python"), *options], folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


@pytest.mark.slow
def test_the_library_runs_its_examples_where_the_repository_is_not(installed: Path, tmp_path: Path) -> None:
    for file in (Path(examples.__file__), REPOSITORY / "docs" / "library.md"):
        shutil.copy(file, tmp_path)
    rooms = [f"phrasebox.{name}" for name in phrasebox.__all__ if not name.startswith("_")]
    (tmp_path / "driver.py").write_text(
        "import json, runpy, sys\n"
        f"sys.argv = ['examples.py', 'library.md', *{rooms!r}]\n"
        "runpy.run_path('examples.py', run_name='__main__')\n"
        "import phrasebox\n"
        "print(json.dumps([phrasebox.__file__, sys.path, sorted(sys.modules)]))\n"
    )
    told = _run([str(installed / "python"), "driver.py"], tmp_path)
    *counts, last = told.splitlines()
    file, path, modules = json.loads(last)
    assert len(counts) == 1 + len(rooms) and not any(line.endswith(": 0") for line in counts)
    assert Path(file).is_relative_to(installed.parent)
    assert str(REPOSITORY) not in path
    roots = {name.partition(".")[0] for name in modules}
    assert not roots & {"django", "rest_framework", "celery", "redis", "config"}


@pytest.mark.slow
def test_the_server_runs_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    ask = (
        "from django.test import Client\n"
        "page = Client(headers={'accept-language': 'de'}).get('/', follow=True)\n"
        "print(page.status_code, 'Passwort' in page.content.decode())\n"
    )
    command = str(installed / "phrasebox")
    _run([command, "migrate", "--verbosity", "0"], tmp_path)
    assert (tmp_path / "var" / "phrasebox.sqlite3").is_file()
    assert _run([command, "check", "--fail-level", "WARNING"], tmp_path)
    assert _run([command, "shell", "--no-imports", "-c", ask], tmp_path) == "200 True\n"
    for file in ("annotation/base.css", "annotation/signs/relevance.svg"):
        found = _run([command, "findstatic", "--verbosity", "0", file], tmp_path)
        assert Path(found.strip()).is_relative_to(installed.parent)


def test_without_django_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['django'] = None; import manage; manage.main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "the server's packages are not installed: pip install phrasebox[server]\n"


def _run(command: list[str], folder: Path) -> str:
    """What a command prints, run in `folder` with a home and no settings; fails with what it complains of."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ALLOWED_HOSTS": "testserver"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
