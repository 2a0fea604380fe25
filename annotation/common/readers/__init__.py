"""Read users' files in separate processes, never in one that serves pages or runs jobs.

`read(function, *arguments)` returns the result of one of our functions called there, `stream` yields its
items, batch by batch. Arguments and results are plain data, NumPy arrays and our dataclasses; our exceptions
are raised here, too. A reader that exceeds its memory or time, or dies, is a FormatError. Small files do not
wait for large ones. Limits: docs/operation.md.
"""

from annotation.common.readers.pool import read, readers_have_no_network, stream

__all__ = ["read", "readers_have_no_network", "stream"]
