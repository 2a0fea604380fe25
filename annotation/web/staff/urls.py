"""The addresses of campaigns: pages for reviewers, researchers and admins."""

from django.urls import path

from annotation.web.staff import (
    answers,
    campaign_settings,
    campaigns,
    image_order,
    jobs,
    mending,
    recruiting,
    review,
    workers,
)
from annotation.web.staff.controls import item, items
from annotation.web.staff.crowd import model_annotators, payments
from annotation.web.staff.dashboard import part

urlpatterns = [
    path("campaigns/", campaigns.campaign_list, name="campaigns"),
    path("campaigns/<slug:name>/", campaigns.campaign_detail, name="campaign"),
    path("campaigns/<slug:name>/dashboard/", part.campaign_dashboard, name="dashboard"),
    path("campaigns/<slug:name>/settings/", campaign_settings.settings_page, name="campaign_settings"),
    path("campaigns/<slug:name>/settings/change/", campaign_settings.settings_change, name="change_settings"),
    path("campaigns/<slug:name>/order/", image_order.image_order_change, name="image_order"),
    path("campaigns/<slug:name>/review/", review.review_list, name="review"),
    path("campaigns/<slug:name>/answers/", answers.campaign_answers, name="answers"),
    path("campaigns/<slug:name>/images/<str:key>/", review.review_image, name="review_image"),
    path("campaigns/<slug:name>/images/<str:key>/rulings/add/", review.ruling_make, name="rule"),
    path("campaigns/<slug:name>/images/<str:key>/phrases/", mending.mend_image, name="mend_image"),
    path("campaigns/<slug:name>/phrases/", mending.phrase_rules, name="phrase_rules"),
    path("campaigns/<slug:name>/workers/", workers.worker_list, name="workers"),
    path("campaigns/<slug:name>/payments/", payments.payments_page, name="payments"),
    path(
        "campaigns/<slug:name>/model-annotators/",
        model_annotators.model_annotator_list,
        name="model_annotators",
    ),
    path("campaigns/<slug:name>/workers/<str:pseudonym>/", workers.worker_detail, name="worker"),
    path("campaigns/<slug:name>/recruiting/", recruiting.recruiting_page, name="entry"),
    path("campaigns/<slug:name>/control-items/", items.control_item_list, name="control_item_list"),
    path("campaigns/<slug:name>/control-items/new/", item.control_item_new, name="new_control_item"),
    path("campaigns/<slug:name>/texts/", campaign_settings.campaign_text_edit, name="texts"),
    path("campaigns/<slug:name>/texts/<str:kind>/", campaign_settings.campaign_text_edit, name="text"),
    path("campaigns/<slug:name>/jobs/", jobs.campaign_job_list, name="jobs"),
]
