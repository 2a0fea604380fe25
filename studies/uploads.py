"""A large zip sent to the upload's pages in parts, cut off twice, checked and imported: memory and digest.

    python -m studies.uploads [--size 2.0] [--picture 1.0]

Makes a zip of `--size` GB of noisy JPEGs of about `--picture` MB each, with captions, in a temporary folder.
`manage.py serve` runs there on SQLite: its web process takes the parts, its worker does the check and the
import. The line is cut in the middle of a part, then the server is killed in the middle of another and
started again. Prints the peak of resident memory of each process. The disk needs four times `--size`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from PIL import Image as Picture

from annotation.common.plain_text import text_table

REPOSITORY = Path(__file__).resolve().parent.parent
#: What stands between the fields of a form.
_BOUNDARY = "phrasebox-part"
#: Shares of the file at which the line is cut, and the server killed.
CUT, KILLED = 0.3, 0.7
_ACCOUNT = """
from importlib import import_module
from django.conf import settings
from annotation.models import Account, RoleGrant
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
account = Account.objects.create_user(username="ada")
RoleGrant.objects.create(account=account, role="researcher")
session = import_module(settings.SESSION_ENGINE).SessionStore()
session[SESSION_KEY] = str(account.pk)
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session[HASH_SESSION_KEY] = account.get_session_auth_hash()
session.save()
print(settings.SESSION_COOKIE_NAME, session.session_key)
"""


def make_zip(file: Path, size: float, picture: float) -> int:
    """A zip of about `size` GB of pictures of `picture` MB each, and their captions; how many pictures."""
    rng = np.random.default_rng(23)
    side = int(round((picture * 1e6 / 1.3) ** 0.5))  # noise takes about 1.3 bytes a pixel at this quality
    lines, count = [], 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        while file.stat().st_size < size * 1e9:
            noise = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
            packed = io.BytesIO()
            Picture.fromarray(noise).save(packed, "JPEG", quality=80)
            archive.writestr(f"photos/p{count}.jpg", packed.getvalue())
            lines.append(f"p{count}.jpg#0\tA man in the street looks at number {count} .")
            count += 1
        archive.writestr("captions.token.txt", "\n".join(lines) + "\n")
    return count


class Sender:
    """A client of the pages, signed in by a session cookie."""

    def __init__(self, port: int, cookie: str) -> None:
        self.port = port
        self.cookies = dict([cookie.split("=", 1)])
        self.token = ""

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        """Return status and text of a response."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        line.request(method, path, body or None, self.headers(**headers))
        answer = line.getresponse()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        text = answer.read().decode()
        line.close()
        if match := re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text):
            self.token = match[1]
        return answer.status, text

    def headers(self, **more: str) -> dict[str, str]:
        """What every request says."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        host = f"127.0.0.1:{self.port}"
        headers = {"Host": host, "Cookie": cookies, "X-CSRFToken": self.token, "Referer": f"http://{host}/"}
        return {**headers, **{name.replace("_", "-"): value for name, value in more.items()}}

    def part(self, upload: str, data: bytes, offset: int) -> int:
        """Send a part; how much has come of the file."""
        kind, body = _form(data, offset)
        status, text = self.ask("POST", f"{upload}/files/0", body, Content_Type=kind)
        assert status == 200, (status, text[:200])
        return int(json.loads(text)["received"])

    def half_a_part(self, upload: str, data: bytes, offset: int) -> socket.socket:
        """Send the beginning of a part, and leave the line open."""
        line = socket.create_connection(("127.0.0.1", self.port))
        kind, body = _form(data, offset)
        headers = self.headers(Content_Type=kind, Content_Length=str(len(body)))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        line.sendall(f"POST {upload}/files/0 HTTP/1.1\r\n{head}\r\n".encode() + body[: len(body) // 2])
        return line


def _form(data: bytes, offset: int) -> tuple[str, bytes]:
    """The type and the body of the form that sends a part."""
    fields = {"offset": str(offset), "sha256": hashlib.sha256(data).hexdigest()}
    begin = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
    lines = [f'{begin}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
    lines.append(f'{begin}"part"; filename="part"\r\n\r\n')
    return (
        f"multipart/form-data; boundary={_BOUNDARY}",
        "".join(lines).encode() + data + f"\r\n--{_BOUNDARY}--\r\n".encode(),
    )


class Server:
    """`manage.py serve` and its processes."""

    def __init__(self, environ: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.environ = environ
        self.peaks: dict[str, int] = {}
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port)]
        log = (Path(self.environ["DATA_DIR"]) / "server.log").open("ab")
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, env=self.environ, stdout=log, stderr=log, start_new_session=True
        )
        while True:
            with contextlib.suppress(OSError):
                line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                line.request("GET", "/healthz")
                if line.getresponse().status == 200:
                    return
            time.sleep(0.5)

    def look(self) -> None:
        """Note the peak of resident memory of each of its processes, in MiB."""
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if folder.name.isdigit() and os.getsid(int(folder.name)) == self.process.pid:
                    words = (folder / "cmdline").read_bytes().decode().split("\0")
                    status = (folder / "status").read_text()
                    peak = int(status.split("VmHWM:")[1].split()[0]) // 1024
                    name = "worker of jobs" if "run_jobs" in words else "web"
                    self.peaks[name] = max(peak, self.peaks.get(name, 0))

    def end(self, how: signal.Signals) -> None:
        """End all of its processes."""
        self.look()
        os.killpg(self.process.pid, how)
        self.process.wait()


@contextlib.contextmanager
def serving(environ: dict[str, str]) -> Iterator[Server]:
    """A server that ends with the context."""
    server = Server(environ)
    try:
        yield server
    finally:
        server.end(signal.SIGKILL)


def send(server: Server, sender: Sender, file: Path) -> tuple[str, int]:
    """Send the file, cut off twice; the address of its page, and the parts it took."""
    size = file.stat().st_size
    sender.ask("GET", "/uploads/")
    body = json.dumps({"name": "large", "files": [{"path": file.name, "size": size}]}).encode()
    begun = json.loads(sender.ask("POST", "/api/v1/uploads", body, Content_Type="application/json")[1])
    upload, received, parts = f"/api/v1/uploads/{begun['key']}", 0, 0
    to_come = [("cut", CUT * size), ("killed", KILLED * size)]
    with file.open("rb") as stream:
        while received < size:
            stream.seek(received)
            data = stream.read(begun["part_bytes"])
            if to_come and received > to_come[0][1]:
                line = sender.half_a_part(upload, data, received)
                time.sleep(0.3)
                if to_come.pop(0)[0] == "killed":
                    server.end(signal.SIGKILL)
                    server.start()
                line.close()
                received = json.loads(sender.ask("GET", upload)[1])["received"]
                print(f"goes on at {received:,} of {size:,} bytes", flush=True)
                continue
            received = sender.part(upload, data, received)
            parts += 1
    server.look()
    return f"/uploads/{begun['key']}/", parts


def job(server: Server, sender: Sender, page: str, act: str) -> str:
    """Have the upload checked or imported, and wait for the end; the page then."""
    fields = urlencode({"upload": page.split("/")[2], "next": page}).encode()
    sender.ask("POST", f"/operations/{act}_upload/", fields, Content_Type="application/x-www-form-urlencoded")
    while True:
        server.look()
        status, text = sender.ask("GET", page)
        if status == 302 or 'data-live="on"' not in text:
            return text
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=float, default=2.0, help="GB of the zip")
    parser.add_argument("--picture", type=float, default=1.0, help="MB of a picture")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        file, data = Path(name) / "large.zip", Path(name) / "data"
        data.mkdir()
        count = make_zip(file, options.size, options.picture)
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        environ = {**os.environ, "DATA_DIR": str(data), "DATABASE_URL": "", "REDIS_URL": ""}
        manage: dict[str, Any] = {"cwd": REPOSITORY, "env": environ, "check": True, "text": True}
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], **manage)
        completed = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v0", "-c", _ACCOUNT], **manage, stdout=subprocess.PIPE
        )
        cookie = "=".join(completed.stdout.split()[-2:])
        with serving(environ) as server:
            sender = Sender(server.port, cookie)
            page, parts = send(server, sender, file)
            checked = job(server, sender, page, "check")
            imported = job(server, sender, page, "import")
            if 'class="open wraps"' in imported:
                print(imported[imported.index('class="open wraps"') :][:300])
            _, corpus = sender.ask("GET", "/corpora/large/")
            server.look()
        print(f"{file.stat().st_size / 1e9:.2f} GB, {count} pictures, {parts} whole parts")
        print(text_table(["process", "peak MiB"], [list(row) for row in sorted(server.peaks.items())]))
        print("digest equal" if digest in checked else "DIGEST DIFFERS")
        text = re.sub(r"<[^>]*>|(?<=\d)\D(?=\d{3})", "", corpus)  # thousands are set apart
        print("all imported" if f"{count} images" in text else "PICTURES ARE MISSING")


if __name__ == "__main__":
    main()
