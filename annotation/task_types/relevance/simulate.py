"""How simulated workers tick sentences. Seconds: our estimate."""

from annotation.simulation.kinds import SIMULATED
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.ticked_pages.simulate import ticking

SIMULATED.register(RELEVANCE, ticking(RELEVANCE, seconds=120.0))
