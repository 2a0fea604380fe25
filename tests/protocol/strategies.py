"""Random images and random crowds' judgments of them, for property tests of the fold."""

from hypothesis import strategies as st

from annotation.protocol.gold import Truth
from annotation.protocol.link_chances import LinkChances
from annotation.protocol.state import ImageSettings, SavingSettings
from annotation.protocol.terms import CATEGORIES, Mention
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.standin import stand_in
from annotation.simulation.workers import make_crowd

WORDS = ("man", "dog", "hat", "park", "ball")


@st.composite
def images(draw):
    """Draw up to twelve mentions in up to four captions, of few words and categories, so that they
    overlap."""
    result = []
    for caption in range(draw(st.integers(1, 4))):
        start = 0
        for _ in range(draw(st.integers(0, 3))):
            head = draw(st.sampled_from(WORDS))
            tokens = (*draw(st.sampled_from([("a",), ("two",), ("the", "red"), ()])), head)
            categories = draw(st.lists(st.sampled_from(CATEGORIES), min_size=1, max_size=2, unique=True))
            result.append(Mention(caption, start, start + len(tokens), tokens, tuple(categories)))
            start += len(tokens) + 1
    return result


CHANCES = LinkChances({(True, 0): 0.6, (False, 0): 0.1}, {("dog", "man"): 0.8, ("man", "park"): 0.02})

savings = st.builds(
    SavingSettings,
    link_chances=st.just(CHANCES.as_text()),
    fullest_caption_first=st.booleans(),
    coverage_by_count=st.booleans(),
)
settings_of_images = st.builds(
    ImageSettings,
    order=st.sampled_from(["likely_first", "as_printed", "learned"]),
    saving=savings,
    link_votes=st.sampled_from([1, 3]),
    verification_votes=st.sampled_from([1, 3]),
)


@st.composite
def played(draw):
    """Draw (mentions, settings, the judgments and rulings of a random crowd, its truth)."""
    mentions = draw(images())
    settings = draw(settings_of_images)
    seed = draw(st.integers(0, 10**6))
    truth = Truth(stand_in(mentions, size=(200, 100), seed=seed, image="x"), image="x", size=(200, 100))
    mix = draw(
        st.dictionaries(
            st.sampled_from(["perfect", "careful", "sloppy", "random", "always_yes", "jittered", "leaver"]),
            st.integers(1, 4),
            min_size=1,
        )
    )
    people = Crowd(make_crowd(mix, seed=seed), seed=seed)
    simulated = simulate_image(mentions, truth, people, settings, review=draw(st.booleans()))
    return mentions, settings, simulated, truth
