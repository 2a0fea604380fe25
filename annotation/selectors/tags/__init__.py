"""Stored ranked tags: the list, their images, and samples of images by tags."""
