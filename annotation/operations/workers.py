"""Workers: listed, suspended, their answers withdrawn, and erased."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, register
from annotation.common.roles import ADMIN, RESEARCHER
from annotation.jobs import emails
from annotation.moderation import worker_acts
from annotation.operations.texts import workers as texts
from annotation.workers.requests import erasing, listing

_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_SERVER = Has((ADMIN,), server=True)
_TAG = "workers"
_PATH = "campaigns/<slug:campaign>/workers"
_SEVERAL = "campaigns/<slug:campaign>/several-workers"

register(
    title=_("List workers"),
    result=listing.CampaignWorker,
    permission=_ON_CAMPAIGN,
    run=listing.list_workers,
    rest=Rest("GET", _PATH, _TAG, route="workers"),
)
register(
    title=_("Show a worker"),
    permission=_ON_CAMPAIGN,
    run=listing.show_worker,
    rest=Rest("GET", f"{_PATH}/<str:worker>", _TAG),
)
register(
    title=_("Export workers"),
    result=File("text/csv"),
    permission=_ON_CAMPAIGN,
    run=listing.export_workers,
    rest=Rest("GET", "campaigns/<slug:campaign>/workers.csv", _TAG),
    page=FormPage(),
)
register(
    title=_("Suspend workers"),
    permission=_ON_CAMPAIGN,
    run=worker_acts.suspend_workers,
    rest=Rest(
        "POST",
        f"{_SEVERAL}/suspend",
        _TAG,
        example={"workers": ["calm-otter-17"], "reason": "Boxes are too large."},
    ),
    command=CommandLine(text=texts.suspended_text),
    page=FormPage(done=texts.suspended_message),
)
register(
    title=_("Reinstate workers"),
    permission=_ON_CAMPAIGN,
    run=worker_acts.reinstate_workers,
    rest=Rest("POST", f"{_SEVERAL}/reinstate", _TAG, example={"workers": ["calm-otter-17"]}),
    command=CommandLine(text=texts.reinstated_text),
    page=FormPage(done=texts.reinstated_message),
)
register(
    title=_("Withdraw workers' answers"),
    permission=_ON_CAMPAIGN,
    run=worker_acts.withdraw_answers,
    before_job=worker_acts.name_workers,
    as_job=True,
    rest=Rest(
        "POST",
        f"{_SEVERAL}/withdraw",
        _TAG,
        example={"workers": ["calm-otter-17"], "reason": "Answers at random."},
    ),
    command=CommandLine(text=texts.withdrawn_text),
    page=FormPage(started=_("Their answers are being withdrawn.")),
)
register(
    title=_("Restore workers' answers"),
    permission=_ON_CAMPAIGN,
    run=worker_acts.restore_answers,
    before_job=worker_acts.name_workers,
    as_job=True,
    rest=Rest("POST", f"{_SEVERAL}/restore", _TAG, example={"workers": ["calm-otter-17"]}),
    command=CommandLine(text=texts.restored_text),
    page=FormPage(started=_("Their answers are being restored.")),
)
register(
    title=_("Send workers a message"),
    permission=_ON_CAMPAIGN,
    run=emails.message_workers,
    rest=Rest(
        "POST",
        "campaigns/<slug:campaign>/messages",
        _TAG,
        example={
            "workers": ["calm-otter-17"],
            "text": "Please draw boxes tighter: see the new examples.",
        },
    ),
    command=None,
    page=FormPage(done=texts.sent_message),
)
register(
    name="erase_worker",
    title=_("Erase a worker's personal data"),
    permission=_SERVER,
    run=erasing.erase_one,
    errors=(OSError,),
    confirms=True,
    command=CommandLine(positional=("worker",), text=texts.erased_text),
    page=FormPage(
        done=_("Worker erased: nothing links the pseudonym to a person any more."),
        sure=_("I understand that this cannot be undone"),
    ),
)
register(
    name="erase_again",
    title=_("Erase again whom a restored backup brought back"),
    permission=_SERVER,
    run=erasing.erase_restored,
    errors=(OSError,),
    command=CommandLine(text=texts.erased_again_text),
)
