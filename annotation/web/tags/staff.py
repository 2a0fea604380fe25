"""Template tags of the header and of campaigns: the visible parts of the site, and shares as percentages."""

from typing import Any, NamedTuple

from django import template
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.common.operations import operation_named
from annotation.common.roles import ANNOTATOR, ROLE_NAMES
from annotation.selectors.campaign.summaries import reason_in_words
from annotation.web.common.parts import PARTS
from annotation.web.common.request_forms import RequestForm
from annotation.workers import sessions

register = template.Library()
register.filter("in_words", reason_in_words)


class _Link(NamedTuple):
    """A part of the site in the header; `here` if the page belongs to it."""

    name: str
    address: str
    here: bool


@register.simple_tag(takes_context=True)
def places(context: dict[str, Any]) -> list[_Link]:
    """Return the parts of the site that are open to the caller; none if there is only one."""
    request = context["request"]
    # Sessions from the address of a crowd platform may only work.
    by_address = sessions.by_address(request.session)
    links = [
        (str(part.title), reverse(part.route), part.key)
        for part in PARTS
        if part.is_open_to(request.user) and (part.roles == (ANNOTATOR,) or not by_address)
    ]
    if by_address:
        links.append((_("Finish"), reverse("visit"), "visit"))
    part = request.path.strip("/").split("/")[0].removeprefix("open-")
    return (
        [_Link(name, address, (part or "corpora").startswith(key)) for name, address, key in links]
        if len(links) > 1
        else []
    )


@register.simple_tag(takes_context=True)
def may_read_docs(context: dict[str, Any]) -> bool:
    """Whether the caller may open the documentation: signed in, and not by a crowd platform's address."""
    request = context["request"]
    # A request that is rejected before its user is known has no user.
    user = getattr(request, "user", None)
    return user is not None and user.is_authenticated and not sessions.by_address(request.session)


@register.inclusion_tag("operations/field.html", takes_context=True)
def sure(context: dict[str, Any], operation: str) -> dict[str, Any]:
    """Render the checkbox that confirms an irreversible operation."""
    form = RequestForm(operation_named(operation), context["request"].user, ids=f"{operation}-%s")
    return {"field": form["sure"]}


@register.inclusion_tag("operations/settings.html")
def settings_fields(form: RequestForm, name: str) -> dict[str, Any]:
    """Return the settings in the table of a form's field, in groups; those with changes or errors are
    open."""
    groups: dict[str, tuple[list[Any], bool]] = {}
    for part in form.settings[name]:
        field = form[f"{name}.{part.name}"]
        typed = "" if field.value() is None else str(field.value())
        changed = bool(field.errors) or part.read(typed) != part.default_value
        fields, is_open = groups.get(str(part.group), ([], False))
        groups[str(part.group)] = ([*fields, field], is_open or changed)
    return {"groups": [(title, *rest) for title, rest in groups.items()], "toml": form[name]}


@register.filter
def role_name(role: str) -> str:
    """Return the label of a role; other values unchanged."""
    return str(ROLE_NAMES.get(role, role))


@register.filter
def percent(share: float) -> str:
    """Return 0.947 as 95 %, with a non-breaking space; never 100 % or 0 % if it is not exactly that."""
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        rounded = 99
    if rounded == 0 and share > 0:
        rounded = 1
    return f"{rounded}\N{NO-BREAK SPACE}%"
