"""When votes settle."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.redundancy import AgreeingVotes, Exactly, FirstVote, majority_rule

COVERAGE = AgreeingVotes({"more": "MORE", "complete": "COMPLETE"}, "MORE")


@pytest.mark.parametrize(
    ("votes", "outcome", "expected"),
    [
        ([], None, 1), (["more"], "MORE", 0), (["complete"], None, 1),
        (["complete", "complete"], "COMPLETE", 0),
        (["complete", "more"], None, 1), (["complete", "more", "more"], "MORE", 0),
        (["complete", "more", "complete"], "COMPLETE", 0),
    ],
)  # fmt: skip
def test_coverage_wants_two_to_stop_and_one_to_go_on(votes, outcome, expected):
    assert (COVERAGE.settle(votes), COVERAGE.votes_needed(votes)) == (outcome, expected)


def test_a_vote_no_outcome_knows_is_refused():
    with pytest.raises(ValueError, match="'perhaps'"):
        COVERAGE.settle(["perhaps"])


@pytest.mark.parametrize("votes", [0, 2, -1])
def test_best_of_an_even_number_is_refused(votes):
    with pytest.raises(ValueError, match="odd"):
        majority_rule(votes, ("yes", "no"))


BOTH = ("more", "complete")
RULES = (FirstVote(), COVERAGE, majority_rule(3, BOTH), majority_rule(5, BOTH), Exactly(3, "more"))


@given(st.sampled_from(RULES), st.lists(st.sampled_from(BOTH), max_size=7))
def test_votes_are_wanted_exactly_while_unsettled_and_what_is_wanted_is_needed(rule, votes):
    settled = rule.settle(votes)
    expected = rule.votes_needed(votes)
    assert (settled is None) == (expected > 0)
    if settled is None and expected > 1:
        for message in ("more", "complete"):
            assert rule.settle([*votes, *[message] * (expected - 1)]) is None


@given(st.lists(st.sampled_from(["yes", "no"]), min_size=3, max_size=3))
def test_best_of_three_is_the_majority_and_three_judgments_too(votes):
    majority = max(("yes", "no"), key=votes.count)
    assert majority_rule(3, ("yes", "no")).settle(votes) == majority == Exactly(3, "no").settle(votes)


def test_an_even_number_of_judgments_may_tie():
    assert Exactly(2, "no").settle(["yes", "no"]) == "no"


@pytest.mark.parametrize("votes", [3, 5, 7])
def test_it_wants_the_fewest_votes_that_can_still_settle_it(votes):
    rule = majority_rule(votes, "ab")
    settles = {provided for n in range(9) for provided in product("ab", repeat=n) if rule.settle(provided)}
    for number in range(votes):
        for answers_so_far in product("ab", repeat=number):
            if any(answers_so_far[:end] in settles for end in range(number)):
                continue  # nobody was asked after that
            missing = [len(end) - number for end in settles if end[:number] == answers_so_far]
            assert rule.votes_needed(answers_so_far) == min(missing), answers_so_far
