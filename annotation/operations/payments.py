"""Payments: what workers are due, that they were paid, bonuses, lists for crowd platforms."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from annotation.operations.texts import payments as texts
from annotation.workers import approvals, bonuses
from annotation.workers.payments import PaymentError
from annotation.workers.requests import paying

_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_TAG = "payments"
_PATH = "campaigns/<slug:campaign>"
_POSITIONAL = CommandLine(positional=("campaign",))

register(
    title=_("List what workers are due"),
    result=paying.WorkerDue,
    permission=_ON_CAMPAIGN,
    run=paying.list_dues,
    listed=True,
    rest=Rest("GET", f"{_PATH}/dues", _TAG),
    command=CommandLine(positional=("campaign",), text=texts.dues_text),
)
register(
    title=_("List payments"),
    result=paying.Payment,
    permission=_ON_CAMPAIGN,
    run=paying.list_payments,
    listed=True,
    rest=Rest("GET", f"{_PATH}/payments", _TAG, route="payments"),
    command=_POSITIONAL,
)
register(
    title=_("Record that workers were paid"),
    permission=_ON_CAMPAIGN,
    run=paying.pay_workers,
    errors=(PaymentError,),
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/payments",
        _TAG,
        route="payments",
        example={"reference": "2027-03", "workers": ["calm-otter-17"]},
    ),
    command=CommandLine(positional=("campaign",), text=texts.paid_text),
    page=FormPage(done=texts.paid_message),
)
register(
    title=_("Record that a worker was paid"),
    permission=_ON_CAMPAIGN,
    run=paying.pay_worker,
    errors=(PaymentError,),
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/workers/<str:worker>/payments",
        _TAG,
        example={"reference": "2027-03", "amount": "12.50"},
    ),
    command=CommandLine(positional=("campaign", "worker"), text=texts.paid_text),
    page=FormPage(done=texts.paid_message),
)
register(
    title=_("Void a payment"),
    permission=_ON_CAMPAIGN,
    run=paying.void_payment,
    errors=(PaymentError,),
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/payments/<int:payment>/void",
        _TAG,
        example={"reason": "The bank sent it back."},
    ),
    command=CommandLine(positional=("campaign", "payment")),
    page=FormPage(done=texts.voided_message),
)
register(
    title=_("List bonuses"),
    result=bonuses.BonusSummary,
    permission=_ON_CAMPAIGN,
    run=bonuses.list_bonuses,
    listed=True,
    rest=Rest("GET", f"{_PATH}/bonuses", _TAG, route="bonuses"),
    command=_POSITIONAL,
)
register(
    name="give_bonus",
    title=_("Give workers a bonus"),
    permission=_ON_CAMPAIGN,
    run=bonuses.give_bonuses,
    errors=(PaymentError,),
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/bonuses",
        _TAG,
        route="bonuses",
        example={"workers": ["calm-otter-17"], "amount": "1.50", "reason": "Patience with the pilot"},
    ),
    command=_POSITIONAL,
    page=FormPage(done=texts.bonus_message),
)
register(
    name="withdraw_bonus",
    title=_("Withdraw a bonus"),
    permission=_ON_CAMPAIGN,
    run=bonuses.take_bonus_back,
    errors=(PaymentError,),
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/bonuses/<int:bonus>/withdraw",
        _TAG,
        example={"reason": "Given to the wrong worker."},
    ),
    command=CommandLine(positional=("campaign", "bonus")),
    page=FormPage(done=_("Bonus withdrawn.")),
)
register(
    title=_("Export the ledger"),
    result=File("text/csv", replaces=True),
    permission=_ON_CAMPAIGN,
    run=paying.export_ledger,
    rest=Rest("GET", f"{_PATH}/ledger.csv", _TAG, route="ledger"),
    command=_POSITIONAL,
    page=FormPage(),
)
register(
    title=_("Export a list for a crowd platform"),
    result=File("text/csv"),
    permission=_ON_CAMPAIGN,
    run=approvals.export_platform_list,
    errors=(PaymentError,),
    rest=Rest(
        "POST",
        f"{_PATH}/platform-list",
        _TAG,
        example={"platform": "prolific", "list": "submissions"},
    ),
    command=CommandLine(positional=("campaign", "platform", "list")),
    page=FormPage(),
)
