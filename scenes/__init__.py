"""Drawn scenes with captions and gold, as lines of a corpus file. Independent of the product."""
