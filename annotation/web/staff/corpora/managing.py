"""A corpus taken away, or one of its pictures: what would go, and why it may not."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.common.locks import Busy
from annotation.common.roles import RESEARCHER
from annotation.datasets.deleting import CorpusInUse, delete_corpus, why_corpus_kept
from annotation.models import Corpus, Image
from annotation.moderation.withdrawing import CannotWithdraw, withdraw_picture
from annotation.web.common.access import CORPUS_OF_ADDRESS, account_of, for_roles_on
from annotation.web.staff.frame import said


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def corpus_manage(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """What can be taken away of a corpus: all of it where nothing uses it, or one picture."""
    about = {"corpus": corpus, "kept": why_corpus_kept(corpus), "key": request.GET.get("image", "")}
    return render(request, "annotation/manage_corpus.html", about)


@require_POST
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def corpus_delete(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Delete a corpus that nothing uses, once its name was typed."""
    then = redirect("manage_corpus", corpus.name)
    with said(request, CorpusInUse, Busy) as tell:
        if request.POST.get("name", "").strip() != corpus.name:
            raise CorpusInUse(_("Type the name of the corpus to delete it."))
        delete_corpus(corpus=corpus, actor=account_of(request))
        tell(_("Corpus “%(name)s” deleted.") % {"name": corpus.name})
        then = redirect("home")
    return then


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def picture_withdraw(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Withdraw the picture of the image that the form names; GET shows it first."""
    key = (request.POST if request.method == "POST" else request.GET).get("image", "").replace("\0", "")
    image = Image.objects.filter(corpus=corpus, key=key.strip()).first()
    if image is None:
        messages.warning(
            request,
            _("Corpus “%(corpus)s” has no image “%(key)s”.") % {"corpus": corpus.name, "key": key[:100]},
        )
        return redirect("manage_corpus", corpus.name)
    if request.method != "POST":
        captions = image.captions.order_by("number")
        about = {"corpus": corpus, "image": image, "captions": captions}
        return render(request, "annotation/withdraw_picture.html", about)
    with said(request, CannotWithdraw) as tell:
        done = withdraw_picture(image=image, actor=account_of(request))
        tell(
            _("Picture withdrawn from %(corpora)s, with %(tasks)d open tasks and %(exports)d exports.")
            % {"corpora": ", ".join(done.corpora), "tasks": done.tasks, "exports": done.exports}
        )
    return redirect("manage_corpus", corpus.name)


urlpatterns = [
    path("", corpus_manage, name="manage_corpus"),
    path("delete", corpus_delete, name="delete_corpus"),
    path("withdraw", picture_withdraw, name="withdraw_picture"),
]
