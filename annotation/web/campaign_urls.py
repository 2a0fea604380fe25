"""The addresses of campaigns: pages for reviewers, researchers and admins."""

from django.urls import path

from annotation.web import (
    campaigns,
    review,
    staff_entry,
    staff_jobs,
    staff_known,
    staff_known_item,
    staff_order,
    staff_settings,
    staff_texts,
    staff_workers,
)

urlpatterns = [
    path("campaigns/", campaigns.index, name="campaigns"),
    path("open-campaign/", campaigns.opening, name="open_campaign"),
    path("campaigns/<slug:name>/", campaigns.campaign, name="campaign"),
    path("campaigns/<slug:name>/move/", campaigns.move, name="move_campaign"),
    path("campaigns/<slug:name>/delete/", campaigns.delete, name="delete_campaign"),
    path("campaigns/<slug:name>/settings/", staff_settings.settings_page, name="campaign_settings"),
    path("campaigns/<slug:name>/settings/change/", staff_settings.change, name="change_settings"),
    path("campaigns/<slug:name>/order/", staff_order.order, name="image_order"),
    path("campaigns/<slug:name>/review/", review.queue, name="review"),
    path("campaigns/<slug:name>/images/<str:key>/", review.image, name="review_image"),
    path("campaigns/<slug:name>/images/<str:key>/rule/", review.rule, name="rule"),
    path(
        "campaigns/<slug:name>/images/<str:key>/rulings/<int:ruling>/withdraw/",
        review.withdraw,
        name="withdraw_ruling",
    ),
    path("campaigns/<slug:name>/flags/<int:flag>/resolve/", review.resolve, name="resolve_flag"),
    path("campaigns/<slug:name>/workers/", staff_workers.table, name="workers"),
    path("campaigns/<slug:name>/workers/<str:pseudonym>/", staff_workers.worker, name="worker"),
    path("campaigns/<slug:name>/workers/<str:pseudonym>/act/", staff_workers.act, name="act_on_worker"),
    path("campaigns/<slug:name>/workers/<str:pseudonym>/erase/", staff_workers.erase, name="erase_worker"),
    path("campaigns/<slug:name>/entry/", staff_entry.entry, name="entry"),
    path("campaigns/<slug:name>/entry/open/", staff_entry.open_to_all, name="open_to_all"),
    path("campaigns/<slug:name>/entry/invite/", staff_entry.invite, name="make_invitation"),
    path("campaigns/<slug:name>/entry/study/", staff_entry.study, name="save_study"),
    path(
        "campaigns/<slug:name>/entry/invitations/<int:invitation>/revoke/",
        staff_entry.revoke,
        name="revoke_invitation",
    ),
    path("campaigns/<slug:name>/known/", staff_known.listing, name="known_items"),
    path("campaigns/<slug:name>/known/add/", staff_known.add, name="add_known_items"),
    path("campaigns/<slug:name>/known/new/", staff_known_item.new, name="new_known_item"),
    path("campaigns/<slug:name>/known/<int:item>/retire/", staff_known.retire, name="retire_known_item"),
    path("campaigns/<slug:name>/texts/", staff_texts.texts, name="texts"),
    path("campaigns/<slug:name>/texts/<str:kind>/", staff_texts.texts, name="text"),
    path("campaigns/<slug:name>/jobs/", staff_jobs.listing, name="jobs"),
    path("campaigns/<slug:name>/jobs/start/", staff_jobs.start, name="start_job"),
    path("campaigns/<slug:name>/jobs/<int:job>/steer/", staff_jobs.steer, name="steer_job"),
    path("campaigns/<slug:name>/jobs/<int:job>/download/", staff_jobs.download, name="download"),
]
