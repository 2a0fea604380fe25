"""Normalised CCA with the help of many images whose texts are weak: titles, tags, descriptions."""
