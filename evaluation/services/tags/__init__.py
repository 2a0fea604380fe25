"""Ranked tags of images, from people's captions."""
