"""A Celery beat scheduler that handles a clock that is set back."""

from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):
    """Beat uses wall-clock time: an entry is due some time after it was last sent. If the clock is set back
    by an hour, nothing would be sent for an hour: no lease would expire and no lost job be found."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; entries sent in the future, by a clock that was ahead, count as sent now."""
        now = self.app.now()
        ahead = [entry for entry in self.schedule.values() if entry.last_run_at and entry.last_run_at > now]
        if ahead:
            for entry in ahead:
                entry.last_run_at = now
            # Rebuilt from the entries: it contains the old due times.
            self._heap = None
        return float(super().tick(*args, **kwargs))
