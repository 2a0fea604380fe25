"""What is known of the words of captions: the forms that import parses and train word vectors, and the
parses that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from annotation import jobs
from annotation.common.operations import operation_named
from annotation.common.registry import UnknownName
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.frame import said
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.features.parses import ParsedCaptions, stored_parses
from evaluation.services.features.word_training import ALL_CAPTIONS, WordTraining, images_read
from evaluation.web import offered
from evaluation.web.frame import text_parameter
from evaluation.web.server_files import path_of_file, server_files
from evaluation.web.splits import NotOffered, part_in, whole_in
from models_core.checked_fields import field_rules

#: What the form calls the settings of a training of word vectors.
_LABELS: dict[str, Promise] = {
    "dimensions": gettext_lazy("Numbers of a vector"),
    "window": gettext_lazy("Words to either side that are predicted"),
    "negative": gettext_lazy("Wrong words beside each right one"),
    "epochs": gettext_lazy("How often the captions are read"),
    "least": gettext_lazy("How often a word comes at least, to get a vector"),
    "seed": gettext_lazy("Seed of the training"),
}


@dataclass(frozen=True, slots=True)
class NumberField:
    """A whole number that a form asks for; without `most` it has no upper bound."""

    name: str
    label: Promise
    usual: int
    least: int
    most: int | None

    def in_form(self, given: Mapping[str, str]) -> int:
        """The number that a form gives, or the usual one; raises NotOffered for what is out of bounds."""
        number = whole_in(given, self.name, default=self.usual)
        if number >= self.least and (self.most is None or number <= self.most):
            return number
        told = {"label": self.label, "given": number, "least": self.least, "most": self.most}
        if self.most is None:
            raise NotOffered(_("%(label)s: %(given)d is too small; give at least %(least)d.") % told)
        raise NotOffered(_("%(label)s: give a number from %(least)d to %(most)d, not %(given)d.") % told)


def word_training_fields() -> list[NumberField]:
    """What a training of word vectors can be told, with its bounds."""
    rules = field_rules(WordTraining)
    found = []
    for field in fields(WordTraining):
        if field.name in _LABELS and field.default is not MISSING:
            rule = rules[field.name]
            most = None if rule.most is None else int(rule.most)
            found.append(
                NumberField(field.name, _LABELS[field.name], field.default, int(rule.least or 0), most)
            )
    return found


def parses_of_corpora(corpora: list[Any]) -> list[ParsedCaptions]:
    """The parses of those of these corpora that have some."""
    return [found for corpus in corpora if (found := stored_parses(corpus.name)) is not None]


def enqueue_parses(request: HttpRequest, given: Mapping[str, str]) -> Job:
    """Have a job import the parses of a corpus's captions from a file of the server. Raises NotOffered,
    JobError, UnknownName."""
    corpus = offered.offered_corpus(request, text_parameter(given, "corpus"))
    file, replace = text_parameter(given, "file"), bool(text_parameter(given, "replace"))
    if file not in server_files("parses"):
        raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": file[:60]})
    if not replace and parses_of_corpora([corpus]):
        raise NotOffered(
            _("Corpus %(name)s has parses already: tick “Replace” to have these in their place.")
            % {"name": corpus.name}
        )
    arguments = {"corpus": corpus.name, "path": path_of_file("parses", file), "replace": replace}
    return jobs.enqueue(kind="import_parses", arguments=arguments, corpus=corpus, actor=account_of(request))


def enqueue_word_vectors(request: HttpRequest, given: Mapping[str, str]) -> Job:
    """Have a job learn word vectors from a corpus's own captions. Raises NotOffered, JobError, ImportRefused,
    UnknownName."""
    corpus = offered.offered_corpus(request, text_parameter(given, "corpus"))
    name = text_parameter(given, "name")
    check_name(name, "feature set")
    numbers = {field.name: field.in_form(given) for field in word_training_fields()}
    split = text_parameter(given, "split")
    if split != ALL_CAPTIONS:
        split = part_in(given, "split", corpus)
    if not split:
        images_read(corpus.name, split)  # refused now where no split is called train, not by the job
    arguments = {"corpus": corpus.name, "name": name, "split": split, **numbers}
    return jobs.enqueue(
        kind="train_word_vectors", arguments=arguments, corpus=corpus, actor=account_of(request)
    )


@require_POST
@for_roles(*RUNNING, corpora=True)
def parses_import(request: HttpRequest) -> HttpResponse:
    """Have a job import the parses of a corpus's captions from a file of the server."""
    with said(request, jobs.JobError, NotOffered, UnknownName) as tell:
        enqueue_parses(request, request.POST)
        tell(_("Importing the parses. The progress is shown below."))
    return redirect("evaluation:features")


@require_POST
@for_roles(*RUNNING, corpora=True)
def word_vectors_train(request: HttpRequest) -> HttpResponse:
    """Have a job learn word vectors from a corpus's own captions."""
    with said(request, jobs.JobError, NotOffered, ImportRefused, UnknownName) as tell:
        enqueue_word_vectors(request, request.POST)
        tell(_("Training the word vectors. The progress is shown below."))
    return redirect("evaluation:features")


def tags_form(request: HttpRequest) -> RequestForm:
    """The form that has the tags of a corpus ranked."""
    shown = ("corpus", "unit", "place")
    form = RequestForm(operation_named("rank_tags"), account_of(request), fields_shown=shown)
    form.auto_id = "tags-%s"
    return form
