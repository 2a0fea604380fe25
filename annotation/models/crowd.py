"""People: accounts and the roles they were given."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

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
        granted = set(self.roles.values_list("role", flat=True))
        return ADMIN in granted or bool(granted.intersection(roles))


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
