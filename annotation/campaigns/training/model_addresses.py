"""Models at addresses: where the model of a model annotator answers, how it is asked, and its calls."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Annotated, Any

from django.conf import settings as django_settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.campaigns import model_annotators
from annotation.common import database
from annotation.common.operations import FieldError, Help, Listing, OneOf, OperationContext
from annotation.models import Campaign, ModelAddress, ModelAnnotator, ModelCall
from annotation.notifications.receivers import LONGEST_ADDRESS, AddressError, address_origin, receiver_of
from annotation.protocol.model_calls import (
    CHAT_PROTOCOL,
    DEFAULT_PROMPT,
    PIXELS,
    PREDICTION_PROTOCOL,
    PROMPT_PHRASES,
    SIDE_SHARES,
    THOUSANDTHS,
    ModelSettings,
)
from annotation.protocol.money import Amount, amount_text
from annotation.protocol.work import MICROS
from annotation.selectors.corpora import CampaignRequest
from annotation.workers.payments import currency_of

_Text = Annotated[str, Field(max_length=200)]
_Price = Annotated[float, Field(ge=0, le=10**6)]
MODEL_ANNOTATOR = Help(gettext_lazy("Model annotator"))


def _protocols() -> dict[str, Any]:
    return {
        PREDICTION_PROTOCOL: gettext_lazy("predictions, as Label Studio’s backends answer"),
        CHAT_PROTOCOL: gettext_lazy("chat completions with pictures"),
    }


def _coordinates() -> dict[str, Any]:
    return {
        PIXELS: gettext_lazy("pixels"),
        SIDE_SHARES: gettext_lazy("shares of the sides, 0 to 1"),
        THOUSANDTHS: gettext_lazy("thousandths of the sides"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SetModelAddressRequest(CampaignRequest):
    """A service proposes the boxes of the model annotator: it is asked with a picture and its phrases, when
    you start that. Prices are in the campaign’s currency; with none of them the budget may be 0."""

    model_annotator: Annotated[model_annotators.ModelAnnotatorName, MODEL_ANNOTATOR]
    address: Annotated[
        Annotated[str, Field(min_length=1, max_length=LONGEST_ADDRESS)],
        Help(
            gettext_lazy("Address"),
            gettext_lazy("On the internet, with https://; or of a server that the operator allows"),
        ),
    ]
    protocol: Annotated[str, OneOf(_protocols), Help(gettext_lazy("Protocol"))] = PREDICTION_PROTOCOL
    model: Annotated[
        _Text, Help(gettext_lazy("Model"), gettext_lazy("Its name, as the service knows it"))
    ] = ""
    model_version: Annotated[_Text, Help(gettext_lazy("Version of the model"))] = ""
    at_once: Annotated[
        bool,
        Help(
            gettext_lazy("All phrases at once"),
            gettext_lazy("One call for a picture, instead of one for each phrase"),
        ),
    ] = True
    prompt: Annotated[
        Annotated[str, Field(max_length=20_000)],
        Help(
            gettext_lazy("Prompt"),
            gettext_lazy("For chat; {phrases}, {captions}, {width}, {height} and {unit} are filled in"),
            lines=8,
        ),
    ] = DEFAULT_PROMPT
    temperature: Annotated[float, Field(ge=0, le=2), Help(gettext_lazy("Temperature"))] = 0.0
    coordinates: Annotated[
        str, OneOf(_coordinates), Help(gettext_lazy("Coordinates of a chat’s answers"))
    ] = PIXELS
    unsure: Annotated[
        float,
        Field(ge=0, le=1),
        Help(gettext_lazy("Chance of a box without a score"), gettext_lazy("That people accept it")),
    ] = 0.5
    call_price: Annotated[_Price, Help(gettext_lazy("Price of a call"))] = 0.0
    input_price: Annotated[_Price, Help(gettext_lazy("Price of a million tokens of input"))] = 0.0
    output_price: Annotated[_Price, Help(gettext_lazy("Price of a million tokens of output"))] = 0.0
    picture_tokens: Annotated[
        int, Field(ge=0, le=1_000_000), Help(gettext_lazy("Tokens of a picture, at most"))
    ] = 5_000
    most_output: Annotated[
        int, Field(ge=1, le=1_000_000), Help(gettext_lazy("Tokens of an answer, at most"))
    ] = 2_000
    budget: Annotated[
        float, Field(ge=0, le=10**9), Help(gettext_lazy("Budget"), gettext_lazy("All calls together"))
    ] = 0.0
    seconds: Annotated[int, Field(ge=1, le=600), Help(gettext_lazy("Seconds for an answer, at most"))] = 60
    parallel: Annotated[int, Field(ge=1, le=32), Help(gettext_lazy("Calls at the same time"))] = 4
    a_minute: Annotated[int, Field(ge=1, le=100_000), Help(gettext_lazy("Calls a minute, at most"))] = 600

    def problems(self) -> Iterator[FieldError]:
        """Yield errors: the address is allowed, and the prompt has the phrases."""
        try:
            receiver_of(self.address, trusted=django_settings.MODEL_ORIGINS)
        except AddressError as error:
            yield FieldError("address", "wrong", {"message": str(error)})
        if self.protocol == CHAT_PROTOCOL and PROMPT_PHRASES not in self.prompt:
            message = _("The prompt must contain %(phrases)s.") % {"phrases": PROMPT_PHRASES}
            yield FieldError("prompt", "wrong", {"message": message})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAddressState:
    """Where a model annotator's model answers, and what its calls have cost of the budget."""

    campaign: str
    model_annotator: str
    address: str
    protocol: str
    model: str
    model_version: str
    budget: Amount
    spent: Amount
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallsRequest(CampaignRequest):
    """The calls of a model annotator's models, the newest first, with what was asked and the raw answers."""

    model_annotator: Annotated[model_annotators.ModelAnnotatorName, MODEL_ANNOTATOR]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModelCall:
    """A call: the image and the phrases that it was about, how the model was asked, and the raw answer, cut
    after 65,536 characters. `cost` is the most that it may have cost if that is unknown."""

    number: int
    image: str
    phrases: tuple[str, ...]
    address: str
    settings: Mapping[str, Any]
    state: str
    status: int | None
    error: str
    answer: str
    left: Mapping[str, int]
    cost: Amount
    asked_at: datetime
    seconds: float | None


def set_model_address(request: SetModelAddressRequest, context: OperationContext) -> ModelAddressState:
    """Set where a model annotator's model answers. Raises CampaignError while it is asked."""
    campaign = request.row()
    annotator = model_annotators.model_annotator_in(campaign, request.model_annotator)
    model_annotators.refuse_busy(annotator)
    settings = ModelSettings(**{name: getattr(request, name) for name in _SETTINGS})
    with database.writing():
        address = ModelAddress.objects.create(
            model_annotator=annotator,
            address=request.address,
            settings=asdict(settings),
            seconds=request.seconds,
            parallel=request.parallel,
            a_minute=request.a_minute,
            created_by=context.actor,
        )
        budget = round(request.budget * MICROS)
        ModelAnnotator.objects.filter(pk=annotator.pk).update(budget_micros=budget)
        record(
            actor=context.actor,
            act="set_model_address",
            campaign=campaign,
            model_annotator=annotator.name,
            address=address_origin(request.address),
            budget=request.budget,
        )
    annotator.refresh_from_db(fields=["budget_micros", "spent_micros"])
    return _state(address)


_SETTINGS = tuple(setting.name for setting in fields(ModelSettings))


def newest_address(annotator: ModelAnnotator) -> ModelAddress | None:
    """Return the address that is in force."""
    return annotator.addresses.order_by("-pk").first()


def address_states(campaign: Campaign) -> dict[str, ModelAddressState]:
    """Return where the models of a campaign's model annotators answer, and their budgets, by the annotators'
    names. One query."""
    rows = ModelAddress.objects.filter(model_annotator__campaign=campaign).order_by("pk")
    newest = {row.model_annotator.name: row for row in rows.select_related("model_annotator__campaign")}
    return {name: _state(row) for name, row in newest.items()}


def _state(address: ModelAddress) -> ModelAddressState:
    annotator, settings = address.model_annotator, ModelSettings(**address.settings)
    currency = currency_of(annotator.campaign)
    return ModelAddressState(
        campaign=annotator.campaign.name,
        model_annotator=annotator.name,
        address=address.address,
        protocol=settings.protocol,
        model=settings.model,
        model_version=settings.model_version,
        budget=amount_text(annotator.budget_micros, currency),
        spent=amount_text(annotator.spent_micros, currency),
        currency=currency,
    )


def list_model_calls(request: ModelCallsRequest, context: OperationContext) -> Listing:
    """Return the calls of a model annotator's models."""
    campaign = request.row()
    annotator = model_annotators.model_annotator_in(campaign, request.model_annotator)
    rows = ModelCall.objects.filter(address__model_annotator=annotator)
    currency = currency_of(campaign)
    return Listing(rows.select_related("address", "image__image"), "-pk", lambda row: _listed(row, currency))


def _listed(row: ModelCall, currency: str) -> ListedModelCall:
    return ListedModelCall(
        number=row.pk,
        image=row.image.image.key,
        phrases=tuple(row.phrases),
        address=row.address.address,
        settings=row.address.settings,
        state=row.state,
        status=row.status,
        error=row.error,
        answer=row.answer,
        left=row.left,
        cost=amount_text(row.cost_micros, currency),
        asked_at=row.asked_at,
        seconds=row.seconds,
    )
