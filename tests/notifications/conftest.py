"""A server that may send to this machine, and trusts the certificate of the tests' receiver."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from annotation.common import database
from annotation.models import Account, RoleGrant, Webhook
from tests.notifications.receiver import make_certificate
from tests.web import world as people


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("receiver"))


@pytest.fixture
def to_loopback(settings, monkeypatch, certificate: Path) -> None:
    settings.WEBHOOKS_TO_LOOPBACK = True
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


@pytest.fixture
def advance_clock(monkeypatch) -> Callable[..., None]:
    """A function that advances the server's clock."""
    clock = [database.now()]
    monkeypatch.setattr(database, "now", lambda: clock[0])

    def on(**later: float) -> None:
        clock[0] += timedelta(**later)

    return on


@pytest.fixture
def researcher(db: None) -> Account:
    account = Account.objects.create_user("ada", email="ada@example.org", password="p")
    RoleGrant.objects.create(account=account, role="researcher")
    return account


class NewWebhook(NamedTuple):
    """A webhook, and its secret."""

    webhook: Webhook
    secret: str


def hook(account: Account, address: str, **about: str) -> NewWebhook:
    created = people.perform("make_webhook", account, name="tests", address=address, **about)
    return NewWebhook(Webhook.objects.get(pk=created.number), created.secret)


def seconds(at: datetime) -> int:
    return int(at.timestamp())
