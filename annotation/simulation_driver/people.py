"""People of a rehearsal: how many of which kind, and their rows."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password

from annotation.common import database
from annotation.common.roles import ANNOTATOR
from annotation.models import Account, Campaign, Identity, RoleGrant
from annotation.models import Worker as WorkerRow
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.simulation.workers import PRESETS, SimulatedWorker

#: The default crowd of a campaign, as shares of the workers.
USUAL_MIX: Mapping[str, float] = {"careful": 0.6, "average": 0.3, "sloppy": 0.1}


@dataclass(frozen=True, slots=True)
class SimulatedPerson:
    """A simulated worker with a row, and the name and password of their account, if any."""

    worker: SimulatedWorker
    row: int
    username: str = ""
    password: str = ""


def mix_of(workers: int, shares: Mapping[str, float] = USUAL_MIX, *, least: int = 1) -> dict[str, int]:
    """Return `workers` people divided by `shares`, the largest remainders rounded up. Raises CampaignError if
    they are fewer than `least`, which the campaign needs."""
    if workers < least:
        raise CampaignError(
            f"{workers} workers are too few: nobody answers a question twice, so at least {least} are needed"
        )
    total = sum(shares.values())
    exact = {name: workers * share / total for name, share in shares.items()}
    mix = {name: int(number) for name, number in exact.items()}
    by_remainder = sorted(exact, key=lambda name: mix[name] - exact[name])
    for name in by_remainder[: workers - sum(mix.values())]:
        mix[name] += 1
    return {name: count for name, count in mix.items() if count}


def check_mix(mix: Mapping[str, int]) -> None:
    """Raise CampaignError for an unknown kind of worker."""
    unknown = sorted(set(mix) - set(PRESETS))
    if unknown:
        raise CampaignError(f"unknown kind of worker {unknown[0]!r}; known: {', '.join(PRESETS)}")


def enrol(workers: Sequence[SimulatedWorker], *, campaign: Campaign, accounts: bool) -> list[SimulatedPerson]:
    """Return rows for simulated workers, created if missing; with `accounts`, they can sign in as annotators
    of `campaign`.

    The same worker of the same seed is the same person in every campaign. All of a rehearsal share a random
    password that is not stored.
    """
    password = secrets.token_urlsafe(24) if accounts else ""
    hashed = make_password(password) if accounts else ""
    countries = settings_of(campaign.settings).trust.entry_countries
    people = []
    for worker in workers:
        name = f"sim{worker.seed}-{worker.name}"
        with database.writing():
            row, _ = WorkerRow.objects.get_or_create(pseudonym=name)
            identity, _ = Identity.objects.get_or_create(
                worker=row, defaults={"provider": Identity.SIMULATED, "external_id": name}
            )
            if countries and identity.country not in countries:
                Identity.objects.filter(pk=identity.pk).update(country=countries[0])
            if accounts:
                account, _ = Account.objects.update_or_create(username=name, defaults={"password": hashed})
                RoleGrant.objects.get_or_create(
                    account=account, role=ANNOTATOR, corpus=None, campaign=campaign
                )
                if identity.account_id != account.pk:
                    Identity.objects.filter(account=account).delete()
                    Identity.objects.filter(pk=identity.pk).update(account=account)
        people.append(SimulatedPerson(worker, row.pk, name if accounts else "", password))
    return people


def withdraw_passwords(people: Sequence[SimulatedPerson]) -> None:
    """Disable signing in with these accounts."""
    names = [person.username for person in people if person.username]
    with database.writing():
        Account.objects.filter(username__in=names).update(password=make_password(None))
