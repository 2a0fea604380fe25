"""Installed packages are pinned, once, without an index."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from models_core.extras import EXTRAS
from tests import audit
from tests.house.product import REPOSITORY

#: The lists of packages.
LISTS = ("requirements.txt", "requirements-extras.txt", "requirements-dev.txt")
#: The versions with which trained systems were computed.
LATER = {"scipy": "1.17.1", "torch": "2.13.0"}


def normalised(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lines(file: str) -> list[str]:
    text = (REPOSITORY / file).read_text().splitlines()
    return [line for line in text if line and not line.startswith(("#", "-r "))]


def pins() -> dict[str, str]:
    parts = [line.split("==") for line in lines("constraints.txt")]
    assert len({normalised(name) for name, _ in parts}) == len(parts)
    return {normalised(name): version for name, version in parts}


def test_every_requirement_is_a_bare_name_with_a_pin() -> None:
    names = [name for file in LISTS for name in lines(file)]
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", name) for name in names)
    assert {normalised(name) for name in names} <= set(pins())
    assert len(set(names)) == len(names)


def test_the_library_needs_a_part_of_what_the_server_needs() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    library = {normalised(Requirement(line).name) for line in project["dependencies"]}
    assert library < {normalised(name) for name in lines("requirements.txt")}


def test_the_extras_are_those_that_are_asked_for_on_use() -> None:
    assert sorted(lines("requirements-extras.txt")) == sorted(package for package, _ in EXTRAS.values())


def everything_needed(environment: dict[str, str]) -> set[str]:
    """Return the names of our requirements, of their requirements, and so on, in `environment`.

    Packages that are not installed here are included, but not followed. What torch itself pins with "==",
    such as CUDA's libraries on Linux, needs no second pin.
    """
    needed: set[str] = set()
    waiting = [Requirement(name) for file in LISTS for name in lines(file)]
    while waiting:
        requirement = waiting.pop()
        if normalised(requirement.name) in needed:
            continue
        needed.add(normalised(requirement.name))
        with contextlib.suppress(PackageNotFoundError):
            for expected in map(Requirement, requires(requirement.name) or ()):
                if requirement.name == "torch" and "==" in str(expected.specifier):
                    continue
                situations = [{**environment, "extra": extra} for extra in ("", *requirement.extras)]
                if not expected.marker or any(
                    expected.marker.evaluate(situation) for situation in situations
                ):
                    waiting.append(expected)
    return needed


def test_what_is_needed_is_installed_as_pinned() -> None:
    pinned = pins()
    needed = everything_needed({})
    # "+cpu" and the like say how a package was built, not which version it is.
    installed = {name: version(name).partition("+")[0] for name in needed}
    assert installed == {name: pinned[name] for name in needed}


# Debian 12 has 3.11.2, which needs a package that 3.11.7 does not.
@pytest.mark.parametrize("python", ["3.11.2", "3.11.7", "3.12.1", "3.13.0", "3.14.0"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_what_is_needed_elsewhere_is_pinned_too(python: str, system: str) -> None:
    environment = {
        "python_full_version": python,
        "python_version": python.rpartition(".")[0],
        "sys_platform": system,
        "platform_system": system.capitalize(),
    }
    assert everything_needed(environment) <= set(pins())


def test_later_models_find_their_pins() -> None:
    assert {name: pins()[name] for name in LATER} == LATER


FAULTY = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
SOUND, UNKNOWN = {"name": "b", "version": "1", "vulns": []}, {"name": "c", "skip_reason": "not there"}


@pytest.mark.parametrize(
    ("packages", "status", "line"),
    [
        ([SOUND], 0, "No known vulnerabilities in 1 packages."),
        ([SOUND, FAULTY, UNKNOWN], 1, "a 1: X-1, mended in 2"),
        ([SOUND, UNKNOWN], 2, "1 of 2 packages could not be looked up"),
        (None, 2, "The service of known vulnerabilities cannot be reached"),
    ],
)
def test_an_audit_passes_only_where_every_package_was_looked_up(
    packages: object, status: int, line: str
) -> None:
    answer = json.dumps({"dependencies": packages}) if packages else ""
    result, lines = audit.verdict(answer)
    assert result == status and lines[0].startswith(line)


def test_no_list_says_where_packages_come_from() -> None:
    for file in (*LISTS, "constraints.txt", "pyproject.toml", "Makefile"):
        text = Path(REPOSITORY / file).read_text()
        assert not re.search(r"https?://(?!127\.0\.0\.1)|--(extra-)?index-url|--find-links", text), file
