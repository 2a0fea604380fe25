"""Known items of campaigns: drawn from, graded by, and added to.

pool, shown, seen, grade    what the queue needs of them
"""

from annotation.controls.pools import grade, pool, seen, shown

__all__ = ["grade", "pool", "seen", "shown"]
