"""Celery's beat, for a clock that may be set back."""

from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):
    """Beat reckons by the time of day: an entry is due so long after it was last sent. Where the clock is set
    back by an hour, that would be an hour's silence, and no lease would end and no lost job be found."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; what was sent later than now, by a clock that was ahead, counts as sent now."""
        now = self.app.now()
        ahead = [entry for entry in self.schedule.values() if entry.last_run_at and entry.last_run_at > now]
        if ahead:
            for entry in ahead:
                entry.last_run_at = now
            # Made again from the entries: it holds the times at which they were to be due.
            self._heap = None
        return float(super().tick(*args, **kwargs))
