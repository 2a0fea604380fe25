"""Bonuses: what a worker is due on top of what their answers earned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Bonus, Campaign, Worker
from annotation.selectors.campaign.cost import money
from annotation.workers.payments import (
    PaymentError,
    check_real,
    checked_reason,
    currency_of,
    due_accounts,
)

#: The highest bonus, in millionths: an amount that is larger was mistyped.
HIGHEST_BONUS = 100_000 * 1_000_000
#: Within this, the same bonus again is a form that was sent twice.
_SENT_TWICE = timedelta(minutes=1)


def give_bonus(
    *, campaign: Campaign, workers: Sequence[int], amount: int, reason: str, actor: Account | None = None
) -> list[Bonus]:
    """Give each of these workers a bonus of `amount` millionths, all or none. It is due from now on, and paid
    with everything else.

    Raises PaymentError: on an amount that is none, without a reason, for machines, where answers are
    simulated, and where the actor gave one of them the same a moment ago.
    """
    reason = checked_reason(reason)
    currency = currency_of(campaign)
    if not 0 < amount <= HIGHEST_BONUS:
        raise PaymentError(
            _("%(amount)s is no bonus: expected more than 0, and %(most)s at most.")
            % {"amount": money(amount, currency), "most": money(HIGHEST_BONUS, currency)}
        )
    with database.writing():
        check_real(Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk))
        # Erasing waits for the campaign too: nobody is owed anything once they are nobody.
        rows = Worker.objects.filter(pk__in=workers, standings__campaign=campaign, erased_at=None).distinct()
        found = {row.pk: row for row in rows}
        for worker in workers:
            if worker not in found or found[worker].kind == Worker.MACHINE:
                raise PaymentError(_("Bonuses are for people who work on this campaign."))
        just_given = Bonus.objects.filter(campaign=campaign, worker__in=workers, withdrawn_at=None)
        just_given = just_given.filter(given_by=actor, given_at__gt=database.now() - _SENT_TWICE)
        if just_given.filter(amount=amount, reason=reason).exists():
            raise PaymentError(
                _(
                    "You gave this bonus a moment ago: it is in the list. Give another reason for a second "
                    "one."
                )
            )
        given = [
            Bonus.objects.create(
                campaign=campaign, worker_id=worker, amount=amount, reason=reason, given_by=actor
            )
            for worker in workers
        ]
        for bonus in given:
            record(
                actor=actor,
                act="give_bonus",
                campaign=campaign,
                worker=found[bonus.worker_id].pseudonym,
                amount=amount,
                reason=reason,
            )
    return given


def withdraw_bonus(*, campaign: Campaign, bonus: int, reason: str, actor: Account | None = None) -> Bonus:
    """Take a bonus back, by its number, that has not been paid. Withdrawn again it stays as it is.

    Raises PaymentError where it has been paid, without a reason, and where the campaign has no such bonus.
    """
    reason = checked_reason(reason)
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        found = Bonus.objects.filter(campaign=campaign, pk=bonus).select_related("worker").first()
        if found is None:
            raise PaymentError(
                _("Campaign “%(name)s” has no bonus %(number)d.") % {"name": campaign.name, "number": bonus}
            )
        if found.withdrawn_at is not None:
            return found
        (account,) = due_accounts(campaign=campaign, worker=found.worker_id)
        if account.due < found.amount:
            raise PaymentError(_("This bonus has been paid: void the payment first, if it was not made."))
        found.withdrawn_at, found.withdrawn_by = database.now(), actor
        found.withdrawn_reason = reason
        found.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
        record(
            actor=actor,
            act="withdraw_bonus",
            campaign=campaign,
            worker=found.worker.pseudonym,
            amount=found.amount,
            reason=reason,
        )
    return found
