"""From an empty database to the LaTeX of a report with the client package: the same as
`tests/browser/test_walk.py` with pages, as one script.

Accounts, roles and tokens are made on pages, since they require a password; drafts, and the grid of an entry
test, exist only on pages too: here its items are sent. Everything else is a call of `clients/python`, or of
the API of a worker's tasks. The product runs completely, in separate processes.
"""

from __future__ import annotations

import importlib
import io
import itertools
import json
import sys
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from annotation.protocol import questions as q
from annotation.protocol.trust import QUALIFICATION
from tests.browser.conftest import pages_of, profiles
from tests.browser.profiles import Profiles
from tests.browser.test_from_nothing import make_account
from tests.browser.test_walk import Walk, invited, joins
from tests.complete import CompleteProduct
from tests.conftest import REPOSITORY
from tests.walking import SOUND, captioned_pictures, packed, ranked, sound

__all__ = ["profiles"]

CLIENT = REPOSITORY / "clients" / "python"
IMAGES = 2
#: Pay in cents of an answer, and of a page of the batch.
PER_ITEM = {kind: 0.10 if kind == q.BOX_DRAWING else 0.02 for kind in q.QUESTIONS}
A_PAGE = Decimal("0.25")
#: The kinds with an entry test, and their answers for the same thing and for different things.
TESTED = {q.COREF_LINK: ("yes", "no"), q.CHAIN_VERIFICATION: ("true", "false")}
#: Trusted annotators need no test for a batch.
KNOWN_PEOPLE = {"qualification": False}
#: Returns a worker's answer to a task.
Choose = Callable[[Mapping[str, Any]], dict[str, Any]]


class TaskClient:
    """A worker's client: it takes tasks and answers them, with the token that the operator made for it."""

    def __init__(self, product: CompleteProduct, pseudonym: str) -> None:
        self.pseudonym = pseudonym
        self._token = product.manage("make_worker_token", pseudonym).strip()
        self._url = product.url

    def call(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the response of the API of tasks to a GET, or to a POST of `body`."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {self._token}", "Content-Type": "application/json"}
        with urlopen(Request(f"{self._url}/api/{path}", data, headers), timeout=60) as answer:
            return json.load(answer)

    def agrees(self, campaign: str) -> None:
        """Consent to a campaign's terms."""
        consent = self.call(f"campaigns/{campaign}/consent")
        self.call(f"campaigns/{campaign}/consent", {"version": consent["version"]})

    def begins_test(self, campaign: str, kind: str) -> int:
        """Begin the test of a kind, which precedes its tasks; return its number of questions."""
        by_name = {"campaign": campaign, "kind": kind}
        assert self.call("tasks/next", by_name)["nothing"] == "no_test"
        return int(self.call("tasks/test", by_name)["items"])

    def works(self, campaign: str, kind: str, choose: Choose) -> int:
        """Answer all tasks of a kind; return their number, without those of a test."""
        done = 0
        task = self.call("tasks/next", {"campaign": campaign, "kind": kind})
        while "nothing" not in task:
            done += not task["test"]
            form_data = {"token": uuid.uuid4().hex, "seconds": 2.0, **choose(task)}
            task = self.call(f"assignments/{task['id']}/answer", form_data)["next"]
        return done


@pytest.fixture
def client_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The client as its users import it."""
    monkeypatch.syspath_prepend(str(CLIENT))
    yield importlib.import_module("phrasebox_client")
    for name in [name for name in sys.modules if name.startswith("phrasebox_client")]:
        del sys.modules[name]


@pytest.fixture
def walk(complete: CompleteProduct, profiles: Profiles, tmp_path: Path) -> Iterator[Walk]:
    with pages_of(profiles, complete.url) as open_page:
        yield Walk(complete, open_page, tmp_path, tmp_path)


@pytest.mark.slow
def test_a_lab_goes_from_an_empty_database_to_the_latex_of_a_report_by_the_client_alone(
    walk: Walk, client_package: Any
) -> None:
    """It costs more than a test may: a lab's first weeks, with every process that the product has."""
    # Accounts, on pages.
    boss = walk.open_page(alone=True)
    make_account(boss, walk.product.first_account, "boss")
    ada = invited(walk, boss, "ada", "researcher", "")
    client = client_package.Client(walk.product.url, token_of(ada))
    assert client.get("me")["username"] == "ada"

    # Forty pictures; two are listed and skipped, and one is not used.
    pictures = captioned_pictures(walk.folder / "drawn")
    archive = walk.folder / "pictures.zip"
    archive.write_bytes(packed(pictures))
    upload = client.send_corpus("pictures", archive)
    checked = client.finished(client.post(f"uploads/{upload['key']}/check"), every=0.2)["result"]
    problems = Counter(problem["sort"] for problem in checked["problems"])
    assert checked["problem_count"] == problems.total() == 2
    skipping = client.post(f"uploads/{upload['key']}/import", {"skip_problems": True, "leave_unused": True})
    client.finished(skipping, every=0.2)
    assert client.get("corpora/pictures")["images"] == SOUND

    # A campaign, and two annotators who join with its link.
    plan = {
        "name": "people",
        "corpus": "pictures",
        "tasks": "entities",
        "images": IMAGES,
        "campaign_settings": {"pay": {"basis": "item", "per_item": PER_ITEM}},
    }
    client.finished(client.post("campaigns", plan)["job"], every=0.2)
    assert client.get("campaigns/people")["state"] == "open"
    items = entry_test(client)
    assert client.post("campaigns/people/control-items", {"items": items})["added"] == len(items)
    link = client.post("campaigns/people/invitations", {"label": "the walk"})["address"]
    pages = [walk.open_page(alone=True) for _ in range(2)]
    ann, bob = (TaskClient(walk.product, joins(page, link, "people")) for page in pages)

    # They answer, and the progress shows it.
    answers, tests = answered(client, ann, bob)
    for worker, kind in ((ann, q.COREF_LINK), (bob, q.CHAIN_VERIFICATION)):
        kinds = client.get(f"campaigns/people/workers/{worker.pseudonym}")["kinds"]
        (entry,) = (item for item in kinds if item["kind"] == kind)
        assert entry["state"] != QUALIFICATION and entry["answers"] > 0, entry
    response = client.get("campaigns/people?fresh=true")
    assert response["progress"]["begun"] == IMAGES and response["progress"]["in_review"] == 1
    # The test's answers are counted, but not paid.
    assert {kind["kind"]: kind["answers"] for kind in response["cost"]["kinds"]} == dict(answers + tests)
    earned = sum(Decimal(str(PER_ITEM[kind])) * number for kind, number in answers.items())
    assert Decimal(response["cost"]["earned"]) == Decimal(response["cost"]["due"]) == earned

    # A ruling, a suspension, a payment.
    (waiting,) = client.rows("campaigns/people/review")
    (chain,) = waiting["chains"]
    address = f"campaigns/people/review/images/{waiting['image']}/rulings"
    client.post(address, {"kind": "partition", "groups": [chain["mentions"]]})
    assert list(client.rows("campaigns/people/review")) == []
    suspended = {"workers": [bob.pseudonym], "reason": "The boxes are too large."}
    client.post("campaigns/people/several-workers/suspend", suspended)
    assert bob.call("tasks/next", {"campaign": "people", "kind": q.BOX_QUALITY})["nothing"] == "blocked"
    (due,) = (row for row in client.rows("campaigns/people/dues") if row["worker"] == bob.pseudonym)
    paid = client.post("campaigns/people/payments", {"reference": "transfer 1", "workers": [bob.pseudonym]})
    assert [item["amount"] for item in paid["payments"]] == [due["due"]]
    left = Decimal(client.get("campaigns/people?fresh=true")["cost"]["due"])
    assert left == earned - Decimal(due["due"])

    # The export, with its datasheet.
    values = {"format": "entities", "unfinished": "include"}
    export = client.finished(client.post("campaigns/people/exports", values), every=0.2)
    with unzipped(client.download(f"jobs/{export['number']}/download")) as files:
        sheet = files.read("README.md").decode()
    assert f"The layer “people” covers {IMAGES} images" in sheet and "1 reviewer made 1 ruling" in sheet
    assert f"Earned: {earned}; paid: {Decimal(due['due']):.2f}." in sheet

    # Two external runs, and a system trained here.
    for name, noise in (("near", 0.5), ("far", 1.5)):
        file = walk.folder / f"{name}.trec"
        file.write_text(ranked(sound(pictures), noise=noise, seed=1))
        fields = {"name": name, "corpus": "pictures", "direction": "annotation", "system": f"{name}-system"}
        assert client.upload("runs", fields, file=file)["queries"] == SOUND
    training = {"name": "learned", "corpus": "pictures", "recipe": "NN5-F1", "fold": "1/5"}
    client.finished(client.post("systems", training), every=0.5)
    client.finished(client.post("systems/learned/rank", {"protocol": "first caption"}), every=0.5)
    runs = ["near", "far", "learned-annotation"]
    assert {*runs} <= {run["name"] for run in client.rows("runs")}

    # A batch, judged by both and frozen.
    batch = {
        "name": "first",
        "corpus": "pictures",
        "runs": runs,
        "depth": 2,
        "threshold": 0,
        "judges": 2,
        "campaign_settings": {
            "pay": {"basis": "item", "per_item": {"relevance": float(A_PAGE)}},
            "trust": KNOWN_PEOPLE,
        },
    }
    client.finished(client.post("batches", batch), every=0.2)
    link = client.post("campaigns/first/invitations", {"label": "the walk"})["address"]
    for worker, page in zip((ann, bob), pages, strict=True):
        joins(page, link, "first")
        worker.agrees("first")
        payload = worker.works("first", "relevance", ticks)
        assert payload > 0
    client.finished(client.post("batches/first/qrels", {"qrels": "pooled"}), every=0.2)
    assert Decimal(client.get("campaigns/first?fresh=true")["cost"]["earned"]) == 2 * payload * A_PAGE

    # The runs compared, and the report with its LaTeX.
    compared = client.get("comparisons", runs=runs, qrels="pooled", measures=["MRR"])
    result = {run["run"]: run["figures"]["MRR"] for run in compared["systems"]}
    assert {*result} == {*runs} and result["near"] == 1.0 > result["far"] > 0
    form_data = {"name": "spring", "qrels": "pooled", "runs": runs, "batch": "first", "measures": ["MRR"]}
    client.finished(client.post("reports", form_data), every=0.5)
    with unzipped(client.download("reports/spring/archive")) as files:
        tables = [files.read(name).decode() for name in files.namelist() if name.endswith(".tex")]
    named = [table for table in tables if all(name in table for name in ("near", "far", "learned"))]
    assert named and "\\begin{tabular}" in named[0]


def token_of(page: Any) -> str:
    """Make a token with write access on the account's page; return it."""
    page.goto("/account/")
    page.get_by_role("link", name="API tokens").click()
    page.get_by_label("What it is for").fill("the walk")
    page.get_by_label("It may").select_option("write")
    page.get_by_role("button", name="Make the token").click()
    text: str = page.locator(".notice-box .code").inner_text()
    return text


def answered(client: Any, ann: TaskClient, bob: TaskClient) -> tuple[Counter[str], Counter[str]]:
    """Answer all six kinds of questions, while the progress changes; return the number of answers of each
    kind, and of those in its test."""
    counter: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    values: list[int] = []

    def verified(task: Mapping[str, Any]) -> dict[str, Any]:
        """Answer correctly in the test; in the tasks refuse the first chain, so that a reviewer must
        decide."""
        if task["test"]:
            return {"answer": "true" if one_thing(task) else "false"}
        values.append(task["id"])
        return {"answer": "false" if len(values) == 1 else "true"}

    for worker, kind, choose in (
        (ann, q.COREF_LINK, linked),
        (bob, q.CHAIN_VERIFICATION, verified),
        (ann, q.BOX_REQUIREMENT, lambda task: {"answer": "box"}),
        (ann, q.BOX_DRAWING, drawn),
        (bob, q.BOX_QUALITY, lambda task: {"answer": "good"}),
        (bob, q.BOX_COVERAGE, lambda task: {"answer": "complete"}),
    ):
        before = client.get("campaigns/people?fresh=true")["progress"]["answers_last_hour"]
        if kind in TESTED:
            tests[kind] = worker.begins_test("people", kind)
            assert tests[kind] >= 2
        counter[kind] = worker.works("people", kind, choose)
        after = client.get("campaigns/people?fresh=true")["progress"]["answers_last_hour"]
        assert counter[kind] > 0 and after - before == counter[kind], kind
    return counter, tests


def linked(task: Mapping[str, Any]) -> dict[str, Any]:
    """The same if both phrases end with the same word."""
    return {"answer": "yes" if one_thing(task) else "no"}


def one_thing(task: Mapping[str, Any]) -> bool:
    """Return whether all phrases end with the same word: this test's rule for the same thing."""
    tokens = {caption["number"]: caption["tokens"] for caption in task["captions"]}
    return len({tokens[mention["caption"]][mention["end"] - 1].lower() for mention in task["mentions"]}) == 1


def entry_test(client: Any) -> list[dict[str, Any]]:
    """Return a test of links and one of chains, from images outside the campaign: pairs of phrases of two
    captions; half of them end with the same word."""
    same: list[dict[str, Any]] = []
    different: list[dict[str, Any]] = []
    for image in list(client.rows("corpora/pictures/images"))[IMAGES:]:
        phrases = client.get(f"corpora/pictures/images/{image['key']}/phrases")["phrases"]
        for row, another in itertools.combinations(phrases, 2):
            if row["caption"] == another["caption"]:
                continue
            places = [f"{item['caption']}:{item['start']}-{item['end']}" for item in (row, another)]
            last = {item["text"].split()[-1].lower() for item in (row, another)}
            (same if len(last) == 1 else different).append({"image": image["key"], "mentions": places})
            break
    request = min(len(same), len(different), 6)
    assert request, "a test needs both answers"
    return [
        {**pair, "kind": kind, "purpose": "qualification", "answer": answer}
        for kind, (yes, no) in TESTED.items()
        for pairs, answer in ((same, yes), (different, no))
        for pair in pairs[:request]
    ]


def drawn(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a box from a fifth to four fifths of the picture."""
    wide, high = task["image"]["width"], task["image"]["height"]
    return {"answer": "drawn", "box": [wide // 5, high // 5, 4 * wide // 5, 4 * high // 5]}


def ticks(task: Mapping[str, Any]) -> dict[str, Any]:
    """Tick the first sentence of the page."""
    rows = [[False] * len(block["captions"]) for block in task["blocks"]]
    rows[0][0] = True
    return {"answer": "judged", "ticked": rows}


def unzipped(content: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(content))
