"""Drawn scenes with captions and gold. Knows nothing of the product: it yields lines of a corpus file."""
