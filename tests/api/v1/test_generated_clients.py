"""Clients generated from the OpenAPI document do a day's work against a live server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation import campaigns, instructions, jobs
from annotation.models import Account, Campaign, Corpus
from annotation.protocol import questions as q
from annotation.protocol.paging import Pair
from annotation.task_types.base import TASK_TYPES
from annotation.workers import api_tokens
from annotation.workers.accounts import worker_tokens
from tests.queue.world import TRUSTING, World
from tests.web import world as web

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
HERE = Path(__file__).parent / "generated"
#: Media types of bytes that the generator of the Python client does not know.
BYTES = ("application/zip", "application/x-ndjson", "application/vnd.apache.arrow.stream")
NODE_PACKAGES = ("openapi-typescript@7.13.0", "typescript@5.9.3", "@types/node@26.6.7", "@redocly/cli@2.77.0")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    call_command("spectacular", "--format", "openapi-json", "--file", str(file))
    return file


@pytest.fixture
def arguments(everything: None, live_server: Any, tmp_path: Path) -> list[str]:
    """The server's address and the tokens; the annotator has questions of every kind."""
    for number, kind in enumerate(q.QUESTIONS):
        name = kind.replace("_", "-")
        folder = tmp_path / name
        folder.mkdir()
        World([web.scene(0, folder)], name=name).work(q.QUESTIONS[:number])
        instructions_of(name)
    pairs = [Pair(f"scene-{n}", f"scene-{m}#{k}") for n in (1, 2) for m in (1, 2) for k in (0, 1)]
    campaign = campaigns.create_campaign(
        name="tags", corpus="quay", tasks="tags", settings=TRUSTING, open_to_all=True
    )
    campaigns.open_pairs(campaign=campaign, pairs=pairs)
    campaigns.begin_campaign(campaign=campaign)
    instructions_of("tags")
    annotator = worker_tokens.make_worker_token(Account.objects.get(username="annotator"))
    researcher = Account.objects.get(username="researcher")
    run = tmp_path / "run.trec"
    images = Corpus.objects.get(name="quay").images.order_by("position")
    run.write_text("".join(f"{image.filename} Q0 {image.filename}#0 1 1.0 x\n" for image in images))
    secret = api_tokens.make_api_token(account=researcher, name="days", days=1, writes=True).secret
    return [live_server.url, annotator, secret, str(run)]


def instructions_of(campaign: str) -> None:
    """Remove a campaign's consent."""
    row = Campaign.objects.get(name=campaign)
    instructions.publish_text(campaign=row, kind=instructions.CONSENT, text="")


def installed(*command: str | Path, cwd: Path) -> None:
    """Run the installation of a generator; skip the test if there is no registry."""
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed here")
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"a generator cannot be installed here: {done.stderr[-300:]}")


def output_of(*command: str | Path, cwd: Path) -> str:
    """Return a program's output; queued jobs are done meanwhile."""
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        while True:
            try:
                printed, _ = process.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                while (due := jobs.due_job()) is not None:
                    jobs.run_queued_job(due)
    assert process.returncode == 0, printed
    return printed


def check(printed: str) -> None:
    payload = json.loads(printed.splitlines()[-1])
    assert payload.pop("kinds") == list(TASK_TYPES.keys())
    assert payload == {"systems": 2, "state": "open", "exported": True, "report": "PK"}


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """An empty folder."""
    (tmp_path / "workshop").mkdir()
    return tmp_path / "workshop"


def test_a_client_of_openapi_python_client_does_a_days_work(
    document: Path, arguments: list[str], workshop: Path
) -> None:
    installed(sys.executable, "-m", "venv", "venv", cwd=workshop)
    python, generator = (workshop / "venv" / "bin" / name for name in ("python", "openapi-python-client"))
    installed(python, "-m", "pip", "install", "--quiet", "openapi-python-client==0.29.1", cwd=workshop)
    settings = {"content_type_overrides": dict.fromkeys(BYTES, "application/octet-stream"), "post_hooks": []}
    (workshop / "settings.json").write_text(json.dumps(settings))
    output = output_of(
        *(generator, "generate", "--path", document, "--output-path", "made", "--meta", "none"),
        *("--config", "settings.json"),
        cwd=workshop,
    )
    assert "WARNING" not in output and "ERROR" not in output, output
    shutil.copy(HERE / "days.py", workshop)
    check(output_of(python, "days.py", *arguments, cwd=workshop))


@pytest.fixture
def node(workshop: Path) -> Path:
    """The folder of the programs installed by npm."""
    (workshop / "package.json").write_text('{"type": "module", "private": true}')
    installed("npm", "install", "--no-audit", "--no-fund", *NODE_PACKAGES, cwd=workshop)
    return workshop / "node_modules" / ".bin"


def test_a_program_with_types_of_openapi_typescript_does_a_days_work(
    document: Path, arguments: list[str], workshop: Path, node: Path
) -> None:
    output_of(node / "openapi-typescript", document, "--output", "made.ts", cwd=workshop)
    shutil.copy(HERE / "days.ts", workshop)
    how = "--strict --skipLibCheck --target es2022 --module nodenext --moduleResolution nodenext"
    output_of(node / "tsc", *how.split(), "days.ts", cwd=workshop)
    check(output_of("node", "days.js", *arguments, cwd=workshop))


def test_redocly_has_nothing_to_say(document: Path, workshop: Path, node: Path) -> None:
    output = output_of(
        node / "redocly", "lint", document, "--extends", "recommended", "--format", "json", cwd=workshop
    )
    totals = json.loads(output[output.index("{") : output.rindex("}") + 1])["totals"]
    assert (totals["errors"], totals["warnings"]) == (0, 0), output
