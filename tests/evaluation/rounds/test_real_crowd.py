"""Flickr8k's crowd as the judge: systems of its photographs, pooled and judged as recorded 14 years ago.

The rankings are cut to pairs that the crowd judged, so a batch must find the same as the file, at any depth,
also for the few pairs with more than three judges.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.formats import FORMATS
from evaluation.models import Run
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.recorded_judges import judge_as_recorded
from evaluation.services.batches.state import batch_state
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.runs.files import RunImport, import_run
from evaluation.services.runs.ranking import RankRunsRequest, rank_system
from evaluation.services.systems.training import train_system
from evaluation.services.systems.training_requests import TrainingRequest
from tests.evaluation.rounds.by_hand import Votes, against, rankings
from tests.evaluation.rounds.conftest import RANKED

pytestmark = pytest.mark.django_db(transaction=True)

CORPUS = "flickr8k"
RECIPES = {"near": ("NN5-F1-idf", "linear"), "few": ("BoW1", "linear"), "five": ("BoW5", "linear")}
#: Number of photographs of each split for training: the quality of the results does not matter.
LEARNT_FROM = {"train": 150, "val": 50}


@pytest.fixture
def votes(real_data: Path) -> Votes:
    """Return the crowd's votes on pairs of images with a photograph."""
    there = {file.name for file in (real_data / "flickr8k" / "thumbnails").iterdir()}
    result: Votes = {}
    for line in (real_data / "flickr8k" / "CrowdFlowerAnnotations.txt").read_text().splitlines():
        image, caption, _, yes, no = line.split("\t")
        if image in there and caption.partition("#")[0] in there:
            result[image, caption] = [1.0] * int(yes) + [0.0] * int(no)
    return result


@pytest.fixture
def photographs(votes: Votes, real_data: Path, transactional_db: None, data_dir: Path) -> None:
    """Import the corpus of photographs, and its crowd's judgments."""
    folder = real_data / "flickr8k"
    records = FORMATS.get("flickr8k").read(folder, images=folder / "thumbnails")
    pictured = [record for record in records if record.picture is not None]
    few = [record for record in pictured if record.split == "test"]
    for split, number in LEARNT_FROM.items():
        few += [record for record in pictured if record.split == split][:number]
    import_records(name=CORPUS, records=few, format="flickr8k", source="flickr8k")


@pytest.mark.slow  # the default run has a simulated crowd's, in `database/test_collecting`
def test_a_batch_judged_by_the_real_crowd_says_what_its_file_says(
    photographs: None, votes: Votes, real_data: Path, tmp_path: Path
) -> None:
    crowd = tmp_path / "crowd.csv"
    crowd.write_text(
        "image,caption,yes,no\n"
        + "".join(f"{i},{c},{vote.count(1.0)},{vote.count(0.0)}\n" for (i, c), vote in votes.items())
    )
    import_judgments(
        JudgmentsImport(name="crowd", corpus=CORPUS, file=crowd, format="table"), OperationContext()
    )
    runs = [
        run
        for name, recipe in RECIPES.items()
        for run in judged_runs(name, recipe, votes, real_data, tmp_path)
    ]
    planned_batch = plan(
        BatchRequest(
            corpus=CORPUS,
            runs=runs,
            depth=20,
            threshold=0,
            campaign_settings={"trust": {"qualification": False}},
        )
    )
    owners = {image for image, _ in votes} | {caption.partition("#")[0] for _, caption in votes}
    own_pairs = {(image, f"{image}{RANKED}") for image in owners}
    assert (planned_batch.pooled_pairs, planned_batch.originals) == (
        len(own_pairs | set(votes)),
        len(own_pairs),
    )
    launch(planned_batch, "first")
    done = judge_as_recorded("first", "crowd", patience=0)
    assert done.tally.amiss == [] and batch_state("first").short == 0
    freeze_qrels(name="pooled", corpus=CORPUS, judgments=collect("first").judgments)

    message = {**votes, **{pair: [] for pair in own_pairs}}
    held = {run: against(run, "pooled", message, tmp_path) for run in runs}
    assert all(0 < value <= 1 for values in held.values() for value in values.values())


def judged_runs(name: str, recipe: tuple[str, str], votes: Votes, real_data: Path, folder: Path) -> list[str]:
    """Train a system on the photographs' features, and return its rankings of the judged pairs."""
    base, kernel = recipe
    value = folder / f"{name}.toml"
    value.write_text(f'extends = "{base}"\n[image]\nkernel = "{kernel}"\npower = 1\n')
    features = real_data / "features"
    by_command = OperationContext(by_path=True)
    request = TrainingRequest(
        name=name,
        recipe=str(value),
        corpus=CORPUS,
        features=str(features / "flickr8k_1000_squeezenet_fire9_512.npy"),
        feature_ids=str(features / "flickr8k_1000_names.txt"),
    )
    train_system(request, by_command)
    stored = []
    for whole in rank_system(RankRunsRequest(system=name, split="test"), by_command).runs:
        turned = whole.direction == Run.SEARCH
        file = folder / f"{whole.run}-judged.trec"
        lines = []
        for query, documents in rankings(whole.run, folder).items():
            pairs = [(d, query) if turned else (query, d) for d in documents]
            judged = [d for d, pair in zip(documents, pairs, strict=True) if pair in votes or own_pair(pair)]
            lines += [f"{query} Q0 {d} {n} {-n} {name}\n" for n, d in enumerate(judged, start=1)]
        file.write_text("".join(lines))
        import_run(
            RunImport(
                name=f"{whole.run}-judged",
                corpus=CORPUS,
                file=file,
                format="trec",
                direction=whole.direction,
                system=name,
            ),
            OperationContext(),
        )
        stored.append(f"{whole.run}-judged")
    return stored


def own_pair(pair: tuple[str, str]) -> bool:
    return pair[1] == f"{pair[0]}{RANKED}"
