"""How the database is emptied between tests."""

from __future__ import annotations

import threading

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

from annotation.models import Account, Task
from tests import emptying
from tests.queue.world import World


@pytest.mark.on_both
@pytest.mark.django_db(transaction=True)
def test_nothing_is_left_but_what_came_with_the_tables() -> None:
    World()
    assert Task.objects.exists()
    kinds = ContentType.objects.count()
    emptying.empty()
    for table in set(connection.introspection.table_names()) - emptying.UNCHANGED_TABLES:
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            assert cursor.fetchone() == (0,), table
    assert ContentType.objects.count() == kinds > 0


@pytest.mark.only_on("postgresql")  # on SQLite no other connection can write at the same time
@pytest.mark.django_db(transaction=True)
def test_somebody_who_is_still_writing_is_waited_for() -> None:
    written, go_on = threading.Event(), threading.Event()

    def late() -> None:
        with transaction.atomic():
            Account.objects.create(username="late")
            written.set()
            go_on.wait(60)
        connection.close()

    writer = threading.Thread(target=late)
    writer.start()
    assert written.wait(60)
    threading.Timer(0.3, go_on.set).start()
    emptying.empty()
    writer.join(60)
    assert not Account.objects.exists()
