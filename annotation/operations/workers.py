"""Operations on workers: list, suspend, withdraw answers, erase."""

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.common.erasures import erasures_file
from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, register
from annotation.common.roles import ADMIN, RESEARCHER
from annotation.jobs import emails
from annotation.jobs.emails import MessagedWorkers
from annotation.moderation import worker_acts
from annotation.moderation.worker_acts import ChangedWorkers, RecomputedAnswers
from annotation.workers.accounts import country
from annotation.workers.pseudonyms import Erased
from annotation.workers.requests import erasing, listing
from annotation.workers.requests.erasing import ErasedAgain


def suspended_text(result: ChangedWorkers) -> str:
    """Return who was suspended, from what."""
    return _changed_text(result, "suspended from", "already suspended")


def reinstated_text(result: ChangedWorkers) -> str:
    """Return who was reinstated, for what."""
    return _changed_text(result, "reinstated for", "not suspended")


def suspended_message(result: ChangedWorkers) -> str:
    """Return how many were suspended."""
    message = ngettext("Suspended: %(n)d worker.", "Suspended: %(n)d workers.", len(result.changed))
    return _with_others(message, result, gettext("already suspended: %(n)d"))


def reinstated_message(result: ChangedWorkers) -> str:
    """Return how many were reinstated."""
    message = ngettext("Reinstated: %(n)d worker.", "Reinstated: %(n)d workers.", len(result.changed))
    return _with_others(message, result, gettext("not suspended: %(n)d"))


def sent_message(result: MessagedWorkers) -> str:
    """Return how many workers got a message."""
    message = ngettext(
        "Message sent to %(n)d worker: it is on their next page.",
        "Message sent to %(n)d workers: it is on their next page.",
        result.messaged,
    ) % {"n": result.messaged}
    if result.mailed:
        more = ngettext("%(n)d gets it by e-mail too.", "%(n)d get it by e-mail too.", result.mailed)
        message = f"{message} {more % {'n': result.mailed}}"
    return message


def withdrawn_text(result: RecomputedAnswers) -> str:
    """Return how many answers were withdrawn, and the consequences."""
    return _recomputed_text(result, "withdrawn", "restored")


def restored_text(result: RecomputedAnswers) -> str:
    """Return how many answers were restored, and the consequences."""
    return _recomputed_text(result, "restored", "withdrawn again")


def erased_text(erased: Erased) -> str:
    """Return what erasing a worker deleted."""
    if erased.already:
        return f"worker {erased.pseudonym} was erased before; nothing is left of them"
    account = "account deleted" if erased.account else "no account"
    return (
        f"worker {erased.pseudonym} is erased: {account}, sessions {erased.sessions}, "
        f"comments {erased.comments}, texts {erased.texts}, reasons {erased.reasons}; "
        f"the answers stay under the pseudonym\nlist of erasures: {erasures_file()}"
    )


def erased_again_text(result: ErasedAgain) -> str:
    """Return who was erased again."""
    return "\n".join(map(erased_text, result.erased)) or "nobody on the list of erasures is back"


def _changed_text(result: ChangedWorkers, did: str, already: str) -> str:
    lines = [f"{change.worker} is {did} {', '.join(change.kinds)}" for change in result.changed]
    lines += [f"{name} is {already}: nothing to do" for name in result.same]
    lines += [f"{change.worker}: {change.detail}" for change in result.skipped]
    return "\n".join(lines)


def _with_others(message: str, result: ChangedWorkers, same: str) -> str:
    """Return the message, and the numbers of those for whom nothing changed."""
    parts = [message % {"n": len(result.changed)}]
    if result.same:
        parts.append(f"({same % {'n': len(result.same)}})")
    if result.skipped:
        about = {"n": len(result.skipped), "why": result.skipped[0].detail}
        parts.append(gettext("Refused for %(n)d: %(why)s") % about)
    return " ".join(parts)


def _recomputed_text(result: RecomputedAnswers, did: str, state: str) -> str:
    lines = [f"{result.judgments} answers of {result.workers} workers in {result.images} images are {did}"]
    lines += [
        f"{name}: stopped, because they were {state} meanwhile: {', '.join(kinds)}"
        for name, kinds in result.overtaken.items()
    ]
    if result.drawers:
        lines.append(f"the status of {result.drawers} drawers changed with their verdicts")
    if result.retired:
        lines.append(f"{result.retired} control items that depended on these answers are retired:")
        lines += [f"  {item}" for item in result.items]
    return "\n".join(lines)


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
    command=CommandLine(text=suspended_text),
    page=FormPage(done=suspended_message),
)
register(
    title=_("Reinstate workers"),
    permission=_ON_CAMPAIGN,
    run=worker_acts.reinstate_workers,
    rest=Rest("POST", f"{_SEVERAL}/reinstate", _TAG, example={"workers": ["calm-otter-17"]}),
    command=CommandLine(text=reinstated_text),
    page=FormPage(done=reinstated_message),
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
    command=CommandLine(text=withdrawn_text),
    page=FormPage(started=_("Their answers are being withdrawn.")),
)
register(
    title=_("Restore workers' answers"),
    permission=_ON_CAMPAIGN,
    run=worker_acts.restore_answers,
    before_job=worker_acts.name_workers,
    as_job=True,
    rest=Rest("POST", f"{_SEVERAL}/restore", _TAG, example={"workers": ["calm-otter-17"]}),
    command=CommandLine(text=restored_text),
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
    page=FormPage(done=sent_message),
)
register(
    name="erase_worker",
    title=_("Erase a worker's personal data"),
    permission=_SERVER,
    run=erasing.erase_one,
    errors=(OSError,),
    confirms=True,
    command=CommandLine(positional=("worker",), text=erased_text),
    page=FormPage(
        done=_("Worker erased: nothing links the pseudonym to a person any more."),
        sure=_("I understand that this cannot be undone"),
    ),
)
register(
    name="correct_country",
    title=_("Correct a worker's country"),
    permission=_SERVER,
    run=country.correct_country,
    command=CommandLine(positional=("worker", "country")),
    page=FormPage(done=_("The country is stored.")),
)
register(
    name="erase_again",
    title=_("Erase again whom a restored backup brought back"),
    permission=_SERVER,
    run=erasing.erase_restored,
    errors=(OSError,),
    command=CommandLine(text=erased_again_text),
)
