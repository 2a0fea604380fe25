"""Captions that systems write: made, kept, scored, and judged by people."""
