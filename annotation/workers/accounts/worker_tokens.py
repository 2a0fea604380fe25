"""Tokens of programs that work as an annotator. A secret is displayed once; its digest is stored."""

import secrets

from annotation.common import database
from annotation.models import Account, WorkerToken
from annotation.workers.api_tokens import TOKEN_PREFIX, digest_of_secret


def make_worker_token(account: Account) -> str:
    """Create a token for the calls of workers, and return its secret, which cannot be recovered later."""
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    WorkerToken.objects.create(account=account, digest=digest_of_secret(secret))
    return secret


def replace_worker_tokens(account: Account) -> str:
    """Create a token for the calls of workers, and void those that the account has had."""
    with database.writing():
        WorkerToken.objects.filter(account=account).delete()
        return make_worker_token(account)
