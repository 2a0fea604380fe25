"""Forms on a system's page that have it predict something."""

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.common.operations import operation_named
from annotation.web.common.access import account_of
from annotation.web.common.request_forms import RequestForm
from evaluation.models import System
from evaluation.services.captions.writing import writes_captions
from evaluation.services.image_choice import layer_names
from evaluation.services.localizations.predicting import localizes
from evaluation.services.predicting import method_of, region_sets
from evaluation.services.tagging.writing import OF_CORPUS, ways_to_rank_tags
from evaluation.web.page_context import set_choices, suggest_splits


def writing_form(request: HttpRequest, system: System) -> RequestForm | None:
    """The form that has a system write captions; None where it does not."""
    if not writes_captions(system):
        return None
    form = _form(request, system, "generate_captions", "name", "split", "regions", "beam", "limit")
    sets = [region_set.label for region_set in region_sets(system.corpus.name)]
    set_choices(form, "regions", sets, none=_("as in the training"))
    return form


def localizing_form(request: HttpRequest, system: System) -> RequestForm | None:
    """The form that has a system localize phrases; None where it does not, or has no regions to rank."""
    if not (localizes(system) and (proposed := proposal_sets_of(system))):
        return None
    form = _form(request, system, "localize", "name", "split", "seed", "regions", "layer")
    set_choices(form, "regions", proposed)
    set_choices(form, "layer", layer_names(system.corpus), none=_("as in the training"))
    return form


def tagging_form(request: HttpRequest, system: System) -> RequestForm | None:
    """The form that has a system tag images; None where it does not."""
    if not (ways := ways_to_rank_tags(system)):
        return None
    scores = ("score",) if len(ways) > 1 else ()
    form = _form(request, system, "tag", "name", "split", "vocabulary", *scores, "top")
    vocabulary = form.fields["vocabulary"].widget
    titles = {"": _("those it learned from"), OF_CORPUS: _("all of the corpus’s captions")}
    vocabulary.choices = [(value, titles.get(value, value)) for value, _title in vocabulary.choices]
    if scores:
        set_choices(form, "score", ways)
    return form


def compares_parts(system: System) -> bool:
    """Whether a system looks at regions of the images that it ranks."""
    method = method_of(system)
    return method is not None and method.grounding == "ranking"


def proposal_sets_of(system: System) -> list[str]:
    """The sets of regions of its corpus that nobody drew, by their labels."""
    return [region_set.label for region_set in region_sets(system.corpus.name, proposed=True)]


def _form(request: HttpRequest, system: System, operation: str, *fields: str) -> RequestForm:
    form = RequestForm(operation_named(operation), account_of(request), fields_shown=fields)
    form.auto_id = f"{operation}-%s"
    form.fields["name"].widget.attrs["placeholder"] = system.name
    suggest_splits(form, "split")
    return form
