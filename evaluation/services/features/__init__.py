"""Feature sets of corpora: stored under a name, written in blocks, memory-mapped by readers."""
