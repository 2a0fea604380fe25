"""The REST API of evaluation: systems, features, runs, judgments, qrels, comparisons, batches and reports."""
