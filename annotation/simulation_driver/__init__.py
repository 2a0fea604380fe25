"""Rehearsals: a campaign answered by a simulated crowd.

simulate_campaign   through the pure protocol: quick, and every judgment can be had as a line of JSON
rehearse            through the queue, in process or over HTTP: with leases, refusals and misconduct
mix_of              so many workers, divided by shares
"""

from annotation.simulation_driver.people import mix_of
from annotation.simulation_driver.protocol_driver import SimulationReport, simulate_campaign
from annotation.simulation_driver.queue_driver import HTTP, PATIENCE, QUEUE, Rehearsal, rehearse

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
