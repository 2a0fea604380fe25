"""Systems as rows: trained, imported, known by runs, without a row; and deleted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.models import Account, Campaign
from evaluation.models import Batch, BatchRun, Run, System
from evaluation.selectors import rankings_of, run_named
from evaluation.services.systems import registry
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.origins import ORIGINS
from models_core import storage
from phrasebox.errors import PhraseboxError
from tests.evaluation.database.conftest import IMAGES, matrix_file, output_of

pytestmark = pytest.mark.django_db
CAPTIONS = [f"{image}.jpg#{n}" for image in IMAGES for n in range(3)]
PICTURES = [f"{image}.jpg" for image in IMAGES]


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Each image's captions point in its direction, the third a little less."""
    sides = np.eye(3, dtype=np.float32)
    texts = np.repeat(sides, 3, axis=0)
    texts[2::3] += 0.5
    file = tmp_path / "clip.npz"
    np.savez(
        file,
        images=sides,
        captions=texts,
        image_ids=np.array(PICTURES),
        caption_ids=np.array(CAPTIONS),
    )
    return file


@pytest.fixture
def split(tmp_path: Path) -> Path:
    file = tmp_path / "split.txt"
    file.write_text("a.jpg\nc.jpg\n")
    return file


def register_model(file: Path, name: str = "clip", *more: object) -> dict[str, object]:
    return json.loads(output_of("add_system", name, file, "--corpus", "small", "--json", *more))


def test_uploaded_embeddings_rank_any_split_that_they_cover(corpus, vectors, split):
    report = register_model(vectors)
    assert (report["images"], report["captions"], report["dimensions"]) == (3, 9, 3)
    vectors.unlink()
    output_of("rank", "clip", "--split", split)
    run = run_named("clip-annotation")
    assert (run.query_count, run.made_by, run.system) == (2, System.objects.get(), "clip (embeddings)")
    assert (run.split, run.protocol, run.seed) == (str(split), "one caption", 0)
    assert run.system_digest == report["sha256"] == System.objects.get().digest
    names = {image.pk: image.filename for image in run.corpus.images.all()}
    for query, items, scores in rankings_of(run):
        owner = run.corpus.images.get(captions__pk=items[0]).filename
        assert owner == names[query]
        # (1, .5, .5) and (1.5, .5, .5): cosines, not products.
        assert scores.tolist() == pytest.approx([1.5 / 2.75**0.5, 0.5 / 2.75**0.5])


def test_vectors_of_zeros_are_counted_where_they_are_kept_and_where_they_rank(corpus, vectors, split):
    held = dict(np.load(vectors))
    held["images"][0] = held["images"][1] = 0
    np.savez(vectors, **held)
    zeros = "images have a vector of zeros, which scores 0 for everything ('a.jpg', 'b.jpg')"
    assert f"\n2 {zeros}\n" in output_of("add_system", "clip", vectors, "--corpus", "small")
    assert register_model(vectors)["remarks"] == [f"2 {zeros}"]
    # One ranked image has such a vector; both directions report it, and the command once.
    assert output_of("rank", "clip", "--split", split).count("1 image has a vector of zeros") == 1


def test_inner_products_are_another_system(corpus, vectors, split):
    register_model(vectors, "dot", "--inner-products")
    output_of("rank", "dot", "--split", split)
    assert next(rankings_of(run_named("dot-search")))[2].tolist() == [1.5, 0.5]


def test_uploaded_scores_rank_and_are_kept_under_the_corpus_s_names(corpus, tmp_path, split):
    scores = np.arange(27).reshape(3, 9)
    file = matrix_file(tmp_path, "sae", scores, list(IMAGES), CAPTIONS)
    register_model(file, "sae", "--format", "scores")
    output_of("rank", "sae", "--split", split, "--protocol", "any of five")
    _, items, values = next(rankings_of(run_named("sae-annotation")))
    assert values.tolist() == [8.0, 7.0, 6.0, 2.0, 1.0, 0.0]


def test_the_same_again_changes_nothing_and_other_files_are_refused(corpus, vectors, tmp_path):
    assert (register_model(vectors)["unchanged"], register_model(vectors)["unchanged"]) == (False, True)
    with pytest.raises(CommandError, match="'clip' already exists with other files, ids or training"):
        register_model(vectors, "clip", "--inner-products")
    with pytest.raises(CommandError, match="'clip' already exists with another corpus or origin"):
        register_model(
            matrix_file(tmp_path, "x", np.eye(3), PICTURES, CAPTIONS[:3]), "clip", "--format", "scores"
        )


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            {"image_ids": np.array(["a.jpg", "b.jpg", "z.jpg"])},
            r"clip.npz: row 2 .* 'z.jpg', which is not one",
        ),
        ({"caption_ids": np.array([*CAPTIONS[:8], "c_1"])}, r"rows 7 and 8 .* are of the same caption"),
        ({"images": np.full((3, 3), np.nan)}, r"clip.npz: the embedding of 'a.jpg' is not finite"),
        ({"images": np.eye(3, 4)}, r"captions have 3 dimensions, images 4"),
        ({"images": np.array([[None] * 3] * 3)}, r"contains pickled objects"),
    ],
)
def test_what_is_wrong_leaves_nothing_and_names_file_and_row(corpus, vectors, spoil, says):
    with np.load(vectors) as held:
        np.savez(vectors, **{**held, **spoil})
    with pytest.raises(CommandError, match=says):
        register_model(vectors)
    assert not System.objects.exists() and not system_folder("x").parent.exists()


def test_a_split_that_is_not_covered_is_not_ranked(corpus, split, tmp_path):
    file = matrix_file(tmp_path, "part", np.eye(2), PICTURES[:2], ["a.jpg#2", "b.jpg#2"])
    register_model(file, "part", "--format", "scores")
    with pytest.raises(CommandError, match="no scores of image 'c.jpg' .1 of 2 are missing."):
        output_of("rank", "part", "--split", split)
    assert not Run.objects.exists()


def test_a_run_from_a_file_enters_its_system_once_and_for_both_directions(corpus, tmp_path):
    file = matrix_file(tmp_path, "m", np.eye(3), PICTURES, CAPTIONS[::3])
    for direction in ("annotation", "search"):
        ask = ("--corpus", "small", "--format", "scores", "--direction", direction)
        output_of("import_run", f"m-{direction}", file, *ask, "--system", "elsewhere")
    system = System.objects.get()
    assert (system.name, system.origin, system.runs.count()) == ("elsewhere", "runs", 2)
    assert ORIGINS.get(system.origin).matrices is None
    with pytest.raises(CommandError, match="'elsewhere' has only runs and cannot rank"):
        output_of("rank", "elsewhere", "--split", "1/1")


def test_a_tag_that_cannot_be_a_name_enters_nothing(corpus, tmp_path):
    file = matrix_file(tmp_path, "m", np.eye(3), PICTURES, CAPTIONS[::3])
    output_of("import_run", "m", file, "--corpus", "small", "--format", "scores", "--system", "a b (best)")
    assert run_named("m").made_by is None and not System.objects.exists()


def test_a_stored_system_without_a_row_is_entered(corpus, vectors):
    register_model(vectors)
    System.objects.all().delete()
    registry.register_unlisted_systems()
    system = System.objects.get()
    assert (system.name, system.origin, system.corpus.name) == ("clip", "embeddings", "small")


def test_what_stands_as_it_was_asked_for_is_not_computed_again(corpus, vectors, split):
    register_model(vectors)
    output_of("rank", "clip", "--split", "1/3")
    (system_folder("clip") / storage.ARRAYS).unlink()
    assert output_of("rank", "clip", "--split", "1/3").count("already exists, nothing changed") == 2
    with pytest.raises(CommandError, match="arrays.safetensors is missing"):
        output_of("rank", "clip", "--split", "1/3", "--protocol", "first caption")


def test_without_a_split_all_images_are_ranked_and_stand_when_asked_again(corpus, vectors, split):
    register_model(vectors)
    split.write_text("".join(f"{name}\n" for name in PICTURES))
    output_of("rank", "clip", "--name", "listed", "--split", split)
    assert output_of("rank", "clip").count("3 queries, 3 items each, stored") == 2
    for direction in ("annotation", "search"):
        run, whole = run_named(f"clip-{direction}"), run_named(f"listed-{direction}")
        assert (run.split, run.source, run.digest) == ("", "system clip, all images", whole.digest)
    (system_folder("clip") / storage.ARRAYS).unlink()
    assert output_of("rank", "clip").count("already exists, nothing changed") == 2


def test_all_images_are_those_that_a_system_covers(corpus, vectors, split, tmp_path):
    with np.load(vectors) as held:
        part = {key: held[key] for key in held}
    part |= {"images": part["images"][:2], "image_ids": part["image_ids"][:2]}
    np.savez(tmp_path / "part.npz", **part)
    register_model(tmp_path / "part.npz")
    output_of("rank", "clip")
    run = run_named("clip-annotation")
    assert sorted(run.rankings.values_list("image__filename", flat=True)) == PICTURES[:2]
    with pytest.raises(CommandError, match="c.jpg"):
        output_of("rank", "clip", "--name", "listed", "--split", split)


def test_a_list_of_images_that_was_edited_since_is_read_again(corpus, vectors, split):
    register_model(vectors)
    output_of("rank", "clip", "--split", split)
    assert output_of("rank", "clip", "--split", split).count("already exists, nothing changed") == 2
    split.write_text("a.jpg\nb.jpg\n")
    with pytest.raises(CommandError, match="run 'clip-annotation' already exists with other rankings"):
        output_of("rank", "clip", "--split", split)


@pytest.mark.parametrize("file", ["features", "ids", "lemmas"])
def test_a_system_that_remembers_a_file_is_computed_again(corpus, vectors, file):
    register_model(vectors)
    output_of("rank", "clip", "--split", "1/3")
    (system_folder("clip") / storage.ARRAYS).unlink()
    system = System.objects.get()
    system.settings[file] = "mine"
    system.save()
    with pytest.raises(CommandError, match="arrays.safetensors is missing"):
        output_of("rank", "clip", "--split", "1/3")


def test_a_system_goes_once_its_runs_are_gone(corpus, vectors, split):
    register_model(vectors)
    output_of("rank", "clip", "--split", split)
    with pytest.raises(PhraseboxError, match="run clip-annotation, run clip-search use it"):
        registry.remove_system(name="clip")
    assert system_folder("clip").exists()
    for direction in ("annotation", "search"):
        output_of("remove_run", f"clip-{direction}")
    output_of("remove_system", "clip")
    assert output_of("list_systems") == "none\n"
    assert not System.objects.exists() and list(system_folder("x").parent.iterdir()) == []


def test_a_run_that_a_batch_pooled_stays(corpus, vectors, split):
    register_model(vectors)
    output_of("rank", "clip", "--split", split)
    run = run_named("clip-search")
    batch = Batch.objects.create(
        name="pool",
        corpus=run.corpus,
        campaign=Campaign.objects.create(name="pool", corpus=run.corpus),
        depth=1,
        judges=1,
        seed=0,
        digest="",
    )
    BatchRun.objects.create(batch=batch, run=run, position=0, digest=run.digest)
    with pytest.raises(PhraseboxError, match="run 'clip-search' cannot be removed: batch pool"):
        registry.remove_run(name="clip-search")
    assert run_named("clip-search").rankings.count() == 2


def test_the_command_tells_where_systems_and_runs_come_from(corpus, vectors, split):
    report = register_model(vectors)
    output_of("rank", "clip", "--split", split)
    assert output_of("list_systems").splitlines()[2].split()[:3] == ["clip", "small", "embeddings"]
    payload = json.loads(output_of("show_system", "clip", "--json"))
    assert (payload["digest"], list(payload["sources"])) == (report["sha256"], ["clip.npz"])
    assert payload["runs"] == ["clip-annotation", "clip-search"]
    with pytest.raises(CommandError, match="There is no system “clap” here; known: clip."):
        output_of("show_system", "clap")
    with pytest.raises(
        CommandError, match="There is no run “clap” here; known: clip-annotation, clip-search"
    ):
        output_of("remove_run", "clap")


def test_a_ranking_that_was_stopped_goes_on_and_makes_nothing_twice(corpus, vectors, split):
    register_model(vectors)
    job = jobs.enqueue(kind="rank", arguments={"system": "clip"})

    def at_search() -> bool:
        return type(job).objects.get(pk=job.pk).phase == "ranking, search"

    assert jobs.run_queued_job(job.pk, stopping=at_search) == job.QUEUED
    first = run_named("clip-annotation").pk
    assert jobs.run_queued_job(job.pk) == job.DONE
    assert (run_named("clip-annotation").pk, Run.objects.count()) == (first, 2)


def test_an_uploaded_system_is_ranked_by_a_job(corpus, vectors, split):
    register_model(vectors)
    job = jobs.enqueue(kind="rank", arguments={"system": "clip"})
    assert jobs.run_queued_job(job.pk) == job.DONE
    assert System.objects.get().runs.count() == 2


def test_a_copy_beside_the_systems_and_an_unforeseen_one_stay_out_and_the_rest_is_entered(
    corpus, vectors, monkeypatch, caplog
):
    register_model(vectors)
    for name in ("good.bak", "x" * 101, "odd"):
        shutil.copytree(system_folder("clip"), system_folder(name))
    System.objects.all().delete()
    read = storage.read_manifest

    def odd(folder: Path) -> dict[str, object]:
        if folder.name == "odd":
            raise RuntimeError("nobody foresaw this")
        return read(folder)

    monkeypatch.setattr(storage, "read_manifest", odd)
    registry.register_unlisted_systems()
    assert list(System.objects.values_list("name", flat=True)) == ["clip"]
    assert "odd could not be registered" in caplog.text and "good.bak" not in caplog.text


def test_who_wanted_a_system_is_kept_though_a_page_entered_it_first(corpus, vectors):
    register_model(vectors)
    ada, eve = (Account.objects.create_user(username=name) for name in ("ada", "eve"))
    assert registry.register_stored_system("clip", registry.RequestedBy(account=ada.pk)).created_by == ada
    assert registry.register_stored_system("clip", registry.RequestedBy(account=eve.pk)).created_by == ada
    assert System.objects.get().created_by == ada
