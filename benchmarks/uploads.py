"""A large zip sent to the upload's pages in parts, cut off twice, checked and imported: memory and digest.

    python -m benchmarks.uploads [--size 2.0] [--picture 1.0]

Makes a zip of `--size` GB of noisy JPEGs of about `--picture` MB each, with captions. Each step is a process
of its own on SQLite in a temporary folder: the web process that takes the parts (twice it is killed in the
middle of a part, and the next goes on), the check, the import. Each prints its peak of resident memory. The
sender is in the web process, so that its part of 8 MiB is counted too. The disk needs four times `--size`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Picture

from annotation.management.base import plain_table

REPOSITORY = Path(__file__).resolve().parent.parent
#: Shares of the file at which the line is cut.
CUTS = (0.3, 0.7)


def make_zip(file: Path, size: float, picture: float) -> int:
    """A zip of about `size` GB of pictures of `picture` MB each, and their captions; how many pictures."""
    dice = np.random.default_rng(23)
    side = int(round((picture * 1e6 / 1.3) ** 0.5))  # noise takes about 1.3 bytes a pixel at this quality
    lines, count = [], 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        while file.stat().st_size < size * 1e9:
            noise = dice.integers(0, 256, (side, side, 3), dtype=np.uint8)
            packed = io.BytesIO()
            Picture.fromarray(noise).save(packed, "JPEG", quality=80)
            archive.writestr(f"photos/p{count}.jpg", packed.getvalue())
            lines.append(f"p{count}.jpg#0\tA man in the street looks at number {count} .")
            count += 1
        archive.writestr("captions.token.txt", "\n".join(lines) + "\n")
    return count


def work(step: str, folder: Path) -> dict[str, Any]:
    """One step in this process; what it came to."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.test import Client

    from annotation import jobs
    from annotation.datasets import uploads
    from annotation.management.resources import peak_mib
    from annotation.models import Account, Corpus, Job, RoleGrant

    file = folder / "large.zip"
    if step == "begin":
        account = Account.objects.create_user(username="ada")
        RoleGrant.objects.create(account=account, role="researcher")
    account = Account.objects.get(username="ada")
    client = Client(SERVER_NAME="localhost")
    client.force_login(account)
    size = file.stat().st_size
    if step in ("begin", "again", "rest"):
        body = {"name": "large", "files": [["large.zip", size]]}
        begun = client.post("/uploads/begin", json.dumps(body), content_type="application/json").json()
        ((_, received, _),) = begun["files"]
        first, sent = received, 0
        until = size * {"begin": CUTS[0], "again": CUTS[1], "rest": 1.0}[step]
        with file.open("rb") as stream:
            while received < until:
                stream.seek(received)
                data = stream.read(begun["part"])
                headers = {
                    "X-Part-Offset": str(received),
                    "X-Part-SHA256": hashlib.sha256(data).hexdigest(),
                }
                answer = client.post(
                    f"{begun['page']}files/0",
                    data,
                    content_type="application/octet-stream",
                    headers=headers,
                )
                received, sent = answer.json()["received"], sent + 1
        if step != "rest":
            # Killed in the middle of a part: what came of it lies there.
            with file.open("rb") as stream, uploads.uploads_of(account)[0].place(0).open("ab") as there:
                stream.seek(received)
                there.write(stream.read(begun["part"] // 3))
        told = {"from": first, "parts": sent}
    else:
        upload = uploads.uploads_of(account)[0]
        page = f"/uploads/{upload.key}/"
        act = "check" if step == "check" else "import"
        client.post(f"{page}act", {"act": act})
        job = Job.objects.filter(state=Job.QUEUED).get()
        told = {"state": jobs.run_queued_job(job.pk)}
        job.refresh_from_db()
        if step == "check":
            told |= {"sha256": job.result["sha256"]["large.zip"], "problems": job.result["problem_count"]}
        else:
            told |= {"images": Corpus.objects.get(name="large").image_count}
    return {"step": step, "peak_mib": round(peak_mib()), **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=float, default=2.0, help="GB of the zip")
    parser.add_argument("--picture", type=float, default=1.0, help="MB of a picture")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(work(options.step, Path(os.environ["DATA_DIR"]).parent)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = make_zip(folder / "large.zip", options.size, options.picture)
        with (folder / "large.zip").open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        environ = {
            **os.environ,
            "DATA_DIR": str(folder / "data"),
            "ALLOWED_HOSTS": "localhost",
            "DATABASE_URL": "",
        }
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v0"], cwd=REPOSITORY, env=environ, check=True
        )
        rows = []
        for step in ("begin", "again", "rest", "check", "import"):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.uploads", "--step", step],
                cwd=REPOSITORY,
                env=environ,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(rows[-1], flush=True)
        checked, imported = rows[3], rows[4]
        print(f"{(folder / 'large.zip').stat().st_size / 1e9:.2f} GB, {count} pictures")
        print(plain_table(["step", "peak MiB"], [[row["step"], row["peak_mib"]] for row in rows]))
        print("digest equal" if checked["sha256"] == digest else "DIGEST DIFFERS")
        print("all imported" if imported["images"] == count else "PICTURES ARE MISSING")


if __name__ == "__main__":
    main()
