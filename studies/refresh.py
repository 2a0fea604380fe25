"""Effect on others of withdrawing one worker's answers in a campaign of the size of Flickr30k, and updating
its layer.

    [DATABASE_URL=postgresql://...] python -m studies.refresh [--images 31783] [--workers 200]

Generated scenes are annotated by simulated workers through the queue, and their rows copied under new ids
until there are as many images. Then one worker's answers are withdrawn and the layer updated, while another
process reads parts of images that this worker never answered about, and a third one takes and answers
questions; after that, the two run undisturbed. On a temporary SQLite database, or on a temporary database
beside that of DATABASE_URL.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

import django

from annotation.common.plain_text import text_table
from studies.intake import FLICKR30K, database

SCENES = 100
NAME = "bench"
#: Seconds for which the others run undisturbed.
UNDISTURBED = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=FLICKR30K)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--role", choices=sorted(ROLES), help=argparse.SUPPRESS)
    parser.add_argument("--until", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        _set_up()
        print(json.dumps(ROLES[options.role](options)))
        return
    with tempfile.TemporaryDirectory() as name, database(Path(name)) as environment:
        folder = Path(name)

        def begin(role: str, until: Path) -> subprocess.Popen[str]:
            command = [sys.executable, "-m", "studies.refresh", "--role", role, "--until", str(until)]
            command += ["--images", str(options.images), "--workers", str(options.workers)]
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

        def result(child: subprocess.Popen[str]) -> Any:
            output, _ = child.communicate()
            if child.returncode:
                raise SystemExit(f"{child.args!r} failed")
            return json.loads(output.splitlines()[-1])

        filled = result(begin("fill", folder / "unused"))
        print(text_table(list(filled), [list(filled.values())]))
        others: dict[str, dict[str, list[float]]] = {}
        acts: dict[str, Any] = {}
        for act in ("withdraw", "bring_up"):

            def do(act: str = act) -> None:
                acts[act] = result(begin(act, folder / "unused"))

            others[act] = _beside(begin, result, folder / act, do)
        others["nothing"] = _beside(begin, result, folder / "end", lambda: time.sleep(UNDISTURBED))
    rows = [
        [act, output["images"], output["seconds"], output["seconds"] / output["images"] * 1000]
        for act, output in acts.items()
    ]
    print(text_table(["act", "images", "seconds", "ms an image"], rows))
    rows = [
        [when, role, len(times), *(1000 * value for value in _spread(times))]
        for when, output in others.items()
        for role, times in output.items()
    ]
    print(text_table(["meanwhile", "who", "times", "p50 ms", "p99 ms", "most ms"], rows))


def _beside(begin: Any, result: Any, until: Path, act: Any) -> dict[str, list[float]]:
    """Return the times of reading and answering while `act` ran."""
    children = {role: begin(role, until) for role in ("read", "answer")}
    act()
    until.touch()
    return {role: result(child) for role, child in children.items()}


def _spread(times: Sequence[float]) -> tuple[float, float, float]:
    cuts = quantiles(times, n=100)
    return cuts[49], cuts[98], max(times)


def _set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


def _fill(options: argparse.Namespace) -> dict[str, Any]:
    """Create the campaign with answers and an updated layer."""
    from django.core.management import call_command

    from annotation.datasets import layers
    from annotation.models import Campaign, Judgment, OpenImage
    from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
    from studies import queue_fill

    call_command("migrate", verbosity=0)
    queue_fill.fill(0, scenes=SCENES, settings={"trust": {"qualification": False, "control_share": 0.0}})
    campaign = Campaign.objects.get(name=NAME)
    run_campaign_crowd(
        campaign=campaign,
        plan=CrowdPlan(mix={"careful": options.workers}, seed=1),
        gold="import",
        review=False,
    )
    queue_fill.copy(max(0, options.images // SCENES - 1), answers=True)
    queue_fill.vacuum()
    OpenImage.objects.filter(campaign=campaign).update(layer_behind=True)
    began = time.perf_counter()
    written = sum(layers.update_layer_in_steps(campaign))
    return {
        "images": OpenImage.objects.count(),
        "judgments": Judgment.objects.count(),
        "layer written": written,
        "seconds": time.perf_counter() - began,
    }


def _concerned() -> tuple[Any, int]:
    """Return the campaign, and the worker with the median number of answers."""
    from django.db.models import Count

    from annotation.models import Campaign, Judgment

    campaign = Campaign.objects.get(name=NAME)
    counts = Judgment.objects.filter(campaign=campaign).values("worker").annotate(n=Count("id")).order_by("n")
    workers = list(counts.values_list("worker", flat=True))
    return campaign, workers[len(workers) // 2]


def _withdraw(options: argparse.Namespace) -> dict[str, Any]:
    from annotation.moderation.worker_status import withdraw_worker_answers

    campaign, worker = _concerned()
    began = time.perf_counter()
    done = withdraw_worker_answers(campaign=campaign, worker=worker)
    return {"images": done.images, "seconds": time.perf_counter() - began}


def _start_services(options: argparse.Namespace) -> dict[str, Any]:
    from annotation.datasets import layers

    campaign, _ = _concerned()
    began = time.perf_counter()
    written = sum(layers.update_layer_in_steps(campaign))
    return {"images": written, "seconds": time.perf_counter() - began}


def _read(options: argparse.Namespace) -> list[float]:
    """Return the seconds of each reading of an image's part, for images that the worker never answered
    about."""
    from annotation.models import Image, Judgment, Layer
    from annotation.selectors import browse

    campaign, worker = _concerned()
    images = set(
        Judgment.objects.filter(campaign=campaign, worker=worker).values_list("image__image", flat=True)
    )
    ids = [pk for pk in Image.objects.values_list("pk", flat=True) if pk not in images]
    layer = Layer.objects.get(corpus=campaign.corpus_id, name=NAME)
    rng, times = random.Random(1), []
    while not options.until.exists():
        image = Image.objects.get(pk=rng.choice(ids))
        began = time.perf_counter()
        browse.layer_rows(image, layer)
        times.append(time.perf_counter() - began)
        time.sleep(0.01)
    return times


def _answer(options: argparse.Namespace) -> list[float]:
    """Return the seconds for leasing and answering each question, by a new worker."""
    from annotation.models import Worker
    from annotation.protocol.questions import ANSWERS, BOX_DRAWING, QUESTIONS
    from annotation.queue import leases, submission
    from annotation.queue.leases import Lease
    from annotation.queue.submission import Answer

    campaign, _ = _concerned()
    name = f"latecomer-{time.time_ns()}"
    worker = Worker.objects.create(pseudonym=name).pk
    times: list[float] = []
    while not options.until.exists():
        time.sleep(0.01)
        for kind in QUESTIONS:
            if kind == BOX_DRAWING:
                continue
            began = time.perf_counter()
            lease = leases.take_lease(worker=worker, campaign=campaign, kind=kind)
            if isinstance(lease, Lease):
                answer = Answer(ANSWERS[kind][0])
                token = f"{name}-{len(times)}"
                submission.submit(worker=worker, assignment=lease.id, answer=answer, token=token, then=False)
                times.append(time.perf_counter() - began)
    return times or [0.0, 0.0]


ROLES = {"fill": _fill, "withdraw": _withdraw, "bring_up": _start_services, "read": _read, "answer": _answer}

if __name__ == "__main__":
    main()
