"""A batch judged with recorded votes: the exported votes equal the recorded ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.workers import make_crowd
from evaluation.models import PairAnswers
from evaluation.selectors import judged_pairs, judgment_set, names_of
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.recorded_judges import judge_as_recorded
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.pooled_world import PER_SCENE, UNTESTED, a_world, runs

pytestmark = pytest.mark.django_db(transaction=True)

Votes = dict[tuple[str, str], tuple[int, ...]]


@pytest.fixture
def votes_by_pair(data_dir: Path, tmp_path: Path) -> Votes:
    """A batch `first`, and three votes on each of its pairs, in the judgments `old`."""
    a_world()
    planned_batch = plan(
        BatchRequest(
            corpus="quay",
            runs=runs(tmp_path, "blunt", noise=1.0, seed=2),
            depth=4,
            threshold=0,
            campaign_settings=UNTESTED,
        )
    )
    launch(planned_batch, "first")
    pairs = planned_batch.pooled.called(planned_batch.selected)
    votes: Votes = {pair: tuple(int((5 * like(*pair) + k) % 7 < 3) for k in range(3)) for pair in pairs}
    file = tmp_path / "old.csv"
    lines = [f"{image},{caption},{sum(vote)},{3 - sum(vote)}" for (image, caption), vote in votes.items()]
    file.write_text("\n".join(["image,caption,yes,no", *lines]))
    import_judgments(
        JudgmentsImport(name="old", corpus="quay", file=file, format="table"), OperationContext()
    )
    return votes


def like(image: str, caption: str) -> int:
    """Return a number for the pair, the same for captions with the same words."""
    owner = int(caption.partition("#")[0].removeprefix("i"))
    return 11 * int(image.removeprefix("i")) + owner // PER_SCENE


def collected() -> Votes:
    names = names_of("quay")
    result = judged_pairs(judgment_set("quay", collect("first").judgments), names)
    return {
        (pair.query.removesuffix(".jpg"), pair.document.replace(".jpg", "")): tuple(
            sorted(map(int, pair.grades))
        )
        for pair in result
    }


def test_what_was_recorded_comes_out_vote_for_vote(votes_by_pair: Votes) -> None:
    done = judge_as_recorded("first", "old", patience=0)
    assert (done.open_tasks, done.leased, done.tally.amiss) == (0, 0, [])
    assert collected() == {pair: tuple(sorted(provided)) for pair, provided in votes_by_pair.items()}


def test_people_who_err_answer_what_most_said_save_where_they_err(votes_by_pair: Votes) -> None:
    report = json.loads(
        output_of(
            *("simulate_judges", "first", "--recorded", "old", "--workers", "6", "--patience", "0"),
            *("--mix", "careful=1", "--json"),
        ).splitlines()[-1]
    )
    assert (report["open_tasks"], report["leased"]) == (0, 0) and report["crowd"] == {"careful": 6}
    right = [
        answer == int(2 * sum(votes_by_pair[pair]) > 3)
        for pair, provided in collected().items()
        for answer in provided
    ]
    assert 0.9 < sum(right) / len(right) < 1


def test_judgments_of_another_scale_and_of_words_that_stand_twice_are_refused(votes_by_pair: Votes) -> None:
    row = PairAnswers.objects.filter(judgments__name="old").order_by("position")[0]
    PairAnswers.objects.filter(pk=row.pk).update(grades=[4, 4, 1])
    with pytest.raises(CommandError, match=r"'old' contain the answers \[4, 4, 1\]; expected .* 0, 1"):
        output_of("simulate_judges", "first", "--recorded", "old")
    with pytest.raises(CommandError, match="--recorded: There is no set of judgments “new” here"):
        output_of("simulate_judges", "first", "--recorded", "new")
    with pytest.raises(CommandError, match="batch: There is no batch “second” here"):
        output_of("simulate_judges", "second", "--recorded", "old")


def test_words_alone_are_judged_so_captions_alike_must_have_been_answered_alike(votes_by_pair: Votes) -> None:
    """Images of one scene have the same captions."""
    rows = PairAnswers.objects.filter(judgments__name="old").order_by("position")
    twins: dict[tuple[int | None, str], list[PairAnswers]] = {}
    for row in rows.select_related("caption"):
        twins.setdefault((row.image_id, row.caption.text), []).append(row)
    first, second = next(pair for pair in twins.values() if len(pair) > 1)[:2]
    rows.update(grades=[1, 1, 0])
    judge_as_recorded("first", "old", patience=0)
    rows.filter(pk=first.pk).update(grades=[0, 0, 0])
    with pytest.raises(CommandError, match="two captions of the same words"):
        output_of("simulate_judges", "first", "--recorded", "old")


def test_grades_on_record_are_given_as_they_are() -> None:
    grades = {("i", "a dog"): [2, 4, 4, 1]}
    perfect = make_crowd({"perfect": 5}, seed=1)

    def provided(known: CrowdKnowledge) -> list[str]:
        content = {"caption": "a dog"}
        return [worker.judge("graded_relevance", "i", content, known).answer for worker in perfect]

    assert provided(CrowdKnowledge({}, recorded=grades, in_place_of=5)) == ["2", "4", "4", "1", "2"]
    assert provided(CrowdKnowledge({}, recorded=grades)) == ["2"] * 5, "in nobody's place: the middle one"


@pytest.mark.parametrize("yes", range(7))
@pytest.mark.parametrize("people", [3, 4, 5, 6])
def test_three_judges_in_the_place_of_more_keep_their_majority(people: int, yes: int) -> None:
    votes = [1.0] * min(yes, people) + [0.0] * (people - yes)
    known = CrowdKnowledge({}, recorded={("i", "a dog"): votes}, in_place_of=3)
    cast = [known.vote(worker, "i", "a dog") or 0.0 for worker in make_crowd({"perfect": 3}, seed=1)]
    assert (2 * sum(cast) > 3) == (2 * sum(votes) > people)
