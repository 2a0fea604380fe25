"""Programs: the tokens by which they call the API, and their calls that must not be done twice."""

from django.db import models
from django.db.models import Q

from annotation.common.roles import Scope
from annotation.models.corpus import Corpus
from annotation.models.crowd import Account
from annotation.models.work import Campaign


class ApiToken(models.Model):
    """What a program sends to call the API for an account. Of the secret only a digest is stored.

    A token never allows more than the account's roles at the time of the call; `writes` and `corpus` or
    `campaign` allow less.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for, in the words of its owner")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret, in hexadecimal")
    hint = models.CharField(max_length=12, help_text="How the secret begins, to tell tokens apart")
    writes = models.BooleanField(default=False, help_text="Whether it may change anything")
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
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
        """What it is limited to; the whole server where it is not."""
        return Scope(self.corpus_id, self.campaign_id)


class RepeatableCall(models.Model):
    """A call of the API under a key of its sender's choice, and what it was answered.

    The same call under the same key is answered the same, and done once. `status` is 0 while it is done.
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
