"""Captions that systems write: generating, storing and scoring them, and having people judge them."""
