"""What is wrong with a source, one problem after the other, where somebody wants to know all of them.

Without a listener the first problem ends the reading, as a FormatError. With one, a reader tells the
listener, leaves out just what is wrong (a line, an image), and goes on:

    try:
        ...
    except FormatError as error:
        tell_problem(error)        # raises it again where nobody listens
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from phrasebox.text_files import FormatError

ProblemListener = Callable[[FormatError], None]

_listening: ContextVar[ProblemListener | None] = ContextVar("problems of a source", default=None)


@contextmanager
def problems_told(listener: ProblemListener) -> Iterator[None]:
    """Have readers tell `listener` what is wrong, and go on, until the context ends."""
    before = _listening.set(listener)
    try:
        yield
    finally:
        _listening.reset(before)


def tell_problem(error: FormatError) -> None:
    """Tell whoever listens what is wrong; raise `error` where nobody does."""
    listener = _listening.get()
    if listener is None:
        raise error
    listener(error)
