"""The REST API of annotation: corpora, campaigns, workers, reviewing, exports, jobs and tokens."""
