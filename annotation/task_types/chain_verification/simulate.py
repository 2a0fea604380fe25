"""How simulated workers answer about chains; what an answer takes is our estimate."""

from annotation.protocol.questions import CHAIN_VERIFICATION
from annotation.simulation.kinds import SIMULATED, SimulatedKind

SIMULATED.register(CHAIN_VERIFICATION, SimulatedKind(key=CHAIN_VERIFICATION, seconds=8.0, yes="true"))
