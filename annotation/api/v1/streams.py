"""Judgments and layers by API as Arrow streams: a table in record batches, however large, as it is read."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.rest.doors import On, missing
from annotation.api.rest.fields import CallFields
from annotation.api.rest.operations import GET, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN
from annotation.common.registry import UnknownName
from annotation.datasets.exporting import ExportError, simulated_layers, simulated_refusal
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, LayerBehind, layer_to_read
from annotation.models import Campaign, Corpus
from annotation.protocol.contents import corners
from annotation.protocol.terms import NOT_VISUAL, ImageRecord
from annotation.selectors.answers import answers
from annotation.selectors.records import stream_records
from annotation.web.common.access import BROWSING
from annotation.web.corpus.browse import CORPUS_OF_ADDRESS

#: The type of an Arrow stream, and its rows in one record batch.
ARROW_TYPE = "application/vnd.apache.arrow.stream"
ROWS_PER_BATCH = 2_000

_TEXT, _INT, _FLOAT, _FLAG, _TIME, _TEXTS, _BOX, _BOXES = (
    *("string", "int32", "float64", "bool", "timestamp", "list<string>", "list<int32>", "list<list<int32>>"),
)
#: Columns and their types. `more` is JSON: what else the kind of question says (a text, regions, pairs).
JUDGMENT_COLUMNS = {
    "kind": _TEXT,
    "image": _TEXT,
    "key": _TEXT,
    "worker": _TEXT,
    "by": _TEXT,
    "role": _TEXT,
    "answer": _TEXT,
    "box": _BOX,
    "flag": _TEXT,
    "void": _FLAG,
    "way": _TEXT,
    "seconds": _FLOAT,
    "schema": _INT,
    "instructions": _INT,
    "settings": _INT,
    "at": _TIME,
    "more": _TEXT,
}
#: A mention, its chain (null: not visual), what that is without boxes for, and its boxes.
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


class SimulatedToo(CallFields):
    """Whether answers may be those of a simulation, which no person gave: without it they are refused."""

    simulated = serializers.BooleanField(required=False)


@serves(
    ApiRoute(
        route="judgments",
        method=GET,
        path="campaigns/<slug:name>/judgments.arrow",
        tag="streams",
        opens=RUNS_CAMPAIGN,
        asked=SimulatedToo,
        file=ARROW_TYPE,
        refuses=(ExportError,),
    )
)
def judgments_stream_call(call: ApiCall, campaign: Campaign) -> StreamingHttpResponse:
    """Stream all judgments of a campaign, those on control items left out, as an Arrow stream.

    Workers are pseudonyms; `by` says what they are: person, machine or simulated. `more` holds JSON: what a
    kind of question says beside its word.
    """
    called = _called(call, f"{campaign.name}-judgments", campaign.name if campaign.simulated else "")
    return _stream(JUDGMENT_COLUMNS, map(_judgment, answers(campaign)), called)


@serves(
    ApiRoute(
        route="layer_mentions",
        method=GET,
        path="corpora/<slug:name>/layers/<slug:layer>/mentions.arrow",
        tag="streams",
        opens=On(CORPUS_OF_ADDRESS, BROWSING),
        asked=SimulatedToo,
        file=ARROW_TYPE,
        refuses=(LayerBehind, ExportError),
    )
)
def layer_mentions_stream_call(call: ApiCall, corpus: Corpus, layer: str) -> StreamingHttpResponse:
    """Stream a layer as an Arrow stream: a row for each mention, with its chain and that chain's boxes."""
    try:
        found = layer_to_read(corpus, layer, most=MOST_IMAGES_UPDATED_FOR_PAGE)
    except UnknownName:
        raise missing(
            _("Corpus “%(corpus)s” has no layer “%(name)s”.") % {"corpus": corpus.name, "name": layer}
        ) from None
    simulated = simulated_layers([found] if found else [])
    called = _called(call, f"{corpus.name}-{layer}", simulated[0] if simulated else "")
    rows = (row for record in stream_records(corpus=corpus, layer=found) for row in _mentions(record))
    return _stream(MENTION_COLUMNS, rows, called)


def _called(call: ApiCall, name: str, simulated: str = "") -> str:
    """How a file is called; of a simulation, the campaign's or layer's name `simulated`, it says so. Raises
    ExportError where nobody asked for that."""
    if not simulated:
        return name
    if not call.asked.get("simulated", False):
        raise ExportError(simulated_refusal(simulated))
    return f"{name}-simulated"


def _stream(columns: dict[str, str], rows: Iterable[dict[str, Any]], called: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(arrow_stream(columns, iter(rows)), content_type=ARROW_TYPE)
    response["Content-Disposition"] = f'attachment; filename="{called}.arrow"'
    return response


def arrow_stream(columns: dict[str, str], rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """The bytes of an Arrow stream of these rows, a record batch at a time."""
    # pyarrow costs a third of a second and 60 MB: only a stream pays for it.
    import pyarrow as pa

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
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        while page := list(islice(rows, ROWS_PER_BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(page, schema=schema))
            yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    held = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return held


def _judgment(answer: dict[str, Any]) -> dict[str, Any]:
    more = {key: value for key, value in answer.items() if key not in JUDGMENT_COLUMNS}
    plain = {key: value for key, value in answer.items() if key in JUDGMENT_COLUMNS}
    at = datetime.fromisoformat(answer["at"])
    return {**plain, "at": at, "more": json.dumps(more, ensure_ascii=False) if more else None}


def _mentions(record: ImageRecord) -> Iterator[dict[str, Any]]:
    layer = record.layer
    if layer is None:
        return
    depicted = layer.depicted()
    flags = {each.chains[0]: each for each in layer.objects if each.box is None}
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
