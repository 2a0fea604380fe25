"""The sample corpus through all kinds of questions."""

from annotation.protocol.gold import Truth
from annotation.simulation.driver import Crowd, numbered, simulate_image
from annotation.simulation.workers import make_crowd
from tests.sizes import sized
from tests.worlds import painted


def test_an_errorless_crowd_makes_of_scenes_exactly_their_gold():
    people = Crowd(make_crowd({"perfect": 5}, seed=1), seed=1)
    for record in painted(sized(25, 200)):
        gold = record.layer
        assert gold is not None
        truth = Truth(gold, image=record.id, size=(record.width, record.height))
        state = simulate_image(gold.mentions, truth, people, review=False).state
        assert state.complete
        ours, expected = numbered(state.layer, 1)[0], numbered(gold, 1)[0]
        assert [c.categories for c in ours.chains] == [c.categories for c in expected.chains]
        assert ours == expected
