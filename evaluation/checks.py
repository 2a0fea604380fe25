"""System checks of evaluation's registries, for errors in entries that would otherwise appear only when they
are used.

A measure that a site adds has a folder with all of its parts (`phrasebox.metrics.table`); measures, figures,
formats, origins and recipes of systems, strategies of pooling, rules and layouts of tables have attributes
that pages, commands and reports use. Each kind of entry has its own error ids.

`evaluation.apps` imports this module only when Django runs its checks. Django checks the URLs too, which
loads the pages and with them everything that is checked here.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from django.core.checks import CheckMessage, Error

from annotation.checks import README, holds_text, source_of
from evaluation import figures
from evaluation.figures.base import FIGURE_DRAWERS
from evaluation.services.systems.origins import ORIGINS
from models_core.checked_fields import field_rules
from models_core.estimators.base import METHODS, Method
from models_core.systems.dataset import COUNTED_SHARES
from models_core.systems.kernels import TEXT_KERNELS
from models_core.systems.recipe import BadRecipe
from models_core.systems.recipe_files import named_recipes
from models_core.systems.side_settings import SIDE_SETTINGS, TextKernelName
from models_core.systems.table11 import TABLE_11
from phrasebox.figure_tables import LAYOUTS
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.formats.qrels_files import QRELS_FORMATS
from phrasebox.metrics.captions import FAMILY, has_sums
from phrasebox.metrics.examples import example_problems
from phrasebox.metrics.table import (
    CUT_OFF_ENDINGS,
    EXAMPLES_FILE,
    MEASURE_FAMILIES,
    METRIC_FOLDERS,
    METRICS,
    Measure,
)
from phrasebox.pooling.active import STRATEGIES
from phrasebox.registry import Registry
from phrasebox.relevance.grades import GRADED_RULES
from phrasebox.relevance.qrels import RELEVANCE_RULES

#: Units of ranking measures that pages, commands and tables can print: shares as per cent, others unchanged.
PRINTED_UNITS = ("share", "rank", "score")
#: The number of arguments of a measure's function, by family: (ranked, k), (captions).
ARGUMENTS = {"ranking": 2, FAMILY: 1}


def registry_errors(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Return the errors of every registry's entries, for Django's checks."""
    return list(lacking_entries())


def lacking_entries() -> Iterator[Error]:
    """Yield the errors of every registry's entries."""
    yield from lacking_measures()
    yield from _lacking_figures()
    yield from _lacking_formats()
    yield from _lacking_systems()
    yield from _lacking_rules()


def lacking_measures() -> Iterator[Error]:
    """Yield the errors of measures: missing parts of their folders, and wrong attributes."""
    for name, folder in METRIC_FOLDERS.folders():
        yield from _lacking_of_metric(name.rpartition(".")[2], folder)
    for measure in METRICS:
        yield from _unsaid_by_measure(measure)


def _lacking_of_metric(name: str, folder: Path) -> Iterator[Error]:
    """Yield errors for the parts that the folder of a measure lacks."""
    file, examples = folder / f"{METRIC_FOLDERS.module}.py", folder / EXAMPLES_FILE
    measure = METRICS.called(name)
    if not file.is_file():
        hint = f"write {file}: the measure as a function, and its entry in METRICS"
        yield _fault("E001", "measure", name, f"has no {file.name}", hint)
    elif measure is None:
        hint = f"register it under a name that reads as {name!r} without its cut-off, in {file}"
        yield _fault("E002", "measure", name, f"is not registered by its {file.name}", hint)
    if not holds_text(folder / README):
        hint = f"write {folder / README}: its definition, conventions, range and source"
        yield _fault("E003", "measure", name, f"has no {README}", hint)
    if not holds_text(examples):
        hint = f"write {examples}: small cases, and the values that are right (phrasebox.metrics.examples)"
        yield _fault("E004", "measure", name, f"has no {EXAMPLES_FILE}", hint)
    elif measure is not None:
        for message in example_problems(examples.read_text(encoding="utf-8"), measure):
            hint = f"correct {examples}, or the measure"
            yield _fault("E005", "measure", name, f"has examples that are wrong: {message}", hint)


def _unsaid_by_measure(measure: Measure) -> Iterator[Error]:
    """Yield errors for missing or impossible attributes of a measure."""
    where = f"in {source_of(measure.values)}"

    def fault(number: str, says: str, hint: str) -> Error:
        return _fault(number, "measure", measure.name, says, f"{hint}, {where}")

    definition = inspect.getdoc(measure.values) or inspect.getdoc(sys.modules[measure.values.__module__])
    for word, text in (
        ("title", measure.title),
        ("source", measure.source),
        ("definition", definition or sys.flags.optimize > 1),
    ):
        if not text:
            yield fault("E006", f"has no {word}", f"say its {word}")
    if measure.family not in MEASURE_FAMILIES:
        hint = f"name one of {', '.join(MEASURE_FAMILIES)}"
        yield fault("E007", f"is of the family {measure.family!r}, which nobody asks for", hint)
    if measure.range is None or not measure.range[0] < measure.range[1]:
        yield fault("E008", "has no range", "say the least and the most that a value can be, as bounds")
    if measure.unit == "rank" and measure.higher_is_better:
        yield fault("E009", "is a rank, and calls higher ones better", "set higher_is_better to False")
    if measure.name.endswith(CUT_OFF_ENDINGS) == (measure.cut_off == "none"):
        hint = "end the name in @k (or @r, of recall) where there is a cut-off, and only there"
        yield fault("E010", f"is called {measure.name}, and its cut-off is {measure.cut_off!r}", hint)
    if measure.family == "ranking" and measure.unit not in PRINTED_UNITS:
        hint = f"make it one of {', '.join(PRINTED_UNITS)}"
        yield fault("E011", f"is a {measure.unit}, which no table of rankings prints", hint)
    if measure.binary and measure.range != (0.0, 1.0):
        yield fault("E011", "is called binary, and is no 0 or 1", "set binary to False")
    if measure.family == FAMILY and measure.summary == "corpus" and not has_sums(measure):
        yield fault("E011", "has no figure of the corpus", "make it a mean of its items")
    for function in filter(None, (measure.values, measure.optimistic)):
        number = ARGUMENTS.get(measure.family)
        if number is not None and not _takes(function, number):
            yield fault(
                "E012", f"cannot be computed by {function.__name__}", f"let it take {number} arguments"
            )


def _lacking_figures() -> Iterator[Error]:
    """Yield errors of kinds of figures (each file needs a function that draws and one that plots) and of
    layouts of tables."""
    for key in FIGURE_DRAWERS.keys():
        draw = FIGURE_DRAWERS.get(key)
        module = sys.modules[draw.__module__]
        if getattr(module, "KIND", "") != key or not callable(getattr(module, "plot", None)):
            hint = f"write KIND and plot, which gives it title, sentence and data, in {module.__file__}"
            yield _fault("E013", "kind of figure", key, "is drawn, and nothing makes one", hint)
    loose = {
        name
        for name, module in vars(figures).items()
        if inspect.ismodule(module)
        and hasattr(module, "plot")
        and getattr(module, "KIND", "") not in FIGURE_DRAWERS
    }
    for name in sorted(loose):
        hint = f"decorate what draws it with figure_kind in {source_of(getattr(figures, name))}"
        yield _fault("E014", "kind of figure", name, "is made, and nothing draws it", hint)
    for key in LAYOUTS.keys():
        if not _takes(LAYOUTS.get(key), 1):
            yield _fault("E015", "table layout", key, "takes no table", "register a function of one table")


def _lacking_formats() -> Iterator[Error]:
    """Yield errors of formats of judgments and of qrels: they need a key, a title, and callable functions."""
    for format in (*JUDGMENT_FORMATS, *QRELS_FORMATS):
        if not str(getattr(format, "title", "")).strip():
            yield _fault("E016", "format", format.key, "has no title", "say what pages call it")
    yield from _misnamed("format", "key", JUDGMENT_FORMATS, QRELS_FORMATS)
    for qrels_format in QRELS_FORMATS:
        if not (_takes(qrels_format.read, 1) and _takes(qrels_format.write, 3)):
            hint = "read takes a path; write takes a path, rows and what asks"
            yield _fault("E017", "qrels format", qrels_format.key, "cannot be read or written", hint)
        if not qrels_format.ending.strip():
            hint = "say how names of such files end"
            yield _fault("E017", "qrels format", qrels_format.key, "has no ending for downloads", hint)


def _lacking_systems() -> Iterator[Error]:
    """Yield errors of origins and recipes of systems, their kernels, and strategies of pooling."""
    yield from _misnamed("origin", "key", ORIGINS)
    for origin in ORIGINS:
        for word in ("title", "explained"):
            if not str(getattr(origin, word)).strip():
                yield _fault(
                    "E018", "origin", origin.key, f"has no {word}", "say it in words that are translated"
                )
        if origin.stored and not origin.ranks:
            hint = "give it matrices, or keep nothing"
            yield _fault("E018", "origin", origin.key, f"keeps {origin.stored}, and cannot rank", hint)
    for name in get_args(TextKernelName):
        if name not in TEXT_KERNELS:
            hint = "add it to TEXT_KERNELS in models_core/systems/kernels.py"
            yield _fault("E019", "kernel of the text", name, "is a choice that nothing computes", hint)
    for name, recipe in TABLE_11.items():
        if recipe.name != name or not recipe.printed:
            yield _fault("E020", "recipe", name, "is not as Table 11 prints it", "say what print calls it")
        if not recipe.image.of_vectors and recipe.image.kernel not in COUNTED_SHARES:
            hint = "add its kernel to COUNTED_SHARES in models_core/systems/dataset.py"
            yield _fault("E020", "recipe", name, f"counts no words for {recipe.image.kernel}", hint)
    yield from lacking_methods()
    for key in STRATEGIES.keys():
        if not _takes(STRATEGIES.get(key), 4):
            hint = "it takes the lists, how many to judge, how many at a time, and a random generator"
            yield _fault("E021", "pooling strategy", key, "cannot be called", hint)


def lacking_methods() -> Iterator[Error]:
    """Yield missing attributes of methods, and their invalid recipes."""
    for method in METHODS.values():
        yield from _unsaid_by_method(method)
    try:
        named_recipes()
    except BadRecipe as error:
        yield _fault("E020", "recipe", "of a method", f"cannot be made: {error}", "correct it in its method")


def _unsaid_by_method(method: Method) -> Iterator[Error]:
    where = f"in {source_of(method.make)}"
    for word in ("title", "source"):
        if not getattr(method, word).strip():
            yield _fault("E024", "method", method.name, f"has no {word}", f"say its {word}, {where}")
    for name, rule in field_rules(method.settings).items():
        if not rule.help:
            hint = f"give the field a description, {where}"
            yield _fault("E024", "method", method.name, f"does not explain its setting {name}", hint)
    for phase, share in method.phases:
        if not share > 0:
            hint = f"give the phase a share above 0, {where}"
            yield _fault("E024", "method", method.name, f"gives its phase {phase!r} the share {share}", hint)
    for item, form in method.takes.items():
        if form not in SIDE_SETTINGS.get(item, {}):
            hint = f"name a form of SIDE_SETTINGS, {where}"
            yield _fault("E024", "method", method.name, f"takes {item} as {form!r}, which nobody makes", hint)


def _lacking_rules() -> Iterator[Error]:
    """Yield errors of relevance rules, whose names are stored with qrels."""
    yield from _misnamed("rule", "name", RELEVANCE_RULES, GRADED_RULES)
    for key in sorted({*RELEVANCE_RULES.keys()} & {*GRADED_RULES.keys()}):
        yield _fault("E022", "rule", key, "is one of votes and one of grades", "give them two names")


def _misnamed(what: str, attribute: str, *registries: Registry[Any]) -> Iterator[Error]:
    """Yield errors for entries that are registered under another name than their own."""
    for registry in registries:
        for key in registry.keys():
            own_name = getattr(registry.get(key), attribute, "")
            if own_name != key:
                yield _fault(
                    "E023", what, key, f"calls itself {own_name!r}", "register it under its own name"
                )


def _takes(function: Any, arguments: int) -> bool:
    """Whether a function can be called with that number of positional arguments."""
    try:
        inspect.signature(function).bind(*range(arguments))
    except (TypeError, ValueError):
        return False
    return True


def _fault(number: str, what: str, key: str, says: str, hint: str) -> Error:
    return Error(f"the {what} {key!r} {says}", hint=hint, id=f"evaluation.{number}")
