"""`manage.py top_up`: the old name of `reassign_pages`, with the same arguments and the same output."""

from __future__ import annotations

from evaluation.management.commands import reassign_pages


class Command(reassign_pages.Command):
    help = "Old name of reassign_pages."
