"""How simulated workers answer about links; what an answer takes is our estimate."""

from annotation.protocol.questions import COREF_LINK
from annotation.simulation.kinds import SIMULATED, SimulatedKind

SIMULATED.register(COREF_LINK, SimulatedKind(key=COREF_LINK, seconds=6.0, yes="yes"))
