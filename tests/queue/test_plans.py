"""PostgreSQL only: query plans follow growing tables, and there are few round trips."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from django.db import connection

from annotation import campaigns
from annotation.common import database
from annotation.models import Caption, Image, Item, Mention, OpenImage, Task
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World

FIND = "SELECT t.id FROM annotation_task t WHERE t.id = %s"


@pytest.mark.only_on("postgresql")  # only PostgreSQL keeps plans
def test_a_young_connection_plans_again_soon_and_then_ever_later(db: None, monkeypatch: pytest.MonkeyPatch):
    clock = [1000.0]
    monkeypatch.setattr(database, "monotonic", lambda: clock[0])
    monkeypatch.setattr(database, "_prepared", {})
    replanned = [clock[0]]

    def noting(execute, text, params, many, context):
        if text == "DISCARD PLANS":
            replanned.append(clock[0])
        return execute(text, params, many, context)

    with connection.execute_wrapper(noting), connection.cursor() as cursor:
        for _ in range(700):
            database.execute(cursor, FIND, [1])
            clock[0] += 0.1
        cursor.execute(f"DEALLOCATE {database._name_of(FIND)}")
    waits = [later - earlier for earlier, later in pairwise(replanned)]
    assert waits == pytest.approx([1, 2, 4, 8, 16, 20], abs=0.2)


@pytest.mark.only_on("postgresql")  # only PostgreSQL plans from earlier statistics
def test_what_came_in_one_go_is_planned_for_at_once(db: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "MANY_ROWS", 2)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # its statistics say that the tables are empty
        a_corpus("quay", some_images(3))
        campaigns.open_campaign(campaigns.CampaignPlan(name="quay", corpus="quay", tasks="entities"))
        for model in (Image, Caption, Mention, OpenImage, Task, Item):
            cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [model._meta.db_table])
            assert cursor.fetchone() == (model.objects.count(),), model


@pytest.mark.only_on("postgresql")  # elsewhere statements are not sent over a connection
def test_an_answer_costs_the_database_a_few_trips(db: None, django_assert_num_queries: Any) -> None:
    """A trip takes longer than what it asks for; see docs/queue.md."""
    world = World(settings=TRUSTING)
    world.submit(0, world.held(0), then=False)  # the first one prepares its statements
    held = world.held(0)
    with django_assert_num_queries(6):
        world.submit(0, held, then=False)
