"""The addresses of evaluation: systems, runs, qrels, comparisons, batches, reports."""

from django.urls import path

from evaluation.web import (
    batch_builder,
    batches,
    comparing,
    job_lines,
    qrels,
    qrels_forms,
    queries,
    reports,
    runs,
    systems,
    training,
    upload,
)

app_name = "evaluation"
urlpatterns = [
    path("", systems.listing, name="systems"),
    path("systems/<slug:name>/", systems.system, name="system"),
    path("systems/<slug:name>/rank/", systems.rank, name="rank"),
    path("systems/<slug:name>/remove/", systems.remove, name="remove_system"),
    path("train/", training.train, name="train"),
    path("add-system/", upload.bring, name="bring"),
    path("runs/", runs.listing, name="runs"),
    path("runs/<slug:name>/", runs.run, name="run"),
    path("runs/<slug:name>/trec", runs.trec, name="trec"),
    path("runs/<slug:name>/remove/", runs.remove, name="remove_run"),
    path("runs/<slug:name>/queries/", queries.listing, name="queries"),
    path("runs/<slug:name>/queries/<int:query>/", queries.query, name="query"),
    path("qrels/", qrels.listing, name="qrels_list"),
    path("qrels/<slug:name>/", qrels.qrels, name="qrels"),
    path("qrels/<slug:name>/export", qrels.export, name="export_qrels"),
    path("qrels/<slug:name>/remove/", qrels.remove, name="remove_qrels"),
    path("freeze/", qrels_forms.freeze, name="freeze_qrels"),
    path("import/", qrels_forms.bring, name="import_qrels"),
    path("compare/", comparing.compare, name="compare"),
    path("batches/", batches.listing, name="batches"),
    path("new-batch/", batch_builder.build, name="new_batch"),
    path("batches/<slug:name>/", batches.batch, name="batch"),
    path("batches/<slug:name>/act/", batches.act, name="act_on_batch"),
    path("reports/", reports.listing, name="reports"),
    path("new-report/", reports.build, name="new_report"),
    path("reports/<slug:name>/", reports.report, name="report"),
    path("reports/<slug:name>/archive", reports.archive, name="report_archive"),
    path("reports/<slug:name>/remove/", reports.remove, name="remove_report"),
    path("reports/<slug:name>/files/<path:path>", reports.file, name="report_file"),
    path("jobs/<int:job>/", job_lines.steer, name="steer_job"),
]
