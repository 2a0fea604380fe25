"""`manage.py rule`: the old name of `make_ruling`, with the same arguments and the same output."""

from __future__ import annotations

from annotation.management.commands import make_ruling


class Command(make_ruling.Command):
    help = "Old name of make_ruling."
