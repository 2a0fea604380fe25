"""Settings of pictures: each paints the background and defines where people stand."""

from collections.abc import Callable

from scenes.settings.green import field, park
from scenes.settings.rooms import hall, kitchen, living_room
from scenes.settings.theatre import concert
from scenes.settings.town import street
from scenes.settings.water import beach, lake
from scenes.settings.winter import snow
from scenes.stage import Stage

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
