"""The URLs of evaluation: systems, features, runs, qrels, comparisons, batches, reports."""

from django.urls import path

from evaluation.web import batch_builder, batches, comparing, qrels, qrels_forms, queries, reports, runs
from evaluation.web.features import pages as features
from evaluation.web.features import weak_collections
from evaluation.web.systems import captions, evaluating, localizations, tagging, training, upload
from evaluation.web.systems import pages as systems

app_name = "evaluation"
urlpatterns = [
    path("", systems.system_list, name="systems"),
    path("systems/<slug:name>/", systems.system_page, name="system"),
    path("captions/<slug:name>/", captions.caption_set_detail, name="captions"),
    path("localizations/<slug:name>/", localizations.localization_set_page, name="localizations"),
    path("tags/<slug:name>/", tagging.tag_set_page, name="tags"),
    path("train/", training.system_train, name="train"),
    path("evaluate/", evaluating.evaluation_page, name="evaluate"),
    path("add-system/", upload.system_upload, name="bring"),
    path("features/", features.feature_list, name="features"),
    path("features/collections/", weak_collections.collection_list, name="weak_collections"),
    path("runs/", runs.run_list, name="runs"),
    path("runs/<slug:name>/", runs.run_detail, name="run"),
    path("runs/<slug:name>/queries/", queries.query_list, name="queries"),
    path("runs/<slug:name>/queries/<int:query>/", queries.query_detail, name="query"),
    path("qrels/", qrels.qrels_list, name="qrels_list"),
    path("qrels/<str:name>/", qrels.qrels_detail, name="qrels"),
    path("freeze/", qrels_forms.qrels_freeze, name="freeze_qrels"),
    path("import/", qrels_forms.qrels_import, name="import_qrels"),
    path("compare/", comparing.run_compare, name="compare"),
    path("batches/", batches.batch_list, name="batches"),
    path("new-batch/", batch_builder.batch_build, name="new_batch"),
    path("batches/<slug:name>/", batches.batch_detail, name="batch"),
    path("reports/", reports.report_list, name="reports"),
    path("new-report/", reports.report_build, name="new_report"),
    path("reports/<slug:name>/", reports.report_detail, name="report"),
    path("reports/<slug:name>/files/<path:path>", reports.report_file, name="report_file"),
]
