"""Labels of stages, kinds of questions, reasons, answers and reports for staff."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import AuditEntry, Campaign
from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.state import LINKING, UNSEEN, VERIFICATION
from annotation.quality.controls import ControlItemName
from annotation.task_types.base import TASK_TYPES, TranslatableText
from annotation.task_types.wording import answer_in_words as answer_in_words
from annotation.task_types.wording import kind_in_words as kind_in_words
from annotation.workers.platform_visits import MTURK, PROLIFIC

#: Labels of the stages of a chain.
STAGES_IN_WORDS = {
    LINKING: gettext_lazy("open: links"),
    VERIFICATION: gettext_lazy("open: verification"),
    loop.REQUIREMENT: gettext_lazy("open: requirement"),
    loop.DRAWING: gettext_lazy("open: drawing"),
    loop.QUALITY: gettext_lazy("open: quality"),
    loop.COVERAGE: gettext_lazy("open: coverage"),
    loop.REVIEW: gettext_lazy("in review"),
    loop.BOXED: gettext_lazy("boxed"),
    loop.NON_VISUAL: gettext_lazy("nothing to box"),
    loop.EXCLUDED: gettext_lazy("excluded"),
    UNSEEN: gettext_lazy("boxes not asked for"),
}

#: What a platform's rules say about rejecting work there.
REJECTION_RULES = {
    PROLIFIC: gettext_lazy(
        "Prolific: only a whole submission can be rejected, within 21 days, and only for answers that are "
        "far too fast, skipped questions, failed attention checks or a clear lack of effort."
    ),
    MTURK: gettext_lazy(
        "Mechanical Turk: only a whole assignment can be rejected, with a reason, before it is approved by "
        "itself (30 days at most); each rejection lowers the worker's approval rate."
    ),
}


def kinds_in_words(campaign: Campaign) -> list[tuple[str, TranslatableText]]:
    """Return the kinds of a campaign, for choices and tables."""
    return [(kind, kind_in_words(kind)) for kind in campaign.kinds]


def question_in_words(kind: str) -> TranslatableText:
    """Return the question of a kind, in a few words."""
    return TASK_TYPES.get(kind).question_words if kind in TASK_TYPES else kind


#: Labels of the ways of drawing a box, for tables.
DRAWING_WAYS_IN_WORDS = {
    "drag": gettext_lazy("dragged"),
    "extreme": gettext_lazy("four extreme points"),
    "keys": gettext_lazy("by keys"),
    "fields": gettext_lazy("typed"),
    "": gettext_lazy("not known"),
}
#: Why a chain is in review: a word for lists, and a sentence for the reviewer.
REASONS_IN_WORDS = {
    "refused": gettext_lazy("rejected"),
    "flagged": gettext_lazy("reported"),
    "fruitless": gettext_lazy("no box found"),
    "crowded": gettext_lazy("too many boxes"),
}
REASONS_EXPLAINED = {
    "refused": gettext_lazy(
        "A worker says that these mentions are not one thing. They all share one head noun, so words cannot "
        "split them. Keep them as one chain, or say which belong together."
    ),
    "flagged": gettext_lazy(
        "Workers reported it instead of answering. Read what they said, then close it, draw its boxes, or "
        "ask workers again."
    ),
    "fruitless": gettext_lazy(
        "Several times in a row, workers found no box or rejected one. Draw its boxes, or say that there is "
        "nothing to box."
    ),
    "crowded": gettext_lazy(
        "It has as many boxes as a chain may have, and workers see more to box. Set its boxes, or say that "
        "there are too many to count."
    ),
}
#: Labels of reports.
FLAGS_IN_WORDS = {
    "chunk_wrong": gettext_lazy("words marked wrongly"),
    "image_missing": gettext_lazy("picture missing"),
    "offensive": gettext_lazy("offensive"),
}
ANSWER_ROLES_IN_WORDS = {
    q.DOUBLE_CHECK: gettext_lazy("second opinion"),
    q.EXTRA: gettext_lazy("late"),
}
#: Labels of staff's acts in the audit log.
ACTS = {
    "create_campaign": gettext_lazy("created the draft"),
    "open_images": gettext_lazy("opened images"),
    "drop_planned_images": gettext_lazy("left images out that were to be opened"),
    "plan_images": gettext_lazy("chose images to be opened"),
    "open_campaign": gettext_lazy("opened the campaign"),
    "pause_campaign": gettext_lazy("paused the campaign"),
    "invite": gettext_lazy("created an invitation link"),
    "save_study": gettext_lazy("set up a study on a platform"),
    "revoke_invitation": gettext_lazy("revoked an invitation link"),
    "open_to_all": gettext_lazy("set whether every annotator may work on it"),
    "grant_role": gettext_lazy("granted a role"),
    "revoke_role": gettext_lazy("revoked a role"),
    "invite_staff": gettext_lazy("invited a member of staff"),
    "revoke_staff_invitation": gettext_lazy("revoked an invitation of staff"),
    "first_account": gettext_lazy("created the first account"),
    "deactivate_account": gettext_lazy("deactivated an account"),
    "reactivate_account": gettext_lazy("reactivated an account"),
    "send_password_link": gettext_lazy("had a link to a new password sent"),
    "make_password_link": gettext_lazy("made a link to a new password"),
    "change_email": gettext_lazy("changed their e-mail address"),
    "add_second_factor": gettext_lazy("turned on a second factor"),
    "remove_second_factor": gettext_lazy("turned off a second factor"),
    "reset_second_factor": gettext_lazy("reset a second factor"),
    "renew_recovery_codes": gettext_lazy("made new recovery codes"),
    "use_recovery_code": gettext_lazy("signed in by a recovery code"),
    "set_second_factor_rule": gettext_lazy("changed who must have a second factor"),
    "connect_sign_in": gettext_lazy("connected another way to sign in"),
    "disconnect_sign_in": gettext_lazy("disconnected another way to sign in"),
    "erase_worker": gettext_lazy("erased a person"),
    "correct_country": gettext_lazy("corrected a worker's country"),
    "draw_error_sample": gettext_lazy("drew a sample to look for errors"),
    "join_worker": gettext_lazy("joined two pseudonyms of one person"),
    "confirm_visit": gettext_lazy("confirmed who came from a platform"),
    "import_corpus": gettext_lazy("imported a corpus"),
    "add_images": gettext_lazy("added images to a corpus"),
    "publish_captions": gettext_lazy("published captions as a corpus"),
    "delete_corpus": gettext_lazy("deleted a corpus"),
    "withdraw_picture": gettext_lazy("withdrew a picture"),
    "set_licence": gettext_lazy("changed the licence of a corpus"),
    "set_pictures_may_leave": gettext_lazy("changed whether pictures may leave the server"),
    "mark_phrases": gettext_lazy("marked the phrases of an image"),
    "restore": gettext_lazy("restored a backup"),
    "add_model_annotator": gettext_lazy("added a model annotator"),
    "set_model_address": gettext_lazy("set the address of a model"),
    "remove_caption_set": gettext_lazy("deleted captions"),
    "remove_features": gettext_lazy("deleted a feature set"),
    "remove_localization_set": gettext_lazy("deleted localizations"),
    "remove_judgments": gettext_lazy("deleted judgments"),
    "remove_qrels": gettext_lazy("deleted qrels"),
    "remove_report": gettext_lazy("deleted a report"),
    "remove_run": gettext_lazy("deleted a run"),
    "remove_system": gettext_lazy("deleted a system"),
    "remove_tag_set": gettext_lazy("deleted tags"),
    "add_system": gettext_lazy("added a system"),
    "add_run": gettext_lazy("added a run"),
    "add_judgments": gettext_lazy("added judgments"),
    "freeze_qrels": gettext_lazy("froze qrels"),
    "build_report": gettext_lazy("built a report"),
    "archive_system": gettext_lazy("archived a system"),
    "archive_run": gettext_lazy("archived a run"),
    "archive_batch": gettext_lazy("archived a batch"),
    "archive_report": gettext_lazy("archived a report"),
    "unarchive_system": gettext_lazy("brought a system back into the lists"),
    "unarchive_run": gettext_lazy("brought a run back into the lists"),
    "unarchive_batch": gettext_lazy("brought a batch back into the lists"),
    "unarchive_report": gettext_lazy("brought a report back into the lists"),
    "make_token": gettext_lazy("made an API token"),
    "revoke_token": gettext_lazy("revoked an API token"),
    "resume_campaign": gettext_lazy("resumed the campaign"),
    "close_campaign": gettext_lazy("closed the campaign"),
    "archive_campaign": gettext_lazy("archived the campaign"),
    "unarchive_campaign": gettext_lazy("brought the campaign back into the lists"),
    "go_on_with_all": gettext_lazy("continued with all images after a pilot"),
    "duplicate_campaign": gettext_lazy("duplicated another campaign"),
    "delete_campaign": gettext_lazy("deleted the campaign"),
    "set_stop_rules": gettext_lazy("changed the stop rules"),
    "change_settings": gettext_lazy("changed the settings"),
    "prioritise_images": gettext_lazy("changed which images come first"),
    "learn_links": gettext_lazy("learned likely links from a corpus"),
    "change_answer": gettext_lazy("changed an answer"),
    "set_instructions": gettext_lazy("published a text"),
    "add_control_items": gettext_lazy("added control items"),
    "retire_control_items": gettext_lazy("retired control items"),
    "rule": gettext_lazy("made a ruling"),
    "withdraw_ruling": gettext_lazy("withdrew a ruling"),
    "review_answers": gettext_lazy("reviewed answers"),
    "resolve_flag": gettext_lazy("handled a report"),
    "suspend_worker": gettext_lazy("suspended a worker"),
    "reinstate_worker": gettext_lazy("reinstated a worker"),
    "withdraw_worker_answers": gettext_lazy("withdrew a worker's answers"),
    "restore_worker_answers": gettext_lazy("restored a worker's answers"),
    "pay_worker": gettext_lazy("paid a worker"),
    "void_payment": gettext_lazy("voided a payment"),
    "give_bonus": gettext_lazy("gave a bonus"),
    "withdraw_bonus": gettext_lazy("withdrew a bonus"),
    "message_workers": gettext_lazy("sent a message to workers"),
    "download_identities": gettext_lazy("downloaded ids of a crowd platform"),
    "mark_simulated": gettext_lazy("marked the campaign as simulated"),
    "make_webhook": gettext_lazy("made a webhook"),
    "change_webhook": gettext_lazy("changed a webhook"),
    "renew_webhook_secret": gettext_lazy("gave a webhook a new secret"),
    "remove_webhook": gettext_lazy("removed a webhook"),
    "send_webhook_again": gettext_lazy("sent a webhook's event again"),
    "subscribe_to_alarms": gettext_lazy("asked for alarms by e-mail"),
    "unsubscribe_from_alarms": gettext_lazy("ended alarms by e-mail"),
    "cancel_job": gettext_lazy("cancelled a job"),
    "resume_job": gettext_lazy("resumed a job"),
}
#: Labels of the purposes and sources of control items.
PURPOSES = {
    "control": gettext_lazy("mixed into the work"),
    "qualification": gettext_lazy("for the test"),
}
SOURCES = {
    "gold": gettext_lazy("a layer"),
    "page": gettext_lazy("by page"),
    "api": gettext_lazy("by API"),
    "csv": gettext_lazy("a file"),
    "promoted": gettext_lazy("agreement"),
    "copied": gettext_lazy("agreement in another campaign"),
    "captions": gettext_lazy("captions"),
}


#: Actors of acts without an account.
_WITHOUT_ACTOR = {
    AuditEntry.CHANGE_ANSWER: gettext_lazy("by a worker’s change of an answer"),
    AuditEntry.THEMSELVES: gettext_lazy("by the worker"),
    AuditEntry.PLATFORM: gettext_lazy("by a crowd platform’s word"),
}


def done_by(entry: AuditEntry) -> str:
    """Return the actor of a line of the audit log: an account, or else a worker, a crowd platform or a
    command."""
    if entry.actor_name or entry.actor:
        return entry.actor_name or str(entry.actor)
    because = entry.about.get("because")
    return str(_WITHOUT_ACTOR[because]) if because in _WITHOUT_ACTOR else _("by command")


def item_in_words(item: ControlItemName) -> str:
    """Return a control item in words: its question, its image, and its answer."""
    return f"{kind_in_words(item.kind)}, {item.image}, {answer_in_words(item.kind, item.answer)}"
