"""Speed of an annotator's page: time from a key press to the next painted question, and bytes.

    python -m studies.page_speed [--database sqlite|postgresql] [--answers 100] [--pauses 1.0 0.4]
                                    [--images 150]

The product's own server in production mode (`manage.py serve`), a sample corpus with pictures, one person in
Chromium at 1280 x 800 who answers "1" to one question after the other, `--pauses` seconds after each was
painted. The time is measured from the key event's own time stamp to the first task after the frame that shows
the next question. Bytes are the transfer size of the first task page with an empty cache, and the
uncompressed size of its files, without pictures.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from annotation.common.plain_text import text_table
from tests import prepare, services
from tests.house.product import REPOSITORY
from tests.services import free_port

NAME, USER, PASSWORD = "pages", "ann", "known to this benchmark alone"
PRODUCTION = {
    "PHRASEBOX_ENV": "production",
    "SECRET_KEY": "known-to-this-benchmark-alone-0123456789-0123456789-abcdefghij",
    "SITE_URL": "http://127.0.0.1",
    "CONTACT_EMAIL": "people@phrasebox.example",
}
SETTINGS = "[trust]\nqualification = false\ncontrol_share = 0.0\n"

#: Records in `times` how long each next question took, in ms; `press` answers one.
WATCH = """() => {
  window.times = [];
  let pressed = 0;
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  let shown = document.querySelector("[data-task]").dataset.assignment;
  new MutationObserver(() => {
    const now = document.querySelector("[data-task]").dataset.assignment;
    if (now === shown) return;
    shown = now;
    const from = pressed;
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => times.push(performance.now() - from);
      painted.port2.postMessage(0);
    });
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--pauses", type=float, nargs="+", default=[1.0, 0.4])
    parser.add_argument("--images", type=int, default=150)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-pages-")))
        environment = {**PRODUCTION, "DATA_DIR": str(folder / "data")}
        if options.database == "postgresql":
            binaries = _need("postgresql")
            environment["DATABASE_URL"] = stack.enter_context(services.postgres(binaries))
        _fill(folder, environment, options.images)
        address = stack.enter_context(_serving(environment))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(
            executable_path=_need("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 800})
        page = _at_work(context)
        rows = []
        for pause in options.pauses:
            times = _walk(page, options.answers, pause)
            late = statistics.quantiles(times, n=20, method="inclusive")[-1]
            rows.append([options.database, pause, len(times), statistics.median(times), late, max(times)])
        print(text_table(["database", "pause s", "answers", "median ms", "p95 ms", "longest ms"], rows))
        print()
        wire, unpacked, requests = _first_page(browser, context, address)
        print(
            text_table(["first page", "requests", "kB over the wire", "kB"], [["", requests, wire, unpacked]])
        )
        browser.close()


def _need(component: str) -> Path:
    component_path = prepare.find(component)
    if component_path is None:
        sys.exit(f"{component} is missing: `make setup` says how to install it")
    return component_path


@contextlib.contextmanager
def _serving(environment: dict[str, str]) -> Iterator[str]:
    """Yield the address of the product's server. Its log is discarded: an unread pipe would block it."""
    port = free_port()
    command = [sys.executable, str(REPOSITORY / "manage.py"), "serve", "--port", str(port), "--workers", "2"]
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        services.until_it_answers(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _fill(folder: Path, environment: dict[str, str], images: int) -> None:
    """Create a campaign over a sample with pictures, and a worker."""
    (folder / "settings.toml").write_text(SETTINGS)
    sample = folder / "sample"
    account = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    open_campaign = ["open_campaign", NAME, "--corpus", NAME, "--tasks", "entities", "--unpaid"]
    for command in (
        ["migrate", "-v", "0"],
        ["collectstatic", "--no-input", "-v", "0"],
        ["make_sample", str(sample), "--images", str(images)],
        ["import_corpus", NAME, str(sample), "--format", "jsonl", "--images", str(sample / "images")],
        [*open_campaign, "--campaign-settings", str(folder / "settings.toml")],
        ["createsuperuser", "--no-input", "--username", USER, "--email", "ann@example.org"],
    ):
        subprocess.run(
            [sys.executable, str(REPOSITORY / "manage.py"), *command],
            env={**os.environ, **environment, **account},
            check=True,
            stdout=subprocess.DEVNULL,
        )


def _at_work(context: BrowserContext) -> Page:
    """Return the page after sign-in, consent and instructions."""
    page = context.new_page()
    page.goto(f"/sign-in/?next=/tasks/{NAME}/coref_link/")
    page.get_by_label("User name").fill(USER)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    for button in ("I agree", "I have read this: begin"):
        page.get_by_role("button", name=button).click()
    page.wait_for_selector("[data-picture]")
    page.evaluate(WATCH)
    return page


def _walk(page: Page, answers: int, pause: float) -> list[float]:
    """Return milliseconds from key press to paint, for each answer."""
    page.evaluate("times.length = 0")
    for done in range(1, answers + 1):
        page.wait_for_timeout(1000 * pause)
        page.keyboard.press("1")
        page.wait_for_function("done => times.length >= done", arg=done, polling=20)
    times: list[float] = page.evaluate("times")
    return times


def _first_page(browser: Browser, signed_in: BrowserContext, address: str) -> tuple[float, float, int]:
    """Return for the task page in an empty cache: kB transferred, kB uncompressed, requests."""
    context = browser.new_context(storage_state=signed_in.storage_state())
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    pictures: set[str] = set()
    wire: dict[str, float] = {}
    unpacked: dict[str, float] = {}

    def request_sent(event: dict[str, object]) -> None:
        request = event["request"]
        if isinstance(request, dict) and "/pictures/" in str(request["url"]):
            pictures.add(str(event["requestId"]))

    def came(event: dict[str, object]) -> None:
        name = str(event["requestId"])
        unpacked[name] = unpacked.get(name, 0) + float(str(event["dataLength"]))

    session.on("Network.requestWillBeSent", request_sent)
    session.on("Network.dataReceived", came)
    session.on(
        "Network.loadingFinished",
        lambda event: wire.__setitem__(str(event["requestId"]), float(event["encodedDataLength"])),
    )
    page.goto(f"{address}/tasks/{NAME}/coref_link/", wait_until="load")
    code = set(wire) - pictures
    kilobytes = sum(wire[name] for name in code) / 1000, sum(unpacked.get(name, 0) for name in code) / 1000
    context.close()
    return *kilobytes, len(code)


if __name__ == "__main__":
    main()
