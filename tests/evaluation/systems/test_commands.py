"""extract_features, train_system, rank and cross_validate as called by users."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError
from PIL import Image as Picture

from annotation.common.operations import Invalid
from annotation.datasets.importing import import_records
from annotation.management import base
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.selectors import names_of, rankings_of, run_named
from evaluation.services.systems import cross_validation
from evaluation.services.systems.cross_validation import cross_validate_corpus
from evaluation.services.systems.registry import system_row
from evaluation.services.systems.training import Sources, system_folder, system_named
from models_core import storage
from models_core.features.image import vocabulary
from models_core.systems.recipe_files import recipe_of
from models_core.systems.text_sides import KernelTexts
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.models_core.systems.worlds import examples, vectors

pytestmark = pytest.mark.django_db


@pytest.fixture
def system(corpus: str, features: Path, own_recipe: Path) -> str:
    output_of("train_system", "mine", "--recipe", own_recipe, "--corpus", corpus, "--features", features)
    return "mine"


def train(corpus: str, *more: object) -> str:
    return output_of("train_system", "mine", "--corpus", corpus, *more)


def test_a_system_is_trained_once_and_stands(corpus, features, own_recipe):
    ask = ("--recipe", own_recipe, "--features", features, "--json")
    first, second = (json.loads(train(corpus, *ask)) for _ in range(2))
    assert (first["training"], first["held_out"], first["excluded"]) == (36, 12, 0)
    assert not first["unchanged"]
    assert second == {**first, "unchanged": True}
    metadata = storage.read_manifest(system_folder("mine"))["metadata"]
    assert (metadata["corpus"], metadata["seed"], metadata["training_images"]) == ("world", 0, 36)
    assert list(metadata["files"]) == [str(features)]
    assert [entry.name for entry in system_folder("mine").parent.iterdir()] == ["mine"]


def test_another_system_of_that_name_is_refused(system, corpus, features):
    with pytest.raises(CommandError, match="'mine' already exists with a different recipe or other images"):
        train(corpus, "--recipe", "nCCA", "--features", features)


def test_a_run_of_each_direction_is_made_scored_and_exported(system, corpus, tmp_path):
    output = output_of("rank", system, "--split", "test")
    assert "run 'mine-annotation': 12 queries, 12 items each" in output
    output_of("freeze_qrels", "pool", "--corpus", corpus, "--protocol", "one caption", "--split", "test")
    for direction in ("annotation", "search"):
        run = run_named(f"mine-{direction}")
        assert (run.direction, run.query_count, run.entry_count) == (direction, 12, 144)
        assert run.system == "mine (own)"
        scored = json.loads(output_of("score_run", run.name, "--qrels", "pool", "--json"))
        assert {measure["measure"]: measure["value"] for measure in scored["measures"]}["R@5"] > 0.7
        output_of("export_run", run.name, "--out", tmp_path / f"{direction}.trec")
        assert len((tmp_path / f"{direction}.trec").read_text().splitlines()) == 144


def test_without_a_split_every_image_that_can_be_used_is_ranked(system, corpus, features):
    """Six of the sixty have no features."""
    ids = features.with_name("features.ids.txt")
    lines = ids.read_text().splitlines()
    ids.write_text("".join(f"{line if n % 10 else f'elsewhere{n}'}\n" for n, line in enumerate(lines)))
    ask = ("--features", features, "--feature-ids", ids)
    assert output_of("rank", system, *ask).count("54 queries, 54 items each") == 2
    run = run_named("mine-annotation")
    assert run.split == ""
    assert set(run.rankings.values_list("image__filename", flat=True)) == {
        line for n, line in enumerate(lines) if n % 10
    }


def test_a_run_holds_what_the_system_scores(system, corpus):
    output_of("rank", system, "--split", "test", "--protocol", "any of five")
    run = run_named("mine-search")
    assert run.query_count == 60
    for _, items, scores in rankings_of(run):
        assert len(items) == 12
        assert (np.diff(scores) <= 0).all()
        # Ranks, with which half ranks of ties are exact.
        assert scores.sum() == 12 * 13 / 2


def test_ranking_again_changes_nothing(system):
    output_of("rank", system, "--split", "test")
    assert "already exists, nothing changed" in output_of("rank", system, "--split", "test")


def test_images_may_be_named_by_a_file_or_a_fold(corpus, features, own_recipe, tmp_path):
    names = [example.name for example in examples(IMAGES)]
    listed, held = tmp_path / "train.txt", tmp_path / "held.txt"
    listed.write_text("\n".join(names[:20]))
    held.write_text("\n".join(name.removesuffix(".png") for name in names[20:31]))
    ask = ("--recipe", own_recipe, "--features", features, "--json")
    by_list = json.loads(train(corpus, *ask, "--train", listed, "--held-out", held))
    assert (by_list["training"], by_list["held_out"]) == (20, 11)
    by_fold = json.loads(output_of("train_system", "fold", "--corpus", corpus, *ask, "--fold", "5/5"))
    assert (by_fold["training"], by_fold["held_out"]) == (36, 12)
    output_of("rank", "fold", "--split", "5/5")
    names_of = system_named("fold").names
    run = run_named("fold-annotation")
    assert run.query_count == 12
    tested = set(run.rankings.values_list("image__filename", flat=True))
    assert not tested & set(names_of)
    for another in (("--split", "2/5"), ("--split", "5/5", "--seed", 1)):
        with pytest.raises(CommandError, match=r"'fold' learned from \d+ of the 1\d images of fold ./5, su"):
            output_of("rank", "fold", *another, "--name", "seen")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--recipe", "TRI6"], "unknown recipe 'TRI6'; known: NN5-F1, .*TRI5SEM"),
        (
            ["--recipe", "OWN", "--train", "tran"],
            "unknown split 'tran' of corpus 'world'; known: 'test'",
        ),
        (
            ["--recipe", "OWN", "--fold", "train"],
            "--fold: Expected a fold such as 1/5.",
        ),
        (["--recipe", "OWN", "--fold", "6/5"], "fold 6/5: unknown fold; expected 1/5 to 5/5"),
        (["--recipe", "OWN", "--train", "val"], "image 'image36.png' is both a training image and held out"),
        (["--recipe", "OWN", "--train", "LIST"], r"names 1 image \('nobody.png'\) that corpus 'world' lacks"),
        (["--recipe", "TRI5"], "--features: Recipe TRI5 does not use this."),
        (["--recipe", "LIN", "--wordnet", "NOWHERE"], "no index.noun in .*nowhere: give the folder of Word"),
        (["--recipe", "SEM"], "--background: Recipe sem needs this."),
        (["--recipe", "OWN", "--background", "NOWHERE"], "nowhere: no such file or folder"),
    ],
)
def test_what_is_wrong_is_named_and_leaves_nothing(corpus, features, own_recipe, tmp_path, options, says):
    (tmp_path / "list.txt").write_text("image00.png\nnobody.png\n")
    image = '[image]\nkernel = "linear"\n'
    (tmp_path / "lin.toml").write_text(f'extends = "TRI5-Lin"\n{image}')
    (tmp_path / "sem.toml").write_text(f'extends = "TRI5SEM"\n{image}')
    files = {
        "OWN": own_recipe,
        "LIST": tmp_path / "list.txt",
        "LIN": tmp_path / "lin.toml",
        "SEM": tmp_path / "sem.toml",
        "NOWHERE": tmp_path / "nowhere",
    }
    with pytest.raises(CommandError, match=says) as error:
        train(corpus, "--features", features, *(files.get(word, word) for word in options))
    assert "\n" not in str(error.value)
    assert not system_folder("mine").exists()


def test_features_with_ids_of_other_images_are_refused(corpus, own_recipe, features, tmp_path):
    ids = tmp_path / "others.txt"
    ids.write_text("".join(f"other{n}\n" for n in range(IMAGES)))
    with pytest.raises(CommandError, match=r"caption and features in .* \(it has, for example, 'other0'\)"):
        train(corpus, "--recipe", own_recipe, "--features", features, "--feature-ids", ids)
    ids.write_text("other\n")
    with pytest.raises(CommandError, match="others.txt: 1 ids 'ids' for 60 rows"):
        train(corpus, "--recipe", own_recipe, "--features", features, "--feature-ids", ids)


def test_features_that_are_no_numbers_are_refused_by_name(corpus, own_recipe, features):
    invalid = vectors(IMAGES).astype(np.float32)
    invalid[7, 2] = np.nan
    np.save(features, invalid)
    with pytest.raises(CommandError, match="the embedding of 'image07.png' is not finite at dimension 2"):
        train(corpus, "--recipe", own_recipe, "--features", features)


def test_a_corpus_without_pictures_needs_features(corpus):
    with pytest.raises(CommandError, match="no image of corpus 'world' has a caption and a picture; import"):
        train(corpus, "--recipe", "TRI5")


def test_an_unknown_system_lists_those_there_are(system):
    with pytest.raises(CommandError, match="There is no system “your” here; known: mine"):
        output_of("rank", "your", "--split", "test")


def test_pictures_are_described_once_and_histograms_serve_as_features(
    db, data_dir, tmp_path, own_recipe, monkeypatch
):
    # Few words are trained from few points in a tenth of the time, and describe the pictures.
    quick = partial(vocabulary.CodebookSettings, longer_side=100, points=60, words=(6, 5, 4))
    monkeypatch.setattr(vocabulary, "CodebookSettings", quick)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    records = [
        ImageRecord(
            id=example.name.removesuffix(".png"),
            filename=example.name,
            captions=tuple(map(CaptionRecord, example.captions)),
            picture=example.picture,
            split=split,
        )
        for example, split in zip(examples(12, pictures=pictures), ["train"] * 10 + ["val"] * 2, strict=True)
    ]
    records.append(ImageRecord(id="bare", filename="bare.png", captions=(CaptionRecord("A dog ."),)))
    assert Picture.open(pictures / "image00.png").size == (32, 24)
    import_records(name="drawn", records=records, format="jsonl", source="memory")
    out = tmp_path / "histograms.safetensors"
    report = json.loads(output_of("export_visual_words", "drawn", "--out", out, "--json"))
    assert (report["images"], report["excluded"]) == (12, 1)
    entries = sorted((data_dir / "kept" / "pictures").rglob("*.npz"))
    times = [entry.stat().st_mtime_ns for entry in entries]
    assert len(entries) == 12
    assert "12 pictures of corpus 'drawn' described, 1 images have none" in output_of(
        "extract_visual_words", "drawn"
    )
    assert [entry.stat().st_mtime_ns for entry in entries] == times
    with pytest.raises(CommandError, match="has 2 held-out images; expected 10 or more"):
        train("drawn", "--recipe", own_recipe, "--features", out)
    with pytest.raises(CommandError, match="histograms.safetensors: already exists; expected a new file"):
        output_of("export_visual_words", "drawn", "--out", out)
    with pytest.raises(CommandError, match=r"expected the name of a new file that ends in .safetensors"):
        output_of("export_visual_words", "drawn", "--out", out.with_suffix(".npz"))


def test_recipes_are_cross_validated_into_a_table(corpus, features, own_recipe, tmp_path):
    ask = ("cross_validate", corpus, "NN5-F1-idf", "BoW5-histo", "BoW5", "--features", features)
    report = json.loads(output_of(*ask, "--json", "--resamples", 50))["report"]
    assert [item["system"] for item in report["systems"]] == ["NN5-F1-idf", "BoW5"]
    assert report["same"] == ["BoW5-histo"]
    assert (report["images"], report["folds"], report["pool"]) == (60, 5, "12")
    figure = report["systems"][1]["figures"]["search"]["R@5"]
    assert figure["low"] <= figure["value"] <= figure["high"]
    assert figure["value"] > 0.7
    assert [(t["first"], t["second"], t["direction"]) for t in report["tests"]] == [
        ("BoW5", "NN5-F1-idf", "annotation"),
        ("BoW5", "NN5-F1-idf", "search"),
    ]
    text = output_of(*ask, "--resamples", 50)
    assert "60 images of corpus 'world' in 5 folds (seed 0)" in text
    assert f"{100 * figure['value']:.1f} [{100 * figure['low']:.1f}, {100 * figure['high']:.1f}]" in text
    rows = [line.split(",") for line in output_of(*ask, "--resamples", 50, "--csv").splitlines()]
    assert float(rows[2][rows[0].index("search R@5 low")]) == pytest.approx(100 * figure["low"])
    assert (figure["kind"], figure["clusters"], figure["resamples"]) == ("Wilson", 60, 0)
    assert report["systems"][1]["figures"]["search"]["median rank"]["kind"] == "bootstrap"
    assert rows[0][-2:] == ["remark", "basis"]
    tests = output_of(*ask, "--resamples", 50, "--tests-latex", "--pairs", "NN5-F1-idf:BoW5")
    assert tests.count(r"\\") == 5
    with pytest.raises(CommandError, match="unknown system 'TRI5'; tested"):
        output_of(*ask, "--resamples", 50, "--pairs", "BoW5:TRI5")
    with pytest.raises(CommandError, match=r"--pairs \(1.\): Expected two."):
        output_of(*ask, "--pairs", "BoW5")


def test_cross_validation_tells_a_log_which_recipe_and_fold_it_is_at(
    corpus, features, own_recipe, monkeypatch, capsys
):
    monkeypatch.setattr(base, "EVERY", 0.001)
    output_of(
        "cross_validate",
        corpus,
        own_recipe,
        "NN5-F1-idf",
        "--features",
        features,
        "--resamples",
        20,
        "--json",
    )
    lines = capsys.readouterr().err.splitlines()
    form = r"[^()]+: \d+ of 100 % \(\d+:\d\d:\d\d\)"
    assert lines and all(re.fullmatch(form, line) for line in lines)
    assert any(
        re.match(r"recipe 1 of 2, own, fold [1-5] of 5, [a-z ]+: [0-9]+ of 100 % ", line) for line in lines
    )
    assert (
        output_of(
            "cross_validate", corpus, own_recipe, "--features", features, "--resamples", 20, "--json"
        ).count("\n")
        == 1
    )


def test_two_recipes_of_one_name_are_refused(corpus, features, own_recipe, tmp_path):
    (tmp_path / "other").mkdir()
    another = tmp_path / "other" / "own.toml"
    another.write_text('extends = "TRI5"\n')
    with pytest.raises(CommandError, match="two recipes have the name 'own'; give them different names"):
        output_of("cross_validate", corpus, own_recipe, another, "--features", features)


def test_a_set_that_one_of_the_recipes_looks_at_is_taken():
    phrases, bags = recipe_of("HGLMM-CCA"), recipe_of("NN5-F1-idf")
    provided = Sources(features="some", words="vectors")
    cross_validation._check_sets([phrases, bags], provided)
    for recipes, sources, says in (
        ([bags], provided, "words: Recipe NN5-F1-idf does not use this."),
        ([bags, phrases], Sources(features="some"), "words: Recipe HGLMM-CCA needs this."),
        ([phrases, bags], replace(provided, layer="people"), "layer: Recipe HGLMM-CCA does not use this."),
    ):
        with pytest.raises(Invalid, match=says):
            cross_validation._check_sets(recipes, sources)


def test_a_background_text_is_asked_for_before_any_work(corpus, features, data_dir):
    with pytest.raises(CommandError, match="'TRI5-BNC' needs a background text"):
        output_of("cross_validate", corpus, "BoW5", "TRI5-BNC", "--features", features)
    with pytest.raises(
        CommandError, match=r"no index.noun in .*: give the folder of WordNet 3.0's noun files"
    ):
        output_of("cross_validate", corpus, "BoW5", "TRI5-Lin", "--features", features, "--wordnet", data_dir)
    assert not (data_dir / "kept").exists()


@pytest.mark.slow  # the default run trains the same recipe without a background
def test_the_stand_in_for_the_bnc_is_named_beside_the_figures(corpus, features, tmp_path):
    text = tmp_path / "sentences.txt"
    text.write_text(
        "".join(
            f"The {a} and the {b} are near the sea .\n"
            for a in ("dog", "man")
            for b in ("bird", "horse", "girl")
            for _ in range(4)
        )
    )
    output = output_of(
        *("cross_validate", corpus, "TRI5-BNC", "--features", features, "--background", text),
        *("--folds", 3, "--resamples", 20),
    )
    assert (
        "Background text in place of the BNC: sentences.txt; dropped 0 of 24 lines, captions of the corpus."
        in output
    )


def test_captions_of_the_corpus_are_dropped_from_a_background_text(corpus, features, tmp_path):
    """Of all its images, no matter who trains; as the words are read, not as they are written."""
    another = "".join(f"The dog and the {b} are near the sea .\n" for b in ("bird", "horse", "girl")) * 4
    (tmp_path / "without.txt").write_text(another)
    captions = [caption for example in examples(IMAGES) for caption in example.captions]
    leaked = [captions[0], captions[7].upper(), captions[-1].removesuffix(" .") + " !"]
    (tmp_path / "with.txt").write_text(another + "".join(f"{line}\n" for line in leaked))
    created = {}
    for name in ("with", "without"):
        ask = ("TRI5-BNC", "--features", features, "--background", tmp_path / f"{name}.txt", "--folds", 3)
        created[name] = json.loads(output_of("cross_validate", corpus, *ask, "--resamples", 20, "--json"))[
            "report"
        ]
    assert (created["with"]["background_lines"], created["with"]["background_excluded"]) == (15, 3)
    assert created["without"]["background_excluded"] == 0
    assert created["with"]["systems"] == created["without"]["systems"]

    recipe = tmp_path / "bnc.toml"
    recipe.write_text('extends = "TRI5-BNC"\n[image]\nkernel = "linear"\n')
    train_by = (
        "--recipe",
        recipe,
        "--features",
        features,
        "--background",
        tmp_path / "with.txt",
        "--fold",
        "1/3",
    )
    output = output_of("train_system", "dropping", "--corpus", corpus, *train_by)
    assert "background text: dropped 3 of 15 lines, captions of the corpus" in output
    metadata = storage.read_manifest(system_folder("dropping"))["metadata"]
    assert (metadata["background_lines"], metadata["background_excluded"]) == (15, 3)
    assert system_row("dropping").settings["background_excluded"] == 3
    assert "nothing changed" in output_of("train_system", "dropping", "--corpus", corpus, *train_by)
    (tmp_path / "with.txt").write_text("".join(f"{line}\n" for line in leaked))
    with pytest.raises(
        CommandError, match="the background text is 3 captions of corpus 'world' and nothing else"
    ):
        output_of(
            "cross_validate",
            corpus,
            "TRI5-BNC",
            "--features",
            features,
            "--background",
            tmp_path / "with.txt",
        )


def test_a_fold_trained_by_itself_is_that_of_the_cross_validation(corpus, features, own_recipe):
    sources = Sources(features=str(features))
    crossed = cross_validate_corpus(corpus=corpus, recipes=[str(own_recipe)], sources=sources).systems[0]
    output_of(
        "train_system",
        "first",
        "--recipe",
        own_recipe,
        "--corpus",
        corpus,
        "--features",
        features,
        "--fold",
        "1/5",
    )
    output_of("rank", "first", "--split", "1/5")
    numbers = {example.name: number for number, example in enumerate(examples(IMAGES))}
    names = names_of(corpus)
    tested = 0
    for query, items, scores in rankings_of(run_named("first-search")):
        own_score = scores[items == names.owner[query]]
        rank = 1 + (scores > own_score).sum() + ((scores == own_score).sum() - 1) / 2
        assert rank == crossed.ranks["search"][numbers[names.image_name[names.owner[query]]]]
        tested += 1
    assert tested == 12


def test_lemmas_of_the_corpus_are_taken_where_they_are_given(corpus, features, own_recipe, tmp_path):
    file = tmp_path / "lemmas.txt"
    lines = [
        f"{example.name}#{number}\t{caption.lower().replace('dog', 'hound')}\n"
        for example in examples(IMAGES)
        for number, caption in enumerate(example.captions)
    ]
    file.write_text("".join(lines))
    train(corpus, "--recipe", own_recipe, "--features", features, "--lemmas", file)
    texts = system_named("mine").texts
    assert isinstance(texts, KernelTexts)
    words = {word for captions in texts.documents for caption in captions for word in caption}
    assert "hound" in words
    assert "dog" not in words
    output_of("rank", "mine", "--split", "test")
    output = output_of("cross_validate", corpus, "NN5-F1", "--features", features, "--lemmas", file)
    assert "Lemmas: lemmas.txt." in output
    file.write_text("".join(lines[:-1]))
    with pytest.raises(CommandError, match="lemmas.txt: has 4 captions of 'image59.png'; expected 5"):
        output_of("cross_validate", corpus, "NN5-F1", "--features", features, "--lemmas", file)


def test_a_system_of_features_needs_them_for_another_corpus(system):
    with pytest.raises(
        CommandError,
        match="--corpus: There is no corpus “other” here; known: world.",
    ):
        output_of("rank", system, "--split", "test", "--corpus", "other")


def test_without_held_out_images_a_recipe_that_chooses_nothing_is_trained(corpus, features, tmp_path):
    """The images without a split are not taken for them."""
    file = tmp_path / "settled.toml"
    settings = "components = 3\nridges = [0.1]\nnormalised = false\n"
    file.write_text(f'name = "settled"\nmethod = "cca"\n[settings]\n{settings}')
    ask = ("--features", features, "--feature-ids", features.with_name("features.ids.txt"))
    report = json.loads(train(corpus, "--recipe", file, *ask, "--held-out", "none", "--json"))
    assert (report["training"], report["held_out"], report["selection"]) == (36, 0, [])
    file.write_text('name = "chooses"\nmethod = "cca"\n')
    with pytest.raises(CommandError, match="--held-out: Recipe chooses needs this."):
        train(corpus, "--recipe", file, *ask, "--held-out", "none")
    with pytest.raises(CommandError, match="--train: Expected at least 1 characters"):
        train(corpus, "--recipe", file, *ask, "--train", "")
