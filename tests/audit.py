"""Known vulnerabilities of the packages in constraints.txt: `make audit`.

pip-audit, in an environment of its own, queries the service behind PyPI. Status 1: there are some, listed
with the versions that fix them. Status 2: not every package could be looked up, so the result is unknown.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PIP_AUDIT = "pip-audit==2.10.1"
REPOSITORY = Path(__file__).resolve().parent.parent
#: A separate environment: its packages are not ours.
HOME = REPOSITORY / "build" / "audit"


def main() -> int:
    """Install pip-audit if it is missing, run it, and print its result."""
    program = HOME / "bin" / "pip-audit"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        install: list[str | Path] = [
            HOME / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        if subprocess.run([*install, PIP_AUDIT]).returncode:
            print(f"{PIP_AUDIT} cannot be installed, so nothing was audited", file=sys.stderr)
            return 2
    options = ["--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json"]
    command: list[str | Path] = [program, *options, "--requirement", REPOSITORY / "constraints.txt"]
    done = subprocess.run(command, capture_output=True, text=True)
    status, lines = verdict(done.stdout)
    print("\n".join(lines), file=sys.stderr if status == 2 else sys.stdout)
    return status


def verdict(answer: str) -> tuple[int, list[str]]:
    """Return the status for pip-audit's output, and lines about it."""
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError):
        return 2, ["The service of known vulnerabilities cannot be reached, so nothing was audited."]
    lines = [
        f"{package['name']} {package['version']}: {fault['id']}, mended in "
        f"{', '.join(fault['fix_versions']) or 'no version yet'}"
        for package in packages
        for fault in package.get("vulns", ())
    ]
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    if lines:
        return 1, lines
    if unknown:
        count, some = f"{len(unknown)} of {len(packages)} packages", ", ".join(unknown[:3])
        return 2, [f"{count} could not be looked up ({some}, ...): ask again where PyPI can be reached."]
    return 0, [f"No known vulnerabilities in {len(packages)} packages."]


if __name__ == "__main__":
    sys.exit(main())
