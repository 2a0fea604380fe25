"""Stories: each places actors on the stage and describes what they do."""

from collections.abc import Callable

from scenes.stage import Stage
from scenes.stories import beach, concert, farm, feast, home, lake, park, pavement, play, snow, street, table

Story = Callable[[Stage], None]

#: The stories of each setting; a story listed twice is twice as likely.
STORIES: dict[str, tuple[Story, ...]] = {
    "park": (
        park.picnic, park.bench, park.flying_kite, park.strolling, park.with_balloons,
        play.fetch, play.cycling, play.soccer, play.running, play.cheering,
    ),
    "street": (
        street.crossing, street.bus_stop, street.skateboarding, street.scooting, street.town_cycling,
        pavement.parade, pavement.parade, pavement.busker, pavement.in_the_rain, pavement.vendor,
    ),
    "beach": (
        beach.beach_ball, beach.castle, beach.sunshade, beach.surfing,
        park.strolling, park.flying_kite, play.fetch, play.cheering, play.running,
    ),
    "field": (
        farm.riding_horse, farm.riding_horse, farm.herding, farm.herding, farm.feeding_hens, farm.tractor,
        park.flying_kite, play.fetch, play.soccer, play.cycling, play.cheering,
    ),
    "snow": (snow.sledding, snow.skiing, snow.snowman, snow.snowballs, snow.winter_walk),
    "lake": (lake.rowing, lake.rowing, lake.fishing, lake.feeding_ducks, lake.shore_couple),
    "concert": (concert.band, concert.band, concert.soloist, concert.dancers),
    "living room": (home.on_the_sofa, home.on_the_sofa, home.playing_at_home),
    "kitchen": (table.cooking, table.cooking, table.dinner),
    "hall": (feast.wedding, feast.wedding, feast.birthday),
}  # fmt: skip

#: Stories that require a wide picture.
WIDE = frozenset((farm.riding_horse, farm.herding, farm.tractor, concert.band, street.bus_stop))
