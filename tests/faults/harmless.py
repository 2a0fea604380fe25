"""Faults that no test can find, because nothing that anybody could see changes: their key, and why.

The key follows from the function's name and the change, so that it stays when files move. A fault that
changes what a user, a file or another process can see does not belong here: it needs a test.
"""

from __future__ import annotations

HARMLESS: dict[str, str] = {
    "4b402d6ddc": "a factor that scatters workers over a window of tasks: another scatters them as well",
}
