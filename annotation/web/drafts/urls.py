"""The addresses of drafts."""

from django.urls import path

from annotation.web.drafts import acts, marking, preview, steps

urlpatterns = [
    path("campaign-drafts/", acts.draft_list, name="campaign_drafts"),
    path("campaign-drafts/<int:draft>/delete/", acts.draft_delete, name="delete_draft"),
    path("campaign-drafts/<int:draft>/settings/", acts.draft_settings, name="draft_settings"),
    path("campaign-drafts/<int:draft>/mark/<str:kind>/", marking.mark_items, name="mark_items"),
    path("campaign-drafts/<int:draft>/mark/<str:kind>/box/", marking.mark_boxes, name="mark_boxes"),
    path("campaign-drafts/<int:draft>/preview/<str:kind>/", preview.preview_task, name="preview_task"),
    path("campaign-drafts/<int:draft>/<slug:step>/", steps.draft_step, name="draft_step"),
]
