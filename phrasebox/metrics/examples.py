"""Examples of measures, which added measures provide: small cases with their correct values.

A JSON list, each entry with the full name of the `measure` and the correct `values`, one per query or item,
null where there is none. Of rankings: `queries`, each with the `grades` of its items as ranked, best first
(null where nobody judged; -1 where an item was pooled and not judged), and the places of its `originals`,
from 0. Of captions: `captions`, a text each, and `references`, a list of texts each.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from phrasebox.metrics.captions import FAMILY, Captions
from phrasebox.metrics.judgments import judged
from phrasebox.metrics.ranked import QueryValues, Ranked, from_scores
from phrasebox.metrics.table import METRICS, Measure, MeasureWithCutoff

#: Number of decimal places to which values must agree.
_PLACES = 6


def example_problems(text: str, measure: Measure) -> list[str]:
    """Return the errors of a measure's examples, a line each; empty where all values are correct.

    At least one example must exist, and be about the measure.
    """
    try:
        examples = json.loads(text)
    except ValueError as error:
        return [f"is no JSON ({error})"]
    if not isinstance(examples, list) or not examples:
        return ["holds no list of examples"]
    numbered = enumerate(examples, start=1)
    return [
        f"example {number}: {problem}"
        for number, example in numbered
        for problem in _problems(example, measure)
    ]


def _problems(example: Any, measure: Measure) -> Iterator[str]:
    if measure.family not in _TAKEN:
        yield f"measures of {measure.family} have no examples; expected one of {' and '.join(_TAKEN)}"
        return
    try:
        chosen = METRICS.find(example["measure"])
        right = np.array(
            [np.nan if entry is None else entry for entry in example["values"]], dtype=np.float64
        )
        values = np.asarray(_TAKEN[measure.family](chosen, example), dtype=np.float64)
    except (LookupError, TypeError, ValueError) as error:
        yield f"cannot be computed ({type(error).__name__}: {error})"
        return
    if chosen.measure is not measure:
        yield f"is about {chosen.name}"
    elif values.shape != right.shape or not np.allclose(values, right, 0, 10**-_PLACES, equal_nan=True):
        yield f"{chosen.name} is {values.round(_PLACES).tolist()}, and not {example['values']}"
    least, most = measure.range or (-np.inf, np.inf)
    outside = [value for value in values.tolist() if value < least or value > most]
    if outside:
        yield f"{chosen.name} is {outside[0]}, outside its range from {least} to {most}"


def _of_ranking(chosen: MeasureWithCutoff, example: Mapping[str, Any]) -> QueryValues:
    return chosen.values(ranked_as(example["queries"]))


def _of_captions(chosen: MeasureWithCutoff, example: Mapping[str, Any]) -> QueryValues:
    return chosen.measure.values(Captions(example["captions"], example["references"]))


def ranked_as(queries: Sequence[Mapping[str, Any]]) -> Ranked:
    """Return the ranking of an example's `queries`; all must rank the same number of items. Raises
    ValueError.

    >>> ranked = ranked_as([{"grades": [0, 1], "originals": [1]}])
    >>> ranked.better.tolist(), ranked.relevant.tolist()
    ([0.0, 1.0], [False, True])
    """
    items = len(queries[0]["grades"])
    if any(len(asking["grades"]) != items for asking in queries):
        raise ValueError("queries rank lists of several lengths; expected the same number of items for each")
    pairs = [
        (number, index, grade, index in asking.get("originals", ()))
        for number, asking in enumerate(queries)
        for index, grade in enumerate(asking["grades"])
        if grade is not None
    ]
    query, item, grade, original = zip(*pairs, strict=True) if pairs else ((), (), (), ())
    known = judged(query, item, grade, original=original, queries=len(queries), items=items)
    return from_scores(np.tile(-np.arange(items, dtype=np.float64), (len(queries), 1)), known)


#: The functions that compute the examples of each family.
_TAKEN: dict[str, Callable[[MeasureWithCutoff, Mapping[str, Any]], QueryValues]] = {
    "ranking": _of_ranking,
    FAMILY: _of_captions,
}
