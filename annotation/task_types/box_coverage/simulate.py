"""How simulated workers answer about box coverage; what an answer takes is our estimate."""

from annotation.protocol.questions import BOX_COVERAGE
from annotation.simulation.kinds import SIMULATED, SimulatedKind

SIMULATED.register(BOX_COVERAGE, SimulatedKind(key=BOX_COVERAGE, seconds=7.0, yes="complete"))
