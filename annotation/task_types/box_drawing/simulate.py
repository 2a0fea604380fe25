"""How simulated workers draw boxes.

An answer takes 35 s, the median of conventional drawing in Papadopoulos et al. 2017.
"""

from annotation.protocol.gold import Truth, anywhere
from annotation.protocol.questions import BOX_DRAWING
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import Box
from annotation.simulation.kinds import SIMULATED, SimulatedKind


def _blind(answer: str, truth: Truth, rng: SeededRng) -> Box | None:
    return anywhere(truth, rng) if answer == "drawn" else None


SIMULATED.register(BOX_DRAWING, SimulatedKind(key=BOX_DRAWING, seconds=35.0, yes="drawn", blind=_blind))
