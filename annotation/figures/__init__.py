"""Figures: how all of them look, an SVG that any page can hold, and the charts of campaigns.

Pure: numbers and words come in, text comes out.
"""
