"""`manage.py check` reports incomplete entries of evaluation's registries; measures have their own test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evaluation import figures
from evaluation.checks import lacking_entries
from evaluation.figures import ranks
from evaluation.figures.base import FIGURE_DRAWERS
from evaluation.services.systems.origins import ORIGINS
from models_core.systems.dataset import COUNTED_SHARES
from models_core.systems.kernels import TEXT_KERNELS
from models_core.systems.table11 import TABLE_11
from phrasebox.figure_tables import LAYOUTS
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.formats.flickr8k_judgments import Flickr8kCrowd
from phrasebox.formats.qrels_files import QRELS_FORMATS
from phrasebox.metrics import METRICS
from phrasebox.pooling.active import STRATEGIES
from phrasebox.registry import Registry
from phrasebox.relevance.grades import GRADED_RULES
from phrasebox.relevance.qrels import MAJORITY, RELEVANCE_RULES

#: The registries that `registered` may change.
REGISTRIES: tuple[Registry[Any], ...] = (
    *(
        FIGURE_DRAWERS,
        JUDGMENT_FORMATS,
        LAYOUTS,
        QRELS_FORMATS,
        STRATEGIES,
        RELEVANCE_RULES,
        GRADED_RULES,
        ORIGINS,
    ),
)


@pytest.fixture(autouse=True)
def restored_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the registries after a test."""
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def ids() -> list[str]:
    return [str(error.id).removeprefix("evaluation.") for error in lacking_entries()]


def test_our_own_entries_lack_nothing() -> None:
    assert ids() == []


def test_a_figure_that_is_drawn_and_never_made_is_named() -> None:
    FIGURE_DRAWERS.register("pie", ranks._draw)
    assert ids() == ["E013"]


def test_a_figure_that_is_made_and_never_drawn_is_named() -> None:
    FIGURE_DRAWERS._entries.pop(ranks.KIND)
    (error,) = lacking_entries()
    assert error.id == "evaluation.E014" and "'ranks'" in error.msg and "ranks.py" in str(error.hint)


def _untitled() -> None:
    class Untitled(Flickr8kCrowd):
        key = "untitled"
        title = ""

    JUDGMENT_FORMATS.register("untitled", Untitled())


CSV = QRELS_FORMATS.get("csv")
RUNS = ORIGINS.get("runs")


@pytest.mark.parametrize(
    ("register", "id"),
    [
        (lambda: LAYOUTS.register("html", lambda: ""), "E015"),  # type: ignore[arg-type, misc]
        (_untitled, "E016"),
        (lambda: QRELS_FORMATS.register("tsv", replace(CSV, key="tsv", title="")), "E016"),
        (lambda: QRELS_FORMATS.register("tsv", replace(CSV, key="tsv", ending="")), "E017"),
        (lambda: QRELS_FORMATS.register("tsv", replace(CSV, key="tsv", write=CSV.read)), "E017"),  # type: ignore[arg-type]
        (lambda: ORIGINS.register("new", replace(RUNS, key="new", explained="")), "E018"),
        (lambda: ORIGINS.register("new", replace(RUNS, key="new", stored="models")), "E018"),
        (lambda: STRATEGIES.register("none", lambda lists: None), "E021"),  # type: ignore[arg-type, misc]
        (lambda: GRADED_RULES.register("majority", MAJORITY), "E022"),  # type: ignore[arg-type]
        (lambda: QRELS_FORMATS.register("tsv", CSV), "E023"),
        (lambda: ORIGINS.register("new", RUNS), "E023"),
        (lambda: RELEVANCE_RULES.register("most", MAJORITY), "E023"),
    ],
)
def test_what_an_entry_lacks_is_the_one_error(register: Callable[[], Any], id: str) -> None:
    register()
    assert ids() == [id]


def test_a_kernel_that_is_a_choice_and_nothing_computes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TEXT_KERNELS, "tag-rank")
    (error,) = lacking_entries()
    assert error.id == "evaluation.E019" and "'tag-rank'" in error.msg


def test_a_recipe_that_cannot_be_trained_or_is_not_printed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE_11, "TRI5", replace(TABLE_11["TRI5"], printed=""))
    monkeypatch.delitem(COUNTED_SHARES, "histogram")
    assert ids() == ["E020"] * (1 + sum(recipe.image.kernel == "histogram" for recipe in TABLE_11.values()))


def test_a_measure_of_a_whole_corpus_without_a_figure_of_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_by_name", "_by_key"):
        monkeypatch.setattr(METRICS, name, dict(getattr(METRICS, name)))
    bleu = METRICS.find("BLEU-1").measure
    METRICS.register(replace(bleu, name="BLEU-9"))
    (error,) = lacking_entries()
    assert error.id == "evaluation.E011" and "'BLEU-9' has no figure of the corpus" in error.msg


def test_every_module_of_figures_is_looked_at() -> None:
    kinds = {name for name, module in vars(figures).items() if hasattr(module, "KIND")}
    assert {FIGURE_DRAWERS.get(key).__module__ for key in FIGURE_DRAWERS.keys()} == {
        f"evaluation.figures.{name}" for name in kinds
    }
    assert all(f"evaluation.figures.{name}" in sys.modules for name in kinds)
