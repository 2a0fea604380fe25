"""Files of users are read by processes of their own, never by one that serves pages or does jobs.

`read(function, *arguments)` is what a function of ours returns that was called there, `stream` what one
yields, batch by batch. Arguments and what comes back are plain data, arrays of NumPy and our dataclasses; our
exceptions are raised here as there. A reader that takes too much memory or time, or dies, is a FormatError.
Small files do not wait for large ones. Limits: docs/operation.md.
"""

from annotation.common.readers.pool import read, readers_have_no_network, stream

__all__ = ["read", "readers_have_no_network", "stream"]
