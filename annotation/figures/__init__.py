"""Figures: their common style, SVG for any page, and the charts of campaigns.

Pure: takes numbers and words, returns text.
"""
