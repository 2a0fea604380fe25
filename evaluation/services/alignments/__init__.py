"""Layers that trained alignments of regions and words write for a corpus's images."""
