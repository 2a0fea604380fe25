"""Rows. Invariants live here as named constraints; behaviour lives in the services."""

from annotation.models.answers import (
    AnswerReview,
    CampaignSums,
    CaptionFlag,
    Flag,
    Judgment,
    Move,
    Ruling,
)
from annotation.models.corpus import Caption, Corpus, CorpusTag, Image, ImageTag, PhraseMarks, TagList
from annotation.models.crowd import (
    Account,
    ApiToken,
    Identity,
    RecoveryCode,
    RepeatableCall,
    RoleGrant,
    SecondFactor,
    SignInRules,
    Worker,
    WorkerToken,
)
from annotation.models.entry import Attempts, Invitation, PlatformReport, StaffInvitation, Study, Visit
from annotation.models.layers import (
    Box,
    BoxChain,
    Chain,
    ErrorSample,
    Layer,
    LayerImage,
    Mention,
    SampledMention,
)
from annotation.models.model_annotators import ModelAddress, ModelAnnotator, ModelCall, ModelProposals
from annotation.models.notifications import (
    AlarmSubscription,
    PeriodicRun,
    RaisedAlarm,
    Webhook,
    WebhookDelivery,
)
from annotation.models.paying import Bonus, WorkerMessage
from annotation.models.queue import Assignment, Item, OpenImage, PageControl, PlannedImage, Task
from annotation.models.trust import Control, TrustState
from annotation.models.work import (
    AuditEntry,
    Campaign,
    CampaignDraft,
    Consent,
    Instructions,
    Job,
    Payout,
    SettingsVersion,
)
