"""Rehearsals: a campaign answered by a simulated crowd.

simulate_campaign   through the pure protocol: quick, and every judgment can be had as a line of JSON
rehearse, CrowdPlan through the queue, in process or over HTTP: with leases, refusals and misconduct
mix_of              so many workers, divided by shares
"""

from annotation.simulation_driver.people import USUAL_MIX, mix_of
from annotation.simulation_driver.protocol_driver import simulate_campaign
from annotation.simulation_driver.queue_driver import (
    CROWD_PATIENCE,
    HTTP,
    QUEUE,
    CrowdPlan,
    CrowdReport,
    run_campaign_crowd,
)
from annotation.task_types import discovery

# Code that drives the simulator needs to know how each kind of question is answered.
discovery.load_kind_modules("simulate")
