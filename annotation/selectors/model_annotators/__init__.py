"""Model annotators as pages, the queue and evaluation read them."""
