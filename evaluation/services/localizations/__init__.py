"""Localizations, the regions in which systems find phrases: predicting, reading, writing and scoring them."""
