"""The addresses of the annotation app's pages."""

from django.urls import include, path

from annotation.web.addresses import picture
from annotation.web.browse import corpus, home, image
from annotation.web.language import choose_language
from annotation.web.sign_in import SignIn, SignOut

urlpatterns = [
    path("", home, name="home"),
    path("sign-in/", SignIn.as_view(), name="sign_in"),
    path("sign-out/", SignOut.as_view(), name="sign_out"),
    path("language/", choose_language, name="choose_language"),
    path("", include("annotation.web.campaign_urls")),
    path("corpora/<slug:name>/", corpus, name="corpus"),
    path("corpora/<slug:name>/images/<str:key>/", image, name="image"),
    path("pictures/<str:token>", picture, name="picture"),
    path("tasks/", include("annotation.web.task_urls")),
    path("roles/", include("annotation.web.role_pages")),
]
