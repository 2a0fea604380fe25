"""Processes that listen on one socket share its connections: the one with the fewest accepts the next.

The kernel wakes them all, and the one that is awake first would accept most of them: of three processes one
often had all connections, and the others computed nothing.
"""

import mmap

#: Seconds for which a process leaves a connection to those with fewer.
OTHERS_FIRST = 0.002
_PROCESSES, _BYTES = 256, 4


class ConnectionCounts:
    """The number of connections of each process, in memory that is shared with later forks.

    A process is counted under the number that its master gives it; only it writes its count.
    """

    def __init__(self) -> None:
        # One more than the number of connections; 0 without a process.
        self._counts = memoryview(mmap.mmap(-1, _PROCESSES * _BYTES)).cast("i")

    def store(self, process: int, connections: int) -> None:
        """Store the number of connections of a process; -1: it has ended."""
        self._counts[process % _PROCESSES] = connections + 1

    def fewest(self) -> int:
        """Return the lowest number of connections of any process; 0 without processes."""
        return min(filter(None, self._counts), default=1) - 1


#: Those of this server: imported before its processes fork.
CONNECTION_COUNTS = ConnectionCounts()
