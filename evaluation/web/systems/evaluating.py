"""The page of an evaluation in one step: recipes, a model's embeddings, existing systems, and the test
images."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from annotation.common.operations import operation_named
from annotation.selectors.corpora import splits_of_corpora
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, for_roles
from evaluation.models import Run
from evaluation.web import visible
from evaluation.web.job_lines import job_lines
from evaluation.web.page_context import page_context, set_choices, text_parameter
from evaluation.web.submitted_forms import set_row_choices, submitted_form
from evaluation.web.systems.recipe_choices import recipe_choices
from evaluation.web.systems.training import offer_training

#: The fields of the page, by their group; all others have their defaults.
_MODEL = ("embeddings", "ids", "model", "inner_products", "trained_on")
_SOURCES = ("features", "text", "regions", "layer", "words", "weak", "background")
_MORE = ("name", "protocol", "measures", "missing", "rounds", "resamples", "level", "seed", "report")
_IMAGES = ("test", "train", "held_out", "keep_last")
_FIELDS = ("corpus", "recipes", "systems", *_IMAGES, *_MODEL, *_SOURCES, *_MORE)
#: Lines of the list of recipes.
_RECIPES_VISIBLE = 12


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def evaluation_page(request: HttpRequest) -> HttpResponse:
    """Choose what is evaluated; the evaluation is a job, whose line leads to the comparison."""
    operation, corpora = operation_named("evaluate"), visible.visible_corpora(request)
    submitted = submitted_form(request, operation, only_fields=_FIELDS)
    if submitted.result is not None:
        assert operation.page is not None
        messages.success(request, str(operation.page.started))
        return redirect("evaluation:evaluate")
    form, named = submitted.form, text_parameter(submitted.data, "corpus")
    chosen = [corpus for corpus in corpora if corpus.name == named] or corpora
    offer_training(form, chosen)
    set_choices(form, "test", splits_of_corpora(chosen))
    form.fields["recipes"].widget = forms.SelectMultiple(
        choices=recipe_choices(corpora, named), attrs={"size": _RECIPES_VISIBLE}
    )
    systems = visible.visible_systems(request).filter(corpus__in=chosen, archived_at=None)
    set_row_choices(form, "systems", systems.order_by("name"))
    lines = job_lines(request, ["evaluate"], leads=comparison_leads)
    return render(
        request,
        "evaluation/evaluate.html",
        page_context(
            "systems",
            deeper=True,
            corpora=corpora,
            form=form,
            images=[form[name] for name in _IMAGES],
            model=[form[name] for name in _MODEL],
            sources=[form[name] for name in _SOURCES],
            more=[form[name] for name in _MORE],
            error=submitted.error,
            jobs=lines,
            live=any(line.live for line in lines),
        ),
        status=submitted.status,
    )


def comparison_leads(done: Sequence[Job]) -> dict[int, str]:
    """Return the address that compares the runs of finished evaluations and rankings, by the id of the job,
    where all runs still exist. One query."""
    runs = {job: made for job in done if (made := _runs_of(job))}
    named = {run for made in runs.values() for run in made}
    there = set(Run.objects.filter(name__in=named, published=True).values_list("name", flat=True))
    return {
        job.pk: f"{reverse('evaluation:compare')}?{urlencode(_compared(job, made), doseq=True)}"
        for job, made in runs.items()
        if there.issuperset(made)
    }


def _runs_of(job: Job) -> list[str]:
    """Return the names of the runs that a job made, or used again."""
    if job.kind == "rank":
        return [run["run"] for run in job.result.get("runs", ())]
    if job.kind == "evaluate":
        return [run for system in job.result.get("systems", ()) for run in system["runs"]]
    return []


def _compared(job: Job, runs: Sequence[str]) -> dict[str, Any]:
    """Return what the page that compares shows of a job: its runs, under its qrels."""
    qrels = job.arguments.get("qrels")
    return {"run": runs, **({"qrels": qrels} if qrels else {})}
