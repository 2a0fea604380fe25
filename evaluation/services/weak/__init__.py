"""Weakly annotated collections: images with titles, tags or descriptions, which annotators never see."""
