"""Rows. Invariants live here as named constraints; behaviour lives in the services."""

from annotation.models.corpus import Caption, Corpus, Image
from annotation.models.crowd import Account, RoleGrant
from annotation.models.layers import Box, BoxChain, Chain, Layer, LayerImage, Mention
from annotation.models.work import Campaign, Job

__all__ = [
    "Account",
    "Box",
    "BoxChain",
    "Campaign",
    "Caption",
    "Chain",
    "Corpus",
    "Image",
    "Job",
    "Layer",
    "LayerImage",
    "Mention",
    "RoleGrant",
]
