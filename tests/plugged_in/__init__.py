"""Plug-ins that are no part of the product, a folder each: tests plug them in as a site would."""
