"""People: accounts and the roles they were given, and the pseudonyms under which workers work."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.functional import cached_property

from annotation.common.roles import ADMIN, ANNOTATOR, ROLES, WHOLE_SERVER, Granted, Scope


class Account(AbstractUser):
    """Somebody who can sign in. What they may do follows from their role grants.

    `mails_messages`: they want messages of researchers by e-mail too.
    """

    mails_messages = models.BooleanField(default=False, db_default=False)

    #: In a call under a token: the number of that, and what it is limited to. Neither is stored.
    token: int | None = None
    limit: Scope = WHOLE_SERVER

    def has_role(self, *roles: str, on: Scope) -> bool:
        """Whether any of `roles` was granted for `on`, or for what it is part of. Admins have every role
        where they are admins, superusers everywhere."""
        return any(granted.scope.covers(on) for granted in self._held(roles))

    def has_role_somewhere(self, *roles: str, corpora: bool = False) -> bool:
        """Whether any of `roles` was granted for anything, or, with `corpora`, for a corpus at least: for
        lists, which hold no more than that."""
        return any(not corpora or granted.scope.campaign is None for granted in self._held(roles))

    def scopes(self, *roles: str) -> frozenset[Scope]:
        """What this account holds one of `roles` for."""
        return frozenset(granted.scope for granted in self._held(roles))

    @property
    def has_staff_role(self) -> bool:
        """Whether this account may do anything but work."""
        return self.is_superuser or any(granted.role != ANNOTATOR for granted in self.granted)

    @cached_property
    def granted(self) -> frozenset[Granted]:
        """The roles that were granted when this object was first asked; requests each have their own."""
        rows = self.roles.values_list("role", "corpus", "campaign")
        return frozenset(Granted(role, Scope(corpus, campaign)) for role, corpus, campaign in rows)

    def _held(self, roles: tuple[str, ...]) -> list[Granted]:
        if not self.is_active:
            return []
        if self.is_superuser:
            return [Granted(ADMIN, WHOLE_SERVER)]
        return [granted for granted in self.granted if granted.role in (ADMIN, *roles)]


class RoleGrant(models.Model):
    """One role of one account, for a corpus, a campaign, or the whole server; who gave it, and when."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="roles", db_index=False)
    role = models.CharField(max_length=40, choices=[(role, role) for role in ROLES])
    corpus = models.ForeignKey(
        "annotation.Corpus", on_delete=models.CASCADE, null=True, blank=True, related_name="role_grants"
    )
    campaign = models.ForeignKey(
        "annotation.Campaign", on_delete=models.CASCADE, null=True, blank=True, related_name="role_grants"
    )
    granted_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    granted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(corpus=None) | models.Q(campaign=None), name="role_for_one_thing"
            ),
            models.UniqueConstraint(
                fields=["account", "role"],
                condition=models.Q(corpus=None, campaign=None),
                name="role_once_per_account",
            ),
            models.UniqueConstraint(
                fields=["account", "role", "corpus"],
                condition=models.Q(corpus__isnull=False),
                name="role_once_per_corpus",
            ),
            models.UniqueConstraint(
                fields=["account", "role", "campaign"],
                condition=models.Q(campaign__isnull=False),
                name="role_once_per_campaign",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account}: {self.role}"

    @property
    def scope(self) -> Scope:
        """What the role is for."""
        return Scope(self.corpus_id, self.campaign_id)


class Worker(models.Model):
    """Somebody who answers, under a pseudonym. Judgments, pay and trust states hang on this row alone.

    `kind`: a person, or a machine, which nobody signs in as and nobody pays (`machines.Machine`).
    """

    PERSON = "person"
    MACHINE = "machine"
    KINDS = (PERSON, MACHINE)

    kind = models.CharField(max_length=10, default=PERSON, db_default=PERSON)
    pseudonym = models.CharField(max_length=40, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.pseudonym


class Identity(models.Model):
    """Who a worker is: the one table that maps a pseudonym to a person. Erasing deletes this row.

    `tasks` and `approved` are the reputation the source reports; None where it reports none. A simulated
    worker's source is `SIMULATED`.
    """

    SIMULATED = "simulated"

    worker = models.OneToOneField(Worker, on_delete=models.CASCADE, related_name="identity")
    account = models.OneToOneField(
        Account, on_delete=models.CASCADE, null=True, blank=True, related_name="identity"
    )
    provider = models.CharField(max_length=40, default="account")
    external_id = models.CharField(max_length=100, blank=True)
    tasks = models.PositiveIntegerField(null=True, blank=True)
    approved = models.FloatField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "external_id"],
                condition=~models.Q(external_id=""),
                name="identity_once_per_provider",
            ),
        ]

    def __str__(self) -> str:
        return f"worker {self.worker_id} by {self.provider}"
