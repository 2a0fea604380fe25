"""The proposer of boxes: it learns squares by their colour's name, rates its chances, and is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models_core.estimators.neural.proposer.box_proposer import BoxProposer, NothingToLearn, box_overlap
from models_core.estimators.neural.proposer.examples import (
    TaughtPhrase,
    TaughtPicture,
    Words,
    pictures_tensor,
)
from models_core.estimators.neural.proposer.network import cell_boxes, overlap
from models_core.estimators.neural.proposer.training import (
    ACCEPTED_IOU,
    ProposerSettings,
    fit_chance,
    phrase_loss,
)
from models_core.storage import BadModel

SIDE = 64
COLOURS = {"red": (220, 30, 30), "blue": (30, 30, 220)}


def scene(dice: np.random.Generator) -> TaughtPicture:
    """A grey picture with a red square and a blue one, apart from each other."""
    colours: NDArray[np.uint8] = np.full((SIDE, SIDE, 3), 120, np.uint8)
    phrases = []
    for place, (name, colour) in enumerate(COLOURS.items()):
        side = int(dice.integers(16, 26))
        left, top = (
            int(dice.integers(0, SIDE - side)),
            int(dice.integers(0, 30 - side + 1)) if side < 30 else 0,
        )
        top += 32 * place
        colours[top : top + side, left : left + side] = colour
        box = np.array([[left, top, left + side, top + side]]) / SIDE
        phrases.append(TaughtPhrase((("a", name, "square"), (name.upper(),)), box))
    return TaughtPicture(colours, tuple(phrases))


def scenes(count: int, seed: int) -> list[TaughtPicture]:
    dice = np.random.default_rng(seed)
    return [scene(dice) for _ in range(count)]


def learned(count: int, epochs: int, seed: int = 3) -> BoxProposer:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        settings = ProposerSettings(side=SIDE, epochs=epochs, batch=8)
        return BoxProposer(settings).fit(scenes(count, 1), seed=seed)
    finally:
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def taught() -> BoxProposer:
    """One that has hardly learned: enough for all but what it finds."""
    return learned(16, 2)


def best(proposer: BoxProposer, pictures: list[TaughtPicture]) -> list[tuple[float, float]]:
    """(IoU of the best box, its chance) of each phrase."""
    found = proposer.propose(
        [p.colours for p in pictures], [[t.said[0] for t in p.phrases] for p in pictures]
    )
    return [
        (float(box_overlap(rows[0], phrase.boxes).max()), float(rows[0][4]))
        for picture, own in zip(pictures, found, strict=True)
        for phrase, rows in zip(picture.phrases, own, strict=True)
    ]


@pytest.mark.slow
def test_it_finds_what_a_phrase_names() -> None:
    proposer, new = learned(100, 30), scenes(12, 2)
    found = best(proposer, new)
    assert np.mean([iou for iou, _ in found]) > 0.7
    # The chance tells good boxes from bad ones.
    sure = [iou for iou, chance in found if chance > 0.5]
    assert len(sure) > len(found) / 2 and np.mean([iou >= ACCEPTED_IOU for iou in sure]) > 0.8


def test_its_loss_falls_as_it_learns() -> None:
    picture = scenes(1, 8)[0]
    gold = torch.from_numpy(np.concatenate([t.boxes for t in picture.phrases]).astype(np.float32))

    def loss(proposer: BoxProposer) -> float:
        assert proposer.network_ is not None
        said = proposer.words_.batch([t.said[0] for t in picture.phrases], [0, 0])
        with torch.inference_mode():
            out = proposer.network_(pictures_tensor([picture.colours]), said)
        return float(phrase_loss(out, torch.arange(2), gold))

    assert loss(learned(16, 4)) < loss(learned(16, 1))


def test_its_proposals_are_within_the_picture_and_apart_with_falling_chances(taught: BoxProposer) -> None:
    (own,) = taught.propose([scenes(1, 5)[0].colours], [[("a", "red", "square"), ("unheard",)]])
    for rows in own:
        assert rows.shape[1] == 5 and 1 <= len(rows) <= 5
        assert (rows >= 0).all() and (rows <= 1).all() and (rows[:, 2:4] > rows[:, :2]).all()
        assert (np.diff(rows[:, 4]) <= 0).all()
        for place, row in enumerate(rows):
            assert (box_overlap(row, rows[:place]) < 0.5).all()


def test_the_same_seed_learns_the_same_and_storing_keeps_it_to_the_bit(
    taught: BoxProposer, tmp_path: Path
) -> None:
    settings = ProposerSettings(side=SIDE, epochs=1, batch=4)
    one, two = (BoxProposer(settings).fit(scenes(8, 1), seed=7) for _ in range(2))
    new = scenes(3, 9)
    assert best(one, new) == best(two, new)
    taught.save(tmp_path / "kept", {"images": 60})
    assert best(BoxProposer.load(tmp_path / "kept"), new) == best(taught, new)
    with pytest.raises(FileExistsError):
        taught.save(tmp_path / "kept")
    with pytest.raises(BadModel):
        BoxProposer.load(tmp_path / "nothing")


def test_learning_goes_on_from_another_with_the_words_that_are_new(taught: BoxProposer) -> None:
    new = [
        TaughtPicture(p.colours, tuple(TaughtPhrase((*t.said, ("brandnew",)), t.boxes) for t in p.phrases))
        for p in scenes(8, 11)
    ]
    settings = ProposerSettings(side=SIDE, epochs=1, batch=8, rate=1e-5)
    on = BoxProposer(settings).fit(new, begin=taught)
    assert set(on.words_.numbers) == {*taught.words_.numbers, "brandnew"}
    assert {word: on.words_.numbers[word] for word in taught.words_.numbers} == taught.words_.numbers
    # A step so small changes next to nothing of what was known.
    old = scenes(6, 12)
    assert np.mean([a[0] for a in best(on, old)]) > np.mean([a[0] for a in best(taught, old)]) - 0.1


def test_what_cannot_be_taught_is_refused_in_one_line() -> None:
    settings = ProposerSettings(side=SIDE)
    with pytest.raises(NothingToLearn, match="teach from finished images that have boxes"):
        BoxProposer(settings).fit([TaughtPicture(scenes(1, 1)[0].colours)])
    with pytest.raises(ValueError, match=r"a picture of shape \(8, 8, 3\).*expected \(64, 64, 3\)"):
        BoxProposer(settings).fit([TaughtPicture(np.zeros((8, 8, 3), np.uint8), scenes(1, 1)[0].phrases)])
    with pytest.raises(ValueError, match="has not learned yet"):
        BoxProposer(settings).propose([scenes(1, 1)[0].colours], [[("red",)]])
    with pytest.raises(ValueError, match="a phrase has no words"):
        Words.of([("red",)]).batch([()], [0])
    with pytest.raises(ValueError, match="side"):
        ProposerSettings(side=100)


def test_overlap_is_that_of_loops() -> None:
    dice = np.random.default_rng(4)
    boxes = np.sort(dice.random((6, 2, 2)), axis=1).reshape(6, 4)
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
    gold = torch.tensor([[0.25, 0.25, 0.75, 0.75]])
    wrong = torch.zeros((1, 6, 8, 8))
    right = wrong.clone()
    # softplus(x) * 0.3 = 0.25 where x = log(exp(0.25 / 0.3) - 1): near the middle that is the box.
    right[:, 2:6] = float(np.log(np.exp(0.25 / 0.3) - 1))
    middle = cell_boxes(right)[0, 3:5, 3:5].mean((0, 1))
    assert torch.allclose(middle, gold[0], atol=1e-5)
    right[:, :2] = -4.0
    right[:, :2, 3:5, 3:5] = 4.0
    assert float(phrase_loss(right, torch.tensor([0]), gold)) < float(
        phrase_loss(wrong, torch.tensor([0]), gold)
    )


def test_chances_are_set_right_on_what_was_not_learned_from() -> None:
    dice = np.random.default_rng(0)
    logits = dice.normal(0, 3, 4000)
    # Twice too sure, and too hopeful by one.
    accepted = dice.random(4000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    slope, move = fit_chance(logits, accepted)
    assert slope == pytest.approx(0.5, abs=0.05) and move == pytest.approx(-1, abs=0.12)
    assert fit_chance(logits[:0], accepted[:0]) == (1.0, 0.0)
    # None of eighteen accepted: the mean logit becomes that of one in twenty.
    slope, move = fit_chance(np.full(18, 3.0), np.zeros(18, bool))
    assert slope == 1 and 1 / (1 + np.exp(-(3.0 + move))) == pytest.approx(1 / 20)
