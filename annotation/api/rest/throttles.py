"""How many calls an account may make in a minute, all its tokens and sessions together.

Writes are counted in the database, as whatever else is limited. Reads are counted in the memory of each
process: a count in the database would make a write of every read.
"""

import time
from http import HTTPStatus

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _

from annotation.api.problems import Problem
from annotation.workers.rate_limit import Limit, Try, attempt

_MINUTE = 60


def check_pace(account: int, *, reads: bool) -> None:
    """Count a call; raises Problem (429) where the account makes too many."""
    if reads:
        now = int(time.time())
        key = f"annotation.api.reads.{account}.{now // _MINUTE}"
        cache.add(key, 0, 2 * _MINUTE)
        try:
            calls = cache.incr(key)
        except ValueError:  # the cache was full, and dropped it this very moment
            calls = 1
        wait = _MINUTE - now % _MINUTE if calls > settings.API_READS_A_MINUTE else 0
    else:
        wait = attempt(Try(Limit("api.writes", settings.API_WRITES_A_MINUTE, _MINUTE), str(account)))
    if wait:
        detail = _("Too many requests. Try again in %(seconds)d s.") % {"seconds": wait}
        headers = {"Retry-After": str(wait)}
        raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "too_often", detail, headers=headers)
