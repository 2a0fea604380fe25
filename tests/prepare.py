"""What the tests need from the system: find it, or install it if possible.

Four components are not Python packages: PostgreSQL's server, Redis, a Chromium and the noun files of WordNet.
`prepare()` looks for each. It installs missing ones with apt, after a message, but only as root on Debian or
Ubuntu; elsewhere it prints what to install.

Uses only the standard library, so that it can run first: `python -m tests.prepare` prints where each
component was found.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Files that the tests make once and reuse in later runs.
CACHE = Path.home() / ".cache" / "phrasebox-tests"
OLDEST_POSTGRES = 15
CHROMIUM_ELSEWHERE = "on Ubuntu: .venv/bin/playwright install --with-deps chromium"
WORDNET_FILES = ("index.noun", "data.noun", "noun.exc")
#: Files that stop Debian's packages from starting services: path -> (text, mode).
NO_SERVICES = {
    Path("/usr/sbin/policy-rc.d"): ("#!/bin/sh\nexit 101\n", 0o755),
    Path("/etc/postgresql-common/createcluster.d/tests.conf"): ("create_main_cluster = false\n", 0o644),
}


@dataclass(frozen=True)
class Component:
    """A component of the system. `find` returns its path, or None if it is missing."""

    key: str
    title: str
    package: str  # its name on Debian and Ubuntu
    find: Callable[[], Path | None]
    elsewhere: str = ""  # what to do if that package does not help
    cheaper: str = ""  # a package with the same use that needs less CPU; Ubuntu may lack it


def postgres_folder() -> Path | None:
    """Return the folder with `initdb` and `postgres` of the newest server of version 15 or later."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    for pattern in ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin"):
        folders += Path("/").glob(pattern)
    result = [
        (version, folder)
        for folder in folders
        if (folder / "initdb").exists() and (version := postgres_version(folder)) >= OLDEST_POSTGRES
    ]
    return max(result)[1] if result else None


def postgres_version(folder: Path) -> int:
    """Return the major version of the server in `folder`; 0 if it does not run."""
    number = re.search(r"(\d+)", _says(str(folder / "postgres"), "--version"))
    return int(number.group(1)) if number else 0


def redis_server() -> Path | None:
    return _executable("redis-server", "valkey-server")


@functools.cache
def chromium() -> Path | None:
    """Return a Chromium that runs. Ubuntu's package may be a stub for a snap, so it is tried."""
    names = (
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    )
    paths = [path for path in map(shutil.which, names) if path]
    paths += map(str, Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    return next((Path(path) for path in paths if re.search(r"\d+\.\d+", _says(path, "--version"))), None)


def wordnet_folder() -> Path | None:
    folder = Path("/usr/share/wordnet")
    return folder if all((folder / name).is_file() for name in WORDNET_FILES) else None


COMPONENTS = (
    Component("postgresql", f"PostgreSQL server, {OLDEST_POSTGRES} or newer", "postgresql", postgres_folder),
    Component("redis", "Redis server", "redis-server", redis_server),
    Component(
        "chromium", "Chromium", "chromium", chromium, CHROMIUM_ELSEWHERE, cheaper="chromium-headless-shell"
    ),
    Component("wordnet", "WordNet's noun files", "wordnet-base", wordnet_folder),
)


def find(key: str) -> Path | None:
    """Return the path of the component named `key`, or None."""
    return next(c for c in COMPONENTS if c.key == key).find()


def reason_to_skip(component: Component) -> str:
    """Return the reason with which a test without `component` is skipped."""
    remedy = "; ".join(filter(None, [f"Debian's package: {component.package}", component.elsewhere]))
    return f"left out: {component.title} is missing ({remedy})"


def prepare() -> list[Component]:
    """Look for every component and install missing ones if possible; return those that are still missing."""
    missing = [c for c in COMPONENTS if c.find() is None]
    if may_install() and (absent := [*missing, *filter(heavier_than_need_be, COMPONENTS)]):
        install(absent)
        chromium.cache_clear()
        missing = [c for c in missing if c.find() is None]
    for component in missing:
        print(reason_to_skip(component), flush=True)
    return missing


def heavier_than_need_be(component: Component) -> bool:
    """Return whether a component could be replaced by a package that needs half of the CPU.

    Prints this once: if that package cannot be installed, later runs do not try again.
    """
    if not component.cheaper or component.find() is None or shutil.which(component.cheaper):
        return False
    tried = CACHE / f"tried-{component.cheaper}"
    if tried.exists() or not _says("apt-cache", "show", component.cheaper):
        return False
    tried.parent.mkdir(parents=True, exist_ok=True)
    tried.touch()
    return True


def may_install() -> bool:
    """Return whether this is root on Debian or Ubuntu (or a derivative), with apt-get."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None and is_debian(Path("/etc/os-release"))


def install(components: Iterable[Component]) -> None:
    """Install `components` with apt-get, after a message. A failure is printed, not raised."""
    packages = [c.cheaper or c.package for c in components]
    print(f"The tests need {', '.join(c.title for c in components)}.", flush=True)
    print(f"Installing with apt-get, as root: {' '.join(packages)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}

    def apt_get(*command: str) -> bool:
        done = subprocess.run(["apt-get", "-q", *command], env=environment)
        if done.returncode != 0:
            print(f"apt-get {' '.join(command)} failed; what it said stands above.", flush=True)
        return done.returncode == 0

    with no_system_services():
        apt_get("update")
        # One at a time: a package that this system lacks must not block the others.
        for component in components:
            for package in filter(None, (component.cheaper, component.package)):
                if apt_get("install", "-y", "--no-install-recommends", package):
                    break


@contextlib.contextmanager
def no_system_services() -> Iterator[None]:
    """Prevent packages from starting daemons, and PostgreSQL's from making a cluster: the tests start their
    own."""
    written = []
    try:
        for path, (text, mode) in NO_SERVICES.items():
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(mode)
                written.append(path)
        yield
    finally:
        for path in written:
            path.unlink()


def is_debian(os_release: Path) -> bool:
    """Return whether the file `os_release` names Debian, Ubuntu, or a derivative."""
    if not os_release.is_file():
        return False
    pairs = dict(line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
    words = f"{pairs.get('ID', '')} {pairs.get('ID_LIKE', '')}".replace('"', "").split()
    return bool({"debian", "ubuntu"} & set(words))


def _executable(*names: str) -> Path | None:
    return next((Path(path) for path in map(shutil.which, names) if path), None)


def _says(*command: str) -> str:
    """Return the output of `command`; empty if it cannot be run or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


if __name__ == "__main__":
    absent = prepare()
    for component in COMPONENTS:
        if component not in absent:
            print(f"{component.title}: {component.find()}")
    sys.exit(1 if absent else 0)
