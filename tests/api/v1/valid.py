"""A valid call of every operation of the REST API, in the world of `tests.hostile.world`.

Rows are looked up at the time of the call. Calls that need a row that the world lacks create it.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from annotation import campaigns
from annotation.campaigns import model_annotators
from annotation.datasets import uploads
from annotation.datasets.uploaded_source import PROBLEMS_FILE
from annotation.datasets.uploads import Upload
from annotation.models import (
    Account,
    Campaign,
    Caption,
    Control,
    Corpus,
    ErrorSample,
    Flag,
    Image,
    Invitation,
    Job,
    Judgment,
    OpenImage,
    WorkerMessage,
)
from annotation.moderation import rulings, worker_status
from annotation.protocol.rulings import KeepApart
from annotation.workers import api_tokens, bonuses, payments, pseudonyms
from evaluation.comparison.inspection import queries_in_order
from evaluation.models import Batch, CaptionSet, LocalizationSet, Report, Run, System, TagSet
from evaluation.services.features.store import NewSet, write_set
from evaluation.services.judgments.freezing import freeze_protocol
from models_core.systems.table11 import TABLE_11
from tests.hostile.world import IMAGES
from tests.review.world import HAT, MAN
from tests.web.world import perform

TREC = b"scene-2.png Q0 scene-2.png#0 1 1.0 x\nscene-5.png Q0 scene-2.png#0 1 1.0 x\n"
GRADES = b"image,caption,grade\nscene-2.png,scene-2.png#0,4.5\n"
QRELS = b"scene-2.png 0 scene-2.png#0 1\n"
BOXES = (
    b'<annotations><image id="0" name="scene-1.png" width="0" height="0">'
    b'<box label="dog" xtl="1" ytl="1" xbr="9" ybr="9"/></image></annotations>'
)


@dataclass
class ValidCall:
    """The address parameters, query, and content of a call: JSON, or a form's fields and files (name of the
    field -> name of the file, content)."""

    path_values: dict[str, Any] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)


Make = Callable[[], ValidCall]


def at(**index: Any) -> Make:
    return lambda: ValidCall(index)


def with_query(query: dict[str, Any], **index: Any) -> Make:
    return lambda: ValidCall(index, query)


def with_body(body: dict[str, Any], **index: Any) -> Make:
    return lambda: ValidCall(index, body=body)


def nothing() -> ValidCall:
    return ValidCall()


def _job(kind: str, state: str) -> int:
    job = Job.objects.filter(kind=kind, state=state).order_by("pk").first()
    assert job is not None, f"there is no {state} job of kind {kind}"
    return job.pk


def _draft() -> ValidCall:
    campaign = campaigns.create_campaign(name="empty", corpus="quay", tasks="captions", settings={})
    return ValidCall({"campaign": campaign.name})


def _draft_with_tasks() -> ValidCall:
    campaign = campaigns.create_campaign(name="asked", corpus="quay", tasks="captions", settings={})
    Job.objects.create(kind="open_images", campaign=campaign, arguments={"images": 1}, state=Job.CANCELLED)
    return ValidCall({"campaign": campaign.name})


def _pilot() -> ValidCall:
    Campaign.objects.filter(name="quay").update(pilot={"split": None, "images": None, "tags": []})
    return ValidCall({"campaign": "quay"})


def _ruling() -> ValidCall:
    image = OpenImage.objects.get(campaign__name="review")
    ruling = rulings.make_ruling(image=image.pk, ruling=KeepApart(MAN, HAT))
    return ValidCall({"campaign": "review", "ruling": ruling.ruling.pk})


def _review() -> ValidCall:
    answer = Judgment.objects.filter(campaign__name="review", image__isnull=False).order_by("pk")[0]
    data = {"answers": [answer.pk], "decision": "rejected", "reason": "Not in the picture."}
    return ValidCall({"campaign": "review"}, body=data)


def _ruled() -> ValidCall:
    _ruling()
    return ValidCall({"campaign": "review", "image": "man"})


def _withdrawn_answers() -> ValidCall:
    campaign = Campaign.objects.get(name="quay")
    worker = _pseudonym()
    worker_status.withdraw_worker_answers(
        campaign=campaign, worker=worker_status.worker_named(worker, campaign)
    )
    return of_workers({})()


def _suspended() -> ValidCall:
    campaign = Campaign.objects.get(name="quay")
    worker = _pseudonym()
    worker_status.suspend_worker(campaign=campaign, worker=worker_status.worker_named(worker, campaign))
    return of_workers({})()


def _pseudonym() -> str:
    campaign = Campaign.objects.get(name="quay").trust_states.order_by("pk").select_related("worker").first()
    assert campaign is not None
    return str(campaign.worker.pseudonym)


def of_workers(body: dict[str, Any]) -> Make:
    return lambda: ValidCall({"campaign": "quay"}, body={**body, "workers": [_pseudonym()]})


def _bonus() -> ValidCall:
    campaign = Campaign.objects.get(name="quay")
    worker = worker_status.worker_named(_pseudonym(), campaign)
    (give_bonu,) = bonuses.give_bonus(
        campaign=campaign, workers=[worker], amount=2_000_000, reason="Patience"
    )
    return ValidCall({"campaign": "quay", "bonus": give_bonu.pk}, body={"reason": "The wrong worker."})


def _payment() -> ValidCall:
    _bonus()
    created = payments.pay_all_due(campaign=Campaign.objects.get(name="quay"), reference="by mistake")[0]
    return ValidCall({"campaign": "quay", "payment": created.pk}, body={"reason": "Not sent."})


def _owed() -> ValidCall:
    _bonus()
    body = {"amount": "1.00", "reference": "bank 7"}
    return ValidCall({"campaign": "quay", "worker": _pseudonym()}, body=body)


def _sample() -> ErrorSample:
    perform("draw_error_sample", corpus="quay", layer="import", size=1)
    return ErrorSample.objects.latest("pk")


def _sampled_mention() -> ValidCall:
    sample = _sample()
    verdicts = {"chunk": "right", "chain": "split"}
    if sample.mentions.get().visual:
        verdicts["boxes"] = "right"
    return ValidCall({"corpus": "quay", "sample": sample.pk, "mention": 1}, body=verdicts)


def _message() -> ValidCall:
    account = Account.objects.get(username="researcher")
    worker = pseudonyms.worker_of(account)
    worker_message = WorkerMessage.objects.create(
        campaign=Campaign.objects.get(name="quay"), worker=worker, text="Thank you."
    )
    return ValidCall({"message": worker_message.pk})


def _token() -> ValidCall:
    account = Account.objects.get(username="researcher")
    token = api_tokens.make_api_token(account=account, name="to go", days=1, writes=False)
    return ValidCall({"token": token.token.pk})


def _stranger(*, active: bool) -> str:
    """Create an account without relation to the caller; return its name."""
    name = f"stranger-{active}"
    created, _new = Account.objects.get_or_create(username=name, defaults={"is_active": active})
    Account.objects.filter(pk=created.pk).update(is_active=active)
    return name


def _unused_system() -> ValidCall:
    row = System.objects.get(name="spare")
    Run.objects.filter(made_by=row).delete()
    row.pk, row.name = None, "unused"
    row.origin = "runs"
    row.save()
    return ValidCall({"system": "unused"})


def _spare_run() -> str:
    return str(Run.objects.filter(made_by__name="spare").order_by("name").values_list("name", flat=True)[0])


def _settings() -> ValidCall:
    campaign = campaigns.create_campaign(name="to-change", corpus="quay", tasks="captions", settings={})
    body = {
        "base_version": campaign.settings_version,
        "campaign_settings": {"lease": {"minutes": 20}},
        "unpaid": True,
    }
    return ValidCall({"campaign": campaign.name}, body=body)


def _frozen() -> ValidCall:
    freeze_protocol(name="to-go", corpus="quay", protocol="first caption")
    return ValidCall({"qrels": "to-go"})


def _in_rounds() -> ValidCall:
    Batch.objects.filter(name="batch").update(strategy="depth", rounds={"selected": [1], "ended": ""})
    return ValidCall({"batch": "batch"}, body={})


def _report() -> ValidCall:
    row = Report.objects.get(name="spring")
    row.pk, row.name, row.files = None, "to-go", {}
    row.save()
    return ValidCall({"report": row.name})


def _scores() -> bytes:
    out = io.BytesIO()
    images = [f"scene-{n}.png" for n in range(IMAGES)]
    captions = [f"{image}#0" for image in images]
    np.savez(out, scores=np.eye(IMAGES), images=np.array(images), captions=np.array(captions))
    return out.getvalue()


def _writing() -> ValidCall:
    System.objects.filter(name="good").update(settings={"recipe": {"method": "alignment"}})
    return ValidCall({"system": "good"}, body={"name": "captions", "split": "test", "beam": 3})


def _feature_set() -> ValidCall:
    new = NewSet(
        corpus="quay", name="to-go", kind="image", ids=["a"], dimensions=1, dtype="float32", origin={}
    )
    write_set(new, lambda done: [np.ones((1, 1))][done:])
    return ValidCall({"corpus": "quay", "set": "to-go:1"})


def _vectors() -> bytes:
    out = io.BytesIO()
    np.savez(out, vectors=np.eye(IMAGES), ids=np.array([f"scene-{n}.png" for n in range(IMAGES)]))
    return out.getvalue()


def _webhook(**more: Any) -> Make:
    def make() -> ValidCall:
        owner = Account.objects.get(username="researcher")
        created = perform("make_webhook", owner, name="bot", address="https://hooks.example.org/")
        return ValidCall({"webhook": created.number}, **more)

    return make


def _line() -> ValidCall:
    created = _webhook()()
    return ValidCall(
        {**created.path_values, "delivery": perform("test_webhook", **created.path_values).number}
    )


def _log() -> ValidCall:
    return ValidCall({"webhook": _line().path_values["webhook"]})


def _subscription() -> ValidCall:
    row = perform("subscribe_to_alarms", Account.objects.get(username="researcher"))
    return ValidCall({"subscription": row.number})


def _model_annotator() -> ValidCall:
    campaign = Campaign.objects.get(name="quay")
    created = model_annotators.model_annotator_add(campaign=campaign, name="drawer")
    return ValidCall({"campaign": "quay", "model_annotator": created.name}, body={})


def _at_an_address(body: dict[str, Any] | None) -> ValidCall:
    """A call about a model annotator whose model is at an address, and may be shown pictures."""
    call = _model_annotator()
    perform("set_model_address", None, **call.path_values, address="https://93.184.215.14/predict")
    Corpus.objects.filter(name="quay").update(pictures_may_leave=True)
    return ValidCall(call.path_values, body=body)


def _method(method: str) -> None:
    System.objects.filter(name="good").update(settings={"recipe": {"method": method}})


def _localizing() -> ValidCall:
    _method("region-phrase-cca")
    ids, boxes = ["scene-1.png"], np.array([[1, 1, 9, 9]])
    about: dict[str, Any] = {"corpus": "quay", "name": "proposals", "kind": "region", "dtype": "float32"}
    new = NewSet(**about, ids=ids, dimensions=1, origin={"regions": "edges"}, boxes=boxes)
    created, _written = write_set(new, lambda done: [np.ones((1, 1))][done:])
    body = {"name": "found-here", "regions": created.label, "split": "test", "layer": "import"}
    return ValidCall({"system": "good"}, body=body)


def _query() -> int:
    run = Run.objects.get(name="good-annotation")
    return queries_in_order(run)[0]


def _localized() -> bytes:
    mention = {"image": "scene-1.png", "caption": 0, "start": 0, "end": 1, "phrase": "a"}
    return json.dumps({**mention, "regions": [[1, 1, 9, 9, 0.5]]}).encode()


def _tagging() -> ValidCall:
    _method("tag-neighbours")
    return ValidCall({"system": "good"}, body={"name": "tagged-here", "split": "test", "top": 5})


def _spare(model: Any, name: str, index: str) -> ValidCall:
    row = model.objects.get(name=name)
    row.pk, row.name = None, "to-go"
    row.save()
    return ValidCall({index: row.name})


def _spare_corpus() -> ValidCall:
    corpus = Corpus.objects.create(name="to-go", format="csv", source="x", published=True)
    return ValidCall({"corpus": corpus.name})


#: A control item as JSON, and as a row of a file.
_LINK = {
    "kind": "coref_link",
    "purpose": "control",
    "image": "man",
    "mentions": ["0:0-2", "1:0-2"],
    "answer": "yes",
}
_CONTROLS = (
    b"kind,purpose,image,mentions,boxes,pending,known,explanation\nbox_requirement,control,man,0:3-5,,,box,\n"
)


def _further() -> ValidCall:
    """Add a split with an image that no campaign uses."""
    corpus = Corpus.objects.get(name="quay")
    image = Image.objects.create(
        corpus=corpus, position=corpus.images.count(), key="further", filename="further.png", split="further"
    )
    for number in range(5):
        Caption.objects.create(image=image, number=number, text=f"Boat {number} lies at a quay .")
    return ValidCall({"campaign": "graded"}, body={"split": "further"})


def _unlabelled() -> dict[str, Any]:
    """Return the address parameters of an image whose phrases have no labels yet."""
    corpus = Corpus.objects.get(name=_spare_corpus().path_values["corpus"])
    image = Image.objects.create(corpus=corpus, position=0, key="quay-1", filename="quay-1.png")
    Caption.objects.create(image=image, number=0, text="A boat at a quay .")
    return {"corpus": corpus.name, "image": image.key}


#: An uploaded file for a new corpus.
_CSV = b"image,caption\na.png,A boat at a quay .\n"


def _begun(received: bytes = b"") -> Upload:
    owner = Account.objects.get(username="researcher")
    for old in uploads.uploads_of(owner):
        uploads.remove_upload(old)
    created = uploads.begin_upload(account=owner, name="sent", files=[("captions.csv", len(_CSV))])
    created.file_path(0).write_bytes(received)
    return created


def _upload(received: bytes = b"", **more: Any) -> Make:
    return lambda: ValidCall({"upload": _begun(received).key}, **more)


def _part() -> ValidCall:
    body = {"offset": 0, "sha256": hashlib.sha256(_CSV).hexdigest()}
    return ValidCall({"upload": _begun().key, "number": 0}, body=body, files={"part": ("part", _CSV)})


def _checked() -> ValidCall:
    created = _begun(_CSV)
    (created.folder / PROBLEMS_FILE).write_text('{"sort": "no_picture"}\n')
    Job.objects.create(
        kind="check_upload",
        arguments={"upload": created.key},
        state=Job.DONE,
        result={"format": "csv", "images": 1, "sheet": {"lines": [], "notes": []}},
        created_by=Account.objects.get(username="researcher"),
    )
    return ValidCall({"upload": created.key})


#: Objects of the researcher only: a valid call succeeds for nobody else.
UNLISTED = frozenset(
    {
        *("revoke_token", "unsubscribe_from_alarms", "show_upload", "send_upload_part", "check_upload"),
        *("import_upload", "download_upload_problems", "remove_upload", "read_message"),
    }
)
_RUNS = ["good-annotation", "bad-annotation"]
_BATCH = {
    "corpus": "quay",
    "runs": _RUNS,
    "depth": 1,
    "campaign_settings": {"trust": {"qualification": False}},
}

#: Valid calls by operation.
VALID: dict[str, Make] = {
    "list_corpora": nothing,
    "show_corpus": at(corpus="quay"),
    "set_pictures_may_leave": with_body({"may_leave": True}, corpus="quay"),
    "set_licence": with_body({"licence": "CC BY 4.0"}, corpus="quay"),
    "list_images": with_query({"layer": "import", "limit": 2}, corpus="quay"),
    "show_image": at(corpus="quay", image="scene-1"),
    "list_corpus_tags": with_query({"contains": "dog"}, corpus="quay"),
    "show_phrases": at(corpus="quay", image="scene-1"),
    "mark_phrases": lambda: ValidCall(_unlabelled(), body={"phrases": ["0:0-2"]}),
    "drop_phrase_marks": lambda: ValidCall(_unlabelled()),
    "list_layers": at(corpus="quay"),
    "import_layer": lambda: ValidCall(
        {"corpus": "quay"},
        body={"layer": "boxes", "format": "cvat"},
        files={"file": ("annotations.xml", BOXES)},
    ),
    "list_campaigns": nothing,
    "open_campaign": with_body(
        {"name": "fresh", "corpus": "quay", "tasks": "captions", "unpaid": True, "images": 2}
    ),
    "plan_campaign": with_body({"name": "fresh", "corpus": "quay", "tasks": "entities", "known": "import"}),
    "campaign_status": at(campaign="quay"),
    "archive_campaign": with_body({"archived": True}, campaign="paused"),
    "set_open_to_all": with_body({"open_to_all": True}, campaign="quay"),
    "set_stop_rules": with_body({"budget": 250.0, "until": "2031-01-01"}, campaign="quay"),
    "drop_planned_images": at(campaign="quay"),
    "delete_campaign": _draft,
    "go_on_with_all": _pilot,
    "open_draft": _draft_with_tasks,
    "pause_campaign": with_body({"reason": "We look at it."}, campaign="quay"),
    "resume_campaign": at(campaign="paused"),
    "close_campaign": with_body({}, campaign="quay"),
    "show_settings": at(campaign="quay"),
    "change_settings": _settings,
    "plan_settings": with_body({"set": ["lease.minutes=7.0"]}, campaign="quay"),
    "list_settings_versions": at(campaign="quay"),
    "list_control_items": at(campaign="tested"),
    "count_control_items": at(campaign="tested"),
    "prioritise_images": with_body({"images": ["scene-1"], "priority": 1}, campaign="quay"),
    "list_texts": at(campaign="quay"),
    "publish_text": with_body(
        {"kind": "consent", "base_version": 1, "text": "You agree."}, campaign="tested"
    ),
    "list_invitations": at(campaign="quay"),
    "make_invitation": with_body({"label": "class", "uses": 3}, campaign="quay"),
    "revoke_invitation": lambda: ValidCall(
        {"campaign": "quay", "invitation": Invitation.objects.get(campaign__name="quay").pk}
    ),
    "add_control_items": with_body({"items": [_LINK]}, campaign="review"),
    "add_controls_from_layer": with_body({"layer": "import"}, campaign="tested"),
    "add_controls_from_captions": _further,
    "promote_answers": with_body({"kind": "coref_link"}, campaign="tested"),
    "import_controls": lambda: ValidCall({"campaign": "review"}, files={"file": ("items.csv", _CONTROLS)}),
    "retire_control_item": lambda: ValidCall(
        {"campaign": "tested", "item": Control.objects.filter(campaign__name="tested", active=True)[0].pk}
    ),
    "refresh_layer": at(campaign="quay"),
    "list_workers": at(campaign="quay"),
    "show_worker": lambda: ValidCall({"campaign": "quay", "worker": _pseudonym()}),
    "export_workers": with_query({"everyone": "true"}, campaign="quay"),
    "suspend_workers": of_workers({"reason": "Look again."}),
    "reinstate_workers": _suspended,
    "withdraw_answers": of_workers({"reason": "At random."}),
    "restore_answers": _withdrawn_answers,
    "message_workers": of_workers({"text": "Draw tighter boxes, please."}),
    "campaign_dashboard": at(campaign="quay"),
    "list_dues": at(campaign="quay"),
    "list_payments": at(campaign="quay"),
    "pay_workers": of_workers({"reference": "march"}),
    "pay_worker": _owed,
    "void_payment": _payment,
    "list_bonuses": at(campaign="quay"),
    "give_bonus": of_workers({"amount": "1.50", "reason": "Patience"}),
    "withdraw_bonus": _bonus,
    "export_ledger": at(campaign="quay"),
    "export_platform_list": with_body({"platform": "prolific", "list": "submissions"}, campaign="quay"),
    "review_queue": at(campaign="review"),
    "review_image": _ruled,
    "make_ruling": with_body({"kind": "keep_apart", "mentions": [MAN, HAT]}, campaign="review", image="man"),
    "withdraw_ruling": _ruling,
    "preview_mend": with_query({"remove": HAT}, campaign="review", image="man"),
    "mend_phrases": with_body({"remove": [HAT], "add": ["0:4-5=other"]}, campaign="review", image="man"),
    "preview_phrase_rule": with_query({"words": "hat", "act": "remove"}, campaign="review"),
    "apply_phrase_rule": with_body({"words": "hat", "categories": ["other"]}, campaign="review"),
    "dataset_stats": with_body({"layer": "import"}, corpus="quay"),
    "caption_stats": at(corpus="quay"),
    "draw_error_sample": with_body({"layer": "import", "size": 3}, corpus="quay"),
    "list_error_samples": at(corpus="quay"),
    "judge_sampled_mention": _sampled_mention,
    "error_rates": lambda: ValidCall({"corpus": "quay", "sample": _sample().pk}),
    "list_answers": at(campaign="review"),
    "review_answers": _review,
    "list_flags": at(campaign="review"),
    "resolve_flag": lambda: ValidCall({"campaign": "review", "flag": Flag.objects.get().pk}),
    "list_earnings": nothing,
    "list_received_messages": nothing,
    "read_message": _message,
    "list_jobs": nothing,
    "list_outdated_copies": nothing,
    "say_country": with_body({"country": "US"}),
    "show_job": lambda: ValidCall({"job": _job("export_dataset", Job.DONE)}),
    "cancel_job": lambda: ValidCall({"job": _job("export_dataset", Job.QUEUED)}),
    "resume_job": lambda: ValidCall({"job": _job("refresh_layer", Job.CANCELLED)}),
    "export_dataset": with_body({"format": "jsonl", "layer": "import"}, corpus="quay"),
    "export_campaign": with_body(
        {"format": "jsonl", "unfinished": "include", "simulated": True}, campaign="quay"
    ),
    "export_bundle": with_body({"simulated": True}, campaign="quay"),
    "open_caption_checks": with_body({"name": "checks"}, corpus="quay"),
    "publish_captions": with_body({"name": "described"}, campaign="captions"),
    "download_export": lambda: ValidCall({"job": _job("export_dataset", Job.DONE)}),
    "export_answers": at(campaign="quay"),
    "learn_links": with_body({"corpus": "quay", "layer": "import"}, campaign="quay"),
    "show_protocol": nothing,
    "export_proposals": lambda: ValidCall(
        {"campaign": "quay", "model_annotator": _model_annotator().path_values["model_annotator"]}
    ),
    "import_proposals": lambda: ValidCall(
        {"campaign": "quay", "model_annotator": _model_annotator().path_values["model_annotator"]},
        files={"file": ("boxes.jsonl", b"{}")},
    ),
    "set_model_address": lambda: ValidCall(
        _model_annotator().path_values, body={"address": "https://93.184.215.14/predict"}
    ),
    "ask_model": lambda: _at_an_address({}),
    "list_model_calls": lambda: _at_an_address(None),
    "export_judgment_table": at(campaign="quay"),
    "export_mention_table": at(corpus="quay", layer="import"),
    "show_me": nothing,
    "list_accounts": with_query({"who": "staff", "state": "active"}),
    "show_account": at(account="researcher"),
    "deactivate_account": lambda: ValidCall({"account": _stranger(active=True)}),
    "reactivate_account": lambda: ValidCall({"account": _stranger(active=False)}),
    "list_audit": with_query({"group": "people"}),
    "list_tokens": nothing,
    "revoke_token": _token,
    "delete_corpus": _spare_corpus,
    "list_model_annotators": at(campaign="quay"),
    "add_model_annotator": with_body({"name": "drawer"}, campaign="quay"),
    "model_annotator_saving": at(campaign="quay"),
    "train_model_annotator": _model_annotator,
    "list_studies": at(campaign="quay"),
    "save_study": with_body({"platform": "prolific", "study": "another", "answers": 3}, campaign="quay"),
    "list_uploads": nothing,
    "begin_upload": with_body({"name": "sent-now", "files": [{"path": "a.csv", "size": 40}]}),
    "show_upload": _upload(b"x"),
    "send_upload_part": _part,
    "check_upload": _upload(_CSV, body={"format": "csv"}),
    "import_upload": _checked,
    "download_upload_problems": _checked,
    "remove_upload": _upload(),
    "localize": _localizing,
    "list_localization_sets": nothing,
    "compare_localizations": with_body({"sets": ["found"], "layer": "import"}),
    "import_localizations": lambda: ValidCall(
        body={"name": "sent-regions", "corpus": "quay", "split": "test"},
        files={"file": ("sent.jsonl", _localized())},
    ),
    "show_localization_set": at(localization_set="found"),
    "remove_localization_set": lambda: _spare(LocalizationSet, "found", "localization_set"),
    "download_localization_set": at(localization_set="found"),
    "score_localization": with_body({"layer": "import"}, localization_set="found"),
    "tag": _tagging,
    "list_tag_sets": nothing,
    "compare_tags": with_body({"sets": ["tagged"], "missing": "leave-out"}),
    "import_tags": lambda: ValidCall(
        body={"name": "sent-tags", "corpus": "quay", "licence": "CC0"},
        files={"file": ("sent.jsonl", b'{"image": "scene-1.png", "tags": [["dog", 0.5]]}\n')},
    ),
    "judge_tags": with_body({"name": "tag-candidates", "sets": ["tagged"]}),
    "show_tag_set": at(tag_set="tagged"),
    "remove_tag_set": lambda: _spare(TagSet, "tagged", "tag_set"),
    "download_tag_set": at(tag_set="tagged"),
    "score_tags": with_body({"tag_set": "tagged", "split": "test"}),
    "import_parses": with_body({"corpus": "quay", "file": "quay.conllu"}),
    "train_word_vectors": with_body(
        {"corpus": "quay", "name": "own-words", "split": "all", "dimensions": 4, "epochs": 1}
    ),
    "rank_tags": with_body({"corpus": "quay", "unit": "nouns"}),
    "list_weak_collections": nothing,
    "import_weak_collection": with_body({"name": "another", "file": "weak.csv"}),
    "import_collection_features": with_body({"name": "cnn", "file": "weak.npz"}, collection="weak"),
    "list_webhooks": nothing,
    "make_webhook": with_body(
        {"name": "bot", "address": "https://hooks.example.org/", "events": ["job.ended"], "corpus": "quay"}
    ),
    "show_webhook": _webhook(),
    "change_webhook": _webhook(body={"active": False, "events": ["alarm.raised"]}),
    "remove_webhook": _webhook(),
    "renew_webhook_secret": _webhook(),
    "test_webhook": _webhook(),
    "list_deliveries": _log,
    "send_delivery_again": _line,
    "list_alarm_subscriptions": nothing,
    "subscribe_to_alarms": with_body({"campaign": "quay"}),
    "unsubscribe_from_alarms": _subscription,
    "operations": nothing,
    "show_server": nothing,
    "send_test_mail": nothing,
    "list_systems": nothing,
    "train_system": with_body(
        {
            "name": "first",
            "corpus": "quay",
            "recipe": sorted(TABLE_11)[0],
            "train": "train",
        }
    ),
    "evaluate": with_body({"corpus": "quay", "recipes": [sorted(TABLE_11)[0]], "systems": ["spare"]}),
    "show_system": at(system="good"),
    "archive_system": with_body({"archived": True}, system="good"),
    "remove_system": _unused_system,
    "rank": with_body({"split": "test"}, system="spare"),
    "add_system": lambda: ValidCall(
        body={"name": "sent", "corpus": "quay", "format": "scores"},
        files={"file": ("sent.npz", _scores())},
    ),
    "generate_captions": _writing,
    "decode_alignments": with_body({"layer": "aligned", "split": "test", "beta": 1.0}, system="good"),
    "list_caption_sets": nothing,
    "compare_captions": with_body({"sets": ["written"], "measures": ["BLEU-1"]}),
    "import_captions": lambda: ValidCall(
        body={"name": "sent-captions", "corpus": "quay"},
        files={"file": ("sent.csv", b"image,caption\nscene-1.png,a dog\n")},
    ),
    "show_caption_set": at(caption_set="written"),
    "remove_caption_set": lambda: _spare(CaptionSet, "written", "caption_set"),
    "download_caption_set": at(caption_set="written"),
    "judge_captions": with_body({"name": "candidates", "sets": ["written"], "people": 1, "images": 1}),
    "extract_features": with_body({"name": "net", "corpus": "quay", "weights": "colours.onnx"}),
    "extract_regions": lambda: ValidCall(
        body={"name": "given", "corpus": "quay", "extractor": "layout", "method": "file"},
        files={"boxes": ("x.csv", b"image,xmin,ymin,xmax,ymax\nscene-0.png,1,1,9,9\n")},
    ),
    "remove_features": _feature_set,
    "import_features": lambda: ValidCall(
        body={"name": "sent-set", "corpus": "quay", "kind": "image"},
        files={"file": ("x.npz", _vectors())},
    ),
    "list_recipes": nothing,
    "list_features": nothing,
    "list_runs": nothing,
    "import_run": lambda: ValidCall(
        body={"name": "sent-run", "corpus": "quay", "direction": "annotation"},
        files={"file": ("x.trec", TREC)},
    ),
    "show_run": at(run="good-annotation"),
    "archive_run": with_body({"archived": True}, run="good-annotation"),
    "remove_run": lambda: ValidCall({"run": _spare_run()}),
    "export_run": at(run="good-annotation"),
    "score_run": with_query({"qrels": "own"}, run="good-annotation"),
    "export_values": with_query({"runs": _RUNS[:1], "qrels": "own"}),
    "list_queries": with_query({"qrels": "own", "order": "worst", "limit": 2}, run="good-annotation"),
    "show_query": lambda: ValidCall({"run": "good-annotation", "query": _query()}, {"qrels": "own"}),
    "compare_runs": with_query({"runs": _RUNS, "qrels": "own"}),
    "list_judgment_sets": nothing,
    "show_judgments": at(judgments="quay:graded"),
    "agreement": with_body({"judgments": "quay:graded", "resamples": 20}),
    "remove_judgments": at(judgments="graded"),
    "import_judgments": lambda: ValidCall(
        body={"name": "sent-grades", "corpus": "quay", "format": "table", "scale": "0-5"},
        files={"file": ("grades.csv", GRADES)},
    ),
    "list_qrels": nothing,
    "freeze_qrels": with_body({"name": "second", "corpus": "quay", "protocol": "first caption"}),
    "import_qrels": lambda: ValidCall(
        body={"name": "sent-qrels", "corpus": "quay", "format": "trec"}, files={"file": ("x.qrels", QRELS)}
    ),
    "show_qrels": at(qrels="own"),
    "remove_qrels": _frozen,
    "export_qrels": at(qrels="own:1"),
    "list_batches": nothing,
    "open_batch": with_body({**_BATCH, "name": "another"}),
    "plan_batch": with_body(_BATCH),
    "batch_status": at(batch="batch"),
    "archive_batch": with_body({"archived": True}, batch="batch"),
    "collect_judgments": with_body({}, batch="batch"),
    "settle_batch": with_body({"qrels": "settled"}, batch="batch"),
    "plan_reassignment": at(batch="batch"),
    "reassign_pages": with_body({}, batch="batch"),
    "next_round": _in_rounds,
    "list_reports": nothing,
    "build_report": with_body(
        {"name": "summer", "qrels": "own", "runs": _RUNS, "rounds": 50, "resamples": 20}
    ),
    "show_report": at(report="spring"),
    "archive_report": with_body({"archived": True}, report="spring"),
    "remove_report": _report,
    "download_report": at(report="spring"),
}
