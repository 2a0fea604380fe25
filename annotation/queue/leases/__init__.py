"""Leases: take, renew, return, expire.

    take_lease, take_next_lease        what a worker holds, or something new; the second within an
                                       answer's transaction
    take_model_lease                   one given task, for a model annotator
    why_no_model_lease                 why it would get none, without locking
    ended_lease                        what was displayed with a submitted answer
    renew_lease                        a sign of life
    return_lease, end_expired_leases   an end without an answer; submission ends those with one
    return_leases_of, ..._of_controls  all leases that show an image, whoever holds them

A lease lasts for the minutes that the campaign sets, is renewed by the page's heartbeat, and ends with an
answer, a return or its expiry. A worker has at most `lease.in_hand` leases of a kind at a time. A repeated
request returns what the worker holds, so that a reload loses nothing.

Locks: the worker's trust state of the kind, which serialises one worker's requests; then a claimed task,
without waiting. Code that ends a lease locks image, task and assignment.
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
