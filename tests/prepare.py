"""What the tests need from the system: find it, or install it where that is ours to do.

Four components are no Python packages: PostgreSQL's server, Redis, a Chromium and the noun
files of WordNet. `prepare()` looks for each. What is missing it installs with apt, but only
as root on Debian or Ubuntu, and it says so first; elsewhere it prints what to install.

Plain standard library, so that it can run before anything else is there:
`python -m tests.prepare` prints where each component was found.
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

#: What tests make once and keep from run to run.
CACHE = Path.home() / ".cache" / "phrasebox-tests"
OLDEST_POSTGRES = 15
CHROMIUM_ELSEWHERE = "on Ubuntu: .venv/bin/playwright install --with-deps chromium"
WORDNET_FILES = ("index.noun", "data.noun", "noun.exc")
#: Files that tell Debian's packages so: path -> (text, mode).
NO_SERVICES = {
    Path("/usr/sbin/policy-rc.d"): ("#!/bin/sh\nexit 101\n", 0o755),
    Path("/etc/postgresql-common/createcluster.d/tests.conf"): ("create_main_cluster = false\n", 0o644),
}


@dataclass(frozen=True)
class Component:
    """Something of the system. `find` gives its path, or None if it is absent."""

    key: str
    title: str
    package: str  # Debian's and Ubuntu's name for it
    find: Callable[[], Path | None]
    elsewhere: str = ""  # what helps where that package does not
    cheaper: str = ""  # a package that does the same for less; Ubuntu may lack it


def postgres_folder() -> Path | None:
    """The folder with `initdb` and `postgres` of the newest server of version 15 or later."""
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
    """The major version of the server in `folder`; 0 if it does not run."""
    number = re.search(r"(\d+)", _says(str(folder / "postgres"), "--version"))
    return int(number.group(1)) if number else 0


def redis_server() -> Path | None:
    return _executable("redis-server", "valkey-server")


@functools.cache
def chromium() -> Path | None:
    """A Chromium that runs. Ubuntu's package of that name may be a stub for a snap, hence the trial."""
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
    """Where the component named `key` is, or None."""
    return next(c for c in COMPONENTS if c.key == key).find()


def reason_to_skip(component: Component) -> str:
    """The one line that a test without `component` is left out with."""
    remedy = "; ".join(filter(None, [f"Debian's package: {component.package}", component.elsewhere]))
    return f"left out: {component.title} is missing ({remedy})"


def prepare() -> list[Component]:
    """Look for every component, install what is missing where possible; what is missing in the end."""
    missing = [c for c in COMPONENTS if c.find() is None]
    if may_install() and (absent := [*missing, *filter(heavier_than_need_be, COMPONENTS)]):
        install(absent)
        chromium.cache_clear()
        missing = [c for c in missing if c.find() is None]
    for component in missing:
        print(reason_to_skip(component), flush=True)
    return missing


def heavier_than_need_be(component: Component) -> bool:
    """Whether a component is there, and a package that does the same for half of the CPU could be. It says so
    once: where that package cannot be installed, no later run tries."""
    if not component.cheaper or component.find() is None or shutil.which(component.cheaper):
        return False
    tried = CACHE / f"tried-{component.cheaper}"
    if tried.exists() or not _says("apt-cache", "show", component.cheaper):
        return False
    tried.parent.mkdir(parents=True, exist_ok=True)
    tried.touch()
    return True


def may_install() -> bool:
    """Root, on Debian or Ubuntu (or what calls itself like one), with apt-get."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None and is_debian(Path("/etc/os-release"))


def install(components: Iterable[Component]) -> None:
    """Install `components` with apt-get, after saying so. A failure is told, not raised."""
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
        # One by one: a package that this system does not have must not keep the others away.
        for component in components:
            for package in filter(None, (component.cheaper, component.package)):
                if apt_get("install", "-y", "--no-install-recommends", package):
                    break


@contextlib.contextmanager
def no_system_services() -> Iterator[None]:
    """While open, packages start no daemon and PostgreSQL's makes no cluster: the tests bring their own."""
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
    """Whether the file `os_release` names Debian, Ubuntu, or what calls itself like one of them."""
    if not os_release.is_file():
        return False
    pairs = dict(line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
    words = f"{pairs.get('ID', '')} {pairs.get('ID_LIKE', '')}".replace('"', "").split()
    return bool({"debian", "ubuntu"} & set(words))


def _executable(*names: str) -> Path | None:
    return next((Path(path) for path in map(shutil.which, names) if path), None)


def _says(*command: str) -> str:
    """What `command` prints; empty where it cannot be run or fails."""
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
