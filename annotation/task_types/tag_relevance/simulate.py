"""How simulated workers tick tags. Seconds: our estimate."""

from annotation.simulation.kinds import SIMULATED
from annotation.task_types.tag_relevance.rules import TAG_RELEVANCE
from annotation.task_types.ticked_pages.simulate import ticking

SIMULATED.register(TAG_RELEVANCE, ticking(TAG_RELEVANCE, seconds=20.0))
