"""Feature sets of corpora: stored once under a name, written in blocks, memory-mapped by readers."""
