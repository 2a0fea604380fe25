"""Which images of a figure a system was trained on, in commands, pages and the API."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from annotation.datasets.importing import import_records
from annotation.models import Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.selectors.corpora import corpus_named
from evaluation.comparison.provenance import (
    NONE_SEEN,
    NOT_KNOWN,
    Provenance,
    declaration_text,
    identities,
    identities_of,
    images_seen,
    provenance_of,
)
from evaluation.models import LocalizationSet, SeenImages, System
from evaluation.services.features.store import feature_set
from evaluation.services.reports.building import report_folder
from evaluation.services.systems.registry import register_unlisted_systems
from evaluation.web.tags.figures import SEEN, seen_in_words
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.models_core.systems.worlds import examples, vectors
from tests.web import world
from tests.web.staff import words

pytestmark = pytest.mark.django_db

NOTES = (
    "Not known whether the images of 'x' are described as those of 'y', which it learned from.",
    "That system 'x' made it is what its file says.",
    "Its visual words come from all pictures of its corpus, without their captions.",
)
NAMES = st.sampled_from([f"{letter}.jpg" for letter in "abcdef"] + ["COCO_val2014_000000000009.jpg"])
PICTURES = st.sampled_from(["", *(f"{digit * 64}.png" for digit in "123456")])
IMAGES_OF = st.lists(st.tuples(NAMES, PICTURES), max_size=8)


def same(first: tuple[str, str], second: tuple[str, str]) -> bool:
    return first[0] == second[0] or bool(first[1]) and first[1] == second[1]


@given(ranked_images=IMAGES_OF, learned=IMAGES_OF, validated=IMAGES_OF)
def test_the_counts_are_those_of_comparing_every_image_with_every_other(ranked_images, learned, validated):
    result = images_seen(
        identities(ranked_images), identities(learned).packed(), identities(validated).packed()
    )
    by_hand = [
        [any(same(row, another) for another in side) for row in ranked_images]
        for side in (learned, validated)
    ]
    assert (result.learned, result.validated) == (sum(by_hand[0]), sum(by_hand[1]))
    seen = sum(any(both) for both in zip(*by_hand, strict=True))
    assert result.answer == (f"{seen} of {len(ranked_images)}" if seen else NONE_SEEN)
    assert result.by_name <= seen


@given(
    learned=st.none() | st.integers(0, 3),
    unknown=st.lists(st.text(min_size=1), max_size=2),
    declared=st.text(),
)
def test_what_is_not_known_is_never_none(learned, unknown, declared):
    provenance = Provenance(3, learned, learned, learned or 0, 0, tuple(unknown), (declared,))
    if learned is None or unknown:
        assert provenance.answer != NONE_SEEN
        assert "Not known" in provenance.sentence
    assert (provenance.answer == NONE_SEEN) == (learned == 0 and not unknown)


def test_pages_say_all_of_it_in_the_language_of_their_reader():
    """Every sentence that is made of what a system has seen; what somebody declares stays as it is."""
    parts = ("the features 'x:1'", "the features 'x:1' of 'weak'", "the features 'x.npy'")
    for part in parts:
        for learned, seen in ((None, 0), (0, 0), (1200, 1300)):
            declared = declaration_text("ABC"), declaration_text("ABC", part)
            provenance = Provenance(4000, learned, seen, seen, seen, (part,), declared, NOTES)
            text = provenance.sentence
            assert seen_in_words(text) == text.replace("the images of 'x'", "'x'").replace(
                "are described as those of 'y'", "describes as 'y' does"
            )
            # A text without a pattern would stay English on a German page.
            for pattern in SEEN:
                text = re.sub(pattern, "", text)
            assert not re.search("[a-z]", text)


def test_an_image_of_coco_is_the_same_in_both_of_its_names():
    named = [
        identities([(name, "")]).names[0] for name in ("COCO_val2014_000000000009.jpg", "000000000009.png")
    ]
    assert named[0] == named[1]


@pytest.fixture
def system(corpus: str, features: Path, own_recipe: Path) -> str:
    imported(corpus, features, "--trained-on", "nothing")
    output_of("train_system", "mine", "--recipe", own_recipe, "--corpus", corpus, "--features", "vectors")
    return "mine"


def imported(corpus: str, features: Path, *more: str, name: str = "vectors") -> None:
    ids = features.with_name("features.ids.txt")
    output_of("import_features", corpus, features, "--name", name, "--ids", ids, *more)


def other_vectors(features: Path) -> Path:
    """Write vectors as of another network: of the same size, but meaningless to a system of these."""
    file = features.with_name("other.npy")
    np.save(file, np.random.default_rng(1).standard_normal(np.load(file.with_name(features.name)).shape))
    return file


def ranked(split: str, *more: object) -> str:
    return output_of("rank", "mine", "--split", split, "--name", split, *more)


def freeze(split: str, corpus: str = "world") -> str:
    output_of("freeze_qrels", split, "--corpus", corpus, "--protocol", "one caption", "--split", split)
    return split


def seen(run: str, qrels: str) -> dict:
    return json.loads(output_of("score_run", run, "--qrels", qrels, "--json"))["provenance"][run]


def test_a_figure_of_training_images_says_so_wherever_it_is_shown(system):
    """One system, and all that shows a figure of it: it costs one training."""
    reported = "Learned from 36 of these 36 images, and chose settings on 0 of them."
    assert reported in ranked("train")
    assert reported in ranked("train")  # the runs exist
    freeze("train")
    payload = json.loads(output_of("score_run", "train-annotation", "--qrels", "train", "--json"))
    assert {measure["measure"]: measure["value"] for measure in payload["measures"]}["R@10"] == 1
    assert payload["provenance"]["train-annotation"]["answer"] == "36 of 36"
    assert reported in payload["basis"]["provenance"]["train-annotation"]
    assert f"train-annotation: {reported}" in output_of("score_run", "train-annotation", "--qrels", "train")
    output_of("rank", "mine", "--split", "train", "--name", "again", "--depth", "20")
    compared = output_of("compare_runs", "train-annotation", "again-annotation", "--qrels", "train")
    assert f"train-annotation: {reported}" in compared and f"again-annotation: {reported}" in compared

    runs = ("train-annotation", "train-search")
    output_of("build_report", "seen", "--qrels", "train", "--runs", *runs, "--resamples", 10, "--rounds", 10)
    folder = report_folder("seen")
    report = json.loads((folder / "report.json").read_text())
    for direction in report["findings"]["directions"]:
        (measure,) = direction["provenance"].values()
        assert measure["answer"] == "36 of 36"
    assert reported in (folder / "report.html").read_text()
    assert reported in (folder / "tables" / "figures-annotation.tex").read_text()
    assert reported in (folder / "tables" / "figures-annotation.csv").read_text()

    ada = world.signed_in("ada", "researcher")
    for page in ("runs/train-annotation/", "compare/?run=train-annotation&run=again-annotation"):
        assert reported in words(ada.get(f"/evaluation/{page}"))
    scores = ada.get("/api/v1/runs/train-annotation/scores").json()
    assert scores["provenance"]["train-annotation"]["answer"] == "36 of 36"


def test_images_for_the_choice_of_settings_count_and_others_do_not(system):
    ranked("val")
    result = seen("val-annotation", freeze("val"))
    assert (result["answer"], result["learned"], result["validated"]) == ("12 of 12", 0, 12)
    row = System.objects.get()
    row.settings["selection"] = ["Ridge 10 is the end of its grid."]
    row.save()
    assert seen("val-annotation", "val")["notes"] == ["Ridge 10 is the end of its grid."]
    ranked("test")
    result = seen("test-annotation", freeze("test"))
    assert (result["answer"], result["learned"], result["validated"]) == (NONE_SEEN, 0, 0)
    assert result["declared"] == ["Declared, not checked: the features 'vectors:1' were trained on nothing."]


def test_images_are_the_same_in_other_corpora_and_when_theirs_is_gone(system, features):
    """By name; two of them have another picture now, which is said."""
    part = [
        ImageRecord(
            id=f"n{number}",
            filename=example.name,
            captions=tuple(map(CaptionRecord, example.captions)),
            split="test",
        )
        for number, example in enumerate(examples(IMAGES)[30:42])
    ]
    import_records(name="copy", records=part, format="jsonl", source="memory")
    imported("copy", features, "--leave-unused")
    Image.objects.filter(corpus__name="copy", key__in=("n0", "n1")).update(picture=f"{'a' * 64}.png")
    output = output_of("rank", "mine", "--corpus", "copy", "--features", "vectors", "--name", "copied")
    assert "Learned from 6 of these 12 images, and chose settings on 6 of them (2 by name alone" in output
    assert "Not known whether the images of 'vectors:1' are described as those of 'vectors:1'" not in output
    result = seen("copied-search", freeze("test", "copy"))
    assert (result["answer"], result["by_name"]) == ("12 of 12", 2)
    # The row is made from its folder.
    SeenImages.objects.all().delete()
    assert seen("copied-search", "test")["answer"] == NOT_KNOWN


def test_a_folder_that_is_uploaded_says_what_its_system_has_seen(system):
    before = SeenImages.objects.values_list("learned", "validated", "unknown", "declared").get()
    System.objects.all().delete()
    register_unlisted_systems()
    assert SeenImages.objects.values_list("learned", "validated", "unknown", "declared").get() == before


def test_features_of_another_network_are_refused_and_unknown_ones_are_remarked(system, corpus, features):
    """Numbers of the same width would rank at chance."""
    imported(corpus, other_vectors(features), name="others")
    with pytest.raises(
        CommandError, match="otherwise than those .* learned from, 'vectors:1' .other numbers"
    ):
        ranked("test", "--features", "others")
    imported(corpus, features, "--network", "small", name="copies")  # the same numbers
    assert "Not known whether" not in ranked("test", "--features", "copies")
    ids = features.with_name("features.ids.txt")
    file = ("--features", other_vectors(features), "--feature-ids", ids)
    output = output_of("rank", "mine", "--split", "test", "--name", "unknown", *file)
    remark = "Not known whether the images of 'other.npy' are described as those of 'vectors:1', which it"
    assert remark in output
    assert remark in seen("unknown-annotation", freeze("test"))["sentence"]


def test_what_outside_features_were_trained_on_is_declared_or_not_known(corpus, features, own_recipe):
    imported(corpus, features)
    imported(corpus, features, "--trained-on", "ImageNet", name="net")
    imported(corpus, features, "--trained-on", "world:test", name="leak")
    for name, answer, reported in (
        ("vectors", NOT_KNOWN, "Not known which images the features 'vectors:1' learned from."),
        ("net", NOT_KNOWN, "Declared, not checked: the features 'net:1' were trained on ImageNet."),
        ("leak", "12 of 12", "Declared, not checked: the features 'leak:1' were trained on world:test."),
    ):
        output_of("train_system", name, "--recipe", own_recipe, "--corpus", corpus, "--features", name)
        output_of("rank", name, "--split", "test")
        result = seen(f"{name}-annotation", "test" if name != "vectors" else freeze("test"))
        assert (result["answer"], reported in result["sentence"]) == (answer, True)


def test_what_learns_nothing_from_outside_takes_no_declaration(corpus):
    for command in (("extract_features",), ("extract_regions", "--method", "grid")):
        with pytest.raises(CommandError, match="extractor layout has no network from outside; leave out"):
            output_of(*command, corpus, "--name", "x", "--extractor", "layout", "--trained-on", "ImageNet")


def test_uploads_may_declare_what_they_were_trained_on(corpus, tmp_path):
    names = [example.name for example in examples(IMAGES)]
    texts = [f"{name}#{number}" for name in names for number in range(5)]
    rows = vectors(IMAGES).astype(np.float32)
    file = tmp_path / "clip.npz"
    ids = {"image_ids": np.array(names), "caption_ids": np.array(texts)}
    np.savez(file, images=rows, captions=np.repeat(rows, 5, axis=0), **ids)  # type: ignore[arg-type]
    freeze("test")
    for name, declared, answer in (
        ("silent", (), NOT_KNOWN),
        ("text", ("--trained-on", "WIT"), NOT_KNOWN),
        ("counted", ("--trained-on", "world:train"), NONE_SEEN),
        ("whole", ("--trained-on", "world"), "12 of 12"),
    ):
        output_of("add_system", name, file, "--corpus", corpus, *declared)
        output = output_of("rank", name, "--split", "test")
        result = seen(f"{name}-annotation", "test")
        assert result["answer"] == answer
        assert bool(declared) == ("Declared, not checked: it was trained on" in result["sentence"])
        assert ("Not known" in output) == (answer == NOT_KNOWN)
    with pytest.raises(CommandError, match="unknown split 'tarin'"):
        output_of("add_system", "wrong", file, "--corpus", corpus, "--trained-on", "world:tarin")
    trec = tmp_path / "silent.trec"
    output_of("export_run", "silent-annotation", "--out", trec)
    output_of("import_run", "outside", trec, "--corpus", corpus, "--system", "theirs")
    assert seen("outside", "test")["answer"] == NOT_KNOWN
    output_of(
        "import_run", "outside", trec, "--corpus", corpus, "--system", "theirs", "--trained-on", "world:test"
    )
    assert seen("outside", "test")["answer"] == "12 of 12"
    assert System.objects.get(name="theirs").trained_on == "world:test"
    with pytest.raises(
        CommandError, match="'outside' was made by system 'theirs', not by 'other'; name that one"
    ):
        output_of(
            "import_run", "outside", trec, "--corpus", corpus, "--system", "other", "--trained-on", "COCO"
        )
    with pytest.raises(CommandError, match="'theirs' already exists with another origin, corpus or training"):
        output_of(
            "import_run", "more", trec, "--corpus", corpus, "--system", "theirs", "--trained-on", "COCO"
        )


def test_localizations_from_outside_may_declare_what_their_system_was_trained_on(scenes, tmp_path):
    """By command, call and page alike."""
    mention = {"image": "0.png", "caption": 0, "start": 0, "end": 1, "phrase": "a"}
    file = tmp_path / "found.jsonl"
    file.write_text(json.dumps({**mention, "regions": [[1, 1, 9, 9, 0.5]]}))
    ada = world.signed_in("ada", "researcher")

    def by_command(name: str, *declared: str) -> None:
        output_of("import_localizations", name, file, "--corpus", scenes, *declared)

    def seen_of(name: str) -> dict:
        row = LocalizationSet.objects.get(name=name)
        return provenance_of({name: row}, row.corpus, row.mentions.values_list("image_id", flat=True))[name]

    split = Image.objects.get(corpus__name=scenes, filename="0.png").split
    by_command("silent")
    by_command("text", "--trained-on", "COCO")
    by_command("nothing", "--trained-on", "nothing")
    by_command("leak", "--trained-on", f"{scenes}:{split}")
    fields = {"corpus": scenes, "trained_on": scenes}
    payload = {**fields, "name": "called", "file": SimpleUploadedFile("called.jsonl", file.read_bytes())}
    assert ada.post("/api/v1/localization-sets", payload).status_code == 201
    payload = {**fields, "name": "pressed", "act": "import_localizations"}
    payload["file"] = SimpleUploadedFile("pressed.jsonl", file.read_bytes())
    assert ada.post("/evaluation/add-system/", payload).status_code == 302
    for name, answer in (
        *(("silent", NOT_KNOWN), ("text", NOT_KNOWN), ("nothing", NONE_SEEN), ("leak", "1 of 1")),
        *(("called", "1 of 1"), ("pressed", "1 of 1")),
    ):
        result = seen_of(name)
        assert result["answer"] == answer, name
        assert bool(result["declared"]) == (name != "silent")
    assert System.objects.get(name="called").created_by is not None
    # The same file again declares more, not less.
    by_command("silent", "--trained-on", "nothing")
    by_command("silent")
    assert seen_of("silent")["answer"] == NONE_SEEN
    by_command("more", "--system", "leak", "--trained-on", f"{scenes}:{split}")
    assert LocalizationSet.objects.get(name="more").made_by == System.objects.get(name="leak")
    for declared, refusal in (
        (
            ("more", "--trained-on", "nothing"),
            "'more' was made by system 'leak', not by 'more'; name",
        ),
        (("leak", "--trained-on", "COCO"), "'leak' already exists with another origin, corpus or training"),
        (("wrong", "--trained-on", f"{scenes}:tset"), "unknown split 'tset'"),
    ):
        with pytest.raises(CommandError, match=refusal):
            by_command(*declared)
    assert not LocalizationSet.objects.filter(name="wrong").exists()


def test_captions_of_a_file_may_declare_what_their_writer_was_trained_on(scenes, tmp_path):
    names = Image.objects.filter(corpus__name=scenes, split="test").values_list("filename", flat=True)
    lines = "".join(json.dumps({"image": name, "caption": "A dog."}) + "\n" for name in names)
    files = [tmp_path / name for name in ("first.jsonl", "second.jsonl")]
    for file in files:
        file.write_text(lines)
    some = ("--split", "test", "--measures", "BLEU-1", "--resamples", 0)
    for declared, answer in (
        ("", NOT_KNOWN),
        ("COCO", NOT_KNOWN),
        ("nothing", NONE_SEEN),
        (f"{scenes}:test", f"{len(names)} of {len(names)}"),
    ):
        report = json.loads(
            output_of("score_captions", scenes, files[0], *some, "--trained-on", declared, "--json")
        )["report"]
        result = report["provenance"]["first.jsonl"]
        assert result["answer"] == answer
        assert result["sentence"] == report["basis"]["provenance"]["first.jsonl"]
        assert bool(declared) == ("Declared, not checked: it was trained on" in result["sentence"])
    with pytest.raises(CommandError, match="2 files: what the writer was trained on is declared of one file"):
        output_of("score_captions", scenes, *files, *some, "--trained-on", "COCO")


def test_word_vectors_count_as_what_they_were_learned_from(corpus):
    output_of("train_word_vectors", corpus, "--name", "words", "--split", "test", "--least", "1")
    held = feature_set(corpus, "words").learned()
    rows = corpus_named(corpus).images.filter(split="test").values_list("pk", flat=True)
    assert held is not None
    assert held.tolist() == identities_of(corpus_named(corpus), rows).packed().tolist()


def test_phrases_that_were_learned_from_are_localized_and_scored_with_a_remark(grounded):
    reported = "Learned from 60 of these 60 images, and chose settings on 0 of them."
    assert reported in output_of("localize", grounded, "--split", "train")
    report = json.loads(output_of("score_localization", grounded, "--resamples", 10, "--json"))["report"]
    assert report["provenance"][grounded]["answer"] == "60 of 60"
    assert reported in output_of("score_localization", grounded, "--resamples", 10)


def test_tags_of_training_images_are_found_and_scored_with_a_remark(scenes, tmp_path):
    recipe = ("--recipe", "Tag-neighbours", "--corpus", scenes, "--features", "whole")
    output_of("train_system", "tagger", *recipe)
    assert "Learned from 60 of these 60 images" in output_of("tag", "tagger", "--split", "train")
    report = json.loads(output_of("score_tags", "tagger", "--resamples", 10, "--json"))["report"]
    assert report["provenance"]["tagger"]["answer"] == "60 of 60"


def test_captions_of_training_images_are_written_and_scored_with_a_remark(scenes, tmp_path):
    output_of("train_system", "near", "--recipe", "NN-caption", "--corpus", scenes, "--features", "whole")
    assert "Learned from 60 of these 60 images" in output_of("generate_captions", "near", "--split", "train")
    some = ("--measures", "BLEU-1", "--resamples", 10, "--json")
    report = json.loads(output_of("score_captions", scenes, "near", "--split", "train", *some))["report"]
    assert report["provenance"]["near"]["answer"] == "60 of 60"
    file = tmp_path / "outside.jsonl"
    names = Image.objects.filter(corpus__name=scenes, split="test").values_list("filename", flat=True)
    file.write_text("".join(json.dumps({"image": name, "caption": "A dog."}) + "\n" for name in names))
    report = json.loads(output_of("score_captions", scenes, file, "--split", "test", *some))["report"]
    assert report["provenance"]["outside.jsonl"]["answer"] == NOT_KNOWN
