"""Ranked tags that were kept: which there are, the images that have them, and images drawn by them."""
