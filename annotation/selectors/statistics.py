"""The figures of a layer, read from its rows."""

from collections.abc import Callable, Iterable

from annotation.models import Corpus, Layer
from annotation.protocol.statistics import Statistics
from annotation.protocol.terms import ImageRecord
from annotation.selectors.records import stream_records


def layer_statistics(
    *,
    corpus: Corpus,
    layer: Layer,
    split: str | None = None,
    progress: Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]] = iter,
) -> Statistics:
    """Count every image of `corpus` that `layer` covers, of one `split` or of all.

    Chains that a reviewer excluded are not counted: they are not exported either.
    """
    statistics = Statistics()
    for record in progress(stream_records(corpus=corpus, layer=layer, split=split)):
        if record.layer is not None:
            statistics.add(record.layer, captions=len(record.captions))
    return statistics
