"""Rehearsals: a campaign answered by a simulated crowd.

simulate_campaign    through the pure protocol: fast, and every judgment can be written as a line of JSON
run_campaign_crowd   through the queue, in process or over HTTP: with leases, refusals and misconduct
mix_of               a number of workers, divided by shares
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

# Code that runs the simulator needs the answers of each kind of question.
discovery.load_kind_modules("simulate")
