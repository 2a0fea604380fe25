"""What the header and the templates of campaigns need: where one may go, and shares as percentages."""

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
    """A part of the site, as the header links it; `here` where the page is part of it."""

    name: str
    address: str
    here: bool


@register.simple_tag(takes_context=True)
def places(context: dict[str, Any]) -> list[_Link]:
    """The parts of the site that are open to the caller; none where there is only one."""
    request = context["request"]
    # Who came by the address of a crowd platform may only work.
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
    # A request that is refused before anybody knows whose it is has no user.
    user = getattr(request, "user", None)
    return user is not None and user.is_authenticated and not sessions.by_address(request.session)


@register.inclusion_tag("operations/field.html", takes_context=True)
def sure(context: dict[str, Any], operation: str) -> dict[str, Any]:
    """The box that is ticked before an operation is done which nothing brings back."""
    form = RequestForm(operation_named(operation), context["request"].user, ids=f"{operation}-%s")
    return {"field": form["sure"]}


@register.inclusion_tag("operations/settings.html")
def settings_fields(form: RequestForm, name: str) -> dict[str, Any]:
    """The settings in the table that a form's field holds, in groups; those that are changed, or wrong, are
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
    """A role in words; what is none, as it is."""
    return str(ROLE_NAMES.get(role, role))


@register.filter
def percent(share: float) -> str:
    """0.947 as 95 %, with a space that does not break; never 100 % or 0 % where it is not quite that."""
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        rounded = 99
    if rounded == 0 and share > 0:
        rounded = 1
    return f"{rounded}\N{NO-BREAK SPACE}%"
