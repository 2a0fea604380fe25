"""Results of a reader: data of a few kinds, and our exceptions. None of it can run code."""

import io
import pickle
import sys
from dataclasses import is_dataclass
from typing import Any

from annotation.common.reader_server import OUR_PACKAGES

#: Permitted kinds besides ours, and the functions that make an array from bytes.
_KNOWN = {
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "range"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "Counter"),
    ("collections", "OrderedDict"),
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("decimal", "Decimal"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
}


class UnexpectedAnswer(ValueError):
    """A reader sent anything but such results."""


class _Answers(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a permitted kind of data. Raises UnexpectedAnswer for any other."""
        if (module, name) in _KNOWN:
            return super().find_class(module, name)
        kind = getattr(sys.modules.get(module), name, None)
        ours = module.partition(".")[0] in OUR_PACKAGES and isinstance(kind, type)
        if ours and (is_dataclass(kind) or issubclass(kind, (tuple, Exception))):  # type: ignore[arg-type]
            return kind
        raise UnexpectedAnswer(f"{module}.{name}")


def read_answer(data: bytes) -> Any:
    """Return the data of a message. Raises UnexpectedAnswer."""
    try:
        return _Answers(io.BytesIO(data)).load()
    except UnexpectedAnswer:
        raise
    except Exception as error:
        raise UnexpectedAnswer(str(error)) from error


def read_error(data: bytes) -> Exception:
    """Return the exception of a reader. Raises UnexpectedAnswer if it is not ours."""
    module, name, args, fields = read_answer(data)
    kind = getattr(sys.modules.get(module), name, None)
    if module.partition(".")[0] not in OUR_PACKAGES or not isinstance(kind, type):
        raise UnexpectedAnswer(f"{module}.{name}")
    if not issubclass(kind, Exception):
        raise UnexpectedAnswer(f"{module}.{name}")
    error = kind.__new__(kind)
    error.args = tuple(args)
    vars(error).update(fields)
    return error
