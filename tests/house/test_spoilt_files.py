"""A server that receives damaged files: it still answers at once, and uses no memory for them."""

from __future__ import annotations

import http.client
import subprocess
import threading
import time
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from tests import mutants
from tests.hostile.world import IMAGES
from tests.house import product
from tests.mutants import Seed

#: Mutants of each file that are sent; bytes that a web process may grow by, and seconds for a response.
MUTANTS, GROWTH, PROMPT = 200, 50 * 10**6, 0.2
_BUILD = """
from pathlib import Path
from tests.hostile import world
from annotation.models import Account
from annotation.workers import api_tokens
world.build(Path({folder!r}))
print(api_tokens.make_api_token(
    account=Account.objects.get(username="researcher"), name="t", days=1, writes=True)[1])
"""
_ADDRESSES = {
    "add_system": "system-uploads",
    "agreement": "agreement",
    "extract_regions": "regions",
    "freeze_qrels": "qrels",
    "import_captions": "caption-sets",
    "import_controls": "campaigns/review/control-items/from-file",
    "import_features": "feature-uploads",
    "import_judgments": "judgment-sets",
    "import_localizations": "localization-sets",
    "import_qrels": "qrels-uploads",
    "import_run": "runs",
    "import_tags": "tag-sets",
    "open_campaign": "campaigns",
}


class Prompt(threading.Thread):
    """Requests /healthz continuously; stores the longest time until a response."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.longest, self.ended = port, 0.0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            began = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
            connection.close()
            self.longest = max(self.longest, time.monotonic() - began)


def send(port: int, token: str, seed: Seed, name: str, content: bytes, number: int) -> int:
    fields = {**seed.fields, seed.field_name: SimpleUploadedFile(name, content)}
    if seed.operation not in ("agreement", "import_controls"):
        fields["name"] = f"{seed.name.replace('.', '-')}-{number}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": MULTIPART_CONTENT}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    address = f"/api/v1/{_ADDRESSES[seed.operation]}"
    connection.request("POST", address, encode_multipart(BOUNDARY, fields), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status < 500, (seed.operation, name, text)
    return answer.status


def web_processes(server: int) -> list[int]:
    """Return the processes that answer requests: children of the server that are forks of it."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    command = Path(f"/proc/{server}/cmdline").read_bytes()
    return [int(pid) for pid in children if Path(f"/proc/{pid}/cmdline").read_bytes() == command]


def peak(pids: list[int]) -> int:
    """Return the peak memory of any of these processes, in bytes."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return max(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.slow
def test_a_server_stays_prompt_and_small_while_spoilt_files_come(tmp_path: Path):
    product.migrated(tmp_path)
    built = product.manage(
        tmp_path, "shell", "--no-imports", "-c", _BUILD.format(folder=str(tmp_path / "made"))
    )
    assert built.returncode == 0, built.stderr
    token = built.stdout.split()[-1]
    seeds = [seed for seed in mutants.seeds(IMAGES) if seed.operation in _ADDRESSES]
    with product.serving(tmp_path, fresh=True, API_WRITES_A_MINUTE=str(10**6)) as server:
        assert isinstance(server.process, subprocess.Popen)
        for pipe in (server.process.stdout, server.process.stderr):
            assert pipe is not None  # a full pipe would stop the server
            threading.Thread(target=pipe.read, daemon=True).start()
        for seed in seeds:  # so that everything that valid files need is loaded
            assert send(server.port, token, seed, seed.name, seed.content, 0) < 300, seed.name
        pids = web_processes(server.process.pid)
        before, prompt = peak(pids), Prompt(server.port)
        prompt.start()
        for seed in seeds:
            for number, (name, content) in enumerate(mutants.mutants(seed, MUTANTS), 1):
                send(server.port, token, seed, name, content, number)
        prompt.ended.set()
        prompt.join()
        grown = peak(pids) - before
    print(f"grown by {grown / 1e6:.1f} MB, longest answer of /healthz {prompt.longest * 1000:.0f} ms")
    assert grown < GROWTH
    assert prompt.longest < PROMPT
