"""Screenshots of the product's pages, light and dark, on a phone and on a desktop, from the demonstration.

    python -m tests.browser.screenshots [--out var/screenshots]

Makes the demonstration in its own folder, serves it, visits its pages with Chromium as its only user, and
writes PAGE-WIDTH-SCHEME.png. For inspection, and for README and docs; no test reads them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests import prepare, services
from tests.conftest import CHROMIUM_FLAGS

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SIZES = {390: 844, 1280: 800}
SCHEMES = ("light", "dark")
KINDS = (
    "coref_link",
    "chain_verification",
    "box_requirement",
    "box_drawing",
    "box_quality",
    "box_coverage",
)

#: Campaigns of questions whose votes are only counted, opened in addition to the demonstration's.
COUNTED = {
    "relevance": "relevance",
    "tags": "tag_relevance",
    "graded": "graded_relevance",
    "captions": "caption_writing",
    "regions": "region_description",
}

#: The demonstration's runs.
RUNS = [
    f"{system}-{direction}"
    for system in ("chance", "near", "kcca", "oracle")
    for direction in ("annotation", "search")
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "var" / "screenshots")
    value = parser.parse_args()
    value.out.mkdir(parents=True, exist_ok=True)
    executable = prepare.find("chromium")
    if executable is None:
        raise SystemExit("Chromium is not installed; `python -m tests.prepare` says how to get it")
    with tempfile.TemporaryDirectory() as folder, demonstration(Path(folder)) as (url, password):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
            for width, height in SIZES.items():
                for scheme in SCHEMES:
                    context = browser.new_context(
                        base_url=url,
                        viewport={"width": width, "height": height},
                        color_scheme=scheme,  # type: ignore[arg-type]
                        has_touch=width < 600,
                    )
                    page = context.new_page()
                    for name, go in walk(page, password):
                        go()
                        page.wait_for_load_state("networkidle")
                        page.screenshot(path=value.out / f"{name}-{width}-{scheme}.png")
                        print(f"{name}-{width}-{scheme}.png", flush=True)
                    page.goto("about:blank")
                    context.close()
            browser.close()


@contextlib.contextmanager
def demonstration(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server with the demonstration's data; yield its address, and the password of `demo`."""
    environment = {**os.environ, "DATA_DIR": str(folder), "DEMO_SERVE": "0"}
    for name in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    manage = [sys.executable, str(REPOSITORY / "manage.py")]
    created = subprocess.run([*manage, "demo"], env=environment, check=True, capture_output=True, text=True)
    password = re.search(r"password[:\s]+(\S+)", created.stdout)
    assert password is not None, created.stdout
    untested = folder / "untested.toml"
    untested.write_text("[trust]\nqualification = false\n")
    for tasks in COUNTED:
        opened = [
            tasks,
            "--corpus",
            "sample",
            "--tasks",
            tasks,
            "--campaign-settings",
            str(untested),
            "--unpaid",
        ]
        subprocess.run([*manage, "open_campaign", *opened], env=environment, check=True, capture_output=True)
    port = services.free_port()
    server = subprocess.Popen([*manage, "serve", "--port", str(port)], env=environment)
    try:
        services.until_it_answers(port, server)
        yield f"http://127.0.0.1:{port}", password[1]
    finally:
        server.terminate()
        server.wait(60)


def walk(page: Page, password: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the pages in the order of a visit: (name, function that opens it)."""
    yield "sign_in", lambda: page.goto("/sign-in/")
    yield "forgotten", lambda: page.goto("/forgotten/")
    yield "sign_in", lambda: page.goto("/sign-in/")

    def enter() -> None:
        page.get_by_label("User name").fill("demo")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda address: "sign-in" not in address)

    yield "home", enter
    yield "consent", lambda: page.goto("/tasks/people/consent/")

    def agree(then: str = "/tasks/") -> None:
        button = page.get_by_role("button", name="I agree")
        if button.count():
            button.click()
            page.wait_for_url(lambda address: "consent" not in address)
        page.goto(then)

    yield "tasks", agree

    def work(kind: str, campaign: str = "people") -> None:
        page.goto(f"/tasks/{campaign}/consent/")
        agree(f"/tasks/{campaign}/{kind}/")
        begin = page.get_by_role("button", name="I have read this: begin")
        if begin.count():
            begin.click()
            page.wait_for_url(lambda address: "instructions" not in address)

    yield "instructions", lambda: page.goto("/tasks/people/coref_link/instructions/")
    yield "practice", lambda: page.goto("/tasks/people/box_coverage/practice/?n=2")
    yield "verdict", lambda: page.get_by_role("button", name="All have a box").click()
    yield "practised", lambda: page.goto("/tasks/people/box_coverage/practice/?n=9&right=4")
    for kind in KINDS:
        yield f"task_{kind}", partial(work, kind)
    for campaign, kind in COUNTED.items():
        yield f"task_{kind}", partial(work, kind, campaign)
    yield "corpus", lambda: page.goto("/corpora/sample/")
    yield "image", lambda: page.locator("main a[href*='/images/']").first.click()
    yield "campaigns", lambda: page.goto("/campaigns/")
    yield "campaign", lambda: page.goto("/campaigns/people/")
    yield "entry", lambda: page.goto("/campaigns/people/recruiting/")
    yield "workers", lambda: page.goto("/campaigns/people/workers/")
    yield "review", lambda: page.goto("/campaigns/people/review/")
    yield "review_image", lambda: page.locator(".queue .chains a").first.click()
    yield "payments", lambda: page.goto("/campaigns/people/payments/")
    yield "people", lambda: page.goto("/people/")
    yield "phrases", lambda: page.goto("/corpora/sample/images/scene-000001/phrases/")
    yield "control_item_list", lambda: page.goto("/campaigns/people/control-items/")
    yield "settings", lambda: page.goto("/campaigns/people/settings/")
    yield "texts", lambda: page.goto("/campaigns/people/texts/")
    yield "jobs", lambda: page.goto("/campaigns/people/jobs/")
    yield "systems", lambda: page.goto("/evaluation/")
    yield "system", lambda: page.goto("/evaluation/systems/kcca/")
    yield "train", lambda: page.goto("/evaluation/train/")
    yield "bring", lambda: page.goto("/evaluation/add-system/")
    yield "runs", lambda: page.goto("/evaluation/runs/")
    yield "run", lambda: page.goto("/evaluation/runs/kcca-search/")
    yield "queries", lambda: page.goto("/evaluation/runs/kcca-search/queries/?with=oracle-search")
    yield "query", lambda: page.locator("main a[href*='/queries/']").first.click()
    chosen = "&".join(f"run={run}" for run in RUNS)
    yield "compare", lambda: page.goto(f"/evaluation/compare/?{chosen}")
    yield "batches", lambda: page.goto("/evaluation/batches/")
    yield "batch_new", lambda: page.goto(f"/evaluation/new-batch/?chosen=1&corpus=sample&threshold=&{chosen}")
    yield "batch", lambda: page.goto("/evaluation/batches/first/")
    yield "batch_open", lambda: page.goto("/evaluation/batches/second/")
    yield "reports", lambda: page.goto("/evaluation/reports/")
    yield "report_new", lambda: page.goto("/evaluation/new-report/?qrels=pooled:1")
    yield "report", lambda: page.goto("/evaluation/reports/spring/")
    yield "account", lambda: page.goto("/account/")
    yield "missing", lambda: page.goto("/corpora/no-such/")


if __name__ == "__main__":
    main()
