"""What an account's roles are for: corpora and campaigns, as queries."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.common.roles import ADMIN, ANNOTATOR, Scope
from annotation.models import Account, Campaign, Corpus, Identity, RoleGrant


def corpora_of(account: Account, *roles: str) -> QuerySet[Corpus]:
    """The corpora for which `account` holds one of `roles`, published or not."""
    return Corpus.objects.filter(within_scope(account, *roles, corpus="pk"))


def campaigns_of(account: Account, *roles: str) -> QuerySet[Campaign]:
    """The campaigns for which `account` holds one of `roles`, by themselves or with their corpus."""
    return Campaign.objects.filter(within_scope(account, *roles, corpus="corpus", campaign="pk"))


def campaigns_in(scope: Scope) -> QuerySet[Campaign]:
    """The campaigns that a scope covers: itself, those of its corpus, or all of the server."""
    if scope.campaign is not None:
        return Campaign.objects.filter(pk=scope.campaign)
    return Campaign.objects.all() if scope.corpus is None else Campaign.objects.filter(corpus=scope.corpus)


def within_scope(account: Account, *roles: str, corpus: str, campaign: str = "") -> Q:
    """Rows for which `account` holds one of `roles`.

    `corpus` and `campaign` are the fields that say what a row belongs to; without `campaign`, roles for one
    campaign open nothing.
    """
    scopes = account.scopes(*roles)
    if any(scope.corpus is None and scope.campaign is None for scope in scopes):
        return Q()
    condition = Q(**{f"{corpus}__in": {scope.corpus for scope in scopes if scope.corpus is not None}})
    if campaign:
        campaigns = {scope.campaign for scope in scopes if scope.campaign is not None}
        condition |= Q(**{f"{campaign}__in": campaigns})
    return condition


def campaigns_to_work_on(worker: int) -> QuerySet[Campaign]:
    """The campaigns that a worker may see, enter and answer: those that a link, a study or a grant named,
    and with the role for the whole server those that are open to all annotators.

    Of campaigns that are marked as simulated, simulated workers and staff of the campaign alone.
    """
    grants = RoleGrant.objects.filter(account__identity__worker=worker)
    everywhere = Q(corpus=None, campaign=None)
    staff = grants.exclude(role=ANNOTATOR)
    admins = Account.objects.filter(identity__worker=worker, is_superuser=True)
    return Campaign.objects.filter(
        Exists(grants.filter(role__in=(ANNOTATOR, ADMIN), campaign=OuterRef("pk")))
        | Exists(grants.filter(role__in=(ANNOTATOR, ADMIN), corpus=OuterRef("corpus")))
        | Exists(grants.filter(everywhere, role=ADMIN))
        | Exists(admins)
        | Q(Exists(grants.filter(everywhere, role=ANNOTATOR)), open_to_all=True)
    ).filter(
        Q(simulated=False)
        | Exists(Identity.objects.filter(worker=worker, provider=Identity.SIMULATED))
        | Exists(staff.filter(campaign=OuterRef("pk")))
        | Exists(staff.filter(corpus=OuterRef("corpus")))
        | Exists(staff.filter(everywhere))
        | Exists(admins)
    )
