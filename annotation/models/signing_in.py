"""Signing in: second factors, the codes that replace a lost one, and who must have one."""

from django.db import models
from django.db.models import Q

from annotation.models.crowd import Account


class SecondFactor(models.Model):
    """An app of somebody's that shows a new code every thirty seconds (TOTP, RFC 6238).

    `secret` is what the app computes them from, encrypted under the server's key
    (`workers.accounts.sealed`). It asks for no code before `confirmed_at`: until then it is being set up.
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
    """A code that signs in once in place of a second factor. Only its digest is stored."""

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
    """What this server asks of who signs in; one row at most."""

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
