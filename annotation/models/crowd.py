"""People: accounts and the roles they were given, and the pseudonyms under which workers work."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.functional import cached_property

ANNOTATOR = "annotator"
REVIEWER = "reviewer"
RESEARCHER = "researcher"
ADMIN = "admin"
ROLES = (ANNOTATOR, REVIEWER, RESEARCHER, ADMIN)


class Account(AbstractUser):
    """Somebody who can sign in. What they may do follows from their role grants."""

    def has_role(self, *roles: str) -> bool:
        """Whether any of `roles` was granted; admins and superusers have every role."""
        if not self.is_active:
            return False
        if self.is_superuser:
            return True
        return ADMIN in self.granted or bool(self.granted.intersection(roles))

    @property
    def has_staff_role(self) -> bool:
        """Whether this account may do anything but work."""
        return self.is_superuser or bool(self.granted - {ANNOTATOR})

    @cached_property
    def granted(self) -> frozenset[str]:
        """The roles that were granted when this object was first asked; requests each have their own."""
        return frozenset(self.roles.values_list("role", flat=True))


class RoleGrant(models.Model):
    """One role of one account, who gave it and when."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="roles", db_index=False)
    role = models.CharField(max_length=40, choices=[(role, role) for role in ROLES])
    granted_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    granted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "role"], name="role_once_per_account")]

    def __str__(self) -> str:
        return f"{self.account}: {self.role}"


class Worker(models.Model):
    """Somebody who answers, under a pseudonym. Judgments, pay and standings hang on this row alone."""

    pseudonym = models.CharField(max_length=40, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.pseudonym


class Identity(models.Model):
    """Who a worker is: the one table that maps a pseudonym to a person. Erasing deletes this row.

    `tasks` and `approved` are the reputation the source reports; None where it reports none.
    """

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
