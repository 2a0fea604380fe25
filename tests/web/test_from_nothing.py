"""From an empty database to answers of every kind, by command and page, with default settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.campaigns import monitoring
from annotation.models import Campaign, Corpus, Job, Judgment, Task, TrustState
from annotation.protocol import questions as q
from annotation.task_types.practice import PRACTICE
from annotation.web.annotator.task_texts import READ
from tests.web import world as people
from tests.web.desk import hidden
from tests.web.staff import press, words
from tests.web.test_practice import answer, edges

pytestmark = pytest.mark.django_db

#: Two captions of a picture, with a dog in both, and a ball in one.
CAPTIONS = ("A dog jumps for a ball .", "The brown dog sleeps .")
#: Everybody's answers here.
ALWAYS: dict[str, dict[str, Any]] = {
    q.COREF_LINK: {"answer": "yes"},
    q.CHAIN_VERIFICATION: {"answer": "true"},
    q.BOX_REQUIREMENT: {"answer": "box"},
    q.BOX_DRAWING: {"answer": "drawn", **edges((60, 80, 130, 330))},
    q.BOX_QUALITY: {"answer": "good"},
    q.BOX_COVERAGE: {"answer": "complete"},
}


def imported(folder: Path) -> None:
    """Import a corpus of one picture with its captions, by the command."""
    folder.mkdir()
    people.draw(folder / "park.png", 1)
    lines = [f"park.png#{number}\t{text}" for number, text in enumerate(CAPTIONS)]
    (folder / "captions.token.txt").write_text("\n".join([*lines, ""]))
    call_command(
        "import_corpus", "photos", str(folder / "captions.token.txt"), format="flickr8k", images=folder
    )


def arrived(link: str) -> Client:
    """Return a client that accepted an invitation and consented."""
    client = Client()
    assert press(client, link, "I agree: begin at once").status_code == 200
    return client


def practised(client: Client, kind: str) -> None:
    """Go from the first page of a kind to its work: the text, practice with correct answers, and on."""
    task = reverse("task", args=["first", kind])
    client.get(task)
    text = reverse("task_instructions", args=["first", kind])
    page = press(client, text, "I have read this: practise")
    practice = reverse("task_practice", args=["first", kind])
    assert page.request["PATH_INFO"] == practice
    for number, item in enumerate(PRACTICE.get(kind).items, 1):
        response = client.post(f"{practice}?n={number}", answer(kind, item))
        assert "Correct" in words(response), (kind, number)
    page = press(client, f"{practice}?n={len(PRACTICE.get(kind).items) + 1}", "Begin")
    assert page.request["PATH_INFO"] == task


def remembered(client: Client, kinds: tuple[str, ...]) -> None:
    """Store the result of `practised` for these kinds in the session, which is faster."""
    number = Campaign.objects.get().pk
    session: Any = client.session
    session[READ] = {**session.get(READ, {}), **{f"{number}:{kind}": 1 for kind in kinds}}
    session.save()


def worked(client: Client, kind: str) -> int:
    """Answer all tasks of a kind on its page; return their number."""
    task, value = reverse("task", args=["first", kind]), 0
    while b"data-answer" in (page := client.get(task)).content:
        form_data = {**hidden(page), **ALWAYS[kind]}
        assert client.post(task, form_data).status_code == 303
        value += 1
    return value


def all_worked(*clients: Client) -> None:
    """Let everybody answer by turns until nobody gets a task."""
    while sum(worked(client, kind) for kind in q.QUESTIONS for client in clients):
        pass


@pytest.mark.parametrize("by_hand", [q.QUESTIONS[:1], pytest.param(q.QUESTIONS, marks=pytest.mark.slow)])
def test_from_an_empty_database_two_annotators_answer_all_six_questions_under_default_settings(
    tmp_path: Path, settings: Any, by_hand: tuple[str, ...]
):
    """`by_hand`: the kinds that are practised on their pages, which takes long."""
    settings.DATA_DIR = tmp_path / "data"
    imported(tmp_path / "photos")
    ada = people.signed_in("ada", "researcher")
    page = press(
        ada,
        reverse("operation", args=["open_campaign"]),
        "Open a campaign",
        name="first",
        corpus=Corpus.objects.get().name,
        tasks="entities",
        unpaid="on",
    )
    assert page.status_code == 200, words(page)
    jobs.run_queued_job(Job.objects.get().pk)
    assert Campaign.objects.get().state == Campaign.OPEN
    overview = ada.get(reverse("campaign", args=["first"]))
    assert "trust unchecked" in words(overview) and "begins with practice and no test" in words(overview)
    press(ada, reverse("entry", args=["first"]), "Create a link")
    (link,) = re.findall(r"/invite/[^\s\"<]+/", ada.get(reverse("entry", args=["first"])).content.decode())[
        :1
    ]

    ann, bob = arrived(link), arrived(link)
    for client in (ann, bob):
        for kind in by_hand:
            practised(client, kind)
        remembered(client, q.QUESTIONS)
    all_worked(ann, bob)
    votes = Judgment.objects.filter(role=q.VOTE)
    assert set(votes.values_list("kind", flat=True)) == set(q.QUESTIONS)
    assert votes.values("worker").distinct().count() == 2
    assert set(TrustState.objects.values_list("state", flat=True)) == {"warm_up"}

    # Two are too few to finish: "complete" requires two who did not draw the box.
    left = Task.objects.filter(state=Task.OPEN, role=q.VOTE)
    assert set(left.values_list("kind", flat=True)) == {q.BOX_COVERAGE}
    cache.clear()
    assert {"few_workers", "no_worker"} <= {alarm.code for alarm in monitoring.alarms(Campaign.objects.get())}
    carol = arrived(link)
    remembered(carol, (q.BOX_COVERAGE,))
    worked(carol, q.BOX_COVERAGE)
    assert not left.exists() and Campaign.objects.get().images.get().complete
