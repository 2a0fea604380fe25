"""The proposer of boxes: it learns squares by their colours, refines boxes, estimates probabilities, and is
stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models_core.estimators.neural.proposer.box_proposer import (
    BoxProposer,
    NothingToLearn,
    box_overlap,
)
from models_core.estimators.neural.proposer.close_ups import LAST_VIEW, SECOND_VIEW, CloseView, close_ups
from models_core.estimators.neural.proposer.examples import (
    TrainingPhrase,
    TrainingPicture,
    Words,
    pictures_tensor,
)
from models_core.estimators.neural.proposer.network import cell_boxes, centres_of, overlap
from models_core.estimators.neural.proposer.refiner import RefinerNetwork, cell_places, refined_boxes
from models_core.estimators.neural.proposer.refining import (
    LAST_TRAINING,
    SECOND_TRAINING,
    LookTraining,
    close_loss,
    train_refiner,
)
from models_core.estimators.neural.proposer.training import (
    ACCEPTED_IOU,
    EPOCHS_FROM_SCRATCH,
    MOST_STEPS_FROM_SCRATCH,
    STEPS_CONTINUED,
    STEPS_FROM_SCRATCH,
    ProposerSettings,
    batches_of,
    fit_chance,
    fit_weights,
    phrase_loss,
    sampled_cells,
)
from models_core.storage import BadModel

SIDE = 64
COLOURS = {"red": (220, 30, 30), "blue": (30, 30, 220)}


def scene(rng: np.random.Generator) -> TrainingPicture:
    """Return a grey picture with a red square and a blue one, apart from each other."""
    colours: NDArray[np.uint8] = np.full((SIDE, SIDE, 3), 120, np.uint8)
    phrases = []
    for index, (name, colour) in enumerate(COLOURS.items()):
        side = int(rng.integers(16, 26))
        left, top = (
            int(rng.integers(0, SIDE - side)),
            int(rng.integers(0, 30 - side + 1)) if side < 30 else 0,
        )
        top += 32 * index
        colours[top : top + side, left : left + side] = colour
        box = np.array([[left, top, left + side, top + side]]) / SIDE
        phrases.append(TrainingPhrase((("a", name, "square"), (name.upper(),)), box))
    return TrainingPicture(colours, tuple(phrases))


def scenes(count: int, seed: int) -> list[TrainingPicture]:
    rng = np.random.default_rng(seed)
    return [scene(rng) for _ in range(count)]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Such small networks are slower on two threads, and other tests run at the same time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def learned(count: int, epochs: int, seed: int = 3) -> BoxProposer:
    close = max(1, epochs // 2)
    settings = ProposerSettings(
        side=SIDE, epochs=epochs, close_epochs=close, last_epochs=max(1, close // 2), batch=8
    )
    return BoxProposer(settings).fit(scenes(count, 1), seed=seed)


@pytest.fixture(scope="module")
def trained() -> BoxProposer:
    """Return a barely trained proposer: enough for everything except its accuracy."""
    return learned(16, 2)


def best(proposer: BoxProposer, pictures: list[TrainingPicture]) -> list[tuple[float, float]]:
    """Return (IoU of the best box, its probability) of each phrase."""
    result = proposer.propose(
        [p.colours for p in pictures], [[t.wordings[0] for t in p.phrases] for p in pictures]
    )
    return [
        (float(box_overlap(rows[0], phrase.boxes).max()), float(rows[0][4]))
        for picture, value in zip(pictures, result, strict=True)
        for phrase, rows in zip(picture.phrases, value, strict=True)
    ]


@pytest.mark.slow
def test_it_finds_what_a_phrase_names() -> None:
    proposer, new = learned(100, 30), scenes(12, 2)
    result = best(proposer, new)
    assert np.mean([iou for iou, _ in result]) > 0.7
    # The probability distinguishes good boxes from bad ones.
    sure = [iou for iou, chance in result if chance > 0.5]
    assert len(sure) > len(result) / 2 and np.mean([iou >= ACCEPTED_IOU for iou in sure]) > 0.8


def test_its_loss_falls_as_it_learns() -> None:
    picture = scenes(1, 8)[0]
    requested = sampled_cells([t.boxes for t in picture.phrases], SIDE // 8, np.random.default_rng(0))

    def loss(proposer: BoxProposer) -> float:
        assert proposer.network_ is not None
        batch = proposer.words_.batch([t.wordings[0] for t in picture.phrases], [0, 0])
        with torch.inference_mode():
            network = proposer.network_(pictures_tensor([picture.colours]), batch, requested.cells)
        return float(phrase_loss(network, requested, SIDE // 8))

    assert loss(learned(16, 4)) < loss(learned(16, 1))


def test_some_cells_say_what_they_say_among_all(trained: BoxProposer) -> None:
    assert trained.network_ is not None
    picture = scenes(1, 8)[0]
    batch = trained.words_.batch([("red",), ("blue",)], [0, 0])
    some = torch.tensor([[3, 40, 63], [0, 1, 2]])
    with torch.inference_mode():
        every = trained.network_(pictures_tensor([picture.colours]), batch)
        network = trained.network_(pictures_tensor([picture.colours]), batch, some)
    assert every.shape == (2, 64, 6)
    for phrase in range(2):
        assert torch.allclose(network[phrase], every[phrase, some[phrase]], atol=1e-5)


def test_cells_asked_stand_for_all_cells_and_those_of_middles_are_in_middles() -> None:
    boxes = [np.array([[0.2, 0.2, 0.6, 0.8]]), np.array([[0.0, 0.0, 0.05, 0.05], [0.5, 0.5, 1.0, 1.0]])]
    requested = sampled_cells(boxes, 24, np.random.default_rng(2))
    middles = requested.target.shape[1]
    for phrase, own_box in enumerate(boxes):
        centres = centres_of(requested.cells[phrase, :middles], 24).numpy()
        target = requested.target[phrase].numpy()
        for centre, box in zip(centres, target, strict=True):
            assert any(np.allclose(box, row, atol=1e-6) for row in own_box)
            reach = np.maximum((box[2:] - box[:2]) * 0.2, 0.6 / 24) + 0.5 / 24
            assert (np.abs(centre - (box[:2] + box[2:]) / 2) <= reach + 1e-6).all()
        # Of the other cells, those in a middle count nothing: the rest stand for the cells that are in none.
        assert float(requested.weight[phrase].sum()) == pytest.approx(24 * 24, rel=0.2)
    # Both boxes of a phrase are trained equally often, the small one too.
    small = (requested.target[1, :, 2] < 0.1).float().mean()
    assert 0.2 < float(small) < 0.8


def test_its_proposals_are_within_the_picture_and_apart_with_falling_chances(trained: BoxProposer) -> None:
    (own_rows,) = trained.propose([scenes(1, 5)[0].colours], [[("a", "red", "square"), ("unheard",)]])
    for rows in own_rows:
        assert rows.shape[1] == 5 and 1 <= len(rows) <= 5
        assert (rows >= 0).all() and (rows <= 1).all() and (rows[:, 2:4] > rows[:, :2]).all()
        assert (np.diff(rows[:, 4]) <= 0).all()
        for index, row in enumerate(rows):
            assert (box_overlap(row, rows[:index]) < 0.5).all()


def test_the_same_seed_learns_the_same_and_storing_keeps_it_to_the_bit(
    trained: BoxProposer, tmp_path: Path
) -> None:
    settings = ProposerSettings(side=SIDE, epochs=1, close_epochs=1, last_epochs=1, batch=4)
    item, two = (BoxProposer(settings).fit(scenes(8, 1), seed=7) for _ in range(2))
    new = scenes(3, 9)
    assert best(item, new) == best(two, new)
    trained.save(tmp_path / "kept", {"images": 60})
    assert best(BoxProposer.load(tmp_path / "kept"), new) == best(trained, new)
    with pytest.raises(FileExistsError):
        trained.save(tmp_path / "kept")
    with pytest.raises(BadModel):
        BoxProposer.load(tmp_path / "nothing")


def test_learning_goes_on_from_another_with_the_words_that_are_new(trained: BoxProposer) -> None:
    new = [
        TrainingPicture(
            p.colours, tuple(TrainingPhrase((*t.wordings, ("brandnew",)), t.boxes) for t in p.phrases)
        )
        for p in scenes(8, 11)
    ]
    settings = ProposerSettings(side=SIDE, epochs=1, close_epochs=1, last_epochs=1, batch=8, rate=1e-5)
    on = BoxProposer(settings).fit(new, begin=trained)
    assert set(on.words_.numbers) == {*trained.words_.numbers, "brandnew"}
    assert {word: on.words_.numbers[word] for word in trained.words_.numbers} == trained.words_.numbers
    # Such a small step changes almost nothing.
    old = scenes(6, 12)
    assert np.mean([a[0] for a in best(on, old)]) > np.mean([a[0] for a in best(trained, old)]) - 0.1


def test_what_cannot_be_trained_is_refused_in_one_line() -> None:
    settings = ProposerSettings(side=SIDE)
    with pytest.raises(NothingToLearn, match="train from finished images that have boxes"):
        BoxProposer(settings).fit([TrainingPicture(scenes(1, 1)[0].colours)])
    with pytest.raises(ValueError, match=r"a picture of shape \(8, 8, 3\).*expected \(64, 64, 3\)"):
        BoxProposer(settings).fit([TrainingPicture(np.zeros((8, 8, 3), np.uint8), scenes(1, 1)[0].phrases)])
    with pytest.raises(ValueError, match="has not learned yet"):
        BoxProposer(settings).propose([scenes(1, 1)[0].colours], [[("red",)]])
    with pytest.raises(ValueError, match="a phrase has no words"):
        Words.of([("red",)]).batch([()], [0])
    with pytest.raises(ValueError, match="side"):
        ProposerSettings(side=100)


def test_how_many_steps_a_training_run_takes() -> None:
    settings = ProposerSettings(epochs=8, close_epochs=6, last_epochs=4, batch=4)
    assert settings.usual_steps(400) == (800, 600, 400)
    for pictures, steps in (
        (1, STEPS_FROM_SCRATCH),
        (12, STEPS_FROM_SCRATCH),
        (400, MOST_STEPS_FROM_SCRATCH),
    ):
        assert settings.training_steps(pictures, from_scratch=True) == steps
    assert settings.training_steps(60, from_scratch=True) == tuple(
        15 * epochs for epochs in EPOCHS_FROM_SCRATCH
    )
    for pictures in (1, 40, 30_000):
        assert settings.training_steps(pictures, from_scratch=False) == STEPS_CONTINUED
    for fewer, looks in ((replace(settings, last_epochs=0), 2), (replace(settings, looks=0), 1)):
        assert fewer.usual_steps(400) == (800, 600, 400)[:looks]
        assert fewer.training_steps(40, from_scratch=False) == STEPS_CONTINUED[:looks]


@pytest.mark.parametrize(("pictures", "steps"), [(10, 7), (3, 5), (1, 2), (9, 0)])
def test_each_picture_is_learned_from_once_in_an_epoch(pictures: int, steps: int) -> None:
    batches = list(batches_of(pictures, 4, steps, np.random.default_rng(0)))
    assert len(batches) == steps
    item = max(1, pictures // 4)
    for start in range(0, steps - item + 1, item):
        assert sorted(np.concatenate(batches[start : start + item])) == list(range(pictures))


def test_a_training_run_takes_more_or_fewer_epochs_of_all_looks() -> None:
    settings = ProposerSettings(epochs=8, close_epochs=6, last_epochs=4, batch=4)
    assert settings.lasting(4).close_epochs == 3 and settings.lasting(1).close_epochs == 1
    assert settings.lasting(1).last_epochs == 1
    assert ProposerSettings(last_epochs=0).lasting(80).last_epochs == 0


def test_more_is_held_out_of_few_pictures_and_nothing_of_very_few() -> None:
    proposer = BoxProposer(ProposerSettings(side=SIDE))
    phrase = scenes(1, 1)[0].phrases[0]
    pictures = [TrainingPicture(np.zeros((SIDE, SIDE, 3), np.uint8), (phrase,) * 7) for _ in range(200)]
    # A tenth; enough for 60 phrases; a quarter at most; none below 30 phrases.
    for count, held in ((200, 20), (60, 9), (40, 9), (20, 5), (16, 0)):
        assert proposer.learned_from(pictures[:count]) == count - held
    # Pictures without phrases are neither trained on nor held out.
    assert proposer.learned_from([replace(pictures[0], phrases=()), *pictures[:40]]) == 31


def test_overlap_is_that_of_loops() -> None:
    rng = np.random.default_rng(4)
    boxes = np.sort(rng.random((6, 2, 2)), axis=1).reshape(6, 4)
    tensor = torch.from_numpy(boxes)
    for a in range(6):
        for b in range(6):
            wide = max(0.0, min(boxes[a, 2], boxes[b, 2]) - max(boxes[a, 0], boxes[b, 0]))
            high = max(0.0, min(boxes[a, 3], boxes[b, 3]) - max(boxes[a, 1], boxes[b, 1]))
            areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (boxes[a], boxes[b])]
            expected = wide * high / (sum(areas) - wide * high)
            assert float(overlap(tensor[a], tensor[b])) == pytest.approx(expected, abs=1e-6)
            assert box_overlap(boxes[a], boxes[b][None])[0] == pytest.approx(expected)


def test_the_loss_falls_where_a_cell_says_the_truth() -> None:
    box = np.array([[0.25, 0.25, 0.75, 0.75]])
    requested = sampled_cells([box], 8, np.random.default_rng(0))
    invalid = torch.zeros((1, requested.cells.shape[1], 6))
    right = invalid.clone()
    # softplus(x) * 0.3 = 0.25 if x = log(exp(0.25 / 0.3) - 1): near the middle that is the box.
    right[..., 2:] = float(np.log(np.exp(0.25 / 0.3) - 1))
    middles = requested.target.shape[1]
    cell_box = cell_boxes(right, centres_of(requested.cells, 8))[0, :middles]
    assert torch.allclose(cell_box.mean(0), torch.from_numpy(box[0].astype(np.float32)), atol=0.05)
    right[..., :2] = -4.0
    right[:, :middles, :2] = 4.0
    assert float(phrase_loss(right, requested, 8)) < float(phrase_loss(invalid, requested, 8))


@pytest.mark.parametrize("view", [SECOND_VIEW, LAST_VIEW, CloseView(48, 3.0)])
def test_a_close_up_shows_the_box_in_its_middle_however_large_it_is(view: CloseView) -> None:
    colours: NDArray[np.uint8] = np.full((128, 128, 3), 20, np.uint8)
    colours[40:56, 40:72] = (250, 0, 0)
    colours[100:108, 0:8] = (0, 250, 0)
    boxes = np.array([[40, 40, 72, 56], [0, 100, 8, 108]]) / 128
    displayed, windows = close_ups([np.zeros_like(colours), colours], boxes, [1, 1], view)
    assert displayed.shape == (2, view.side, view.side, 3)
    edge, slack = round(view.side * (1 - 1 / view.around) / 2), view.side // 12
    for row, channel in zip(displayed, (0, 1), strict=True):
        assert (row[edge + slack : -edge - slack, edge + slack : -edge - slack, channel] > 200).all()
        assert (row[: edge - slack, :, channel] < 140).all() and (row[slack - edge :, :, channel] < 140).all()
    # The area outside of the picture is grey, and the windows give the visible part.
    assert (displayed[1, :, : edge - slack] == 128).all()
    far = np.array([-16, -8, 16, 8]) * view.around
    assert windows[0] == pytest.approx((np.array([56, 48, 56, 48]) + far) / 128)
    assert windows[1, 0] < 0


def test_sides_are_at_the_mean_of_their_likelihoods() -> None:
    rng = np.random.default_rng(1)
    sides, windows = rng.normal(0, 2, (3, 4, 24)), np.array([[0.1, 0.2, 0.5, 0.4]] * 3)
    result = refined_boxes(torch.from_numpy(sides), torch.from_numpy(windows)).numpy()
    places = cell_places(24).double().numpy()
    for row in range(3):
        for side in range(4):
            chance = np.exp(sides[row, side]) / np.exp(sides[row, side]).sum()
            low, high = windows[row, side % 2], windows[row, 2 + side % 2]
            expected = np.clip(low + float(chance @ places) * (high - low), 0, 1)
            assert result[row, side] == pytest.approx(expected, abs=1e-6)


def test_the_loss_of_a_close_up_is_least_where_its_sides_and_chance_are_true() -> None:
    windows = torch.tensor([[0.0, 0.0, 1.0, 1.0]] * 2)
    gold = torch.tensor([[[0.25, 0.25, 0.75, 0.75], [0.0, 0.0, 0.0, 0.0]]] * 2)
    looked_at = torch.tensor([[0.2, 0.2, 0.7, 0.7], [0.9, 0.9, 1.0, 1.0]])
    at = cell_places(16)
    true = torch.stack([-((at - side) ** 2) * 200 for side in (0.25, 0.25, 0.75, 0.75)]).expand(2, 4, 16)
    sure, unsure = torch.tensor([4.0, 4.0]), torch.zeros(2)

    def loss(sides: torch.Tensor, logits: torch.Tensor) -> float:
        return float(close_loss(sides, logits, windows, looked_at, gold))

    assert loss(true, sure) < loss(true, unsure) < loss(true.flip(1), unsure)
    # The second overlaps no box of its phrase: it trains the probability only.
    moved = true.clone()
    moved[1] = moved[1].flip(-1)
    assert loss(moved, unsure) == pytest.approx(loss(true, unsure))


@pytest.mark.parametrize(
    ("view", "look_training", "steps", "off", "gain"),
    [
        (SECOND_VIEW, SECOND_TRAINING, 27, (-0.06, 0.05, 0.07, 0.06), 0.1),
        (LAST_VIEW, LAST_TRAINING, 15, (-0.02, 0.03, 0.03, 0.02), 0.08),
    ],
)
def test_looks_close_up_make_boxes_tighter(
    view: CloseView, look_training: LookTraining, steps: int, off: tuple[float, ...], gain: float
) -> None:
    pictures, words = scenes(24, 1), Words.of([("red",), ("blue",), ("a",), ("square",)])
    settings = ProposerSettings(side=SIDE, batch=8)
    torch.manual_seed(0)
    network = RefinerNetwork(len(words.numbers) + 1, view)
    train_refiner(
        network,
        words,
        pictures,
        settings,
        np.random.default_rng(0),
        steps=steps,
        training=look_training,
    )
    before, after = [], []
    for picture in scenes(12, 2):
        boxes = np.concatenate([t.boxes for t in picture.phrases])
        moved = np.clip(boxes + off, 0, 1)
        displayed, windows = close_ups([picture.colours], moved, [0, 0], view)
        seen = torch.from_numpy(windows.astype(np.float32))
        batch = words.batch([t.wordings[0] for t in picture.phrases], [0, 1])
        with torch.inference_mode():
            sides, _ = network(pictures_tensor(list(displayed)), seen, batch, torch.arange(2))
            result = refined_boxes(sides, seen).numpy()
        before += [box_overlap(a, b[None])[0] for a, b in zip(moved, boxes, strict=True)]
        after += [box_overlap(a, b[None])[0] for a, b in zip(result, boxes, strict=True)]
    assert np.mean(after) > np.mean(before) + gain


def test_the_looks_are_weighed_by_what_was_accepted() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (6000, 3))
    accepted = rng.random(6000) < 1 / (1 + np.exp(-(logits @ [0.3, 0.6, 1.2] - 0.5)))
    assert fit_weights(logits, accepted, (0.5, 0.5, 1.0)) == pytest.approx((0.3, 0.6, 1.2), abs=0.12)
    assert fit_weights(logits[:20], np.zeros(20, bool), (0.5, 0.5, 1.0)) is None
    # From where whole steps diverge: nearly all are accepted, with similar logits.
    alike = 3 * logits[:, :1] + 0.3 * logits + 6
    accepted = rng.random(6000) < 1 / (1 + np.exp(-(alike @ [0.2, 0.3, 0.4] - 4)))
    weights = fit_weights(alike, accepted, (4.0, 4.0, 4.0))
    assert weights is not None and sum(weights) == pytest.approx(0.9, abs=0.1)


def test_chances_are_set_right_on_what_was_not_learned_from() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, 4000)
    # Twice too confident, and too optimistic by one.
    accepted = rng.random(4000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    slope, move = fit_chance(logits, accepted)
    assert slope == pytest.approx(0.5, abs=0.05) and move == pytest.approx(-1, abs=0.12)
    assert fit_chance(logits[:0], accepted[:0]) == (1.0, 0.0)
    # None of eighteen accepted: the mean logit becomes that of one in twenty.
    slope, move = fit_chance(np.full(18, 3.0), np.zeros(18, bool))
    assert slope == 1 and 1 / (1 + np.exp(-(3.0 + move))) == pytest.approx(1 / 20)
