"""Rows. Invariants live here as named constraints; behaviour lives in the services."""

from annotation.models.answers import Flag, Judgment, Move, Ruling
from annotation.models.corpus import Caption, Corpus, Image
from annotation.models.crowd import Account, Identity, RoleGrant, Worker
from annotation.models.drafts import CampaignDraft
from annotation.models.entry import Attempts, Invitation, PlatformReport, StaffInvitation, Study, Visit
from annotation.models.layers import Box, BoxChain, Chain, Layer, LayerImage, Mention
from annotation.models.machines import Machine, MachineProposals
from annotation.models.programs import ApiToken, RepeatableCall
from annotation.models.queue import Assignment, Item, OpenImage, PageControl, Task
from annotation.models.tags import CorpusTag, ImageTag, TagList
from annotation.models.trust import Control, Standing
from annotation.models.work import (
    AuditEntry,
    Campaign,
    Consent,
    Instructions,
    Job,
    Payout,
    SettingsVersion,
)

__all__ = [
    "Account",
    "ApiToken",
    "Assignment",
    "Attempts",
    "AuditEntry",
    "Box",
    "BoxChain",
    "Campaign",
    "CampaignDraft",
    "Caption",
    "Chain",
    "Consent",
    "Control",
    "Corpus",
    "CorpusTag",
    "Flag",
    "Identity",
    "Image",
    "ImageTag",
    "Instructions",
    "Invitation",
    "Item",
    "Job",
    "Judgment",
    "Layer",
    "LayerImage",
    "Machine",
    "MachineProposals",
    "Mention",
    "Move",
    "OpenImage",
    "PageControl",
    "Payout",
    "PlatformReport",
    "RepeatableCall",
    "RoleGrant",
    "Ruling",
    "SettingsVersion",
    "StaffInvitation",
    "Standing",
    "Study",
    "TagList",
    "Task",
    "Visit",
    "Worker",
]
