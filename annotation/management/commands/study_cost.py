"""`manage.py study_cost`: the old name of `compare_question_orders`, with the same arguments and output."""

from __future__ import annotations

from annotation.management.commands import compare_question_orders


class Command(compare_question_orders.Command):
    help = "Old name of compare_question_orders."
