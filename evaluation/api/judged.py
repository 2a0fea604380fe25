"""Judgments and qrels by API: which there are, files of them, and freezing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.http import FileResponse
from django.urls import reverse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On, missing
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.common.registry import UnknownName
from annotation.common.roles import RESEARCHER
from annotation.formats.base import FormatError
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.api.systems import RESEARCHES, OfCorpus
from evaluation.comparison.query_sets import CAPTION, IMAGE, query_remarks
from evaluation.formats import JUDGMENT_FORMATS
from evaluation.formats.qrels_files import QRELS_FORMATS
from evaluation.metrics.protocols import PROTOCOLS
from evaluation.models import JudgmentSet, QrelsSnapshot
from evaluation.relevance.grades import GAINS, SUMMARIES
from evaluation.selectors import counts_of
from evaluation.services.common import ImportRefused
from evaluation.services.judgments.freezing import remove_qrels
from evaluation.services.judgments.qrels_files import ASKING_SIDES, export_qrels
from evaluation.services.systems import registry
from evaluation.web import offered
from evaluation.web.qrels import QRELS_OF_ADDRESS, version_of_qrels
from evaluation.web.qrels_forms import (
    FROM_JUDGMENTS,
    FROM_PROTOCOL,
    enqueue_freezing,
    import_sent_judgments,
    import_sent_qrels,
)
from evaluation.web.uploads import READ_AT_ONCE, UPLOAD_REFUSALS, upload_folder

_TAG = "judgments and qrels"
_ON_QRELS = On(QRELS_OF_ADDRESS, (RESEARCHER,))
_ONE = "qrels/<slug:name>"


class JudgmentSetShown(serializers.Serializer[Any]):
    """A set of judgments: answers about pairs of image and caption."""

    name = NameField()
    corpus = NameField()
    format = serializers.CharField()
    pairs = serializers.IntegerField()
    answers = serializers.IntegerField()
    scale = serializers.CharField()
    skipped = serializers.IntegerField()
    simulated = serializers.BooleanField(help_text="Whether simulated workers gave the answers.")
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class QrelsShown(serializers.Serializer[Any]):
    """One version of qrels: which pairs are relevant. `pool` names the protocol of those that nobody
    judged."""

    name = NameField()
    version = serializers.IntegerField()
    corpus = NameField()
    judgments = serializers.CharField(allow_null=True)
    pool = serializers.CharField()
    subset = serializers.CharField()
    rule = serializers.CharField()
    originals = serializers.BooleanField()
    asks = serializers.CharField(help_text="image or caption; empty for both.")
    rows = serializers.IntegerField()
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class AskedShown(serializers.Serializer[Any]):
    """How many queries were asked of each kind; null where that is not known, and only judged ones count."""

    image = serializers.IntegerField(allow_null=True)
    caption = serializers.IntegerField(allow_null=True)


class QrelsDetailShown(QrelsShown):
    """Qrels with what they hold, and their versions. Of a batch's judgments, `pairs_judged` of `pairs_asked`
    had enough answers when they were frozen. `remarks` say what is not known, and how to freeze again."""

    queries = serializers.IntegerField()
    asked = AskedShown()
    pairs_asked = serializers.IntegerField(allow_null=True)
    pairs_judged = serializers.IntegerField(allow_null=True)
    remarks = serializers.ListField(child=serializers.CharField())
    relevant = serializers.IntegerField()
    unjudged = serializers.IntegerField()
    versions = serializers.ListField(child=serializers.IntegerField())


class JudgmentsImported(serializers.Serializer[Any]):
    """What an import found; `unchanged` where the same was there."""

    name = NameField()
    pairs = serializers.IntegerField()
    answers = serializers.IntegerField()
    scale = serializers.CharField()
    skipped = serializers.IntegerField()
    unchanged = serializers.BooleanField()


class QrelsImported(serializers.Serializer[Any]):
    """What an import found; `left_out` pairs are of what the corpus lacks."""

    name = NameField()
    version = serializers.IntegerField()
    queries = serializers.IntegerField()
    rows = serializers.IntegerField()
    relevant = serializers.IntegerField()
    left_out = serializers.IntegerField()
    unchanged = serializers.BooleanField()


class FreezingWanted(CallFields):
    """Qrels to be frozen: under a `protocol`, or from a set of `judgments` by a rule. Of which images: a
    split, a fold, or run:NAME; all without it."""

    name = NameField()
    corpus = NameField()
    protocol = serializers.ChoiceField(sorted(PROTOCOLS), required=False)
    caption = WholeField(required=False, max_value=1000)
    judgments = NameField(required=False)
    rule = TextField(required=False)
    scale = TextField(required=False, max_length=40)
    relevant_from = TextField(required=False, max_length=40)
    gains = serializers.ChoiceField(list(GAINS), required=False)
    summary = serializers.ChoiceField(list(SUMMARIES), required=False)
    originals = serializers.BooleanField(required=False)
    queries = TextField(required=False, help_text="Those that were asked: run:NAME, or a split.")
    split = TextField(required=False)
    seed = WholeField(required=False, max_value=10**9 - 1)


class QrelsSent(CallFields):
    """A file of qrels."""

    name = NameField()
    corpus = NameField()
    format = serializers.ChoiceField(sorted(QRELS_FORMATS.keys()))
    asks = serializers.ChoiceField(list(ASKING_SIDES), required=False)
    level = WholeField(required=False, max_value=1000)
    skip = serializers.BooleanField(required=False, help_text="Leave out pairs of what the corpus lacks.")
    queries = TextField(required=False, help_text="Those that were asked: run:NAME, or a split.")
    file = serializers.FileField(required=False)


class JudgmentsSent(CallFields):
    """A file of judgments, and beside it the list of keywords that one format has."""

    name = NameField()
    corpus = NameField()
    format = serializers.ChoiceField(sorted(JUDGMENT_FORMATS.keys()))
    scale = TextField(required=False, max_length=40)
    skip = serializers.BooleanField(required=False)
    repeats = serializers.BooleanField(required=False)
    file = serializers.FileField(required=False)
    beside = serializers.FileField(required=False)


class VersionWanted(CallFields):
    """Which version; the newest without it."""

    version = WholeField(required=False, min_value=1)


@serves(
    ApiRoute(
        route="judgment_sets",
        method=GET,
        path="judgment-sets",
        tag=_TAG,
        opens=RESEARCHES,
        asked=OfCorpus,
        answers=JudgmentSetShown,
        listed=True,
    )
)
def judgment_sets_list_call(call: ApiCall) -> CursorPage:
    """List sets of judgments, the newest first."""
    found = offered.judgment_sets(call.request).select_related("corpus")
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found, "-pk", _judgments_plain)


@serves(
    ApiRoute(
        route="judgment_sets",
        method=POST,
        path="judgment-sets",
        tag=_TAG,
        opens=RESEARCHES,
        body=JudgmentsSent,
        uploads=("file", "beside"),
        own_transactions=True,
        makes=True,
        answers=JudgmentsImported,
        refuses=UPLOAD_REFUSALS,
        example={"name": "grades", "corpus": "harbour", "format": "table", "scale": "0-5"},
    )
)
def judgments_upload_call(call: ApiCall) -> Created:
    """Import a file of judgments: all of it, or nothing."""
    corpus = offered.offered_corpus(call.request, call.data["corpus"]).name
    with upload_folder(call.request, commands="import_judgments", most=READ_AT_ONCE) as folder:
        made = import_sent_judgments(call.request, as_form(call.data), corpus, folder)
    told = {
        "name": made.judgments,
        "pairs": made.pairs,
        "answers": made.answers,
        "scale": made.scale,
        "skipped": made.skipped,
        "unchanged": made.unchanged,
    }
    return Created(told, reverse("v1_judgment_sets"))


@serves(
    ApiRoute(
        route="qrels",
        method=GET,
        path="qrels",
        tag=_TAG,
        opens=RESEARCHES,
        asked=OfCorpus,
        answers=QrelsShown,
        listed=True,
    )
)
def qrels_list_call(call: ApiCall) -> CursorPage:
    """List qrels, every version, the newest first."""
    found = offered.published_qrels(call.request).select_related("corpus", "judgments")
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found, "-pk", _qrels_plain)


@serves(
    ApiRoute(
        route="qrels",
        method=POST,
        path="qrels",
        tag=_TAG,
        opens=RESEARCHES,
        body=FreezingWanted,
        job=True,
        refuses=UPLOAD_REFUSALS,
        example={"name": "originals", "corpus": "harbour", "protocol": "first caption", "split": "test"},
    )
)
def qrels_freeze_call(call: ApiCall) -> Job:
    """Freeze qrels as a job: under a protocol, or from judgments."""
    act = FROM_JUDGMENTS if "judgments" in call.data else FROM_PROTOCOL
    with upload_folder(call.request, commands="freeze_qrels") as folder:
        return enqueue_freezing(call.request, as_form(call.data, act=act), folder)


@serves(
    ApiRoute(
        route="qrels_upload",
        method=POST,
        path="qrels-uploads",
        tag=_TAG,
        opens=RESEARCHES,
        body=QrelsSent,
        uploads=("file",),
        own_transactions=True,
        makes=True,
        answers=QrelsImported,
        refuses=UPLOAD_REFUSALS,
        example={"name": "pooled", "corpus": "harbour", "format": "trec"},
    )
)
def qrels_upload_call(call: ApiCall) -> Created:
    """Import a file of qrels: all of it, or nothing."""
    corpus = offered.offered_corpus(call.request, call.data["corpus"]).name
    with upload_folder(call.request, commands="import_qrels", most=READ_AT_ONCE) as folder:
        made = import_sent_qrels(call.request, as_form(call.data), corpus, folder)
    told = {
        "name": made.qrels,
        "version": made.version,
        "queries": made.queries,
        "rows": made.rows,
        "relevant": made.relevant,
        "left_out": made.left_out,
        "unchanged": made.unchanged,
    }
    return Created(told, reverse("v1_qrels_one", args=[made.qrels]))


@serves(
    ApiRoute(
        route="qrels_one",
        method=GET,
        path=_ONE,
        tag=_TAG,
        opens=_ON_QRELS,
        asked=VersionWanted,
        answers=QrelsDetailShown,
    )
)
def qrels_show_call(call: ApiCall, newest: QrelsSnapshot) -> dict[str, Any]:
    """Show a version of qrels, by default the newest, with what it holds."""
    row = _version(call, newest)
    counts = counts_of([row])[row.pk]
    every = QrelsSnapshot.objects.filter(name=row.name, published=True).order_by("-version")
    return {
        **_qrels_plain(row),
        "queries": counts.queries,
        "asked": {kind: counts.asked.get(kind) for kind in (IMAGE, CAPTION)},
        "pairs_asked": row.pairs_asked,
        "pairs_judged": row.pairs_judged,
        "remarks": [] if counts.keywords else query_remarks(row),
        "relevant": counts.relevant,
        "unjudged": counts.unjudged,
        "versions": list(every.values_list("version", flat=True)),
    }


@serves(
    ApiRoute(
        route="qrels_one",
        method=DELETE,
        path=_ONE,
        tag=_TAG,
        opens=_ON_QRELS,
        asked=VersionWanted,
        refuses=(registry.InUse, UnknownName),
    )
)
def qrels_delete_call(call: ApiCall, newest: QrelsSnapshot) -> None:
    """Remove a version of qrels; refused while a report was made from it."""
    remove_qrels(name=f"{newest.name}:{_version(call, newest).version}", actor=call.account)


@serves(
    ApiRoute(
        route="qrels_file",
        method=GET,
        path=f"{_ONE}/trec",
        tag=_TAG,
        opens=_ON_QRELS,
        asked=VersionWanted,
        file="text/plain",
        refuses=(FormatError, ImportRefused),
    )
)
def qrels_download_call(call: ApiCall, newest: QrelsSnapshot) -> FileResponse:
    """Download a version of qrels as a TREC file."""
    row = _version(call, newest)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{row.name}-{row.version}.{QRELS_FORMATS.get('trec').ending}"
        export_qrels(
            name=f"{row.name}:{row.version}", out=file, format="trec", asks=row.asks or ASKING_SIDES[0]
        )
        # The open file outlives its name.
        return FileResponse(
            file.open("rb"), as_attachment=True, filename=file.name, content_type="text/plain"
        )


def _version(call: ApiCall, newest: QrelsSnapshot) -> QrelsSnapshot:
    """The version that is asked for; raises Problem."""
    try:
        return version_of_qrels(newest, str(call.asked.get("version", "")))
    except UnknownName as error:
        raise missing(str(error)) from error


def _qrels_plain(row: QrelsSnapshot) -> dict[str, Any]:
    return {
        "name": row.name,
        "version": row.version,
        "corpus": row.corpus.name,
        "judgments": row.judgments.name if row.judgments is not None else None,
        "pool": row.pool,
        "subset": row.subset,
        "rule": row.rule,
        "originals": row.originals,
        "asks": row.asks,
        "rows": row.row_count,
        "digest": row.digest,
        "created_at": json_time(row.created_at),
    }


def _judgments_plain(row: JudgmentSet) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "format": row.format,
        "pairs": row.pair_count,
        "answers": row.answer_count,
        "scale": row.scale,
        "skipped": row.skipped,
        "simulated": row.simulated,
        "digest": row.digest,
        "created_at": json_time(row.created_at),
    }
