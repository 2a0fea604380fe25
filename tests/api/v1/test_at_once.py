"""Simultaneous calls with the same key. Real threads and rows."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from annotation.models import Campaign, Job, RepeatableCall
from tests.api.v1.conftest import Caller
from tests.api.v1.valid import TREC
from tests.factories import a_corpus, some_images
from tests.web import world as web

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_both]
MANY = 4


def at_once(act: Any) -> list[Any]:
    barrier = Barrier(MANY)

    def run(_number: int) -> Any:
        try:
            barrier.wait(30)
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(run, range(MANY)))


def test_of_calls_under_one_key_one_is_done_and_all_are_answered_the_same(data: Any) -> None:
    a_corpus("harbour", some_images(1))
    ada = Caller(web.account("ada", "researcher"))
    draft = {"name": "quay", "corpus": "harbour", "tasks": "captions", "unpaid": True}
    answers = at_once(lambda: ada.post("campaigns", draft, **{"Idempotency-Key": "k"}))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert (Campaign.objects.count(), Job.objects.count(), RepeatableCall.objects.count()) == (1, 1, 1)
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == MANY - 1


def test_of_uploads_under_one_key_one_is_done_and_the_others_wait_or_are_told(data: Any) -> None:
    web.corpus(data / "made", name="quay", images=6)
    ada = Caller(web.account("ada", "researcher"))

    def send() -> int:
        from django.core.files.uploadedfile import SimpleUploadedFile

        fields = {"name": "sent", "corpus": "quay", "direction": "annotation"}
        file = SimpleUploadedFile("x.trec", TREC)
        answer = ada.client.post("/api/v1/runs", {**fields, "file": file}, headers={"Idempotency-Key": "k"})
        return int(answer.status_code)

    statuses = Counter(at_once(send))
    assert set(statuses) <= {201, 409} and statuses[201] >= 1
    assert send() == 201, "answered as before"
    assert RepeatableCall.objects.get().status == 201
