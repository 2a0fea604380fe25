"""How simulated workers answer about box requirement; what an answer takes is our estimate."""

from annotation.protocol.questions import BOX_REQUIREMENT
from annotation.simulation.kinds import SIMULATED, SimulatedKind

SIMULATED.register(BOX_REQUIREMENT, SimulatedKind(key=BOX_REQUIREMENT, seconds=5.0, yes="box"))
