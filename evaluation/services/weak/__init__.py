"""Weakly annotated collections: images with titles, tags or descriptions, which no annotator ever sees."""
