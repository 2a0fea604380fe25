"""How simulated workers answer about box quality; what an answer takes is our estimate."""

from annotation.protocol.questions import BOX_QUALITY
from annotation.simulation.kinds import SIMULATED, SimulatedKind

SIMULATED.register(BOX_QUALITY, SimulatedKind(key=BOX_QUALITY, seconds=6.0, yes="good"))
