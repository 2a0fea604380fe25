"""The methods of Karpathy and Fei-Fei 2015: the alignment, and the captions of images and of regions."""

from __future__ import annotations

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Method, register_method
from models_core.estimators.neural.alignment import Alignment
from models_core.estimators.neural.captioner import RecurrentCaptioner
from models_core.estimators.neural.settings import (
    ALIGNMENTS,
    CAPTIONERS,
    EDGE_ALIGNMENTS,
    PHASES,
    REGION_CAPTIONERS,
    AlignmentSettings,
    CaptionerSettings,
)

register_method(
    Method(
        name="alignment",
        title="Alignment of regions and words",
        settings=AlignmentSettings,
        make=Alignment,
        load=Alignment.from_state,
        takes={IMAGE_VIEW: "regions", CAPTION_VIEW: "words"},
        source="Karpathy and Fei-Fei 2015, section 3.1",
        phases=PHASES,
        recipes=ALIGNMENTS,
        by_processes=True,
    )
)
register_method(
    Method(
        name="edge-alignment",
        title="Alignment of regions and dependency edges",
        settings=AlignmentSettings,
        make=Alignment,
        load=Alignment.from_state,
        takes={IMAGE_VIEW: "regions", CAPTION_VIEW: "edges"},
        source="Karpathy and Fei-Fei 2015, section 4.1",
        phases=PHASES,
        recipes=EDGE_ALIGNMENTS,
        by_processes=True,
    )
)
register_method(
    Method(
        name="captioner",
        title="Captions word by word",
        settings=CaptionerSettings,
        make=RecurrentCaptioner,
        load=RecurrentCaptioner.from_state,
        takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "words"},
        source="Karpathy and Fei-Fei 2015, section 3.2",
        phases=PHASES,
        recipes=CAPTIONERS,
        predicts="captions",
        by_processes=True,
    )
)
register_method(
    Method(
        name="region-captioner",
        title="Captions of regions word by word",
        settings=CaptionerSettings,
        make=RecurrentCaptioner,
        load=RecurrentCaptioner.from_state,
        takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "words"},
        source="Karpathy and Fei-Fei 2015, sections 3.2 and 4.3",
        phases=PHASES,
        recipes=REGION_CAPTIONERS,
        predicts="captions",
        by_processes=True,
        items="regions",
    )
)
