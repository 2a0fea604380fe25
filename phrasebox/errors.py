"""The base class of all errors."""


class PhraseboxError(ValueError):
    """Something cannot be done or used; the message is one line with the reason and the remedy."""
