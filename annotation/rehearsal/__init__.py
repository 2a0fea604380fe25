"""Rehearsals: a campaign answered by a simulated crowd.

simulate_campaign   through the pure protocol: quick, and every judgment can be had as a line of JSON
rehearse            through the queue, in process or over HTTP: with leases, refusals and misconduct
mix_of              so many workers, divided by shares
"""

from annotation.rehearsal.people import mix_of
from annotation.rehearsal.protocol_way import SimulationReport, simulate_campaign
from annotation.rehearsal.queue_way import HTTP, PATIENCE, QUEUE, Rehearsal, rehearse

__all__ = [
    "HTTP",
    "PATIENCE",
    "QUEUE",
    "Rehearsal",
    "SimulationReport",
    "mix_of",
    "rehearse",
    "simulate_campaign",
]
