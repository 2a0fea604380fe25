"""The terms of leases: the values of a campaign and of a worker's trust state that leasing needs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotation.common import database
from annotation.models import TrustState as Row
from annotation.protocol.campaign_settings import CampaignSettings, settings_from
from annotation.protocol.double_checks import DoubleChecks
from annotation.protocol.model_annotators import model_trust
from annotation.protocol.trust import QUALIFICATION, why_not
from annotation.protocol.trust_settings import TrustSettings
from annotation.quality import controls, qualification, worker_trust
from annotation.queue.dispatch import NoTask, WorkerState

#: Reasons for no task: the worker's country is not known, or none of the campaign's.
NO_COUNTRY, OTHER_COUNTRY = "no_country", "other_country"


class Terms(NamedTuple):
    """The values of a campaign that leasing needs."""

    id: int
    state: str
    reason: str
    revision: int
    seed: int
    version: int
    settings: CampaignSettings


#: The columns of Terms, of a table called `c`.
TERMS_COLUMNS = "c.id, c.state, c.reason, c.revision, c.seed, c.settings_version, c.settings"


class CarriedSettings(NamedTuple):
    """The settings of a lease: their version, and their text where they are no longer those of its
    campaign."""

    version: int
    text: str | None


#: The columns of CarriedSettings, of a lease `a` and its campaign `c`.
CARRIED_SETTINGS_COLUMNS = """a.settings_version, CASE WHEN a.settings_version <> c.settings_version THEN (
        SELECT v.settings FROM annotation_settingsversion v
        WHERE v.campaign_id = c.id AND v.number = a.settings_version) END"""


class _HolderColumns(NamedTuple):
    """A WorkerState without its trust state."""

    id: int
    campaign: int
    worker: int
    pseudonym: str
    attempt: int
    cursor: int
    out: bool
    reason: str
    withdrawn: bool
    unagreed: bool
    is_model: bool
    visitor: bool
    country: str


#: The columns of a WorkerState: of a trust state `s` and of its worker `w`.
WORKER_STATE_COLUMNS = (
    "s.id, s.campaign_id, s.worker_id, w.pseudonym, s.attempt, s.cursor, "
    "s.blocked OR s.withdrawn_at IS NOT NULL, COALESCE(NULLIF(s.reason, ''), s.withdrawn_reason), "
    "s.withdrawn_at IS NOT NULL, "
    """EXISTS (SELECT 1 FROM annotation_instructions x
        WHERE x.campaign_id = s.campaign_id AND x.kind = 'consent' AND x.text <> ''
            AND NOT EXISTS (SELECT 1 FROM annotation_instructions y
                WHERE y.campaign_id = x.campaign_id AND y.kind = x.kind AND y.version > x.version)
            AND NOT EXISTS (SELECT 1 FROM annotation_consent g
                WHERE g.text_id = x.id AND g.worker_id = s.worker_id)), w.kind = 'model',
        EXISTS (SELECT 1 FROM annotation_identity i JOIN annotation_visit v ON v.identity_id = i.id
            JOIN annotation_study y ON y.id = v.study_id
            WHERE i.worker_id = s.worker_id AND y.campaign_id = s.campaign_id),
        COALESCE((SELECT i.country FROM annotation_identity i WHERE i.worker_id = s.worker_id), ''), """
    + ", ".join(f's."{name}"' for name in worker_trust.TrustStateColumns._fields)
)


def terms_from(values: Sequence[Any]) -> Terms:
    """Build Terms from their columns."""
    terms = Terms._make(values)
    text: Any = terms.settings
    return terms._replace(settings=settings_from(text))


def terms_of_lease(terms: Terms, carried: CarriedSettings) -> Terms:
    """Return the terms of a lease: the settings under which it was given apply until it ends."""
    if carried.text is None:
        return terms
    return terms._replace(version=carried.version, settings=settings_from(carried.text))


def worker_state_from(values: Sequence[Any]) -> WorkerState:
    """Build a WorkerState from its columns, WORKER_STATE_COLUMNS."""
    worker_columns, trust = database.split_row(values, _HolderColumns, worker_trust.TrustStateColumns)
    return WorkerState(
        id=worker_columns.id,
        campaign=worker_columns.campaign,
        worker=worker_columns.worker,
        pseudonym=worker_columns.pseudonym,
        attempt=worker_columns.attempt,
        cursor=worker_columns.cursor,
        out=bool(worker_columns.out),
        reason=worker_columns.reason,
        withdrawn=bool(worker_columns.withdrawn),
        unagreed=bool(worker_columns.unagreed) and not worker_columns.is_model,
        is_model=bool(worker_columns.is_model),
        visitor=bool(worker_columns.visitor),
        country=worker_columns.country,
        trust=worker_trust.trust_from_row(trust),
    )


def terms_of(cursor: Any, campaign: int) -> Terms:
    """Return the terms of a campaign's leases, by its row id; one query."""
    cursor.execute(f"SELECT {TERMS_COLUMNS} FROM annotation_campaign c WHERE c.id = %s", [campaign])
    return terms_from(cursor.fetchone())


def terms_trust_rules(terms: Terms, kind: str, *, is_model: bool = False) -> TrustSettings:
    """Return the campaign's effective trust settings for `kind`, with the existing control items; or for a
    model annotator, whose boxes are judged with or without them."""
    if is_model:
        return model_trust(terms.settings.trust, terms.settings.model_annotator)
    return controls.trust_rules_in_force(
        terms.settings.trust, campaign=terms.id, kind=kind, revision=terms.revision
    )


def double_checks(terms: Terms, image: str) -> DoubleChecks:
    """Return the function that draws double checks among the questions about an image (its key) that open
    under these terms."""
    return DoubleChecks(terms.seed, image, lambda kind: terms_trust_rules(terms, kind).double_check_share)


def _in_a_test(holder: WorkerState) -> bool:
    """Whether the worker has started a test, whose items may have been retired meanwhile."""
    return bool(holder.attempt) and qualification.test_under_way(Row.objects.get(pk=holder.id)) is not None


def no_task_without_consent() -> NoTask:
    """Return the reason for a worker who has not agreed to the campaign's newest consent text."""
    return NoTask("no_consent", _("Before you begin, read how your answers will be used, and agree to it."))


def why_no_lease(holder: WorkerState, terms: Terms) -> NoTask | None:
    """Return why this worker may not work on the kind, or None."""
    rules = terms_trust_rules(terms, holder.trust.kind, is_model=holder.is_model)
    return why_no_lease_by(rules, holder, terms, in_a_test=_in_a_test)


def why_no_lease_by(
    rules: TrustSettings, holder: WorkerState, terms: Terms, *, in_a_test: Callable[[WorkerState], bool]
) -> NoTask | None:
    """Like `why_no_lease`, under the rules of the kind (`terms_trust_rules`); `in_a_test` returns whether the
    worker has started a test."""
    if holder.out:
        return NoTask(
            "blocked",
            _("A researcher has suspended you from this task%(why)s. Choose another task, or write to them.")
            % {"why": f": {holder.reason.rstrip('.')}" if holder.reason else ""},
        )
    countries = terms.settings.trust.entry_countries
    if countries and not holder.country and not holder.is_model:
        return NoTask(NO_COUNTRY, _("Before you begin, say which country you are from."))
    if countries and holder.country not in countries and not holder.is_model:
        return NoTask(OTHER_COUNTRY, _("This work is for people from other countries than yours."))
    if holder.trust.state == QUALIFICATION and not rules.qualification and in_a_test(holder):
        rules = terms.settings.trust
    if holder.trust.state != QUALIFICATION and why_not(holder.trust, rules) is None:
        return None
    refusal = why_not(holder.trust, rules)
    return NoTask(refusal.code, refusal.text) if refusal else None
