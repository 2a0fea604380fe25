"""The operations of evaluation for people, programs and commands: each is declared once."""

from functools import partial

from annotation.common.operations import register as register_operation

#: Declare an operation. Computations report invalid files and numbers by these exceptions.
register = partial(register_operation, errors=(OSError, ValueError))
