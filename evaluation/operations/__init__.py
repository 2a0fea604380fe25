"""What people, programs and commands can have done in evaluation: one declaration each."""

from functools import partial

from annotation.common.operations import register as register_operation

#: Declare an operation. What computes says by these errors what is wrong with the files and numbers it takes.
register = partial(register_operation, errors=(OSError, ValueError))
