"""Judgments and layers as Arrow streams: a table in record batches, in bounded memory."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, NewFile, OperationContext
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.datasets.contents.images import LayerName, layer_of_corpus
from annotation.datasets.exporting import ExportError, simulated_layers, simulated_refusal
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, layer_to_read
from annotation.protocol.contents import corners
from annotation.protocol.terms import NOT_VISUAL, ImageRecord
from annotation.selectors.answers import answers
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.records import stream_records
from models_core.extras import load_extra

#: The media type of an Arrow stream, and its rows per record batch.
ARROW_TYPE = "application/vnd.apache.arrow.stream"
ROWS_PER_BATCH = 2_000

_TEXT, _INT, _FLOAT, _FLAG, _TIME, _TEXTS, _BOX, _BOXES = (
    *("string", "int32", "float64", "bool", "timestamp", "list<string>", "list<int32>", "list<list<int32>>"),
)
#: Columns and their types. `more` is JSON: other fields of the kind of question (a text, regions, pairs).
JUDGMENT_COLUMNS = {
    "id": _TEXT,
    "kind": _TEXT,
    "image": _TEXT,
    "key": _TEXT,
    "worker": _TEXT,
    "by": _TEXT,
    "role": _TEXT,
    "answer": _TEXT,
    "box": _BOX,
    "flag": _TEXT,
    "withdrawn": _FLAG,
    "way": _TEXT,
    "seconds": _FLOAT,
    "schema": _INT,
    "instructions": _INT,
    "settings": _INT,
    "at": _TIME,
    "more": _TEXT,
}
#: A mention, its chain (null: not visual), the reason if that has no boxes, and its boxes.
MENTION_COLUMNS = {
    "image": _TEXT,
    "caption": _INT,
    "start": _INT,
    "end": _INT,
    "text": _TEXT,
    "categories": _TEXTS,
    "chain": _TEXT,
    "scene": _FLAG,
    "nobndbox": _FLAG,
    "boxes": _BOXES,
}


_Simulated = Annotated[
    bool, Help(_("Simulated"), _("The answers may be those of a simulation, which no person gave"))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentTableRequest(CampaignRequest):
    """Answers on control items are excluded. Workers are pseudonyms; `by` is person, model annotator or
    simulated. `more` has, as JSON, the fields of an answer besides its word."""

    simulated: _Simulated = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionTableRequest(CorpusRequest):
    """A row for each mention, with its chain and the boxes of that chain."""

    layer: Annotated[LayerName, Help(_("Layer"))]
    simulated: _Simulated = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """The number of written rows."""

    rows: int


def export_judgment_table(request: JudgmentTableRequest, context: OperationContext) -> NewFile:
    """Return the judgments of a campaign. Raises ExportError."""
    row = request.row()
    name = _name(f"{row.name}-judgments", row.name if row.simulated else "", allowed=request.simulated)
    return NewFile(name, partial(write_arrow, JUDGMENT_COLUMNS, map(_judgment, answers(row))))


def export_mention_table(request: MentionTableRequest, context: OperationContext) -> NewFile:
    """Return the mentions of a layer. Raises LayerBehind and ExportError."""
    corpus = request.row()
    layer_of_corpus(corpus, request.layer)
    most = None if context.by_path else MOST_IMAGES_UPDATED_FOR_PAGE
    layer = layer_to_read(corpus, request.layer, most=most)
    simulated = simulated_layers([layer] if layer else [])
    name = _name(
        f"{corpus.name}-{request.layer}", simulated[0] if simulated else "", allowed=request.simulated
    )
    rows = (row for record in stream_records(corpus=corpus, layer=layer) for row in _mentions(record))
    return NewFile(name, partial(write_arrow, MENTION_COLUMNS, rows))


def _name(name: str, simulated: str, *, allowed: bool) -> str:
    """Return the name of a file; with the campaign's or layer's name `simulated`, it says so. Raises
    ExportError if that is not allowed."""
    if not simulated:
        return f"{name}.arrow"
    if not allowed:
        raise ExportError(simulated_refusal(simulated))
    return f"{name}-simulated.arrow"


def write_arrow(columns: dict[str, str], rows: Iterable[dict[str, Any]], path: Path) -> WrittenRows:
    """Write an Arrow stream of these rows, one record batch at a time."""
    # Importing pyarrow takes a third of a second and 60 MB, so only a stream does.
    pa = load_extra("pyarrow")

    types = {
        _TEXT: pa.string(),
        _INT: pa.int32(),
        _FLOAT: pa.float64(),
        _FLAG: pa.bool_(),
        _TIME: pa.timestamp("us", tz="UTC"),
        _TEXTS: pa.list_(pa.string()),
        _BOX: pa.list_(pa.int32()),
        _BOXES: pa.list_(pa.list_(pa.int32())),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    left, written = iter(rows), 0
    with pa.ipc.new_stream(str(path), schema) as writer:
        while page := list(islice(left, ROWS_PER_BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(page, schema=schema))
            written += len(page)
    return WrittenRows(rows=written)


def _judgment(answer: dict[str, Any]) -> dict[str, Any]:
    more = {key: value for key, value in answer.items() if key not in JUDGMENT_COLUMNS}
    columns = {key: value for key, value in answer.items() if key in JUDGMENT_COLUMNS}
    at = datetime.fromisoformat(answer["at"])
    return {**columns, "at": at, "more": json.dumps(more, ensure_ascii=False) if more else None}


def _mentions(record: ImageRecord) -> Iterator[dict[str, Any]]:
    layer = record.layer
    if layer is None:
        return
    depicted = layer.depicted()
    flags = {row.chains[0]: row for row in layer.objects if row.box is None}
    for chain in layer.chains:
        flag = flags.get(chain.id)
        for mention in chain.mentions:
            yield {
                "image": record.id,
                "caption": mention.caption,
                "start": mention.start,
                "end": mention.end,
                "text": mention.text,
                "categories": list(mention.categories),
                "chain": chain.id if chain.id != NOT_VISUAL else None,
                "scene": flag is not None and flag.scene,
                "nobndbox": flag is not None and flag.nobndbox,
                "boxes": [corners(box) for box in depicted.get(chain.id, ())],
            }
