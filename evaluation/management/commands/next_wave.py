"""`manage.py next_wave`: the old name of `next_round`, with the same arguments and the same output."""

from __future__ import annotations

from evaluation.management.commands import next_round


class Command(next_round.Command):
    help = "Old name of next_round."
