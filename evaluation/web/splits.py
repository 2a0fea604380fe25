"""What a form is refused for."""

from __future__ import annotations


class NotOffered(ValueError):
    """A form that holds what its page does not offer; one line with the remedy."""
