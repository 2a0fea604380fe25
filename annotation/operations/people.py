"""People: their accounts and roles, invitations of staff, second factors, the audit."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest, register
from annotation.common.roles import ADMIN
from annotation.jobs import emails
from annotation.selectors.people import accounts, audit
from annotation.workers.accounts import activation, granting, inviting, second_factor

_ADMINS = Has((ADMIN,), server=True)
_PATH = "people/<str:account>"
_ROLE = CommandLine(positional=("account", "role"))

register(
    title=_("List accounts"),
    result=accounts.AccountSummary,
    permission=_ADMINS,
    run=accounts.list_accounts,
    rest=Rest("GET", "people", "people", route="people"),
)
register(
    title=_("Show an account"),
    permission=_ADMINS,
    run=accounts.show_account,
    rest=Rest("GET", _PATH, "people", route="person"),
)
register(
    title=_("Deactivate an account"),
    permission=_ADMINS,
    run=activation.deactivate_account,
    confirms=True,
    rest=Rest("POST", f"{_PATH}/deactivate", "people"),
    page=FormPage(done=_("Account deactivated.")),
)
register(
    title=_("Reactivate an account"),
    permission=_ADMINS,
    run=activation.reactivate_account,
    confirms=True,
    rest=Rest("POST", f"{_PATH}/reactivate", "people"),
    page=FormPage(done=_("Account reactivated.")),
)
register(
    title=_("Send a link to a new password"),
    permission=_ADMINS,
    run=emails.send_password_link,
    confirms=True,
    command=None,
    page=FormPage(done=_("An e-mail with a link to a new password is on its way.")),
)
register(
    title=_("Make a link to a new password"),
    permission=_ADMINS,
    run=activation.make_password_link,
    confirms=True,
    secret="link",
    command=None,
    page=FormPage(
        done=_(
            "Hand this link over yourself, by a way that only they read. It works once, within three "
            "days, and is not shown again."
        )
    ),
)
register(
    title=_("Reset a second factor"),
    permission=_ADMINS,
    run=second_factor.reset_second_factor,
    confirms=True,
    command=CommandLine(positional=("account",)),
    page=FormPage(done=_("Second factor reset: they are signed out everywhere.")),
)
register(
    title=_("Choose who must have a second factor"),
    permission=_ADMINS,
    run=second_factor.set_second_factor_rule,
    confirms=True,
    command=None,
    page=FormPage(
        done=_("Saved. Accounts that were signed out, as they lack a second factor: %(signed_out)d.")
    ),
)
register(
    title=_("Grant a role"),
    permission=_ADMINS,
    run=granting.grant_role,
    confirms=True,
    command=_ROLE,
    page=FormPage(done=_("They have this role now.")),
)
register(
    name="revoke_role",
    title=_("Revoke a role"),
    permission=_ADMINS,
    run=granting.revoke_granted_role,
    confirms=True,
    command=_ROLE,
    page=FormPage(done=_("Role revoked.")),
)
register(
    name="invite_staff",
    title=_("Invite somebody who has no account"),
    permission=_ADMINS,
    run=emails.invite_by_mail,
    confirms=True,
    command=None,
    page=FormPage(done=_("Invitation created. Its link is in the list.")),
)
register(
    title=_("Revoke an invitation"),
    permission=_ADMINS,
    run=inviting.revoke_staff_invitation,
    confirms=True,
    command=None,
    page=FormPage(done=_("Invitation revoked.")),
)
register(
    title=_("List the audit log"),
    result=audit.AuditLine,
    permission=_ADMINS,
    run=audit.list_audit,
    rest=Rest("GET", "audit", "people", route="audit"),
)
