"""Feature sets of corpora: kept once under a name, written by jobs, mapped into memory by whoever reads."""
