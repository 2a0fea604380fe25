"""From captions to a dataset with the product's commands: workers over HTTP, the server killed once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from annotation.simulation_driver.http_pages import FIRST_PATIENCE
from tests import launcher
from tests.house.product import PATIENCE, REPOSITORY, Server, environment, manage, migrated, serving
from tests.services import free_port
from tests.sizes import sized

IMAGES = sized(2, 4)


def done(folder: Path, *arguments: str) -> str:
    """Return the output of a `manage.py` command; fail with its error message."""
    completed = manage(folder, *arguments)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def opened(folder: Path, name: str) -> None:
    """Open a campaign over a sample corpus without pictures, with short leases."""
    config = folder / "campaign.toml"
    config.write_text('boxes = "always"\n[lease]\nminutes = 0.1\n')
    migrated(folder)
    done(folder, "make_sample", str(folder / "sample"), "--images", str(IMAGES))
    done(folder, "import_corpus", "sample", str(folder / "sample"), "--format", "jsonl")
    opening = ["open_campaign", name, "--corpus", "sample", "--tasks", "entities", "--unpaid"]
    done(folder, *opening, "--campaign-settings", str(config))


def crowd(folder: Path, name: str, url: str) -> launcher.Process | subprocess.Popen[str]:
    """Start `simulate_crowd` over HTTP."""
    command = [sys.executable, str(REPOSITORY / "manage.py"), "simulate_crowd", name, "--through", "http"]
    command += ["--url", url, "--workers", "8", "--processes", "2", "--json"]
    return launcher.start(
        command, env=environment(folder, {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def report_of(process: launcher.Process | subprocess.Popen[str]) -> dict:
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return json.loads(out.splitlines()[-1])


def answers(folder: Path) -> int:
    with contextlib.closing(sqlite3.connect(folder / "data" / "phrasebox.sqlite3", timeout=20)) as reading:
        return int(reading.execute("SELECT count(*) FROM annotation_judgment").fetchone()[0])


def kill(server: Server) -> None:
    """Kill the server (kill -9) and then its processes, which it can no longer replace."""
    process = server.process.pid
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    server.process.kill()
    server.process.wait()
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_crowd_over_http_finishes_although_the_server_is_killed_in_between(tmp_path: Path) -> None:
    opened(tmp_path, "rehearsal")
    done(tmp_path, "add_controls_from_layer", "rehearsal", "--layer", "import")
    port = free_port()
    with serving(tmp_path, port=port) as server:
        process = crowd(tmp_path, "rehearsal", f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + PATIENCE
        while answers(tmp_path) < 30:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        kill(server)
    with serving(tmp_path, port=port):
        report = report_of(process)
    assert report["visits"]["amiss"] == [] and set(report["violations"].values()) == {0}
    assert report["left"] == {"open_tasks": 0, "leased": 0} and report["cost"]["unfinished"] == 0
    assert report["visits"]["lost"] > 0
    assert sum(report["visits"]["answered"].values()) == answers(tmp_path)
    assert report["quality"]["chain_f1"] > 0.7
    done(tmp_path, "export_dataset", "sample", "--layer", "rehearsal", "--format", "entities",
         "--simulated", "--out", str(tmp_path / "out"))  # fmt: skip
    assert len(list((tmp_path / "out" / "Annotations").iterdir())) == IMAGES


@pytest.mark.slow  # it mostly waits for the server
def test_a_server_that_is_not_there_is_told_in_one_line_and_at_once(tmp_path: Path) -> None:
    opened(tmp_path, "nobody")
    process = crowd(tmp_path, "nobody", f"http://127.0.0.1:{free_port()}")
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and out == ""
    assert f"gave no answer for {FIRST_PATIENCE:.0f} s" in errors and errors.count("\n") == 1
