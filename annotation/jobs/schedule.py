"""The periodic work, in one table for both deliveries.

Celery's scheduler sends the names (`celery_tasks`); the embedded worker iterates over the table
(`embedded_worker`). A failing entry is logged, and stops neither the others nor its own next run. Running an
entry twice at once is harmless, and avoided between processes that share DATA_DIR. Another app's entries are
in `periodic` of its AppConfig: name, interval, and the dotted name of the function.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotation import jobs
from annotation.campaigns import opening, stored_sums
from annotation.common import database
from annotation.common.by_name import declared_by_apps, function_named
from annotation.common.locks import Busy, locked_folder
from annotation.datasets import archives, layers, uploads
from annotation.jobs import emails, upkeep
from annotation.models import Campaign, PlannedImage
from annotation.moderation import withdrawn_pictures
from annotation.notifications import delivering
from annotation.quality import caption_flags
from annotation.queue import leases, model_answers, submission
from annotation.workers import api_tokens, confirmation, rate_limit, repeated_calls, sessions
from annotation.workers.accounts import inviting

_log = logging.getLogger(__name__)

#: The number of leases ended, and of images of one campaign's layer written, in one run; the rest waits.
LEASES, _IMAGES = 1000, 2000


@dataclass(frozen=True, slots=True)
class Periodic:
    """An entry: its name, its interval in seconds, and its function."""

    name: str
    every: float
    work: Callable[[], object]


def expire_leases() -> None:
    """End expired leases, so that their places are free."""
    leases.end_expired_leases(limit=LEASES)


def look_after_campaigns() -> None:
    """Pause open campaigns whose stop rules apply, and report their alarms."""
    _for_each(Campaign.objects.filter(state=Campaign.OPEN), upkeep.look_after_campaign)


def store_campaign_sums() -> None:
    """Store the totals of the campaigns' answers, for their pages."""
    _for_each(Campaign.objects.exclude(state=Campaign.DRAFT), stored_sums.store_sums)


def let_models_answer() -> None:
    """Let model annotators answer questions that no answer of a person triggered at once: after rulings,
    after withdrawals, and after verdicts that let them continue."""
    rows = Campaign.objects.filter(state=Campaign.OPEN, model_annotators__isnull=False).distinct()
    _for_each(rows, lambda row: model_answers.answer_waiting_images(row, submission.submit))


def flag_written_captions() -> None:
    """Flag the captions that people wrote, where these or others of their images are new or changed."""
    begun = Campaign.objects.exclude(state=Campaign.DRAFT)
    _for_each(begun, caption_flags.flag_captions)


def look_after_server() -> None:
    """Report alarms of the server itself."""
    upkeep.report_server_alarms(PERIODIC)


def open_next_images() -> None:
    """Open the next images of campaigns that ask about a limited number at once, and have finished enough of
    them."""
    planned = PlannedImage.objects.filter(campaign=OuterRef("pk"))
    _for_each(Campaign.objects.filter(Exists(planned), state=Campaign.OPEN), opening.open_next_portion)


def refresh_layers() -> None:
    """Write the latest answers into the campaigns' layers."""
    # A generator that is exhausted here: each of its steps is a transaction.
    begun = Campaign.objects.exclude(state=Campaign.DRAFT)
    _for_each(begun, lambda row: sum(layers.update_layer_in_steps(row, at_most=_IMAGES)))


def _for_each(campaigns: QuerySet[Campaign], work: Callable[[Campaign], object]) -> None:
    """Call `work` for each campaign; a failure for one is logged."""
    for campaign in campaigns.select_related("corpus").order_by("pk"):
        try:
            work(campaign)
        except jobs.DATABASE_LOST:
            raise
        except Exception:
            _log.exception("campaign %s is passed over", campaign.name)


PERIODIC: dict[str, Periodic] = {
    entry.name: entry
    for entry in (
        Periodic("sweep_jobs", 15, jobs.sweep_jobs),
        Periodic("expire_leases", 30, expire_leases),
        Periodic("look_after_campaigns", 60, look_after_campaigns),
        Periodic("store_sums", 600, store_campaign_sums),
        Periodic("let_models_answer", 15, let_models_answer),
        Periodic("open_next_images", 60, open_next_images),
        Periodic("refresh_layers", 60, refresh_layers),
        Periodic("flag_captions", 300, flag_written_captions),
        Periodic("deliver_webhooks", 15, delivering.deliver_webhooks),
        Periodic("look_after_server", 600, look_after_server),
        Periodic("measure_disk", 3600, upkeep.measure_disk),
        Periodic("confirm_visits", 60, confirmation.ask_waiting),
        Periodic("remove_expired_exports", 3600, archives.remove_expired),
        Periodic("remove_expired_uploads", 3600, uploads.remove_expired_uploads),
        Periodic("withdraw_again", 3600, withdrawn_pictures.withdraw_again),
        Periodic("forget_attempts", 3600, rate_limit.prune_rate_limits),
        Periodic("forget_letters", 3600, emails.prune_emails),
        Periodic("forget_platform_reports", 3600, confirmation.prune_platform_reports),
        Periodic("forget_invited", 3600, inviting.forget_invited_addresses),
        Periodic("forget_sessions", 3600, sessions.prune_sessions),
        Periodic("forget_tokens", 3600, api_tokens.prune_api_tokens),
        Periodic("forget_calls", 3600, repeated_calls.prune_repeated_calls),
        Periodic("forget_deliveries", 3600, delivering.prune_webhook_log),
        *(Periodic(name, every, function_named(work)) for name, every, work in declared_by_apps("periodic")),
    )
}


def do(name: str) -> bool:
    """Run the entry `name` now; return whether it ran: not where another process runs it, nor where it
    failed."""
    begun = database.now()
    try:
        with locked_folder(f"periodic.{name}", busy=f"{name} is under way"):
            PERIODIC[name].work()
    except Busy:
        return False
    except jobs.DATABASE_LOST as error:
        # Expected while a database restarts; a traceback would not help.
        _log.warning("%s waits for its next turn, as the database cannot be used: %s", name, error)
        jobs.mend_connection()
        return False
    except Exception:
        _log.exception("%s failed", name)
        upkeep.note_run(name, begun, failed=True)
        return False
    upkeep.note_run(name, begun)
    return True
