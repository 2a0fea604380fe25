"""The operation: a request, what comes out, the function, and the declaration."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Help,
    Named,
    OneOf,
    OperationContext,
    Rest,
    register,
)
from annotation.common.roles import RESEARCHER
from annotation.models import Caption
from annotation.selectors.corpora import CORPORA


def units():
    return {"words": "words", "characters": "characters"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthsRequest:
    """Captions of a corpus are counted that are longer than a number of words or characters."""

    corpus: Annotated[str, Named(CORPORA), Help("Corpus")]
    longest: Annotated[int, Field(ge=1, le=1000), Help("Longest", "Captions beyond it are counted")] = 20
    unit: Annotated[str, OneOf(units), Help("Unit")] = "words"


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many of the captions are longer."""

    captions: int
    longer: int


def count_long_captions(request: LengthsRequest, context: OperationContext) -> Lengths:
    texts = list(Caption.objects.filter(image__corpus__name=request.corpus).values_list("text", flat=True))
    context.report_progress("counting", 0.5)
    lengths = [len(text.split() if request.unit == "words" else text) for text in texts]
    return Lengths(len(texts), sum(length > request.longest for length in lengths))


register(
    name="count_long_captions",
    title="Count long captions",
    request=LengthsRequest,
    result=Lengths,
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=count_long_captions,
    as_job=True,
    rest=Rest("POST", "caption-lengths", "corpora", example={"corpus": "harbour"}),
    command=CommandLine(positional=("corpus",)),
    page=FormPage(),
)
