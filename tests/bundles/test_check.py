"""The script of a bundle replays an image from its answers as the fold does, and reports changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.datasets.bundles import check
from annotation.datasets.bundles.bundle_rows import BundleRow, chain_rows
from annotation.datasets.bundles.release_names import ReleaseNames
from annotation.protocol.contents import corners, ruling_json
from annotation.protocol.image import Fold
from annotation.protocol.questions import ANSWERS, DOUBLE_CHECK, FLAGS, VOTE, Judgment, Question
from annotation.protocol.rulings import (
    Boxes,
    Closure,
    KeepApart,
    Partition,
    Phrases,
    Resume,
    Ruling,
    UnrelatedCaption,
)
from annotation.protocol.state import LINKING, ImageSettings
from annotation.protocol.terms import CATEGORIES, Box, LayerRecord, Mention
from tests.protocol.strategies import images, settings_of_images
from tests.sizes import sized

MODEL = "grounder"
RULINGS = ("partition", "keep_apart", "boxes", "closure", "resume", "phrases", "unrelated")


class Story:
    """An image with every kind of event: answers, reports, withdrawals, rulings, models' boxes."""

    def __init__(self, mentions: list[Mention], protocol: ImageSettings, seed: int, steps: int = 80) -> None:
        self.mentions, self.protocol, self.random = mentions, protocol, Random(seed)
        self.judgments: list[Judgment] = []
        self.rulings: list[tuple[Ruling, bool]] = []
        for _ in range(steps):
            state = self.fold()(self.judgments)
            if state.questions and self.random.random() < 0.9:
                self.answer(self.random.choice(state.questions))
            elif not state.complete or self.random.random() < 0.3:
                self.rule([tuple(m.id for m in c.mentions) for c in state.chains if c.stage != LINKING])
            elif self.random.random() < 0.5:
                break
            if self.judgments and self.random.random() < 0.05:
                worker = self.random.choice(self.judgments).worker
                self.judgments = [
                    replace(j, withdrawn=j.withdrawn or j.worker == worker) for j in self.judgments
                ]

    def fold(self) -> Fold:
        return Fold(
            self.mentions, self.protocol, [ruling for ruling, withdrawn in self.rulings if not withdrawn]
        )

    def answer(self, question: Question) -> None:
        people = [f"w{n}" for n in range(7) if f"w{n}" not in question.barred]
        answers = ANSWERS[question.kind]
        by_model = {"coref_link": "yes", "box_drawing": "drawn"}.get(question.kind)
        if by_model and MODEL not in question.barred and self.random.random() < 0.2:
            worker, fields = MODEL, by_model
        elif not people:
            return
        else:
            worker, fields = self.random.choice(people), self.random.choice(answers)
        if worker != MODEL and self.random.random() < 0.08:
            self.add(question, worker, flag="offensive")
            return
        # Few boxes, so that they overlap and merge.
        x, y = self.random.choice([(1, 1), (2, 1), (50, 20)])
        box = Box(x, y, x + 30, y + 40 + self.random.randrange(2)) if fields == "drawn" else None
        role = DOUBLE_CHECK if worker != MODEL and self.random.random() < 0.05 else VOTE
        self.add(question, worker, answer=fields, box=box, role=role)

    def add(self, question: Question, worker: str, **fields: Any) -> None:
        name = f"{len(self.judgments):x}h"
        self.judgments.append(Judgment(name, question.key, worker, by_model=worker == MODEL, **fields))

    def rule(self, chains: list[tuple[str, ...]]) -> None:
        if self.rulings and self.random.random() < 0.2:
            index = self.random.randrange(len(self.rulings))
            self.rulings[index] = (self.rulings[index][0], True)
            return
        names = [mention.id for mention in self.mentions]
        kinds = [self._apart] if len(names) > 1 else []
        kinds += [self._partition] if names else []
        kinds += [self._boxes, self._closure, self._resume] * 3 if chains else []
        kinds += [self._phrases, self._unrelated] if names else []
        if kinds:
            self.rulings.append((self.random.choice(kinds)(names, chains), False))

    def _apart(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        return KeepApart(*self.random.sample(names, 2))

    def _partition(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        groups: dict[int, list[str]] = {}
        for name in self.random.sample(names, self.random.randint(1, len(names))):
            groups.setdefault(self.random.randrange(3), []).append(name)
        return Partition(tuple(map(tuple, groups.values())))

    def _boxes(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        drawn = [j.box for j in self.judgments if j.box] or [Box(5, 5, 9, 9)]
        boxes = self.random.sample(sorted(set(drawn)), self.random.randint(1, min(2, len(set(drawn)))))
        return Boxes(self.random.choice(chains), tuple(boxes))

    def _closure(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        return Closure(self.random.choice(chains), self.random.choice(["scene", "none", "excluded"]))

    def _phrases(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        mention = self.random.choice(self.mentions)
        noun = self.random.choice(mention.tokens)
        changed = replace(mention, categories=(self.random.choice(CATEGORIES),), noun=noun)
        shorter = Mention(mention.caption, mention.end - 1, mention.end, mention.tokens[-1:], ("other",))
        return self.random.choice([Phrases((), (changed,)), Phrases((mention.id,), (shorter,))])

    def _unrelated(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        return UnrelatedCaption(self.random.choice(self.mentions).caption)

    def _resume(self, names: list[str], chains: list[tuple[str, ...]]) -> Ruling:
        return Resume(self.random.choice(chains))

    def rows(self) -> tuple[BundleRow, dict[str, list[BundleRow]], BundleRow, BundleRow | None]:
        """Return the bundle's data of it: the image, its rows, the settings, and its line of the dataset."""
        numbers = {judgment.id: number for number, judgment in enumerate(self.judgments, 1)}
        counting = [judgment for judgment in self.judgments if not judgment.withdrawn]
        rows, state = chain_rows(self.fold(), counting, numbers)
        rows["answers"] = [_answer(judgment, numbers) for judgment in self.judgments]
        rows["rulings"] = [{"withdrawn": gone, **ruling_json(ruling)} for ruling, gone in self.rulings]
        image = {"image": "x", "boxes": "always", "complete": state.complete, "questions": []}
        captions = [{"unrelated": True} if number in state.unrelated else {} for number in range(5)]
        record = {"layer": _layer(state.layer), "captions": captions} if state.complete else None
        return json.loads(json.dumps([image, rows, asdict(self.protocol), record]))


def _answer(judgment: Judgment, numbers: dict[str, int]) -> BundleRow:
    return {
        "id": numbers[judgment.id],
        "kind": judgment.question,
        "key": ReleaseNames.key(judgment.question, judgment.key, numbers),
        "worker": judgment.worker,
        "by": "model" if judgment.by_model else "person",
        "role": judgment.role,
        "answer": judgment.answer,
        "box": corners(judgment.box) if judgment.box else None,
        "flag": judgment.flag,
        "withdrawn": judgment.withdrawn,
    }


def _layer(layer: LayerRecord) -> BundleRow:
    """Return a layer in the format of corpus.jsonl."""
    return {
        "chains": [{"id": c.id, "mentions": [asdict(m) for m in c.mentions]} for c in layer.chains],
        "objects": [
            {"chains": o.chains, "box": corners(o.box), "by_model": o.by_model}
            if o.box
            else {"chains": o.chains, "scene": o.scene}
            for o in layer.objects
        ],
    }


def flips(
    rows: dict[str, list[BundleRow]], random: Random, number: int
) -> Iterator[tuple[BundleRow, BundleRow]]:
    """Yield answers, each with a changed one: another word, another box, another report."""
    for answer in random.choices(rows["answers"], k=number) if rows["answers"] else ():
        if answer["flag"]:
            other = next(flag for flag in FLAGS if flag != answer["flag"])
            yield answer, {**answer, "flag": other}
        elif answer["box"] and random.random() < 0.5:
            yield answer, {**answer, "box": [*answer["box"][:3], answer["box"][3] + 1]}
        else:
            other = random.choice([word for word in ANSWERS[answer["kind"]] if word != answer["answer"]])
            yield answer, {**answer, "answer": other, "box": [7, 7, 8, 8] if other == "drawn" else None}


stories = st.builds(Story, images(), settings_of_images, st.integers(0, 10**6))


@given(stories)
@settings(max_examples=sized(25, 1500), suppress_health_check=[*HealthCheck])
def test_the_script_follows_whatever_happened_to_the_end_that_the_fold_has(story: Story) -> None:
    image, rows, protocol, record = story.rows()
    assert check.image_problems(image, rows, protocol, record) == []


@given(stories, st.integers(0, 10**6))
@settings(max_examples=sized(15, 500), suppress_health_check=[*HealthCheck])
def test_a_changed_answer_on_which_an_outcome_rests_is_named(story: Story, seed: int) -> None:
    image, rows, protocol, record = story.rows()
    resting = {number for outcome in rows["outcomes"] for number, _ in outcome["votes"]}
    for answer, changed in flips(rows, Random(seed), 8):
        answers = [changed if row is answer else row for row in rows["answers"]]
        problems = check.image_problems(image, {**rows, "answers": answers}, protocol, record)
        if answer["id"] in resting:
            named = re.compile(rf"answers? [\d, ]*\b{answer['id']}\b")
            assert any(map(named.search, problems)), (answer, changed, problems)


@pytest.mark.parametrize("change", ["phrase", "noun", "caption", "mark"])
def test_a_phrase_that_is_not_as_it_was_ruled_is_named(change: str) -> None:
    man, dog = (Mention(n, 0, 2, ("a", word), ("people",)) for n, word in enumerate(("man", "dog")))
    story = Story([man, dog], ImageSettings(), seed=1, steps=0)
    story.rulings = [(Phrases((), (replace(man, noun="a"),)), False), (UnrelatedCaption(1), False)]
    image, rows, protocol, _ = story.rows()
    captions: list[dict[str, bool]] = [{}, {"unrelated": True}]
    record = {"layer": {"chains": [], "objects": []}, "captions": captions}
    if change == "phrase":
        rows["mentions"] = []
    elif change == "noun":
        rows["mentions"][0]["head"] = "man"
    elif change == "caption":
        rows["mentions"].append({**rows["mentions"][0], "mention": "1:0-2"})
    else:
        del captions[1]["unrelated"]
    named = "caption 1" if change in ("caption", "mark") else "phrase 0:0-2"
    assert any(named in problem for problem in check.image_problems(image, rows, protocol, record))


def test_stories_have_all_that_can_happen() -> None:
    """The properties above would say little if nothing were ever reported, merged or taken back."""
    met = set[str]()
    phrases = [
        Mention(n // 2, n % 2 * 3, n % 2 * 3 + 2, ("a", "man" if n % 2 else "dog"), ("people",))
        for n in range(8)
    ]
    for seed in range(40):
        story = Story(phrases, ImageSettings(link_votes=3 if seed % 2 else 1), seed)
        _, rows, _, record = story.rows()
        met |= {f"{row['kind']} {row['outcome']}" for row in rows["outcomes"]}
        met |= {f"merged {row['what']}" for row in rows["merges"]}
        met |= {f"ruling {row['kind']}" for row in rows["rulings"]} | {
            chain["stage"] for chain in rows["chains"]
        }
        met |= {"complete" for _ in [record] if record}
        met |= {"a model's box" for chain in rows["chains"] if any(chain["by_model"])}
    expected = {
        "coref_link YES",
        "coref_link NO",
        "coref_link FLAGGED",
        "chain_verification FALSE",
        "complete",
    }
    expected |= {"box_quality BAD", "box_coverage MORE", "merged boxes", "merged chains", "a model's box"}
    expected |= {f"ruling {kind}" for kind in RULINGS}
    assert expected <= met, expected - met
