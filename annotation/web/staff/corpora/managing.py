"""Deleting a corpus, or withdrawing one of its pictures: what would be removed, and what prevents it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation import campaigns
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.datasets.corpus_uses import why_corpus_kept, why_images_fixed
from annotation.models import Corpus, Image, PhraseMarks
from annotation.moderation.withdrawn_pictures import why_picture_kept
from annotation.web.common.access import CORPUS_OF_ADDRESS, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def corpus_manage(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Show a corpus's licence, its phrases, and what can be removed: all if nothing uses it, or one
    picture."""
    layer = campaigns.gold_layer(corpus)
    unmarked = corpus.images.filter(phrase_marks=None).order_by("position")
    about = {
        "corpus": corpus,
        "layered": corpus.layers.filter(published=True).exists(),
        "named_by": layer.name if layer else "",
        "marked": PhraseMarks.objects.filter(image__corpus=corpus).count(),
        "to_mark": unmarked.values_list("key", flat=True).first(),
        "why_not_deletable": why_corpus_kept(corpus),
        "may_add": WHOLE_SERVER in account_of(request).scopes(RESEARCHER),
        "why_fixed": why_images_fixed(corpus),
        "key": request.GET.get("image", ""),
        "form": RequestForm(
            operation_named("set_licence"), account_of(request), initial={"licence": corpus.licence}
        ),
    }
    return render(request, "annotation/manage_corpus.html", about)


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def picture_withdraw(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Show the picture of an image before it is withdrawn."""
    key = request.GET.get("image", "").replace("\0", "")
    image = Image.objects.filter(corpus=corpus, key=key.strip()).first()
    if image is None:
        messages.warning(
            request,
            _("Corpus “%(corpus)s” has no image “%(key)s”.") % {"corpus": corpus.name, "key": key[:100]},
        )
        return redirect("manage_corpus", corpus.name)
    captions = image.captions.order_by("number")
    about = {
        "corpus": corpus,
        "image": image,
        "captions": captions,
        "why_not_deletable": why_picture_kept(account_of(request), image),
    }
    return render(request, "annotation/withdraw_picture.html", about)


urlpatterns = [
    path("", corpus_manage, name="manage_corpus"),
    path("withdraw", picture_withdraw, name="withdraw_picture"),
]
