"""People: accounts, their roles, ways of signing in and API tokens, and the pseudonyms of workers."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from annotation.common.roles import ADMIN, ANNOTATOR, ROLES, WHOLE_SERVER, Granted, Scope


class Account(AbstractUser):
    """Somebody who can sign in. Permissions follow from role grants.

    `mails_messages`: messages of researchers are also sent by e-mail.
    """

    mails_messages = models.BooleanField(default=False, db_default=False)

    #: In a call with a token: its number, and its limit. Neither is stored.
    token: int | None = None
    limit: Scope = WHOLE_SERVER

    def has_role(self, *roles: str, on: Scope) -> bool:
        """Whether any of `roles` was granted for `on`, or for its corpus or the server. Admins have every
        role in their scope, superusers everywhere."""
        return any(granted.scope.covers(on) for granted in self._held(roles))

    def has_role_somewhere(self, *roles: str, corpora: bool = False) -> bool:
        """Whether any of `roles` was granted for anything, or, with `corpora`, for at least a corpus: for
        lists, which contain no more than that."""
        return any(not corpora or granted.scope.campaign is None for granted in self._held(roles))

    def scopes(self, *roles: str) -> frozenset[Scope]:
        """Return the scopes in which this account has one of `roles`."""
        return frozenset(granted.scope for granted in self._held(roles))

    @property
    def has_staff_role(self) -> bool:
        """Whether this account may do anything besides work."""
        return self.is_superuser or any(granted.role != ANNOTATOR for granted in self.granted)

    @cached_property
    def granted(self) -> frozenset[Granted]:
        """The roles that were granted when this object was first asked; each request has its own."""
        rows = self.roles.values_list("role", "corpus", "campaign")
        return frozenset(Granted(role, Scope(corpus, campaign)) for role, corpus, campaign in rows)

    def _held(self, roles: tuple[str, ...]) -> list[Granted]:
        if not self.is_active:
            return []
        if self.is_superuser:
            return [Granted(ADMIN, WHOLE_SERVER)]
        return [granted for granted in self.granted if granted.role in (ADMIN, *roles)]


class RoleGrant(models.Model):
    """One role of one account, for a corpus, a campaign, or the whole server; its author, and its time."""

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
        """The scope of the role."""
        return Scope(self.corpus_id, self.campaign_id)


class Worker(models.Model):
    """Somebody who answers, under a pseudonym. Judgments, pay and trust states refer only to this row.

    `kind`: a person, or a model annotator, which has no account and is not paid
    (`model_annotators.ModelAnnotator`).
    """

    PERSON = "person"
    MODEL = "model"
    KINDS = (PERSON, MODEL)

    kind = models.CharField(max_length=10, default=PERSON, db_default=PERSON)
    pseudonym = models.CharField(max_length=40, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.pseudonym


class Identity(models.Model):
    """Who a worker is: the only table that maps a pseudonym to a person. Erasing deletes this row.

    `tasks` and `approved` are the reputation that the source reports; None if it reports none. `country` is a
    code of ISO 3166, as the source or the person says; "" if nobody has. A simulated worker's source is
    `SIMULATED`.
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
    country = models.CharField(max_length=2, blank=True, default="", db_default="")

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


class SecondFactor(models.Model):
    """An authenticator app, which shows a new code every thirty seconds (TOTP, RFC 6238).

    `secret` is the seed of the codes, encrypted under the server's key (`workers.accounts.second_factor`). No
    code is required before `confirmed_at`: until then it is being set up.
    """

    account = models.OneToOneField(Account, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.TextField()
    begun_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, blank=True)
    last_step = models.BigIntegerField(
        default=0, help_text="Of the newest code that was used: thirty seconds each, since 1970"
    )

    def __str__(self) -> str:
        return f"second factor of account {self.account_id}"


class RecoveryCode(models.Model):
    """A code that signs in once instead of a second factor. Only its digest is stored."""

    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, related_name="recovery_codes", db_index=False
    )
    digest = models.CharField(max_length=64, help_text="SHA-256 of the code, in hexadecimal")
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "digest"], name="recovery_code_once_per_account"),
        ]

    def __str__(self) -> str:
        return f"recovery code {self.pk} of account {self.account_id}"


class SignInRules(models.Model):
    """This server's rules for signing in; at most one row."""

    NOBODY, ADMINS, STAFF = "nobody", "admins", "staff"
    WHO = (NOBODY, ADMINS, STAFF)

    second_factor = models.CharField(
        max_length=10, choices=[(who, who) for who in WHO], default=NOBODY, help_text="Who must have one"
    )
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "sign-in rules"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="sign_in_rules_are_one_row")]

    def __str__(self) -> str:
        return f"second factor: {self.second_factor}"


class ApiToken(models.Model):
    """A token with which a program calls the API for an account. Only a digest of the secret is stored.

    A token never permits more than the account's roles at the time of the call; `writes` and `corpus` or
    `campaign` restrict it.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for, in the words of its owner")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret, in hexadecimal")
    hint = models.CharField(max_length=12, help_text="How the secret begins, to tell tokens apart")
    writes = models.BooleanField(default=False, help_text="Whether it may change anything")
    corpus = models.ForeignKey(
        "annotation.Corpus", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    campaign = models.ForeignKey(
        "annotation.Campaign", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True, help_text="To the hour")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(corpus=None) | Q(campaign=None), name="api_token_for_one_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"token {self.pk} of account {self.account_id}"

    @property
    def scope(self) -> Scope:
        """The scope of the token; the whole server if it is not limited."""
        return Scope(self.corpus_id, self.campaign_id)


class WorkerToken(models.Model):
    """What a program sends to work as an account. Of the secret only a digest is stored."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="worker_tokens")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret, in hexadecimal")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"worker token {self.pk} of account {self.account_id}"


class RepeatableCall(models.Model):
    """A call of the API with an idempotency key, and its response.

    The same call under the same key is run once and has the same response. `status` is 0 while it runs.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+", db_index=False)
    route = models.CharField(max_length=100, help_text="Method and name of the route")
    key = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the address and the body")
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True, help_text="JSON as it was sent; empty for none")
    location = models.TextField(blank=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "route", "key"], name="repeatable_call_once"),
        ]

    def __str__(self) -> str:
        return f"{self.route} by account {self.account_id}"
