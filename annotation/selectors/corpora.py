"""Corpora, layers and campaigns: by name, by an account's roles, and as named in requests."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FieldError, Help, Named, StoredKind
from annotation.common.plain_text import with_known
from annotation.common.roles import ANNOTATOR, ROLES, WHOLE_SERVER, Scope
from annotation.models import Account, Campaign, Corpus, Identity, Image, Layer
from phrasebox.balance import UPRIGHT_FRAME, current_tally
from phrasebox.errors import PhraseboxError
from phrasebox.names import ImageNames, ImageNaming
from phrasebox.registry import UnknownName

_M = TypeVar("_M", bound=Model)


def row_named(rows: QuerySet[_M], name: str) -> _M:
    """Return the row of that name. Raises UnknownName listing all names."""
    row = rows.filter(name=name).first()
    if row is None:
        unknown = UnknownName(f"unknown {rows.model._meta.verbose_name} {name!r}")
        raise with_known(unknown, rows.values_list("name", flat=True))
    return row


def corpus_named(name: str) -> Corpus:
    """Return the published corpus `name`. Raises UnknownName listing all names."""
    return row_named(Corpus.objects.filter(published=True), name)


def names_of_images(corpus: Corpus) -> ImageNames:
    """Return the images of a corpus by their names, in order; items are ids of rows."""
    rows = corpus.images.order_by("position").values_list("pk", "key", "filename", "external_id")
    return ImageNames(map(ImageNaming._make, rows))


def note_turned(corpus: Corpus, boxed: Collection[int]) -> None:
    """Say on the balance sheet that EXIF turned pictures of these images: their boxes come without sizes, and
    are taken as of the upright pictures."""
    turned = corpus.images.filter(orientation__gt=1).values_list("pk", "filename")
    names = [filename for pk, filename in turned if pk in boxed]
    current_tally().note(UPRIGHT_FRAME, len(names), *names)


def layer_named(corpus: Corpus, name: str | None = None) -> Layer | None:
    """Return the published layer `name` of `corpus`; without a name the only one, or None if there is none.

    Raises UnknownName, and PhraseboxError listing the layers if there are several and no name.
    """
    layers = {layer.name: layer for layer in corpus.layers.filter(published=True).order_by("name")}
    known = ", ".join(layers) or "none"
    if name is not None:
        if name not in layers:
            raise UnknownName(f"unknown layer {name!r} of corpus {corpus.name!r}; known: {known}")
        return layers[name]
    if len(layers) > 1:
        raise PhraseboxError(f"corpus {corpus.name!r} has several layers; name one of: {known}")
    return next(iter(layers.values()), None)


def split_names(corpus: Corpus) -> list[str]:
    """Return the splits of its images; "" for those without a split."""
    return list(corpus.images.order_by("split").values_list("split", flat=True).distinct())


def splits_of_corpora(corpora: Sequence[Corpus]) -> list[str]:
    """Return the splits of the images of these corpora, by name; one query."""
    splits = Image.objects.filter(corpus__in=corpora).exclude(split="").values_list("split", flat=True)
    return sorted(set(splits.order_by().distinct()))


def layers_of_corpora(corpora: Sequence[Corpus]) -> list[Layer]:
    """Return the published layers of these corpora, each with its corpus, in their order and by name; one
    query."""
    places = {corpus.pk: index for index, corpus in enumerate(corpora)}
    layers = Layer.objects.filter(corpus__in=corpora, published=True).select_related("corpus")
    return sorted(layers, key=lambda layer: (places[layer.corpus_id], layer.name))


def check_split(corpus: Corpus, name: str) -> None:
    """Raise UnknownName listing all splits unless `corpus` has images of the split `name`."""
    splits = split_names(corpus)
    if name not in splits:
        known = ", ".join(repr(split) for split in splits) or "none"
        raise UnknownName(f"unknown split {name!r} of corpus {corpus.name!r}; known: {known}")


def corpora_of(account: Account, *roles: str) -> QuerySet[Corpus]:
    """Return the corpora for which `account` has one of `roles`, published or not."""
    return Corpus.objects.filter(within_scope(account, *roles, corpus="pk"))


def campaigns_of(account: Account, *roles: str) -> QuerySet[Campaign]:
    """Return the campaigns for which `account` has one of `roles`, directly or for their corpus."""
    return Campaign.objects.filter(within_scope(account, *roles, corpus="corpus", campaign="pk"))


def campaigns_in(scope: Scope) -> QuerySet[Campaign]:
    """Return the campaigns in a scope: itself, those of its corpus, or all of the server."""
    if scope.campaign is not None:
        return Campaign.objects.filter(pk=scope.campaign)
    return Campaign.objects.all() if scope.corpus is None else Campaign.objects.filter(corpus=scope.corpus)


def within_scope(account: Account, *roles: str, corpus: str, campaign: str = "") -> Q:
    """Return the condition of rows for which `account` has one of `roles`.

    `corpus` and `campaign` are the fields with the scope of a row; without `campaign`, roles for one campaign
    have no effect.
    """
    return _in_scopes(account.scopes(*roles), corpus, campaign)


def _in_scopes(scopes: Collection[Scope], corpus: str, campaign: str) -> Q:
    if WHOLE_SERVER in scopes:
        return Q()
    condition = Q(**{f"{corpus}__in": {scope.corpus for scope in scopes if scope.corpus is not None}})
    if campaign:
        campaigns = {scope.campaign for scope in scopes if scope.campaign is not None}
        condition |= Q(**{f"{campaign}__in": campaigns})
    return condition


def campaigns_to_work_on(worker: int) -> QuerySet[Campaign]:
    """Return the campaigns that a worker may see, enter and answer: those of a link, a study or a grant, and
    with the role for the whole server those that are open to all annotators.

    Only simulated workers and staff of the campaign may enter campaigns that are marked as simulated. Two
    short queries at once: every task request runs this.
    """
    identity = Identity.objects.filter(worker=worker).select_related("account").first()
    if identity is None or identity.account is None:
        return Campaign.objects.none()
    account, campaigns = identity.account, Campaign.objects.all()
    invited, staff = account.scopes(ANNOTATOR), account.scopes(*set(ROLES) - {ANNOTATOR})
    if WHOLE_SERVER not in account.scopes():
        theirs = _in_scopes(invited - {WHOLE_SERVER}, "corpus", "pk")
        campaigns = campaigns.filter(theirs | Q(open_to_all=True) if WHOLE_SERVER in invited else theirs)
    if identity.provider != Identity.SIMULATED and WHOLE_SERVER not in staff:
        campaigns = campaigns.filter(Q(simulated=False) | _in_scopes(staff, "corpus", "pk"))
    return campaigns


def _corpora(account: Account | None, *roles: str) -> QuerySet[Any]:
    corpora = Corpus.objects.all() if account is None else corpora_of(account, *roles)
    return corpora.filter(published=True)


def _campaigns(account: Account | None, *roles: str) -> QuerySet[Any]:
    campaigns = Campaign.objects.all() if account is None else campaigns_of(account, *roles)
    return campaigns.select_related("corpus")


CORPORA = StoredKind(_("corpus"), _corpora)
CAMPAIGNS = StoredKind(_("campaign"), _campaigns, within="campaign")


class ScopeRows(NamedTuple):
    """The corpus or the campaign that something is about; neither: the whole server."""

    corpus: Corpus | None
    campaign: Campaign | None

    @property
    def scope(self) -> Scope:
        """The scope of the required role."""
        if self.campaign is not None:
            return self.campaign.scope
        return Scope(self.corpus.pk if self.corpus is not None else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRequest:
    """A corpus and all that belongs to it, a campaign, or, with neither, the whole server."""

    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"), _("With all that belongs to it"))
    ] = None
    campaign: Annotated[
        Annotated[str, Named(CAMPAIGNS)] | None,
        Help(_("Campaign"), _("Without corpus and campaign: the whole server")),
    ] = None

    def problems(self) -> Iterator[FieldError]:
        """Yield an error if both are set."""
        if self.corpus is not None and self.campaign is not None:
            yield FieldError("campaign", "not_with", {"other": "corpus"})

    def rows(self) -> ScopeRows:
        """Return the rows of the names."""
        return ScopeRows(
            Corpus.objects.get(name=self.corpus) if self.corpus is not None else None,
            Campaign.objects.get(name=self.campaign) if self.campaign is not None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """A request about a campaign."""

    campaign: Annotated[str, Named(CAMPAIGNS), Help(_("Campaign"))]

    def row(self) -> Campaign:
        """Return the campaign, with its corpus; it exists, since the permission was checked."""
        return Campaign.objects.select_related("corpus").get(name=self.campaign)
