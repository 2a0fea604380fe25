"""Where a picture is set: each setting paints the background and says where the floor is."""

from __future__ import annotations

from collections.abc import Callable

from annotation.synthetic_corpus.settings.green import field, park
from annotation.synthetic_corpus.settings.rooms import hall, kitchen, living_room
from annotation.synthetic_corpus.settings.theatre import concert
from annotation.synthetic_corpus.settings.town import street
from annotation.synthetic_corpus.settings.water import beach, lake
from annotation.synthetic_corpus.settings.winter import snow
from annotation.synthetic_corpus.stage import Stage

OUTDOORS: dict[str, Callable[[Stage], None]] = {
    "park": park,
    "street": street,
    "beach": beach,
    "field": field,
    "snow": snow,
    "lake": lake,
}
INDOORS: dict[str, Callable[[Stage], None]] = {
    "concert": concert,
    "living room": living_room,
    "kitchen": kitchen,
    "hall": hall,
}
SETTINGS = {**OUTDOORS, **INDOORS}
