"""Every address that a worker may open responds the same for control items as for others, at any time.

`python -m tests.apart` uses a learner; these tests check that no address is missing, and that the learner
detects a planted difference.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
from django.test import Client

from annotation.common import database
from annotation.common.roles import ANNOTATOR
from annotation.models import Assignment
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, all_kinds
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from tests.apart import measure, polls
from tests.apart.campaigns import Sizes
from tests.apart.measure import Row, Rows, separation_by_learner
from tests.apart.polls import AT_ONCE, LATE, Item, PollPlan, Polls, Response
from tests.apart.test_channels import HALF, a_campaign, ann
from tests.apart.watcher import Watcher
from tests.web.test_roles import ROWS

REPOSITORY = Path(__file__).resolve().parents[2]
#: Calls about a worker's account or a visit, not about questions.
OF_ACCOUNTS = {
    *("POST account_mail", "POST erase_me", "POST set_up_second_factor", "POST renew_recovery_codes"),
    *("POST remove_second_factor", "POST connect_oidc", "POST disconnect_oidc", "POST finish_visit"),
    *("POST v1_read_message", "DELETE v1_token", "POST v1_say_country"),
}
#: What is read and confirmed before the work.
BEFORE = {"POST task_consent", "POST api_consent", "POST task_practice", "POST task_country"}


def test_every_address_that_a_worker_may_open_is_polled():
    open_to_workers = {
        route for route, row in ROWS.items() if ANNOTATOR in row.roles or row.on == "signed in"
    }
    by_plans = [route for plan in polls.POLL_PLANS for route in (*plan.held, *plan.after)]
    routes = {*by_plans, *polls.OF_ANSWERS, *polls.NOW_AND_THEN}
    polled = {route.removesuffix(" again") for route in routes} - {"picture"}
    assert open_to_workers - polled == {*polls.WORK, *OF_ACCOUNTS, *BEFORE} - polled


@pytest.mark.django_db
def test_whether_an_answer_may_be_changed_follows_from_the_answers_after_it_and_the_clock():
    a_campaign("graded", HALF)
    program, worker = ann()
    assert worker.identity.account is not None
    client = Client()
    client.force_login(worker.identity.account)
    address = f"/tasks/quay/{GRADED_RELEVANCE}/answers/"
    statuses: dict[int, list[int]] = defaultdict(list)
    for number in range(8):
        task = program.take(GRADED_RELEVANCE)
        program.answer(task, answer="4", token=f"t{number}", next=False)
        for assignment in [*statuses, task["id"]]:
            statuses[assignment].append(client.get(f"{address}{assignment}/").status_code)
    controls = Assignment.objects.filter(pk__in=statuses).values_list("control", flat=True)
    assert {control is None for control in controls} == {True, False}
    for reported in statuses.values():
        assert reported == [200 if later < 5 else 303 for later in range(len(reported))]
    late = database.now() + timedelta(minutes=10)
    with mock.patch.object(database, "now", lambda: late):
        assert {client.get(f"{address}{assignment}/").status_code for assignment in statuses} == {303}


def one_byte(response: Response, moment: str) -> Response:
    return response._replace(body=response.body + b" ")


def one_header(response: Response, moment: str) -> Response:
    return response._replace(headers={**response.headers, "X-Of": "1"})


def one_status_late(response: Response, moment: str) -> Response:
    return response._replace(status=404) if moment == LATE else response


def no_channel(response: Response, moment: str) -> Response:
    return response


CHANNELS = (one_byte, one_header, one_status_late)


def seen_rows(channel: Any, seed: int = 7) -> Rows:
    """Items for which two addresses differ only by a channel: pages as long as their captions."""
    rng, rows = Random(seed), []
    words = ["a man", "two dogs", "walks", "by the water", "hat", "in a red coat", "and"]
    for worker in range(12):
        before: Polls | None = None
        for _ in range(30):
            known, of = rng.random() < 0.5, Polls()
            caption = " ".join(rng.choices(words, k=rng.randint(3, 9)))
            for moment in (AT_ONCE, "2 later", LATE):
                for address in ("list", "answer"):
                    body = f"<p>{caption}</p><p>{rng.randint(1, 99_999)}</p>".encode()
                    response = Response(200, {"Content-Length": str(len(body))}, body)
                    of.add(address, moment, channel(response, moment) if known else response)
            numbers = of.numbers({"kind": before} if before is not None else {})
            rows.append(Row("k", known, f"i{rng.randrange(60)}", f"w{worker}", numbers, seed))
            before = of
    return Rows.of(rows)


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_learner_finds_an_artificial_channel(channel: Any):
    result = separation_by_learner([seen_rows(channel)], seed=1)
    assert result.area > 0.9 and result.interval[0] > 0.85


def test_the_learner_finds_nothing_in_polls_that_say_the_same():
    result = separation_by_learner([seen_rows(no_channel)], seed=1)
    assert 0.4 < result.area < 0.6
    low, high = result.interval
    assert low < 0.5 < high and high - low < 0.2


def test_of_several_seeds_each_is_tried_by_what_was_learned_of_the_others():
    result = separation_by_learner([seen_rows(one_byte, seed) for seed in (7, 8)], seed=1)
    assert len(result.areas) == 2 and min(result.areas) > 0.9
    result = separation_by_learner([seen_rows(no_channel, 7), seen_rows(one_byte, 8)], seed=1)
    assert abs(result.areas[0] - 0.5) < 0.1  # a channel of one seed is none


SMALL = Sizes(unknown=40, known=40, workers=6, items=20)


@pytest.mark.slow  # half a minute each: by default with synthetic polls
@pytest.mark.django_db(transaction=True)  # calls are answered in a thread of their own
@pytest.mark.parametrize("channel", CHANNELS)
def test_an_artificial_channel_in_a_real_campaign_is_caught(channel: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.apart.watcher.POLL_PLANS", (PollPlan(later=True),))

    class Leaky(Watcher):
        def _seen_by(self, response: Response, address: str, moment: str, item: Item) -> Response:
            leaks = address == "task_answer_again" and self.campaign.known(item.id) is True
            return channel(response, moment) if leaks else response

    rows = measure.evened(measure.rows_of("graded", SMALL, seed=1, timing=False, watching=Leaky), 1)
    result = separation_by_learner([Rows.of(rows)], seed=1)
    assert result.area > 0.8, result
    assert any("poll task_answer_again" in name for name in result.by[:3])


@pytest.mark.slow  # an hour of one core
def test_a_learner_cannot_tell_control_items_of_any_kind_from_others():
    """400 of each side and kind, five seeds; by what every address says, in between and later."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.apart", "--seeds", "5"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    payload = json.loads(done.stdout.splitlines()[-1])
    assert set(payload) == {kind.key for kind in all_kinds() if kind.measured_on == MEASURED_ON_CONTROLS}
    for kind, result in payload.items():
        assert len(result["areas"]) == 5 and result["items"] >= measure.EACH_SIDE, (kind, result)
        assert 0.45 <= result["area"] <= 0.55, (kind, result)
