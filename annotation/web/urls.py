"""The addresses of the annotation app's pages."""

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path, re_path
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from annotation.web.common.addresses import model_picture, picture
from annotation.web.common.documentation import documentation
from annotation.web.common.sign_in import SignIn, SignOut, second_factor_step
from annotation.web.corpus.browse import corpus_detail, home, image_detail
from annotation.web.corpus.error_samples import error_sample_list, error_sample_next, sampled_mention
from annotation.web.corpus.tagged import corpus_tags, corpus_tags_export
from annotation.web.staff.corpora.phrases import image_phrases

urlpatterns = [
    path("", home, name="home"),
    path("sign-in/", SignIn.as_view(), name="sign_in"),
    path("sign-in/code/", second_factor_step, name="second_factor"),
    path("sign-out/", SignOut.as_view(), name="sign_out"),
    re_path(r"^docs/(?P<page>.*)$", documentation, name="documentation"),
    path("language/", login_not_required(require_POST(set_language)), name="choose_language"),
    path("", include("annotation.web.drafts.urls")),
    path("", include("annotation.web.staff.urls")),
    path("corpora/<slug:name>/", corpus_detail, name="corpus"),
    path("corpora/<slug:name>/tags/", corpus_tags, name="tags"),
    re_path(r"^corpora/(?P<name>[-\w]+)/tags\.(?P<form>csv|jsonl)$", corpus_tags_export, name="export_tags"),
    path("corpora/<slug:name>/images/<str:key>/", image_detail, name="image"),
    path("corpora/<slug:name>/images/<str:key>/phrases/", image_phrases, name="phrases"),
    path("corpora/<slug:name>/errors/", error_sample_list, name="error_samples"),
    path("corpora/<slug:name>/errors/<int:sample>/", error_sample_next, name="error_sample_next"),
    path("corpora/<slug:name>/errors/<int:sample>/<int:position>/", sampled_mention, name="sampled_mention"),
    path("corpora/<slug:name>/manage/", include("annotation.web.staff.corpora.managing")),
    path("pictures/<str:token>", picture, name="picture"),
    path("pictures/for-models/<str:token>", model_picture, name="model_picture"),
    path("uploads/", include("annotation.web.staff.corpora.uploading")),
    path("tasks/", include("annotation.web.annotator.urls")),
    path("people/", include("annotation.web.staff.people.accounts")),
    path("people/audit/", include("annotation.web.staff.people.audit")),
    path("roles/", include("annotation.web.staff.people.roles")),
    path("operations/", include("annotation.web.staff.operations")),
    path("server/", include("annotation.web.staff.server.state")),
    path("notifications/", include("annotation.web.staff.server.notifications")),
    path("notifications/webhooks/", include("annotation.web.staff.server.webhook")),
]
