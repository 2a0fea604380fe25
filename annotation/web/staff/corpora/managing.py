"""A corpus taken away, or one of its pictures: what would go, and why it may not."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import campaigns
from annotation.common.roles import ADMIN, RESEARCHER, WHOLE_SERVER
from annotation.datasets.deleting import CorpusInUse, why_corpus_kept
from annotation.datasets.licences import LONGEST_LICENCE, BadLicence, set_licence
from annotation.jobs.kinds.delete_corpus import begin_deleting_corpus
from annotation.models import Account, Corpus, Image, PhraseMarks
from annotation.moderation.withdrawing import CannotWithdraw, withdraw_picture
from annotation.web.common.access import BROWSING, CORPUS_OF_ADDRESS, account_of, for_roles_on
from annotation.web.staff.frame import said


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def corpus_manage(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Its licence, its phrases, and what can be taken away: all where nothing uses it, or one picture."""
    layer = campaigns.gold_layer(corpus)
    unmarked = corpus.images.filter(phrase_marks=None).order_by("position")
    about = {
        "corpus": corpus,
        "named_by": layer.name if layer else "",
        "marked": PhraseMarks.objects.filter(image__corpus=corpus).count(),
        "to_mark": unmarked.values_list("key", flat=True).first(),
        "kept": why_corpus_kept(corpus),
        "key": request.GET.get("image", ""),
        "longest": LONGEST_LICENCE,
    }
    return render(request, "annotation/manage_corpus.html", about)


@require_POST
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def corpus_license(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Say under which licence a corpus may be used."""
    with said(request, BadLicence) as tell:
        set_licence(corpus=corpus, licence=request.POST.get("licence", ""), actor=account_of(request))
        tell(_("Licence saved: datasheets of exports have it from now on."))
    return redirect("manage_corpus", corpus.name)


@require_POST
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def corpus_delete(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Delete a corpus that nothing uses, once its name was typed."""
    then = redirect("manage_corpus", corpus.name)
    with said(request, CorpusInUse) as tell:
        if request.POST.get("name", "").strip() != corpus.name:
            raise CorpusInUse(_("Type the name of the corpus to delete it."))
        begin_deleting_corpus(corpus=corpus, actor=account_of(request))
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
    account = account_of(request)
    kept = _why_picture_kept(account, image)
    if request.method != "POST":
        captions = image.captions.order_by("number")
        about = {"corpus": corpus, "image": image, "captions": captions, "kept": kept}
        return render(request, "annotation/withdraw_picture.html", about)
    with said(request, CannotWithdraw) as tell:
        if kept:
            raise CannotWithdraw(kept)
        done = withdraw_picture(image=image, actor=account)
        tell(
            _("Picture withdrawn from %(corpora)s, with %(tasks)s and %(exports)s.")
            % {
                "corpora": _named(account, done.corpora),
                "tasks": ngettext("%(n)d open task", "%(n)d open tasks", done.tasks) % {"n": done.tasks},
                "exports": ngettext("%(n)d export", "%(n)d exports", done.exports) % {"n": done.exports},
            }
        )
    return redirect("manage_corpus", corpus.name)


def _why_picture_kept(account: Account, image: Image) -> str:
    """Why this account may not withdraw the picture of an image, which goes from every corpus that has it: it
    is no researcher of one of them; "" where it may."""
    if not image.picture or account.has_role(ADMIN, on=WHOLE_SERVER):
        return ""
    having = Corpus.objects.filter(images__picture=image.picture).distinct()
    if all(account.has_role(RESEARCHER, on=each.scope) for each in having):
        return ""
    return _("Corpora of others have the same picture: ask an admin to withdraw it.")


def _named(account: Account, corpora: list[str]) -> str:
    """The names of those corpora that an account may see, and how many others there are."""
    rows = Corpus.objects.filter(name__in=corpora).order_by("name")
    seen = [row.name for row in rows if account.has_role(*BROWSING, on=row.scope)]
    if others := len(corpora) - len(seen):
        seen.append(ngettext("%(count)d other corpus", "%(count)d other corpora", others) % {"count": others})
    return ", ".join(seen)


urlpatterns = [
    path("", corpus_manage, name="manage_corpus"),
    path("licence", corpus_license, name="set_licence"),
    path("delete", corpus_delete, name="delete_corpus"),
    path("withdraw", picture_withdraw, name="withdraw_picture"),
]
