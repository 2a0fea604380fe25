"""`manage.py make_worker_token USERNAME`: a token under which a program works as an annotator."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import Account
from annotation.workers.accounts import worker_tokens


class Command(BaseCommand):
    """Prints the secret, once."""

    help = "Make a token under which a program works as an annotator. It voids the one before."

    def add_arguments(self, parser: CommandParser) -> None:
        """The annotator."""
        parser.add_argument("username", help="an account with the role annotator")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it."""
        account = Account.objects.filter(username=options["username"]).first()
        if account is None:
            raise CommandError(f"there is no account {options['username']!r}: see the page People")
        self.stdout.write(worker_tokens.replace_worker_tokens(account))
