"""What a command used of the machine."""

import resource
import sys


def peak_mib() -> float:
    """The most memory this process has held so far, in MiB (the peak of its resident set)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, everybody else KiB.
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
