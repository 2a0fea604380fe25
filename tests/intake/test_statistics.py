"""The figures of a layer: what is counted, and agreement of published figures with the definitions."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation import jobs
from annotation.common.roles import RESEARCHER
from annotation.datasets.layer_rows import LayerShare, write_layer
from annotation.models import Job
from annotation.protocol.boxes import EXCLUDED
from annotation.protocol.statistics import PRINTED_STATISTICS, Statistics, cost_figures
from tests.factories import a_corpus, a_layer, an_image, boxed, boxless, some_images
from tests.web.world import signed_in

COUPLE = (
    "[/EN#1/people A man] and [/EN#2/people his son] , [/EN#3/people both] in [/EN#4/clothing/other suits] .",
    "[/EN#3/people They both] stand in [/EN#5/scene the park] before [/EN#0/notvisual the view] .",
)
DRAWN = (
    boxed("1 3", 1, 1, 50, 90),
    boxed("2 3", 60, 1, 99, 90),
    boxed("4", 5, 20, 40, 80),
    boxless("5", scene=True),
    boxed("77", 1, 1, 5, 5),
)

COST = {
    "images": 10,
    "mentions": 40,
    "judgments": {"coref_link": 80, "box_drawing": 20},
    "controls": {"coref_link": 4},
    "double_checks": {"coref_link": 8, "box_drawing": 1},
    "seconds": {"coref_link": 600, "box_drawing": 300},
}


def of(*layers) -> Statistics:
    statistics = Statistics()
    for layer in layers:
        statistics.add(layer, captions=2)
    return statistics


def test_a_chain_counts_in_each_of_its_categories_and_once_in_the_total():
    figures = of(a_layer(*COUPLE, objects=DRAWN)).figures()
    chains = {name: row["chains"] for name, row in figures["categories"].items() if row["chains"]}
    assert chains == {"people": 3, "clothing": 1, "other": 1, "scene": 1}
    assert figures["total"]["chains"] == 5


def test_a_box_counts_once_in_each_category_it_depicts():
    figures = of(a_layer(*COUPLE, objects=DRAWN)).figures()
    people = figures["categories"]["people"]
    assert (people["boxes"], people["boxes_per_chain"]) == (2, 2 / 3)
    assert (people["one_box"], people["several_boxes"], people["no_box"]) == (2 / 3, 1 / 3, 0)
    total = figures["total"]
    assert (total["boxes"], total["one_box"], total["several_boxes"], total["no_box"]) == (
        4,
        3 / 5,
        1 / 5,
        1 / 5,
    )


def test_mentions_per_chain_image_and_caption():
    figures = of(a_layer(*COUPLE, objects=DRAWN), a_layer("Nothing .")).figures()
    assert figures["categories"]["people"]["mentions_per_chain"] == 4 / 3
    assert figures["total"]["several_mentions"] == 1 / 5
    assert (figures["mentions_per_image"], figures["mentions_per_caption"]) == (6 / 2, 6 / 4)
    assert (figures["chains_per_image"], figures["boxes_per_image"]) == (5 / 2, 4 / 2)


def test_what_is_not_visual_and_what_nobody_mentions_is_told_apart():
    figures = of(a_layer(*COUPLE, objects=DRAWN)).figures()
    assert (figures["not_visual_mentions"], figures["chains_without_mentions"]) == (1, 1)


def test_images_that_mention_a_category_are_a_share_of_all():
    figures = of(a_layer(*COUPLE), a_layer("[/EN#1/other/odd It] .")).figures()
    shares = {name: row["images"] for name, row in figures["categories"].items()}
    assert (shares["people"], shares["other"], shares["odd"], shares["animals"]) == (0.5, 1.0, 0.5, 0.0)


def test_nothing_at_all_has_no_ratios():
    figures = Statistics().figures()
    assert figures["mentions_per_image"] is None
    assert figures["total"]["one_box"] is None


def test_the_printed_figures_agree_with_the_definitions():
    """Boxes once in the total, a chain in each of its categories: print adds up under nothing else."""
    total, rows = PRINTED_STATISTICS["total"], PRINTED_STATISTICS["categories"].values()
    assert total["boxes"] / total["chains"] == pytest.approx(total["boxes_per_chain"], abs=0.005)
    assert total["mentions"] / total["chains"] == pytest.approx(total["mentions_per_chain"], abs=0.006)
    assert total["chains"] / PRINTED_STATISTICS["images"] == pytest.approx(
        PRINTED_STATISTICS["chains_per_image"], abs=0.05
    )
    assert total["boxes"] / PRINTED_STATISTICS["images"] == pytest.approx(
        PRINTED_STATISTICS["boxes_per_image"], abs=0.05
    )
    assert sum(row["chains"] for row in rows) > total["chains"]
    assert total["one_box"] + total["several_boxes"] + total["no_box"] == pytest.approx(1)


def test_cost_by_question_and_in_total():
    cost = cost_figures(COST)
    link = cost["questions"]["coref_link"]
    assert (link["per_image"], link["per_mention"]) == (8, 2)
    assert (link["control_overhead"], link["double_check_overhead"]) == (0.05, 0.1)
    assert cost["total"]["judgments"] == 100
    assert cost["total"]["control_overhead"] == 0.04
    assert cost["total"]["paid_minutes"] == 15


def test_cost_without_times_or_without_anything():
    assert cost_figures({}) == {}
    bare = cost_figures({"judgments": {"coref_link": 3}})
    assert bare["total"] == {
        "judgments": 3,
        "per_image": None,
        "per_mention": None,
        "control_overhead": 0,
        "double_check_overhead": 0,
        "paid_minutes": None,
    }


def stats(*arguments: str) -> str:
    out = StringIO()
    call_command("dataset_stats", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_command_prints_ours_beside_print():
    records = [an_image("1", *COUPLE, objects=DRAWN, split="train"), *some_images(2)]
    corpus = a_corpus("c", records)
    figures = json.loads(stats("c", "--json").splitlines()[-1])
    assert figures["images"] == 3
    assert figures["total"]["chains"] == 5 + 2 * 3
    assert figures["printed"]["total"]["chains"] == 244_035
    text = stats("c")
    people = next(line.split() for line in text.splitlines() if line.startswith("people"))
    assert people[:7] == ["people", "5", "8", "4", "1.60", "0.80", "1.62"] and "59766" in text
    assert json.loads(stats("c", "--json", "--split", "test"))["images"] == 1
    with pytest.raises(CommandError, match="unknown split 'val' of corpus 'c'; known: 'test', 'train'"):
        stats("c", "--split", "val")
    write_layer(corpus=corpus, name="crowd", source="campaign", records=[], cost=COST)
    with pytest.raises(CommandError, match="name one of: crowd, import"):
        stats("c")


@pytest.mark.django_db
def test_the_command_prints_what_the_layer_cost():
    corpus = a_corpus("c", some_images(1, layered=False))
    with pytest.raises(CommandError, match="Corpus “c” has no layer"):
        stats("c")
    share = LayerShare("1000", a_layer("[/EN#1/people A man] in [/EN#2/clothing a hat]"), {"2": EXCLUDED})
    write_layer(corpus=corpus, name="crowd", source="campaign", records=[share], cost=COST)
    text = stats("c")
    link = next(line.split() for line in text.splitlines() if line.startswith("coref_link"))
    assert link == ["coref_link", "80", "8.00", "2.00", "5.0", "10.0", "10.00"]
    assert json.loads(stats("c", "--json"))["total"]["chains"] == 1
    # The cost of a split is not known.
    assert json.loads(stats("c", "--json", "--split", "test"))["cost"] == {}


@pytest.mark.django_db
def test_figures_are_counted_by_a_job_and_shown_on_its_page_as_csv_and_latex() -> None:
    a_corpus("c", [an_image("1", *COUPLE, objects=DRAWN, split="train")])
    client = signed_in("rita", RESEARCHER)
    address = reverse("operation", args=["dataset_stats"])
    assert "<table" not in client.get(address).content.decode()
    client.post(address, {"corpus": "c", "layer": "import"})
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    page = client.get(address).content.decode()
    assert "words per mention" in page and "59766" in page and "<svg" in page
    files = {
        layout: client.get(reverse("operation_layout", args=["dataset_stats", job.pk, layout]))
        for layout in ("csv", "latex", "svg")
    }
    assert b"people,3," in files["csv"].content and b"\\toprule" in files["latex"].content
    assert files["svg"]["Content-Type"].startswith("image/svg+xml") and b"</svg>" in files["svg"].content
    stranger = signed_in("eve", RESEARCHER)
    for layout in files:
        hidden = stranger.get(reverse("operation_layout", args=["dataset_stats", job.pk, layout]))
        assert hidden.status_code == 404
    assert "<svg" not in stranger.get(address).content.decode()
    client.post(reverse("operation", args=["caption_stats"]), {"corpus": "c"})
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    page = client.get(reverse("operation", args=["caption_stats"])).content.decode()
    assert "tokens per caption" in page and "Flickr8k in print" in page
