"""Leases: take, renew, return, expire.

take_lease, take_next_lease        what a worker holds, or something new; the second within an
                                   answer's transaction
take_model_lease                 one named task, for a model annotator
why_no_model_lease               why it would get none, asked without a lock
ended_lease                        what was shown with an answer that was given
renew_lease                        a sign of life
return_lease, end_expired_leases   an end without an answer; submission ends those that have one
return_leases_of, ..._of_controls  of all that show an image, no matter who holds them

A lease is for the minutes that the campaign sets, renewed by the page's heartbeat, and ended by
an answer, a return or expiry. A worker has at most `lease.in_hand` of a kind at a time. One who
asks again gets what they hold, so that a reload loses nothing.

Locks: the worker's trust state of the kind, by which one worker's requests go one after the other;
then a claimed task, without waiting. Code that ends a lease holds image, task and assignment.
"""

from annotation.queue.dispatch import NoTask
from annotation.queue.leases.ending import (
    end_expired_leases,
    renew_lease,
    return_lease,
    return_leases_of,
    return_leases_of_controls,
)
from annotation.queue.leases.taking import (
    TAKEN,
    Lease,
    ended_lease,
    take_lease,
    take_model_lease,
    take_next_lease,
    why_no_model_lease,
)
