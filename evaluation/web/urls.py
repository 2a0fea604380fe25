"""The addresses of evaluation: systems, features, runs, qrels, comparisons, batches, reports."""

from django.urls import path

from evaluation.web import (
    archiving,
    batch_builder,
    batches,
    comparing,
    job_lines,
    qrels,
    qrels_forms,
    queries,
    reports,
    runs,
)
from evaluation.web.features import captions_data, weak_collections
from evaluation.web.features import pages as features
from evaluation.web.systems import captions, localizations, tagging, training, upload
from evaluation.web.systems import pages as systems

app_name = "evaluation"
urlpatterns = [
    path("", systems.system_list, name="systems"),
    path("systems/<slug:name>/", systems.system_detail, name="system"),
    path("systems/<slug:name>/captions/", captions.system_write, name="write_captions"),
    path("captions/<slug:name>/", captions.caption_set_detail, name="captions"),
    path("captions/<slug:name>/export", captions.caption_set_export, name="export_captions"),
    path("captions/<slug:name>/judge/", captions.caption_set_judge, name="judge_captions"),
    path("captions/<slug:name>/remove/", captions.caption_set_delete, name="remove_captions"),
    path("systems/<slug:name>/localize/", localizations.system_localize, name="localize"),
    path("localizations/<slug:name>/", localizations.localization_set_detail, name="localizations"),
    path(
        "localizations/<slug:name>/export",
        localizations.localization_set_export,
        name="export_localizations",
    ),
    path(
        "localizations/<slug:name>/score/", localizations.localization_set_score, name="score_localizations"
    ),
    path(
        "localizations/<slug:name>/remove/",
        localizations.localization_set_delete,
        name="remove_localizations",
    ),
    path("systems/<slug:name>/tags/", tagging.system_tag, name="tag_images"),
    path("tags/<slug:name>/", tagging.tag_set_detail, name="tags"),
    path("tags/<slug:name>/export", tagging.tag_set_export, name="export_tags"),
    path("tags/<slug:name>/score/", tagging.tag_set_score, name="score_tags"),
    path("tags/<slug:name>/remove/", tagging.tag_set_delete, name="remove_tags"),
    path("train/", training.system_train, name="train"),
    path("add-system/", upload.system_upload, name="bring"),
    path("features/", features.feature_list, name="features"),
    path("features/tags/", captions_data.tags_rank, name="rank_tags"),
    path("features/collections/", weak_collections.collection_list, name="weak_collections"),
    path("runs/", runs.run_list, name="runs"),
    path("runs/<slug:name>/", runs.run_detail, name="run"),
    path("runs/<slug:name>/queries/", queries.query_list, name="queries"),
    path("runs/<slug:name>/queries/<int:query>/", queries.query_detail, name="query"),
    path("qrels/", qrels.qrels_list, name="qrels_list"),
    path("qrels/<slug:name>/", qrels.qrels_detail, name="qrels"),
    path("qrels/<slug:name>/export", qrels.qrels_export, name="export_qrels"),
    path("qrels/<slug:name>/remove/", qrels.qrels_delete, name="remove_qrels"),
    path("freeze/", qrels_forms.qrels_freeze, name="freeze_qrels"),
    path("import/", qrels_forms.qrels_import, name="import_qrels"),
    path("compare/", comparing.run_compare, name="compare"),
    path("batches/", batches.batch_list, name="batches"),
    path("new-batch/", batch_builder.batch_build, name="new_batch"),
    path("batches/<slug:name>/", batches.batch_detail, name="batch"),
    path("batches/<slug:name>/act/", batches.batch_act, name="act_on_batch"),
    path("batches/<slug:name>/put-away/", archiving.batch_archive, name="archive_batch"),
    path("reports/", reports.report_list, name="reports"),
    path("new-report/", reports.report_build, name="new_report"),
    path("reports/<slug:name>/", reports.report_detail, name="report"),
    path("reports/<slug:name>/archive", reports.report_archive, name="report_archive"),
    path("reports/<slug:name>/put-away/", archiving.report_put_away, name="archive_report"),
    path("reports/<slug:name>/remove/", reports.report_delete, name="remove_report"),
    path("reports/<slug:name>/files/<path:path>", reports.report_file, name="report_file"),
    path("jobs/<int:job>/", job_lines.job_steer, name="steer_job"),
]
